# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold before the first server of a cluster is restarted or upgraded. Each refusal
names the host, what was found, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    next_start,
    rules_server,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import (
    mark,
    order,
    upgrade_path,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.mark import Mark, Wish
    from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.order import Order

# The case in which no replica acknowledges while another is restarted.
UNPROTECTED = "unprotected"
# That in which upgrade.yml has not been run on such servers.
UNTRIED = "untried"
# That in which a server says something against its tables before an upgrade.
TABLES = "tables"
# That in which a run is about more than one cluster.
CLUSTERS = "clusters"
CASES = (UNPROTECTED, UNTRIED, TABLES, CLUSTERS)


def reading_refusals(members: list[Member], known: Mark | None) -> list[str]:
    """Hosts that could not be read, but for the one whose server an earlier run stopped; and
    servers that contradict each other.
    """
    working = known["working"] if known else ""
    left = [one for one in members if not (one.host == working and mark.is_down(one))]
    wrong = problems.reading_problems(left) or problems.engines_problems(left)
    decided = current_source.decide(members)
    # The switchover of that run is finished first, and no other role change.
    own = known and known["moving"] in [one.host for one in members] and decided.row
    if own and decided.interrupted and own["operation"] == journal.SWITCHOVER:
        return wrong
    return wrong or problems.source_problems(members)


def restart_refusals(members: list[Member], known: Mark, ordered: Order, wish: Wish) -> list[str]:
    """Everything else that is wrong with a restart or an upgrade."""
    if ordered.empty:
        return []
    return [
        *unknown_cases(wish),
        *target_refusals(members, known, wish),
        *unit_refusals(members, known),
        *source_refusals(members, known),
        *replica_refusals(members, known),
        *[
            words
            for one in members
            if one.host in ordered.replicas
            for words in start_refusals(one)
        ],
        *unprotected(members, ordered, wish),
        *consent_refusals(members, wish),
    ]


def consent_refusals(members: list[Member], wish: Wish) -> list[str]:
    """The consent that is missing; in check mode none is."""
    if wish.consent:
        return []
    return [
        f"{source_of(members).host}: this run disconnects the clients of each server once, and"
        " keeps writers out for about a second while the source's role moves; to consent, pass"
        " -e semisync_allow_disruption=true"
    ]


def clusters_refusal(clusters: list[str], accepted: list[str]) -> str:
    """Why a run may not work on so many clusters with one consent; empty if it may."""
    if len(clusters) < 2 or CLUSTERS in accepted:
        return ""
    return (
        f"Nothing was changed. This run would work on {len(clusters)} clusters at the same time:"
        f" {', '.join(clusters)}; name one of them with --limit, or accept this with"
        f" -e semisync_restart_accept={CLUSTERS}"
    )


def unknown_cases(wish: Wish) -> list[str]:
    return [
        f"semisync_restart_accept has {name!r}, which is not a case; name one of:"
        f" {', '.join(CASES)}"
        for name in wish.accepted
        if name not in CASES
    ]


def target_refusals(members: list[Member], known: Mark, wish: Wish) -> list[str]:
    """Why the host that is named cannot take the role over; a switchover has its own premises."""
    replicas = [member.host for member in members if member.host != known["source"]]
    if not wish.target or wish.target in replicas:
        return []
    return [
        f"semisync_restart_to is {wish.target}, which is not a replica of this cluster; name"
        f" one of: {', '.join(replicas)}"
    ]


def unit_refusals(members: list[Member], known: Mark) -> list[str]:
    """Servers that systemd does not restart."""
    return [
        f"{member.host}: its server belongs to no systemd unit, so it cannot be restarted; set"
        " semisync_service to its unit"
        for member in members
        if member.host in known["hosts"] and not known["hosts"][member.host]["unit"]
    ]


def source_refusals(members: list[Member], known: Mark) -> list[str]:
    """A source whose commits are not acknowledged. While an earlier run's server is away this may
    be so, and its turn waits until it is not.
    """
    source = source_of(members)
    status = source.facts["semisync"]["source"]["status"]
    if known["working"] or status["status"] == "ON":
        return []
    return [
        f"{source.host}: its semi-sync status is {status['status'] or 'unknown'}, so"
        " no replica acknowledges its commits; run verify.yml, and repair what it reports first"
    ]


def replica_refusals(members: list[Member], known: Mark) -> list[str]:
    """Replicas that do not follow or do not acknowledge, but for the one that an earlier run
    restarted, and a former source that is yet to be upgraded.
    """
    wrong = []
    newest = source_of(members).facts["version"]
    for member in replicas_of(members):
        if member.host == known["working"]:
            continue
        if known["to"] and upgrade_path.is_older_series(member.facts["version"], newest):
            continue
        status = member.facts["semisync"]["replica"]["status"]["status"]
        if not channels.running(member.channel):
            wrong.append(
                f"{member.host}: its channel does not run"
                f" ({channels.describe_channel(member.channel)}); repair replication, or run"
                " site.yml"
            )
        elif status != "ON":
            wrong.append(
                f"{member.host}: it does not acknowledge, its semi-sync status is"
                f" {status or 'unknown'}; run site.yml"
            )
        elif not member.link["gtid"]:
            wrong.append(
                f"{member.host}: it follows by file and position; run gtid.yml first, so that the"
                " role can move"
            )
    return wrong


def start_refusals(member: Member) -> list[str]:
    """Why a replica would not be in its place after its restart: without semi-sync, or taking
    writes. What the former source starts with is written when its role has moved.
    """
    if member.info is None:
        return []
    wrong = [
        f"{member.host}: {entry['title']}: {entry['evidence']}. {entry['remedy']}"
        for entry in rules_server.plugin_findings(member)
    ]
    enabled = member.facts["names"]["replica"]["variables"]["enabled"]
    protects = [(enabled, member.facts["semisync"]["replica"]["variables"]["enabled"])]
    protects += [("read_only", member.facts["variables"]["read_only"])] * (
        not values.same_value(next_start.at_start(member.facts, "super_read_only")[0] or "", "ON")
    )
    for name, running in protects:
        then, origin = next_start.at_start(member.facts, name)
        if values.same_value(running or "", "ON") and not values.same_value(then or "", "ON"):
            wrong.append(
                f"{member.host}: {name} is ON, and would be {then or 'unknown'} after a restart"
                f" ({origin or 'the option files could not be read'}); write {name} = ON to"
                " the option file, or run site.yml"
            )
    return wrong


def unprotected(members: list[Member], ordered: Order, wish: Wish) -> list[str]:
    """The case in which commits wait while a server is restarted, unless it is accepted."""
    source = source_of(members)
    count, left = order.wait_count(source), len(replicas_of(members)) - 1
    if left >= count or UNPROTECTED in wish.accepted or not (ordered.replicas or ordered.last):
        return []
    timeout = int(source.facts["semisync"]["source"]["variables"]["timeout"] or 0) / 1000
    work = "upgraded" if wish.to else "restarted"
    others = f"only {left} of the others" if left else "no other"
    return [
        f"{source.host}: a commit waits for {count}"
        f" {'acknowledgement' if count == 1 else 'acknowledgements'}, and while a replica is"
        f" {work}, {others} can acknowledge: every commit waits until that replica is back, or for"
        f" {timeout:g} s, and is then confirmed without an acknowledgement. Add a replica,"
        f"{' lower semisync_wait_for_replica_count,' if count > 1 else ''} or accept this with"
        f" -e semisync_restart_accept={UNPROTECTED}"
    ]
