# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases that keep a replica from being promoted. Each has a name: what was found, what to do,
and whether the operator may accept the cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    interrupted_switchover,
    last_look,
    relay_logs,
    source_log,
    survivors,
    switchover_premises,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.successor import (
    candidate_of,
    followers_of,
    left_behind,
    new_wait_count,
    unusable,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

# What semisync_hook_fence can do about a source that may live.
FENCES = {
    survivors.FENCE_PENDING: ". If you accept this, the tasks of semisync_hook_fence must kill it"
    " first",
    survivors.FENCE_DONE: ". The tasks of semisync_hook_fence have run, and must not return before"
    " it is dead",
}


class Decision(NamedTuple):
    """What a step decides, once, from all that is known.

    Attributes:
        chosen: the replica to promote, as far as the cases allow it; None if none can be promoted.
        cases: every case, also those that are accepted.
        accepted: the names that the operator gave.
        stuck: replicas whose IO thread could not be stopped, which cannot be accepted.
    """

    chosen: Member | None
    cases: list[Case]
    accepted: Collection[str] = ()
    stuck: Collection[Case] = ()

    @property
    def refused(self) -> list[Case]:
        """The cases that were not accepted."""
        left = [one for one in self.cases if not (one.acceptable and one.name in self.accepted)]
        return [*self.stuck, *left]


def decide(
    evidence: Evidence,
    accepted: Collection[str] = (),
    stuck: Collection[Case] = (),
) -> Decision:
    """Which replica to promote, and every case against it."""
    chosen = candidate_of(evidence)
    return Decision(chosen, cases(evidence, chosen), accepted, stuck)


def cases(evidence: Evidence, chosen: Member | None) -> list[Case]:
    """Every case, whether it is accepted or not.

    Args:
        chosen: the result of candidate_of().
    """
    read = survivors.readable(evidence.members)
    if not read:
        listed = "; ".join(f"{host}: {why}" for host, why in survivors.unread(evidence).items())
        return [
            Case(
                "no_replica",
                f"no replica was read ({listed})",
                "bring one of them back, and run this again",
            )
        ]
    first = [*of_source(evidence), *of_sides(evidence), *of_measure(evidence)]
    if not all(case.acceptable for case in first):
        # The other cases rest on these.
        return first
    return [
        *first,
        *of_fence(evidence),
        *of_reading(evidence),
        *of_relay_logs(evidence),
        *of_past(evidence),
        *of_sets(evidence),
        *of_chosen(evidence, chosen),
    ]


def of_source(evidence: Evidence) -> Iterator[Case]:
    """The source must be dead, unless a hook kills it: with a live source, use a switchover."""
    source, fence = source_of(evidence.members), evidence.fence
    ends, answers = FENCES.get(fence, ""), survivors.answers(evidence)
    if answers:
        yield Case(
            "source_answers",
            f"{source.host}: the source is alive ({answers})",
            "use switchover.yml. If the source hangs, power it off or kill it (SIGKILL); never shut"
            f" it down cleanly, which confirms commits that no replica has{ends}",
            fence == survivors.FENCE_PENDING,
        )
    elif not survivors.seen_dead(evidence):
        starting = survivors.starting(evidence)
        why = f"systemd starts it again: {starting}" if starting else source.error
        yield Case(
            "source_unclear",
            f"{source.host}: the source is not known to be dead ({why})",
            f"mask its unit, then kill its server (SIGKILL) if it runs by then{ends}"
            if starting
            else "include its host in the run: it must be unreachable, or report that nothing"
            f" listens; if its server hangs, power it off or kill it (SIGKILL){ends}",
            # If the tasks succeeded, the operator vouches that it is dead, and nothing shows that
            # it is alive.
            fence == survivors.FENCE_PENDING
            or (fence == survivors.FENCE_DONE and not evidence.unfenced),
        )


def of_living(evidence: Evidence) -> Case | None:
    """The case of a source that may be alive, and may have been fenced; None if it is dead, or no
    hook is left that kills it.
    """
    return next((case for case in of_source(evidence) if case.acceptable), None)


def of_fence(evidence: Evidence) -> Iterator[Case]:
    """A failed fence must be known: the operator relies on it."""
    if evidence.unfenced:
        yield Case(
            "unfenced",
            f"{', '.join(sorted(evidence.unfenced))}: a task of semisync_hook_fence failed, or did"
            " not run: the source is not known to be fenced",
            "fence it by hand, or repair what failed, and run this again",
            True,
        )


def of_sides(evidence: Evidence) -> Iterator[Case]:
    """It must be clear which server is the source, and no other may accept writes."""
    decided, source = current_source.decide(evidence.members), source_of(evidence.members)
    closed = interrupted_switchover.closed_by_hand(evidence.members, decided.row)
    remedy = "see 'Who is the source' in docs/operations.md"
    for words in decided.problems:
        way_out = interrupted_switchover.opens_by_hand(closed) if closed else remedy
        yield Case("unclear", words, way_out)
    if decided.interrupted and decided.row and decided.row["operation"] != "failover":
        against = interrupted_switchover.found(evidence.members, decided.row, decided.interrupted)
        if against:
            yield against
    for member in survivors.readable(evidence.members):
        if values.same_value(member.facts["variables"].get("read_only"), "OFF"):
            yield Case(
                f"writable:{member.host}",
                f"{member.host} takes writes as well as its source",
                "keep clients away from it, and run SET GLOBAL read_only = 1",
            )
        following = current_source.target_of(member, evidence.members, decided.row)
        if following is None or relay_logs.pointed_elsewhere(evidence, member):
            whom = following or f"{member.link['source_host']}, outside this cluster"
            yield Case(
                f"chain:{member.host}",
                f"{member.host} follows {whom}, and not {source.host}",
                "let it follow the source directly, or take it out of the cluster"
                if following is None
                else "it counts as unread, and will follow the new source: an interrupted failover"
                " leaves replicas like this",
                following is not None,
            )


def of_measure(evidence: Evidence) -> Iterator[Case]:
    for member in survivors.readable(evidence.members):
        if not survivors.by_gtid(member):
            yield Case(
                f"by_file:{member.host}",
                f"{member.host} follows by file and position: it cannot be known what it would lack"
                " on another source",
                "run gtid.yml, which enables GTIDs, while the source is alive",
            )
    row, _differ = current_source.newest_row(evidence.members)
    closed = interrupted_switchover.closed_by_hand(evidence.members, row)
    for member in survivors.readable(evidence.members):
        # A replica that became the source may still have its old channel.
        if member is closed:
            continue
        if member.facts["engine"] == "mariadb" and member.link["sql_running"] != "Yes":
            both = member.link["io_running"] == "No"
            yield Case(
                f"applier:{member.host}",
                f"{member.host}'s applier is stopped"
                + (", and so is its IO thread" if both else "")
                + ": when both are stopped, starting either one discards what was received"
                " (MDEV-4698)",
                "apply by hand what its relay logs have ('What a MariaDB replica had received' in"
                " docs/promises.md), run START SLAVE there, and run this again: it counts as"
                f" restarted:{member.host} then, which can be accepted"
                if both
                else "run START SLAVE SQL_THREAD there while its IO thread still tries to connect",
            )
    for host, looked in evidence.looks.items():
        if looked.get("running"):
            has = looked.get("lock_of") or "a connection"
            yield Case(
                f"busy:{host}",
                f"{host}: another role change is in progress: {has} holds its lock",
                "wait until it ends. If you are sure that there is none, accept this: the"
                " connection is killed",
                True,
            )


def of_reading(evidence: Evidence) -> Iterator[Case]:
    """Case 2: too few were read."""
    if relay_logs.enough(evidence):
        return
    full = {member.host for member in evidence.members if member.disk_full}
    for host, why in sorted(survivors.unread(evidence).items()):
        yield Case(
            f"unread:{host}",
            f"{host} could not be read ({why}), and may be the only one with a confirmed commit",
            "free space on its disk, start nothing there, and run this again"
            if host in full
            else "bring it back without starting its replication, and run this again",
            True,
        )
    others = relay_logs.strangers(evidence)
    if others:
        yield Case(
            "unread:others",
            f"a commit may be only on replicas that are not in this inventory: {'; '.join(others)}",
            "add them to the inventory",
            True,
        )


def of_relay_logs(evidence: Evidence) -> Iterator[Case]:
    """Cases 5 and 6: it was read, but may have lost what it acknowledged."""
    if relay_logs.enough(evidence):
        return
    for member in survivors.readable(evidence.members):
        words = relay_logs.lost(evidence, member)
        if words:
            yield Case(
                f"restarted:{member.host}",
                f"{member.host} may have lost what it acknowledged: {words}",
                "recover it from the source's disk, if that is readable",
                True,
            )


def of_past(evidence: Evidence) -> Iterator[Case]:
    """Case 1: what the source confirmed without a replica, unless its binary log is read."""
    ahead = evidence.fence == survivors.FENCE_PENDING and of_living(evidence)
    if ahead and evidence.settings.get("failover_salvage"):
        # Its log can be read after the fence; then this is judged again.
        return
    wrong = source_log.problem(evidence)
    if wrong:
        yield Case(f"salvage_{wrong[0]}", wrong[1], source_log.remedy(wrong[0]), True)
    if source_log.covers(evidence):
        return
    blind, lapse = last_look.unwatched(evidence), last_look.window(evidence)
    unknown = last_look.since_unknown(evidence)
    source = source_of(evidence.members).host
    if blind:
        yield Case(
            "unwatched",
            f"{source}: it is not known whether it confirmed commits without a replica: {blind}",
            "check its error log for semi-sync that was switched off, and run verify.yml from cron"
            " in future",
            True,
        )
    elif unknown or (lapse and lapse.known):
        since = f"since {survivors.stamp(lapse.begin)}" if lapse else f"({unknown})"
        yield Case(
            "degraded",
            f"{source} was degraded {since}: what it confirmed from then on may be on no replica",
            "before you start it, read its binary log (semisync_failover_salvage), if its disk is"
            " readable",
            True,
        )


def of_sets(evidence: Evidence) -> Iterator[Case]:
    """Case 7: which replica has which transactions."""
    row, _differ = current_source.newest_row(evidence.members)
    for member in survivors.readable(evidence.members):
        own = survivors.own_writes(evidence, member)
        if own and not interrupted_switchover.was_source(evidence.members, row, member):
            yield Case(
                f"errant:{member.host}",
                f"{member.host} has errant transactions, which it wrote itself: {own}",
                "read them (mysqlbinlog) before you promote it: every server would get them",
                True,
            )
    gone = source_log.gone(evidence)
    if gone:
        yield Case(
            "lacks_look",
            f"{source_of(evidence.members).host} had {gone} at the last look"
            f" ({last_look.look_at_source(evidence)['at']}), and no replica that was read has it",
            "bring back the replica that has it, or read the source's binary log"
            " (semisync_failover_salvage)",
            True,
        )
    filters = last_look.look_at_source(evidence).get("binlog_filters")
    if filters:
        yield Case(
            "unlogged",
            f"{source_of(evidence.members).host} leaves rows out of its binary log:"
            f" {', '.join(filters)}; no replica has them",
            "take them from its disk afterwards, and remove the filter",
            True,
        )
    if not survivors.supersets(evidence):
        yield Case(
            "incomparable",
            f"no replica has everything: {'; '.join(survivors.differences(evidence))}",
            "read what only one of them has from its binary or relay log, and decide which to keep",
        )


def left_alone(
    evidence: Evidence,
    chosen: Member,
    followers: int,
    needed: int,
) -> Case:
    """Too few replicas would acknowledge the candidate's commits."""
    others = left_behind(evidence, chosen)
    why = "; ".join(f"{host}: {words}" for host, words in sorted(others.items()))
    return Case(
        "alone",
        f"{followers} replicas could acknowledge what {chosen.host} commits, and a commit"
        f" waits for {needed}" + (f" ({why})" if why else ""),
        "bring another replica back first, or accept that no replica acknowledges until then",
        True,
    )


def of_chosen(evidence: Evidence, chosen: Member | None) -> Iterator[Case]:
    """Which replica can be promoted, and which would acknowledge then."""
    best, wanted = survivors.supersets(evidence), evidence.settings["failover_to"]
    if not best:
        return
    if wanted and wanted not in [member.host for member in best]:
        yield Case(
            f"lacks:{wanted}",
            f"{wanted} (semisync_failover_to) lacks what {best[0].host} has: "
            + ("; ".join(survivors.differences(evidence)) or "it was not read"),
            f"leave semisync_failover_to out, or name {best[0].host}",
        )
        return
    reasons = {member.host: unusable(evidence, member) for member in best}
    if not chosen:
        for host, words in reasons.items():
            yield Case(
                f"unusable:{host}",
                f"{host} has everything, but cannot take over: {words}",
                "repair that; do not restart its server until it has applied everything",
            )
        return
    followers = followers_of(evidence, chosen)
    needed = new_wait_count(chosen)
    if len(followers) < needed:
        yield left_alone(evidence, chosen, len(followers), needed)
    for member in followers:
        gone = switchover_premises.purged(chosen, member, evidence.looks)
        if gone:
            yield Case(
                f"purged:{member.host}",
                f"{chosen.host} has purged from its binary logs what {member.host} lacks: {gone}",
                f"{member.host} has to be seeded again afterwards",
                True,
            )
