# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    kinds_lossless,
    rulebook,
    rules_lossless,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
LOSSLESS = durability_mode.with_promise(samples.settings(promise="lossless"))
ALONE = Settings(promise="lossless")


def lossless(engine):
    members = samples.pair(engine)
    samples.carry_out(members, LOSSLESS)
    members[1].channel.update(tls=True, tls_ca="/etc/ca.pem")
    return members


def found(members, wanted=LOSSLESS):
    return {
        (entry["id"], entry["host"], entry["severity"]): entry["evidence"]
        for entry in rulebook.evaluate(members, settings=wanted)
    }


def of_source(members, part):
    return members[0].info["semisync"]["source"][part]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lossless_pair_has_no_finding_at_all(engine):
    assert found(lossless(engine)) == {}
    # What is a warning elsewhere is the promise here.
    assert ("timeout_freezes_writers", "db1", "warning") in found(lossless(engine), None)


CASES = [
    (
        ("promise_not_kept", "db1", "critical"),
        lambda members: of_source(members, "variables").update(timeout="10000"),
        "timeout is 10000 ms",
    ),
    (
        ("promise_not_kept", "db1", "critical"),
        lambda members: of_source(members, "variables").update(wait_no_replica="OFF"),
        "is OFF: without enough replicas",
    ),
    (
        ("promise_not_kept", "db2", "critical"),
        lambda members: members[1].info["variables"].update(sync_relay_log="10000"),
        "sync_relay_log is 10000",
    ),
    (
        ("starts_writable", "db1", "warning"),
        lambda members: members[0].info["option_files"]["options"].pop("read_only"),
        "read_only is OFF (server's default, no option file sets it)",
    ),
    (
        ("starts_writable", "db2", "warning"),
        lambda members: members[1].info["option_files"]["options"].update(read_only="0"),
        "read_only is 0 (option file)",
    ),
    (
        ("source_closed", "db1", "critical"),
        lambda members: members[0].info["variables"].update(read_only="ON"),
        "read_only is ON",
    ),
    (
        ("writers_frozen", "db1", "critical"),
        lambda members: of_source(members, "status").update(clients="0", wait_sessions="7"),
        "wait_sessions is 7",
    ),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row,change,words", CASES)
def test_what_breaks_the_promise_or_follows_from_it_is_said(engine, row, change, words):
    members = lossless(engine)
    change(members)
    assert words in found(members)[row]
    # A host that speaks for a source that was not read knows the promise alone.
    assert row in found(members, ALONE)
    # By either promise a source that is closed is one.
    assert (row in found(members, samples.SETTINGS)) is (row[0] == "source_closed")


def test_every_kind_has_a_case():
    assert {row[0] for row, _change, _words in CASES} == set(kinds_lossless.TABLE)


@pytest.mark.parametrize("clients,waiting", [("1", "7"), ("0", "0"), (None, "7")])
def test_writers_are_frozen_where_they_wait_and_too_few_acknowledge(clients, waiting):
    members = lossless("mysql")
    of_source(members, "status").update(clients=clients, wait_sessions=waiting)
    assert "writers_frozen" not in {kind for kind, _host, _severity in found(members)}


def test_what_a_lossless_cluster_is_not_told_is_said_otherwise():
    members = lossless("mysql")
    of_source(members, "variables").update(wait_no_replica="OFF")
    members[1].info["variables"]["sync_relay_log"] = "10000"
    kinds = {kind for kind, _host, _severity in found(members)}
    assert not kinds & set(rules_lossless.SAID_HERE) and "promise_not_kept" in kinds


def test_a_source_may_still_count_a_replica_that_has_stopped():
    members = lossless("mysql")
    of_source(members, "status").update(clients="1", wait_sessions="7")
    frozen = ("writers_frozen", "db1", "critical")
    assert frozen not in found(members)
    members[1].channel["io_running"] = "No"
    assert "0 replica(s) acknowledge" in found(members)[frozen]
    # One that was not read may acknowledge what the others do not.
    members[1].info, members[1].error = None, "unreachable"
    assert frozen not in found(members)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_closed_source_that_nothing_opens_is_told_what_to_do(engine):
    members = samples.pair(engine)
    members[0].info["variables"]["read_only"] = "NO_LOCK" if engine == "mariadb" else "ON"
    (entry,) = [one for one in rulebook.evaluate(members) if one["id"] == "source_closed"]
    assert entry["severity"] == "critical" and "1290" in entry["why"]
    assert "SET GLOBAL read_only = 0" in entry["remedy"] and "site.yml" not in entry["remedy"]


@pytest.mark.parametrize(
    "running,start,said", [("ON", None, True), ("OFF", "ON", True), ("ON", "OFF", False)]
)
def test_a_lossless_replica_that_would_throw_away_what_it_received_is_said(running, start, said):
    for engine in ("mysql", "mariadb"):
        members = lossless(engine)
        info = members[1].info
        info["variables"]["relay_log_recovery"] = running
        if start:
            info["persisted"]["relay_log_recovery"] = start
        else:
            info["option_files"]["options"]["relay_log_recovery"] = running
        words = found(members).get(("promise_not_kept", "db2", "critical"), "")
        # MariaDB fetches anew at each start whatever it says.
        assert ("relay_log_recovery is ON" in words) is (said and engine == "mysql")


@pytest.mark.parametrize(
    "engine,now,said",
    [
        ("mariadb", {"stands": False}, True),
        ("mariadb", {"stands": True}, False),
        ("mariadb", None, False),
        ("mysql", None, False),
    ],
)
def test_a_lossless_mariadb_that_would_discard_what_it_received_is_said(engine, now, said):
    members = lossless(engine)
    members[1].info["received"] = now
    words = found(members).get(("promise_not_kept", "db2", "critical"), "")
    assert ("MDEV-4698" in words) is said
