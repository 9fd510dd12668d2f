# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis, throughput_limit
from ansible_collections.dbre.semisync.tests.unit import benchmarks


def analysed(benchmark):
    found = analysis.analyse(benchmark)
    return found, {cell["id"]: cell for cell in found["cells"]}


def test_the_four_phases():
    found, cells = analysed(benchmarks.four_phases())
    assert [cell["statistics"]["median"] for cell in found["cells"]] == [2.91, 3.07, 13.1, 2.9]
    assert cells["async"]["ratio"] is None and cells["async"]["model"] is None
    assert cells["semisync-90ms"]["ratio"]["value"] == pytest.approx(13.1 / 2.91)
    assert cells["semisync-90ms"]["ratio"]["words"] == "4.5 times as long"
    assert cells["async-90ms"]["ratio"]["words"] == "no measurable difference"
    # 520 of 1000 queries commit, after 100 before the clock ran: 10 clients at 90.3 ms.
    assert cells["semisync-90ms"]["model"]["limit"] == pytest.approx(10 / (0.52 * 0.0903))
    assert found["statement"][0] == "All 4 cells count."
    assert found["statement"][4].startswith(
        "asynchronous, 90 ms: median 2.9 s (95 % interval 2.86 to 2.99, 5 repetitions); "
        'against "asynchronous" no measurable difference (ratio '
    )


def test_one_client_at_85_ms_reaches_the_limit():
    found, cells = analysed(benchmarks.one_client())
    far = cells["semisync-85ms"]
    assert far["statistics"]["metric"] == "rate" and far["statistics"]["unit"] == "/s"
    # The asynchronous client at the same delay is the one it is compared with.
    single = cells["async-85ms"]["statistics"]["median"]
    assert far["model"]["limit"] == pytest.approx(1 / (1 / single + 0.0854))
    assert 0.95 < far["model"]["share"] <= 1.02
    assert "that a round trip of 85.4 ms allows one client" in found["statement"][-1]
    assert far["latency_ms"]["p50"] < far["latency_ms"]["p99"] <= far["latency_ms"]["max"]


def test_warm_up_and_invalid_repetitions_never_count():
    benchmark = benchmarks.four_phases()
    one = benchmark["cells"][0]
    one["repetitions"].append(
        benchmarks.repetition(99.0, 1000, valid=False, reason="the source fell back")
    )
    _dummy, cells = analysed(benchmark)
    found = cells["async"]
    assert found["valid"] and found["statistics"]["n"] == 5 and found["statistics"]["max"] == 3.02
    assert found["reasons"] == ["the source fell back (1 of 6 repetitions)"]
    assert "left out: the source fell back (1 of 6 repetitions)" in benchmark["statement"][1]


def test_a_cell_most_of_which_does_not_count_is_invalid_and_nothing_is_compared_with_it():
    benchmark = benchmarks.four_phases()
    for entry in benchmark["cells"][0]["repetitions"][1:4]:
        entry.update(valid=False, reason="netem dropped 3 packets")
    found, cells = analysed(benchmark)
    assert not cells["async"]["valid"] and cells["async"]["statistics"] is None
    assert cells["semisync"]["ratio"] is None
    assert found["statement"][:2] == [
        "3 of 4 cells count.",
        "asynchronous does not count: netem dropped 3 packets (3 of 5 repetitions).",
    ]


@pytest.mark.parametrize(
    "change,reason",
    [
        ({"repetitions": []}, "not measured yet"),
        ({"error": "sysbench is not installed"}, "sysbench is not installed"),
    ],
)
def test_a_cell_without_figures_says_why(change, reason):
    benchmark = benchmarks.four_phases()
    benchmark["cells"][1].update(change)
    _dummy, cells = analysed(benchmark)
    assert cells["semisync"]["valid"] is False and cells["semisync"]["reasons"] == [reason]
    assert cells["semisync"]["model"] is None and cells["semisync"]["rtt_ms"] is None


def test_analysing_again_changes_nothing():
    once = analysis.analyse(benchmarks.one_client())
    assert analysis.analyse(copy.deepcopy(once)) == once
    json.dumps(once, allow_nan=False)


def test_a_run_that_goes_on_says_so():
    benchmark = benchmarks.four_phases()
    benchmark.update(complete=False, ended=None)
    benchmark["cells"][3]["repetitions"] = []
    assert "The run is not complete" in analysis.analyse(benchmark)["statement"][0]


@pytest.mark.parametrize(
    "name,metric",
    [
        ("four_phases", "seconds"),
        ("one_client", "rate"),
        ("row_latency", "rate"),
        ("durability", "rate"),
        ("clients", "rate"),
    ],
)
def test_what_a_suite_is_measured_by(name, metric):
    benchmark = getattr(benchmarks, name)()
    assert analysis.metric_of(benchmark) == metric
    benchmark["suite"]["metric"] = "seconds"
    assert analysis.metric_of(benchmark) == "seconds"


def test_old_servers_read_one_acknowledgement_a_round_trip():
    benchmark = benchmarks.four_phases()
    benchmark["environment"]["hosts"][0]["version"] = "5.6.11"
    _dummy, cells = analysed(benchmark)
    assert cells["semisync-90ms"]["model"]["limit"] == pytest.approx(1 / (0.52 * 0.0903))


