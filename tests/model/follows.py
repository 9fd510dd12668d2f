# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from an event by itself: who is told OK, when semi-sync falls back, what is said."""

from __future__ import annotations

from model.state import (
    ACKED,
    APPLIED,
    APPLIER,
    APPLIER_AT,
    BEATS,
    BROKEN_A,
    BROKEN_B,
    COUNT,
    DUMP_A,
    DUMP_B,
    DUMPS,
    ENABLED,
    EPOCH,
    GOT,
    HOLES,
    IO,
    LINE,
    LOG,
    MOST,
    NEVER,
    NO,
    NOW,
    OFF,
    OK,
    RUNS,
    SERVED,
    SINCE_BEAT,
    SRC,
    STATUS,
    TOLD,
    UP,
    WNR,
    WORDS_A,
    WORDS_B,
    YES,
    Moment,
    Rules,
    blocks,
    mark,
    waiting,
)


def say(s: bytearray, word: int) -> None:
    """A line of the error log."""
    s[WORDS_A] |= word
    s[WORDS_B] |= word


def breaks(s: bytearray, bit: int) -> None:
    """Something that a certificate may assume not to have happened."""
    s[BROKEN_A] |= bit
    s[BROKEN_B] |= bit
    for number in range(MOST):
        if s[BEATS] & 1 << number:
            s[SINCE_BEAT + number] |= bit


def connected(s: Moment, at: int) -> bool:
    """Whether a replica's IO thread has its source."""
    return s[SRC] == RUNS and not (s[at + UP] or s[at + LINE] or s[at + IO])


def clients(s: Moment, rules: Rules) -> int:
    return sum(connected(s, at) for at in blocks(rules))


def confirm(s: bytearray, rules: Rules) -> None:
    """Tell those that wait and have their acknowledgements; go back to ON where all is there."""
    acked = sorted((s[at + ACKED] for at in blocks(rules)), reverse=True)
    reached = acked[s[COUNT] - 1] if s[COUNT] <= len(acked) else 0
    for number in waiting(s):
        if number < reached:
            s[TOLD + number] = mark(s[NOW], OK)
            s[YES] += 1
    if s[ENABLED] and not s[STATUS] and reached >= s[LOG] > 0:
        s[STATUS] = 1
        say(s, OFF)


def release(s: bytearray, late: int = OK) -> None:
    """Tell all that wait, though no replica has it."""
    for number in waiting(s):
        s[TOLD + number] = mark(s[NOW], late)
        s[NO] += 1


def fall_back(s: bytearray, late: int = OK) -> None:
    release(s, late)
    s[STATUS] = 0
    say(s, OFF)


def settle(s: bytearray, rules: Rules) -> bytearray:
    """A source that does not wait without replicas looks how many it has."""
    if s[SRC] == RUNS and s[STATUS] and not s[WNR] and clients(s, rules) < s[COUNT]:
        fall_back(s)
    return s


def forget(s: bytearray) -> None:
    """The connections of clients that wait break: they never hear."""
    for number in waiting(s):
        s[TOLD + number] = NEVER


def attach(s: bytearray, at: int) -> None:
    """A dump to a replica is started, and the error log says so."""
    if connected(s, at):
        s[at + DUMP_A] = s[at + DUMP_B] = 1
        s[at + DUMPS] = s[BEATS]


def renew_applier(s: bytearray, rules: Rules, at: int) -> None:
    """Its applier is started: a new connection's number."""
    s[at + SERVED] = 0
    s[at + EPOCH] += s[at + EPOCH] % 2
    s[at + APPLIER] = s[at + EPOCH]
    s[at + APPLIER_AT] = s[NOW] + 1


def throw_away(s: bytearray, at: int) -> None:
    """Relay logs go; what was applied stays."""
    s[at + GOT] = s[at + APPLIED]
    s[at + HOLES] &= (1 << s[at + APPLIED]) - 1
