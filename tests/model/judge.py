# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a certificate can lie: every history of a small world, judged by the real code.

judge.py [--moments N] [--minutes M] [--engine mysql|mariadb …] [--world NAME …]
    [--document PATH] [--replays PATH] [--no-mutants] [--short]

Exits with 1 if a verdict was false, if a mistake in the judge was not shown by any history, or if
something can happen that is neither in the world nor assumed. --document writes the tables; --short
is for `make test`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pathlib
import sys
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / ".config/collections")]

from model import completeness, speed, stories, tables, worlds  # noqa: E402
from model.kinds import PATTERNS, problems  # noqa: E402
from model.mutants import MUTANTS, Mutant, mistaken, of_world  # noqa: E402
from model.replays import replays_of, shortest  # noqa: E402
from model.search import Class, Lie, Search  # noqa: E402
from model.state import Rules  # noqa: E402

# So many classes of moments are judged with each mistake, in each world.
MUTATED = 4000
LONGEST = 12
SHORT = 70_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=1_040_000, help="of both engines together")
    parser.add_argument("--minutes", type=float, default=30, help="stop after so many")
    parser.add_argument("--engine", action="append", choices=("mysql", "mariadb"))
    parser.add_argument("--world", action="append")
    parser.add_argument("--document", type=pathlib.Path)
    parser.add_argument("--replays", type=pathlib.Path)
    parser.add_argument("--no-mutants", action="store_true")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if options.short:
        options.moments, options.minutes, options.no_mutants = SHORT, 2, True
    return options


def counterexample(search: Search, mutant: Mutant, most: int) -> tuple[Search, Lie] | None:
    """The first moment in which the judge lies with a mistake, and the search that met it."""
    if any(module.__name__.endswith(".history") for module, *_rest in mutant.patches):
        with mistaken(mutant):
            anew = Search(search.rules).run(mutant.moments)
        return (anew, anew.lies[0]) if anew.lies else None
    with mistaken(mutant):
        for known, risky in search.risks(MUTATED):
            if known.depth >= most:
                return None
            found = lie_of(search, known, risky)
            if found:
                return search, found
    return None


def lie_of(search: Search, known: Class, moments: list[bytes]) -> Lie | None:
    verdict = search.adapter.judge(known.moment, known.asked)
    for s in moments:
        kind = search.lie(s, known.asked, verdict)
        # What the judge says wrongly without a mistake shows none.
        if kind and not search.lie(s, known.asked, known.verdict):
            return Lie(kind, s, known.asked, verdict, search.lost(s, known.asked, verdict))
    return None


