# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import copy
import functools
import json
import operator
import os
import re

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_chapter import (
    BenchmarkChapter,
    name_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
    page,
    plots,
    text_failover,
    text_switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text import (
    drill_text,
    make_overview,
    one_line,
    sections,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    premises,
)
from ansible_collections.dbre.semisync.tests.unit import benchmarks
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

HOSTILE = (
    "</td><script>alert(1)</script>&\"'`|$x$ {{ 7 * 7 }} --> \x07\ud800 \u6f22\u5b57 " + "W" * 300
)
NOW = "2026-11-21T15:00:00Z"

needs_matplotlib = pytest.mark.skipif(
    not plots.HAS_MATPLOTLIB, reason="matplotlib is not installed"
)


def row(point, outcome="passed", host="db1", **more):
    return dict(
        {
            "id": point,
            "host": host,
            "title": "a title",
            "expected": "this",
            "observed": "that",
            "outcome": outcome,
            "reason": "",
            "at": NOW,
        },
        **more,
    )


def drill(**more):
    inserts = [
        {"t": 0.1 * number, "latency_ms": 4.0, "yes_tx": 1, "no_tx": 0, "phase": "before"}
        for number in range(9)
    ]
    inserts += [
        {"t": 1.0, "latency_ms": 3003.0, "yes_tx": 0, "no_tx": 1, "phase": "stopped"},
        {"t": 4.1, "latency_ms": 3.0, "yes_tx": 0, "no_tx": 1, "phase": "stopped"},
        {"t": 6.0, "latency_ms": 5.0, "yes_tx": 1, "no_tx": 0, "phase": "after"},
    ]
    return dict(
        {
            "replica": "db2",
            "source": "db1",
            "timeout_ms": 3000,
            "outcome": "passed",
            "reason": "",
            "expected_fallback": True,
            "blocked_ms": 3003.0,
            "unprotected": 2,
            "recovery_seconds": 1.2,
            "stopped_at": 0.9,
            "started_at": 4.5,
            "events": [{"t": 0.9, "what": "stopped"}],
            "inserts": inserts,
        },
        **more,
    )


def switchover(**more):
    """A record of three hosts; see tests/report/run for one of real servers."""
    lines = [
        ("caught_up", "db2", -600.0, "0 transactions in 0.0 s"),
        ("freeze", "db1", 0.0, ""),
        ("attached", "db3", 40.0, "db2"),
        ("open", "db2", 80.0, ""),
        ("slow", "db1", 1020.0, "0.94 s"),
    ]
    return dict(
        {
            "mode": "switch",
            "from": "db1",
            "to": "db2",
            "outcome": "done",
            "reason": "",
            "froze_at": NOW,
            "writers_waited_ms": 81.5,
            "writable": [
                {"host": "db1", "from_ms": None, "to_ms": 0.0},
                {"host": "db2", "from_ms": 80.0, "to_ms": None},
            ],
            "points": [row("S4"), row("S7", host="db2")],
            "timeline": [
                {"at_ms": at, "host": host, "event": name, "words": words}
                for name, host, at, words in lines
            ],
            "statements": [{"host": "db1", "statement": "SET GLOBAL read_only = 1"}],
        },
        **more,
    )


def failover(**more):
    """A certificate of three hosts whose target's part has done its work."""
    evidence = remnants.frozen(remnants.evidence("mysql"))
    kept = certificate.record("shop", "feed", evidence, cases.decide(evidence))
    part = {
        "outcome": "done",
        "settings_row": 0,
        "reason": "",
        "points": [
            {"id": "C6", "good": True, "observed": "120 transactions", "expected": "all"},
            {"id": "S7", "good": True, "observed": "yes_tx rose by 1", "expected": "one"},
        ],
        "timeline": [{"event": "open", "words": "", "at": 1.0, "clock": 1.0}],
        "statements": ["SET GLOBAL read_only = 0"],
    }
    other = dict(part, points=[], timeline=[], statements=["START REPLICA"])
    done = failover_outcome.completed(kept, {"db2": part, "db3": other}, [], "")
    return dict(done, first_commit_after_ms=4200, **more)


BACK = [
    {"host": "db1", "from_ms": None, "to_ms": 0.0},
    {"host": "db1", "from_ms": 90.0, "to_ms": None},
]


def keep(folder, **files):
    for name, value in files.items():
        results.write_json(os.path.join(str(folder), name.replace("_", "-", 1) + ".json"), value)
    return str(folder)


def overview(**files):
    named = {name.replace("_", "-", 1) + ".json": value for name, value in files.items()}
    return make_overview(
        named, [], "shop", "2026-11-21T144245.706771Z", NOW, BenchmarkChapter(named)
    )


@pytest.mark.parametrize(
    "files,outcome,headline",
    [
        (
            {"checkpoints": [row("P0"), row("P2.1", "not_applicable")]},
            "good",
            "Semi-synchronous replication works",
        ),
        ({"checkpoints": [row("P0"), row("P5.1", "failed")]}, "bad", "1 of 2 checkpoints failed"),
        (
            {
                "checkpoints": [row("P0")],
                "drill": {"drills": [drill(outcome="failed", reason="it hung")]},
            },
            "bad",
            "The drill of a replica's outage failed",
        ),
        (
            {"checkpoints": [row("P0")], "findings": [{"severity": "critical"}]},
            "bad",
            "1 critical finding to fix",
        ),
        (
            {"checkpoints": [row("P0")], "findings": [{"severity": "warning"}]},
            "good",
            "Semi-synchronous replication works",
        ),
        (
            {"checkpoints": [row("P8.2"), row("P8.5")]},
            "good",
            "The benchmark is complete",
        ),
        ({"drill": {"drills": [drill()]}}, "good", "The cluster survives a replica's outage"),
        ({"switchover": switchover()}, "good", "The source's role has moved to db2"),
        ({"certificate": failover()}, "good", "db2 took over from db1: proven"),
        (
            {"certificate": dict(failover(), verdict="not proven", reasons=["C1"])},
            "bad",
            "db2 took over from db1: not proven",
        ),
        (
            {"certificate": dict(failover(), outcome="undone", reason="too slow")},
            "bad",
            "No replica took over from db1",
        ),
        (
            {"switchover": switchover(points=[row("S7", "failed")])},
            "bad",
            "1 of 1 checkpoint failed",
        ),
        (
            {"switchover": switchover(outcome="undone"), "checkpoints": [row("P0")]},
            "attention",
            "The switchover was rolled back: db1 is the source",
        ),
        (
            {"switchover": switchover(outcome="unknown", points=[row("S7", "failed")])},
            "bad",
            "It is not known whether db1 or db2 is the source",
        ),
    ],
)
def test_the_worst_decides_the_verdict(files, outcome, headline):
    found = overview(**files)["verdict"]
    assert (found["outcome"], found["headline"]) == (outcome, headline)


def test_cells_that_do_not_count_are_no_good_verdict():
    benchmark = benchmarks.four_phases()
    benchmark["cells"][2]["error"] = "the replica is gone"
    found = overview(checkpoints=[row("P0")], benchmark_four_phases=analysis.analyse(benchmark))[
        "verdict"
    ]
    assert (found["outcome"], found["headline"]) == (
        "attention",
        "1 of 4 benchmark cells do not count",
    )


@pytest.mark.parametrize(
    "title,name", [("Four phases", "Four phases (four_phases)"), ("Four_phases", "Four_phases")]
)
def test_a_suite_is_named_once(title, name):
    assert name_of({"id": "four_phases", "title": title}) == name


def test_a_benchmark_that_goes_on_says_so():
    benchmark = benchmarks.four_phases()
    benchmark.update(complete=False, ended=None)
    benchmark["cells"][3]["repetitions"] = []
    found = overview(checkpoints=[row("P0")], benchmark_four_phases=analysis.analyse(benchmark))[
        "verdict"
    ]
    assert (found["outcome"], found["headline"]) == (
        "attention",
        "The benchmark four_phases is not complete",
    )
    assert benchmark["statement"][-1] == "asynchronous, 90 ms: not measured yet."


def of_format_1(name="b0", title="B0: the manual's mysqlslap", document="source.txt"):
    """A run as it was kept while suites had their former names."""
    benchmark = analysis.analyse(benchmarks.four_phases())
    del benchmark["suite"]["reference"], benchmark["suite"]["time_limit"]
    benchmark["suite"].update(id=name, title=title, document=document)
    return dict(benchmark, format=1)


@needs_matplotlib
def test_a_run_that_was_kept_under_a_former_name_is_shown_under_todays(tmp_path):
    html = page_of(keep(tmp_path, benchmark_b0=of_format_1()))
    assert "mysqlslap (four_phases)" in html and "Follows B0." in html
    assert "source.txt" not in re.sub(r'href="data:[^"]*"', "", html)
    assert '<figure id="four-phases-phases"' in html


def test_suites_are_shown_in_the_order_in_which_they_ran():
    first, second = (analysis.analyse(benchmarks.four_phases()) for _dummy in range(2))
    first["started"], second["started"] = "2026-11-21T14:30:01Z", "2026-11-21T14:30:00Z"
    shown = overview(benchmark_a=first, benchmark_b=second)["chapter"].benchmarks
    assert [benchmark["started"] for benchmark in shown] == [second["started"], first["started"]]


def test_a_file_that_cannot_be_read_is_no_good_verdict(tmp_path):
    keep(tmp_path, checkpoints=[row("P0")])
    (tmp_path / "drill.json").write_text('{"drills": [')
    files, broken = page.gather(str(tmp_path))
    assert list(files) == ["checkpoints.json"] and broken == ["drill.json"]
    found = make_overview(files, broken, "shop", "x", NOW)["verdict"]
    assert (found["outcome"], found["headline"]) == (
        "attention",
        "drill.json of this run cannot be read",
    )


@pytest.mark.parametrize(
    "change,words",
    [
        (
            {},
            (
                "db2 was stopped: writers waited 3 s (timeout 3 s), then continued; 2 transactions"
                " without a second copy. Protected again 1.2 s after its start."
            ),
        ),
        (
            {
                "expected_fallback": False,
                "blocked_ms": None,
                "unprotected": 0,
                "recovery_seconds": None,
            },
            "db2 was stopped and no writer had to wait; 0 transactions without a second copy.",
        ),
        (
            {
                "outcome": "failed",
                "reason": "it hung",
                "blocked_ms": None,
                "recovery_seconds": None,
            },
            "The drill failed: it hung. db2 was stopped.",
        ),
    ],
)
def test_a_drill_as_text(change, words):
    assert drill_text(drill(**change)) == words


@pytest.mark.parametrize(
    "change,words",
    [
        ({}, "Switchover from db1 to db2: done; no server took writes for 81.5 ms."),
        (
            {"outcome": "undone", "reason": "db2 did not come", "writers_waited_ms": 10003.0},
            "Switchover from db1 to db2: undone, db2 did not come; no server took writes for 10 s.",
        ),
        (
            {"outcome": "refused", "writers_waited_ms": None, "froze_at": None},
            "Switchover from db1 to db2: refused; writers were never kept out.",
        ),
        (
            {"outcome": "unknown", "writers_waited_ms": None},
            "Switchover from db1 to db2: unknown; the source did not see a server take writes"
            " again.",
        ),
        # The old source's part said nothing: not even that no writer was kept out.
        (
            {"outcome": "unknown", "writers_waited_ms": None, "froze_at": None},
            "Switchover from db1 to db2: unknown.",
        ),
        (
            {
                "from": "db2",
                "to": "db1",
                "mended": [switchover(mode="undo", outcome="undone", writers_waited_ms=None)],
            },
            "Interrupted switchover from db1 to db2: undone; the source did not see a server take"
            " writes again. Switchover from db2 to db1: done; no server took writes for 81.5 ms.",
        ),
    ],
)
def test_a_switchover_in_words(change, words):
    assert text_switchover.switchover_sentence(switchover(**change)) == words


def test_every_event_of_a_role_change_has_words():
    folder = os.path.join(os.path.dirname(role_statements.__file__))
    told = set()
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name)) as stream:
                told |= set(re.findall(r'\.log_event\(\s*"(\w+)"', stream.read()))
    assert len(told) > 15 and told == {*text_switchover.EVENTS, *text_failover.OWN_EVENTS}
    assert max(map(len, text_switchover.EVENTS.values())) <= 27


