# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run's files say, in words: the verdict, the key figures, a sentence for each part, and summary.md."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.plugin_utils.statement import NOT_MEASURED, short

# The parts of the procedure that checkpoints belong to.
GROUPS = (
    ("P0", "Replication runs"), ("P1", "A row arrives"), ("P2", "Before semi-sync"), ("P3", "Semi-sync on the source"),
    ("P4", "Semi-sync on the replicas"), ("P5", "Commits are acknowledged"), ("P6", "A replica stops: fallback"),
    ("P7", "The replica is back: recovery"), ("P8", "What it costs"),
)
PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not_applicable"
OUTCOMES = {PASSED: "passed", FAILED: "failed", NOT_APPLICABLE: "n/a"}
SEVERITIES = ("critical", "warning", "info")


def tell(files, broken, cluster, run, made_at):
    """Everything that the page and the summary show.

    Args:
        files: name -> value of a run's JSON files.
        broken: names of those that cannot be read.
        cluster, run, made_at: texts.
    """
    told = {
        "cluster": cluster, "run": run, "made_at": made_at, "broken": broken,
        "checkpoints": files.get("checkpoints.json") or [], "findings": files.get("findings.json"),
        "drills": (files.get("drill.json") or {}).get("drills") or [],
        "benchmarks": [files[name] for name in sorted(files) if name.startswith("benchmark-")],
    }
    told["sections"] = sections(told["checkpoints"])
    told["drill_words"] = [drill_in_words(drill) for drill in told["drills"]]
    told["verdict"] = verdict(told)
    told["tiles"] = tiles(told)
    return told


def sections(rows):
    """Checkpoints by part of the procedure: [{"id", "title", "rows"}]; a point of no known part comes last."""
    known = dict(GROUPS)
    found = [{"id": part, "title": title, "rows": [row for row in rows if row["id"].split(".")[0] == part]}
             for part, title in GROUPS]
    found.append({"id": "", "title": "Others", "rows": [row for row in rows if row["id"].split(".")[0] not in known]})
    return [section for section in found if section["rows"]]


def name_of(suite):
    """A suite's identifier and title, the identifier once."""
    name = suite["id"].upper()
    return suite["title"] if suite["title"].upper().startswith(name) else "%s: %s" % (name, suite["title"])


def count(rows, key, value):
    return len([row for row in rows if row.get(key) == value])


def plural(number, word):
    return "%d %s%s" % (number, word, "" if number == 1 else "s")


def verdict(told):
    """{"outcome": good, attention or bad, "headline", "sentences"}: the worst of what is there decides."""
    rows, drills = told["checkpoints"], told["drills"]
    wrong, lost = count(rows, "outcome", FAILED), count(drills, "outcome", "failed")
    critical = count(told["findings"] or [], "severity", "critical")
    cells = [cell for benchmark in told["benchmarks"] for cell in benchmark["cells"]]
    invalid = len([cell for cell in cells if not cell["valid"] and cell["reasons"] != [NOT_MEASURED]])
    runs = [benchmark for benchmark in told["benchmarks"] if not benchmark.get("complete")]
    if wrong:
        outcome, headline = "bad", "%d of %s failed" % (wrong, plural(len(rows), "checkpoint"))
    elif lost:
        outcome, headline = "bad", "The rehearsal of a replica's outage failed"
    elif critical:
        outcome, headline = "bad", "%s to mend" % plural(critical, "critical finding")
    elif told["broken"]:
        outcome, headline = "attention", "%s of this run cannot be read" % ", ".join(told["broken"])
    elif invalid:
        outcome, headline = "attention", "%d of %s do not count" % (invalid, plural(len(cells), "benchmark cell"))
    elif runs:
        outcome, headline = "attention", "The benchmark %s has not ended" % runs[0]["suite"]["id"].upper()
    elif rows:
        outcome, headline = "good", "Semi-synchronous replication works"
    elif drills:
        outcome, headline = "good", "The cluster survives a replica's outage"
    else:
        outcome, headline = "good", "The benchmark is complete"
    return {"outcome": outcome, "headline": headline, "sentences": lead(told, wrong)}


def lead(told, wrong):
    """The sentences below the headline, one for each part there is."""
    rows, found = told["checkpoints"], []
    if rows:
        skipped = count(rows, "outcome", NOT_APPLICABLE)
        words = "%d of %s passed" % (len(rows) - wrong - skipped, plural(len(rows), "checkpoint"))
        words += ", %d not applicable" % skipped if skipped else ""
        if wrong:
            words += "; failed: " + ", ".join("%s on %s" % (row["id"], row["host"]) for row in rows
                                              if row["outcome"] == FAILED)
        found.append(words + ".")
    found += told["drill_words"]
    for benchmark in told["benchmarks"]:
        found.append(costliest_in_words(benchmark))
    if told["findings"] is not None:
        number = dict((severity, count(told["findings"], "severity", severity)) for severity in SEVERITIES)
        listed = ["%d %s" % (number[severity], severity) for severity in SEVERITIES if number[severity]]
        found.append("Findings: %s." % ", ".join(listed) if listed else "No findings.")
    return [sentence for sentence in found if sentence]


def costliest(benchmark):
    """The semi-sync cell with the longest delay that was compared with another, None where there is none."""
    compared = [cell for cell in benchmark["cells"] if cell["replication"] == "semisync" and cell["valid"] and cell["ratio"]]
    return max(compared, key=lambda cell: cell["delay_ms"]) if compared else None


