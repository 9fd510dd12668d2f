# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge's own functions, asked with what the modules would return in a moment (results.py) and
with what controllers have kept. Nothing of who was told OK goes through here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beat_looks,
    beats,
    cases,
    certificate,
    failover_outcome,
    interrupted_failover,
    part_results,
    readings,
    records,
    survivors,
)

from model.results import LATENCY, Asked, Results, answers, host, server_id, uuid
from model.state import (
    APPLIED,
    BEAT,
    BEATS,
    BLOCK,
    BOOTS,
    BORN,
    CLOSED,
    DUMP_A,
    ENDED,
    FENCED,
    GOT,
    HOLES,
    HOOK,
    IO,
    LINE,
    LOG,
    LOOK_A,
    MOST,
    NOW,
    OPEN,
    OUTSIDE,
    OWN_ENDS,
    PHASE,
    ROWS,
    SEEN_GOT,
    SRC,
    STARTED,
    STOPPING,
    STRAY,
    UNFENCED,
    UP,
    WORDS_A,
    YES,
    Rules,
    begun_of,
    block,
    blocks,
    look_of,
    on_disk,
    seconds,
    waiting,
)
from unit import samples

RUN = "2026-11-18T130640.000000Z"


class Verdict(NamedTuple):
    """What was said in a moment.

    Attributes:
        words: one of certificate.VERDICTS, or "refused".
        chosen: which replica takes over, or -1.
        begin, end: of the window, in seconds since 1970.
        until: proven_until.
        assumes: in the certificate's words.
        reasons: why not more is proven, as the names of premises and cases.
        salvaged: whether the candidate is given the rest of the source's binary log.
        since: which transaction is the beat from which on something is assumed; -1 is the look.
        by_beat: whether a beat shows `until`.
    """

    words: str
    chosen: int
    begin: float
    end: float
    until: float
    assumes: tuple[str, ...]
    reasons: tuple[str, ...]
    salvaged: bool
    since: int = -1
    by_beat: bool = False


def key_of(s: bytes, rules: Rules, asked: Asked) -> bytes:
    """All that a failover can see of a moment, and nothing else: equal keys have equal verdicts."""
    head = bytes(
        (
            s[NOW],
            asked.controller * 8 + asked.gone * 4 + asked.salvage * 2 + asked.log,
            s[SRC] if not asked.gone else 255,
            s[PHASE] + 2 * asked.stuck + 4 * (asked.late + 1),
            s[BOOTS],
            s[HOOK],
            s[FENCED],
            s[UNFENCED],
        )
    )
    look = s[look_at(asked.controller) : look_at(asked.controller) + 2]
    begun = begun_of(s).to_bytes(2, "big")
    parts = [head, look, begun]
    if not asked.gone:
        words = s[WORDS_A + asked.controller] if asked.log else 0
        parts.append(bytes((s[STARTED], s[STOPPING], s[ENDED], words, on_disk(s) * asked.salvage)))
    rows = s[ROWS]
    dumps = DUMP_A + asked.controller
    for at in blocks(rules):
        dump = s[at + dumps] if asked.log and not asked.gone else 0
        if s[at + UP] or s[at + OUTSIDE]:
            parts.append(bytes((s[at + OUTSIDE], dump)))
        else:
            parts.append(s[at + IO : at + APPLIED + 1] + s[at + BORN : at + OUTSIDE])
            parts.append(
                bytes((s[at + OPEN], dump, rows & ((1 << s[at + GOT]) - 1), answers(s, at)))
            )
            if s[PHASE]:
                parts.append(s[at + SEEN_GOT : at + BLOCK])
            if rules.beats:
                parts.append(bytes((s[at + STRAY], s[at + HOLES])))
                parts.append(s[BEAT : BEAT + 2 * s[at + GOT]])
    return b"".join(parts)


def look_at(controller: int) -> int:
    return LOOK_A + 2 * controller


