# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

PLAIN = {"LC_ALL": "C", "LANG": "C"}


def run(
    module: AnsibleModule,
    words: list[str],
    environment: Mapping[str, str] | None = None,
    **keywords: Any,
) -> tuple[int, str, str]:
    """Exit status, output and standard error of a command, read to their end.

    AnsibleModule.run_command() by itself stops reading if nothing came for a second and the command
    has ended by then: what was written in between is lost (ansible/ansible#51393). A busy host that
    needs a second to start a program loses all its output, with status 0.

    Args:
        environment: variables that the command gets besides its own; by default those that give
            untranslated output.
        keywords: more of run_command()'s.
    """
    return module.run_command(
        words,
        environ_update=dict(PLAIN if environment is None else environment),
        before_communicate_callback=until_the_end,
        **keywords,
    )


def until_the_end(process: Any) -> None:
    """Read a process's output to its end, and stop for no other reason."""
    process.poll = lambda: None
