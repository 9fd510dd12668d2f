# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host is given to do when a replica takes over from a dead source."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    io_thread,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.drain import RELAXED
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import switchover_plan
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings

# Transactions that are applied before anybody could be told of it.
FEW = 200


def peers(members: list[Member], asking: Member) -> list[dict[str, Any]]:
    """Where a replica reaches each member that was read, and the source that was not: there where
    it follows that one. The controller may know it by another address, which nobody here answers.
    """
    source = source_of(members)
    made = switchover_plan.peers([member for member in members if member.info is not None])
    if source.info is None:
        channel = asking.channel if follows(asking, source, members) else None
        made.append(
            {
                "host": source.host,
                "address": (channel["source_host"] if channel else None) or source.address,
                "port": int((channel["source_port"] if channel else None) or 3306),
                # Asked whether it answers, and for nothing else: who demands TLS answers.
                "tls": False,
            }
        )
    return made


def follows(member: Member, source: Member, members: list[Member]) -> bool:
    """Whether a member was read, and its channel is to the source."""
    return member.info is not None and sides.target_of(member, members, None) == source.host


def untried(
    peers_of_one: list[dict[str, Any]], tried: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those of a replica's peers that it has not tried where they are."""
    return [peer for peer in peers_of_one if try_of(peer, tried) is None]


def try_of(peer: dict[str, Any], tried: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What became of the try of a peer, None where it was not tried: that without TLS says nothing
    against one that has it.
    """
    place = (peer["address"], peer["port"])
    for one_try in tried:
        tells = one_try["tls"] or not (peer["tls"] and one_try["words"])
        if tells and (one_try["address"], one_try["port"]) == place:
            return one_try
    return None


def reached(peers_of_one: list[dict[str, Any]], tried: list[dict[str, Any]]) -> dict[str, Any]:
    """`reach`: peer -> why the replication account cannot log in to it from a replica, empty where
    it can; `answered`: those that answered at all.
    """
    tries = {peer["host"]: try_of(peer, tried) for peer in peers_of_one}
    return {
        "reach": {host: one["words"] if one else "it was not tried" for host, one in tries.items()},
        "answered": sorted(host for host, one in tries.items() if one and one["answered"]),
    }


def source_id(members: list[Member]) -> str:
    """What the journal knows the dead source by: its followers know it, or the newest row does. It
    is no server that was read: a replica that was moved within an interrupted switchover knows
    another, and what this says is held from then on.
    """
    source = source_of(members)
    read = [member for member in members if member.info is not None]
    # Within a switchover that was interrupted one may follow another already.
    read.sort(key=lambda one: not follows(one, source, members))
    channels = [member.channel for member in read if member.channel]
    numbers = [one["source_uuid"] or one["source_server_id"] for one in channels]
    named = [str(one or "") for one in numbers]
    row = sides.newest_row(members)[0]
    ends = reversed(journal.ends(row)) if row else ()
    named += [identity for identity, host in ends if host == source.host]
    known = {sides.identity(member) for member in read}
    return next((one for one in named if one and one not in known), "")


def arguments(
    member: Member,
    chosen: Member,
    followers: list[Member],
    members: list[Member],
    settings: Settings,
    more: dict[str, Any],
) -> dict[str, Any]:
    """What the module is given on one host, without the password.

    Args:
        chosen: who takes over.
        followers: who will follow it.
        more: token, wait_count, verdict, and this host's received, held and to_apply.
    """
    return {
        "mode": "switch",
        "part": "target" if member is chosen else "replica",
        "host": member.host,
        "source": source_of(members).host,
        "target": chosen.host,
        "source_id": source_id(members),
        "target_id": journal.identity(chosen.facts["variables"]),
        "members": peers(members, member),
        "others": [follower.host for follower in followers],
        "user": settings["replication_user"],
        "timeout": settings["failover_timeout"],
        "stall": settings["failover_stall"],
        "catch_up": settings["failover_apply"],
        "drain": 0,
        "schema": settings["canary_schema"],
        "option_file": switchover_plan.option_file(member),
        "ends_lock": f"busy:{member.host}" in settings["failover_accept"],
        "durability": relaxed(member, settings, more.get("to_apply", 0))
        if member is chosen
        else {},
        **more,
    }


def relaxed(member: Member, settings: Settings, to_apply: int) -> dict[str, str]:
    """What is relaxed while the candidate applies, with the values that are put back: nothing where
    nobody asked for it, it has little to apply, or is not careful anyway.
    """
    if not settings["failover_fast_apply"] or to_apply < FEW:
        return {}
    running = member.facts["variables"]
    return {name: "1" for name in DURABILITY if running.get(name) == "1"}


def apply_ahead(
    host: str,
    plan: dict[str, Any],
    on_host: Callable[..., dict[str, Any]],
    say: Callable[[str], Any],
) -> dict[str, Any] | None:
    """Let the target apply what it has while its progress is told; its part does the rest, and says
    what is wrong. What the certificate says of that, or None where there was little.

    Args:
        plan: what its part is given.
        on_host: runs the module there.
        say: tells a line.
    """
    if plan["to_apply"] < FEW:
        return None
    begin = moved = time.monotonic()
    while True:
        result = on_host(dict(plan, mode="apply"))
        now, done = time.monotonic(), result.get("round") or {}
        moved = now if done.get("applied") else moved
        say(progress(host, plan["to_apply"], result, now - begin))
        going = done.get("left") and not done["stopped"] and now - moved < plan["stall"]
        if not going or now - begin > plan["catch_up"]:
            break
    return {
        "transactions": plan["to_apply"],
        "seconds": round(now - begin, 1),
        "relaxed": {name: RELAXED[name] for name in plan["durability"]},
    }


def progress(host: str, total: int, result: dict[str, Any], seconds: float) -> str:
    """How far a candidate is, in a line.

    Args:
        result: of a round.
        seconds: since the first began.
    """
    words, done = f"{host} applies what it has received", result.get("round") or {}
    if done.get("left") is None:
        return f"{words}: {result.get('msg') or 'nobody came to it in time'}"
    left = done["left"]
    words += f": {left} of {total} transactions are left after {seconds:.0f} s"
    if done["stopped"]:
        return f"{words}; {done['stopped']}"
    if not left or not done["applied"]:
        return words
    rate = done["applied"] / done["seconds"]
    return f"{words}, {rate:.0f} a second, about {left / rate:.0f} s more"


def statements(
    chosen: Member, followers: list[Member], others: list[Member], schema: str, wait_count: int
) -> list[dict[str, str]]:
    """Every statement in its order, with its host, as far as it is known beforehand.

    Args:
        others: replicas that are read and will not follow.
        wait_count: how many replicas acknowledge; none where that is accepted.
    """
    names = switchover_plan.names_of(chosen)
    lines: list[tuple[str, str]] = [
        (member.host, words)
        for member in [chosen, *followers, *others]
        for words in role_statements.shown(io_thread.stop_steps(switchover_plan.names_of(member)))
    ]
    promotion = role_statements.shown(role_statements.promote_steps(names))
    lines += [(chosen.host, words) for words in (promotion if wait_count else promotion[:-1])]
    for member in followers:
        lines += [
            (member.host, words)
            for words in role_statements.shown(
                role_statements.redirect_steps(
                    switchover_plan.names_of(member), chosen.address, switchover_plan.port(chosen)
                )
            )
        ]
    lines.append((chosen.host, role_statements.open_statement()))
    lines += [(chosen.host, words) for words in journal.create_statements(schema)]
    lines.append((chosen.host, journal.insert_statement(schema)))
    lines += [
        (chosen.host, words) for words in role_statements.shown(role_statements.forget_steps(names))
    ]
    return [{"host": host, "statement": words} for host, words in lines]
