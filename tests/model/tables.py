# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/evidence/judge.md, written from what a run found."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

from model.kinds import KINDS, OUTSIDE
from model.mutants import MUTANTS

HEAD = """# What the judge of a failover says in a small world

Written by `make judge`; not by hand. The world is in `tests/model/`: a source, its replicas and
what can happen to them, with who was told OK, and when. The judge is the collection's own, given
what the modules would return. A moment is distinct from all others of its world; one that is
reached by several histories counts once.
"""
FALSE = {
    "proven": "proven",
    "window": "outside the window",
    "until": 'before "proven until"',
    "clean": "clean",
}


def write(path: pathlib.Path, found: list[dict[str, Any]], seconds: float) -> None:
    path.write_text("\n".join(lines(found, seconds)) + "\n")


def lines(found: list[dict[str, Any]], seconds: float) -> Iterator[str]:
    yield HEAD
    every = [one for engine in found for one in engine["worlds"].values()]
    lies = sum(lie["count"] for one in every for lie in one["lies"].values())
    yield (
        f"{total(every, 'moments')} distinct moments, {total(every, 'asked')} verdicts of which"
        f" {total(every, 'classes')} rest on different evidence, {round(seconds)} seconds;"
        f" false: {lies}.\n"
    )
    for engine in found:
        yield from of_worlds(engine)
    yield from of_kinds()
    yield from of_mutants(found)
    yield from of_completeness(found)


def total(every: list[dict[str, Any]], name: str) -> str:
    return f"{sum(one[name] for one in every):,}"


def of_worlds(engine: dict[str, Any]) -> Iterator[str]:
    yield f"## {'MySQL' if engine['engine'] == 'mysql' else 'MariaDB'}\n"
    columns = "moments | events | judged | proven | window | not proven | refused | false"
    yield f"| world | begins as | {columns} |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, one in engine["worlds"].items():
        said = one["verdicts"]
        false = (
            "; ".join(f"{lie['count']} {FALSE[kind]}" for kind, lie in one["lies"].items()) or "0"
        )
        counts = [
            said.get(words, 0)
            for words in ("proven", "proven but for the degraded window", "not proven", "refused")
        ]
        yield (
            f"| {name} | {one['setting'].partition(', ')[2]} | {one['moments']} | {one['depth']} |"
            f" {one['classes']} | {' | '.join(map(str, counts))} | {false} |"
        )
    yield ""


def of_kinds() -> Iterator[str]:
    yield "## What can happen, and what may be assumed\n"
    yield "| what | in the world as | a certificate may assume that it did not, in words like |"
    yield "|---|---|---|"
    for one in KINDS:
        names = ", ".join(f"`{name}`" for name in one.events)
        assumed = one.assumed.replace("|", "`, `").replace("\\S+", "HOST").replace(" \\d", "")
        yield f"| {one.words} | {names} | {f'`{assumed}`' if assumed else 'no'} |"
    yield "\nNot in it:\n"
    yield "\n".join(f"- {words}" for words in OUTSIDE) + "\n"


def of_mutants(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Mistakes put into the judge\n"
    yield "Each is shown by a history in which it lies; its steps include the failover.\n"
    yield "| mistake | what is wrong | steps, MySQL | steps, MariaDB |"
    yield "|---|---|---|---|"
    by_engine = {engine["engine"]: engine["mutants"] for engine in found}
    for mutant in MUTANTS:
        cells = [
            str(by_engine.get(engine, {}).get(mutant.name, {}).get("steps", "none"))
            for engine in ("mysql", "mariadb")
        ]
        words = (
            f"{mutant.words}{f' (this world is too poor: {mutant.poor})' if mutant.poor else ''}"
        )
        yield f"| {mutant.name} | {words} | {' | '.join(cells)} |"
    yield ""
    for mutant in MUTANTS:
        known = [
            by_engine[engine][mutant.name]
            for engine in by_engine
            if mutant.name in by_engine[engine]
        ]
        if known:
            shortest = min(known, key=lambda one: one["steps"])
            yield f"### {mutant.name}: {mutant.words}\n"
            yield from numbered(shortest["story"])


def numbered(story: list[str]) -> Iterator[str]:
    yield "```text"
    yield from story
    yield "```\n"


def of_completeness(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "## What is not proven although nothing is missing\n"
    yield (
        "A theorem: another history that looks the same to the failover, and in which nothing"
        " happened that a certificate assumes away, loses a row; no judge can say more. Caution:"
        " none of those that were met does.\n"
    )
    for engine in found:
        merged: dict[str, dict[str, Any]] = {}
        for one in engine["worlds"].values():
            for reason, row in one["incomplete"].items():
                known = merged.setdefault(
                    reason, {"theorem": 0, "caution": 0, "loses": [], "alike": []}
                )
                for name in known:
                    known[name] = (
                        (known[name] or row[name])
                        if name in ("loses", "alike")
                        else known[name] + row[name]
                    )
        yield f"### {'MySQL' if engine['engine'] == 'mysql' else 'MariaDB'}\n"
        yield "| reason | theorem | caution |"
        yield "|---|---|---|"
        rows = sorted(merged.items(), key=lambda pair: -pair[1]["theorem"] - pair[1]["caution"])
        for reason, row in rows:
            yield f"| {reason} | {row['theorem']} | {row['caution']} |"
        yield ""
        for reason, row in rows[:12]:
            if row["loses"]:
                yield f"A history that looks the same and loses a row ({reason}):\n"
                yield from numbered(row["loses"])
        for reason, row in rows[:12]:
            if row["caution"] and row["alike"]:
                yield f"A history without a loss, and none like it has one ({reason}):\n"
                yield from numbered(row["alike"])
