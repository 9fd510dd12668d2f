# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failover refuses, by name, and what can be accepted."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    SOURCE,
    uuid,
)

ENGINES = ("mysql", "mariadb")


def names(evidence):
    return [case.name for case in cases.decide(evidence).cases]


def of(evidence, host):
    return next(member for member in evidence.members if member.host == host)


def gone(evidence, host="db3"):
    of(evidence, host).info = None
    of(evidence, host).error = "unreachable"
    return evidence


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("replicas", [2, 3])
def test_a_dead_source_with_healthy_replicas_is_no_case(engine, replicas):
    assert names(remnants.evidence(engine, replicas)) == []
    assert names(remnants.frozen(remnants.evidence(engine, replicas))) == []


def change(host, **changes):
    """A change of one server: its variables, its channel, its GTIDs."""

    def apply(evidence):
        info = of(evidence, host).info
        for key, value in changes.items():
            place, _dot, name = key.partition("__")
            if place == "uptime":
                info["uptime"]["seconds"] = value
            elif place == "look":
                evidence.looks[host][name] = value
            else:
                info[place][name] = value
        return evidence

    return apply


def source(**result):
    return lambda evidence: evidence._replace(source=result)


def last(**changes):
    return lambda evidence: evidence._replace(last=dict(evidence.last, **changes))


def returns(evidence):
    evidence.looks["db1"]["starting"] = "activating (auto-restart)"
    return evidence


def answers(evidence):
    evidence.looks["db3"]["answered"].append("db1")
    return evidence


def read_source(evidence):
    of(evidence, "db1").info = samples.captured("mysql", "source")
    return evidence


def all_gone(evidence):
    return gone(gone(evidence, "db2"), "db3")


MYSQL = [
    (read_source, "source_answers", False),
    (answers, "source_answers", False),
    # Neither unreachable nor without a server: its state is unknown.
    (source(failed=True, reason="login", msg="access denied"), "source_unclear", False),
    # It listens, and hangs.
    (source(failed=True, reason="silent", msg="no answer"), "source_unclear", False),
    (source(), "source_unclear", False),
    # Killed, and its unit has Restart=: it is back in seconds.
    (returns, "source_unclear", False),
    (all_gone, "no_replica", False),
    (gone, "unread:db3", True),
    (last(strangers=1), "unread:others", True),
    (last(strangers=None, clients="3"), "unread:others", True),
    (change("db3", uptime=300), "restarted:db3", None),
    (change("db3", uptime=300, look__kernel_seconds=300.0), "restarted:db3", True),
    (change("db3", uptime=300, look__kernel_seconds=None), "restarted:db3", True),
    (change("db3", uptime=300, variables__relay_log_recovery="ON"), "restarted:db3", True),
    (
        change("db3", uptime=300, look__kernel_seconds=300.0, variables__sync_relay_log="1"),
        "restarted:db3",
        None,
    ),
    (lambda evidence: evidence._replace(last=None), "unwatched", True),
    (last(server=uuid("db9")), "unwatched", True),
    (last(status=None), "unwatched", True),
    (last(status="OFF"), "degraded", True),
    # A lapse that nothing rules out is the verdict's business.
    (last(timeout="10000"), "degraded", None),
    (change("db2", variables__read_only="OFF"), "writable:db2", False),
    (
        # As after an interrupted failover.
        change("db3", channel__source_uuid=uuid("db2"), channel__source_host="db2"),
        "chain:db3",
        True,
    ),
    (
        change(
            "db3",
            channel__source_uuid="",
            channel__source_server_id=0,
            channel__source_host="db9",
        ),
        "chain:db3",
        False,
    ),
    (change("db3", channel__gtid=False), "by_file:db3", False),
    (change("db2", look__running=True), "busy:db2", True),
    (
        change("db2", gtid__gtid_executed=f"{SOURCE}:1-100,{uuid('db2')}:1-2"),
        "errant:db2",
        True,
    ),
    # Another takes over, and no replica is left to follow it.
    (
        change("db2", channel__last_sql_error="duplicate key", channel__sql_running="No"),
        "alone",
        True,
    ),
    # db2 can follow db3.
    (change("db3", look__reach={"db2": "refused"}), "alone", None),
    (change("db3", semisync__replica={"variables": {"enabled": "OFF"}}), "alone", None),
    (change("db2", gtid__gtid_purged=f"{SOURCE}:1-100"), "purged:db3", None),
]


@pytest.mark.parametrize("changed,name,acceptable", MYSQL)
def test_each_case_has_a_name_and_says_whether_it_can_be_accepted(changed, name, acceptable):
    evidence = changed(remnants.evidence("mysql"))
    found = {case.name: case for case in cases.decide(evidence).cases}
    assert (name in found) == (acceptable is not None)
    if acceptable is None:
        assert found == {}
        return
    assert found[name].acceptable is acceptable
    assert found[name].words and found[name].remedy
    left = [case.name for case in cases.decide(evidence, [name]).refused]
    assert (name in left) is not acceptable


