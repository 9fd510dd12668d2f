# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import base64
import copy
import json
import os
import re

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import plots, report, report_words, results, statement
from ansible_collections.dbre.semisync.tests.unit import benchmarks

HOSTILE = "</td><script>alert(1)</script>&\"'`|$x$ {{ 7 * 7 }} --> \x07\ud800 \u6f22\u5b57 " + "W" * 300
NOW = "2026-11-21T15:00:00Z"

needs_matplotlib = pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="matplotlib is not installed")


def row(point, outcome="passed", host="db1", **more):
    return dict({"id": point, "host": host, "title": "a title", "expected": "this", "observed": "that", "outcome": outcome,
                 "reason": "", "at": NOW}, **more)


def drill(**more):
    inserts = [{"t": 0.1 * number, "latency_ms": 4.0, "yes_tx": 1, "no_tx": 0, "phase": "before"} for number in range(9)]
    inserts += [{"t": 1.0, "latency_ms": 3003.0, "yes_tx": 0, "no_tx": 1, "phase": "stopped"},
                {"t": 4.1, "latency_ms": 3.0, "yes_tx": 0, "no_tx": 1, "phase": "stopped"},
                {"t": 6.0, "latency_ms": 5.0, "yes_tx": 1, "no_tx": 0, "phase": "after"}]
    return dict({"replica": "db2", "source": "db1", "timeout_ms": 3000, "outcome": "passed", "reason": "",
                 "expected_fallback": True, "blocked_ms": 3003.0, "unprotected": 2, "recovery_seconds": 1.2,
                 "stopped_at": 0.9, "started_at": 4.5, "events": [{"t": 0.9, "what": "stopped"}], "inserts": inserts}, **more)


def keep(folder, **files):
    for name, value in files.items():
        results.write_json(os.path.join(str(folder), name.replace("_", "-") + ".json"), value)
    return str(folder)


def told(**files):
    named = dict((name.replace("_", "-") + ".json", value) for name, value in files.items())
    return report_words.tell(named, [], "shop", "2026-11-21T144245.706771Z", NOW)


@pytest.mark.parametrize("files,outcome,headline", [
    (dict(checkpoints=[row("P0"), row("P2.1", "not_applicable")]), "good", "Semi-synchronous replication works"),
    (dict(checkpoints=[row("P0"), row("P5.1", "failed")]), "bad", "1 of 2 checkpoints failed"),
    (dict(checkpoints=[row("P0")], drill={"drills": [drill(outcome="failed", reason="it hung")]}), "bad",
     "The rehearsal of a replica's outage failed"),
    (dict(checkpoints=[row("P0")], findings=[{"severity": "critical"}]), "bad", "1 critical finding to mend"),
    (dict(checkpoints=[row("P0")], findings=[{"severity": "warning"}]), "good", "Semi-synchronous replication works"),
    (dict(drill={"drills": [drill()]}), "good", "The cluster survives a replica's outage"),
])
def test_the_worst_decides_the_verdict(files, outcome, headline):
    found = told(**files)["verdict"]
    assert (found["outcome"], found["headline"]) == (outcome, headline)


def test_cells_that_do_not_count_are_no_good_verdict():
    benchmark = benchmarks.b0()
    benchmark["cells"][2]["error"] = "the replica is gone"
    found = told(checkpoints=[row("P0")], benchmark_b0=statement.analyse(benchmark))["verdict"]
    assert (found["outcome"], found["headline"]) == ("attention", "1 of 4 benchmark cells do not count")


@pytest.mark.parametrize("title", ["Four phases", "B0: Four phases"])
def test_a_suite_is_named_once(title):
    assert report_words.name_of({"id": "b0", "title": title}) == "B0: Four phases"


def test_a_benchmark_that_goes_on_says_so():
    benchmark = benchmarks.b0()
    benchmark.update(complete=False, ended=None)
    benchmark["cells"][3]["repetitions"] = []
    found = told(checkpoints=[row("P0")], benchmark_b0=statement.analyse(benchmark))["verdict"]
    assert (found["outcome"], found["headline"]) == ("attention", "The benchmark B0 has not ended")
    assert benchmark["statement"][-1] == "asynchronous, 90 ms: not measured yet."


