# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verdict takes for granted because no run could see it.

What leaves a trace that this run could read is judged, not assumed; tests/model/ checks that each
event which can make a verdict false is either seen or in this list.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beats,
    last_look,
    relay_logs,
    source_log,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

# Nothing sets a clock forward by more: a wrong time zone is less.
DAY = 86400


def listed(evidence: Evidence) -> list[str]:
    """What the verdict on a failover rests on without having been seen."""
    before = [*of_power(evidence), *of_filters(evidence)]
    if last_look.unwatched(evidence):
        return [*before, *of_clock(evidence)]
    return [*of_replicas(evidence), *before, *of_source(evidence), *of_clock(evidence)]


def of_source(evidence: Evidence) -> Iterator[str]:
    """About the dead source; of what came after the look nothing if its binary log is read to its
    end.
    """
    source, at = source_of(evidence.members).host, since(evidence)
    if source_log.covers(evidence):
        return
    yield f"semi-sync on {source} was not changed by hand after {at}"
    yield f"no other replica acknowledged to {source} after {at}"
    if not last_look.look_at_source(evidence).get("beat", {"named": True})["named"]:
        yield (
            f"no other replica acknowledged to {source} before, in place of one of the inventory:"
            " its beats count more than can be known by name"
        )
    if survivors.is_mariadb(evidence):
        yield f"no commit that waited on {source} was ended by KILL after {at}"
    yield from of_fence(evidence)
    yield from of_start(evidence)
    yield from of_timer(evidence)
    told = last_look.log(evidence)
    if last_look.orderly(evidence):
        return
    if not last_look.ended(evidence):
        yield f"the server of {source} had no clean shutdown and no restart after {at}"
    elif not told or not told.get("whole", True):
        # systemd knows its own stop; a SIGTERM or SHUTDOWN before is in the error log only.
        yield f"the server of {source} was not told to shut down before it was killed"


def of_fence(evidence: Evidence) -> Iterator[str]:
    """About the hook, if only that it ended well says when the source did."""
    moment, by = last_look.end_of(evidence)
    if moment is not None and by == last_look.BY_FENCE:
        source = source_of(evidence.members).host
        at = survivors.stamp_of(moment)
        yield f"the tasks of semisync_hook_fence had ended {source} at {at}, and it stayed so"


def of_start(evidence: Evidence) -> Iterator[str]:
    """About a start after its host was asked, if tasks of the user's ran in between: they may take
    long, and it is not asked again.
    """
    if last_look.ended(evidence) and evidence.fence_ended is not None:
        at = survivors.stamp(last_look.asked(evidence)[1])
        source = source_of(evidence.members).host
        yield f"the server of {source} was not started again after its host was asked at {at}"


def since(evidence: Evidence) -> str:
    """From when on the source is not seen any more. By beats also what waited at the last one is
    known, from an earlier one on.
    """
    look = last_look.look_at_source(evidence)
    calm = look.get("calm_at")
    known = [look["at"], calm] if "beat" in look and calm else [look["at"]]
    return min(known, key=survivors.moment_of)


def of_clock(evidence: Evidence) -> Iterator[str]:
    """About the clock of the source's host, if only that says when a beat was."""
    sign, look = (
        beats.had(evidence, source_log.salvaged_gtids(evidence)),
        last_look.look_at_source(evidence),
    )
    by_look = "beat" in look and not look["beat"]["exact"]
    if not by_look and (sign is None or sign.exact):
        return
    source, seconds = source_of(evidence.members).host, slack(evidence) if by_look else 0
    most = f"more than {seconds} s ahead" if seconds else "ahead"
    yield f"the clock of the host of {source} is not {most} of the controller's"


def of_timer(evidence: Evidence) -> Iterator[str]:
    """About the clock that times a wait for an acknowledgement: set forward, it ends the wait
    early. A host that was asked at the end would have shown it.
    """
    look, begin = last_look.look_at_source(evidence), last_look.begin(evidence)
    source, calm = source_of(evidence.members).host, look.get("calm_at")
    asked = (evidence.looks.get(source) or {}).get("monotonic") is not None
    by_beat = "beat" in look and (asked or not look["beat"]["exact"])
    if by_beat or not calm or begin is None or begin <= survivors.moment_of(look["at"]):
        return
    died = last_look.end_of(evidence)[0]
    seconds = max(0, int(begin - (evidence.now if died is None else died)))
    if seconds < DAY:
        by = f"by more than {seconds} s " if seconds else ""
        yield f"the clock of the host of {source} was not set forward {by}after {since(evidence)}"


def of_power(evidence: Evidence) -> Iterator[str]:
    """About a confirmed commit that went with the power, before anything looked: it left no
    trace.
    """
    source, look = source_of(evidence.members).host, last_look.look_at_source(evidence)
    sign = beats.had(evidence, source_log.salvaged_gtids(evidence))
    known = [] if last_look.unwatched(evidence) else [(look["at"], look.get("unsynced"))]
    if sign and "beat" not in look:
        known.append((survivors.stamp(sign.at), beats.unsynced(evidence)))
    for at, synced in known:
        if synced is not None:
            yield (
                f"the host of {source} lost no transaction to a power cut before {at}, though its"
                f" sync_binlog was {synced}"
            )


def of_filters(evidence: Evidence) -> Iterator[str]:
    """About what the source left out of its binary log: a look at a busy source does not ask, as
    the question waits for its commits.
    """
    watched = not last_look.unwatched(evidence)
    known = last_look.look_at_source(evidence).get("binlog_filters")
    if not watched:
        if not beats.had(evidence, source_log.salvaged_gtids(evidence)):
            return
        known = beats.filters(evidence, beats.signs(evidence))
    if known is None:
        source = source_of(evidence.members).host
        yield f"the binary log of {source} left no rows out, though its filters were not read"


def slack(evidence: Evidence) -> int:
    """By how many seconds that clock may be ahead without a change of what is said."""
    if source_log.window(evidence) or last_look.since_unknown(evidence):
        return 0
    at = survivors.moment_of(last_look.look_at_source(evidence)["at"]) - relay_logs.WHOLE_SECONDS
    room = [at - moment for moment in relay_logs.starts(evidence) if moment <= at]
    begin, died = last_look.begin(evidence), last_look.end_of(evidence)[0]
    if begin is not None and not source_log.covers(evidence):
        room.append(begin - (evidence.now if died is None else died))
    return max(0, int(min(room, default=0)))


def of_replicas(evidence: Evidence) -> Iterator[str]:
    """About replicas that count although their servers were started again."""
    # MariaDB discards what was received at a start of both threads, too (MDEV-4698).
    start = " or stopped and started" if survivors.is_mariadb(evidence) else ""
    for member in survivors.readable(evidence.members):
        if relay_logs.is_restarted(evidence, member) and not relay_logs.lost(evidence, member):
            at = last_look.look_at_source(evidence)["at"]
            yield f"replication on {member.host} was not reset{start} by hand after {at}"