class Adapter(Results):
    """The modules' results for one kind of world, and the judge's answers.

    Args:
        rules: of the world.
    """

    def __init__(self, rules: Rules) -> None:
        super().__init__(rules)
        # Of each of looks, begun certificates among them, its number.
        self.numbers: dict[str, int] = {}
        self.look_memo: dict[tuple[int, bytes], int] = {}
        self.moved: dict[tuple[int, tuple[int, ...]], int] = {}
        self.spent_memo: dict[tuple[int, int], int] = {}
        self.settings = {
            salvage: samples.settings(
                failover_to="", failover_accept=[], failover_salvage=salvage, hook_fence=""
            )
            for salvage in (False, True)
        }
        self.accepted: list[str] = []

    # What is kept on a controller, or in a table, by number

    def number_of(self, kept: Mapping[str, object] | None) -> int:
        """The number of a kept file; equal ones have the same."""
        if kept is None:
            return 0
        text = json.dumps(kept, sort_keys=True)
        if text not in self.numbers:
            self.numbers[text] = len(self.looks)
            self.looks.append(json.loads(text))
        return self.numbers[text]

    def look(self, s: bytes, controller: int) -> int:
        """The number of the look that verify.yml keeps in this moment."""
        saved = look_of(s, controller)
        key = (saved, self.seen_by_look(s))
        if key not in self.look_memo:
            members = self.members(s, living=True)
            at = survivors.stamp(seconds(s[NOW]) + LATENCY)
            kept = history.look_back(self.looks[saved], members, at)[0]
            self.look_memo[key] = self.number_of(kept)
        return self.look_memo[key]

    def beat_number(self, s: bytes) -> int:
        """The number of the row that the source writes in this moment."""
        key = (-1, self.seen_by_look(s) + bytes((s[BEATS], s[OWN_ENDS], s[BOOTS])))
        if key not in self.look_memo:
            self.look_memo[key] = self.number_of(self.beat(s))
        return self.look_memo[key]

    def seen_by_look(self, s: bytes) -> bytes:
        source = bytes((*s[NOW : NOW + 1], *s[LOG : YES + 3], s[ROWS], s[CLOSED], len(waiting(s))))
        return source + b"".join(
            bytes((s[at + OUTSIDE], s[at + LINE], s[at + UP]))
            + (b"" if s[at + UP] else s[at + IO : at + APPLIED + 1] + s[at + BORN : at + OUTSIDE])
            for at in blocks(self.rules)
        )

    def spend(self, number: int, minute: int) -> int:
        """The same look, once a playbook of ours is about to change what it promised."""
        key = (number, minute)
        if number and key not in self.spent_memo:
            kept = dict(self.looks[number] or {})
            if not kept.get("spent_at"):
                kept.update(spent_at=survivors.stamp(seconds(minute)), spent_why="a change")
            self.spent_memo[key] = self.number_of(kept)
        return self.spent_memo.get(key, 0)

    def move(self, number: int, order: tuple[int, ...]) -> int:
        """The same look with the replicas' names exchanged: the one at order[i] is i now."""
        if not number:
            return 0
        key = (number, order)
        if key not in self.moved:
            names = {}
            for new, old in enumerate(order):
                for name in (host, server_id, uuid):
                    names[name(old)] = name(new)
            pattern = re.compile("|".join(map(re.escape, names)))
            text = json.dumps(self.looks[number], sort_keys=True)
            kept = json.loads(pattern.sub(lambda found: names[found.group()], text))
            if kept.get("facts", {}).get("acknowledgers"):
                kept["facts"]["acknowledgers"].sort()
            self.moved[key] = self.number_of(kept)
        return self.moved[key]

    # The judge

    def judge(self, s: bytes, asked: Asked) -> Verdict:
        """What failover.yml says in this moment, with every case accepted that can be."""
        kept = self.looks[look_of(s, asked.controller)]
        begun = self.looks[begun_of(s)]
        now = seconds(s[NOW]) + LATENCY
        judged = readings.of_results(
            self.members(s, living=False),
            self.results(s, asked),
            kept,
            begun,
            self.settings[asked.salvage],
            now,
            self.fence(s),
        )
        known = judged.evidence
        if judged.opened:
            return self.judge_again(s, judged, now)
        decision = cases.decide(known, (), failover_outcome.not_frozen(known))
        chosen, every_case = decision.chosen, decision.refused
        barred = [case.name for case in every_case if not case.acceptable]
        if barred or not chosen:
            return refusal(tuple(barred) or ("no candidate",))
        accepted = [case.name for case in every_case]
        record = certificate.record("shop", "feed", known, decision._replace(accepted=accepted))
        points: list[part_results.PartPoint] = [
            {"id": "C6", "good": not asked.stuck, "observed": "all", "expected": "all"}
        ]
        if record["salvage"]:
            points.append({"id": "C7", "good": True, "observed": "all", "expected": "all"})
        place = block(int(chosen.host.removeprefix("replica")) - 1)
        has = s[place + (APPLIED if asked.stuck else GOT)]
        if self.rules.beats:
            rows: Any = {**known.beats, chosen.host: self.rows(s, place, has)}
            known = beat_looks.watched(known._replace(beats=rows))
            record = certificate.renewed(record, known)
        target: part_results.PartResult = {
            "outcome": "done",
            "reason": "",
            "points": points,
            "timeline": [],
            "settings_row": self.settings_row(s, has),
        }
        done = failover_outcome.completed(record, {chosen.host: target}, accepted, RUN)
        said = verdict_of(done, every_case)
        return said._replace(since=since_of(s, known), by_beat=bool(done.get("proven_by_beat")))

    def judge_again(self, s: bytes, judged: readings.Judged, now: float) -> Verdict:
        """The same of a failover that was interrupted after its opening."""
        opened, known = judged.opened, judged.evidence
        if opened is None:
            raise ValueError("it was not opened")
        wrong = [
            *interrupted_failover.not_frozen(opened, known),
            *interrupted_failover.finish_problems(opened, known.members),
        ]
        if wrong:
            return refusal(("again",))
        kept = interrupted_failover.certificate_of(opened, "shop", "feed", now)
        place = block(int(opened.target.host.removeprefix("replica")) - 1)
        row = self.settings_row(s, s[place + GOT])
        target: part_results.PartResult = {
            "outcome": "done",
            "reason": "",
            "timeline": [],
            "settings_row": row,
        }
        done = failover_outcome.completed(kept, {opened.target.host: target}, [], RUN)
        return verdict_of(done, [])

    def begun(self, s: bytes, asked: Asked) -> int:
        """The number of the certificate that failover.yml leaves when it dies after its judgement;
        0 if it would have refused.
        """
        judged = readings.of_results(
            self.members(s, living=False),
            self.results(s, asked),
            self.looks[look_of(s, asked.controller)],
            None,
            self.settings[asked.salvage],
            seconds(s[NOW]) + LATENCY,
            self.fence(s),
        )
        known = judged.evidence
        decision = cases.decide(known, (), failover_outcome.not_frozen(known))
        every_case = decision.refused
        if not all(case.acceptable for case in every_case) or judged.opened or not decision.chosen:
            return 0
        accepted = [case.name for case in every_case]
        kept = certificate.record("shop", "feed", known, decision._replace(accepted=accepted))
        return self.number_of(dict(kept, outcome=journal.BEGUN))


