# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened to a source since the last run: its counters against those that were kept."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import utc
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import rises, same_value
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils.checks import checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import apply

COUNTERS = ("yes_tx", "no_tx", "no_times")
# What a failover asks of the last look at a source that is dead, by variables and statuses.
PROMISED = ("timeout", "wait_no_replica", "wait_for_replica_count", "wait_point")
SEEN = ("status", "clients", "wait_sessions")
# How many earlier looks are kept.
PAST = 24
# Clocks and whole seconds of uptime: a reset that seems this much younger than the last run may be
# the same one.
TOLERANCE_SECONDS = 3


def snapshot(info: Info, at: str) -> dict[str, Any] | None:
    """What is kept of a source for the next run, or None where its counters cannot be read."""
    status = info["semisync"]["source"]["status"]
    if any(status.get(key) is None for key in COUNTERS):
        return None
    state: dict[str, Any] = {key: int(status[key] or 0) for key in COUNTERS}
    since = info["uptime"]["since_reset"]
    state.update(
        server=checkpoints.identity(info),
        at=at,
        clock=info["clock"],
        counting_since=None if since is None else info["clock"] - since,
    )
    running = info["semisync"]["source"]["variables"]
    state.update({key: status.get(key) for key in SEEN})
    state.update({key: running.get(key) for key in PROMISED})
    state["calm_since"] = info.get("calm_since")
    state.update(
        unit=info.get("unit"),
        server_id=info["variables"].get("server_id"),
        files=files_of(info),
        sync_binlog=info["variables"].get("sync_binlog"),
        gtid_strict_mode=info["variables"].get("gtid_strict_mode"),
        gtid=info["gtid"].get("gtid_executed") or info["gtid"].get("gtid_binlog_state") or "",
        error_log=info.get("error_log"),
        # A replica does not know which of them ran.
        events=info.get("events"),
        binlog_filters=info.get("binlog_filters"),
        settings_row=settings_row(info),
    )
    return state


def settings_row(info: Info) -> int:
    """The newest row of settings that a look covers. A change that is begun may be made after the
    look, which covers the rows before it only.
    """
    begun = int(info.get("settings_open") or 0)
    return begun - 1 if begun else int(info.get("settings_row") or 0)


def files_of(info: Info) -> dict[str, Any]:
    """Where its binary log is, and what shows that nobody writes there any more."""
    variables = info["variables"]
    return {
        "basename": variables.get("log_bin_basename"),
        "datadir": variables.get("datadir"),
        "pid_file": variables.get("pid_file"),
        "basedir": variables.get("basedir"),
        "program": info.get("program"),
    }


def compare(saved: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any] | None:
    """How far the counters rose since the last run.

    FLUSH STATUS and a restart set them to zero. Then what they show is the least that happened.

    Args:
        saved: snapshot() of the run before, or None.
        now: snapshot() of this run, or None.

    Returns:
        {'no_tx', 'no_times': increase, 'since': when the last run was, 'reset': whether they began
        anew since}, or None where there is nothing to compare.
    """
    if not now or not saved or saved.get("server") != now["server"]:
        return None
    reset = any(now[key] < saved.get(key, 0) for key in COUNTERS) or began_anew(saved, now)
    start = dict.fromkeys(COUNTERS, 0)
    if not reset:
        start.update((key, saved[key]) for key in COUNTERS if key in saved)
    return dict(rises(start, now, COUNTERS), since=saved["at"], reset=reset)


def began_anew(saved: dict[str, Any], now: dict[str, Any]) -> bool:
    return (
        now["counting_since"] is not None
        and saved.get("clock") is not None
        and now["counting_since"] > saved["clock"] + TOLERANCE_SECONDS
    )


def degraded_since(saved: dict[str, Any] | None, info: Info, at: str) -> str | None:
    """When a run first saw that the source replicates asynchronously; None where it does not."""
    if not apply.fell_back(info):
        return None
    if saved and saved.get("server") == checkpoints.identity(info) and saved.get("degraded_since"):
        return saved["degraded_since"]
    return at