HANGS = source(failed=True, reason="silent", msg="no answer")


@pytest.mark.parametrize(
    "changed,name",
    [(read_source, "source_answers"), (answers, "source_answers"), (HANGS, "source_unclear")],
)
def test_a_source_that_may_live_can_be_left_to_a_hook_that_ends_it_and_to_nothing_else(
    changed, name
):
    def found(fence, lost=lambda evidence: evidence):
        return cases.decide(lost(changed(remnants.evidence("mysql", fence=fence)))).cases

    (alone,) = found("")
    assert (alone.name, alone.acceptable) == (name, False)
    (ahead,) = found(survivors.FENCE_PENDING)
    assert (ahead.name, ahead.acceptable) == (name, True)
    assert "semisync_hook_fence must kill it first" in ahead.remedy
    # A hook that has not ended it.
    (behind,) = found(survivors.FENCE_DONE)
    # Of one that answers it is known that it lives; of the other its tasks' word is all there is.
    assert (behind.name, behind.acceptable) == (name, name == "source_unclear")
    failed = found(survivors.FENCE_DONE, lambda evidence: evidence._replace(unfenced=("db1",)))
    assert (failed[0].name, failed[0].acceptable) == (name, False)
    assert "must not return before it is dead" in behind.remedy
    # No session is ended for a failover that would be refused after that.
    lost = [
        case.name for case in found(survivors.FENCE_PENDING, lambda evidence: gone(evidence, "db2"))
    ]
    assert lost == [name, "unread:db2", "alone"]


@pytest.mark.parametrize("wanted", [False, True])
def test_what_a_degraded_source_has_alone_is_asked_of_its_log_when_it_is_dead(wanted):
    settings = samples.settings(failover_to="", failover_accept=[], failover_salvage=wanted)
    evidence = remnants.evidence(
        "mysql",
        fence=survivors.FENCE_PENDING,
        settings=settings,
        last=remnants.look("mysql", status="OFF"),
    )
    left = [] if wanted else ["degraded"]
    assert names(read_source(evidence)) == ["source_answers", *left]


@pytest.mark.parametrize(
    "changed,expected",
    [
        # Whatever starts again by GTID begins with no relay log there.
        (change("db3", uptime=300), ["restarted:db3"]),
        (change("db3", channel__sql_running="No"), ["applier:db3"]),
        (change("db3", channel__sql_running="No", channel__io_running="No"), ["applier:db3"]),
        (
            change(
                "db3", gtid__gtid_binlog_state="0-1-100,0-3-101", gtid__gtid_slave_pos="0-3-101"
            ),
            ["errant:db3"],
        ),
        (last(server_id="7"), ["unwatched"]),
        # Who acknowledged another server says nothing of this one.
        (last(server_id="7", clients="3"), ["unwatched"]),
        (gone, ["unread:db3", "alone"]),
    ],
)
def test_what_mariadb_adds(changed, expected):
    assert names(changed(remnants.evidence("mariadb"))) == expected


def test_a_mariadb_that_was_started_since_names_nobody_and_the_look_stays():
    """Its channel has server ID 0 until it reaches its source."""
    evidence = remnants.evidence("mariadb")
    for host in ("db2", "db3"):
        change(host, uptime=300, channel__source_server_id="0")(evidence)
    assert names(evidence) == ["restarted:db2", "restarted:db3"]


@pytest.mark.parametrize(
    "engine,first,second",
    [
        ("mysql", f"{SOURCE}:1-99:101", f"{SOURCE}:1-100"),
        ("mariadb", "0-1-100,1-1-5", "0-1-101,1-1-4"),
        # One sequence number, two histories.
        ("mariadb", "0-1-100", "0-9-100"),
    ],
)
def test_sets_that_cannot_be_compared_are_refused_with_their_differences(engine, first, second):
    evidence = remnants.evidence(engine)
    for host, retrieved in (("db2", first), ("db3", second)):
        info = of(evidence, host).info
        info["channel"]["retrieved"] = retrieved
        info["gtid"].update(
            {"gtid_executed": ""} if engine == "mysql" else {"gtid_slave_pos": retrieved}
        )
        if engine == "mysql":
            info["gtid"]["gtid_executed"] = f"{SOURCE}:1-50"
    found = {case.name: case for case in cases.decide(evidence).cases}
    assert "incomparable" in found
    assert "db2 lacks" in found["incomparable"].words
    assert "db3 lacks" in found["incomparable"].words
    assert not found["incomparable"].acceptable


