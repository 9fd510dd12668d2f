# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import datetime
import os

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import (
    analysis,
    environment,
    run_begin,
    run_record,
    schedule,
    suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.progress import time_left
from ansible_collections.dbre.semisync.tests.unit import benchmarks


@pytest.mark.parametrize(
    "engine,version,bugs",
    [
        ("mysql", "5.6.11", ["69341", "80651"]),
        ("percona", "5.6.11", ["69341", "80651"]),
        ("mysql", "5.6.12", ["80651"]),
        ("mysql", "9.7.4", []),
        ("mariadb", "10.11.6", ["10.11.7", "33551"]),
        ("mariadb", "5.6.11", []),
    ],
)
def test_a_version_whose_speed_is_a_known_defect_is_named(engine, version, bugs):
    found = environment.defects({"engine": engine, "version": version})
    assert all(any(bug in words for words in found) for bug in bugs), found
    assert (
        found == []
        if not bugs
        else all(f"{engine} {version} has a known defect" in words for words in found)
    )


def test_a_known_defect_stands_among_what_the_benchmark_says():
    document = benchmarks.clients()
    document["environment"]["defects"] = environment.defects(
        {"engine": "mysql", "version": "5.6.11"}
    )
    said = analysis.analyse(document)["statement"]
    assert "semi-sync is slow with many clients" in said[1] and said[1].endswith("69341).")


def test_a_run_that_is_spoiled_afterwards_keeps_no_figure():
    document = analysis.analyse(benchmarks.four_phases())
    cell = document["cells"][2]
    runs = len([entry for entry in cell["repetitions"] if not entry["warm_up"]])
    for number, entry in enumerate(cell["repetitions"]):
        entry["number"] = number
    run_record.spoil(document, cell["id"], number, "netem dropped 3 packets")
    entry = next(one for one in cell["repetitions"] if one["number"] == number)
    assert (entry["valid"], entry["seconds"], entry["rate"]) == (False, None, None)
    assert cell["statistics"]["n"] == runs - 1
    assert cell["reasons"] == [f"netem dropped 3 packets (1 of {runs} repetitions)"]


TEXT = """
title: Ours
repetitions: 2
time_limit: 77
load: {tool: mysqlslap, clients: 4, queries: 100}
cells:
  - {id: a, replication: async}
  - {id: b, replication: semisync, delay_ms: 85, baseline: a, durability: {sync_binlog: 1}}
documented:
  - {what: what others saw, figure: 5 s, found: b}
"""
MOMENT = datetime.datetime(2026, 11, 21, 14, 30, tzinfo=datetime.UTC)
RUN = "2026-11-21T143000.000000Z"


def begun(suite_id="ours", text=TEXT):
    hosts = {"hosts": [benchmarks.host("db1", "source")], "rtt_ms": {}}
    wanted = suite.read_suite(text, "ours.yml", "full")
    return run_begin.begin("shop", suite_id, wanted, "full", hosts, MOMENT)


def loaded(seconds=1.5):
    return dict(benchmarks.repetition(seconds, 100), commits=50)


def test_what_is_kept_has_all_that_a_run_needs_of_its_suite():
    result, wanted = begun(), suite.read_suite(TEXT, "ours.yml", "full")
    assert [dict(cell, repetitions=[]) for cell in wanted["cells"]] == result["cells"]
    assert result["suite"]["time_limit"] == 77
    steps = schedule.remaining_steps(wanted, set())
    assert schedule.expected_seconds(result, steps) == schedule.expected_seconds(wanted, steps)


def test_what_was_published_gets_what_was_found_from_what_is_kept():
    result = begun()
    run_record.add(result, "b", 1, loaded(), MOMENT, 3.0)
    entry = run_record.finish(result, MOMENT)["documented"][0]
    assert (entry["figure"], entry["cell"], entry["found"]) == ("5 s", "b", "1.5 s")


def interrupted(folder, result, name):
    """A run that was interrupted after its first repetition."""
    run_record.add(result, "a", 0, loaded(), MOMENT, 3.0)
    run_record.add(result, "a", 1, loaded(), MOMENT, 3.0)
    results.write_json(os.path.join(folder, RUN, name), result)
    return result


def test_an_interrupted_run_is_gone_on_with(tmp_path):
    interrupted(str(tmp_path), begun(), "benchmark-ours.json")
    run, known = run_begin.unfinished(str(tmp_path), begun())
    assert run == RUN and run_record.done(known) == {("a", 0), ("a", 1)}
    result = run_begin.resume(begun(text=TEXT.replace("Ours", "A new title")), known)
    assert run_record.done(result) == {("a", 0), ("a", 1)}
    assert result["suite"]["title"] == "A new title" and result["cells"][0]["statistics"]["n"] == 1


@pytest.mark.parametrize(
    "old,new",
    [
        ("queries: 100", "queries: 200"),
        ("delay_ms: 85", "delay_ms: 90"),
        ("repetitions: 2", "repetitions: 3"),
    ],
)
def test_a_run_of_another_suite_is_not_gone_on_with(tmp_path, old, new):
    interrupted(str(tmp_path), begun(), "benchmark-ours.json")
    assert run_begin.unfinished(str(tmp_path), begun(text=TEXT.replace(old, new))) == (None, None)


def test_a_run_that_has_ended_is_not_gone_on_with(tmp_path):
    result = run_record.finish(begun(), MOMENT)
    interrupted(str(tmp_path), result, "benchmark-ours.json")
    assert run_begin.unfinished(str(tmp_path), begun()) == (None, None)


def of_format_1(result, former, title):
    """As it was kept while the collection's suites had their former names."""
    older = copy.deepcopy(result)
    older.update(format=1)
    for key in ("reference", "time_limit", "warm_up"):
        del older["suite"][key]
    older["suite"].update(id=former, title=title, document="source.txt")
    for entry in older["documented"]:
        del entry["cell"]
    return older


def test_a_run_that_was_interrupted_under_a_former_name_is_gone_on_with(tmp_path):
    older = of_format_1(begun(), "b4", "B4: many clients")
    interrupted(str(tmp_path), older, "benchmark-b4.json")
    fresh = begun("clients")
    run, known = run_begin.unfinished(str(tmp_path), fresh)
    assert run == RUN and run_record.done(known) == {("a", 0), ("a", 1)}
    path = os.path.join(str(tmp_path), RUN, run_begin.file_name("clients"))
    results.write_json(path, run_begin.resume(fresh, known))
    run_begin.remove_former(path, "clients")
    assert os.listdir(tmp_path / RUN) == ["benchmark-clients.json"]
    assert results.read_json(path, None)["suite"]["time_limit"] == 77
    assert run_begin.unfinished(str(tmp_path), begun("clients"))[0] == RUN


@pytest.mark.parametrize(
    "former,title,expected",
    [
        ("b0", "B0: the four phases", ("four_phases", "the four phases", "B0")),
        ("wan", "WAN: round trips", ("distance", "round trips", "WAN")),
        ("b0", "A file of ours", ("b0", "A file of ours", "source.txt")),
        ("ours", "Ours", ("ours", "Ours", "source.txt")),
    ],
)
def test_what_was_kept_before_is_read_as_if_it_were_kept_now(former, title, expected):
    found = run_begin.upgraded(of_format_1(begun(), former, title))
    assert found["format"] == run_begin.FORMAT and "document" not in found["suite"]
    assert tuple(found["suite"][key] for key in ("id", "title", "reference")) == expected


def test_what_is_kept_now_is_left_as_it_is():
    for value in (begun(), None, [], {"format": 3}):
        assert run_begin.upgraded(value) == value


@pytest.mark.parametrize(
    "share,words", [(0.914, "91 % of the limit"), (None, "the model does not hold here")]
)
def test_a_run_in_a_line_tells_its_share_of_the_limit_where_the_model_holds(share, words):
    cell = dict(benchmarks.four_phases()["cells"][2], model={"limit": 213.0, "share": share})
    run = dict(cell["repetitions"][1], number=1)
    assert run_record.line(cell, run, 3, 24, time_left(120)).endswith(
        f", {words}; about 2 min left"
    )


def test_the_round_trip_of_a_client_host_is_the_sources():
    result = begun()
    result["environment"]["rtt_ms"] = {"db2": 0.4, "db3": None, "db4": 0.3}
    trips = {"10.0.0.2": {"median": 85.6}, "10.0.0.3": {"median": None}}
    run_record.keep_netem(result, 85.0, {"rtt_after": trips, "shown": ["qdisc"], "changed": True})
    assert [run_record.known_trip(result, cell) for cell in result["cells"]] == [0.3, 85.6]
    assert "changed" not in result["environment"]["netem"]["85"]


@pytest.mark.parametrize(
    "trips,reason",
    [
        ({"10.0.0.2": {"median": 85.6}}, ""),
        ({"10.0.0.2": {"median": 3.0}}, "the round trip was 3.0 ms, with a delay of 85 ms"),
        ({"10.0.0.2": {"median": None}}, "no peer answered to ping"),
        ({}, "no peer answered to ping"),
        (None, "no peer answered to ping"),
    ],
)
def test_a_client_hosts_run_whose_delay_nothing_shows_does_not_count(trips, reason):
    result = begun()
    if trips is not None:
        run_record.keep_netem(result, 85.0, {"rtt_after": trips})
    run = run_record.with_known_trip(loaded(), result, result["cells"][1])
    assert run["valid"] == (not reason) and run["reason"].startswith(reason)
    assert (run["seconds"] is None) == bool(reason)
    # Without a delay nothing has to be shown.
    assert run_record.with_known_trip(loaded(), result, result["cells"][0])["valid"]