def look_back(
    saved: dict[str, Any] | None, members: list[Member], at: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, str | None]:
    """(what is kept of a source for the next run, how far its counters rose since the last one,
    since when it replicates asynchronously), each None if there is nothing to say.

    Args:
        saved: what the run before kept, or None.
        members: of the cluster, with what their servers said.
        at: now.
    """
    source = source_of(members)
    info = source.info
    if info is None:
        return None, None, None
    # It was read before it is judged, and no earlier than it was asked.
    asked = info.get("asked_at")
    at = min(at, at_second(info["clock"])) if asked is None else min(at, at_second(asked))
    state, since = snapshot(info, at), degraded_since(saved, info, at)
    past = compare(saved, state)
    if state:
        state["degraded_since"] = since
        state["calm_at"] = calm_at(saved, state, past)
        state["host"] = source.host
        state.update(of_replicas(info, replicas_of(members)))
        state["past"] = earlier(saved, state)
        state["unsynced"] = unsynced(saved, state)
    return state, past, since


def of_replicas(info: Info, replicas: list[Member]) -> dict[str, Any]:
    """Who could acknowledge at a look, and by which a later run sees whether they still have it.

    Args:
        info: what the source said.
    """
    known = {member.host: who(member) for member in replicas if is_client(info, member)}
    clients = int(info["semisync"]["source"]["status"].get("clients") or 0)
    return {
        "acknowledgers": known,
        "strangers": max(0, clients - len(known)),
        "replicas": {
            member.host: {"connection_id": member.info.get("connection_id")}
            for member in replicas
            if member.info is not None
        },
    }


def who(member: Member) -> dict[str, Any]:
    """What a replica is known by to its source."""
    variables = member.info["variables"] if member.info else {}
    return {"server_id": variables.get("server_id"), "uuid": variables.get("server_uuid")}


def is_client(info: Info, member: Member) -> bool:
    """Whether a replica of the inventory may be one of the source's semi-sync clients; one that is
    none must not hide a stranger among them.
    """
    if member.info is None:
        # It may be connected, and could not be read.
        return True
    status = member.info["semisync"]["replica"].get("status") or {}
    if status.get("status") is not None and not same_value(status["status"], "ON"):
        return False
    registered = info.get("registered")
    if registered is None:
        return True
    mine = who(member)
    return any(
        (one.get("uuid") and one["uuid"] == mine["uuid"])
        or str(one.get("server_id")) == str(mine["server_id"])
        for one in registered
    )


def earlier(saved: dict[str, Any] | None, state: dict[str, Any]) -> list[dict[str, str]]:
    """The looks before: when, and which GTIDs the source had. A commit that was confirmed before a
    look is on whoever has all that the source had then.
    """
    if not saved or saved.get("server") != state["server"] or not saved.get("gtid"):
        return []
    if lost_history(saved["gtid"], state["gtid"]):
        return []
    kept = [*(saved.get("past") or []), {"at": saved["at"], "gtid": saved["gtid"]}]
    # The latest matter most: of the older half every other one goes.
    return kept if len(kept) <= PAST else kept[: PAST // 2 : 2] + kept[PAST // 2 :]


def unsynced(saved: dict[str, Any] | None, state: dict[str, Any]) -> str | None:
    """A sync_binlog other than 1 that any look at this server has seen; None if none has."""
    if state.get("sync_binlog") not in (None, "1"):
        return str(state["sync_binlog"])
    return saved.get("unsynced") if saved and saved.get("server") == state["server"] else None


def lost_history(before: str, now: str) -> bool:
    """Whether a server lacks GTIDs that it had: its history began anew."""
    kind = gtids.kind_by_text(before)
    return bool(kind.parse(before).beyond(kind.parse(now)))


def at_second(clock: float) -> str:
    """A server's clock as results have times."""
    return utc(clock)


def calm_at(
    saved: dict[str, Any] | None, state: dict[str, Any], past: dict[str, Any] | None
) -> str | None:
    """The last look at which no commit waited, or all that did were then acknowledged: none that
    waits now gives up before its timeout is over since then. None where nobody has seen that on
    this server, with this timeout.
    """
    if state["calm_since"] is not None:
        # Seen after the server was asked; a clock of its own that is ahead tells nothing.
        return min(str(state["at"]), at_second(state["calm_since"]))
    if not saved or not past or past["reset"] or saved.get("spent_at"):
        return None
    promised = ("timeout", "wait_no_replica", "settings_row")
    same = all(saved.get(key) == state.get(key) for key in promised)
    return saved.get("calm_at") if same else None
