# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to a source and its replicas, and what is true then: who was told OK, and when.

Each event is a function of a moment (state.py) that gives the next one, or None where it cannot
happen. Events within a minute take no time. Where servers may do one thing or another, they do what
is worse for the judge: an orderly stop confirms all that waits, a power cut takes all that it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from model.state import *

Event = Callable[[bytes, Rules], "bytearray | None"]
EventOf = Callable[[bytes, Rules, int], "bytearray | None"]
CHANGES = ("off", "on", "timeout", "count", "wnr")


# What follows from an event


def say(s: bytearray, word: int) -> None:
    """A line of the error log."""
    s[WORDS_A] |= word
    s[WORDS_B] |= word


def breaks(s: bytearray, bit: int) -> None:
    """Something that a certificate may assume not to have happened."""
    s[BROKEN_A] |= bit
    s[BROKEN_B] |= bit


def connected(s: bytes, at: int) -> bool:
    """Whether a replica's IO thread has its source."""
    return s[SRC] == RUNS and not (s[at + UP] or s[at + LINE] or s[at + IO])


def clients(s: bytes, rules: Rules) -> int:
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
        if s[at + OUTSIDE]:
            breaks(s, STRANGER)


def renew_applier(s: bytearray, at: int) -> None:
    """Its applier is started: a new connection's number."""
    s[at + EPOCH] += s[at + EPOCH] % 2
    s[at + APPLIER] = s[at + EPOCH]


def throw_away(s: bytearray, at: int) -> None:
    """Relay logs go; what was applied stays."""
    s[at + GOT] = s[at + APPLIED]


# What clients and replicas do


def write(s: bytes, rules: Rules, row: bool = False) -> bytearray | None:
    number = s[LOG]
    if s[SRC] != RUNS or number >= min(rules.most + row, MOST) or s[TOLD + number] != UNUSED:
        return None
    n = bytearray(s)
    n[LOG] += 1
    if rules.sync_binlog:
        n[DISK] = n[LOG]
    if row:
        n[ROWS] |= 1 << number
    if n[STATUS]:
        # Since when it waits matters only where that can end within the world.
        n[TOLD + number] = mark(n[NOW] if n[TIMEOUT] == MEDIUM else 0, SINCE)
    else:
        n[TOLD + number] = mark(n[NOW], OK)
        n[NO] += n[ENABLED]
    return settle(n, rules)


def commit(s: bytes, rules: Rules) -> bytearray | None:
    return write(s, rules)


def commit_everywhere(s: bytes, rules: Rules) -> bytearray | None:
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


