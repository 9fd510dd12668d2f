# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people and playbooks change on a source, and what a failover leaves behind it."""

from __future__ import annotations

from model.follows import breaks, confirm, fall_back, say, settle
from model.state import (
    APPLIED,
    APPLIER,
    BLOCK,
    BORN,
    CLOSED,
    COUNT,
    ENABLED,
    EPOCH,
    GOT,
    HAND,
    IO,
    LOG,
    MADE,
    OFF,
    OPEN,
    OURS,
    PHASE,
    ROWS,
    RUNS,
    SEEN_GOT,
    SQL,
    SRC,
    STATUS,
    STOPS,
    TIMEOUT,
    TOLD,
    UP,
    WNR,
    Moment,
    Rules,
    blocks,
    is_ok,
)
from model.world import Event, write

CHANGES = ("off", "on", "timeout", "count", "wnr")


def changed(s: Moment, rules: Rules, what: str) -> bytearray | None:
    n = bytearray(s)
    if s[SRC] != RUNS or (what in ("off", "on") and s[ENABLED] == (what == "on")):
        return None
    if what == "off":
        fall_back(n)
        n[ENABLED] = 0
    elif what == "on":
        # Both servers are ON at once, whatever the replicas have.
        n[ENABLED] = n[STATUS] = 1
        say(n, OFF)
    elif what == "timeout":
        n[TIMEOUT] ^= 1
    elif what == "wnr":
        n[WNR] ^= 1
    elif rules.mariadb or rules.replicas < 2:
        return None
    else:
        n[COUNT] = 3 - n[COUNT]
        confirm(n, rules)
    return settle(n, rules)


def by_hand(what: str) -> Event:
    def event(s: Moment, rules: Rules) -> bytearray | None:
        n = changed(s, rules, what)
        if n is not None:
            breaks(n, HAND)
        return n

    return event


def ours_begins(what: str) -> Event:
    """A playbook of ours is about to change it: a row of the journal, and the look is spent."""

    def event(s: Moment, rules: Rules) -> bytearray | None:
        if s[OURS] or changed(s, rules, what) is None:
            return None
        n = write(s, rules, row=True)
        if n is not None:
            n[ROWS] |= 1 << s[LOG]
            n[OURS] = 1 + CHANGES.index(what)
        return n

    return event


def ours_goes_on(s: Moment, rules: Rules) -> bytearray | None:
    """It changes it, the row being confirmed; one that is not keeps it from being made."""
    if s[OURS] in (0, MADE) or not is_ok(s[TOLD + s[ROWS].bit_length() - 1]):
        return None
    n = changed(s, rules, CHANGES[s[OURS] - 1])
    if n is not None:
        n[OURS] = MADE
    return n


def ours_settles(s: Moment, rules: Rules) -> bytearray | None:
    """It says that it is made; a run after one that was interrupted says so, too. That row waits
    for nothing and proves nothing by itself, so it is none of the transactions here.
    """
    if s[OURS] not in (0, MADE) or s[CLOSED] == s[ROWS] or s[SRC] != RUNS:
        return None
    n = bytearray(s)
    n[OURS], n[CLOSED] = 0, n[ROWS]
    return n


def ours_dies(s: Moment, rules: Rules) -> bytearray | None:
    """The controller dies before it does, or before it says so."""
    if not s[OURS]:
        return None
    n = bytearray(s)
    n[OURS] = 0
    return n


# A failover


def first_look(s: Moment, rules: Rules) -> bytearray | None:
    """failover.yml has read everybody, and has stopped no IO thread yet."""
    if s[PHASE]:
        return None
    n = bytearray(s)
    n[PHASE] = 1
    for at in blocks(rules):
        n[at + SEEN_GOT : at + BLOCK] = bytes(
            (n[at + GOT], n[at + APPLIED], n[at + BORN], n[at + EPOCH], n[at + APPLIER])
        )
    return n


def undone(s: Moment, rules: Rules) -> bytearray | None:
    if not s[PHASE]:
        return None
    n = bytearray(s)
    n[PHASE] = 0
    for at in blocks(rules):
        n[at + SEEN_GOT : at + BLOCK] = bytes(BLOCK - SEEN_GOT)
    return n


def open_by_hand(s: Moment, rules: Rules, at: int) -> bytearray | None:
    """STOP REPLICA; SET GLOBAL read_only = 0."""
    if s[at + UP] or s[at + OPEN] or s[PHASE] or not s[SRC] > STOPS:
        return None
    n = bytearray(s)
    n[at + IO] = n[at + SQL] = n[at + OPEN] = 1
    return n
