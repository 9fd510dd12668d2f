# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that prints what a server's option files say, and what it prints."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    command,
    option_files,
    trust,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# What else selects option files, if mysqld_safe or a unit sets it.
ENVIRONMENT = ("MYSQL_HOME", "MYSQL_GROUP_SUFFIX")


def command_text(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """The command as a shell takes it, after the part of its environment that selects files."""
    chosen = [name for name in ENVIRONMENT if name in environment]
    return " ".join(
        [
            *(f"{name}={shlex.quote(environment[name])}" for name in chosen),
            *map(shlex.quote, words),
        ]
    )


def printed_pairs(module: AnsibleModule, reader: str) -> list[tuple[str, str]] | None:
    """Every option that it prints, in order; None if it fails.

    Args:
        reader: result of command_text().
    """
    words, environment = shlex.split(reader), dict(command.PLAIN)
    while words and words[0].partition("=")[0] in ENVIRONMENT:
        name, _equals, value = words.pop(0).partition("=")
        environment[name] = value
    status, printed, _errors = command.run(module, trust.trusted_command(words), environment)
    return None if status else option_files.print_defaults_pairs(printed)
