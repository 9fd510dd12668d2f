# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run's files say, in words: the verdict, the key figures, a sentence for each part, and
summary.md.
"""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils.report import (
    text_failover,
    text_rejoin,
    text_switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.report.chapter import (
    NO_CHAPTER,
    Chapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import (
    CRITICAL,
    FAILED,
    NOT_APPLICABLE,
    PASSED,
    SEVERITIES,
    UNKNOWN,
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
# What a benchmark shows; semi-sync itself is shown by the others.
BENCHMARK_POINTS = ("P2.", "P8.")
OUTCOMES = {PASSED: "passed", FAILED: "failed", UNKNOWN: "unknown", NOT_APPLICABLE: "n/a"}


def make_overview(
    files: dict[str, Any],
    broken: list[str],
    cluster: str,
    run: str,
    made_at: str,
    chapter: Chapter = NO_CHAPTER,
) -> dict[str, Any]:
    """Everything that the page and the summary show.

    Args:
        files: name -> value of a run's JSON files.
        broken: names of those that cannot be read.
        cluster, run, made_at: texts.
        chapter: what the page shows besides.
    """
    moved, kept = files.get("switchover.json"), files.get("certificate.json")
    rows = [
        *(files.get("checkpoints.json") or []),
        *(moved["points"] if moved else []),
        *([*kept["premises"], *kept.get("points", [])] if kept else []),
        *(files.get("rejoin.json") or {}).get("points", []),
    ]
    overview: dict[str, Any] = {
        "cluster": cluster,
        "run": run,
        "made_at": made_at,
        "broken": broken,
        "checkpoints": rows,
        "wrong": [row for row in rows if row["outcome"] in (FAILED, UNKNOWN)],
        "findings": files.get("findings.json"),
        "switchover": moved,
        "failover": kept,
        "changes": [],
        "who_wrote": [],
        "rejoin": files.get("rejoin.json"),
        "drills": (files.get("drill.json") or {}).get("drills") or [],
        "chapter": chapter,
    }
    overview["sections"] = sections(overview["checkpoints"])
    overview["drill_words"] = [drill_in_words(drill) for drill in overview["drills"]]
    overview["verdict"] = verdict(overview)
    overview["tiles"] = tiles(overview)
    return overview


def sections(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Checkpoints by part of the procedure: [{"id", "title", "rows"}]; a point of no known part
    comes last.
    """
    known = dict(GROUPS)
    parts = [
        {
            "id": part,
            "title": title,
            "rows": [row for row in rows if part_of(row) == part],
        }
        for part, title in GROUPS
    ]
    parts.append(
        {
            "id": "",
            "title": "Others",
            "rows": [row for row in rows if part_of(row) not in known],
        }
    )
    return [section for section in parts if section["rows"]]


def part_of(row: dict[str, Any]) -> str:
    """The part that a checkpoint belongs to: P1 of P1.2, S of S3, C of C7."""
    return re.sub(r"^([CRS])\d+$", r"\1", row["id"].split(".")[0])


def count(rows: list[dict[str, Any]], key: str, value: str) -> int:
    return len([row for row in rows if row.get(key) == value])


def plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def verdict(overview: dict[str, Any]) -> dict[str, Any]:
    """{"outcome": good, attention or bad, "headline", "sentences"}: the worst of what is there
    decides.
    """
    rows, drills = overview["checkpoints"], overview["drills"]
    moved, kept, back = (overview[name] for name in ("switchover", "failover", "rejoin"))
    wrong, lost = count(rows, "outcome", FAILED), count(drills, "outcome", FAILED)
    critical = count(overview["findings"] or [], "severity", CRITICAL)
    unseen = count(rows, "outcome", UNKNOWN)
    chapter: Chapter = overview["chapter"]
    became, words = text_switchover.headline(moved) if moved else ("good", "")
    if kept:
        became, words = text_failover.headline(kept)
    if back:
        became, words = text_rejoin.headline(back)
    if became != "good":
        outcome, headline = became, words
    elif wrong:
        outcome, headline = "bad", f"{wrong} of {plural(len(rows), 'checkpoint')} failed"
    elif lost:
        outcome, headline = "bad", "The drill of a replica's outage failed"
    elif critical:
        outcome, headline = "bad", f"{plural(critical, 'critical finding')} to mend"
    elif unseen:
        outcome, headline = (
            "attention",
            f"{unseen} of {plural(len(rows), 'checkpoint')} could not be seen",
        )
    elif overview["broken"]:
        outcome, headline = (
            "attention",
            f"{', '.join(overview['broken'])} of this run cannot be read",
        )
    elif chapter.attention:
        outcome, headline = "attention", chapter.attention
    elif moved or kept or back:
        outcome, headline = became, words
    elif any(not row["id"].startswith(BENCHMARK_POINTS) for row in rows):
        outcome, headline = "good", "Semi-synchronous replication works"
    elif drills:
        outcome, headline = "good", "The cluster survives a replica's outage"
    else:
        outcome, headline = "good", chapter.headline
    return {"outcome": outcome, "headline": headline, "sentences": lead(overview)}


def lead(overview: dict[str, Any]) -> list[str]:
    """The sentences below the headline, one for each part there is."""
    rows, sentences = overview["checkpoints"], []
    if rows:
        skipped = count(rows, "outcome", NOT_APPLICABLE)
        good = count(rows, "outcome", PASSED)
        words = f"{good} of {plural(len(rows), 'checkpoint')} passed"
        words += f", {skipped} not applicable" if skipped else ""
        for outcome in (FAILED, UNKNOWN):
            listed = [f"{row['id']} on {row['host']}" for row in rows if row["outcome"] == outcome]
            words += f"; {outcome}: {', '.join(listed)}" if listed else ""
        sentences.append(words + ".")
    sentences += (
        [text_switchover.in_words(overview["switchover"])] if overview["switchover"] else []
    )
    sentences += text_failover.in_words(overview["failover"]) if overview["failover"] else []
    sentences += text_rejoin.in_words(overview["rejoin"]) if overview["rejoin"] else []
    sentences += overview["drill_words"]
    sentences += overview["chapter"].sentences
    if overview["findings"] is not None:
        number = {
            severity: count(overview["findings"], "severity", severity) for severity in SEVERITIES
        }
        listed = [f"{number[severity]} {severity}" for severity in SEVERITIES if number[severity]]
        sentences.append(f"Findings: {', '.join(listed)}." if listed else "No findings.")
    return [sentence for sentence in sentences if sentence]


def seconds(milliseconds: float) -> str:
    return (
        f"{short(milliseconds)} ms" if milliseconds < 1000 else f"{short(milliseconds / 1000.0)} s"
    )


def drill_in_words(drill: dict[str, Any]) -> str:
    """One drill as a sentence or two."""
    words = f"{drill['replica']} was stopped"
    if drill.get("expected_fallback") and drill.get("blocked_ms") is not None:
        words += (
            f": writers waited {seconds(drill['blocked_ms'])} (timeout"
            f" {seconds(drill['timeout_ms'])}), then went on;"
            f" {plural(drill.get('unprotected') or 0, 'transaction')} without a second copy"
        )
    elif not drill.get("expected_fallback"):
        words += (
            f" and nobody had to wait; {plural(drill.get('unprotected') or 0, 'transaction')}"
            " without a second copy"
        )
    if drill.get("recovery_seconds") is not None:
        words += f". Protected again {seconds(drill['recovery_seconds'] * 1000.0)} after its start"
    if drill["outcome"] == "failed":
        words = f"The drill failed: {drill.get('reason') or 'no reason was recorded'}. {words}"
    return words + "."