@needs_matplotlib
def test_a_certificate_has_its_page(tmp_path):
    lived = {"case": "source_answers", "words": "db1: it lives", "dead_at": NOW, "failed": []}
    kept = failover(accepted=["unread:db4"], fenced=lived)
    html = page_of(keep(tmp_path, certificate=kept))
    for words in (
        f"Before the fence hook: db1: it lives; after it confirmed down at {NOW}.",
        "Failover from db1 to db2",
        "Nothing that was confirmed is lost",
        "received, and has 0 to apply",
        "Accepted by name: unread:db4",
        "takes writes",
        "SET GLOBAL read_only = 0",
        "4.2 s",
        f"{remnants.SOURCE}:1-100",
    ):
        assert words in html, words
    for premise in (*premises.BY_ID, "S7"):
        assert f'<td class="id">{premise}</td>' in html
    assert "certificate.json" in html


def test_checkpoints_are_shown_by_part_of_the_procedure_and_none_is_lost():
    rows = [row("P0"), row("P3.5"), row("P8.1"), row("S1"), row("S9"), row("X1")]
    found = sections(rows)
    assert [section["id"] for section in found] == ["P0", "P3", "P8", "S", ""]
    assert functools.reduce(operator.iadd, (section["rows"] for section in found), []) == rows