def receive(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if not connected(s, at) or s[at + GOT] >= s[LOG]:
        return None
    n = bytearray(s)
    n[at + GOT] = n[LOG]
    return n


def acknowledge(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if not connected(s, at) or s[at + ACKED] >= s[at + GOT]:
        return None
    n = bytearray(s)
    n[at + ACKED] = n[at + GOT]
    confirm(n, rules)
    return n


def deliver(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """Receive and acknowledge."""
    n = receive(s, rules, at)
    return acknowledge(n, rules, at) if n is not None else None


def apply(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if s[at + UP] or s[at + SQL] or s[at + HELD] or s[at + APPLIED] >= s[at + GOT]:
        return None
    n = bytearray(s)
    n[at + APPLIED] = n[at + GOT]
    return n


def minute(s: bytes, rules: Rules) -> bytearray | None:
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


def cut(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if s[at + LINE]:
        return None
    n = bytearray(s)
    n[at + LINE] = 1
    return settle(n, rules)


def heal(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if not s[at + LINE]:
        return None
    n = bytearray(s)
    n[at + LINE] = 0
    attach(n, at)
    return n


def threads(io: int | None, sql: int | None) -> EventOf:
    """STOP or START of a replica's threads; None leaves one as it is."""

    def event(s: bytes, rules: Rules, at: int) -> bytearray | None:
        wanted = (s[at + IO] if io is None else io, s[at + SQL] if sql is None else sql)
        before = (s[at + IO], s[at + SQL])
        if s[at + UP] or wanted == before:
            return None
        n = bytearray(s)
        n[at + IO], n[at + SQL] = wanted
        if rules.mariadb and before == (1, 1):
            throw_away(n, at)
        if before[1] and not wanted[1]:
            renew_applier(n, at)
        if before[0] and not wanted[0]:
            attach(n, at)
        return settle(n, rules)

    return event


def reset_slave(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """STOP, RESET, START."""
    if s[at + UP]:
        return None
    n = bytearray(s)
    throw_away(n, at)
    n[at + IO] = n[at + SQL] = 0
    renew_applier(n, at)
    attach(n, at)
    breaks(n, RESET)
    return n


def hold(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """LOCK TABLES on a replica: its applier stands still."""
    if s[at + UP] or s[at + HELD]:
        return None
    n = bytearray(s)
    n[at + HELD] = 1
    return n


def born(s: bytes, rules: Rules, at: int, lost: bool) -> bytearray:
    n = bytearray(s)
    if lost or rules.mariadb or rules.recovery:
        throw_away(n, at)
    n[at + UP] = n[at + IO] = n[at + SQL] = n[at + EPOCH] = n[at + APPLIER] = n[at + OPEN] = 0
    n[at + HELD] = 0
    n[at + BORN] = n[NOW] + 1
    attach(n, at)
    return settle(n, rules)


def restart(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """Its server is started again, after SIGKILL or in order."""
    return born(s, rules, at, lost=False)


def power(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """Its host loses its power, and starts again."""
    n = born(s, rules, at, lost=not rules.sync_relay_log)
    n[at + BOOT] = n[NOW] + 1
    return n


def die(s: bytes, rules: Rules, at: int) -> bytearray | None:
    if s[at + UP]:
        return None
    n = bytearray(s)
    n[at + UP] = 1
    return settle(n, rules)


def edit_inventory(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """Taken out of the inventory, or put into it."""
    n = bytearray(s)
    n[at + OUTSIDE] ^= 1
    return n


# The source


def end(s: bytes, how: int) -> bytearray:
    n = bytearray(s)
    forget(n)
    n[SRC], n[ENDED] = how, n[NOW] + 1
    return n


def stop(s: bytes, rules: Rules) -> bytearray | None:
    """An orderly stop begins: what waits is confirmed."""
    if s[SRC] != RUNS:
        return None
    n = bytearray(s)
    release(n)
    say(n, SHUTDOWN)
    breaks(n, ORDERLY)
    n[SRC], n[STOPPING] = STOPS, n[NOW] + 1
    return n


def stopped(s: bytes, rules: Rules) -> bytearray | None:
    return end(s, EXITED) if s[SRC] == STOPS else None


def kill(s: bytes, rules: Rules) -> bytearray | None:
    if s[SRC] not in (RUNS, STOPS):
        return None
    return end(s, KILLED if s[SRC] == RUNS else STOPPED_KILLED)


def shut_and_kill(s: bytes, rules: Rules) -> bytearray | None:
    """SHUTDOWN, which systemd knows nothing of, then SIGKILL."""
    n = stop(s, rules)
    if n is None:
        return None
    n[STOPPING] = 0
    return end(n, SHUT_KILLED)


def power_source(s: bytes, rules: Rules) -> bytearray | None:
    return end(s, POWERLESS) if s[SRC] in (RUNS, STOPS) else None


def start(s: bytes, rules: Rules) -> bytearray | None:
    """The source's server is started again, by whatever."""
    if s[SRC] in (RUNS, STOPS):
        return None
    n = bytearray(s)
    if n[SRC] == POWERLESS:
        n[LOG] = n[DISK]
    n[SRC], n[STATUS], n[YES], n[NO], n[STARTED] = RUNS, n[ENABLED], 0, 0, n[NOW] + 1
    n[STOPPING] = n[ENDED] = n[OURS] = 0
    say(n, STARTED_AGAIN)
    breaks(n, RESTARTED)
    for at in blocks(rules):
        attach(n, at)
    return settle(n, rules)


def kill_query(s: bytes, rules: Rules) -> bytearray | None:
    """KILL QUERY of a commit that waits; MariaDB tells its client OK, and counts it so."""
    if not rules.mariadb or not waiting(s) or s[SRC] != RUNS:
        return None
    n = bytearray(s)
    n[TOLD + waiting(s)[0]] = mark(n[NOW], OK)
    n[YES] += 1
    breaks(n, KILLQ)
    return n


# Settings


def changed(s: bytes, rules: Rules, what: str) -> bytearray | None:
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
    def event(s: bytes, rules: Rules) -> bytearray | None:
        n = changed(s, rules, what)
        if n is not None:
            breaks(n, HAND)
        return n

    return event


def ours_begins(what: str) -> Event:
    """A playbook of ours is about to change it: a row of the journal, and the look is spent."""

    def event(s: bytes, rules: Rules) -> bytearray | None:
        if s[OURS] or changed(s, rules, what) is None:
            return None
        n = write(s, rules, row=True)
        if n is not None:
            n[OURS] = 1 + CHANGES.index(what)
        return n

    return event


def ours_goes_on(s: bytes, rules: Rules) -> bytearray | None:
    """It changes it; after a while without the row being confirmed, too."""
    if not s[OURS]:
        return None
    n = changed(s, rules, CHANGES[s[OURS] - 1])
    if n is not None:
        n[OURS] = 0
    return n


def ours_dies(s: bytes, rules: Rules) -> bytearray | None:
    """The controller dies before it does."""
    if not s[OURS]:
        return None
    n = bytearray(s)
    n[OURS] = 0
    return n


# A failover


def first_look(s: bytes, rules: Rules) -> bytearray | None:
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


def undone(s: bytes, rules: Rules) -> bytearray | None:
    if not s[PHASE]:
        return None
    n = bytearray(s)
    n[PHASE] = 0
    for at in blocks(rules):
        n[at + SEEN_GOT : at + BLOCK] = bytes(BLOCK - SEEN_GOT)
    return n


def open_by_hand(s: bytes, rules: Rules, at: int) -> bytearray | None:
    """STOP REPLICA; SET GLOBAL read_only = 0."""
    if s[at + UP] or s[at + OPEN] or s[PHASE] or not s[SRC] > STOPS:
        return None
    n = bytearray(s)
    n[at + IO] = n[at + SQL] = n[at + OPEN] = 1
    return n


OF_CLUSTER: dict[str, Event] = {
    "commit": commit,
    "commit_everywhere": commit_everywhere,
    "minute": minute,
    "stop": stop,
    "stopped": stopped,
    "kill": kill,
    "shut_and_kill": shut_and_kill,
    "power": power_source,
    "start": start,
    "kill_query": kill_query,
    **{f"hand_{what}": by_hand(what) for what in CHANGES},
    **{f"ours_{what}": ours_begins(what) for what in CHANGES},
    "ours_goes_on": ours_goes_on,
    "ours_dies": ours_dies,
    "first_look": first_look,
    "undone": undone,
}
OF_REPLICA: dict[str, EventOf] = {
    "receive": receive,
    "acknowledge": acknowledge,
    "deliver": deliver,
    "apply": apply,
    "cut": cut,
    "heal": heal,
    "stop_io": threads(1, None),
    "start_io": threads(0, None),
    "stop_sql": threads(None, 1),
    "start_sql": threads(None, 0),
    "stop_slave": threads(1, 1),
    "start_slave": threads(0, 0),
    "reset_slave": reset_slave,
    "hold": hold,
    "restart": restart,
    "power_replica": power,
    "die": die,
    "edit_inventory": edit_inventory,
    "open": open_by_hand,
}
# By the controllers, see search.py: they need the judge's own code.
LOOKS = {"look": 0, "look_b": 1}
# What may happen between a failover's first look and its freeze.
WHILE_LOOKED = ("minute", "receive", "acknowledge", "restart", "power_replica", "die", "stop_slave",
                "start_slave", "reset_slave", "undone")  # fmt: skip


def flow(s: bytearray, rules: Rules) -> bytearray:
    """Everything that replicas do by themselves where nothing keeps them."""
    for _turn in range(2):
        for at in blocks(rules):
            for event in (receive, acknowledge, apply):
                s = event(s, rules, at) or s  # type: ignore[arg-type]
    return s


def steps(s: bytes, rules: Rules) -> Iterator[tuple[str, int, bytearray]]:
    """(event, which replica or -1, the next moment) for all that can happen but looks."""
    for name in rules.events:
        if s[PHASE] and name not in WHILE_LOOKED:
            continue
        of_cluster = OF_CLUSTER.get(name)
        if of_cluster:
            n = of_cluster(s, rules)
            if n is not None:
                yield name, -1, flow(n, rules) if rules.prompt else n
        elif name in OF_REPLICA:
            of_replica = OF_REPLICA[name]
            for number, at in enumerate(blocks(rules)):
                n = of_replica(s, rules, at)
                if n is not None:
                    yield name, number, flow(n, rules) if rules.prompt else n
