# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to a source and its replicas, and what is true then: who was told OK, and when.

Each event is a function of a moment (state.py) that gives the next one, or None if it cannot
happen. Events within a minute take no time. Where servers may do one thing or another, they do what
is worse for the judge: an orderly stop confirms all that waits, a power cut takes all that it may.
"""

from __future__ import annotations

from collections.abc import Callable

from model.follows import (
    attach,
    breaks,
    confirm,
    connected,
    fall_back,
    forget,
    release,
    renew_applier,
    say,
    settle,
    throw_away,
)
from model.state import (
    ACKED,
    APPLIED,
    APPLIER,
    APPLIER_AT,
    BEATS,
    BOOT,
    BOOTS,
    BORN,
    CUTS,
    DISK,
    ENABLED,
    ENDED,
    EPOCH,
    EXITED,
    FENCED,
    GOT,
    HELD,
    HOLES,
    HOOK,
    IO,
    KILLED,
    KILLQ,
    LATE,
    LATER,
    LINE,
    LIVED_ON,
    LOG,
    MEDIUM,
    MOST,
    NO,
    NOW,
    OK,
    OPEN,
    ORDERLY,
    OURS,
    OUTSIDE,
    OWN_ENDS,
    POWERLESS,
    RESET,
    RESTARTED,
    RUNS,
    SERVED,
    SHORT,
    SHUT_KILLED,
    SHUTDOWN,
    SINCE,
    SQL,
    SRC,
    STARTED,
    STARTED_AGAIN,
    STATUS,
    STOPPED_KILLED,
    STOPPING,
    STOPS,
    STRAY,
    TIMEOUT,
    TOLD,
    TWIN,
    UNFENCED,
    UNUSED,
    UP,
    YES,
    Moment,
    Rules,
    blocks,
    mark,
    minute_of,
    waiting,
)

Event = Callable[[Moment, Rules], "bytearray | None"]
EventOf = Callable[[Moment, Rules, int], "bytearray | None"]


# What clients and replicas do


def write(s: Moment, rules: Rules, row: bool = False) -> bytearray | None:
    """The next transaction.

    Args:
        row: whether it is no client's.
    """
    number, most = s[LOG], min(rules.most + row + s[BEATS].bit_count(), MOST)
    if s[SRC] != RUNS or number >= most or s[TOLD + number] != UNUSED:
        return None
    n = bytearray(s)
    n[LOG] += 1
    if rules.sync_binlog:
        n[DISK] = n[LOG]
    if n[STATUS]:
        # Since when it waits matters only if that can end within the world.
        n[TOLD + number] = mark(n[NOW] if n[TIMEOUT] == MEDIUM else 0, SINCE)
    else:
        n[TOLD + number] = mark(n[NOW], OK)
        n[NO] += n[ENABLED]
    return settle(n, rules)


def commit(s: Moment, rules: Rules) -> bytearray | None:
    return write(s, rules)


def commit_everywhere(s: Moment, rules: Rules) -> bytearray | None:
    """The same with all that are connected receiving and acknowledging it."""
    n = write(s, rules)
    if n is None:
        return None
    before = bytes(n)
    for at in blocks(rules):
        if connected(n, at):
            n[at + GOT] = max(n[at + GOT], n[LOG])
            n[at + ACKED] = max(n[at + ACKED], n[at + GOT])
    if bytes(n) == before:
        return None
    confirm(n, rules)
    return n


def receive(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if not connected(s, at) or s[at + GOT] >= s[LOG]:
        return None
    n = bytearray(s)
    n[at + GOT] = n[LOG]
    return n


def acknowledge(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if not connected(s, at) or s[at + ACKED] >= s[at + GOT]:
        return None
    n = bytearray(s)
    n[at + ACKED] = n[at + GOT]
    confirm(n, rules)
    return n


def deliver(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """Receive and acknowledge."""
    n = receive(s, rules, at)
    return acknowledge(n, rules, at) if n is not None else None


def apply(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if s[at + UP] or s[at + SQL] or s[at + HELD] or s[at + APPLIED] >= s[at + GOT]:
        return None
    n = bytearray(s)
    n[at + APPLIED] = n[at + GOT]
    return n


def minute(s: Moment, rules: Rules) -> bytearray | None:
    if s[NOW] >= rules.minutes:
        return None
    n = bytearray(s)
    late = waiting(n) if n[SRC] == RUNS and n[STATUS] else []
    if late and n[TIMEOUT] == SHORT:
        fall_back(n, LATE)
    elif n[TIMEOUT] == MEDIUM and any(minute_of(n[TOLD + one]) < n[NOW] for one in late):
        # What waits for less is released with it: the source is OFF then.
        fall_back(n, LATER)
    n[NOW] += 1
    n[DISK] = n[LOG]
    return n


# Replicas


def cut(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if s[at + LINE]:
        return None
    n = bytearray(s)
    n[at + LINE] = 1
    return settle(n, rules)


def heal(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if not s[at + LINE]:
        return None
    n = bytearray(s)
    n[at + LINE] = 0
    attach(n, at)
    return n


def threads(io: int | None, sql: int | None) -> EventOf:
    """STOP or START of a replica's threads; None leaves one as it is."""

    def event(s: Moment, rules: Rules, at: int) -> bytearray | None:
        wanted = (s[at + IO] if io is None else io, s[at + SQL] if sql is None else sql)
        before = (s[at + IO], s[at + SQL])
        if s[at + UP] or wanted == before:
            return None
        n = bytearray(s)
        n[at + IO], n[at + SQL] = wanted
        if rules.mariadb and before == (1, 1):
            throw_away(n, at)
            if rules.applies_first:
                breaks(n, RESET)
        if before[1] and not wanted[1]:
            renew_applier(n, rules, at)
        if before[0] and not wanted[0]:
            attach(n, at)
        return settle(n, rules)

    return event


