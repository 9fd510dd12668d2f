# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis, benchmark_points
from ansible_collections.dbre.semisync.tests.unit import benchmarks

RESTORED = {
    "qdiscs_after": [{"kind": "noqueue"}, {"kind": "fq_codel"}],
    "status": "ON",
    "clients": 1,
    "replicas": 1,
}


def trips(*medians):
    return {f"10.0.0.{number}": {"median": value} for number, value in enumerate(medians, 2)}


def put_on(delay, **more):
    shown = [f"qdisc netem 5e51: dev semisync-nm0 root limit 1000 delay {delay}ms"]
    return dict({"shown": shown, "rtt_before": trips(0.3), "rtt_after": trips(0.3 + delay)}, **more)


def four_phases(delay=90, netem=None):
    """The four phases with another delay, and what netem said of it."""
    result = benchmarks.four_phases()
    for cell in result["cells"]:
        cell["delay_ms"] = delay if cell["delay_ms"] else 0
    if netem is not None:
        result["environment"]["netem"] = netem
    return analysis.analyse(result)


def row_of(rows, name):
    (row,) = [row for row in rows if row["id"] == name]
    return row


@pytest.mark.parametrize("delay", [85, 90, 12.5])
def test_the_delay_that_the_suite_has_is_a_point(delay):
    rows = benchmark_points.points(
        four_phases(delay, {f"{delay:g}": put_on(delay)}), "db1", RESTORED
    )
    assert [row["id"] for row in rows] == ["P2.1", "P8.1", "P8.3", "P8.4", "P8.2", "P8.5"]
    row = row_of(rows, "P8.2")
    assert row["outcome"] == "passed" and row["expected"] == f"round trip +{delay:g} ms"
    assert row["observed"].startswith(f"+{delay:.1f} ms; qdisc netem")


def test_each_delay_of_a_suite_must_have_been_there():
    result = four_phases(90, {"90": put_on(90)})
    result["cells"][3]["delay_ms"] = 30
    row = row_of(benchmark_points.points(result, "db1", RESTORED), "P8.2")
    assert row["outcome"] == "unknown" and row["expected"] == "round trip +30 ms, +90 ms"
    assert "nothing was recorded of 30 ms" in row["reason"]
    result["environment"]["netem"]["30"] = put_on(30)
    assert row_of(benchmark_points.points(result, "db1", RESTORED), "P8.2")["outcome"] == "passed"


@pytest.mark.parametrize(
    "runs,factor,outcome",
    [(5, 1.0, "passed"), (5, 1.5, "failed"), (2, 1.0, "passed"), (2, 1.5, "unknown")],
)
def test_too_few_runs_do_not_tell_that_a_source_stayed_slow(runs, factor, outcome):
    result = benchmarks.four_phases()
    for cell in result["cells"]:
        # The first is the warm-up.
        del cell["repetitions"][runs + 1 :]
    for entry in result["cells"][-1]["repetitions"]:
        entry["seconds"] *= factor
    row = row_of(benchmark_points.points(analysis.analyse(result), "db1", RESTORED), "P8.4")
    assert row["outcome"] == outcome
    assert ("too few runs (2)" in str(row["reason"])) == (outcome == "unknown")


@pytest.mark.parametrize(
    "netem,outcome,words",
    [
        (None, "unknown", "nothing was recorded of 90 ms"),
        ({}, "unknown", "nothing was recorded of 90 ms"),
        ({"90": None}, "unknown", "nothing was recorded of 90 ms"),
        ({"85": put_on(85)}, "unknown", "nothing was recorded of 90 ms"),
        ({"90": put_on(90, shown=[])}, "failed", "+90.0 ms; no qdisc"),
        ({"90": put_on(90, shown=None)}, "failed", "+90.0 ms; no qdisc"),
        (
            {"90": put_on(90, rtt_before={}, rtt_after={})},
            "unknown",
            "no answer to ping; qdisc",
        ),
        (
            {"90": put_on(90, rtt_after=None)},
            "unknown",
            "no answer to ping from 10.0.0.2; qdisc",
        ),
        ({"90": put_on(90, rtt_after=trips(50.3))}, "failed", "+50.0 ms; qdisc"),
        (
            {"90": put_on(90, rtt_before=trips(0.3, 0.3), rtt_after=trips(50.3, None))},
            "failed",
            "+50.0 ms, no answer to ping from 10.0.0.3; qdisc",
        ),
        (
            {"90": put_on(90, rtt_before=trips(0.3, 0.3), rtt_after=trips(90.3, None))},
            "unknown",
            "+90.0 ms, no answer to ping from 10.0.0.3; qdisc",
        ),
        (
            {"90": put_on(90, rtt_before=trips(0.3, 0.3), rtt_after=trips(90.3))},
            "unknown",
            "+90.0 ms, no answer to ping from 10.0.0.3; qdisc",
        ),
    ],
)
def test_a_delay_that_was_not_there_fails_and_one_that_was_not_measured_is_unknown(
    netem, outcome, words
):
    row = row_of(benchmark_points.points(four_phases(90, netem), "db1", RESTORED), "P8.2")
    assert row["outcome"] == outcome
    assert words in row["observed" if outcome == "failed" else "reason"]


@pytest.mark.parametrize(
    "more,outcome,words",
    [
        ({}, "passed", "no netem, status ON, 1 clients"),
        ({"qdiscs_after": None}, "unknown", "the restore did not report whether netem is gone"),
        ({"qdiscs_after": None, "status": "OFF"}, "failed", "status OFF"),
        ({"qdiscs_after": [{"kind": "netem"}], "status": None}, "failed", "netem is left"),
        ({"qdiscs_after": [{"kind": "netem"}]}, "failed", "netem is left"),
        ({"status": "OFF"}, "failed", "status OFF"),
        ({"status": None}, "unknown", "status not known"),
        ({"clients": 0}, "failed", "0 clients"),
    ],
)
def test_the_restore_passes_where_all_of_it_was_seen(more, outcome, words):
    rows = benchmark_points.points(
        four_phases(90, {"90": put_on(90)}), "db1", dict(RESTORED, **more)
    )
    row = row_of(rows, "P8.5")
    assert row["outcome"] == outcome
    assert words in row["reason" if outcome == "unknown" else "observed"]


def test_a_suite_without_a_delay_has_no_point_of_it():
    result = four_phases(0)
    assert "P8.2" not in [row["id"] for row in benchmark_points.points(result, "db1", RESTORED)]


def test_a_delay_is_a_point_also_where_the_cells_carry_none():
    result = analysis.analyse(benchmarks.one_client())
    delays = {cell["delay_ms"] for cell in result["cells"]} - {0}
    result["environment"]["netem"] = {f"{delay:g}": put_on(delay) for delay in delays}
    rows = benchmark_points.points(result, "db1", RESTORED)
    assert [(row["id"], row["outcome"]) for row in rows] == [("P8.2", "passed"), ("P8.5", "passed")]


def test_a_suite_with_neither_points_nor_delays_has_none():
    assert benchmark_points.points(analysis.analyse(benchmarks.clients()), "db1", RESTORED) == []


def test_a_cell_that_does_not_count_leaves_its_point_unknown():
    result = benchmarks.four_phases()
    result["cells"][1]["error"] = "the replica is gone"
    row = row_of(benchmark_points.points(analysis.analyse(result), "db1", RESTORED), "P8.1")
    assert row["outcome"] == "unknown" and "the replica is gone" in row["reason"]