def since_of(s: bytes, known: survivors.Evidence) -> int:
    """The beat from which on something is assumed not to have happened; -1 if it is no beat."""
    last = known.last
    if not last or "beat" not in last:
        return -1
    first = survivors.moment_of(last["at"])
    if last["calm_at"]:
        first = min(first, survivors.moment_of(last["calm_at"]))
    rows = [sign.beat["number"] for sign in beats.signs(known) if sign.at >= first]
    places = [number for number in range(MOST) if s[BEATS] & 1 << number]
    # Another server's has a number of its own.
    return places[min(rows) - 1] if min(rows) <= len(places) else -1


def refusal(reasons: tuple[str, ...]) -> Verdict:
    return Verdict("refused", -1, 0, 0, 0, (), reasons, False)


def verdict_of(kept: records.Certificate, every_case: list[Any]) -> Verdict:
    """A certificate without what the search does not ask."""
    window, until = kept["window"], kept.get("proven_until")
    wrong = sorted({words.split(",")[0] for words in kept["reasons"]})
    named = sorted({case.name.split(":")[0] for case in every_case} - {"alone", "interrupted"})
    return Verdict(
        kept["verdict"],
        int((kept["to"] or "").removeprefix("replica")) - 1,
        survivors.moment_of(window["from"]) if window else 0,
        survivors.moment_of(window["to"]) if window else 0,
        survivors.moment_of(until) if until else 0,
        tuple(kept.get("assumes") or ()),
        tuple(wrong + named),
        bool(kept["salvage"]),
    )
