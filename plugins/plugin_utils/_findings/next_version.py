# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a newer version of a server refuses of what this one has; the table of options is in
module_utils/_server/removed_options.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.plugins.module_utils._server.removed_options import (
    REMOVALS,
    Version,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# First version of MySQL that lacks the plugins of the old names; a server that has no others yet
# cannot turn them into new ones.
PLUGINS_GONE = (9, 5)
# The version whose server loads mysql_native_password only if it is told to, and the first without
# it (MySQL 8.4 manual, "Native Pluggable Authentication"; MySQL 9.0 manual, "What Is New").
NATIVE_BY_OPTION, NATIVE_GONE = (8, 4), (9, 0)
NATIVE = "mysql_native_password"
# Accounts that are named.
NAMED = 5
SHOWN = {"mysql": "MySQL", "percona": "Percona Server", "mariadb": "MariaDB"}


def refused_options(info: Info) -> list[tuple[Version, str]]:
    """(the version that refuses it, an option) for each option that the server starts with."""
    given = {
        *info["option_files"]["options"],
        *option_lines.command_line(info),
        *info["persisted"],
    }
    version = parse_version(info["version"])
    return [
        (one.version, name)
        for one in REMOVALS
        if info["engine"] in one.engines and version < one.version
        for name in sorted(one.options & given)
        if one.version != PLUGINS_GONE or can_turn(info)
    ]


def can_turn(info: Info) -> bool:
    """Whether a server knows both generations of semi-sync's plugins."""
    engine, version = info["engine"], parse_version(info["version"])
    return names.NEW_NAMES_SINCE[engine] <= version < names.OLD_NAMES_UNTIL[engine]


def refused_plugins(info: Info) -> list[tuple[Version, str]]:
    """(the version that lacks it, a plugin) for each plugin of an old name."""
    if not can_turn(info):
        return []
    have: Iterable[str] = {*info["plugins"], *info["plugins_registered"]}
    return [(PLUGINS_GONE, f"plugin {name}") for name in sorted(have) if name in names.OLD_PLUGINS]


def refused_accounts(info: Info) -> list[tuple[Version, str]]:
    """Accounts that log in by a plugin that a newer version lacks; one such as the replicas' among
    them keeps replication from running there.
    """
    accounts = info.get("native_accounts") or []
    first = NATIVE_GONE if loads_native(info) else NATIVE_BY_OPTION
    if not accounts or parse_version(info["version"]) >= first:
        return []
    more = f" and {len(accounts) - NAMED} more" if len(accounts) > NAMED else ""
    return [(first, f"logins by {NATIVE} ({', '.join(accounts[:NAMED])}{more})")]


def loads_native(info: Info) -> bool:
    """Whether a server is told to load mysql_native_password: by an option without a value, or with
    any but OFF, such as FORCE (MySQL manual, "Installing and Uninstalling Plugins").
    """
    given = {
        **info["option_files"]["options"],
        **option_lines.command_line(info),
        **info["persisted"],
    }
    values = [given[name] for name in (NATIVE, f"loose_{NATIVE}") if name in given]
    return any(canonical_value(str(value or "ON")) != "0" for value in values)


def next_version_findings(member: Member) -> list[Finding]:
    """What keeps a server from starting after an upgrade, its semi-sync from loading, or accounts
    from logging in.
    """
    info, by_version = member.facts, dict[Version, list[str]]()
    for version, words in [
        *refused_options(info),
        *refused_plugins(info),
        *refused_accounts(info),
    ]:
        by_version.setdefault(version, []).append(words)
    evidence = "; ".join(
        f"{SHOWN[info['engine']]} {'.'.join(map(str, version))} refuses {', '.join(refused)}"
        for version, refused in sorted(by_version.items())
    )
    return [finding("next_version", member, evidence)] if evidence else []
