# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened to a source since the last run, and what is kept of it for the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import moment_of, utc
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import same_value
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import replication

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import (
        BinaryLogFiles,
        Counters,
        EarlierLook,
        Identity,
        Look,
        Rise,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# How many earlier looks are kept.
PAST = 24
# Clocks and whole seconds of uptime: a reset that seems this much younger than the last run may be
# the same one.
TOLERANCE_SECONDS = 3
# Of a source that did not say.
NO_FILES: BinaryLogFiles = {
    "basename": None,
    "datadir": None,
    "pid_file": None,
    "basedir": None,
    "program": None,
}


def snapshot(info: Info, at: str) -> Look | None:
    """What is kept of a source for the next run, or None if its counters cannot be read."""
    status = info["semisync"]["source"]["status"]
    running = info["semisync"]["source"]["variables"]
    yes_tx, no_tx, no_times = (status.get(key) for key in ("yes_tx", "no_tx", "no_times"))
    if yes_tx is None or no_tx is None or no_times is None:
        return None
    since, variables, gtid = info["uptime"]["since_reset"], info["variables"], info["gtid"]
    return {
        "yes_tx": int(yes_tx),
        "no_tx": int(no_tx),
        "no_times": int(no_times),
        "server": checkpoints.identity(info),
        "at": at,
        "clock": info["clock"],
        "counting_since": None if since is None else info["clock"] - since,
        "status": status.get("status"),
        "clients": status.get("clients"),
        "wait_sessions": status.get("wait_sessions"),
        "timeout": running.get("timeout"),
        "wait_no_replica": running.get("wait_no_replica"),
        "wait_for_replica_count": running.get("wait_for_replica_count"),
        "wait_point": running.get("wait_point"),
        "calm_since": info.get("calm_since"),
        "unit": info.get("unit"),
        "server_id": variables.get("server_id"),
        "files": files_of(info),
        "sync_binlog": variables.get("sync_binlog"),
        "gtid_strict_mode": variables.get("gtid_strict_mode"),
        "gtid": gtid.get("gtid_executed") or gtid.get("gtid_binlog_state") or "",
        "error_log": info.get("error_log"),
        "events": info.get("events"),
        "binlog_filters": info.get("binlog_filters"),
        "settings_row": settings_row(info),
    }


def settings_row(info: Info) -> int:
    """The newest row of settings that a look covers. A change that is begun may be made after the
    look, which covers the rows before it only.
    """
    begun = int(info.get("settings_open") or 0)
    return begun - 1 if begun else int(info.get("settings_row") or 0)


def files_of(info: Info) -> BinaryLogFiles:
    variables = info["variables"]
    return {
        "basename": variables.get("log_bin_basename"),
        "datadir": variables.get("datadir"),
        "pid_file": variables.get("pid_file"),
        "basedir": variables.get("basedir"),
        "program": info.get("program"),
    }


def compare(saved: Look | None, now: Look | None) -> Rise | None:
    """How far the counters rose since the last run, or None if there is nothing to compare.

    FLUSH STATUS and a restart reset them. Then what they show is the least that happened.

    Args:
        saved: snapshot() of the run before, or None.
        now: snapshot() of this run, or None.
    """
    if not now or not saved or saved.get("server") != now["server"]:
        return None
    before = counters(saved)
    lower = (
        now["yes_tx"] < before["yes_tx"]
        or now["no_tx"] < before["no_tx"]
        or now["no_times"] < before["no_times"]
    )
    reset = lower or began_anew(saved, now)
    if reset:
        before = {"yes_tx": 0, "no_tx": 0, "no_times": 0}
    return {
        "yes_tx": now["yes_tx"] - before["yes_tx"],
        "no_tx": now["no_tx"] - before["no_tx"],
        "no_times": now["no_times"] - before["no_times"],
        "since": saved["at"],
        "reset": reset,
    }


def counters(look: Look) -> Counters:
    """The counters of a look; 0 for one that it lacks."""
    return {
        "yes_tx": look.get("yes_tx", 0),
        "no_tx": look.get("no_tx", 0),
        "no_times": look.get("no_times", 0),
    }


def began_anew(saved: Look, now: Look) -> bool:
    before, since = saved.get("clock"), now["counting_since"]
    return since is not None and before is not None and since > before + TOLERANCE_SECONDS


def degraded_since(saved: Look | None, info: Info, at: str) -> str | None:
    """When a run first saw that the source replicates asynchronously; None if it does not."""
    if not replication.fell_back(info):
        return None
    if saved and saved.get("server") == checkpoints.identity(info) and saved.get("degraded_since"):
        return saved["degraded_since"]
    return at


def as_look(kept: Mapping[str, object] | None) -> Look | None:
    """A look as state.json has it, which this collection wrote."""
    return cast("Look", dict(kept)) if kept else None


def look_back(
    kept: Mapping[str, object] | None, members: list[Member], at: str
) -> tuple[Look | None, Rise | None, str | None]:
    """(what is kept of a source for the next run, how far its counters rose since the last one,
    since when it replicates asynchronously), each None if there is nothing to say.

    Args:
        kept: what the run before kept, or None.
        members: of the cluster, with what their servers said.
        at: now.
    """
    source = source_of(members)
    info = source.info
    if info is None:
        return None, None, None
    # It was read before it is judged, and no earlier than it was asked.
    asked, now = info.get("asked_at"), at
    at = min(at, at_second(info["clock"])) if asked is None else min(at, at_second(asked))
    saved = as_look(kept)
    state, since = snapshot(info, at), degraded_since(saved, info, at)
    past = compare(saved, state)
    if state:
        state["degraded_since"] = since
        state["calm_at"] = calm_at(saved, state, past)
        state["host"] = source.host
        state["read_by"] = now
        add_replicas(saved, state, info, replicas_of(members))
        state["past"] = earlier(saved, state)
        state["unsynced"] = unsynced(saved, state)
        state["binlog_filters"] = binlog_filters(saved, state)
    return state, past, since


def add_replicas(saved: Look | None, state: Look, info: Info, replicas: list[Member]) -> None:
    """Add to a look who could acknowledge, and what shows a later run whether they still have it.

    Args:
        saved: the look before it.
        info: what the source said.
    """
    known = {member.host: who(member) for member in replicas if is_client(info, member)}
    clients = int(info["semisync"]["source"]["status"].get("clients") or 0)
    state["acknowledgers"] = known
    state["strangers"] = max(0, clients - len(known))
    state["replicas"] = {
        member.host: {
            "connection_id": member.info.get("connection_id"),
            "asked_at": member.info.get("asked_at"),
            "before": number_before(saved, state, member),
        }
        for member in replicas
        if member.info is not None
    }


def number_before(saved: Look | None, state: Look, member: Member) -> int | None:
    """Connection.before: the number that the look before this one has read, if all of that had been
    read when the source was asked for this one; else, as of two runs at a time, what that look has
    itself as given before.
    """
    seen = (saved.get("replicas") or {}).get(member.host) if saved else None
    if not saved or not seen or not saved.get("read_by") or seen.get("asked_at") is None:
        return None
    # A look's moments are whole seconds.
    started = moment_of(state["read_by"]) + 1 - int(member.facts["uptime"]["seconds"])
    if started > (seen["asked_at"] or 0) or saved["at"] > state["at"]:
        return None
    return seen["connection_id"] if saved["read_by"] < state["at"] else seen["before"]


def who(member: Member) -> Identity:
    """What a replica is known by to its source."""
    if member.info is None:
        return {"server_id": None, "uuid": None}
    variables = member.info["variables"]
    return {"server_id": variables.get("server_id"), "uuid": variables.get("server_uuid")}


def is_client(info: Info, member: Member) -> bool:
    """Whether a replica of the inventory may be one of the source's semi-sync clients; one that
    is not must not hide a stranger among them.
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


def earlier(saved: Look | None, state: Look) -> list[EarlierLook]:
    """The looks before this one. A commit that was confirmed before a look is on each server that
    has everything that the source had then.
    """
    if not saved or saved.get("server") != state["server"] or not saved.get("gtid"):
        return []
    if lost_history(saved["gtid"], state["gtid"]):
        return []
    before: EarlierLook = {"at": saved["at"], "gtid": saved["gtid"]}
    kept = [*(saved.get("past") or []), before]
    # The latest matter most: of the older half every other one goes.
    return kept if len(kept) <= PAST else kept[: PAST // 2 : 2] + kept[PAST // 2 :]


def binlog_filters(saved: Look | None, state: Look) -> list[str] | None:
    """What keeps rows out of a source's binary log; filters that an earlier look has seen, if this
    one could not ask. None if it is not known: that there were none then says nothing of now.
    """
    if state["binlog_filters"] is not None or not saved:
        return state["binlog_filters"]
    return (saved.get("binlog_filters") if saved.get("server") == state["server"] else None) or None


def unsynced(saved: Look | None, state: Look) -> str | None:
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


def calm_at(saved: Look | None, state: Look, past: Rise | None) -> str | None:
    """The last look at which no commit waited, or all waiting commits were then acknowledged: none
    that waits now gives up earlier than one timeout after that look. None if that was not seen on
    this server, with this timeout.
    """
    if state["calm_since"] is not None:
        # Seen after the server was asked; a clock of its own that is ahead tells nothing.
        return min(str(state["at"]), at_second(state["calm_since"]))
    if not saved or not past or past["reset"] or saved.get("spent_at"):
        return None
    same = (
        saved.get("timeout") == state["timeout"]
        and saved.get("wait_no_replica") == state["wait_no_replica"]
        and saved.get("settings_row") == state["settings_row"]
    )
    return saved.get("calm_at") if same else None