def test_the_summary_has_every_part(tmp_path):
    keep(
        tmp_path,
        checkpoints=[row("P0"), row("P5.1", "failed", host="db|1")],
        drill={"drills": [drill()]},
        findings=[{"severity": "warning", "host": "db1", "title": "old", "evidence": "5.6.11"}],
        benchmark_four_phases=analysis.analyse(benchmarks.four_phases()),
    )
    path, _dummy, verdict = page.write_page(str(tmp_path), "shop", NOW, BenchmarkChapter)
    with open(path) as stream:
        text = stream.read()
    assert (
        text.startswith("# 1 of 2 checkpoints failed\n") and verdict == "1 of 2 checkpoints failed"
    )
    for part in (
        "| P5.1 | db\\|1 | failed | a title | that (expected: this)",
        "- db2 was stopped: writers waited 3 s",
        "- warning on db1: old (5.6.11)",
        "## The procedure's four phases (four\\_phases)",
        "- semi-sync, 90 ms: median 13.1 s",
    ):
        assert part in text


@pytest.mark.parametrize("text", ["a\n# b", "x | y", "<script>", "[a](b)", "`c`"])
def test_hostile_text_keeps_to_its_place_in_markdown(text):
    line = one_line(text)
    assert "\n" not in line and not re.search(r"(?<!\\)[|<>`\[#]", line)


