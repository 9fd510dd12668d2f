# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of restart.yml and upgrade.yml on the controller, in their order (roles/restart).
Between them the role restarts or upgrades servers, and moves the source's role by roles/switchover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    cluster,
    durability_mode,
    refusal,
    results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rules_server
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import switchover_plan
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    RunContext,
    plain,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    Registered,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import (
    mark,
    order,
    restart_premises,
    upgrade_path,
    upgrade_premises,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.mark import Mark, Wish
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.order import (
    MEND,
    NOTHING,
    ROLL,
    Order,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# What is kept in a run's folder when it is done.
RESTART_RECORD, UPGRADE_RECORD = "restart.json", "upgrade.json"
# The result on a host without a part in it.
NOT_MEANT: dict[str, object] = {
    "mode": NOTHING,
    "judges": False,
    "checks": False,
    "last": False,
    "returns": False,
    "turn": -1,
    "turns": 0,
}
# The variable in which the role registers the plan.
PLAN = "__semisync_restart"
# That with what became of an earlier run's switchover.
DECIDED = "__semisync_restart_mend"
# What servers themselves find before an upgrade: the source, and then each that is upgraded next.
UPGRADE_LOOK: Registered[upgrade_premises.OwnLook] = Registered("__semisync_upgrade_look")
UPGRADE_CHECK: Registered[upgrade_premises.OwnCheck] = Registered("__semisync_upgrade_check")
UNFINISHED = "The run is not complete: correct this and run it again; it does what is left"


def upgrades(run: RunContext) -> bool:
    """Whether this is a run of upgrade.yml."""
    return boolean(run.task.args.get("upgrades") or False)


def mark_file(run: RunContext) -> str:
    return mark.UPGRADE_FILE if upgrades(run) else mark.RESTART_FILE


def kept_mark(run: RunContext) -> Mark | None:
    """The mark of a run that is not done; None if there is none."""
    kept = mark.understood(run.kept(mark_file(run)))
    if kept is None:
        return None
    wish = wish_of(run)
    # The one that is named now.
    kept["target"] = wish.target or kept["target"]
    return mark.with_others(kept, run.members, wish) if kept["to"] else kept


def another_run(run: RunContext) -> list[str]:
    """Another run that is at work on this controller: together they could have two servers away."""
    for file in () if run.check_mode else (mark.RESTART_FILE, mark.UPGRADE_FILE):
        known = mark.understood(run.kept(file))
        number = mark.at_work(known) if known else ""
        if known and number:
            return [
                f"the run that began at {known['began']} is in progress on this controller (process"
                f" {number}); wait until it has ended"
            ]
    return []


def wish_of(run: RunContext) -> Wish:
    """What the inventory and the command line ask for."""
    units = {
        member.host: str(run.variables_of(member.host).get("semisync_service") or "")
        for member in run.members
    }
    own = run.own
    return Wish(
        own["restart_to"],
        own["restart_back"],
        own["restart_accept"],
        own["allow_disruption"] or run.check_mode,
        units,
        own["upgrade_to"] if upgrades(run) else "",
    )


def wanted_hosts(run: RunContext) -> list[str]:
    """The hosts that a run which begins restarts, or upgrades."""
    if upgrades(run):
        to = run.own["upgrade_to"]
        return [
            member.host
            for member in run.members
            if not upgrade_path.reached(member.facts["version"], to)
        ]
    only_pending = run.own["restart_only"] == "pending"
    return [
        member.host
        for member in run.members
        if not only_pending or (member.info and rules_server.restart_findings(member))
    ]


def plan(run: RunContext) -> dict[str, object]:
    """Judge the premises, and plan or refuse; nothing is kept yet."""
    run.take_members()
    refuse_clusters(run)
    known = kept_mark(run)
    run.refuse(
        another_run(run)
        or (variables_refusals(run) if upgrades(run) else [])
        or run.inventory_problems()
        or restart_premises.reading_refusals(run.members, known)
    )
    wish = wish_of(run)
    if known and is_moving(run, known):
        run.refuse(
            upgrade_premises.other_version(known, wish)
            + restart_premises.consent_refusals(run.members, wish)
        )
        if run.speaks():
            run.say([order.moving_line(run.name, known)])
        return planned(run, known, order.ordered(run.members, known), MEND)
    begun = known or begin_mark(run, wish)
    ordered = order.ordered(run.members, begun)
    lossless = run.own["promise"] == durability_mode.LOSSLESS
    run.refuse(
        (
            upgrade_premises.upgrade_refusals(
                run.members,
                begun,
                wish,
                lossless,
                run.result_of(UPGRADE_LOOK, ordered.source),
            )
            if wish.to
            else []
        )
        + restart_premises.restart_refusals(run.members, begun, ordered, wish)
    )
    if run.speaks():
        run.say(order.lines(run.name, run.members, ordered, begun, known is not None))
    return planned(run, begun, ordered, NOTHING if ordered.empty and not known else ROLL)


def refuse_clusters(run: RunContext) -> None:
    """End a run that works on more than one cluster, unless that is accepted; a plan may be of all.

    Raises:
        RefusedError: it is about several. The words are the same on every host, so they are said
            once in the run.
    """
    playing = cluster.playing(run.task_vars)
    wrong = restart_premises.clusters_refusal(playing, run.own["restart_accept"])
    if wrong and not run.check_mode:
        raise refusal.RefusedError(wrong)


def variables_refusals(run: RunContext) -> list[str]:
    """What is wrong with the variables of an upgrade."""
    return upgrade_premises.missing_variables(run.own) or upgrade_premises.different_versions(
        run.members
    )


def is_moving(
    run: RunContext,
    known: Mark,
) -> bool:
    """Whether an earlier run may have left a switchover that is neither done nor undone; this
    run's look at it may have shown that it has not.
    """
    decided = run.variables_of(run.host).get(DECIDED)
    if isinstance(decided, Mapping) and decided.get("mends") is False:
        return False
    return known["moving"] in [one.host for one in run.members]


def begin_mark(
    run: RunContext,
    wish: Wish,
) -> Mark:
    """The mark of a run that begins now."""
    hosts, source = wanted_hosts(run), source_of(run.members).host
    target = order.chosen_target(run.members, wish.target) if source in hosts else ""
    return mark.made(results.stamp(results.now()), source, target, wish, run.members, hosts)


def planned(
    run: RunContext,
    known: Mark,
    ordered: Order,
    mode: str,
) -> dict[str, object]:
    """The plan as the role reads it: of the cluster, and of this host."""
    mine = known["hosts"].get(run.host)
    turns, engine = ordered.replicas, source_of(run.members).facts["engine"]
    return {
        "changed": False,
        "mode": mode,
        "cluster": run.name,
        "hosts": [member.host for member in run.members],
        "source": ordered.source,
        "moving": known["moving"],
        "target": ordered.target,
        "back": ordered.back,
        "last": ordered.last,
        "returns": bool(ordered.back),
        "judges": mode == ROLL
        and bool(ordered.target or ordered.back)
        and is_as_begun(run.members, known),
        "checks": mode == ROLL and run.host in turns and asks_tables(run, known),
        "turn": turns.index(run.host) if run.host in turns else -1,
        "turns": len(turns),
        "clients": acknowledging(run, known),
        "unit": mine["unit"] if mine else "",
        "log": mine["log"] if mine else "",
        "restarts": restarts(run, known),
        "timeout": run.own["restart_timeout"],
        "catch_up": run.own["catch_up_timeout"],
        "max_lag": run.own["switchover_max_lag"],
        "from": mine["version"] if mine else "",
        "closed": is_closed(mine["read_only"], run.mine.info) if mine else True,
        "shutdown": upgrade_path.shutdown_of(engine, known["to"]) if known["to"] else 1,
        "way_back": order.way_back(known, source_of(run.members), run.host),
        "mark": known,
    }


def acknowledging(run: RunContext, known: Mark) -> int:
    """How many replicas acknowledge when all are up: a former source that cannot follow the newer
    version does not.
    """
    mine, others = run.mine, len(run.members) - 1
    if not known["to"] or mine.info is None or mine.side == "source":
        return others
    old = upgrade_path.is_older_series(
        mine.facts["version"], (source_of(run.members).info or mine.facts)["version"]
    )
    status = mine.facts["semisync"]["replica"]["status"]["status"]
    return others - (old and status != "ON")


def is_closed(before: str, info: Info | None) -> bool:
    """Whether a server must take no writes after its upgrade: it took none before the run, or takes
    none now.
    """
    now = info["variables"].get("read_only") if info else None
    return before != "OFF" or now not in (None, "OFF")


def is_as_begun(members: list[Member], known: Mark) -> bool:
    """Whether a switchover can be judged before the first server: none was stopped by an
    interrupted run, and an upgrade has not begun, which leaves some that could not follow others.
    The move itself is judged again in any case.
    """
    if any(member.info is None for member in members):
        return False
    return not known["to"] or len({member.facts["version"] for member in members}) == 1


def restarts(
    run: RunContext,
    known: Mark,
) -> bool:
    """Whether this host's server is to be restarted; one that an interrupted run has restarted
    already is only waited for.
    """
    return run.host in known["hosts"] and mark.is_left(known, run.host, run.mine.info)


def asks_tables(run: RunContext, known: Mark) -> bool:
    """Whether this host's server is asked about its tables, if it is a replica: before its upgrade,
    and not in check mode, because that locks them.
    """
    upgraded_next = bool(known["to"]) and restarts(run, known)
    return upgraded_next and run.mine.info is not None and not run.check_mode


def judge_tables(run: RunContext) -> dict[str, object]:
    """Refuse what servers say against their own tables, and say which tables were not checked.

    Raises:
        RefusedError: there is something against one.
    """
    run.take_members()
    checks = run.results_of(UPGRADE_CHECK)
    wrong = upgrade_premises.table_refusals(checks, run.own["restart_accept"])
    if wrong:
        raise refusal.RefusedError(
            f"No server was stopped. Cluster {run.name!r}: {'; '.join(wrong)}"
        )
    if run.speaks():
        run.say(upgrade_premises.unchecked_lines(checks))
    return {"changed": False}


def mend(run: RunContext) -> dict[str, object]:
    """Whether the switchover that an earlier run began has anything left to do. One that did not
    begin is planned again, with all that is left.
    """
    run.take_members()
    known = kept_mark(run)
    to = known["moving"] if known else ""
    row = current_source.decide(run.members).row
    mode = switchover_plan.mode_of(run.members, row, to)
    return {"changed": False, "mends": bool(to) and mode != switchover_plan.SWITCH}


def note(run: RunContext) -> dict[str, object]:
    """Keep what the run does next, before it does it: which host it restarts (`working`), or to
    which it moves the role (`moving`). The first note begins the run. Hosts that note the same at
    the same time write the same.
    """
    run.take_members()
    run.refuse(another_run(run))
    known = kept_mark(run) or begun_here(run)
    if known and not run.check_mode:
        working = str(run.task.args.get("working") or "")
        hooked = boolean(run.task.args.get("hooked") or False) or known["hooked"] == working
        known["working"], known["hooked"] = working, working if hooked else ""
        known["moving"] = str(run.task.args.get("moving") or "")
        known["by"] = mark.this_run()
        run.keep(mark_file(run), {**known})
        source = source_of(run.members)
        old = known["to"] and source.info and not mark.is_done(known, source.host, source.info)
        if known["moving"] and old and run.speaks():
            run.say([f"Cluster {run.name}: {order.no_way_back(source)}"])
        # It is one switchover's, and a run may have two.
        run.forget_token()
    return {"changed": False}


def begun_here(run: RunContext) -> Mark | None:
    """The mark that this run's plan made."""
    made = run.variables_of(run.host).get(PLAN)
    kept = made.get("mark") if isinstance(made, Mapping) else None
    return mark.understood(plain(kept)) if isinstance(kept, Mapping) else None


def done(run: RunContext) -> dict[str, object]:
    """See that all is done, keep the record, and forget the mark.

    Raises:
        RefusedError: something is left.
    """
    run.take_members()
    known = kept_mark(run)
    if known is None or run.check_mode:
        return {
            "changed": False,
        }
    left = left_undone(run.members, known)
    if left:
        raise refusal.RefusedError(f"Cluster {run.name!r}: {'; '.join(left)}. {UNFINISHED}")
    if run.speaks():
        record = UPGRADE_RECORD if known["to"] else RESTART_RECORD
        results.write_json(run.run_file(record), record_of(run.name, run.members, known))
        run.keep_look(run.members)
        run.forget(mark_file(run))
        what = f"upgraded to {known['to']}" if known["to"] else "restarted"
        run.end_with("restart", [f"every server of this run is {what}"], "verify")
    return {"changed": True}


def left_undone(
    members: list[Member],
    known: Mark,
) -> list[str]:
    """What is not as it should be at the end."""
    unread = [f"{one.host}: {one.error}" for one in members if one.info is None]
    if unread:
        return unread
    rested: Mark = {**known, "working": ""}
    undone = [
        f"{host}: its server was not {'upgraded' if known['to'] else 'restarted'}"
        for host in mark.pending(rested, members)
    ]
    return gone(members, known) + undone + restart_premises.replica_refusals(members, rested)


def gone(members: list[Member], known: Mark) -> list[str]:
    """Hosts that the run has to do, and that are not members any more."""
    file = mark.UPGRADE_FILE if known["to"] else mark.RESTART_FILE
    return [
        f"{host}: it no longer belongs to the cluster, for example after a failover; bring it"
        f" back with rejoin.yml, or delete {file} in the cluster's results to forget the run"
        for host in known["hosts"]
        if host not in [one.host for one in members]
    ]


def record_of(
    name: str,
    members: list[Member],
    known: Mark,
) -> dict[str, object]:
    """What a run leaves in its folder."""
    return {
        "cluster": name,
        "began": known["began"],
        "ended": results.stamp(results.now()),
        "source_before": known["source"],
        "source": source_of(members).host,
        "servers": [
            {
                "host": member.host,
                "version_before": known["hosts"][member.host]["version"],
                "version": member.facts["version"],
            }
            for member in members
            if member.host in known["hosts"]
        ],
    }


STEPS: dict[str, Callable[[RunContext], dict[str, object]]] = {
    "plan": plan,
    "check": judge_tables,
    "mend": mend,
    "note": note,
    "done": done,
}
