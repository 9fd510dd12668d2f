# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commits of several sessions, simulated: what one session does, and which locks a commit holds
while it waits for a replica.

throughput_limit.py has what a round trip allows at most. This is what the sessions reach:

- Each session pauses, works (on one of the processors) and commits, over and over.
- An acknowledgement has to wake threads of the source, which takes work once for its group, and
  the session of each commit has to be woken.
- Commits that come while the binary log is written form the next group, which is written at once.
- AFTER_COMMIT waits without a lock, and so does a commit without semi-sync.
- AFTER_SYNC of MySQL waits in the commit stage: groups that come meanwhile wait for it, together
  (sql/binlog.cc, ordered_commit). They were sent before, so they hardly wait longer.
- AFTER_SYNC of MariaDB keeps LOCK_after_binlog_sync, and the next group LOCK_log until it has that
  (sql/log.cc, trx_group_commit_leader). So two groups wait and no third one is written.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from typing import NamedTuple

AFTER_SYNC, AFTER_COMMIT = "AFTER_SYNC", "AFTER_COMMIT"
# Commits that are simulated, of which the first quarter is not counted.
COMMITS = 3000
# Times vary as the sum of so many exponential ones does.
SHAPE = 2
NEVER = float("inf")


class Source(NamedTuple):
    """What a source and its clients do for a commit.

    Attributes:
        sessions: how many commit.
        pause: seconds between the end of a session's commit and its next statement.
        work: seconds of a processor for all that a commit takes.
        log: seconds in which a group is written to the binary log.
        cpus: processors.
        keeps_log: whether a group that waits for the one before it keeps the next from being
            written, as on MariaDB.
    """

    sessions: int
    pause: float
    work: float
    log: float
    cpus: int
    keeps_log: bool


class Reply(NamedTuple):
    """What an acknowledgement costs.

    Attributes:
        trip: seconds until a replica has acknowledged what was written.
        group: seconds of a processor that it takes from the source, once for a group.
        each: the same for each of its commits.
    """

    trip: float = 0.0
    group: float = 0.0
    each: float = 0.0


NO_REPLY = Reply()


class Reached(NamedTuple):
    """What the sessions reach: commits a second, percentiles of the seconds that a commit takes
    without the pause, and commits in a group.
    """

    rate: float
    p50: float
    p99: float
    group: float


class Run:
    """One simulated run.

    Args:
        source: what is simulated.
        wait_point: AFTER_SYNC, AFTER_COMMIT, or empty without semi-sync.
        reply: what an acknowledgement costs.
    """

    def __init__(self, source: Source, wait_point: str, reply: Reply) -> None:
        self.source, self.reply = source, reply
        self.holds = wait_point == AFTER_SYNC
        self.random = random.Random(1)  # noqa: S311
        self.cpus = [0.0] * source.cpus
        # When each session begins its next statement, and what it has to do besides.
        self.pausing: list[tuple[float, float]] = []
        # (when its statement is done, when it began) of the sessions that will commit next.
        self.ready: list[tuple[float, float]] = []
        # (when it was written, its members) of MySQL's groups before their commit stage.
        self.written: deque[tuple[float, list[float]]] = deque()
        self.log_free = self.stage_free = 0.0
        self.groups = 0
        # (when it ended, how long it took) of each commit.
        self.done: list[tuple[float, float]] = []
        spread = reply.trip + source.pause + source.work * source.sessions
        for _session in range(source.sessions):
            heapq.heappush(self.pausing, (self.random.random() * spread, 0.0))

    def varied(self, seconds: float) -> float:
        return self.random.gammavariate(SHAPE, seconds / SHAPE) if seconds else 0.0

    def begin(self) -> None:
        """A session begins its statement, and works as soon as a processor is free."""
        at, besides = heapq.heappop(self.pausing)
        free = max(at, heapq.heappop(self.cpus))
        end = free + self.varied(self.source.work) + self.varied(besides)
        heapq.heappush(self.cpus, end)
        heapq.heappush(self.ready, (end, at))

    def finish(self, members: list[float], at: float) -> None:
        for place, began in enumerate(members):
            self.done.append((at, at - began))
            besides = self.reply.each + (0.0 if place else self.reply.group)
            heapq.heappush(self.pausing, (at + self.varied(self.source.pause), besides))

    def write(self, at: float) -> None:
        """Write the group of those that are ready."""
        members: list[float] = []
        while self.ready and self.ready[0][0] <= at:
            members.append(heapq.heappop(self.ready)[1])
        self.groups += 1
        end = at + self.varied(self.source.log)
        self.log_free = end
        if not self.holds:
            self.finish(members, end + self.reply.trip)
        elif self.source.keeps_log:
            self.log_free = max(end, self.stage_free)
            self.stage_free = max(self.log_free, end + self.reply.trip)
            self.finish(members, self.stage_free)
        else:
            self.written.append((end, members))

    def commit(self, at: float) -> None:
        """MySQL's commit stage of the groups that are written."""
        last, members = 0.0, []
        while self.written and self.written[0][0] <= at:
            last, more = self.written.popleft()
            members += more
        self.stage_free = max(at, last + self.reply.trip)
        self.finish(members, self.stage_free)

    def go(self) -> Reached:
        while len(self.done) < COMMITS:
            begin = self.pausing[0][0] if self.pausing else NEVER
            write = max(self.log_free, self.ready[0][0]) if self.ready else NEVER
            stage = max(self.stage_free, self.written[0][0]) if self.written else NEVER
            if begin <= min(write, stage):
                self.begin()
            elif write <= stage:
                self.write(write)
            else:
                self.commit(stage)
        counted = self.done[COMMITS // 4 :]
        times = sorted(seconds for _end, seconds in counted)
        return Reached(
            rate=len(counted) / (counted[-1][0] - counted[0][0]),
            p50=times[len(times) // 2],
            p99=times[len(times) * 99 // 100],
            group=len(self.done) / self.groups,
        )


def simulate(source: Source, wait_point: str = "", reply: Reply = NO_REPLY) -> Reached:
    return Run(source, wait_point, reply).go()


def fitted(source: Source, rate: float, group: float | None = None) -> Source:
    """The source with so much work that it reaches a rate without semi-sync; and with so much time
    for the binary log that as many commits form a group, if that is given.
    """
    if group is None or source.sessions == 1:
        return with_work(source, rate)
    low, high = 0.0, group / rate
    for _step in range(7):
        tried = with_work(source._replace(log=(low + high) / 2), rate)
        if simulate(tried).group < group:
            low = tried.log
        else:
            high = tried.log
    return tried


def with_work(source: Source, rate: float) -> Source:
    """The source with so much work that it reaches a rate without semi-sync."""
    low, high = 0.0, max(source.sessions, source.cpus) / rate
    for _step in range(10):
        tried = source._replace(work=(low + high) / 2)
        if simulate(tried).rate > rate:
            low = tried.work
        else:
            high = tried.work
    return tried