def test_a_file_that_cannot_be_read_is_no_good_verdict(tmp_path):
    keep(tmp_path, checkpoints=[row("P0")])
    (tmp_path / "drill.json").write_text('{"drills": [')
    files, broken = report.gather(str(tmp_path))
    assert list(files) == ["checkpoints.json"] and broken == ["drill.json"]
    found = report_words.tell(files, broken, "shop", "x", NOW)["verdict"]
    assert (found["outcome"], found["headline"]) == ("attention", "drill.json of this run cannot be read")


@pytest.mark.parametrize("change,words", [
    ({}, "db2 was stopped: writers waited 3 s (timeout 3 s), then went on; 2 transactions without a second copy. "
         "Protected again 1.2 s after its start."),
    ({"expected_fallback": False, "blocked_ms": None, "unprotected": 0, "recovery_seconds": None},
     "db2 was stopped and nobody had to wait; 0 transactions without a second copy."),
    ({"outcome": "failed", "reason": "it hung", "blocked_ms": None, "recovery_seconds": None},
     "The rehearsal failed: it hung. db2 was stopped."),
])
def test_a_rehearsal_in_words(change, words):
    assert report_words.drill_in_words(drill(**change)) == words


def test_checkpoints_are_shown_by_part_of_the_procedure_and_none_is_lost():
    rows = [row("P0"), row("P3.5"), row("P8.1"), row("X1")]
    found = report_words.sections(rows)
    assert [section["id"] for section in found] == ["P0", "P3", "P8", ""]
    assert sum((section["rows"] for section in found), []) == rows


def test_the_summary_has_every_part(tmp_path):
    keep(tmp_path, checkpoints=[row("P0"), row("P5.1", "failed", host="db|1")], drill={"drills": [drill()]},
         findings=[{"severity": "warning", "host": "db1", "title": "old", "evidence": "5.6.11"}],
         benchmark_b0=statement.analyse(benchmarks.b0()))
    path, dummy, verdict = report.write(str(tmp_path), "shop", NOW)
    with open(path) as stream:
        text = stream.read()
    assert text.startswith("# 1 of 2 checkpoints failed\n") and verdict == "1 of 2 checkpoints failed"
    for part in ("| P5.1 | db\\|1 | failed | a title | that (expected: this)", "- db2 was stopped: writers waited 3 s",
                 "- warning on db1: old (5.6.11)", "## B0: The procedure's four phases", "- semi-sync, 90 ms: median 13.1 s"):
        assert part in text


@pytest.mark.parametrize("text", ["a\n# b", "x | y", "<script>", "[a](b)", "`c`"])
def test_hostile_text_keeps_to_its_place_in_markdown(text):
    line = report_words.one_line(text)
    assert "\n" not in line and not re.search(r"(?<!\\)[|<>`\[#]", line)


def test_an_empty_run_has_no_report(tmp_path):
    with pytest.raises(ValueError, match="holds no checkpoints"):
        report.write(str(tmp_path), "shop", NOW)


def test_without_matplotlib_there_is_a_summary(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "HAS_MATPLOTLIB", False)
    keep(tmp_path, checkpoints=[row("P0")], benchmark_b0=statement.analyse(benchmarks.b0()))
    summary, page, dummy = report.write(str(tmp_path), "shop", NOW)
    assert page is None and sorted(os.listdir(str(tmp_path))) == ["benchmark-b0.json", "checkpoints.json", "summary.md"]
    assert os.path.basename(summary) == "summary.md"


def page_of(folder, cluster="shop"):
    path = report.write(str(folder), cluster, NOW)[1]
    with open(path, encoding="utf-8") as stream:
        return stream.read()


@needs_matplotlib
def test_a_page_of_checkpoints_alone(tmp_path):
    page = page_of(keep(tmp_path, checkpoints=[row("P0")]))
    assert "Semi-synchronous replication works" in page and "<figure" not in page


@needs_matplotlib
def test_the_page_has_every_picture_twice_and_stays_small(tmp_path):
    files = dict(("benchmark_" + name, statement.analyse(getattr(benchmarks, name)())) for name in ("b0", "b1", "b2", "b3", "b4"))
    page = page_of(keep(tmp_path, drill={"drills": [drill()]}, **files))
    assert re.findall(r'<figure id="([^"]+)"', page) == [
        "drill-1", "b0-phases", "b1-distance", "b1-latency", "b2-rates", "b2-latency", "b3-rates", "b4-clients"]
    for size in ("wide", "narrow"):
        assert len(re.findall(r'<div class="%s"><svg viewBox=' % size, page)) == 8
    assert len(page.encode("utf-8")) < 3000000
    identifiers = re.findall(r'\sid="([^"]+)"', page)
    assert len(set(identifiers)) == len(identifiers)