def test_an_empty_run_has_no_report(tmp_path):
    with pytest.raises(ValueError, match="holds no checkpoints"):
        page.write_page(str(tmp_path), "shop", NOW, BenchmarkChapter)


def test_without_matplotlib_there_is_a_summary(tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "HAS_MATPLOTLIB", False)
    keep(
        tmp_path,
        checkpoints=[row("P0")],
        benchmark_four_phases=analysis.analyse(benchmarks.four_phases()),
    )
    summary, html, _dummy = page.write_page(str(tmp_path), "shop", NOW, BenchmarkChapter)
    assert html is None and sorted(os.listdir(str(tmp_path))) == [
        "benchmark-four_phases.json",
        "checkpoints.json",
        "summary.md",
    ]
    assert os.path.basename(summary) == "summary.md"


def page_of(folder, cluster="shop"):
    path = page.write_page(str(folder), cluster, NOW, BenchmarkChapter)[1]
    with open(path, encoding="utf-8") as stream:
        return stream.read()


@needs_matplotlib
def test_a_page_of_checkpoints_alone(tmp_path):
    html = page_of(keep(tmp_path, checkpoints=[row("P0")]))
    assert "Semi-synchronous replication works" in html and "<figure" not in html


@needs_matplotlib
def test_the_page_has_every_picture_twice_and_stays_small(tmp_path):
    files = {
        "benchmark_" + name: analysis.analyse(getattr(benchmarks, name)())
        for name in ("four_phases", "one_client", "row_latency", "durability", "clients")
    }
    html = page_of(keep(tmp_path, drill={"drills": [drill()]}, switchover=switchover(), **files))
    assert re.findall(r'<figure id="([^"]+)"', html) == [
        "switchover",
        "drill-1",
        "clients-clients",
        "durability-rates",
        "four-phases-phases",
        "one-client-distance",
        "one-client-latency",
        "row-latency-rates",
        "row-latency-latency",
    ]
    for size in ("wide", "narrow"):
        assert len(re.findall(f'<div class="{size}"><svg viewBox=', html)) == 9
    assert len(html.encode("utf-8")) < 3000000
    identifiers = re.findall(r'\sid="([^"]+)"', html)
    assert len(set(identifiers)) == len(identifiers)


