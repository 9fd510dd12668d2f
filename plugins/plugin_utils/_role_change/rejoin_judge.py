# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a former source: what to do, what prevents it, and what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    RejoinPlan,
    RejoinRecordPlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import refusal, results
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    errant,
    methods,
    rejoin_steps,
    survivors,
    switchover_plan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import Judged
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    REJOIN_READY,
    REJOIN_SOURCE_LOOK,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_facts import (
    RejoinFacts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_record import (
    FILE,
    came_back_words,
    follows_point,
    last_lines,
    record_of,
    rejoin_lines,
    verdict_point,
    why_not,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    FirstVerdict,
    RejoinRecord,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import FormerLook

# If it follows already, only the later steps are left, or nothing.
FINISH, NONE = "finish", "none"
# The outcome: nothing to do, to be done, or done without success.
NOTHING, PLANNED, FAILED = "nothing", "planned", "failed"
# What to run once a host was judged.
NEXT = {NOTHING: "", PLANNED: "rejoin", REFUSED: "rejoin --check"}


class RejectedError(refusal.RefusedError):
    """It may not come back like this; `kept` is still the task's result."""

    def __init__(
        self,
        text: str,
        record: RejoinRecord,
    ) -> None:
        super().__init__(text)
        self.kept = {"record": record}


def judged_rejoin(facts: RejoinFacts) -> dict[str, object]:
    """The verdict, what to do, and what prevents it."""
    run, former = facts.run, facts.former
    if former is facts.source:
        run.refuse([f"{former.host} is the source"])
    judged, look = facts.judged(), look_of(facts)
    ways = ways_of(facts, judged, look)
    way = method_of(facts, judged)
    # If there is nothing to do, nothing prevents it.
    blocked = "" if way == NONE else barred(facts)
    against = "" if way == NONE else blocked or closed(facts, way, ways, look, judged)
    kept = record_of(
        run.name, former, facts.source, judged, look, ways, way, facts.row, facts.missed
    )
    outcome = REFUSED if against else NOTHING if way == NONE else PLANNED
    kept["run"], kept["outcome"] = run.options.run or None, outcome
    if run.options.again:
        kept["before"] = first_verdict(facts.planned()["record"])
    if speaks(facts):
        run.say(rejoin_lines(kept))
        run.end_with("rejoin", last_lines(kept), NEXT[outcome])
        save_record(facts, kept)
    if against:
        words = f"{former.host}: {blocked}" if blocked else why_not(kept, against)
        reject(facts, words, kept)
    hosts = {former.host: former_plan(facts, way, look), facts.source.host: record_plan(facts, way)}
    return {
        "changed": False,
        "go": way != NONE,
        "host": former.host,
        "way": way,
        "hosts": {host: plan.to_dict() for host, plan in hosts.items()},
        "away": [member.host for member in facts.away],
        "behind": [member.host for member in facts.behind],
        "missed": facts.missed,
        "record": kept,
    }


def first_verdict(record: RejoinRecord) -> FirstVerdict:
    """What is kept of the first verdict of a run."""
    return {
        "verdict": record["verdict"],
        "phantoms": record["phantoms"],
        "read_by": record["read_by"],
        "way": record["way"],
    }


def look_of(facts: RejoinFacts) -> FormerLook:
    """What the former source's host returned, with its version."""
    look, info = facts.looked, facts.former.info
    version = info.get("version_full") if info else None
    return {**look, "version": look.get("version") or version}


def ways_of(
    facts: RejoinFacts,
    judged: Judged,
    look: FormerLook,
) -> list[methods.Way]:
    """Every method, with why it is not possible."""
    return methods.ways(
        facts.former.host,
        facts.source.host,
        judged,
        look if "down" in look else {},
        facts.engine,
        facts.run.result_of(REJOIN_SOURCE_LOOK, facts.source.host).get("exposed"),
        facts.own["rejoin_accept"],
    )


def reject(
    facts: RejoinFacts,
    words: str,
    kept: RejoinRecord,
) -> None:
    """Refuse it.

    Raises:
        RejectedError: always.
    """
    run, host = facts.run, facts.former.host
    if run.options.again:
        left = "its IO thread stays stopped" if facts.missed else "it stays held"
        raise RejectedError(f"{words}. {host} runs read-only, and {left}", kept)
    try:
        run.refuse([words])
    except refusal.RefusedError as error:
        raise RejectedError(str(error), kept) from error


def method_of(facts: RejoinFacts, judged: Judged) -> str:
    wanted = str(facts.own["rejoin_way"])
    follows = facts.follows()
    # One that was attached by hand, or that could not be read, may still be replaced.
    if follows and (judged.verdict == errant.CLEAN or wanted != methods.SEED):
        return FINISH if facts.row else NONE
    if wanted in (methods.TRUNCATE, methods.REPLAY) and judged.verdict == errant.CLEAN:
        # There is nothing left to roll back or to replay.
        return methods.ATTACH
    return wanted


def barred(facts: RejoinFacts) -> str:
    """Why no method is possible at all."""
    if not facts.row and not facts.missed:
        words = (
            f"by the journal no failover took the source's role from {facts.former.host}, and it"
        )
        if facts.former.info is None:
            return (
                f"{words} could not be read, so it is not known whether it missed one; make it"
                " readable, and run this again"
            )
        return f"{words} follows no former source: run site.yml, which reports its state"
    if waiting := methods.waiting(facts.former):
        return waiting
    if facts.behind and not facts.missed:
        hosts = [member.host for member in facts.behind]
        return (
            f"{' and '.join(hosts)} missed the failover: let them follow {facts.source.host}"
            f" first (semisync_rejoin={hosts[0]})"
        )
    return ""


def closed(
    facts: RejoinFacts,
    way: str,
    ways: list[methods.Way],
    look: FormerLook,
    judged: Judged,
) -> str:
    """Why it cannot return by this method."""
    if way == FINISH:
        return "" if judged.verdict == errant.CLEAN else f"it follows, but {ways[0].closed}"
    if way == methods.SEED and facts.own["seed_method"] == "none":
        return "semisync_seed_method is none"
    again = facts.run.options.again
    against = next(one.closed for one in ways if one.name == way)
    against = against or rejoin_steps.consent(way, judged, facts.own["rejoin_phantoms"])
    if against or (again and facts.former.info is None):
        return against or f"it cannot be read: {facts.former.error}"
    members = facts.members
    astray = [
        one.host for one in facts.others() if not current_source.target_of(one, members, None)
    ]
    if astray:
        return f"{' and '.join(astray)} follow no source: first run site.yml, or leave them out"
    left = 0
    if again and facts.missed and way != methods.SEED:
        left = survivors.to_apply(facts.former)
    if left:
        return f"it received {left} transactions that it has not applied: check its applier"
    user = facts.own["replication_user"]
    return methods.unprepared(facts.former.host, facts.source.host, user, look)


def former_plan(
    facts: RejoinFacts,
    way: str,
    look: FormerLook,
) -> RejoinPlan:
    """The plan of the former source's host."""
    info, own, run = facts.former.info, facts.own, facts.run
    place = switchover_plan.option_file(facts.former) if info else place_of(look)
    return RejoinPlan(
        down=bool(look.get("down")),
        missed=bool(facts.missed),
        leaves=facts.leaves,
        unit=own["service"] or (info.get("unit") if info else None) or look.get("unit"),
        datadir=info["variables"]["datadir"] if info else look.get("datadir"),
        option_file=place,
        lines=first_lines(facts, way),
        open_to_root=way == methods.SEED,
        truncate=way == methods.TRUNCATE,
        keep=way == methods.SEED and bool(own["rejoin_keep"]),
        timeout=own["restart_timeout"],
        run=run.options.run or None,
        # As the names of runs are written.
        since=(facts.row["happened"] if facts.row else "").replace(":", "").rstrip("Z"),
    )


def place_of(look: FormerLook) -> OptionFile | None:
    """Where a stopped server's option lines are; None if that is not known."""
    place = look.get("option_file")
    return OptionFile(**place) if place else None


def record_plan(facts: RejoinFacts, way: str) -> RejoinRecordPlan:
    """The row that the new source writes into its journal at the end."""
    entry = {
        "run": facts.run.options.run,
        "from_host": facts.former.host,
        "to_host": facts.source.host,
        # A replica that missed it was never quarantined, and the source that it followed still is.
        "from_id": facts.row["id"] if facts.row else current_source.identity(facts.former),
        "to_id": current_source.identity(facts.source),
        "position": facts.new_has().gtids,
        "verdict": facts.judged().verdict,
        "details": f"by method {way if way == FINISH else facts.own['rejoin_way']}",
    }
    return RejoinRecordPlan(entry, facts.own["canary_schema"])


def first_lines(facts: RejoinFacts, way: str) -> list[str]:
    """The options that it starts with besides read_only, whatever its option files say.

    The replica side of semi-sync is switched on at run time: an old MariaDB that starts with it
    truncates its log (MDEV-33465).
    """
    names = facts.source.facts["names"]
    lines = [f"loose_{names['source']['variables']['enabled']} = OFF"]
    lines += ["loose_skip_slave_start = ON", "loose_skip_replica_start = ON"]
    # Accounts with SUPER can write although it is read-only, and so can their events.
    lines.append("event_scheduler = OFF")
    closed = not facts.mariadb and way != methods.SEED
    return [*lines, *(["loose_super_read_only = ON"] if closed else [])]


def speaks(facts: RejoinFacts) -> bool:
    """Whether this host speaks for those that have a part."""
    return facts.run.speaks([member for member in facts.members if member not in facts.away])


def report(facts: RejoinFacts) -> dict[str, object]:
    """Store the outcome."""
    former, source = facts.former.host, facts.source.host
    kept: RejoinRecord = {**facts.planned()["record"], "outcome": DONE}
    ready = facts.run.result_of(REJOIN_READY, former)
    kept["kept_data"] = ready.get("kept") or None
    kept["not_kept"] = ready.get("not_kept") or None
    judged, follows = facts.judged(), facts.follows()
    good = follows and judged.verdict == errant.CLEAN
    kept["points"] = [
        verdict_point(former, source, judged),
        follows_point(former, source, follows),
    ]
    if not good:
        kept["outcome"] = FAILED
    if speaks(facts):
        save_record(facts, kept)
        if good:
            words = came_back_words(kept, former, source) + asynchronous_words(facts)
            facts.run.say([words])
            facts.run.end_with("rejoin", [f"rejoin of {former}: done", words], "verify")
    if not good:
        raise refusal.RefusedError(
            f"{former} was brought back, but does not follow {source}, or has transactions that"
            f" {source} lacks: {judged.phantoms or '; '.join(judged.why)}"
        )
    return {"changed": False, "record": kept}


def asynchronous_words(facts: RejoinFacts) -> str:
    """A warning if semi-sync is off on the new source."""
    if facts.source.facts["semisync"]["source"]["variables"].get("enabled") == "ON":
        return ""
    return (
        f". Run site.yml now: semi-sync is off on {facts.source.host}, and the cluster is"
        " asynchronous until then"
    )


def save_record(facts: RejoinFacts, kept: RejoinRecord) -> None:
    """Write rejoin.json into the run's folder, for this user alone: it has rows of clients."""
    run = facts.run
    if run.check_mode and not run.options.run:
        return
    results.write_json(run.run_file(FILE), kept, private=True)
