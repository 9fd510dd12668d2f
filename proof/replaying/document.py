"""What became of each history: whether the certificate told the truth, kept and as a table."""

from __future__ import annotations

import datetime
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from model.kinds import PATTERNS
from model.state import KILLQ, ORDERLY, RESET, STRANGER
from proving.evidence import PATH
from proving.verdicts import lies, outside
from replaying.steps import Player
from support.live_hosts import PROJECT

Record = dict[str, Any]
RECORDS = PROJECT / "docs" / "evidence" / "judge-replays.json"
DOCUMENT = RECORDS.with_suffix(".md")
MARK, END = "<!-- replays -->\n", "<!-- /replays -->\n"
REFUSED = "did not take over"
DONE = "done"
# The longest reason that is kept.
LONGEST = 300
# The steps by which a history does what a certificate may assume away: bits of model/kinds.py.
ASSUMED_AWAY = {
    "stop_source": ORDERLY,
    "shutdown_and_kill_source": ORDERLY,
    "reset_slave": RESET,
    "edit_inventory": STRANGER,
    "kill_query": KILLQ,
}
NAMED = {
    ORDERLY: "a clean shutdown",
    RESET: "a RESET by hand",
    STRANGER: "an acknowledgement of another replica",
    KILLQ: "a KILL of a commit that waited",
}


def broken(steps: list[str], assumes: list[str]) -> list[str]:
    """What a certificate assumes away and a history did after its last look: a verdict answers only
    for the rest.
    """
    names = [step.partition(":")[0] for step in steps]
    looks = [place for place, name in enumerate(names) if name == "look"]
    bits = {ASSUMED_AWAY.get(name, 0) for name in names[max(looks, default=0) :]} - {0}
    said = "\n".join(assumes)
    return [NAMED[bit] for bit in sorted(bits) if PATTERNS[bit].search(said)]


def record_of(player: Player, certificate: dict[str, Any] | None, there: set[int]) -> Record:
    """What a certificate says against what clients were told.

    Args:
        certificate: certificate.json of the last failover.yml; None if it left none.
        there: the rows that the new source has.
    """
    kept = certificate or {
        "verdict": "",
        "outcome": "none",
        "window": None,
        "reasons": [],
        "to": None,
    }
    took = kept["outcome"] == DONE
    told = {row.number: row.told for row in player.rows if row.told}
    lost = sorted(set(told) - there) if took else []
    known = {"confirmed": [list(told)], "moments": [list(told.values())]}
    made: Record = {
        "name": player.story["name"],
        "server": player.story["server"],
        "told": sorted(told),
        "never": [row.number for row in player.rows if not row.told],
        "verdict": kept["verdict"] if took else REFUSED,
        "certificate": kept["verdict"],
        "to": (kept["to"] or "").rpartition("-")[2],
        "window": kept["window"],
        "reasons": [PATH.sub("PATH", words)[:LONGEST] for words in kept["reasons"]],
        "cases": [case["name"] for case in kept.get("cases", [])],
        "assumes": kept.get("assumes", []),
        "lost": lost,
        "outside": outside([(0, number) for number in lost], known, kept["window"]),
        "wrong": player.wrong,
    }
    made["lies"] = lies(made) and not broken(player.story["steps"], made["assumes"])
    return made


def read(path: pathlib.Path = RECORDS) -> list[Record]:
    if not path.exists():
        return []
    records: list[Record] = json.loads(path.read_text(encoding="utf-8"))
    for one in records:
        # Judged by today's rule, whenever it was replayed.
        one["lies"] = lies(one) and not broken(one["steps"], one["assumes"])
    return records


def add(record: Record, path: pathlib.Path = RECORDS) -> list[Record]:
    """A history's newest replay, in the place of the one before."""
    every = [one for one in read(path) if one["name"] != record["name"]]
    every = sorted([*every, record], key=lambda one: (one["server"], one["name"]))
    keep(every, path)
    return every


def keep(records: list[Record], path: pathlib.Path = RECORDS) -> None:
    """Write the records, one a line."""
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in records)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def renumbered(records: list[Record], histories: list[dict[str, Any]]) -> list[Record]:
    """The records of histories that are still wanted, under today's names: a search that knows more
    numbers them anew.
    """

    def key(one: Mapping[str, Any]) -> tuple[str, tuple[str, ...], str]:
        return one["server"], tuple(one["steps"]), one["mistake"]

    names = {key(one): one["name"] for one in histories}
    kept = [{**one, "name": names[key(one)]} for one in records if key(one) in names]
    return sorted(kept, key=lambda one: (one["server"], one["name"]))


def stamp() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def numbers(rows: list[int]) -> str:
    return ", ".join(map(str, rows)) or "none"


def of(record: Record) -> str:
    """A line of the table."""
    reasons = "; ".join(one.partition(":")[0] for one in record["reasons"])
    verdict = record["verdict"]
    if verdict == REFUSED:
        verdict += f" ({', '.join(record['cases'])})"
    elif reasons:
        verdict += f" ({reasons})"
    return row(
        record["name"],
        " · ".join(f"`{step}`" for step in record["steps"]),
        record["mistake"].partition(":")[0],
        record["mistaken_verdict"],
        record["model"],
        verdict,
        numbers(record["told"]),
        numbers(record["lost"]),
        told_truth(record),
    )


def told_truth(record: Record) -> str:
    """The last cell of a line: whether the certificate lies."""
    if not lies(record):
        return "no"
    gone = broken(record["steps"], record["assumes"])
    return f"no: it assumes away {gone[0]}, which there was" if gone else "**yes**"


def table(records: list[Record]) -> str:
    """Everything between the marks."""
    judged = [one for one in records if not one["why"]]
    lines = []
    for server, title in (("mysql", "MySQL"), ("mariadb", "MariaDB")):
        its = [one for one in judged if one["server"] == server]
        if not its:
            continue
        liars = [one["name"] for one in its if one["lies"]]
        lost = sum(bool(one["lost"]) for one in its)
        lines += [
            f"## {title} {its[0]['version'].partition('-')[0]}",
            "",
            f"{len(its)} histories replayed; certificates that lie: {len(liars)}"
            f"{' (' + ', '.join(liars) + ')' if liars else ''}; histories in which a row that a"
            f" client was told of is lost: {lost}.",
            "",
            row("history", "steps", "the judge's mistake", "that one says", "the model says",
                "the certificate says", "rows told OK", "of them lost", "lies"),
            "|---" * 9 + "|",
            *map(of, its),
            "",
        ]  # fmt: skip
    failed = [f"- {one['name']}: {one['why']}" for one in records if one["why"]]
    amiss = [
        f"- {one['name']}: {' '.join(words.split())}" for one in judged for words in one["wrong"]
    ]
    lines += ["Not as the history has it:", "", *amiss, ""] if amiss else []
    lines += ["Could not be replayed, and count as none:", "", *failed, ""] if failed else []
    commits = sorted({one["commit"] for one in records})
    lines += [f"Judged by the commit: {', '.join(commits) or 'none'}.", ""]
    return "\n".join(lines)


def write(records: list[Record], path: pathlib.Path = DOCUMENT) -> None:
    """Put it between the marks of the page."""
    before, _mark, rest = path.read_text(encoding="utf-8").partition(MARK)
    _old, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{path.name} lacks {MARK.strip()} and {END.strip()}")
    path.write_text(f"{before}{MARK}\n{table(records)}\n{END}{after}", encoding="utf-8")