def reset_slave(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """STOP, RESET, START."""
    if s[at + UP]:
        return None
    n = bytearray(s)
    throw_away(n, at)
    n[at + IO] = n[at + SQL] = 0
    renew_applier(n, rules, at)
    attach(n, at)
    breaks(n, RESET)
    return n


def jump(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """STOP, CHANGE to a later place by hand, START: it passes over what is in between. MariaDB's
    position does not show that; here only MySQL's sets have holes.
    """
    if rules.mariadb or not rules.beats or s[at + UP] or s[at + LINE] or s[SRC] != RUNS:
        return None
    n = bytearray(s)
    throw_away(n, at)
    if n[at + GOT] + 2 > n[LOG]:
        return None
    n[at + HOLES] |= (1 << n[LOG] - 1) - (1 << n[at + GOT])
    n[at + GOT] = n[LOG]
    n[at + IO] = n[at + SQL] = 0
    renew_applier(n, rules, at)
    attach(n, at)
    return settle(n, rules)


def stray(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """A server that was source before still beats, and its row comes into a replica's table."""
    if not rules.beats or s[at + UP] or s[at + STRAY]:
        return None
    n = bytearray(s)
    n[at + STRAY] = n[NOW] + 1
    return n


def twin(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """The same in a split brain: that row has the number of the source's newest beat there, and
    is in its place.
    """
    n = stray(s, rules, at)
    if n is not None:
        n[at + STRAY] += TWIN
    return n


def hold(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """LOCK TABLES on a replica: its applier stands still."""
    if s[at + UP] or s[at + HELD]:
        return None
    n = bytearray(s)
    n[at + HELD] = 1
    return n


def born(s: Moment, rules: Rules, at: int, lost: bool) -> bytearray:
    n = bytearray(s)
    if rules.applies_first and not lost:
        n[at + APPLIED] = n[at + GOT]
    elif lost or rules.mariadb or rules.recovery:
        throw_away(n, at)
    n[at + SERVED] = rules.applies_first
    n[at + UP] = n[at + IO] = n[at + SQL] = n[at + EPOCH] = n[at + APPLIER] = n[at + OPEN] = 0
    n[at + HELD] = 0
    n[at + BORN] = n[NOW] + 1
    n[at + APPLIER_AT] = n[at + BORN]
    attach(n, at)
    return settle(n, rules)


def restart(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """Its server is started again, after SIGKILL or in order."""
    return born(s, rules, at, lost=False)


def power(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """Its host loses its power, and starts again."""
    n = born(s, rules, at, lost=not rules.sync_relay_log)
    n[at + BOOT] = n[NOW] + 1
    return n


def die(s: Moment, rules: Rules, at: int) -> bytearray | None:
    if s[at + UP]:
        return None
    n = bytearray(s)
    n[at + UP] = 1
    return settle(n, rules)


def edit_inventory(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """Taken out of the inventory, or put into it."""
    n = bytearray(s)
    n[at + OUTSIDE] ^= 1
    return n


# The source


def end(s: Moment, how: int) -> bytearray:
    n = bytearray(s)
    forget(n)
    n[SRC], n[ENDED] = how, n[NOW] + 1
    return n


def stop(s: Moment, rules: Rules) -> bytearray | None:
    """An orderly stop begins: what waits is confirmed."""
    if s[SRC] != RUNS:
        return None
    n = bytearray(s)
    release(n)
    say(n, SHUTDOWN)
    breaks(n, ORDERLY)
    n[SRC], n[STOPPING] = STOPS, n[NOW] + 1
    return n


def stopped(s: Moment, rules: Rules) -> bytearray | None:
    return end(s, EXITED) if s[SRC] == STOPS else None


def kill(s: Moment, rules: Rules) -> bytearray | None:
    if s[SRC] not in (RUNS, STOPS):
        return None
    return end(s, KILLED if s[SRC] == RUNS else STOPPED_KILLED)


def shut_and_kill(s: Moment, rules: Rules) -> bytearray | None:
    """SHUTDOWN, which systemd knows nothing of, then SIGKILL."""
    n = stop(s, rules)
    if n is None:
        return None
    n[STOPPING] = 0
    return end(n, SHUT_KILLED)


def power_source(s: Moment, rules: Rules) -> bytearray | None:
    return end(s, POWERLESS) if s[SRC] in (RUNS, STOPS) else None


def start(s: Moment, rules: Rules) -> bytearray | None:
    """The source's server is started again, by whatever."""
    if s[SRC] in (RUNS, STOPS):
        return None
    n = bytearray(s)
    if n[SRC] == POWERLESS:
        n[CUTS] |= n[LOG] > n[DISK]
        n[LOG] = n[DISK]
        n[BOOTS] += bool(rules.beats)
    n[SRC], n[STATUS], n[YES], n[NO], n[STARTED] = RUNS, n[ENABLED], 0, 0, n[NOW] + 1
    n[STOPPING] = n[ENDED] = n[OURS] = 0
    n[LIVED_ON] |= n[FENCED] > 0 and not n[UNFENCED]
    say(n, STARTED_AGAIN)
    breaks(n, RESTARTED)
    for at in blocks(rules):
        attach(n, at)
    return settle(n, rules)


# The tasks of semisync_hook_fence, once in a world: failover.yml has read everything before them.


def hook_begins(s: Moment, rules: Rules) -> bytearray | None:
    if s[HOOK]:
        return None
    n = bytearray(s)
    n[HOOK] = n[NOW] + 1 + 16 * n[BOOTS]
    return n


def hook_ends(s: Moment) -> bytearray | None:
    if not s[HOOK] or s[FENCED]:
        return None
    n = bytearray(s)
    n[FENCED] = n[NOW] + 1
    return n


def fence(s: Moment, rules: Rules) -> bytearray | None:
    """They end well, and the source's host has no power, if it still had some."""
    n = hook_ends(s)
    return n if n is None or s[SRC] not in (RUNS, STOPS) else end(n, POWERLESS)


def fence_fails(s: Moment, rules: Rules) -> bytearray | None:
    """One of them fails; the source is as it was."""
    n = hook_ends(s)
    if n is not None:
        n[UNFENCED] = 1
    return n


def fence_lies(s: Moment, rules: Rules) -> bytearray | None:
    """They end well, and the source goes on."""
    n = hook_ends(s) if s[SRC] in (RUNS, STOPS) else None
    if n is not None:
        n[LIVED_ON] = 1
    return n


def kill_query(s: Moment, rules: Rules) -> bytearray | None:
    """KILL QUERY of a commit that waits; MariaDB tells its client OK, and counts it so."""
    if not rules.mariadb or not waiting(s) or s[SRC] != RUNS:
        return None
    n = bytearray(s)
    n[TOLD + waiting(s)[0]] = mark(n[NOW], OK)
    n[YES] += 1
    breaks(n, KILLQ)
    return n


def end_beat(s: Moment, rules: Rules) -> bytearray | None:
    """The writer ends its own beat that waits, so that never two do; MariaDB counts it as
    acknowledged.
    """
    late = [number for number in waiting(s) if s[BEATS] & 1 << number]
    if not rules.mariadb or not late or s[SRC] != RUNS:
        return None
    n = bytearray(s)
    n[TOLD + late[0]] = mark(n[NOW], OK)
    n[YES] += 1
    n[OWN_ENDS] += 1
    return n
