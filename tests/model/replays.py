# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shortest histories that a mistaken judge gets wrong, as steps for real hosts: replays.json.
README.md tells its form.
"""

from __future__ import annotations

from typing import Any

from model import stories
from model.mutants import MUTANTS, mistaken
from model.results import Asked, host
from model.search import Lie, Search
from model.state import SHORT

EACH, MOST = 10, 1500
# Of one mistake there are no more than these.
ALIKE = 2
STEPS = {
    "minute": "wait",
    "kill": "kill_source",
    "stop": "stop_source",
    "stopped": "source_ends",
    "shut_and_kill": "shutdown_and_kill_source",
    "power": "power_source",
    "start": "start_source",
    "hand_off": "set:enabled=0",
    "hand_on": "set:enabled=1",
    "look": "look:a",
    "look_b": "look:b",
    "power_replica": "power",
}


def steps_of(search: Search, lie: Lie) -> list[str]:
    """A history as steps."""
    steps = ["look:a"] if search.rules.looked else []
    timeout = search.rules.timeout
    off = "short", "long"
    pending = ""
    for event, number in search.history(lie.moment):
        if event in ("hand_timeout", "ours_timeout"):
            timeout ^= 1
            by = "set" if event.startswith("hand") else "site"
            pending = f"{by}:timeout={off[timeout]}"
            if by == "set":
                steps.append(pending)
        elif event == "ours_goes_on":
            steps.append(pending)
        else:
            name = STEPS.get(event, event)
            steps.append(f"{name}:{host(number)}" if number >= 0 else name)
    return [*steps, "failover"]


def failover_of(asked: Asked) -> dict[str, Any]:
    return {
        "controller": "ab"[asked.controller],
        "source_host": "gone" if asked.gone else "answers",
        "salvage": asked.salvage,
        "error_log": "readable" if asked.log else "not readable",
    }


def lies_of(search: Search) -> list[tuple[str, str, Lie]]:
    """(mistake, its words, the lie) of the first histories that each mistake gets wrong."""
    found = []
    for mutant in MUTANTS:
        if any(module.__name__.endswith(".history") for module, *_rest in mutant.patches):
            continue
        left = ALIKE
        with mistaken(mutant):
            for known, risky in search.risks(MOST):
                asked = known.asked
                if asked.late >= 0 or asked.stuck or asked.salvage:
                    continue
                verdict = search.adapter.judge(known.moment, asked)
                for s in risky:
                    kind = search.lie(s, asked, verdict)
                    if kind and not search.lie(s, asked, known.verdict):
                        lost = search.lost(s, asked, verdict)
                        found.append(
                            (mutant.name, mutant.words, Lie(kind, s, asked, verdict, lost))
                        )
                        left -= 1
                        break
                if not left:
                    break
    return found


def replays_of(search: Search) -> list[dict[str, Any]]:
    """All of one world."""
    rules = search.rules
    made = []
    for name, words, lie in lies_of(search):
        right = search.adapter.judge(lie.moment, lie.asked)
        made.append(
            {
                "server": rules.engine,
                "replicas": rules.replicas,
                "settings": {
                    "timeout": "short" if rules.timeout == SHORT else "long",
                    "wait_for_replica_count": rules.acks,
                    "wait_no_replica": bool(rules.wnr),
                    "relay_log_recovery": rules.recovery,
                    "sync_relay_log": 1 if rules.sync_relay_log else 10000,
                },
                "steps": steps_of(search, lie),
                "failover": failover_of(lie.asked),
                "lost": [number + 1 for number, _at in lie.lost],
                "mistake": f"{name}: {words}",
                "mistaken_verdict": lie.verdict.words,
                "verdict": right.words,
                "reasons": list(right.reasons),
                "assumes": list(right.assumes),
                "story": stories.story(search, lie),
            }
        )
    return made


def shortest(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The shortest of one engine, each mistake before a second of the same."""
    made = sorted(made, key=lambda one: (len(one["steps"]), one["mistake"]))
    chosen: list[dict[str, Any]] = []
    for turn in range(EACH):
        for one in made:
            known = [other["steps"] for other in chosen]
            same = sum(other["mistake"] == one["mistake"] for other in chosen)
            if same == turn and one["steps"] not in known and len(chosen) < EACH:
                chosen.append(one)
    return [dict(one, name=f"{one['server']}-{number + 1:02}") for number, one in enumerate(chosen)]
