# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option-file lines a host should have, and how far the running server is from them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Literal

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    DURABILITY,
    SWITCHES,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import (
    canonical_value,
    same_value,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        Drift,
        Line,
        Section,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info, Side

# What SET GLOBAL can change without a restart; the others take effect at the next start.
DYNAMIC = (*DURABILITY, "read_only", "sync_relay_log")
# What gtid.yml leaves in our file on a server that replicated before.
GTID_COMMENT = "replication by GTID"
GTID_OPTIONS: list[Line] = [("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON")]
LOSSLESS_COMMENT = (
    "lossless: acknowledged is on the replica's disk; writers are let in by a playbook"
)
OTHER_SIDE: dict[Side, Side] = {"source": "replica", "replica": "source"}
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def unknown(info: Info) -> str:
    """Why this server's option files are unknown; empty if they were read."""
    return info["option_files"].get("unknown") or ""


def command_line(info: Info) -> dict[str, str]:
    """The server's command-line options, which override its option files."""
    return info["option_files"].get("command_line") or {}


def server_id(host: str, explicit: int, info: Info, fresh: bool) -> int:
    """The host's server_id: the one asked for, the one it runs with, or one made from its name.

    Every fresh server runs with 1 (MySQL 8.0 and later, MariaDB) or 0, which does not identify it.

    Args:
        host: inventory name.
        explicit: semisync_server_id, 0 for automatic.
        info: result of semisync_info.
        fresh: whether the collection sets replication up on this host.
    """
    running = int(info["variables"]["server_id"] or 0)
    if not fresh:
        return running
    if explicit:
        return explicit
    if running > 1:
        return running
    return made_up_id(host)


def made_up_id(host: str) -> int:
    return zlib.crc32(host.encode("utf-8")) % 4294967290 + 2


def listens_on_loopback_only(info: Info) -> bool:
    """Whether no other host can reach the server, now or after its next start."""
    return any(
        all(address.strip() in LOOPBACK for address in (value or "*").split(","))
        for value in (
            info["variables"]["bind_address"],
            info["option_files"]["options"].get("bind_address"),
        )
    )


def replication_options(side: Side, info: Info, settings: Settings, number: int) -> list[Line]:
    """P0: the lines that a server needs to be a source or replica at all.

    A line in our file stays, so that every run gives the same file; a lost line is restored.
    """
    ours = option_files.parse_ours(info["option_files"]["ours"])
    options: list[Line] = [("server_id", number)]
    stays_on = info["names"]["log_bin_by_default"] or "log_bin" in info["option_files"]["options"]
    if info["variables"]["log_bin"] != "ON" or "log_bin" in ours or not stays_on:
        options.append(("log_bin", "mysql-bin"))
    if info["engine"] != "mariadb" and info["names"]["gtid"]:
        options += GTID_OPTIONS
    options += [(info["names"]["log_updates"], "ON"), ("relay_log", "mysql-relay-bin")]
    if settings["bind_address"] and (listens_on_loopback_only(info) or "bind_address" in ours):
        options.append(("bind_address", settings["bind_address"]))
    if side == "replica" and settings["replica_read_only"]:
        options.append(("read_only", "ON"))
    return options


def semisync_options(side: Side, info: Info, settings: Settings, on: bool = True) -> list[Line]:
    """The lines of one side of semi-sync, for the variables that this server has.

    The plugin's options have the prefix loose_: without it a server without the plugin would not
    start.

    Args:
        on: whether it is enabled, or configured but off until the host has this side. An old
            MariaDB that starts with both on may truncate a source's binary log (MDEV-33465).
    """
    values: dict[Side, dict[str, int | str]] = {
        "source": {
            "enabled": int(on),
            "timeout": settings["timeout_ms"],
            "wait_point": settings["wait_point"],
            "wait_for_replica_count": settings["wait_for_replica_count"],
            "wait_no_replica": int(settings["wait_no_replica"]),
            "trace_level": settings["trace_level"],
        },
        "replica": {"enabled": int(on), "trace_level": settings["trace_level"]},
    }
    prefix = "" if info["names"]["builtin"] else "loose_"
    names = info["names"][side]["variables"]
    return [(prefix + names[key], value) for key, value in values[side].items() if key in names]


def durability_options(settings: Settings) -> list[Line]:
    """What a server must write to its own disk before a commit counts; for the source, and for a
    replica that may be promoted.
    """
    return [
        ("sync_binlog", settings["sync_binlog"]),
        ("innodb_flush_log_at_trx_commit", settings["innodb_flush_log_at_trx_commit"]),
    ]


def full_sections(side: Side, info: Info, settings: Settings, on: bool) -> list[Section]:
    """Durability and both sides of semi-sync.

    Args:
        on: whether the host's own side is on.
    """
    other = OTHER_SIDE[side]
    until = "" if on else ", off until there is a replica"
    return [
        (
            "a commit is on the server's own disk before it is confirmed",
            durability_options(settings),
        ),
        (
            f"semi-synchronous replication, {side} side{until}",
            semisync_options(side, info, settings, on),
        ),
        (
            f"semi-synchronous replication, {other} side, off until the host has it",
            semisync_options(other, info, settings, on=False),
        ),
    ]


def sections(
    side: Side,
    info: Info,
    settings: Settings,
    number: int,
    fresh: bool,
    stage: str,
    accompanied: bool = True,
) -> list[Section]:
    """Our lines by purpose: [(comment, [(option, value)])].

    Args:
        stage: 'replication' leaves semi-sync out, for a baseline before it; 'full' is everything.
        accompanied: whether the cluster has replicas. Without any, as after a failover of a pair, a
            source that waits would block all writes.
    """
    on = accompanied or side != "source"
    result: list[Section] = []
    if fresh:
        result.append(("replication (P0)", replication_options(side, info, settings, number)))
    if stage == "full":
        result += full_sections(side, info, settings, on)
        have = [option for _comment, pairs in result for option, _value in pairs]
        lossless = durability_mode.options(settings, have)
        if lossless:
            result.append((LOSSLESS_COMMENT, lossless))
    if not fresh and "gtid_mode" in option_files.parse_ours(info["option_files"]["ours"]):
        result.append((GTID_COMMENT, GTID_OPTIONS))
    return result


def runtime_value(info: Info, name: str) -> str | None:
    """The running server's value of a variable, or None if it has none."""
    for side in ("source", "replica"):
        for key, server_name in info["names"][side]["variables"].items():
            if server_name == name:
                return info["semisync"][side]["variables"][key]
    return info["variables"].get(name)


def drift(options: list[Line], info: Info) -> Drift:
    """Options whose running value differs: canonical name -> (running value, wanted value)."""
    result: Drift = {}
    for option, value in options:
        name = option_files.canonical_name(option)
        running = runtime_value(info, name)
        if name == "read_only" and not channels.running(info["channel"]):
            # It may have been promoted by hand meanwhile. The option file takes effect at the next
            # start.
            continue
        same = running == "ON" if name == "log_bin" else same_value(running, value)
        if not same:
            result[name] = (running, value)
    return result


def withdrawn(options: list[Line], info: Info) -> Drift:
    """What a removed line of ours leaves in the running server, in the form of drift()."""
    name = "sync_relay_log"
    files = info["option_files"]
    if name not in option_files.parse_ours(files["ours"]) or name in dict(options):
        return {}
    before = files["elsewhere"].get(name, info["names"]["defaults"][name])
    running = info["variables"].get(name)
    return {} if same_value(running, before) else {name: (running, before)}


ComparedKey = Literal["timeout_ms", "wait_point", "wait_for_replica_count", "wait_no_replica"]
# The inventory's semi-sync settings for a source: key of names.SOURCE_VARIABLES -> of Settings.
COMPARED: dict[str, ComparedKey] = {
    "timeout": "timeout_ms",
    "wait_point": "wait_point",
    "wait_for_replica_count": "wait_for_replica_count",
    "wait_no_replica": "wait_no_replica",
}


def differing_from_inventory(
    info: Info, settings: Settings
) -> list[tuple[str, str, str, int | str]]:
    """Semi-sync's values on a source that are not what the inventory wants.

    Args:
        settings: a missing value is not compared.

    Returns:
        list of (public variable, the server's name, running value, wanted value).
    """
    names, running = info["names"]["source"]["variables"], info["semisync"]["source"]["variables"]
    differing = []
    for key, wanted in sorted(COMPARED.items()):
        value = running[key] if key in names and wanted in settings else None
        if value is not None and not same_value(value, settings[wanted]):
            differing.append((f"semisync_{key}", names[key], value, settings[wanted]))
    return differing


def switches_on(name: str, value: int | str) -> bool:
    """Whether giving a variable this value switches a side of semi-sync on."""
    return name in SWITCHES and canonical_value(value) != "0"


def is_dynamic(name: str) -> bool:
    return name in DYNAMIC or name.startswith("rpl_semi_sync")
