# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breadth first over all that can happen in a world, equal moments once; the judge is asked in each
for every way to run a failover there, and its answer is held against the truth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate

from model import events, rejoins, world
from model.adapter import Adapter, Verdict, key_of
from model.kinds import CLOCK, PATTERNS
from model.results import Asked
from model.state import (
    ACKED,
    APPLIED,
    BEAT,
    BEATS,
    BEGUN,
    BEGUN_LOW,
    BROKEN_A,
    CUTS,
    DUMP_A,
    DUMPS,
    EPOCH,
    FENCE,
    FENCED,
    FIRST,
    GOT,
    HELD,
    HOLES,
    HOOK,
    IO,
    LIVED_ON,
    LOG,
    MOST,
    NOW,
    OURS,
    OUTSIDE,
    PHASE,
    POWER,
    POWERLESS,
    RUNS,
    SINCE_BEAT,
    SQL,
    SRC,
    STOPS,
    STRANGER,
    TOLD,
    UNFENCED,
    UP,
    WORDS_A,
    Moment,
    Rules,
    beat_of,
    begin,
    begun_of,
    block,
    blocks,
    is_ok,
    look_of,
    on_disk,
    ours,
    put_beat,
    put_look,
    shapes,
    told_at,
    waiting,
)

FALSE_PROOF, FALSE_WINDOW, FALSE_UNTIL, FALSE_CLEAN = "proven", "window", "until", "clean"


PLAIN = Asked()


class Lie(NamedTuple):
    """A moment in which the judge says what is not so.

    Attributes:
        kind: FALSE_PROOF, FALSE_WINDOW or FALSE_UNTIL; FALSE_CLEAN if it is rejoin's.
        moment: in which it was asked.
        asked: how.
        verdict: what it said.
        lost: the numbers of the commits that are missing, and when their clients heard OK.
        more: what is wrong, if that is not all.
    """

    kind: str
    moment: bytes
    asked: Asked
    verdict: Verdict
    lost: tuple[tuple[int, float], ...]
    more: str = ""


class Class:
    """All moments in which a failover sees the same.

    Attributes:
        verdict: what the judge says of it.
        truths: what was true, and how the mask of what happened since, to the first such moment.
        moment, asked: of the first.
        depth: how many events led there.
        times: how many moments it has.
    """

    __slots__ = ("asked", "depth", "moment", "times", "truths", "verdict")

    def __init__(self, verdict: Verdict, moment: bytes, asked: Asked) -> None:
        self.verdict, self.moment, self.asked = verdict, moment, asked
        self.truths: dict[bytes, bytes] = {}
        self.depth = self.times = 0