def search_world(
    name: str,
    rules: Rules,
    moments: int,
    until: float,
    best: dict[str, Any],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """One world; what is to be known of it as plain data."""
    begun = time.process_time()
    search = Search(rules).run(moments, until=until)
    spent = time.process_time() - begun
    lies: dict[str, dict[str, Any]] = {}
    for lie in search.lies:
        one = lies.setdefault(lie.kind, {"count": 0, "story": stories.story(search, lie)})
        one["count"] += 1
    verdicts: dict[str, int] = {}
    for known in search.classes.values():
        words = known.verdict.words
        verdicts[words] = verdicts.get(words, 0) + known.times
    matched = {
        bit
        for known in search.classes.values()
        for words in known.verdict.assumes
        for bit, pattern in PATTERNS.items()
        if pattern.search(words)
    }
    if not options.no_mutants:
        for mutant in of_world(name):
            before = best.get(mutant.name)
            found = counterexample(search, mutant, before["steps"] - 1 if before else LONGEST)
            if found is None:
                continue
            steps = len(found[0].history(found[1].moment)) + 1
            if before is None or steps < before["steps"]:
                best[mutant.name] = {"steps": steps, "story": stories.story(*found)}
    return {
        "rules": rules._asdict(),
        "setting": stories.setting(rules),
        "moments": len(search.seen),
        "depth": search.depth,
        "asked": search.asked,
        "classes": len(search.classes),
        "seconds": round(spent, 1),
        "lies": lies,
        "verdicts": verdicts,
        "matched": sorted(matched),
        "incomplete": completeness.table(search),
        "replays": replays_of(search, of_world(name))
        if options.replays and rules.prompt and not rules.beats
        else [],
    }


def search_engine(engine: str, options: argparse.Namespace) -> dict[str, Any]:
    """All worlds of one engine."""
    speed.remember()
    chosen = {
        name: one
        for name, one in worlds.worlds(engine).items()
        if not options.world or name.startswith(tuple(options.world))
    }
    shares = sum(share for _rules, share in chosen.values())
    left = options.moments / options.engines
    until = time.monotonic() + 60 * options.minutes
    best: dict[str, Any] = {}
    found = {}
    for name, (rules, share) in chosen.items():
        # What a small world has not needed is the others'.
        found[name] = search_world(
            name, rules, int(left * share / shares) + 1, until, best, options
        )
        one = found[name]
        left, shares = left - one["moments"], shares - share
        print(
            f"{engine}, {name}: {one['moments']} moments, {one['depth']} events,"
            f" {one['classes']} judged, {one['seconds']} s,"
            f" {sum(lie['count'] for lie in one['lies'].values())} lies",
            flush=True,
        )
    made = [replay for one in found.values() for replay in one.pop("replays")]
    return {
        "cpu": round(time.process_time()),
        "engine": engine,
        "worlds": found,
        "mutants": best,
        "replays": shortest(made),
    }


def main() -> int:
    options = arguments()
    engines = options.engine or ["mysql", "mariadb"]
    options.engines = len(engines)
    begun = time.monotonic()
    with multiprocessing.Pool(len(engines)) as pool:
        jobs = [pool.apply_async(search_engine, (engine, options)) for engine in engines]
        found = [job.get() for job in jobs]
    seconds = time.monotonic() - begun
    if options.replays:
        every = [one for engine in found for one in engine["replays"]]
        options.replays.write_text(json.dumps(every, indent=1) + "\n")
    if options.document:
        tables.write(options.document, found, seconds)
    return said(found, seconds, options)


def said(found: list[dict[str, Any]], seconds: float, options: argparse.Namespace) -> int:
    """Say what was found; the exit status."""
    wrong = 0
    for engine in found:
        for name, world in engine["worlds"].items():
            for kind, lie in world["lies"].items():
                wrong += 1
                print(f"\nFALSE ({kind}, {lie['count']} moments) in {engine['engine']}, {name}:")
                print("\n".join(f"  {line}" for line in lie["story"]))
    if not options.no_mutants and not options.world:
        for mutant in MUTANTS:
            steps = [
                engine["mutants"][mutant.name]["steps"]
                for engine in found
                if mutant.name in engine["mutants"]
            ]
            if not steps and not mutant.poor:
                wrong += 1
                print(f"\nNo history shows the mistake {mutant.name}: {mutant.words}")
            elif steps and min(steps) > LONGEST:
                wrong += 1
                print(f"\nThe mistake {mutant.name} is shown by {min(steps)} steps at least")
    if not options.world:
        worlds_of = [one for engine in found for one in engine["worlds"].values()]
        for words in problems({bit for one in worlds_of for bit in one["matched"]}):
            wrong += 1
            print(f"\n{words}")
    moments = sum(one["moments"] for engine in found for one in engine["worlds"].values())
    if moments < options.moments * 0.9 and not (options.short or options.world):
        wrong += 1
        print(f"\nThe time was over after {moments} of {options.moments} moments")
    asked = sum(one["asked"] for engine in found for one in engine["worlds"].values())
    print(
        f"\n{moments} distinct moments, {asked} verdicts, {round(seconds)} s"
        f" ({', '.join(str(engine['cpu']) for engine in found)} s of processors):"
        f" {'no verdict was false' if not wrong else f'{wrong} things are wrong'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
