# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first look of a failover at a host. Each host gets the module for what its server is: the
small one for a replica, the one that reads how a server ended, or semisync_info for a server that
runs and is no replica. On the night, that is one module for each host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._replication import backlog, gtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    FirstLookPlan,
    LastWordsPlan,
    Place,
    Plan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import source_log
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import RunContext
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.task_options import (
    INFO,
    LAST_WORDS,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Backlog,
        RoleState,
    )

WATCH = "watch"
# How often a replica's applier is read again, at most.
TURNS = 12


def read_host(run: RunContext) -> dict[str, object]:
    """What this host's server is, or how it ended. A guess at which module it needs costs another
    call if it was wrong, and nothing else.
    """
    result = how_it_ended(run) if run.host in expected_sources(run) else look_at_replica(run)
    if result.get("reason") == "stopped" and "look" not in result:
        result = how_it_ended(run)
    if result.get("failed") or result.get("channel"):
        return result
    # The source lives: what is read now may become the last look at it.
    whole = run.ask(INFO)
    if not whole.get("channel"):
        return whole
    replica = look_at_replica(run)
    if replica.get("failed"):
        return replica
    # It may be the source all the same. Its state is the one before which nothing is concluded, and
    # what was read of it beside that is no newer than the second answer.
    return {**replica, **whole, "answered_at": replica["answered_at"]}


def expected_sources(run: RunContext) -> Sequence[str]:
    """The hosts of which one is expected to be the dead source's: the source of the last look, or
    else the inventory's group, which has those of other clusters too.
    """
    last = run.last_look()
    if last and last.get("host"):
        return [last["host"]]
    return run.task_vars["groups"].get("semisync_source", ())


def how_it_ended(run: RunContext) -> dict[str, object]:
    """The failure to log in to this host's server, with what its host says; no failure if it
    runs.
    """
    last = run.last_look()
    return run.ask(
        LAST_WORDS,
        LastWordsPlan(
            unit=run.own["service"] or (last.get("unit") if last else None),
            error_log=last.get("error_log") if last else None,
            files=log_files(run.own, last),
        ),
    )


def log_files(own: Settings, last: Look | None) -> LogFiles | None:
    """Where the source's binary log is, by the last look at it; None if it is not salvaged."""
    known = source_log.known_files(last) if own.get("failover_salvage") else None
    return source_log.files_of(known) if known else None


def look_at_replica(run: RunContext) -> dict[str, object]:
    """What a failover asks of a replica, with its backlog."""
    result = run.do(replica_plan(run))
    if result.get("channel"):
        result["backlog"] = watched(run, cast("RoleState", result))
    return result


def replica_plan(run: RunContext) -> FirstLookPlan:
    """Where a replica tries to log in."""
    # Results registered before this are outdated: only the addresses count.
    _name, members = cluster.known_members(run.task_vars, "")
    places = {
        one.host: Place(
            one.address,
            cast("int | str | None", run.variables_of(one.host).get("semisync_login_port")),
        )
        for one in members
        if one.host != run.host
    }
    sources = expected_sources(run)
    return FirstLookPlan(
        places=[*places.values()],
        user=run.own["replication_user"],
        dead=[place for host, place in places.items() if place.address and host in sources],
    )


def watched(run: RunContext, info: RoleState) -> Backlog | None:
    """A replica's backlog and its speed, out of raw readings: only one that is at work is read
    again. None if it follows no source any more.
    """
    engine, first = info["engine"], applier_of(info)
    seen = backlog.at_first(engine, first)
    if not backlog.is_at_work(seen, first):
        return seen
    last = first
    for _turn in range(TURNS):
        again = run.do(Plan(), step=WATCH)
        if not again.get("channel"):
            return None
        last = applier_of(cast("RoleState", {**again, "engine": engine}))
        if backlog.is_watched(engine, first, last):
            break
    return backlog.between(engine, first, last)


def applier_of(read: RoleState) -> backlog.Look:
    """How far a replica's applier was at a reading."""
    channel, gtid = read["channel"], read["gtid"]
    if channel is None:
        raise ValueError("a server without a channel applies nothing")
    applied = gtid.get(gtids.kind_of(read["engine"]).APPLIED) or ""
    return backlog.Look(channel, applied if channel["gtid"] else "", read["clock"])
