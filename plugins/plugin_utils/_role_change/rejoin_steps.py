# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read and done on the two hosts of a rejoin; rejoin.py has the order."""

from __future__ import annotations

from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Plan
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    FORMER,
    SOURCE,
    CarryPlan,
    FormerLookPlan,
    LogFiles,
    RejoinLookPlan,
    RejoinPlan,
    RejoinRecordPlan,
    ReplayPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    errant,
    methods,
    quarantine,
    source_log,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    plain,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import Judged
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import (
    where_they_listen,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_facts import (
    RejoinFacts,
)


def look_plan(facts: RejoinFacts) -> Plan:
    """What is read of this host."""
    run, former = facts.run, facts.former
    run.refuse(problems.reading_problems([facts.source]))
    if run.host == facts.source.host:
        return RejoinLookPlan(SOURCE)
    if run.host != former.host or former is facts.source:
        raise NotMeantError("it is not the host that returns")
    if former.info is None and run.info_of(former.host).get("reason") != "stopped":
        raise NotMeantError(former.error)
    return FormerLookPlan(
        **log_of_former(facts),
        part=FORMER,
        engine=facts.engine,
        option_file=facts.own["option_file"],
        peer=where_they_listen([facts.source])[0],
        user=facts.own["replication_user"],
    )


class LogOfFormer(TypedDict):
    """The fields of plan.FormerLog."""

    known: str
    files: LogFiles | None
    units: list[str]
    program: str
    since: str


def log_of_former(facts: RejoinFacts) -> LogOfFormer:
    """Where the former source's log is, and what is known about it here."""
    info = facts.former.info
    return {
        "known": facts.new_has().gtids,
        "files": source_log.files_of(history.files_of(info)) if info else None,
        "units": quarantine.units_of(facts.own, facts.source.facts),
        "program": facts.source.facts["program"] or "",
        "since": facts.row["happened"] if facts.row else "",
    }


def consent(way: str, judged: Judged, named: str) -> str:
    """Why the transactions are not replayed: the operator must name them, so that nothing is
    accepted that was not shown.
    """
    if way != methods.REPLAY:
        return ""
    try:
        unnamed = MysqlGtids.parse(judged.phantoms).minus(MysqlGtids.parse(named))
    except ValueError as error:
        return f"semisync_rejoin_phantoms: {error}"
    if not unnamed:
        return ""
    return (
        f"you have not consented to {unnamed}: read these transactions, then pass"
        f" -e semisync_rejoin_phantoms={judged.phantoms}"
    )


def carry(facts: RejoinFacts) -> dict[str, object]:
    """Read them on the former source's host."""
    if facts.run.host != facts.former.host:
        raise NotMeantError("it is not the host that returns")
    wanted = facts.planned()["record"]["phantoms"]["gtids"]
    result = facts.run.do(CarryPlan(**log_of_former(facts), wanted=wanted))
    facts.run.hand_over(f"replay-{facts.former.host}", str(result.pop("payload", "")))
    return result


def replay(facts: RejoinFacts) -> dict[str, object]:
    """Apply them on the new source."""
    if facts.run.host != facts.source.host:
        raise NotMeantError("it is not the source")
    old = facts.old_has()
    known = str(errant.with_copied(old, facts.new_has().state)) if old else ""
    plan = ReplayPlan(source_log.files_of(history.files_of(facts.source.facts)), known)
    return facts.run.do(plan, tail=facts.run.handed_over(f"replay-{facts.former.host}"))


def planned(facts: RejoinFacts) -> dict[str, object]:
    """What judged_rejoin() gave this host."""
    plan = facts.planned()["hosts"].get(facts.run.host)
    if plan is None:
        raise NotMeantError("this step does nothing on this host")
    return plain(plan)


def former_part(facts: RejoinFacts) -> RejoinPlan:
    """The plan of the former source's host."""
    return RejoinPlan.from_dict(planned(facts))


def record_part(facts: RejoinFacts) -> RejoinRecordPlan:
    """The plan of the new source's host."""
    return RejoinRecordPlan.from_dict(planned(facts))