@needs_matplotlib
@pytest.mark.parametrize("times,shown", [(1, 0), (2, 2)])
def test_the_limits_line_says_where_the_model_does_not_hold(tmp_path, times, shown):
    benchmark = benchmarks.one_client()
    for entry in benchmark["cells"][-1]["repetitions"]:
        entry["rate"] *= times
    html = page_of(keep(tmp_path, benchmark_one_client=analysis.analyse(benchmark)))
    pictures = "".join(re.findall(r"<figure.*?</figure>", html, flags=re.DOTALL))
    assert pictures.count("a round trip; the model does not hold here") == shown
    assert ("the model does not hold here: " in html) == bool(shown)


@needs_matplotlib
def test_nothing_hostile_becomes_markup(tmp_path):
    benchmark = benchmarks.four_phases()
    for one in benchmark["cells"]:
        one["label"] = HOSTILE
    benchmark["suite"].update(title=HOSTILE, what=HOSTILE, reference=HOSTILE)
    benchmark["cells"][1]["error"] = HOSTILE
    benchmark["environment"]["hosts"][0].update(host=HOSTILE, kernel=HOSTILE)
    html = page_of(
        keep(
            tmp_path,
            checkpoints=[
                row("P0", "failed", host=HOSTILE, title=HOSTILE, observed=HOSTILE, reason=HOSTILE)
            ],
            drill={
                "drills": [
                    drill(
                        replica=HOSTILE,
                        source=HOSTILE,
                        reason=HOSTILE,
                        events=[{"t": 1, "what": HOSTILE}],
                    )
                ]
            },
            switchover=switchover(
                **{"from": HOSTILE, "to": HOSTILE + "2"},
                reason=HOSTILE,
                froze_at=HOSTILE,
                timeline=[{"at_ms": 1.0, "host": HOSTILE, "event": HOSTILE, "words": HOSTILE}],
                statements=[{"host": HOSTILE, "statement": HOSTILE}],
            ),
            findings=[
                {
                    "severity": HOSTILE,
                    "host": HOSTILE,
                    "title": HOSTILE,
                    "evidence": HOSTILE,
                    "why": HOSTILE,
                    "source": "javascript:alert(1)",
                    "remedy": HOSTILE,
                }
            ],
            benchmark_four_phases=analysis.analyse(benchmark),
        ),
        HOSTILE,
    )
    assert "<script" not in html and "alert(1)" in html and "{{ 7 * 7 }}" in html
    assert 'href="javascript' not in html


