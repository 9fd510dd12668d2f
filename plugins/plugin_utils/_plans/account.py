# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replication account: whether it is created, and whether it may log in without TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines, tls
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.replication import channel_step

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        AccountStep,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Account


def step(member: Member, members: list[Member], settings: Settings) -> AccountStep:
    """What to do about the account on a host: {'create', 'needs_ssl', 'open_because'}.

    An existing account stays unchanged: clients that log in with it without TLS would be locked
    out.

    Returns:
        create: whether it is created here.
        needs_ssl: whether it gets REQUIRE SSL.
        open_because: why it may log in without TLS although the source has TLS, in words; or empty.
    """
    create, mode = (
        member.side == "source" and missing(members, settings),
        settings["replication_ssl"],
    )
    because = ""
    if mode == "disabled":
        because = "semisync_replication_ssl is disabled"
    elif mode == "auto" and create:
        because = in_the_way(members)
    told = create and member.facts["tls"]["on"]
    return {
        "create": create,
        "needs_ssl": create and not because,
        "open_because": because if told else "",
    }


def missing(members: list[Member], settings: Settings) -> bool:
    """Whether a channel is set up with an account that the source lacks."""
    configuring = any(channel_step(other, members) == "configure" for other in replicas_of(members))
    return configuring and existing(source_of(members), settings) is None


def existing(source: Member, settings: Settings) -> Account | None:
    """The account of the inventory as the source has it, or None."""
    wanted = (settings["replication_user"], settings["replication_user_host"])
    for account in source.facts["accounts"]:
        if (account["user"], account["host"]) == wanted:
            return account
    return None


def lets_try(members: list[Member], settings: Settings) -> bool:
    """Whether a replica can log in already: the account is there, and the source listens."""
    source = source_of(members)
    listens = not option_lines.listens_on_loopback_only(source.facts)
    return listens and existing(source, settings) is not None


def in_the_way(members: list[Member]) -> str:
    """Why a new account must be allowed without TLS, in words; empty if it can have REQUIRE SSL. It
    replicates: every member that becomes the source will require TLS of its replicas.
    """
    without = [member.host for member in members if not member.facts["tls"]["on"]]
    if without:
        return f"the server of {', '.join(without)} has no TLS"
    # A former source follows without TLS if its replicas did: see switchover.tls_of().
    plain = [
        member.host
        for member in replicas_of(members)
        if channel_step(member, members) != "configure" and not member.link["tls"]
    ]
    return f"{', '.join(plain)} replicates without TLS" if plain else ""


def login_problems(
    settings: Settings, source: Member, replica: Member, configuring: bool
) -> list[str]:
    """Why a replica's channel cannot log in as the inventory wants it, in words; empty if it
    can.
    """
    want = tls.wanted(settings, source.facts, replica.facts, configuring)
    account = existing(source, settings)
    if want is None or want["ssl"] or not account or not account["needs_ssl"]:
        return []
    name = f"'{account['user']}'@'{account['host']}'"
    why = (
        "semisync_replication_ssl is disabled"
        if settings["replication_ssl"] == "disabled"
        else "its server has no TLS"
    )
    return [
        f"{source.host}: {name} may log in with TLS only, and {why}: {replica.host} could not log"
        f" in. Let it in without first, on the source: ALTER USER {name} REQUIRE NONE"
    ]