def label_of(benchmark, name):
    return next((cell["label"] for cell in benchmark["cells"] if cell["id"] == name), name)


def costliest_in_words(benchmark):
    name, cell = benchmark["suite"]["id"].upper(), costliest(benchmark)
    if cell is None:
        return "%s." % name_of(benchmark["suite"])
    found = cell["statistics"]
    return '%s, %s: %s%s%s; against "%s" %s.' % (
        name, cell["label"], short(found["median"]), "" if found["unit"].startswith("/") else " ", found["unit"],
        label_of(benchmark, cell["ratio"]["to"]), cell["ratio"]["words"])


def seconds(milliseconds):
    return "%s ms" % short(milliseconds) if milliseconds < 1000 else "%s s" % short(milliseconds / 1000.0)


def drill_in_words(drill):
    """One rehearsal as a sentence or two."""
    words = "%s was stopped" % drill["replica"]
    if drill.get("expected_fallback") and drill.get("blocked_ms") is not None:
        words += ": writers waited %s (timeout %s), then went on; %s without a second copy" % (
            seconds(drill["blocked_ms"]), seconds(drill["timeout_ms"]),
            plural(drill.get("unprotected") or 0, "transaction"))
    elif not drill.get("expected_fallback"):
        words += " and nobody had to wait; %s without a second copy" % plural(drill.get("unprotected") or 0, "transaction")
    if drill.get("recovery_seconds") is not None:
        words += ". Protected again %s after its start" % seconds(drill["recovery_seconds"] * 1000.0)
    if drill["outcome"] == "failed":
        words = "The rehearsal failed: %s. %s" % (drill.get("reason") or "no reason was recorded", words)
    return words + "."


def tiles(told):
    """At most four key figures: {"figure", "label", "outcome"}."""
    found, rows = [], told["checkpoints"]
    if rows:
        asked = [row for row in rows if row["outcome"] != NOT_APPLICABLE]
        good = count(rows, "outcome", PASSED)
        found.append({"figure": "%d of %d" % (good, len(asked)), "label": "checkpoints passed",
                      "outcome": "good" if good == len(asked) else "bad"})
    for drill in told["drills"][:1]:
        if drill.get("expected_fallback") and drill.get("blocked_ms") is not None:
            found.append({"figure": seconds(drill["blocked_ms"]), "outcome": "good" if drill["outcome"] == PASSED else "bad",
                          "label": "longest wait when %s stopped" % drill["replica"]})
    for benchmark in told["benchmarks"]:
        cell = costliest(benchmark)
        if cell and len(found) < 4:
            found.append(tile_of(benchmark, cell))
    if told["findings"] is not None and len(found) < 4:
        number = len([entry for entry in told["findings"] if entry["severity"] != "info"])
        found.append({"figure": str(number), "label": "critical findings or warnings",
                      "outcome": "good" if not number else "attention"})
    return found


def tile_of(benchmark, cell):
    """What the costliest cell of a suite costs, in a figure and a few words."""
    ratio = cell["ratio"]
    against = "%s against %s" % (cell["label"], label_of(benchmark, ratio["to"]))
    if ratio["difference"] == "none":
        return {"figure": "not measurable", "label": "difference of %s" % against, "outcome": ""}
    if ratio["value"] < 0.1 and cell["statistics"]["metric"] == "rate":
        return {"figure": "%s/s" % short(cell["statistics"]["median"]), "label": cell["label"], "outcome": ""}
    kind = "the time" if cell["statistics"]["metric"] == "seconds" else "the rate"
    return {"figure": "%s \u00d7" % short(ratio["value"]), "label": "%s, %s" % (kind, against), "outcome": ""}


def moment(text):
    """2026-11-21T14:30:00Z, or a run's name, as people write it."""
    match = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d):?(\d\d)", str(text))
    return "%s %s:%s UTC" % match.groups() if match else str(text)


def one_line(text):
    """A text that keeps to its place in Markdown: no line breaks, no markup of its own, no column of a table."""
    line = re.sub(r"\s+", " ", str(text)).strip()
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", line)


def markdown(told):
    """summary.md."""
    lines = ["# %s" % one_line(told["verdict"]["headline"]), "",
             "Cluster %s, %s." % (one_line(told["cluster"]), moment(told["run"])), ""]
    lines += ["- %s" % one_line(sentence) for sentence in told["verdict"]["sentences"]]
    lines += ["- %s cannot be read." % one_line(name) for name in told["broken"]]
    for entry in told["findings"] or []:
        if entry["severity"] != "info":
            words = [one_line(entry.get(key, "")) for key in ("severity", "host", "title", "evidence")]
            lines.append("- %s on %s: %s (%s)" % tuple(words))
    if told["checkpoints"]:
        lines += ["", "## Checkpoints", "", "| point | host | outcome | what | observed |", "|---|---|---|---|---|"]
        for row in told["checkpoints"]:
            seen = row["reason"] if row["outcome"] == NOT_APPLICABLE else row["observed"]
            if row["outcome"] == FAILED:
                seen = "%s (expected: %s) %s" % (seen, row["expected"], row["reason"])
            lines.append("| %s |" % " | ".join(one_line(text) for text in (
                row["id"], row["host"], OUTCOMES.get(row["outcome"], row["outcome"]), row["title"], seen)))
    for benchmark in told["benchmarks"]:
        lines += ["", "## %s" % one_line(name_of(benchmark["suite"])), ""]
        lines += ["- %s" % one_line(sentence) for sentence in benchmark["statement"]]
    return "\n".join(lines) + "\n"
