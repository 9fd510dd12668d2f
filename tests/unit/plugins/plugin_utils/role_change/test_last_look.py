# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the looks and the end of a source prove; histories that once led to a false certificate."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    last_look,
    relay_logs,
    survivors,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    LOOK,
    NOW,
    SOURCE,
)

PROVEN, WINDOW, NOT_PROVEN = certificate.VERDICTS
ENGINES = ("mysql", "mariadb")
KILLED = {
    "how": "killed",
    "status": 9,
    "started_ago": 86400.0,
    "stopping_ago": None,
    "ended_ago": 20.0,
}


def upto(engine, number):
    return f"{SOURCE}:1-{number}" if engine == "mysql" else f"0-1-{number}"


def judged(evidence, accepted=()):
    """The certificate when everything was applied."""
    evidence = remnants.frozen(evidence)
    kept = certificate.record("shop", "feed", evidence, cases.decide(evidence, list(accepted)))
    points = [{"id": "C6", "good": True, "observed": "12", "expected": "all"}]
    row = max(int(member.info.get("settings_row") or 0) for member in evidence.members[1:])
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": row}
    return failover_outcome.completed(kept, {kept["to"]: part}, list(accepted), "")


def with_end(evidence, asked_at=NOW - 1, read_at=NOW, log=None, **changes):
    evidence.looks["db1"] = {
        "ended": dict(KILLED, **changes),
        "log": log,
        "asked_at": asked_at,
        "read_at": read_at,
    }
    return evidence


def names(evidence):
    return [case.name for case in cases.decide(evidence).cases]


def looks(engine, *earlier, **changes):
    """A look, and those before it: (seconds before it, how many transactions there were)."""
    kept = [{"at": survivors.stamp(LOOK - ago), "gtid": upto(engine, n)} for ago, n in earlier]
    return remnants.look(engine, past=kept, **changes)


# The looks


