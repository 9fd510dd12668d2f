# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's results as text: verdict, key figures, a sentence for each part, and summary.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check, explanation
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_shapes import Drill
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    FAILED,
    INFO,
    NOT_APPLICABLE,
    PASSED,
    SEVERITIES,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
    text_failover,
    text_switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import (
    NO_CHAPTER,
    Chapter,
    Tile,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import (
    Certificate,
    Files,
    Switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.writability import (
    BeatTime,
    Change,
    WritableRow,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    RejoinRecord,
)

# The parts of the procedure that checkpoints belong to.
GROUPS = (
    ("P0", "Replication runs"),
    ("P1", "A row arrives"),
    ("P2", "Before semi-sync"),
    ("P3", "Semi-sync on the source"),
    ("P4", "Semi-sync on the replicas"),
    ("P5", "Commits are acknowledged"),
    ("P6", "A replica stops: fallback"),
    ("P7", "The replica is back: recovery"),
    ("P8", "What it costs"),
    ("C", "Nothing that was confirmed is lost"),
    ("S", "The source's role moves"),
    ("R", "A former source comes back"),
)
# This part shows a benchmark; the others show semi-sync itself.
BENCHMARK_POINTS = ("P2.", "P8.")
OUTCOMES = {PASSED: "passed", FAILED: "failed", UNKNOWN: "unknown", NOT_APPLICABLE: "n/a"}
MOST_TILES = 4


class Section(TypedDict):
    """The checks of one part of the procedure."""

    id: str
    title: str
    rows: list[Check]


class Headline(TypedDict):
    """The verdict on a run: outcome is good, attention or bad."""

    outcome: str
    headline: str
    sentences: list[str]


class HeartbeatPart(TypedDict):
    """What is shown of the heartbeat.

    Attributes:
        times: who beat when, for the picture of all role changes.
        rows, sentences: what this run has kept of it.
    """

    times: list[BeatTime]
    rows: list[WritableRow]
    sentences: list[str]


class Overview(TypedDict):
    """Everything that the page and the summary show.

    Attributes:
        broken: names of files that cannot be read.
        checkpoints: all checks of the run, those of role changes too.
        wrong: those of them that failed or are unknown.
        changes: the cluster's role changes up to this run.
        who_wrote: when which host took writes.
    """

    cluster: str
    run: str
    made_at: str
    broken: list[str]
    checkpoints: list[Check]
    wrong: list[Check]
    sections: list[Section]
    findings: list[Finding] | None
    switchover: Switchover | None
    failover: Certificate | None
    rejoin: RejoinRecord | None
    changes: list[Change]
    who_wrote: list[WritableRow]
    heartbeat: HeartbeatPart
    drills: list[Drill]
    drill_words: list[str]
    chapter: Chapter
    verdict: Headline
    tiles: list[Tile]


def make_overview(
    files: Files,
    broken: list[str],
    cluster: str,
    run: str,
    made_at: str,
    chapter: Chapter = NO_CHAPTER,
) -> Overview:
    """Everything that the page and the summary show.

    Args:
        files: name -> value of a run's JSON files.
        broken: names of those that cannot be read.
        chapter: what the page shows besides.
    """
    rows = all_checks(files)
    overview: Overview = {
        "cluster": cluster,
        "run": run,
        "made_at": made_at,
        "broken": broken,
        "checkpoints": rows,
        "wrong": [row for row in rows if row["outcome"] in (FAILED, UNKNOWN)],
        "sections": sections(rows),
        "findings": files.get("findings.json"),
        "switchover": files.get("switchover.json"),
        "failover": files.get("certificate.json"),
        "rejoin": files.get("rejoin.json"),
        "changes": [],
        "who_wrote": [],
        "heartbeat": {"times": [], "rows": [], "sentences": []},
        "drills": (files.get("drill.json") or {}).get("drills") or [],
        "drill_words": [],
        "chapter": chapter,
        "verdict": {"outcome": "", "headline": "", "sentences": []},
        "tiles": [],
    }
    overview["drill_words"] = [drill_text(drill) for drill in overview["drills"]]
    return {**overview, "verdict": verdict(overview), "tiles": tiles(overview)}


def all_checks(files: Files) -> list[Check]:
    """The checkpoints of a run, and the checks of its role changes."""
    moved: Switchover | None = files.get("switchover.json")
    kept: Certificate | None = files.get("certificate.json")
    back: RejoinRecord | None = files.get("rejoin.json")
    return [
        *(files.get("checkpoints.json") or []),
        *(moved["points"] if moved else []),
        *([*kept["premises"], *kept.get("points", [])] if kept else []),
        *(back.get("points", []) if back else []),
    ]


def sections(rows: Sequence[Check]) -> list[Section]:
    """The checks by part of the procedure; those of no known part come last."""
    known = dict(GROUPS)
    parts: list[Section] = [
        {"id": part, "title": title, "rows": [row for row in rows if procedure_part(row) == part]}
        for part, title in GROUPS
    ]
    others = [row for row in rows if procedure_part(row) not in known]
    parts.append({"id": "", "title": "Others", "rows": others})
    return [section for section in parts if section["rows"]]


def procedure_part(row: Check) -> str:
    """The part that a check belongs to: P1 of P1.2, S of S3, C of C7."""
    return re.sub(r"^([CRS])\d+$", r"\1", row["id"].split(".")[0])


def with_outcome(rows: Sequence[Check] | Sequence[Drill], outcome: str) -> int:
    """How many of them have an outcome."""
    return [row["outcome"] for row in rows].count(outcome)


def with_severity(findings: Sequence[Finding], severity: str) -> int:
    return [entry["severity"] for entry in findings].count(severity)


def plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def verdict(overview: Overview) -> Headline:
    """The headline, which is about the worst result, and the sentences below it."""
    outcome, headline = worst(overview)
    return {"outcome": outcome, "headline": headline, "sentences": lead(overview)}


def worst(overview: Overview) -> tuple[str, str]:
    """(good, attention or bad, the headline): a role change that went wrong comes first."""
    change = change_headline(overview)
    if change and change[0] != "good":
        return change
    for trouble in troubles(overview):
        return trouble
    if change:
        return change
    if any(not row["id"].startswith(BENCHMARK_POINTS) for row in overview["checkpoints"]):
        return "good", "Semi-synchronous replication works"
    if overview["drills"]:
        return "good", "The cluster survives a replica's outage"
    return "good", overview["chapter"].headline


def change_headline(overview: Overview) -> tuple[str, str] | None:
    """The headline of the run's role change; None if there was none."""
    if overview["rejoin"]:
        return text_failover.rejoin_headline(overview["rejoin"])
    if overview["failover"]:
        return text_failover.headline(overview["failover"])
    return text_switchover.headline(overview["switchover"]) if overview["switchover"] else None


def troubles(overview: Overview) -> Iterator[tuple[str, str]]:
    """Headlines of all other problems, the worst first."""
    rows = overview["checkpoints"]
    checkpoints = plural(len(rows), "checkpoint")
    failed, unknown = with_outcome(rows, FAILED), with_outcome(rows, UNKNOWN)
    critical = with_severity(overview["findings"] or [], CRITICAL)
    if failed:
        yield "bad", f"{failed} of {checkpoints} failed"
    if with_outcome(overview["drills"], FAILED):
        yield "bad", "The drill of a replica's outage failed"
    if critical:
        yield "bad", f"{plural(critical, 'critical finding')} to fix"
    if unknown:
        yield "attention", f"{unknown} of {checkpoints} could not be seen"
    if overview["broken"]:
        yield "attention", f"{', '.join(overview['broken'])} of this run cannot be read"
    if overview["chapter"].attention:
        yield "attention", overview["chapter"].attention


def lead(overview: Overview) -> list[str]:
    """The sentences below the headline, one for each part there is."""
    sentences = [checks_text(overview["checkpoints"])]
    if overview["switchover"]:
        sentences.append(text_switchover.switchover_sentence(overview["switchover"]))
    if overview["failover"]:
        sentences += text_failover.failover_lines(overview["failover"])
    if overview["rejoin"]:
        sentences += text_failover.rejoin_lines(overview["rejoin"])
    sentences += overview["drill_words"]
    sentences += overview["chapter"].sentences
    if overview["findings"] is not None:
        sentences.append(findings_text(overview["findings"]))
    return [sentence for sentence in sentences if sentence]


def checks_text(rows: Sequence[Check]) -> str:
    """How many checks passed, and which did not; empty if there are none."""
    if not rows:
        return ""
    text = f"{with_outcome(rows, PASSED)} of {plural(len(rows), 'checkpoint')} passed"
    skipped = with_outcome(rows, NOT_APPLICABLE)
    text += f", {skipped} not applicable" if skipped else ""
    for outcome in (FAILED, UNKNOWN):
        listed = [f"{row['id']} on {row['host']}" for row in rows if row["outcome"] == outcome]
        text += f"; {outcome}: {', '.join(listed)}" if listed else ""
    return f"{text}."


def findings_text(findings: Sequence[Finding]) -> str:
    counted = [(with_severity(findings, severity), severity) for severity in SEVERITIES]
    listed = [f"{number} {severity}" for number, severity in counted if number]
    return f"Findings: {', '.join(listed)}." if listed else "No findings."


def drill_text(drill: Drill) -> str:
    """One drill as a sentence or two."""
    text = f"{drill['replica']} was stopped"
    unprotected = f"{plural(drill.get('unprotected') or 0, 'transaction')} without a second copy"
    if not drill.get("expected_fallback"):
        text += f" and no writer had to wait; {unprotected}"
    elif drill.get("blocked_ms") is not None:
        timeout = f"(timeout {duration(drill['timeout_ms'])})"
        waited = duration(drill["blocked_ms"])
        text += f": writers waited {waited} {timeout}, then continued; {unprotected}"
    recovery = drill.get("recovery_seconds")
    if recovery is not None:
        text += f". Protected again {duration(recovery * 1000.0)} after its start"
    if drill["outcome"] == FAILED:
        text = f"The drill failed: {drill.get('reason') or 'no reason was recorded'}. {text}"
    return f"{text}."


def tiles(overview: Overview) -> list[Tile]:
    """The key figures, at most MOST_TILES."""
    figures: list[Tile | None] = []
    if overview["checkpoints"]:
        figures.append(checks_tile(overview["checkpoints"]))
    if overview["switchover"]:
        figures.append(text_switchover.tile(overview["switchover"]))
    if overview["failover"]:
        figures.append(text_failover.tile(overview["failover"]))
    figures += [drill_tile(drill) for drill in overview["drills"][:1]]
    known = [figure for figure in figures if figure]
    known += overview["chapter"].tiles[: max(0, MOST_TILES - len(known))]
    if overview["findings"] is not None and len(known) < MOST_TILES:
        known.append(findings_tile(overview["findings"]))
    return known


def checks_tile(rows: Sequence[Check]) -> Tile:
    asked = len(rows) - with_outcome(rows, NOT_APPLICABLE)
    passed = with_outcome(rows, PASSED)
    applying = ", of those that apply" if asked < len(rows) else ""
    whole = "good" if passed == asked else "attention"
    return {
        "figure": f"{passed} of {asked}",
        "label": f"checkpoints passed{applying}",
        "outcome": "bad" if with_outcome(rows, FAILED) else whole,
    }


def drill_tile(drill: Drill) -> Tile | None:
    """How long writers waited, None if no fallback was expected or seen."""
    if not drill.get("expected_fallback") or drill.get("blocked_ms") is None:
        return None
    return {
        "figure": duration(drill["blocked_ms"]),
        "label": f"longest wait when {drill['replica']} stopped",
        "outcome": "good" if drill["outcome"] == PASSED else "bad",
    }


def findings_tile(findings: Sequence[Finding]) -> Tile:
    number = len(findings) - with_severity(findings, INFO)
    return {
        "figure": str(number),
        "label": "critical findings or warnings",
        "outcome": "attention" if number else "good",
    }


def moment(text: str) -> str:
    """A moment such as 2026-11-21T14:30:00Z, or a run's name, in a readable form."""
    match = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d):?(\d\d)", str(text))
    if not match:
        return str(text)
    day, hour, minute = match.groups()
    return f"{day} {hour}:{minute} UTC"


def one_line(text: object) -> str:
    """A text that is safe in Markdown: no line breaks, no markup, no table columns."""
    line = re.sub(r"\s+", " ", str(text)).strip()
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", line)


def markdown(overview: Overview) -> str:
    """summary.md."""
    lines = [
        f"# {one_line(overview['verdict']['headline'])}",
        "",
        f"Cluster {one_line(overview['cluster'])}, {moment(overview['run'])}.",
        "",
    ]
    lines += [f"- {one_line(sentence)}" for sentence in overview["verdict"]["sentences"]]
    lines += [f"- {one_line(name)} cannot be read." for name in overview["broken"]]
    lines += [
        finding_line(entry) for entry in overview["findings"] or [] if entry["severity"] != INFO
    ]
    if overview["checkpoints"]:
        lines += ["", "## Checkpoints", "", "| point | host | outcome | what | observed |"]
        lines += ["|---|---|---|---|---|", *map(check_line, overview["checkpoints"])]
    if overview["who_wrote"]:
        lines += ["", "## Which server took writes when", "", "| from | to | |", "|---|---|---|"]
        lines += [
            f"| {line['from']} | {line['to']} | {one_line(line['words'])} |"
            for line in overview["who_wrote"]
        ]
    if overview["heartbeat"]["sentences"]:
        lines += ["", "## Heartbeat", ""]
        lines += [f"- {one_line(sentence)}" for sentence in overview["heartbeat"]["sentences"]]
    for heading, sentences in overview["chapter"].summary():
        lines += ["", f"## {one_line(heading)}", ""]
        lines += [f"- {one_line(sentence)}" for sentence in sentences]
    return "\n".join(lines) + "\n"


def finding_line(entry: Finding) -> str:
    """A finding in summary.md."""
    severity, host = one_line(entry["severity"]), one_line(entry["host"])
    title, evidence = one_line(entry.get("title", "")), one_line(entry.get("evidence", ""))
    return f"- {severity} on {host}: {title} ({evidence})"


def check_line(row: Check) -> str:
    """A check in summary.md."""
    seen = explanation(row)
    if row["outcome"] == FAILED:
        seen = f"{seen} (expected: {row['expected']}) {row['reason']}"
    outcome = OUTCOMES.get(row["outcome"], row["outcome"])
    columns = (row["id"], row["host"], outcome, row["title"], seen)
    return f"| {' | '.join(one_line(text) for text in columns)} |"
