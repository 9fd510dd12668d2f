# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a failover; failover.py has their order."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import cast

from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    BEGUN,
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    Place,
    ReachPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    RENEW,
    TARGET,
    FailoverPlan,
    IoThreadPlan,
    SalvagePlan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import member, refusal, results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rules_events
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beat_looks,
    cases,
    certificate,
    failover_outcome,
    failover_plan,
    first_look,
    interrupted_failover,
    io_threads,
    peers,
    readings,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    RunContext,
    plain,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.failover_facts import (
    Facts,
    step_results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    HostClock,
    Parts,
    RoundResult,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Certificate,
    JudgeResult,
    Statement,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    FAILOVER_FREEZE,
    FAILOVER_JUDGE,
    FAILOVER_PLAN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

# What a refused run has already done: the tasks of semisync_hook_fence are the user's.
UNTOUCHED = {
    "": "Nothing was changed",
    survivors.FENCE_PENDING: "Nothing was changed",
    survivors.FENCE_DONE: "The tasks of semisync_hook_fence have run, and nothing else was changed",
}


def source_of(facts: Facts) -> str:
    """The dead source's host."""
    return member.source_of(facts.evidence.members).host


def is_replica(run: RunContext) -> bool:
    """Whether this host is a replica that was read."""
    return run.mine in survivors.readable(run.members)


def untried(run: RunContext, facts: Facts) -> ReachPlan:
    """The servers that this replica has not tried at the address at which they listen."""
    tried = readings.tried(run.host, step_results(run))
    members = facts.evidence.members
    left = peers.untried(readings.others_of(members, run.mine), tried)
    if not left or not is_replica(run):
        raise NotMeantError("every peer was tried")
    return ReachPlan(
        [Place(one.address, one.port, one.tls, host=one.host) for one in left],
        run.own["replication_user"],
    )


def io_thread(run: RunContext, facts: Facts) -> IoThreadPlan:
    """What stops this replica's IO thread: one that follows the dead source could acknowledge to
    it, if it lives.
    """
    if not is_replica(run):
        raise NotMeantError("it is not a replica that was read")
    opened = facts.opened
    if opened and interrupted_failover.follows(opened, run.mine):
        raise NotMeantError(f"{opened.target.host} takes writes")
    return IoThreadPlan(
        run.token, schema=run.own["canary_schema"], user=run.own["replication_user"]
    )


def stopped_in_vain(run: RunContext) -> IoThreadPlan:
    """The plan that restarts the IO thread which this run stopped."""
    stopped = run.result_of(FAILOVER_FREEZE).get("changed")
    if run.host in (judged(run).get("hosts") or {}) or not stopped:
        raise NotMeantError("there is nothing to restore")
    return IoThreadPlan(run.token)


# Before anything is changed


def read_again(run: RunContext, facts: Facts) -> bool:
    """Whether the source's host gets more time to respond: it was waited for as if it had no power,
    and a replica has had a sign of life from it. Once a run.
    """
    done = run.options.fenced or run.result_of(FAILOVER_PLAN).get("unsure")
    return not done and survivors.unsure(facts.evidence)


def plan(
    run: RunContext,
    facts: Facts,
    decision: cases.Decision,
) -> dict[str, object]:
    """The certificate as far as it is known; a refusal is stored."""
    evidence, refused = facts.evidence, decision.refused
    kept = certificate.record(run.name, run.token, evidence, decision, facts.fenced)
    if decision.chosen:
        kept["statements"] = statements_of_run(run, evidence, decision.chosen)
    # If the source was dead before the fence, everything was shown already.
    fenced = kept.get("fenced")
    anew = evidence.fence != survivors.FENCE_DONE or refused or (fenced and fenced["case"])
    if run.speaks() and anew:
        run.say(certificate.certificate_lines(kept, refused))
        run.say([f"  {certificate.fence_words(evidence)}"])
        run.end_with("failover", *failover_outcome.first_lines(kept, refused))
        if run.check_mode and not refused:
            run.say([f"  {one['host']}: {one['statement']};" for one in kept["statements"]])
    if refused:
        kept["outcome"] = REFUSED
        run.try_to_keep(lambda: save_certificate(run, kept))
        words = certificate.refusal_message(run.name, refused)
        raise refusal.RefusedError(f"{UNTOUCHED[evidence.fence]}. {words}")
    # Whether it must be seen dead before anything is changed.
    lives = evidence.fence == survivors.FENCE_PENDING and bool(fenced)
    if lives and run.speaks():
        run.try_to_keep(lambda: run.keep_look(run.members))
    clock = host_clock(evidence)
    return {"changed": False, "certificate": kept, "lives": lives, "host_clock": clock}


def host_clock(evidence: Evidence) -> HostClock | None:
    """The clocks of the source's host, for what is judged once it has been fenced; None if it has
    not answered in this run.
    """
    seen = evidence.looks.get(member.source_of(evidence.members).host) or {}
    boot, monotonic, asked_at = seen.get("boot"), seen.get("monotonic"), seen.get("asked_at")
    if boot is None or monotonic is None or asked_at is None:
        return evidence.host_clock
    return {"boot": boot, "monotonic": monotonic, "wall": seen.get("wall"), "asked_at": asked_at}


def plan_the_rest(run: RunContext, facts: Facts) -> dict[str, object]:
    """The same for a failover whose target accepts writes already."""
    opened, evidence = interrupted(facts), facts.evidence
    wrong = interrupted_failover.finish_problems(opened, run.members)
    if member.source_of(run.members) is not opened.target:
        wrong += [case.words for case in cases.of_source(evidence)]
    run.refuse(wrong)
    kept = interrupted_failover.certificate_of(opened, run.name, run.token, evidence.now)
    if run.speaks() and evidence.fence != survivors.FENCE_DONE:
        run.say(
            [
                f"Failover of cluster {run.name} from {opened.source} was interrupted after"
                f" {opened.target.host} became writable: the remaining steps are done now"
            ]
        )
    return {"changed": False, "certificate": kept}


def interrupted(facts: Facts) -> interrupted_failover.Opened:
    """The failover that an earlier run has opened."""
    if facts.opened is None:
        raise NotMeantError("no failover was interrupted")
    return facts.opened


def statements_of_run(
    run: RunContext,
    evidence: Evidence,
    chosen: Member,
) -> list[Statement]:
    """Every statement that is known in advance."""
    followers = successor.followers_of(evidence, chosen)
    others = [
        one for one in survivors.readable(run.members) if one is not chosen and one not in followers
    ]
    schema = run.own["canary_schema"]
    return failover_plan.failover_statements(
        chosen, followers, others, schema, failover_plan.wait_count(chosen, followers)
    )


# The end of the source's log


def keep_stopped(run: RunContext) -> None:
    """Keep this host's IO thread stopped while another host reads."""
    if run.result_of(FAILOVER_FREEZE).get("changed") and not run.check_mode:
        renewing = IoThreadPlan(run.token, RENEW)
        io_threads.keep_renewing(run.token, lambda: run.do(renewing))


def others_wait(run: RunContext) -> contextlib.AbstractContextManager[None]:
    """Tell the other hosts that this one reads."""
    return contextlib.nullcontext() if run.check_mode else io_threads.at_work(run.token)


def salvage(
    run: RunContext,
    facts: Facts,
    chosen: Member | None,
) -> dict[str, object]:
    """Read what the candidate lacks of it."""
    evidence = facts.evidence
    able = not facts.opened and not failover_outcome.not_frozen(evidence)
    files = first_look.log_files(run.own, evidence.last)
    if not (able and chosen and files):
        raise NotMeantError("nothing is salvaged here")
    wanted = SalvagePlan(
        files=dataclasses.replace(files, first=chosen.link["read_file"]),
        engine=chosen.facts["engine"],
        received=str(survivors.received(chosen)),
    )
    result = run.do(wanted)
    seen = cast("dict[str, object]", result.get("salvage") or {})
    run.hand_over(f"tail-{run.token}", str(seen.pop("payload", "")))
    return result


# What each host has to do


def judged_failover(
    run: RunContext,
    facts: Facts,
    decision: cases.Decision,
) -> dict[str, object]:
    """The same, with the certificate of what was read after the stop."""
    evidence, refused = facts.evidence, decision.refused
    if refused:
        decision = decision._replace(chosen=None)
    kept = certificate.record(run.name, run.token, evidence, decision, facts.fenced)
    chosen = decision.chosen
    if not chosen:
        kept["outcome"] = REFUSED
        kept["reason"] = certificate.refusal_message(run.name, refused)
        return {"changed": False, "go": False, "hosts": {}, "certificate": kept}
    if run.speaks():
        run.end_with("failover", *failover_outcome.begun_lines(kept))
        # For a later run that completes this one.
        run.try_to_keep(lambda: run.keep(results.BEGUN, {**kept, "outcome": BEGUN}))
    hosts = failover_plan.parts(evidence, chosen, run.token, kept["verdict"], kept["salvage"])
    return going(hosts, kept)


def judge_the_rest(run: RunContext, facts: Facts) -> dict[str, object]:
    """The same for a failover whose target accepts writes already."""
    opened, evidence = interrupted(facts), facts.evidence
    kept = interrupted_failover.certificate_of(opened, run.name, run.token, evidence.now)
    run.refuse(
        [
            *interrupted_failover.not_frozen(opened, evidence),
            *interrupted_failover.finish_problems(opened, evidence.members),
        ]
    )
    hosts = failover_plan.parts_left(opened, evidence, kept["token"], kept["verdict"])
    return going(hosts, kept)


def going(hosts: dict[str, FailoverPlan], kept: Certificate) -> dict[str, object]:
    plans = {host: plan_of_one.to_dict() for host, plan_of_one in hosts.items()}
    return {"changed": False, "go": True, "hosts": plans, "certificate": kept}


def judged(run: RunContext) -> JudgeResult:
    """What judged_failover() returned, of this host's task."""
    return run.result_of(FAILOVER_JUDGE)


def part_on_host(run: RunContext) -> FailoverPlan:
    """What this host has to do of it; a target also what the last look saw of the dead source's
    events, in whichever mode: who finishes a failover lets them run, too.
    """
    planned = (judged(run).get("hosts") or {}).get(run.host)
    if not planned:
        raise NotMeantError("it has no part")
    part = FailoverPlan.from_dict(plain(planned))
    if part.part != TARGET:
        return part
    events = rules_events.of_dead(run.last_look(), part.source_id)
    return dataclasses.replace(part, event_states=events)


def take_over(run: RunContext, planned: FailoverPlan) -> dict[str, object]:
    """The target's part: its backlog with its progress first, then the rest, with what was
    salvaged.
    """
    ahead = failover_plan.apply_ahead(
        run.host,
        planned,
        lambda one_round: cast(RoundResult, run.do(one_round)),
        lambda line: run.say([line]),
    )
    tail = {"tail": run.handed_over(f"tail-{run.token}")} if planned.salvage else {}
    done = run.do(planned, **tail)
    return done | ({"ahead": ahead} if ahead else {})


# The end


def with_last_beats(
    kept: Certificate,
    facts: Facts,
    parts: Parts,
) -> Certificate:
    """The certificate; judged again if the target had beats that were readable only after it had
    applied everything.
    """
    told = parts.get(kept["to"] or "") or {}
    if facts.opened or told.get("beats") is None or not told["beats"]:
        return kept
    evidence = facts.evidence
    # The source ended before the certificate was judged, not before this report.
    known = evidence._replace(
        now=survivors.moment_of(kept["at"]) + 1,
        beats={**evidence.beats, str(kept["to"]): told["beats"]},
    )
    return certificate.renewed(kept, beat_looks.watched(known))


def report(run: RunContext, facts: Facts) -> dict[str, object]:
    """Show and keep the outcome; fail if no replica took over."""
    kept, hosts = judged(run).get("certificate"), judged(run).get("hosts")
    if not kept:
        return {"failed": True, "msg": "nothing was judged: see the error above"}
    parts = run.parts_of(hosts or {})
    options, accepted = run.options, run.own["failover_accept"]
    kept = with_last_beats(kept, facts, parts)
    kept = failover_outcome.completed(kept, parts, accepted, options.run, options.begun)
    result: dict[str, object] = {**kept, "changed": False, "path": None}
    if run.speaks():
        result["path"] = run.try_to_keep(lambda: save_certificate(run, kept))
        run.say(failover_outcome.failover_lines(kept))
        run.end_with("failover", *failover_outcome.last_lines(kept))
        if kept["outcome"] in (DONE, UNDONE):
            run.forget(results.BEGUN)
    wrong = failover_outcome.failover_failure(kept, parts)
    if wrong:
        result.update(refusal.refused(wrong, run.host))
    return result


def keep_first_look(run: RunContext, _facts: Facts) -> dict[str, object]:
    """Keep the first look at the new source, if this is its host."""
    if run.host != judged(run)["certificate"]["to"]:
        raise NotMeantError("it is not the new source")
    mine = run.mine
    run.keep_look([one.but(side="source" if one is mine else "replica") for one in run.members])
    return {"changed": False}


def save_certificate(run: RunContext, kept: Certificate) -> str | None:
    """Write certificate.json into the run's folder; its path."""
    if run.check_mode or not run.speaks():
        return None
    path = run.run_file(certificate.FILE)
    results.write_json(path, kept)
    return path