def test_commits_before_the_clock_ran_leave_the_limit_alone():
    """Figures of 5.5.62 with 90 ms, which were told as 19/s where 11/s were possible."""
    benchmark = benchmarks.four_phases()
    benchmark["environment"]["hosts"][0]["version"] = "5.5.62"
    for entry in benchmark["cells"][2]["repetitions"]:
        entry.update(seconds=52.7, rate=1000 / 52.7, commits=653, rtt_ms=90.5)
    _dummy, cells = analysed(benchmark)
    assert cells["semisync-90ms"]["model"]["share"] == pytest.approx(0.95, abs=0.005)


def test_local_commits_of_old_servers_go_on_side_by_side():
    """5.5.62 reached 1395/s with 50 clients, which was told as 407 % of 343/s: one client's local
    commit and its round trip, one after another.
    """
    benchmark = benchmarks.clients()
    benchmark["environment"]["hosts"][0]["version"] = "5.5.62"
    rates = {"off-1": 357.4, "off-50": 9000.0, "on-50": 1395.0}
    benchmark["cells"] = [cell for cell in benchmark["cells"] if cell["id"] in rates]
    for cell in benchmark["cells"]:
        for entry in cell["repetitions"]:
            rate = rates[cell["id"]]
            entry.update(seconds=5000 / rate, rate=rate, rtt_ms=0.12, commits=5100)
    _dummy, cells = analysed(benchmark)
    model = cells["on-50"]["model"]
    assert model["limit"] == pytest.approx(1 / 0.00012) and model["share"] < 0.2
    in_turn = throughput_limit.limit(50, 0.12, 357.4, 9000.0, turns=throughput_limit.COMMITS)
    assert cells["on-50"]["statistics"]["median"] / in_turn == pytest.approx(4.07, rel=0.01)


@pytest.mark.parametrize(
    "rtt_ms,words",
    [
        # Ten clients: at most 10 / 0.52 / 0.25 s.
        (
            250,
            "the model does not hold here: 1,000/s is more than the 76.9/s that a round trip of"
            " 250 ms allows 10 clients (from the round trip only: one asynchronous client was not"
            " measured).",
        ),
        (
            0.3,
            "the model does not hold here: 1,000/s is more than the 344/s of asynchronous"
            " replication, which a round trip of 0.3 ms would allow.",
        ),
    ],
)
def test_a_cell_faster_than_its_limit_refutes_the_model_in_place_of_a_percentage(rtt_ms, words):
    benchmark = benchmarks.four_phases()
    for entry in benchmark["cells"][1]["repetitions"]:
        entry.update(seconds=1.0, rate=1000.0, rtt_ms=rtt_ms)
    found, cells = analysed(benchmark)
    assert cells["semisync"]["model"]["share"] is None
    said = found["statement"][2].replace("; 620 commits, yes_tx +0", "")
    assert said.endswith(words) and " % of the " not in said


def test_the_asynchronous_rate_is_that_of_the_same_durability():
    _dummy, cells = analysed(benchmarks.durability())
    for name in ("network-1", "both-1"):
        base = cells[{"network-1": "none-1", "both-1": "local-1"}[name]]["statistics"]["median"]
        assert cells[name]["model"]["limit"] == pytest.approx(1 / (1 / base + 0.00031))


def test_the_huge_timeout_makes_no_difference():
    _dummy, cells = analysed(benchmarks.clients())
    assert cells["huge-100"]["ratio"]["to"] == "on-100"
    assert cells["huge-100"]["ratio"]["words"] == "no measurable difference"


@pytest.mark.parametrize(
    "metric,value,words",
    [
        ("seconds", 19.27, "19.3 times as long"),
        ("seconds", 1.24, "24 % longer"),
        ("seconds", 0.8, "20 % shorter"),
        ("rate", 0.0286, "2.86 % of the rate"),
        ("rate", 0.8, "20 % slower"),
        ("rate", 1.1, "10 % faster"),
        ("rate", 3, "3 times the rate"),
    ],
)
def test_ratios_for_people(metric, value, words):
    assert analysis.comparison(metric, value) == words


@pytest.mark.parametrize(
    "entries,words",
    [
        (
            [
                {"commits": 653, "counters": {"yes_tx": 272, "no_tx": 0, "net_waits": 350}},
                {"commits": 653, "counters": {"yes_tx": 224, "no_tx": 0, "net_waits": 395}},
            ],
            "653 commits, yes_tx +248, net_waits +372",
        ),
        ([{"commits": None, "counters": {"yes_tx": 1000}}], "yes_tx +1,000"),
        ([{"commits": 5}], "5 commits"),
        ([], ""),
    ],
)
def test_how_many_commits_shared_an_acknowledgement(entries, words):
    assert analysis.acknowledged_in_words(entries) == words


def test_a_semisync_cell_tells_its_acknowledgements_and_an_asynchronous_one_none():
    document = benchmarks.four_phases()
    for cell in document["cells"]:
        for entry in cell["repetitions"]:
            entry.update(commits=653, counters={"yes_tx": 272, "net_waits": 350})
    said = analysis.analyse(document)["statement"][1:]
    told = ["653 commits, yes_tx +272, net_waits +350" in words for words in said]
    assert told == [cell["replication"] == "semisync" for cell in document["cells"]]