@needs_matplotlib
def test_nothing_hostile_becomes_markup(tmp_path):
    benchmark = benchmarks.b0()
    for one in benchmark["cells"]:
        one["label"] = HOSTILE
    benchmark["suite"].update(title=HOSTILE, what=HOSTILE, document=HOSTILE)
    benchmark["cells"][1]["error"] = HOSTILE
    benchmark["environment"]["hosts"][0].update(host=HOSTILE, kernel=HOSTILE)
    page = page_of(keep(
        tmp_path, checkpoints=[row("P0", "failed", host=HOSTILE, title=HOSTILE, observed=HOSTILE, reason=HOSTILE)],
        drill={"drills": [drill(replica=HOSTILE, source=HOSTILE, reason=HOSTILE, events=[{"t": 1, "what": HOSTILE}])]},
        findings=[{"severity": HOSTILE, "host": HOSTILE, "title": HOSTILE, "evidence": HOSTILE, "why": HOSTILE,
                   "source": "javascript:alert(1)", "remedy": HOSTILE}],
        benchmark_b0=statement.analyse(benchmark)), HOSTILE)
    assert "<script" not in page and "alert(1)" in page and "{{ 7 * 7 }}" in page
    assert "href=\"javascript" not in page


@needs_matplotlib
def test_cells_that_do_not_count_are_never_drawn(tmp_path):
    benchmark = benchmarks.b0()
    benchmark["cells"][2].update(label="INVALID", error="the replica is gone")
    page = page_of(keep(tmp_path, benchmark_b0=statement.analyse(benchmark)))
    pictures = "".join(re.findall(r"<figure.*?</figure>", page, flags=re.S))
    assert "INVALID" not in pictures and "INVALID does not count: the replica is gone." in page


@needs_matplotlib
def test_a_suite_of_which_nothing_counts_has_no_picture(tmp_path):
    benchmark = benchmarks.b0()
    for one in benchmark["cells"]:
        one["repetitions"] = []
    page = page_of(keep(tmp_path, benchmark_b0=statement.analyse(benchmark)))
    assert "no cell counts" in page and "<figure" not in page


@needs_matplotlib
@pytest.mark.parametrize("change", [
    {"inserts": []}, {"stopped_at": None, "started_at": None}, {"recovery_seconds": None, "blocked_ms": None},
    {"inserts": [{"t": 0.0, "latency_ms": 1.0, "yes_tx": 0, "no_tx": 0, "phase": "before"}]},
])
def test_a_rehearsal_that_went_wrong_is_shown_too(tmp_path, change):
    page = page_of(keep(tmp_path, drill={"drills": [drill(outcome="failed", reason="it hung", **change)]}))
    assert "The rehearsal failed: it hung" in page
    assert ("<figure" in page) == bool(change.get("inserts", True))


@needs_matplotlib
def test_the_raw_data_comes_with_the_page_and_is_left_out_when_it_is_large(tmp_path, monkeypatch):
    rows = [row("P0")]
    page = page_of(keep(tmp_path, checkpoints=rows))
    data = re.search(r'download="checkpoints.json" href="data:application/json;base64,([^"]+)"', page).group(1)
    assert json.loads(base64.b64decode(data).decode("utf-8")) == rows
    monkeypatch.setattr(report, "RAW_BYTES", 10)
    assert "checkpoints.json, beside this page" in page_of(tmp_path)


@needs_matplotlib
def test_the_same_run_makes_the_same_page(tmp_path):
    keep(tmp_path, drill={"drills": [drill()]}, benchmark_b1=statement.analyse(copy.deepcopy(benchmarks.b1())))
    assert page_of(tmp_path) == page_of(tmp_path)


@needs_matplotlib
def test_the_page_asks_nobody_for_anything(tmp_path):
    page = page_of(keep(tmp_path, checkpoints=[row("P0")], benchmark_b0=statement.analyse(benchmarks.b0())))
    assert not re.search(r'(src|srcset|action|poster)=|@import|url\((?!#)', page)
    assert set(re.findall(r'href="([^"#:]*[:#])', page)) <= {"#", "data:"}
