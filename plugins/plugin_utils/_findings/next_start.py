# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server would start with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info


def at_start(info: Info, name: str) -> tuple[str | None, str]:
    """(the value a variable has after the next start or None if unknown, where from)."""
    if name in info["persisted"]:
        return info["persisted"][name], "SET PERSIST"
    if name in option_lines.command_line(info):
        return option_lines.command_line(info)[name] or "ON", "command line"
    if option_lines.unknown(info):
        return None, ""
    if name in info["option_files"]["options"]:
        # An option without a value switches a variable on.
        return info["option_files"]["options"][name] or "ON", "option file"
    return info["names"]["defaults"].get(name), "server's default, no option file sets it"
