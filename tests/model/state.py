# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a moment of the small world is made of: bytes, so that equal moments are equal keys.

A moment has the source's fields first, then what each commit's client was told, then one block for
each replica. Moments that differ only in which replica is which are one (canonical()).
"""

from __future__ import annotations

from typing import NamedTuple

# The source's fields.
(
    NOW,  # minutes since the world began
    SRC,  # how the source's server is, see below
    LOG,  # how many transactions its binary log has
    DISK,  # how many of them its disk keeps through a power cut
    ENABLED,
    STATUS,
    TIMEOUT,  # SHORT, LONG or MEDIUM
    WNR,  # wait_no_replica
    COUNT,  # wait_for_replica_count
    YES,  # yes_tx
    NO,  # no_tx
    STARTED,  # when it was started: 0 before the world began, else the minute + 1
    STOPPING,
    ENDED,
    LOOK_A,  # number of the look that controller A has kept, two bytes; 0 none
    LOOK_A_LOW,
    LOOK_B,
    LOOK_B_LOW,
    BROKEN_A,  # what happened since A's look that a certificate may assume away, bits below
    BROKEN_B,
    WORDS_A,  # what the error log says since A's look, bits below
    WORDS_B,
    OURS,  # a playbook's change whose row is written: its number, or MADE until it is closed
    ROWS,  # bits: which transactions are rows `settings` of the journal
    CLOSED,  # bits: which of them are of changes that are made and closed
    CUTS,  # 1 once the source was started again after a power cut that took transactions
    PHASE,  # 1 once a failover's first look was; its reading is in each replica's block
    BEGUN,  # number of the certificate that an interrupted failover left, two bytes
    BEGUN_LOW,
    BOOTS,  # how often its host was started
    BEATS,  # bits: which transactions are beats
    OWN_ENDS,  # how many waiting beats the writer has ended itself
    HOOK,  # when the tasks of semisync_hook_fence began, as STARTED, and BOOTS then, in 4 bits each
    FENCED,  # when they had ended, as STARTED
    UNFENCED,  # 1 if one of them failed
    LIVED_ON,  # 1 once the source ran after they had ended well
) = range(36)
TOLD = 36  # then one byte for each transaction
MOST = 5
BEAT = TOLD + MOST  # then the number of its row for each that is a beat, two bytes
SINCE_BEAT = BEAT + 2 * MOST  # and what happened since it, as BROKEN
FIRST = SINCE_BEAT + MOST

# A replica's fields, from the beginning of its block.
(
    UP,
    LINE,  # 1 while its line to the source is cut
    IO,  # 1 while its IO thread is stopped
    SQL,  # 1 while its applier is stopped
    GOT,  # how many of the source's transactions it has received
    APPLIED,
    ACKED,  # how many the source counts as acknowledged by it
    BORN,  # when its server was started, as STARTED
    BOOT,  # when its host was
    EPOCH,  # grows when a look follows a start of its applier, or the reverse
    APPLIER,  # the epoch in which its applier was started
    APPLIER_AT,  # when it was, as STARTED
    OUTSIDE,  # 1 while the inventory does not have it
    OPEN,  # 1 once writers were let in
    DUMP_A,  # 1 where the error log says, since A's look, that a dump to it was started
    DUMP_B,
    HELD,  # 1 while a session on it holds a lock that its applier waits for
    DUMPS,  # bits: since which beats a dump to it was started
    STRAY,  # when another server's beat came to its table, as STARTED; and TWIN, if it has the
    # number of the source's newest one there
    HOLES,  # bits: which transactions it passed over
    SERVED,  # 1 while its applier is the one that started after all that was received was applied
    SEEN_GOT,  # what the first look of a failover read
    SEEN_APPLIED,
    SEEN_BORN,
    SEEN_EPOCH,
    SEEN_APPLIER,
) = range(26)
BLOCK = 26

# How the source's server is.
RUNS, STOPS, EXITED, KILLED, STOPPED_KILLED, SHUT_KILLED, POWERLESS = range(7)
SHORT, LONG, MEDIUM = 0, 1, 2
MADE = 9
TWIN = 128
# What a client was told of its commit: UNUSED, NEVER, or 2 + 4 * the minute + one of these: it
# waits since then, or it heard OK then, or as much later as a source gives up after a timeout.
UNUSED, NEVER, FIRST_TOLD = 0, 1, 2
SINCE, OK, LATE, LATER = range(4)
# Bits of BROKEN.
HAND, KILLQ, ORDERLY, RESTARTED, STRANGER, RESET, POWER, FENCE = 1, 2, 4, 8, 16, 32, 64, 128
# Bits of WORDS.
SHUTDOWN, OFF, STARTED_AGAIN = 1, 2, 4

MINUTE = 60.0
# Seconds since 1970 when the world begins; not at a whole second, as it never is.
BEGINS = 1795000000.7
# Of a minute that is neither the first nor the last of a wait, the medium timeout has half.
TIMEOUTS = {SHORT: 10.0, LONG: 36000.0, MEDIUM: 90.0}
LATENESS = {OK: 0.0, LATE: 10.0, LATER: 30.0}

# One moment, or one that is being made.
Moment = bytes | bytearray


class Rules(NamedTuple):
    """What differs from world to world, and never within one.

    Attributes:
        engine: mysql or mariadb.
        replicas: how many.
        acks: wait_for_replica_count at first.
        timeout: SHORT, LONG or MEDIUM at first.
        recovery: relay_log_recovery of the replicas.
        sync_relay_log: whether it is 1 there.
        sync_binlog: whether it is 1 on the source.
        skew: how far the clocks of hosts are ahead of the controller's, in seconds: the source's,
            then the replicas'.
        most: how many transactions there may be.
        minutes: how many minutes may go by.
        events: the names of what may happen.
        wnr: wait_no_replica at first.
        looked: whether controller A has looked when the world begins.
        strangers: how many of the replicas the inventory does not have.
        prompt: whether replicas receive, acknowledge and apply at once, as those of a quiet host
            do; what is to be late there is cut off or held.
        beats: how many beats there may be.
        domains: whether MariaDB's source writes every other transaction in a second domain.
        applies_first: whether a replica on MariaDB applies what it had received before its threads
            start with its server.
        asked_before: whether the source's host answers when failover.yml first reads it, before the
            tasks of semisync_hook_fence.
    """

    engine: str
    replicas: int
    acks: int = 1
    timeout: int = LONG
    recovery: bool = False
    sync_relay_log: bool = True
    sync_binlog: bool = True
    skew: tuple[int, int] = (0, 0)
    most: int = 2
    minutes: int = 3
    events: tuple[str, ...] = ()
    wnr: int = 1
    looked: bool = True
    strangers: int = 0
    prompt: bool = False
    beats: int = 0
    asked_before: bool = False
    domains: bool = False
    applies_first: bool = False

    @property
    def mariadb(self) -> bool:
        return self.engine == "mariadb"


def size(rules: Rules) -> int:
    return FIRST + rules.replicas * BLOCK


def begin(rules: Rules) -> bytes:
    """The first moment: everybody is connected, nothing is committed."""
    s = bytearray(size(rules))
    s[ENABLED] = s[STATUS] = 1
    s[WNR], s[COUNT], s[TIMEOUT] = rules.wnr, rules.acks, rules.timeout
    for number in range(rules.replicas):
        s[block(number) + OUTSIDE] = int(number >= rules.replicas - rules.strangers)
        s[block(number) + LINE] = s[block(number) + OUTSIDE]
    return bytes(s)


def block(number: int) -> int:
    """Where a replica's block begins."""
    return FIRST + number * BLOCK


