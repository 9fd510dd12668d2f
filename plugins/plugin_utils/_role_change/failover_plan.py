# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host has to do when a replica is promoted in place of a dead source."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    io_thread,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.drain import RELAXED
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    APPLY,
    FINISH,
    REPLICA,
    SWITCH,
    TARGET,
    FailoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    names_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    interrupted_failover,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    Ahead,
    Round,
    RoundResult,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import (
    follows,
    peers_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import Statement
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

# A backlog of this many transactions is applied before anyone could read a progress line.
FEW = 200


def source_id(members: list[Member]) -> str:
    """The dead source's identity in the journal, from its followers or the newest row. It is never
    a server that was read: a replica that an interrupted switchover moved knows another one, and
    the server named here is quarantined.
    """
    source = source_of(members)
    read = [member for member in members if member.info is not None]
    # Within a switchover that was interrupted one may follow another already.
    read.sort(key=lambda one: not follows(one, source, members))
    channels = [member.channel for member in read if member.channel]
    numbers = [one["source_uuid"] or one["source_server_id"] for one in channels]
    named = [str(one or "") for one in numbers]
    row = current_source.newest_row(members)[0]
    ends = reversed(journal.ends(row)) if row else ()
    named += [identity for identity, host in ends if host == source.host]
    known = {current_source.identity(member) for member in read}
    return next((one for one in named if one and one not in known), "")


class Common(NamedTuple):
    """What is the same for all hosts.

    Attributes:
        mode: switch; or finish, if the target takes writes already.
        token: marks the run.
        source: the dead source's host.
        source_id: what the journal knows it by.
        wait_count: how many acknowledgements a commit on the target waits for; 0 for none.
        verdict: the certificate's.
        salvage: what the certificate says of the dead source's log.
    """

    mode: str
    token: str
    source: str
    source_id: str
    wait_count: int
    verdict: str
    salvage: object = None


def failover_part(
    member: Member,
    chosen: Member,
    followers: list[Member],
    members: list[Member],
    settings: Settings,
    common: Common,
    received: str = "",
    to_apply: int = 0,
    held: bool = False,
) -> FailoverPlan:
    """The plan of one host, without the password.

    Args:
        chosen, followers: who takes over, and who will follow it.
        received, to_apply: GTIDs that this replica received, and how many it has yet to apply.
        held: whether this run stopped its IO thread.
    """
    is_target = member is chosen
    return FailoverPlan(
        **common._asdict(),
        part=TARGET if is_target else REPLICA,
        host=member.host,
        target=chosen.host,
        target_id=journal.identity(chosen.facts["variables"]),
        members=peers_of(members, member),
        others=[follower.host for follower in followers],
        user=settings["replication_user"],
        timeout=settings["failover_timeout"],
        stall=settings["failover_stall"],
        catch_up=settings["failover_apply"],
        drain=0,
        schema=settings["canary_schema"],
        option_file=settings["option_file"],
        ends_lock=f"busy:{member.host}" in settings["failover_accept"],
        durability=relaxed(member, settings, to_apply) if is_target else {},
        received=received,
        to_apply=to_apply,
        held=held,
    )


def parts(
    evidence: Evidence,
    chosen: Member,
    token: str,
    verdict: str,
    salvage: object,
) -> dict[str, FailoverPlan]:
    """host -> what it has to do when a replica takes over.

    Args:
        token: of this run.
        verdict, salvage: of the certificate.
    """
    members, frozen = evidence.members, evidence.frozen or {}
    followers = successor.followers_of(evidence, chosen)
    common = Common(
        mode=SWITCH,
        token=token,
        source=source_of(members).host,
        source_id=source_id(members),
        wait_count=wait_count(chosen, followers),
        verdict=verdict,
        salvage=salvage,
    )
    return {
        one.host: failover_part(
            one,
            chosen,
            followers,
            members,
            evidence.settings,
            common,
            str(survivors.received(one)),
            survivors.to_apply(one),
            bool((frozen.get(one.host) or {}).get("changed")),
        )
        for one in [chosen, *followers]
    }


def parts_left(
    opened: interrupted_failover.Opened,
    evidence: Evidence,
    token: str,
    verdict: str,
) -> dict[str, FailoverPlan]:
    """host -> what is left for it of a failover whose target takes writes already.

    Args:
        token: of the run that opened it, if that is known.
    """
    target, followers = opened.target, interrupted_failover.followers_of(opened, evidence)
    common = Common(
        mode=FINISH,
        token=token,
        source=opened.source,
        source_id=opened.source_id,
        wait_count=wait_count(target, followers),
        verdict=verdict,
    )
    members, own = evidence.members, evidence.settings
    return {
        one.host: failover_part(one, target, followers, members, own, common)
        for one in [target, *followers]
    }


def wait_count(chosen: Member, followers: list[Member]) -> int:
    """How many acknowledgements the new source waits for before it opens; none if too few replicas
    can give them, which was accepted.
    """
    needed = successor.new_wait_count(chosen)
    return needed if len(followers) >= needed else 0


def relaxed(
    member: Member,
    settings: Settings,
    to_apply: int,
) -> dict[str, str]:
    """The durability settings that are relaxed while the candidate applies, with the values to
    restore. Empty if this was not requested, if little is left to apply, or if they are relaxed
    already.
    """
    if not settings["failover_fast_apply"] or to_apply < FEW:
        return {}
    running = member.facts["variables"]
    return {name: "1" for name in DURABILITY if running.get(name) == "1"}


def apply_ahead(
    host: str,
    plan: FailoverPlan,
    on_host: Callable[[FailoverPlan], RoundResult],
    say: Callable[[str], None],
) -> Ahead | None:
    """Let the target apply its backlog and report the progress; its part does the rest and reports
    errors. Returns the certificate's fields about that, or None if the backlog was small.

    Args:
        plan: what its part is given.
        on_host: runs the module there.
        say: tells a line.
    """
    if plan.to_apply < FEW:
        return None
    one_round = dataclasses.replace(plan, mode=APPLY)
    begin = moved = time.monotonic()
    while True:
        result = on_host(one_round)
        now = time.monotonic()
        done: Round = result.get("round") or {}
        moved = now if done.get("applied") else moved
        say(progress(host, plan.to_apply, result, now - begin))
        going = done.get("left") and not done["stopped"] and now - moved < plan.stall
        if not going or now - begin > plan.catch_up:
            break
    return {
        "transactions": plan.to_apply,
        "seconds": round(now - begin, 1),
        "relaxed": {name: RELAXED[name] for name in plan.durability},
    }


def progress(
    host: str,
    total: int,
    result: RoundResult,
    seconds: float,
) -> str:
    """A candidate's progress as a line.

    Args:
        result: of a round.
        seconds: since the first began.
    """
    # Not at the top: Ansible compiles it at each import, and most candidates have little to apply.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import at_this_rate

    words = f"{host} applies what it has received"
    done: Round = result.get("round") or {}
    if done.get("left") is None:
        return f"{words}: {result.get('msg') or 'it did not report in time'}"
    left = done["left"]
    words += f": {left} of {total} transactions are left after {seconds:.0f} s"
    if done["stopped"]:
        return f"{words}; {done['stopped']}"
    if not left or not done["applied"]:
        return words
    words += f", {done['applied'] / done['seconds']:.0f} a second"
    return words + at_this_rate(done["applied"], left, done["seconds"])


def failover_statements(
    chosen: Member,
    followers: list[Member],
    others: list[Member],
    schema: str,
    wait_count: int,
) -> list[Statement]:
    """Every statement in order, with its host, as far as it is known in advance.

    Args:
        others: replicas that are read and will not follow.
        wait_count: how many replicas acknowledge; none if that is accepted.
    """
    names = names_of(chosen.facts)
    lines: list[tuple[str, str]] = [
        (member.host, words)
        for member in [chosen, *followers, *others]
        for words in role_statements.shown(
            io_thread.how_to_stop(names_of(member.facts), member.facts["variables"]).steps
        )
    ]
    promotion = role_statements.shown(role_statements.promote_steps(names))
    lines += [(chosen.host, words) for words in (promotion if wait_count else promotion[:-1])]
    for member in followers:
        lines += [
            (member.host, words)
            for words in role_statements.shown(
                role_statements.redirect_steps(names_of(member.facts), chosen.address, chosen.port)
            )
        ]
    lines.append((chosen.host, role_statements.open_statement()))
    lines += [(chosen.host, words) for words in journal_writing.create_statements(schema)]
    lines.append((chosen.host, journal_writing.insert_statement(schema)))
    lines += [
        (chosen.host, words) for words in role_statements.shown(role_statements.forget_steps(names))
    ]
    return [{"host": host, "statement": words} for host, words in lines]