class Search:
    """One world, searched.

    Args:
        rules: of it.
        keep: whether every class of moments keeps its truths, for mutants and for completeness.
    """

    def __init__(self, rules: Rules, keep: bool = True) -> None:
        self.rules, self.keep = rules, keep
        self.adapter = Adapter(rules)
        self.seen: dict[bytes, tuple[bytes | None, str, int, tuple[int, ...]]] = {}
        self.classes: dict[bytes, Class] = {}
        self.lies: list[Lie] = []
        self.risked: list[tuple[Class, list[bytes]]] | None = None
        self.asked = 0
        self.depth = 0
        self.depths: list[int] = []
        self.assumed: set[int] = set()

    # Moments

    def canonical(self, s: Moment) -> tuple[bytes, tuple[int, ...]]:
        """The same moment with its replicas in order, and which came to which place."""
        if self.rules.replicas == 1:
            return bytes(s), (0,)
        made, order = shapes(bytes(s), self.rules)[0]
        if order == tuple(range(len(order))):
            return made, order
        n = bytearray(made)
        for controller in (0, 1):
            number = look_of(made, controller)
            if number:
                put_look(n, controller, self.adapter.move(number, order))
        for number in range(MOST):
            if beat_of(made, number):
                put_beat(n, number, self.adapter.move(beat_of(made, number), order))
        if begun_of(made):
            n[BEGUN], n[BEGUN_LOW] = divmod(self.adapter.move(begun_of(made), order), 256)
        return bytes(n), order

    def first(self) -> bytes:
        s = begin(self.rules)
        if self.rules.looked:
            s = bytes(self.looks(s, 0))
        return self.canonical(s)[0]

    def looks(self, s: bytes, controller: int) -> bytearray:
        """verify.yml keeps a look."""
        n = bytearray(s)
        put_look(n, controller, self.adapter.look(s, controller))
        n[BROKEN_A + controller] = POWER if n[CUTS] else 0
        n[WORDS_A + controller] = 0
        # It forgets what an interrupted failover left.
        if controller == 0:
            n[BEGUN] = n[BEGUN_LOW] = 0
        for at in blocks(self.rules):
            n[at + DUMP_A + controller] = 0
            if not n[at + UP]:
                n[at + EPOCH] |= 1
        return n

    def beats(self, s: bytes) -> bytearray | None:
        """The source writes what it knows of itself, and then the row; never two of them wait."""
        late = any(s[BEATS] & 1 << number for number in waiting(s))
        if late or s[BEATS].bit_count() >= self.rules.beats or s[SRC] != RUNS:
            return None
        n = world.write(s, self.rules, row=True)
        if n is not None:
            number = s[LOG]
            n[BEATS] |= 1 << number
            put_beat(n, number, self.adapter.beat_number(s))
            n[SINCE_BEAT + number] = POWER if n[CUTS] else 0
        return n

    def next(self, s: bytes) -> Iterator[tuple[str, int, bytearray]]:
        """Everything that can happen next."""
        for name, number, n in events.steps(s, self.rules):
            if name.startswith("ours_") and n[OURS] and not s[OURS]:
                # The look is spent before anything is written or changed.
                put_look(n, 0, self.adapter.spend(look_of(s, 0), s[NOW]))
            yield name, number, n
        if "beat" in self.rules.events and not s[PHASE] and (made := self.beats(s)) is not None:
            yield "beat", -1, events.flow(made, self.rules) if self.rules.prompt else made
        if s[SRC] == RUNS and not s[PHASE]:
            for name, controller in events.LOOKS.items():
                if name in self.rules.events:
                    yield name, -1, self.looks(s, controller)
        if "interrupted" in self.rules.events and not s[PHASE] and not begun_of(s):
            asked = Asked(gone=s[SRC] in (RUNS, STOPS))
            number = self.adapter.begun(s, asked)
            if number:
                n = bytearray(s)
                n[BEGUN], n[BEGUN_LOW] = divmod(number, 256)
                # Its hook ends with it: the next run asks and fences anew.
                n[HOOK] = n[FENCED] = n[UNFENCED] = n[LIVED_ON] = 0
                yield "interrupted", -1, n

    def ways(self, s: bytes) -> Iterator[Asked]:
        """How failover.yml may be run in a moment."""
        controllers = [0] if look_of(s, 0) == look_of(s, 1) or not look_of(s, 1) else [0, 1]
        for controller in controllers:
            yield Asked(controller, gone=True)
            if s[SRC] == RUNS:
                for number, at in enumerate(blocks(self.rules)):
                    still = s[at + UP] or s[at + IO] or s[at + OUTSIDE]
                    if not still and s[at + ACKED] < s[LOG]:
                        yield Asked(controller, gone=True, late=number)
            if s[SRC] > STOPS:
                yield Asked(controller)
                yield Asked(controller, salvage=True)
                yield Asked(controller, log=False)
                if any(
                    (s[at + HELD] or s[at + SQL]) and s[at + APPLIED] < s[at + GOT]
                    for at in blocks(self.rules)
                ):
                    yield Asked(controller, stuck=True)

    # Truth

    def lost(self, s: bytes, asked: Asked, verdict: Verdict) -> tuple[tuple[int, float], ...]:
        """Commits of clients that were told OK and are not on the new source."""
        has = s[block(verdict.chosen) + (APPLIED if asked.stuck else GOT)]
        if asked.late >= 0:
            at = block(asked.late)
            n = world.heal(s, self.rules, at) or bytearray(s)
            n = world.receive(n, self.rules, at) or n
            s = bytes(world.acknowledge(n, self.rules, at) or n)
        if verdict.salvaged:
            has = max(has, on_disk(s))
        holes = s[block(verdict.chosen) + HOLES]
        told = [
            (number, told_at(s[TOLD + number]))
            for number in range(MOST)
            if (number >= has or holes & 1 << number) and not ours(s) & 1 << number
        ]
        return tuple((number, moment) for number, moment in told if moment is not None)

    def missing(self, s: bytes, asked: Asked) -> bool:
        """Whether a commit that was told OK is on none that could take over."""
        could = [s[at + GOT] for at in blocks(self.rules) if not (s[at + UP] or s[at + OUTSIDE])]
        has = max(could, default=0)
        if asked.salvage:
            has = max(has, on_disk(s))
        return any(
            is_ok(s[TOLD + number]) and not ours(s) & 1 << number for number in range(has, MOST)
        )

    def risky(self, s: bytes, asked: Asked) -> bool:
        """Whether a commit that was told OK is not on everybody that could take over."""
        if asked.late >= 0 or any(s[at + HOLES] for at in blocks(self.rules)):
            return True
        field = APPLIED if asked.stuck else GOT
        least = min((s[at + field] for at in blocks(self.rules) if not s[at + UP]), default=0)
        return any(is_ok(s[TOLD + number]) for number in range(least, MOST))

    def risks(self, most: int) -> list[tuple[Class, list[bytes]]]:
        """The classes, those of the shortest histories first, of which some moment can make a lie;
        and those moments.
        """
        if self.risked is None:
            self.risked = []
            for known in self.classes.values():
                moments = [s for s in known.truths.values() if self.risky(s, known.asked)]
                if moments:
                    self.risked.append((known, moments))
                if len(self.risked) == most:
                    break
        return self.risked

    def lie(self, s: bytes, asked: Asked, verdict: Verdict) -> str:
        """Which lie a verdict is in this moment; empty if it is none."""
        if verdict.chosen < 0:
            return ""
        lost = self.lost(s, asked, verdict)
        if not lost:
            return ""
        kind = ""
        if verdict.words == certificate.PROVEN:
            kind = FALSE_PROOF
        elif verdict.words == certificate.WINDOW and not all(
            verdict.begin <= at <= verdict.end for _number, at in lost
        ):
            kind = FALSE_WINDOW
        elif any(at < verdict.until for _number, at in lost):
            kind = FALSE_UNTIL
        return kind if kind and not self.excused(s, asked, verdict, kind) else ""

    def happened(self, s: bytes, controller: int, since: int = -1) -> int:
        """What a certificate may assume away, and has happened since a controller's look, or since
        a beat.
        """
        lived_on = FENCE * s[LIVED_ON]
        if since >= 0:
            stranger = self.came(s, since) or self.took_a_place(s, since)
            return s[SINCE_BEAT + since] | STRANGER * stranger | lived_on
        for at in blocks(self.rules):
            # Who is no member now, whatever it was when it came.
            if s[at + OUTSIDE] and s[at + DUMP_A + controller]:
                return s[BROKEN_A + controller] | STRANGER | lived_on
        return s[BROKEN_A + controller] | lived_on

    def came(self, s: bytes, since: int, stranger: bool = True) -> bool:
        """Whether a stranger, or a member, has come since a beat."""
        return any(
            s[at + DUMPS] & 1 << since
            for at in blocks(self.rules)
            if bool(s[at + OUTSIDE]) is stranger
        )

    def took_a_place(self, s: bytes, since: int) -> bool:
        """Whether a stranger may have been counted at a beat for a replica that was away, and no
        number shows it: it came between two beats, in which that replica may have left; or that
        replica has come after the beat. MariaDB's beats do not name replicas, and a certificate
        says what it assumes of that. A stranger that was there at each beat must be seen.
        """
        outside = [at for at in blocks(self.rules) if s[at + OUTSIDE]]
        if not self.rules.mariadb or not outside:
            return False
        return any(s[at + DUMPS] for at in outside) or self.came(s, since, stranger=False)

    def excused(self, s: bytes, asked: Asked, verdict: Verdict, kind: str) -> bool:
        """Whether something happened that the certificate says it takes not to have."""
        ahead = [int(found[1] or 0) for words in verdict.assumes if (found := CLOCK.search(words))]
        if ahead and self.rules.skew[0] > min(ahead):
            return True
        happened = self.happened(s, asked.controller, verdict.since)
        if kind == FALSE_UNTIL and verdict.by_beat:
            # What the candidate has is there, whatever happened since.
            happened &= POWER
        if not happened:
            return False
        return any(
            happened & bit and any(pattern.search(words) for words in verdict.assumes)
            for bit, pattern in PATTERNS.items()
        )

    def unclean(self, s: bytes, verdict: Verdict) -> str:
        """What rejoin.yml would call clean after this failover, and is not."""
        rules = self.rules
        if s[block(verdict.chosen) + HOLES]:
            return ""
        new = s[block(verdict.chosen) + GOT]
        power = s[SRC] == POWERLESS
        return rejoins.wrong(rules.engine, s[LOG], on_disk(s), new, rules.sync_binlog, power)

    def ask(self, s: bytes) -> None:
        """The judge, every way, in a moment."""
        rules, classes = self.rules, self.classes
        for asked in self.ways(s):
            key = key_of(s, rules, asked)
            known = classes.get(key)
            if known is None:
                known = classes[key] = Class(self.adapter.judge(s, asked), s, asked)
                known.depth = self.depth + 1
            self.asked += 1
            known.times += 1
            verdict = known.verdict
            if self.keep:
                mask = self.happened(s, asked.controller, verdict.since)
                truth = s[TOLD:BEAT] + s[SINCE_BEAT:FIRST] + bytes((mask,))
                if truth not in known.truths:
                    known.truths[truth] = s
            if verdict.chosen >= 0 and verdict.words != "refused":
                kind = self.lie(s, asked, verdict)
                if kind:
                    self.lies.append(Lie(kind, s, asked, verdict, self.lost(s, asked, verdict)))
                if asked == PLAIN and (words := self.unclean(s, verdict)):
                    self.lies.append(Lie(FALSE_CLEAN, s, asked, verdict, (), words))

    # The search

    def run(self, most: int, depth: int = 99, until: float | None = None) -> Search:
        """Go on until there are so many moments, or it has gone so deep, or it is too late."""
        first = self.first()
        self.seen[first] = (None, "", -1, ())
        self.ask(first)
        layer = [first]
        seen = self.seen
        while layer and self.depth < depth and len(seen) < most:
            self.depths.append(len(layer))
            after: list[bytes] = []
            for s in layer:
                for name, number, made in self.next(s):
                    n, order = self.canonical(made)
                    if n in seen:
                        continue
                    seen[n] = (s, name, number, order)
                    after.append(n)
                    self.ask(n)
                if len(seen) >= most or (until is not None and time.monotonic() > until):
                    self.depth += 1
                    return self
            layer = after
            self.depth += 1
        return self

    def history(self, moment: bytes) -> list[tuple[str, int]]:
        """The events that led to a moment, with replicas as they were named at the beginning."""
        back: list[tuple[str, int, tuple[int, ...]]] = []
        at: bytes | None = moment
        while at is not None:
            at, name, number, order = self.seen[at]
            if at is not None:
                back.append((name, number, order))
        names = list(range(self.rules.replicas))
        told = []
        for name, number, order in reversed(back):
            told.append((name, names[number] if number >= 0 else -1))
            names = [names[old] for old in order]
        return told

    def named(self, moment: bytes) -> list[int]:
        """Which replica, as named at the beginning, is at each place in a moment."""
        chain: list[tuple[int, ...]] = []
        at: bytes | None = moment
        while at is not None:
            at, _name, _number, order = self.seen[at]
            if at is not None:
                chain.append(order)
        names = list(range(self.rules.replicas))
        for order in reversed(chain):
            names = [names[old] for old in order]
        return names
