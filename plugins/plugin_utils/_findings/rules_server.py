# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with any server of a cluster (not read, plugins, values after a restart) or with
two of them together (clocks, identities).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server import names, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.next_start import at_start
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# Seconds by which clocks may certainly differ.
CLOCK_SECONDS = 1.0
# Why a host was not read whose server may be dead. One that refuses a login is alive.
MAY_BE_DEAD = ("stopped", "unreachable", "silent")
# Host -> (least, most) seconds that its clock is ahead of the controller's.
Ahead = Mapping[str, tuple[float, float]]


def unread_findings(members: list[Member]) -> list[Finding]:
    """The hosts that were not read. While the source may be dead, nothing is to be started: a
    replica that starts may discard what it has received.
    """
    unread = [member for member in members if member.info is None]
    gone = [member for member in unread if member.side == "source" and member.unread in MAY_BE_DEAD]
    variant = "source may be dead" if gone else None
    return [
        finding("source_not_read", member, member.unread_words)
        if member in gone
        else finding("not_read", member, member.error, variant=variant)
        for member in unread
    ]


def disk_findings(members: list[Member]) -> list[Finding]:
    """The servers without space, also those that could not be read."""
    full = [member for member in members if member.disk_full]
    return [finding("disk_full", member, member.disk_full) for member in full]


def clocks(members: list[Member], now: float) -> Ahead:
    """How far each clock is ahead; a server's was read after it was asked for, and before now."""
    return {
        member.host: (member.facts["clock"] - now, member.facts["clock_ahead"])
        for member in members
        if member.info is not None and member.info.get("clock_ahead") is not None
    }


def loading_options(info: Info) -> list[str]:
    """The semi-sync plugins that options load at start: their names."""
    loaded = []
    places = (info["option_files"]["options"], option_lines.command_line(info))
    options = [
        place.get(name, "") for place in places for name in ("plugin_load", "plugin_load_add")
    ]
    for option in options:
        for part in option.strip("'\"").split(";"):
            name, _dummy, library = part.strip().partition("=")
            for plugin, its_library in names.PLUGINS.values():
                # Without a name, all plugins of the library are loaded.
                if plugin == name or (
                    not library and name and name in (its_library, its_library.rpartition(".")[0])
                ):
                    loaded.append(plugin)
    return loaded


def plugin_findings(member: Member) -> list[Finding]:
    info, entries = member.facts, []
    unknown = option_lines.unknown(info)
    if unknown:
        entries.append(finding("option_files_unknown", member, unknown))
    loads = set(info["plugins_registered"]) | set(loading_options(info))
    everywhere = loads | set(info["plugins"])
    old = sorted(everywhere & set(names.OLD_PLUGINS))
    new = sorted(everywhere & set(names.NEW_PLUGINS))
    if old and new:
        entries.append(
            finding(
                "plugin_mix",
                member,
                f"{', '.join(old)} and {', '.join(new)} are loaded, registered in mysql.plugin or"
                " named in the option files",
            )
        )
    for side in (names.SOURCE, names.REPLICA):
        plugin = info["names"][side]["plugin"]
        if (
            plugin
            and info["plugins"].get(plugin) == "ACTIVE"
            and not unknown
            and plugin not in loads
        ):
            entries.append(
                finding(
                    "plugin_not_loaded_at_start",
                    member,
                    f"{plugin} is ACTIVE, but neither in mysql.plugin nor in plugin_load or"
                    " plugin_load_add of the option files",
                )
            )
    return entries


def watched(member: Member) -> dict[str, str]:
    """Variable -> its running value, for what a restart must not change on this host."""
    info = member.facts
    watching = {
        name: info["semisync"][side]["variables"][key]
        for side in (names.SOURCE, names.REPLICA)
        for key, name in info["names"][side]["variables"].items()
    }
    more = ["server_id", "gtid_mode", *names.DURABILITY]
    if member.side == "replica":
        more += ["read_only", "super_read_only", "sync_relay_log", "relay_log_recovery"]
    watching.update((name, info["variables"].get(name)) for name in more)
    return {name: value for name, value in watching.items() if value is not None}


def restart_findings(member: Member) -> list[Finding]:
    entries = []
    for name, running in sorted(watched(member).items()):
        value, origin = at_start(member.facts, name)
        if value is not None and not values.same_value(running, value):
            entries.append(
                finding(
                    "restart_changes_it",
                    member,
                    f"{name} is {running}, after a restart it is {value} ({origin})",
                )
            )
    return entries


def clock_findings(read: list[Member], ahead: Ahead) -> list[Finding]:
    compared = [member for member in read if member.host in ahead]
    if len(compared) < 2:
        return []
    source = next((member for member in compared if member.side == "source"), compared[0])
    entries = []
    for member in compared:
        (least, most), (source_least, source_most) = ahead[member.host], ahead[source.host]
        apart, words = max((least - source_most, "ahead of"), (source_least - most, "behind"))
        if apart > CLOCK_SECONDS:
            entries.append(
                finding(
                    "clocks_differ", member, f"at least {apart:.1f} seconds {words} {source.host}"
                )
            )
    return entries


def identity_findings(read: list[Member]) -> list[Finding]:
    by_id: dict[str, list[Member]] = {}
    for member in read:
        by_id.setdefault(member.facts["variables"]["server_id"] or "", []).append(member)
    return [
        finding(
            "server_id_clash",
            others[1],
            f"server_id {number} on {' and '.join(member.host for member in others)}",
        )
        for number, others in sorted(by_id.items())
        if len(others) > 1
    ]