def test_a_replica_without_space_is_freed_and_not_started():
    evidence = gone(remnants.evidence("mysql"))
    of(evidence, "db3").disk_full = "the file system of /var/lib/mysql is full (0 MB left)"
    (case,) = [case for case in cases.decide(evidence).cases if case.name == "unread:db3"]
    assert case.remedy == "free space on its disk, start nothing there, and run this again"


def test_two_acknowledgements_let_one_replica_be_missing():
    evidence = gone(remnants.evidence("mysql", 3, last=remnants.look("mysql", clients="3")), "db4")
    assert names(evidence) == ["unread:db4"]
    evidence.last["wait_for_replica_count"] = "2"
    assert names(evidence) == []
    # One that started since is as good as unread, and then they are two.
    change("db3", uptime=300, look__kernel_seconds=300.0)(evidence)
    assert names(evidence) == ["unread:db4", "restarted:db3"]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_replica_is_no_younger_for_being_judged_long_after_it_was_read(engine):
    evidence = remnants.evidence(engine)
    # It started ten seconds before the last look, and then the source's host took its time.
    age = {"server_seconds": 580, "kernel_seconds": 590.0, "read_at": remnants.NOW - 30}
    evidence.looks["db3"].update(age)
    evidence.members[2].info["uptime"]["seconds"] = 575
    assert names(evidence) == []
    # As many seconds, and read just now: it started after the last look.
    evidence.looks["db3"]["read_at"] = remnants.NOW
    evidence.members[2].info["variables"]["relay_log_recovery"] = "ON"
    assert names(evidence) == ["restarted:db3"]


@pytest.mark.parametrize(
    "wanted,received,expected",
    [
        ("", {"db2": 90, "db3": 100}, "db3"),
        ("db3", {"db2": 100, "db3": 100}, "db3"),
        ("db2", {"db2": 90, "db3": 100}, None),
    ],
)
def test_the_candidate_has_what_any_has_received_whoever_is_named(wanted, received, expected):
    evidence = remnants.evidence("mysql", settings=samples.settings(failover_to=wanted))
    for host, number in received.items():
        # What was applied says the opposite.
        of(evidence, host).info["channel"]["retrieved"] = f"{SOURCE}:1-{number}"
        of(evidence, host).info["gtid"]["gtid_executed"] = f"{SOURCE}:1-{190 - number}"
        of(evidence, host).info["gtid"]["gtid_executed"] = f"{SOURCE}:1-{min(90, 190 - number)}"
    chosen = successor.candidate_of(evidence)
    assert (chosen.host if chosen else None) == expected
    assert names(evidence) == ([] if expected else ["lacks:db2"])


def test_one_that_has_everything_and_cannot_take_over_leaves_it_to_another():
    evidence = remnants.evidence("mysql")
    change("db2", look__filters=["Replicate_Do_DB = shop"])(evidence)
    assert successor.candidate_of(evidence).host == "db3"
    change("db3", channel__delay=60)(evidence)
    assert successor.candidate_of(evidence) is None
    assert names(evidence) == ["unusable:db2", "unusable:db3"]


def test_a_candidate_that_could_not_be_looked_at_is_not_taken_for_one_that_applies_everything():
    evidence = remnants.evidence("mysql")
    for host in ("db2", "db3"):
        evidence.looks[host].update(failed=True, msg="Lost connection")
    assert names(evidence) == ["unusable:db2", "unusable:db3"]


def test_a_pair_goes_on_only_where_somebody_takes_it_upon_themselves_that_nobody_acknowledges():
    evidence = remnants.evidence("mysql", 1, last=remnants.look("mysql", acknowledgers={}))
    assert names(evidence) == ["alone"]
    assert cases.decide(evidence, ["alone"]).refused == []


@pytest.mark.parametrize(
    "changes,stopped,named",
    [
        ({"look__received_applied": False}, {}, True),
        ({"look__received_applied": True}, {}, False),
        # Its machine lost its power, too: what counts is whether the relay log was on the disk.
        ({"look__received_applied": True, "look__kernel_seconds": 300.0}, {}, True),
        (
            {
                "look__received_applied": True,
                "look__kernel_seconds": 300.0,
                "variables__sync_relay_log": "1",
            },
            {},
            False,
        ),
        # Its applier was restarted after the first look.
        ({"look__received_applied": True}, {"received_applied": False}, True),
        ({"look__received_applied": False}, {"received_applied": True}, False),
    ],
)
def test_a_mariadb_that_applied_what_it_had_received_before_it_started_has_lost_nothing(
    changes, stopped, named
):
    evidence = change("db3", uptime=300, **changes)(remnants.evidence("mariadb"))
    if stopped:
        evidence = remnants.frozen(evidence)
        evidence.frozen["db3"].update(stopped)
    assert (names(evidence) == ["restarted:db3"]) is named