def blocks(rules: Rules) -> range:
    """Where each of them does."""
    return range(FIRST, FIRST + rules.replicas * BLOCK, BLOCK)


def on_disk(s: Moment) -> int:
    """How many transactions a reader of a dead source's binary log finds there."""
    return s[DISK] if s[SRC] == POWERLESS else s[LOG]


def seconds(minute: int) -> float:
    """When a minute is, by the controller's clock."""
    return BEGINS + MINUTE * minute


def since(field: int) -> float:
    """When something was that a byte keeps as 0 or the minute + 1; 0 is days before."""
    return BEGINS - 5 * 86400 if field == 0 else seconds(field - 1)


def mark(minute: int, kind: int) -> int:
    """What a byte of TOLD says of a client that waits since a minute, or heard OK then."""
    return FIRST_TOLD + 4 * minute + kind


def is_waiting(told: int) -> bool:
    return told >= FIRST_TOLD and (told - FIRST_TOLD) % 4 == SINCE


def is_ok(told: int) -> bool:
    return told >= FIRST_TOLD and (told - FIRST_TOLD) % 4 != SINCE


def minute_of(told: int) -> int:
    return (told - FIRST_TOLD) // 4


def told_at(told: int) -> float | None:
    """When a client heard OK; None if it did not."""
    return seconds(minute_of(told)) + LATENESS[(told - FIRST_TOLD) % 4] if is_ok(told) else None


def waiting(s: Moment) -> list[int]:
    """The commits whose clients wait."""
    return [number for number in range(MOST) if is_waiting(s[TOLD + number])]


def look_of(s: Moment, controller: int) -> int:
    at = LOOK_A + 2 * controller
    return s[at] * 256 + s[at + 1]


def put_look(s: bytearray, controller: int, number: int) -> None:
    at = LOOK_A + 2 * controller
    s[at], s[at + 1] = divmod(number, 256)


def beat_of(s: Moment, number: int) -> int:
    """The number of a beat's row; 0 if that transaction is none."""
    return s[BEAT + 2 * number] * 256 + s[BEAT + 2 * number + 1]


def put_beat(s: bytearray, number: int, row: int) -> None:
    s[BEAT + 2 * number], s[BEAT + 2 * number + 1] = divmod(row, 256)


def ours(s: Moment) -> int:
    """Bits: which transactions are no client's."""
    return s[ROWS] | s[BEATS]


def begun_of(s: Moment) -> int:
    return s[BEGUN] * 256 + s[BEGUN_LOW]


def shapes(s: bytes, rules: Rules) -> list[tuple[bytes, tuple[int, ...]]]:
    """The same moment with its replicas in order; several where some of them are alike.

    Returns:
        (the moment with the looks' numbers as they were, which replica came to which place).
    """
    parts = [s[at : at + BLOCK] for at in blocks(rules)]
    order = sorted(range(len(parts)), key=parts.__getitem__)
    return [(s[:FIRST] + b"".join(parts[one] for one in order), tuple(order))]
