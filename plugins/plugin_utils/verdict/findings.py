# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong, or will be, with a cluster whose servers answer: the rules that find the findings
of finding_kinds.

A checkpoint says whether a point of the procedure holds. A finding says what is dangerous, why, and
what to do.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils.server import names, skipping, values
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import held, option_lines
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import backlog, scheduled
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.finding_kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.promise_findings import (
    of_promise,
    without_what_is_promised,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.sides_findings import of_sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.source_findings import of_source
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.starting import at_start
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.target_findings import of_target
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import (
    CRITICAL,
    INFO,
    SEVERITIES,
    WARNING,
)

# Seconds that clocks may differ for certain.
CLOCK_SECONDS = 1.0
# Why a host was not read that may have no server any more. One that refuses a login has one.
MAY_BE_DEAD = ("stopped", "unreachable", "silent")


def evaluate(
    members: list[Member],
    past: dict[str, Any] | None = None,
    since: str | None = None,
    lag_limit: int = 60,
    ahead: dict[str, Any] | None = None,
    settings: Settings | None = None,
    failover_limit: float = 60,
    away: list[held.Held] | None = None,
) -> list[dict[str, Any]]:
    """All findings of a cluster, the worst first.

    Args:
        members: a Member for every host; of one without info nothing is known.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        lag_limit: seconds a replica may be behind.
        failover_limit: seconds that a failover may wait for what is to be applied.
        ahead: result of clocks(); hosts that were not compared are left out.
        settings: what the inventory wants of the source; of what is not among them nothing is
            known but semisync_promise.
        away: hosts that a failover left behind.
    """
    read = [member for member in members if member.info is not None]
    replicas = [member for member in read if member.side == "replica"]
    count = len([member for member in members if member.side == "replica"])
    entries = of_unread(members)
    for one in away or []:
        name, seen = held.finding(one)
        entries.append(finding(name, one.member, seen))
    entries += [
        finding("follows_held", member, held.missed_words(missed))
        for member in replicas
        if (missed := held.missed(member, [*members, *(one.member for one in away or [])]))
    ]
    for member in read:
        entries += (
            of_plugins(member)
            + of_restart(member)
            + of_target(member, read, settings or Settings())
        )
        if member.side == "source":
            entries += of_source(member, replicas, count, past, since, settings or Settings())
            entries += scheduled.of_source(member)
        else:
            entries += of_replica(member, members) + of_applier(member, lag_limit)
            entries += of_way(member)
            entries += of_skipping(member) + scheduled.of_replica(member)
            entries += backlog.of_replica(member, failover_limit)
    entries += of_sides(members) + of_clocks(read, ahead or {}) + of_identities(read)
    wanted = settings or Settings()
    entries = without_what_is_promised(entries, wanted) + of_promise(members, wanted)
    return sorted(entries, key=lambda entry: SEVERITIES.index(entry["severity"]))


def of_unread(members: list[Member]) -> list[dict[str, Any]]:
    """The hosts that were not read. While the source may be dead nothing is to be started: a
    replica that starts may throw away what it has received.
    """
    unread = [member for member in members if member.info is None]
    gone = [member for member in unread if member.side == "source" and member.unread in MAY_BE_DEAD]
    wait = {"remedy": "Start nothing before failover.yml --check has said what is left."}
    return [
        finding("source_not_read", member, member.unread_words)
        if member in gone
        else finding("not_read", member, member.error, **(wait if gone else {}))
        for member in unread
    ]


def clocks(members: list[Member], now: float) -> dict[str, tuple[float, float]]:
    """Host -> (least, most) seconds that its clock is ahead of the controller's.

    A server's clock was read after it was asked for, and before now.
    """
    return {
        member.host: (member.info["clock"] - now, member.info["clock_ahead"])
        for member in members
        if member.info is not None and member.info.get("clock_ahead") is not None
    }


def off(value: str | None) -> bool:
    """True where a server says that it is off; one that does not say is not taken for it."""
    return value is not None and values.canonical_value(value) == "0"


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


def of_plugins(member: Member) -> list[dict[str, Any]]:
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


def watched(member: Member) -> dict[str, Any]:
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


def of_restart(member: Member) -> list[dict[str, Any]]:
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


def of_skipping(member: Member) -> list[dict[str, Any]]:
    said = [
        f"{name} is {member.facts['variables'][name]}"
        for name in skipping.VARIABLES
        if skipping.passes_over(member.facts["variables"].get(name))
    ]
    return [finding("applier_skips", member, ", ".join(said))] if said else []


def of_replica(member: Member, members: list[Member]) -> list[dict[str, Any]]:
    info, variables, entries = member.facts, member.facts["variables"], []
    enabled = info["semisync"]["replica"]["variables"]["enabled"]
    if enabled != "ON":
        entries.append(
            finding(
                "semisync_off",
                member,
                f"{info['names']['replica']['variables']['enabled']} is {enabled or 'not there'}",
                WARNING,
                why=(
                    "The replica acknowledges nothing, so that commits wait for others, or for the"
                    " timeout."
                ),
            )
        )
    if variables.get("sync_relay_log") not in (None, "1"):
        entries.append(
            finding(
                "relay_log_not_synced", member, f"sync_relay_log is {variables['sync_relay_log']}"
            )
        )
    if member.channel and not member.channel["gtid"] and off(variables.get("relay_log_recovery")):
        entries.append(
            finding(
                "relay_log_not_recovered",
                member,
                "relay_log_recovery is OFF, and the channel follows by file and position",
            )
        )
    if off(variables.get("read_only")):
        # Ours is read-only unless somebody undid it; whether others' applications write there is
        # not for us to judge.
        ours = "read_only" in option_files.parse_ours(info["option_files"]["ours"])
        entries.append(
            finding("replica_writable", member, "read_only is OFF", WARNING if ours else INFO)
        )
    return entries


def of_way(member: Member) -> list[dict[str, Any]]:
    """Whether a replica can know that who answers is its source: by an authority, or from MariaDB
    11.4 on by the account's password.
    """
    channel = member.channel
    if channel is None or (channel["tls"] and (channel["tls_ca"] or channel["tls_verify"])):
        return []
    seen = "TLS, and no authority" if channel["tls"] else "no TLS"
    return [
        finding(
            "replication_unverified",
            member,
            f"the channel to {channel['source_host']} has {seen}",
        )
    ]


def of_applier(member: Member, lag_limit: int) -> list[dict[str, Any]]:
    """A replica whose IO thread acknowledges what its SQL thread does not apply."""
    channel = member.channel
    if not channel or channel["io_running"] != "Yes":
        return []
    if channel["sql_running"] != "Yes":
        return [
            finding(
                "applier_stopped",
                member,
                f"SQL thread {channel['sql_running']}"
                + (f": {channel['last_sql_error']}" if channel["last_sql_error"] else ""),
            )
        ]
    behind = channel["seconds_behind"]
    if behind is not None and int(behind) > lag_limit:
        return [
            finding(
                "applier_behind",
                member,
                f"{int(behind)} seconds behind its source (more than {lag_limit})"
                + (f", of which {channel['delay']} are configured" if channel["delay"] else ""),
            )
        ]
    return []


def of_clocks(read: list[Member], ahead: dict[str, Any]) -> list[dict[str, Any]]:
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


def of_identities(read: list[Member]) -> list[dict[str, Any]]:
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


def critical(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["severity"] == CRITICAL]


def table(entries: list[dict[str, Any]], name: str) -> str:
    """The findings as text for people: what and where, then why and what to do for all but the mere
    notes.
    """
    if not entries:
        return f"Findings of cluster {name}: none"
    width = max(len(entry["host"]) for entry in entries)
    lines = [f"Findings of cluster {name}"]
    for entry in entries:
        lines.append(
            f"  {entry['severity']:8}  {entry['host']:{width}}  {entry['title']}:"
            f" {entry['evidence']} ({entry['id']})"
        )
        if entry["severity"] != INFO:
            lines += [
                f"            why: {entry['why']} [{entry['source']}]",
                "            do:  " + entry["remedy"],
            ]
    return "\n".join(lines)


def reasons(entries: list[dict[str, Any]]) -> str:
    """The critical findings in one line."""
    return ", ".join(f"{entry['id']} on {entry['host']}" for entry in critical(entries))