def tiles(overview: dict[str, Any]) -> list[dict[str, Any]]:
    """At most four key figures: {"figure", "label", "outcome"}."""
    figures, rows = [], overview["checkpoints"]
    if rows:
        asked = [row for row in rows if row["outcome"] != NOT_APPLICABLE]
        good = count(rows, "outcome", PASSED)
        whole = "good" if good == len(asked) else "attention"
        figures.append(
            {
                "figure": f"{good} of {len(asked)}",
                "label": "checkpoints passed"
                + (", of those that apply" if len(asked) < len(rows) else ""),
                "outcome": "bad" if count(rows, "outcome", FAILED) else whole,
            }
        )
    moved = overview["switchover"] and text_switchover.tile(overview["switchover"])
    took = overview["failover"] and text_failover.tile(overview["failover"])
    figures += [figure for figure in (moved, took) if figure]
    for drill in overview["drills"][:1]:
        if drill.get("expected_fallback") and drill.get("blocked_ms") is not None:
            figures.append(
                {
                    "figure": seconds(drill["blocked_ms"]),
                    "outcome": "good" if drill["outcome"] == PASSED else "bad",
                    "label": f"longest wait when {drill['replica']} stopped",
                }
            )
    figures += overview["chapter"].tiles[: max(0, 4 - len(figures))]
    if overview["findings"] is not None and len(figures) < 4:
        number = len([entry for entry in overview["findings"] if entry["severity"] != "info"])
        figures.append(
            {
                "figure": str(number),
                "label": "critical findings or warnings",
                "outcome": "good" if not number else "attention",
            }
        )
    return figures


def moment(text: str) -> str:
    """2026-11-21T14:30:00Z, or a run's name, as people write it."""
    match = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d):?(\d\d)", str(text))
    if not match:
        return str(text)
    day, hour, minute = match.groups()
    return f"{day} {hour}:{minute} UTC"


def one_line(text: str) -> str:
    """A text that keeps to its place in Markdown: no line breaks, no markup of its own, no column
    of a table.
    """
    line = re.sub(r"\s+", " ", str(text)).strip()
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", line)


def markdown(overview: dict[str, Any]) -> str:
    """summary.md."""
    lines = [
        f"# {one_line(overview['verdict']['headline'])}",
        "",
        f"Cluster {one_line(overview['cluster'])}, {moment(overview['run'])}.",
        "",
    ]
    lines += [f"- {one_line(sentence)}" for sentence in overview["verdict"]["sentences"]]
    lines += [f"- {one_line(name)} cannot be read." for name in overview["broken"]]
    for entry in overview["findings"] or []:
        if entry["severity"] != "info":
            severity, host, title, evidence = (
                one_line(entry.get(key, "")) for key in ("severity", "host", "title", "evidence")
            )
            lines.append(f"- {severity} on {host}: {title} ({evidence})")
    if overview["checkpoints"]:
        lines += [
            "",
            "## Checkpoints",
            "",
            "| point | host | outcome | what | observed |",
            "|---|---|---|---|---|",
        ]
        for row in overview["checkpoints"]:
            unsaid = row["outcome"] in (UNKNOWN, NOT_APPLICABLE)
            seen = row["reason"] if unsaid else row["observed"]
            if row["outcome"] == FAILED:
                seen = f"{seen} (expected: {row['expected']}) {row['reason']}"
            outcome = OUTCOMES.get(row["outcome"], row["outcome"])
            columns = (row["id"], row["host"], outcome, row["title"], seen)
            lines.append(f"| {' | '.join(one_line(text) for text in columns)} |")
    if overview["who_wrote"]:
        lines += ["", "## Who could write when", "", "| from | to | |", "|---|---|---|"]
        lines += [
            f"| {line['from']} | {line['to']} | {one_line(line['words'])} |"
            for line in overview["who_wrote"]
        ]
    for heading, sentences in overview["chapter"].summary():
        lines += ["", f"## {one_line(heading)}", ""]
        lines += [f"- {one_line(sentence)}" for sentence in sentences]
    return "\n".join(lines) + "\n"