@needs_matplotlib
@pytest.mark.parametrize(
    "change,drawn",
    [
        ({"outcome": "undone", "reason": "it hung", "writable": BACK}, True),
        ({"outcome": "unknown", "writers_waited_ms": None, "writable": BACK[:1]}, True),
        # No writer was kept out, or it is unknown.
        (
            {"outcome": "refused", "writable": [], "froze_at": None, "writers_waited_ms": None},
            False,
        ),
    ],
)
def test_a_switchover_that_went_wrong_is_shown_too(tmp_path, change, drawn):
    html = page_of(keep(tmp_path, switchover=switchover(**change)))
    assert f"Switchover from db1 to db2: {change['outcome']}" in html
    assert ("<figure" in html) == drawn


@needs_matplotlib
def test_the_picture_of_a_switchover_has_what_is_near_and_the_table_all(tmp_path):
    html = page_of(keep(tmp_path, switchover=switchover()))
    (picture,) = re.findall(r"<figure.*?</figure>", html, flags=re.DOTALL)
    for words, near in (("keeps writers out", 2), ("takes writes", 2), ("has caught up", 0)):
        assert len(re.findall(rf">{words}<", picture)) == near, words
    assert "0 transactions in 0.0 s" in html and "a slow statement" in html
    assert picture.count("no server takes writes: 81.5 ms") == 2


@needs_matplotlib
def test_cells_that_do_not_count_are_never_drawn(tmp_path):
    benchmark = benchmarks.four_phases()
    benchmark["cells"][2].update(label="INVALID", error="the replica is gone")
    html = page_of(keep(tmp_path, benchmark_four_phases=analysis.analyse(benchmark)))
    pictures = "".join(re.findall(r"<figure.*?</figure>", html, flags=re.DOTALL))
    assert "INVALID" not in pictures and "INVALID does not count: the replica is gone." in html


@needs_matplotlib
def test_a_suite_of_which_nothing_counts_has_no_picture(tmp_path):
    benchmark = benchmarks.four_phases()
    for one in benchmark["cells"]:
        one["repetitions"] = []
    html = page_of(keep(tmp_path, benchmark_four_phases=analysis.analyse(benchmark)))
    assert "no cell counts" in html and "<figure" not in html


@needs_matplotlib
@pytest.mark.parametrize(
    "change",
    [
        {"inserts": []},
        {"stopped_at": None, "started_at": None},
        {"recovery_seconds": None, "blocked_ms": None},
        {"inserts": [{"t": 0.0, "latency_ms": 1.0, "yes_tx": 0, "no_tx": 0, "phase": "before"}]},
    ],
)
def test_a_drill_that_went_wrong_is_shown_too(tmp_path, change):
    html = page_of(
        keep(tmp_path, drill={"drills": [drill(outcome="failed", reason="it hung", **change)]})
    )
    assert "The drill failed: it hung" in html
    assert ("<figure" in html) == bool(change.get("inserts", True))


@needs_matplotlib
def test_the_raw_data_comes_with_the_page_and_is_left_out_when_it_is_large(tmp_path, monkeypatch):
    rows = [row("P0")]
    html = page_of(keep(tmp_path, checkpoints=rows))
    data = re.search(
        r'download="checkpoints.json" href="data:application/json;base64,([^"]+)"', html
    ).group(1)
    assert json.loads(base64.b64decode(data).decode("utf-8")) == rows
    monkeypatch.setattr(page, "RAW_BYTES", 10)
    assert "checkpoints.json, beside this page" in page_of(tmp_path)


@needs_matplotlib
def test_the_same_run_makes_the_same_page(tmp_path):
    keep(
        tmp_path,
        drill={"drills": [drill()]},
        benchmark_one_client=analysis.analyse(copy.deepcopy(benchmarks.one_client())),
    )
    assert page_of(tmp_path) == page_of(tmp_path)


@needs_matplotlib
def test_the_page_asks_nobody_for_anything(tmp_path):
    html = page_of(
        keep(
            tmp_path,
            checkpoints=[row("P0")],
            benchmark_four_phases=analysis.analyse(benchmarks.four_phases()),
        )
    )
    assert not re.search(r"(src|srcset|action|poster)=|@import|url\((?!#)", html)
    assert set(re.findall(r'href="([^"#:]*[:#])', html)) <= {"#", "data:"}