@pytest.mark.parametrize("engine", ENGINES)
def test_a_degraded_window_begins_at_the_last_look_that_the_replicas_cover(engine):
    last = looks(engine, (600, 90), (300, 110), status="OFF", gtid=upto(engine, 4000))
    kept = judged(remnants.evidence(engine, last=last), ["degraded"])
    assert kept["verdict"] == WINDOW
    assert kept["window"]["from"] == kept["proven_until"] == survivors.stamp(LOOK - 600)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_degraded_source_without_an_earlier_look_is_not_proven(engine):
    last = looks(engine, (300, 110), status="OFF", gtid=upto(engine, 4000))
    evidence = remnants.evidence(engine, last=last)
    assert "degraded" in names(evidence)
    kept = judged(evidence, ["degraded", "lacks_look"])
    assert (kept["verdict"], kept["window"], kept["proven_until"]) == (NOT_PROVEN, None, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_source_had_at_a_healthy_look_must_be_on_the_candidate(engine):
    last = looks(engine, (300, 100), gtid=upto(engine, 5000))
    evidence = remnants.evidence(engine, last=last)
    assert names(evidence) == ["lacks_look"]
    kept = judged(evidence, ["lacks_look"])
    assert kept["verdict"] == NOT_PROVEN
    assert upto(engine, 5000).rpartition("-")[2] in kept["reasons"][0]
    assert kept["proven_until"] == survivors.stamp(LOOK - 300)


def test_gtids_that_were_not_known_at_the_look_prove_nothing():
    kept = judged(remnants.evidence("mysql", last=looks("mysql", gtid="")))
    assert kept["verdict"] == NOT_PROVEN and kept["reasons"][0].startswith("C4")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_look_proves_nothing_from_the_moment_at_which_the_collection_changed_it(engine):
    spent = survivors.stamp(LOOK + 60)
    kept = judged(remnants.evidence(engine, last=looks(engine, spent_at=spent, spent_why="site")))
    assert (kept["verdict"], kept["window"]["from"]) == (WINDOW, spent)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_controller_s_change_voids_the_look_when_it_is_seen(engine):
    evidence = remnants.evidence(engine)
    evidence.members[1].info["settings_row"] = 7
    kept = judged(evidence)
    assert (kept["verdict"], kept["window"]["from"]) == (WINDOW, survivors.stamp(LOOK))
    evidence = remnants.evidence(engine, last=remnants.look(engine, settings_row=7))
    evidence.members[1].info["settings_row"] = 7
    assert judged(evidence)["verdict"] == PROVEN


def test_a_look_while_another_controller_changes_it_does_not_cover_that_change():
    """What the model found: a look between the row and the change took the row for seen."""
    assert history.settings_row({"settings_row": 7, "settings_open": 7}) == 6
    assert history.settings_row({"settings_row": 9, "settings_open": 7}) == 6
    assert history.settings_row({"settings_row": 9, "settings_open": 0}) == 9
    assert history.settings_row({}) == 0


@pytest.mark.parametrize("row,verdict", [(None, WINDOW), (2, WINDOW), (3, PROVEN), (4, WINDOW)])
def test_a_change_that_shows_when_all_is_applied_takes_the_proof_back(row, verdict):
    evidence = remnants.frozen(remnants.evidence("mysql", last=looks("mysql", settings_row=3)))
    kept = certificate.record("shop", "feed", evidence, cases.decide(evidence))
    points = [{"id": "C6", "good": True, "observed": "12", "expected": "all"}]
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": row}
    kept = failover_outcome.completed(kept, {kept["to"]: part}, [], "")
    assert kept["verdict"] == verdict
    if verdict == WINDOW:
        assert kept["window"]["from"] == kept["proven_until"] == survivors.stamp(LOOK)
        assert kept["window"]["to"] == survivors.stamp(NOW)


@pytest.mark.parametrize("early", [LOOK - 300, None])
def test_a_change_that_shows_late_takes_back_no_more_than_was_proven(early):
    """What the model found: the source was degraded at that look, and had confirmed alone before
    it, as the other controller's change had made it.
    """
    last = looks("mysql", status="OFF", settings_row=3, gtid=upto("mysql", 5000))
    last["past"] = [{"at": survivors.stamp(early), "gtid": upto("mysql", 10)}] if early else []
    evidence = remnants.frozen(remnants.evidence("mysql", last=last))
    accepted = [case.name for case in cases.decide(evidence).cases]
    kept = certificate.record("shop", "feed", evidence, cases.decide(evidence, accepted))
    points = [{"id": "C6", "good": True, "observed": "12", "expected": "all"}]
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": 4}
    done = failover_outcome.completed(kept, {kept["to"]: part}, accepted, "")
    assert done["proven_until"] == kept["proven_until"] == (early and survivors.stamp(early))
    assert done["verdict"] != PROVEN


def test_a_look_at_another_host_with_the_same_server_id_is_at_another_server():
    evidence = remnants.evidence("mariadb", last=remnants.look("mariadb", host="db9"))
    assert "db9" in last_look.unwatched(evidence)
    assert "unwatched" in names(evidence)


# The end


@pytest.mark.parametrize(
    "seen,expected",
    [
        ({}, None),
        # Asked to stop, and killed when that took too long.
        ({"stopping_ago": 300.0}, (NOW - 301, NOW - 20)),
        # That was another stop, before it started last.
        ({"started_ago": 800.0, "stopping_ago": 900.0}, None),
        # No signal that ends a server at once.
        ({"status": 15}, (LOOK, NOW - 20)),
        # mysqladmin shutdown, and SIGKILL after it: the error log knows.
        (
            {"log": {"shutdown": True, "off": False, "dumps": [], "started": False}},
            (LOOK, NOW - 20),
        ),
        (
            {"log": {"shutdown": False, "off": False, "dumps": [], "started": True}},
            (LOOK, NOW - 20),
        ),
        ({"started_ago": 599.0}, (LOOK, NOW - 20)),
    ],
)
def test_a_server_that_may_have_stopped_in_its_own_order_has_a_window(seen, expected):
    evidence = with_end(remnants.evidence("mysql"), **seen)
    lapse = last_look.window(evidence)
    assert (lapse and lapse[:2]) == expected
    assert judged(evidence)["verdict"] == (WINDOW if expected else PROVEN)


def test_a_window_lies_around_what_the_host_said_and_not_around_the_moment_of_judging():
    evidence = with_end(
        remnants.evidence("mysql"), NOW - 9, NOW - 4, how="exited", status=0, stopping_ago=23.0
    )
    window = judged(evidence)["window"]
    assert window["from"] == survivors.stamp(NOW - 9 - 23)
    assert window["to"] == survivors.stamp(NOW - 4 - 20)


def test_an_error_log_that_says_it_was_off_makes_it_degraded():
    log = {"shutdown": False, "off": True, "dumps": [], "started": False}
    evidence = with_end(remnants.evidence("mysql"), log=log)
    assert "degraded" in names(evidence)
    assert judged(evidence, ["degraded"])["window"]["from"] == survivors.stamp(LOOK)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_could_not_be_seen_is_said(engine):
    kept = judged(remnants.evidence(engine))
    said = "; ".join(kept["assumes"])
    assert "changed by hand" in said and "no clean shutdown" in said
    assert ("KILL" in said) == (engine == "mariadb")
    assert said in certificate.verdict_line(kept)
    log = {"shutdown": False, "off": False, "dumps": [], "started": False}
    kept = judged(with_end(remnants.evidence(engine), log=log))
    assert not any("shut down" in words or "stopped" in words for words in kept["assumes"])


# The replicas


def frozen_with(evidence, host, **changes):
    made = remnants.frozen(evidence)
    made.frozen[host].update(changes)
    return made


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replica_that_started_after_it_was_first_read_counts_as_unread(engine):
    evidence = remnants.evidence(engine)
    evidence.members[2].info["variables"]["relay_log_recovery"] = "ON"
    seen = frozen_with(evidence, "db3", server_seconds=4, kernel_seconds=9.0, answered_at=NOW)
    assert "counts as unread: its server started" in relay_logs.missing(seen)["db3"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replica_with_less_than_it_had_counts_as_unread(engine):
    evidence = remnants.evidence(engine)
    before = evidence.members[2].info
    if engine == "mysql":
        first = {
            "gtid": before["gtid"],
            "channel": dict(before["channel"], retrieved=f"{SOURCE}:1-150"),
        }
    else:
        first = {"gtid": before["gtid"], "channel": dict(before["channel"], retrieved="0-1-150")}
    evidence = evidence._replace(first={"db3": first})
    assert "it had" in relay_logs.missing(evidence)["db3"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "now,before,words",
    [
        ([5, 6], 20, None),
        ([5, 21], 20, "restarted after the last look"),
        ([], 20, "does not run"),
        (None, 20, "could not be read"),
        # It was given its number when the look read the replica, or just before.
        ([22], 20, "restarted after the last look"),
        ([5], None, "no two looks have seen it"),
    ],
)
def test_an_applier_that_may_have_been_reset_since_the_look_is_no_witness(
    engine, now, before, words
):
    numbers = {"connection_id": 25, "asked_at": remnants.LOOK}
    seen = {host: {**numbers, "before": before if host == "db3" else 20} for host in ("db2", "db3")}
    evidence = remnants.evidence(engine, last=remnants.look(engine, replicas=seen))
    evidence = frozen_with(evidence, "db3", applier_ids=now)
    gone = relay_logs.missing(evidence)
    assert (words in gone["db3"]) if words else (gone == {})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "machine,words",
    [(60.0, " started at 2026"), (86400.0, "its applier was restarted after the last look")],
)
def test_an_uptime_by_a_clock_that_was_set_forward_hides_no_start(engine, machine, words):
    # A server counts its uptime by its host's wall clock; machines and threads do not.
    evidence = remnants.evidence(engine)
    seen = {"server_seconds": 86400, "kernel_seconds": machine, "answered_at": NOW}
    again = {**seen, "applier_seconds": 55.0, "applier_ids": [5]}
    gone = relay_logs.missing(frozen_with(evidence, "db3", **again))
    assert words in gone.get("db3", "")


def test_who_acknowledged_is_known_by_name_and_a_number_hides_nobody():
    evidence = remnants.evidence("mysql", last=remnants.look("mysql", strangers=1))
    assert not relay_logs.enough(evidence)
    left = remnants.look("mysql", acknowledgers={"db2": {}, "db9": {"server_id": "9"}})
    (words,) = relay_logs.strangers(remnants.evidence("mysql", last=left))
    assert words.startswith("db9")
    log = {"shutdown": False, "off": False, "dumps": [3, 77], "started": False}
    evidence = with_end(remnants.evidence("mysql"), log=log)
    for member in evidence.members[1:]:
        member.info["variables"]["server_id"] = member.host[-1]
    assert relay_logs.strangers(evidence) == ["a replica with server_id 77, after the last look"]


def test_a_delayed_follower_is_named_before_anything_is_touched():
    evidence = remnants.evidence("mysql")
    evidence.members[2].info["channel"]["delay"] = 3600
    (case,) = cases.decide(evidence).cases
    assert case.name == "alone" and "db3: it is delayed by 3600 s" in case.words


def test_rows_that_the_source_did_not_log_are_on_no_replica():
    last = remnants.look("mysql", binlog_filters=["binlog_ignore_db = scratch"])
    evidence = remnants.evidence("mysql", last=last)
    assert names(evidence) == ["unlogged"]
    kept = judged(evidence, ["unlogged"])
    assert kept["verdict"] == NOT_PROVEN and "scratch" in kept["reasons"][0]


FILTERS_UNREAD = "the binary log of db1 left no rows out, though its filters were not read"


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_filters_that_no_look_could_read_are_assumed_away_aloud(engine):
    evidence = remnants.evidence(engine)
    assert FILTERS_UNREAD not in judged(evidence)["assumes"]
    evidence = remnants.evidence(engine, last=remnants.look(engine, binlog_filters=None))
    kept = judged(evidence)
    assert kept["verdict"] == PROVEN and FILTERS_UNREAD in kept["assumes"]


def test_a_machine_that_does_not_say_since_when_it_runs_may_have_lost_its_power():
    """What it said before its IO thread stopped is of before its server's restart."""
    evidence = remnants.evidence("mysql")
    evidence.looks["db3"].update(server_seconds=86400, kernel_seconds=86400.0, read_at=NOW - 60)
    again = {"server_seconds": 4, "kernel_seconds": 9.0, "answered_at": NOW}
    seen = relay_logs.missing(frozen_with(evidence, "db3", **again))
    assert "its machine started" in seen["db3"]
    again["kernel_seconds"] = None
    seen = relay_logs.missing(frozen_with(evidence, "db3", **again))
    assert "whether its machine was started too" in seen.get("db3", "")


# Salvage


@pytest.mark.parametrize(
    "sync,started_ago,name", [("1", 5.0, None), ("100", 86400.0, None), ("100", 5.0, "unsynced")]
)
def test_a_log_that_a_power_cut_may_have_shortened_is_not_trusted(sync, started_ago, name):
    evidence = salvage(sync, [f"{SOURCE}:{number}" for number in range(101, 108)], started_ago)
    assert [case for case in names(evidence) if case.startswith("salvage")] == (
        [f"salvage_{name}"] if name else []
    )


def test_a_log_that_ends_before_the_last_look_is_not_trusted():
    evidence = salvage("1", [f"{SOURCE}:101"], 86400.0, gtid=f"{SOURCE}:1-105")
    assert "salvage_cut_short" in names(evidence)


def salvage(sync, gtids, started_ago, **changes):
    files = {"basename": "/var/lib/mysql/binlog", "datadir": "/var/lib/mysql"}
    last = remnants.look("mysql", status="OFF", files=files, sync_binlog=sync, **changes)
    seen = {"case": "", "words": "", "count": len(gtids), "gtids": gtids, "files": ["x"]}
    evidence = remnants.evidence(
        "mysql",
        last=last,
        salvage=dict(seen, end=1, torn=0, torn_gtid=""),
        settings=samples.settings(failover_to="", failover_accept=[], failover_salvage=True),
    )
    return with_end(evidence, started_ago=started_ago, ended_ago=2.0)
