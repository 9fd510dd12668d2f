# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which the servers of a cluster are restarted or upgraded: replicas first, one
after another, then the source's role moves, and the former source is last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import mark

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling.mark import Mark

# What a run does first.
NOTHING, MEND, ROLL = "none", "mend", "roll"


class Order(NamedTuple):
    """What a run does.

    Attributes:
        source: the source now.
        replicas: those to restart first, in turn.
        target: to which the role moves then; empty if it stays.
        last: whether the source is restarted after that, as a replica.
        back: to which the role returns; empty if it stays.
    """

    source: str
    replicas: list[str]
    target: str
    last: bool
    back: str

    @property
    def empty(self) -> bool:
        return not (self.replicas or self.last or self.back)


def ordered(
    members: list[Member],
    known: Mark,
) -> Order:
    """What is left of a run, in its order: the host that an earlier run left in the middle of its
    turn is first, then those that do not acknowledge, which an upgrade may mend: while one that
    does is away, the others have to.
    """
    head = source_of(members)
    source, left = head.host, mark.pending(known, members)
    replicas = [host for host in left if host != source]
    idle = [member.host for member in replicas_of(members) if member.info and not acks(member)]
    replicas.sort(key=lambda host: (host != known["working"], host not in idle))
    # A failover may have promoted the host that a killed run only waited for.
    last = source in left and mark.is_left(known, source, head.info)
    target = chosen_target(members, known["target"]) if last else ""
    home = [member.host for member in members if member.host == known["source"]]
    returns = known["back"] and home and (target or source) != known["source"]
    return Order(source, replicas, target, last, known["source"] if returns else "")


def acks(replica: Member) -> bool:
    return replica.facts["semisync"]["replica"]["status"]["status"] == "ON"


def chosen_target(members: list[Member], wanted: str) -> str:
    """The replica that takes the role over: the one that is named if it is one, else the first."""
    replicas = [member.host for member in replicas_of(members)]
    return wanted if wanted in replicas else next(iter(replicas), "")


def wait_count(source: Member) -> int:
    """Of how many replicas a commit waits for an acknowledgement."""
    running = source.facts["semisync"]["source"]["variables"]
    return int(running.get("wait_for_replica_count") or 1)


def lines(
    name: str,
    members: list[Member],
    order: Order,
    known: Mark,
    resumed: bool,
) -> list[str]:
    """The plan as text."""
    to = known["to"]
    if order.empty:
        return [f"Nothing to {f'upgrade to {to}' if to else 'restart'} in cluster {name}"]
    went_on = f"; this continues the run that began at {known['began']}" if resumed else ""
    what = f"Upgrade to {to}" if to else "Restart"
    said = [f"{what} of the servers of cluster {name}, one after another{went_on}"]
    everyone = [member.host for member in members]
    steps = [
        f"{host}: {verb(known, host)}, while"
        f" {words_of(acknowledging(everyone, order.source, host))}"
        for host in order.replicas
    ]
    if order.last:
        steps += [
            f"the source's role moves from {order.source} to {order.target}"
            + (f"; {no_way_back(source_of(members))}" if to else ""),
            f"{order.source}: {verb(known, order.source)} as a replica, while"
            f" {words_of(acknowledging(everyone, order.target, order.source))}",
        ]
    if order.back:
        steps.append(f"the source's role returns to {order.back}")
    if to and order.replicas and source_of(members).facts["engine"] != "mariadb":
        said.append(
            "  Before the first, the replicas are asked for tables that an older version left"
            " (CHECK TABLE ... FOR UPGRADE)"
        )
    said += [f"  {number}. {words}" for number, words in enumerate(steps, 1)]
    said.append("  After each, the run waits until it has caught up and acknowledges again")
    return said


def moving_line(name: str, known: Mark) -> str:
    """What is said before the rest of an earlier run's switchover."""
    return (
        f"Cluster {name}: the run that began at {known['began']} was about to move the source's"
        f" role to {known['moving']}, so this run resolves that switchover first,"
        " then plans what is left"
    )


def verb(known: Mark, host: str) -> str:
    """What is done with a host's server."""
    if not known["to"]:
        return "restart"
    return f"upgrade from {known['hosts'][host]['version']} to {known['to']}"


def no_way_back(source: Member) -> str:
    """What is said before the role moves from a server of the old version to one of the new."""
    return f"from then on there is no way back to {source.facts['version']}"


def way_back(known: Mark, source: Member, host: str) -> str:
    """How a host's server gets its old version again, while the source still has that. The turn
    of the source itself comes after the move.
    """
    old = known["hosts"][host]["version"] if host in known["hosts"] else ""
    if not known["to"] or not old:
        return ""
    if host == source.host or (source.info and mark.is_done(known, source.host, source.facts)):
        return f"The source has the new version, so there is no way back to {old}."
    return (
        f"To return to {old} while the role has not moved: install {old} with an empty data"
        f" directory, and run site.yml, which seeds it from {source.host}."
    )


def acknowledging(
    everyone: list[str],
    source: str,
    away: str,
) -> list[str]:
    """Who may acknowledge while a host is away."""
    return [host for host in everyone if host not in (source, away)]


def words_of(hosts: list[str]) -> str:
    if not hosts:
        return "no replica acknowledges"
    return f"{' and '.join(hosts)} acknowledge{'s' if len(hosts) == 1 else ''}"
