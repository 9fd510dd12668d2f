# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a dead source's last days: from the looks that were kept, and from its host's
account of how its server ended.

All of it rests on two rules. What the source had at a look, in its GTIDs, and the candidate has is
not missing, however it was confirmed; so nothing that was confirmed before that look is. And after
a look at which semi-sync was ON, the source confirms a commit without a replica at the earliest
when its timeout is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import survivors
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    Ended,
    LastWords,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import (
    Evidence,
    moment_of,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look

# Signals that end a server at once; after any other it may have shut down in order.
SUDDEN = (4, 6, 7, 8, 9, 11)
# Who says when the source's server ended.
BY_HOST, BY_FENCE = "host", "fence"


class Window(NamedTuple):
    """A time in which the source may have confirmed commits that no replica has.

    Attributes:
        begin, end: in seconds since 1970, by the controller's clock.
        known: whether it is known that it did, and not only that nothing rules it out.
        ended: whether it is known that its server had ended then (end_of). If not, the end is when
            that was judged, and a live server that is cut off goes on.
    """

    begin: float
    end: float
    known: bool
    ended: bool


# The looks


def look_at_source(evidence: Evidence) -> Look:
    """The last look at the dead source; empty if there is none, or it was at another server: who
    acknowledged that one says nothing of this one.
    """
    return survivors.NO_LOOK if elsewhere(evidence) else evidence.last or survivors.NO_LOOK


def elsewhere(evidence: Evidence) -> str:
    """That the last look was at another server than the dead source, as after a failover of the
    same night; empty if it was not, or nothing tells.
    """
    last = evidence.last or survivors.NO_LOOK
    if not last:
        return ""
    source = source_of(evidence.members).host
    host = last.get("host")
    if host not in (None, source):
        return f"the last look, at {last['at']}, was at {host}, and not at {source}"
    mariadb = survivors.is_mariadb(evidence)
    kept = last.get("server_id") if mariadb else last.get("server")
    links = [member.link for member in survivors.followers(evidence.members)]
    # MariaDB's channel has 0 from its server's start until it reaches its source.
    named = {link["source_server_id"] if mariadb else link["source_uuid"] for link in links}
    followed = {str(one or "0") for one in named} - {"0"}
    if followed and str(kept) not in followed:
        return (
            f"the last look, at {last['at']}, was at another server ({kept}) than the replicas"
            f" follow ({', '.join(sorted(followed))})"
        )
    return ""


def unwatched(evidence: Evidence) -> str:
    """Why nothing is known of the source's last days; empty if something is."""
    last, source = evidence.last, source_of(evidence.members).host
    if not last:
        return f"no run of verify.yml has kept a look at {source}"
    if any(last.get(key) is None for key in ("status", "timeout", "wait_no_replica")):
        return f"the last look at {source}, at {last.get('at')}, lacks facts that the verdict needs"
    return elsewhere(evidence)


def missed(evidence: Evidence, salvaged: str = "") -> str | None:
    """What the source had at the last look, and the best replica has not received, as GTIDs; None
    if that cannot be compared.

    Args:
        salvaged: GTIDs that the candidate is given from the source's binary log.
    """
    has = received_by_best(evidence, salvaged)
    kept = str(look_at_source(evidence).get("gtid") or "")
    if has is None or not kept:
        return None
    return str(has.parse(kept).minus(has))


def received_by_best(evidence: Evidence, salvaged: str = "") -> Gtids | None:
    """The position of a replica that has all that any other has; None if there is none."""
    best = survivors.supersets(evidence)
    if not best:
        return None
    has = survivors.received(best[0])
    return has.union(has.parse(salvaged)).latest() if salvaged else has


def covered_at(evidence: Evidence, salvaged: str = "") -> float | None:
    """The latest look at which the source had nothing that the best replica lacks: nothing that was
    confirmed before is missing. None if there is none.
    """
    has, last = received_by_best(evidence, salvaged), look_at_source(evidence)
    if has is None or not last:
        return None
    for kept in [last, *reversed(last.get("past") or [])]:
        if kept.get("gtid") and has.covers(has.parse(kept["gtid"])):
            return moment_of(kept["at"])
    return None


# The end


def ended(evidence: Evidence) -> Ended | None:
    """How the source's server ended, if its host could say; None if nothing tells."""
    host = source_of(evidence.members).host
    return (evidence.looks.get(host) or {}).get("ended")


def log(evidence: Evidence) -> LastWords:
    """What the dead server's error log says since the last look; empty if it could not be read.
    Words in it speak against a proof; that there are none proves nothing.
    """
    host = source_of(evidence.members).host
    return (evidence.looks.get(host) or {}).get("log") or {}


def asked(evidence: Evidence) -> tuple[float, float]:
    """Between which moments of the controller's clock the source's host was asked."""
    seen = evidence.looks.get(source_of(evidence.members).host) or {}
    begin, end = seen.get("asked_at"), seen.get("read_at")
    return (
        evidence.now if begin is None else float(begin),
        evidence.now if end is None else float(end),
    )


def ended_at(evidence: Evidence) -> float | None:
    """When its server ended, by the controller's clock and at the latest."""
    seen = ended(evidence)
    return None if not seen else asked(evidence)[1] - seen["ended_ago"]


def fenced_at(evidence: Evidence) -> float | None:
    """When the tasks of semisync_hook_fence had ended the source, by the controller's clock and at
    the latest. None if they have not run, one of them failed, or the source was not seen dead.
    """
    if evidence.unfenced or not survivors.seen_dead(evidence):
        return None
    return evidence.fence_ended


def end_of(evidence: Evidence) -> tuple[float | None, str | None]:
    """(when the source's server ended, by the controller's clock and at the latest; who says so).
    Its own host counts before the fence.
    """
    died, fenced = ended_at(evidence), fenced_at(evidence)
    if died is not None:
        return died, BY_HOST
    return fenced, None if fenced is None else BY_FENCE


def frozen_at(evidence: Evidence) -> float | None:
    """When the last of the IO threads had been stopped, by the replicas' clocks; None before."""
    stopped = (evidence.frozen or {}).values()
    moments = [one["at"] for one in stopped if one.get("stopped") and one.get("at") is not None]
    return max(moments, default=None)


def stopped_first(seen: Ended) -> bool:
    """Whether systemd began to stop a server before it ended, though a signal ended it then."""
    stopping, end = seen.get("stopping_ago"), seen["ended_ago"]
    return stopping is not None and seen["started_ago"] > stopping > end


def orderly(evidence: Evidence) -> bool:
    """Whether its server was, or may have been, shut down cleanly: it then confirms waiting
    commits.
    """
    seen = ended(evidence)
    if log(evidence).get("shutdown"):
        return True
    if not seen:
        return False
    return seen["how"] != "killed" or seen["status"] not in SUDDEN or stopped_first(seen)


def orderly_since(evidence: Evidence, at: float) -> float:
    """The earliest time at which that shutdown began."""
    seen = ended(evidence)
    if not seen or (seen["how"] == "killed" and not stopped_first(seen)):
        # systemd does not know when the shutdown was requested.
        return at
    return max(at, asked(evidence)[0] - (seen["stopping_ago"] or seen["ended_ago"]))


# Between the look and the end


def changed_elsewhere(evidence: Evidence) -> bool:
    """Whether a playbook of another controller changed the source's semi-sync after the last look:
    it left a row in the journal that the look has not seen.
    """
    before = look_at_source(evidence).get("settings_row")
    rows = [
        int(member.facts.get("settings_row") or 0)
        for member in survivors.readable(evidence.members)
    ]
    # A look of an older version has seen none.
    return bool(look_at_source(evidence)) and max(rows, default=0) > int(before or 0)


def spent(evidence: Evidence) -> float | None:
    """The moment from which the last look proves nothing, because the collection itself was to
    change what it saw; None if it still does.
    """
    last = look_at_source(evidence)
    if changed_elsewhere(evidence):
        return moment_of(last["at"])
    return moment_of(last["spent_at"]) if last.get("spent_at") else None


def switched_off(evidence: Evidence) -> bool:
    """Whether the dead server's error log says that semi-sync was off after the last look."""
    return bool(log(evidence).get("off"))


def started_since(evidence: Evidence) -> bool:
    """Whether its server started again after the last look: nothing tells how it ended before."""
    if log(evidence).get("started"):
        return True
    seen = ended(evidence)
    if not seen:
        return False
    return asked(evidence)[1] - seen["started_ago"] > moment_of(look_at_source(evidence)["at"])


def begin(evidence: Evidence) -> float | None:
    """The earliest moment at which the source can have confirmed a commit that the best replica may
    lack. None if no look bounds it.
    """
    last = look_at_source(evidence)
    at = moment_of(last["at"])
    if last["status"] != "ON":
        return at if missed(evidence) == "" else covered_at(evidence)
    if switched_off(evidence) or started_since(evidence):
        return at
    first, calm = at, last.get("calm_at")
    if values.same_value(last["wait_no_replica"], "ON") and calm:
        first = max(at, moment_of(calm) + int(last["timeout"] or 0) / 1000)
    voided = spent(evidence)
    if voided is not None:
        first = min(first, max(at, voided))
    if orderly(evidence):
        first = min(first, orderly_since(evidence, at))
    return first


def window(evidence: Evidence) -> Window | None:
    """When the source may have confirmed commits alone; None if it cannot have, or nothing tells
    (unwatched(), since_unknown()).
    """
    if unwatched(evidence):
        return None
    first = begin(evidence)
    if first is None:
        return None
    died = end_of(evidence)[0]
    end = evidence.now if died is None else died
    known = look_at_source(evidence)["status"] != "ON" or switched_off(evidence)
    there = known or end > first or orderly(evidence)
    return Window(first, max(first, end), known, died is not None) if there else None


def since_unknown(evidence: Evidence) -> str:
    """That the source was degraded at the last look, and no look bounds since when; else empty."""
    if unwatched(evidence) or begin(evidence) is not None:
        return ""
    last = look_at_source(evidence)
    return (
        f"it was degraded at the last look, at {last['at']}, and no earlier look is known at which"
        " the replicas had everything that it had"
    )
