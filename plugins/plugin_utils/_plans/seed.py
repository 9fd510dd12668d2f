# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which new replicas have to be seeded, and by which method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker import DONOR
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import tls
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.replication import (
    channel_step,
    is_fresh,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import SeedStep
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info


def filled(info: Info) -> list[str]:
    """Schemas that are not empty: an empty one is no data, such as test of a new MySQL 5.6."""
    return [name for name in info["schemas"] if name not in info.get("empty_schemas", [])]


def strangers(member: Member, source: Member) -> str:
    """Data on a future replica that its source does not have, in words; empty if there are none."""
    info = member.facts
    kind = gtids.kind_of(info["engine"])
    mine, theirs = (kind.parse(one.facts["gtid"].get(kind.STATE)) for one in (member, source))
    local = mine.beyond(theirs)
    known = bool(info["gtid"].get(kind.APPLIED))
    if local:
        return f"transactions {local}"
    # A restored backup has the source's GTIDs; without them nothing shows that an equal schema has
    # equal data.
    return "" if known or not filled(info) else f"schemas {', '.join(filled(info))}"


def missing_history(
    member: Member, source: Member, members: list[Member], settings: Settings
) -> str:
    """Data of the source that its binary logs cannot bring to a replica, in words; empty if
    there is none.
    """
    if member.facts["gtid"].get("gtid_executed") or member.facts["gtid"].get("gtid_slave_pos"):
        purged = gtids.MysqlGtids.parse(source.facts["gtid"].get("gtid_purged"))
        executed = member.facts["gtid"].get("gtid_executed") if purged else ""
        lost = purged.minus(gtids.MysqlGtids.parse(executed))
        return f"the source {source.host} has purged binary logs it needs ({lost})" if lost else ""
    # Canary rows are in the binary log, but reach a replica by GTID only if they were written with
    # one.
    by_gtid = source.facts["engine"] == "mariadb" or source.facts["variables"]["gtid_mode"] == "ON"
    schemas = [
        name
        for name in source.facts["schemas"]
        if not (by_gtid and name == settings["canary_schema"])
    ]
    data = [name for name in filled(source.facts) if name in schemas]
    if data:
        return (
            f"the source {source.host} holds data (schemas {', '.join(data)}) from before"
            " replication"
        )
    # The first table in it would stop a replica that has no such schema.
    lacking = [name for name in schemas if name not in member.facts["schemas"]]
    if lacking:
        return (
            f"the source {source.host} has the empty schemas {', '.join(lacking)} from before"
            f" replication, which {member.host} lacks"
        )
    if source.facts["gtid"].get("gtid_purged"):
        return f"the source {source.host} has purged its first binary logs"
    return ""


def by_position(source: Member, members: list[Member]) -> bool:
    """Whether the source has no GTIDs and the collection does not set it up: a new replica could
    not follow it.
    """
    return (
        not is_fresh(source, members)
        and source.facts["engine"] != "mariadb"
        and source.facts["variables"]["gtid_mode"] != "ON"
    )


def half_seeded(info: Info) -> bool:
    """Whether a seeding of ours was interrupted on this replica: then its data are not its own."""
    seeded = info.get("seed")
    return seeded is not None and seeded.get("state") == "loading"


def own_data(member: Member, source: Member) -> str:
    """What a seeding would destroy on a replica, in words; empty if nothing."""
    if half_seeded(member.facts):
        return ""
    local = strangers(member, source)
    if local or not filled(member.facts):
        return local
    return f"schemas {', '.join(filled(member.facts))}"


def needed(member: Member, members: list[Member], settings: Settings) -> str:
    """Why a replica has to be seeded, in words; empty if it need not be."""
    if channel_step(member, members) != "configure" or settings["seed_method"] == "none":
        return ""
    source = source_of(members)
    if half_seeded(member.facts):
        return "a seeding of it was interrupted"
    if member.replaced:
        return "what it holds is to be replaced"
    missing = missing_history(member, source, members, settings)
    if missing:
        return missing
    own = strangers(member, source)
    return (
        f"semisync_seed_overwrite is true and it holds {own}"
        if own and settings["seed_overwrite"]
        else ""
    )


def step(member: Member, members: list[Member], settings: Settings) -> SeedStep | None:
    """How a replica is seeded: None, or {'method', 'why', 'because', 'tls'}; for a cluster without
    problems.
    """
    why = needed(member, members, settings)
    if not why:
        return None
    source = source_of(members)
    method, because = chosen(member, source, settings)
    way = tls.clone(settings, source.facts, member.facts) if method == "clone" else None
    return {"method": method, "why": why, "because": because, "tls": way}


def leftover(member: Member) -> bool:
    """Whether an interrupted run left the account of a clone on a source."""
    return member.side == "source" and any(
        account["user"] == DONOR for account in member.facts["accounts"]
    )


def problem(member: Member, members: list[Member], settings: Settings) -> str:
    """Why a replica that needs seeding cannot be seeded, in words; empty if it can."""
    source = source_of(members)
    own = own_data(member, source)
    if own and not settings["seed_overwrite"]:
        return (
            f"{member.host} holds data: {own}. It is not overwritten. Move it away, or set"
            f" semisync_seed_overwrite=true to have it replaced with a copy of {source.host}"
        )
    if by_position(source, members):
        return (
            f"{member.host} needs the data of {source.host}, which replicates by file and position"
            f" (gtid_mode {source.facts['variables']['gtid_mode']}); a new replica follows by GTID:"
            " set this replica up yourself"
        )
    method, because = chosen(member, source, settings)
    if method is None:
        return f"{member.host} cannot be seeded from {source.host}: {because}"
    return ""


def chosen(member: Member, source: Member, settings: Settings) -> tuple[str | None, str]:
    """(method, because): the method of copying, and why not the faster one; (None, why) if none
    works.
    """
    # Not at the top: Ansible would compile it in every run, and most seed nothing.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import seed_method

    return seed_method.choose(member, source, settings)
