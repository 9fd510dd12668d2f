# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host is given to do when a replica takes over from a dead source."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.failover import receiver
from ansible_collections.dbre.semisync.plugins.module_utils.replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils.switchover import rules
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import switchover
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings


def peers(members: list[Member]) -> list[dict[str, Any]]:
    """Where each member is reached that was read, and the source that was not."""
    source = source_of(members)
    made = switchover.peers([member for member in members if member.info is not None])
    if source.info is None:
        followers = [member for member in members if member.info is not None and member.channel]
        channel = followers[0].channel if followers else {"source_port": 3306}
        made.append(
            {
                "host": source.host,
                "address": source.address,
                "port": int(channel["source_port"] or 3306),
                # Asked whether it answers, and for nothing else: who demands TLS answers.
                "tls": False,
            }
        )
    return made


def source_id(members: list[Member]) -> str:
    """What the journal knows the dead source by: its followers know it."""
    for member in members:
        channel = member.channel if member.info is not None else None
        if channel and (channel["source_uuid"] or channel["source_server_id"]):
            return str(channel["source_uuid"] or channel["source_server_id"])
    return ""


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
        more: token, wait_count, verdict, and this host's received and held.
    """
    return {
        "mode": "switch",
        "part": "target" if member is chosen else "replica",
        "host": member.host,
        "source": source_of(members).host,
        "target": chosen.host,
        "source_id": source_id(members),
        "target_id": journal.identity(chosen.info["variables"]),
        "members": peers(members),
        "others": [follower.host for follower in followers],
        "user": settings["replication_user"],
        "timeout": settings["failover_timeout"],
        "stall": settings["failover_stall"],
        "catch_up": settings["failover_apply"],
        "drain": 0,
        "schema": settings["canary_schema"],
        "option_file": switchover.option_file(member),
        **more,
    }


def statements(
    chosen: Member, followers: list[Member], others: list[Member], schema: str, wait_count: int
) -> list[dict[str, str]]:
    """Every statement in its order, with its host, as far as it is known beforehand.

    Args:
        others: replicas that are read and will not follow.
        wait_count: how many replicas acknowledge; none where that is accepted.
    """
    names = switchover.names_of(chosen)
    lines: list[tuple[str, str]] = [
        (member.host, words)
        for member in [chosen, *followers, *others]
        for words in rules.shown(receiver.stop_steps(switchover.names_of(member)))
    ]
    promotion = rules.shown(rules.promote_steps(names))
    lines += [(chosen.host, words) for words in (promotion if wait_count else promotion[:-1])]
    for member in followers:
        lines += [
            (member.host, words)
            for words in rules.shown(
                rules.redirect_steps(
                    switchover.names_of(member), chosen.address, switchover.port(chosen)
                )
            )
        ]
    lines.append((chosen.host, rules.open_statement()))
    lines += [(chosen.host, words) for words in journal.create_statements(schema)]
    lines.append((chosen.host, journal.insert_statement(schema)))
    lines += [(chosen.host, words) for words in rules.shown(rules.forget_steps(names))]
    return [{"host": host, "statement": words} for host, words in lines]
