# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    rulebook,
    rules_heartbeat,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import context
from ansible_collections.dbre.semisync.tests.unit import samples


def beats(server, age=0.5, degraded=()):
    return {
        "rows": 5,
        "unreadable": 0,
        "server": server,
        "number": 5,
        "wall": 1000.0,
        "age": age,
        "spans": [],
        "gaps": [],
        "degraded": list(degraded),
    }


def pair(engine="mysql"):
    """A pair whose source beats."""
    members = samples.pair(engine)
    own = journal.identity(members[0].info["variables"])
    for member in members:
        member.info["heartbeat"] = {"active": True, "enabled": True, "said": "it beats"}
        member.info["beats"] = beats(own)
    return members


def found(members, since="", interval=1):
    entries = rules_heartbeat.heartbeat_findings(members, interval, since)
    return [(entry["id"], entry["host"], entry["severity"]) for entry in entries]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_source_that_beats_is_nothing_to_say(engine):
    members = pair(engine)
    assert found(members) == []
    for member in members:
        del member.info["beats"], member.info["heartbeat"]
    assert found(members, interval=0) == []


STOPPED = ("heartbeat_stopped", "db1", "warning")
ELSEWHERE = [("heartbeat_elsewhere", host, "critical") for host in ("db1", "db2")]


@pytest.mark.parametrize(
    "host,change,expected",
    [
        ("db1", beats("own", age=12.9), []),
        ("db1", beats("own", age=13.5), [STOPPED]),
        ("db1", None, [STOPPED]),
        ("db1", dict(beats(None), age=None), [STOPPED]),
        ("db1", beats("u9"), [STOPPED, ELSEWHERE[0]]),
        ("db1", beats("u9", age=300.0), [STOPPED]),
        ("db2", beats("u9"), [ELSEWHERE[1]]),
        ("db2", beats("u9", age=300.0), []),
        ("db2", None, []),
        # Its lag is found otherwise.
        ("db2", beats("own", age=300.0), []),
    ],
)
def test_only_the_source_beats_and_now(host, change, expected):
    members = pair()
    member = next(one for one in members if one.host == host)
    if change and change["server"] == "own":
        change = dict(change, server=journal.identity(members[0].info["variables"]))
    member.info["beats"] = change
    assert found(members) == expected


@pytest.mark.parametrize(
    "service,words",
    [
        (None, "it is not there"),
        ({"active": False, "enabled": True, "said": ""}, "it does not run"),
        ({"active": True, "enabled": False, "said": ""}, "it is not enabled"),
        (
            {"active": True, "enabled": True, "said": "its login is refused: (1045"},
            "its login is refused: (1045",
        ),
    ],
)
def test_a_service_that_is_wanted_runs_on_every_host(service, words):
    members = pair()
    members[1].info["heartbeat"] = service
    (entry,) = rules_heartbeat.heartbeat_findings(members, 1)
    assert (entry["id"], entry["host"]) == ("heartbeat_service", "db2")
    assert entry["evidence"] == words


def test_a_degraded_time_between_two_runs_is_told_with_its_bounds():
    members = pair()
    time = {"server": "u1", "begin": 0.0, "first": 1.0, "last": 59.0, "end": 60.0, "no_tx": 0}
    own = journal.identity(members[0].info["variables"])
    going_on = dict(time, end=None, alone=3)
    members[0].info["beats"] = beats(own, degraded=[dict(time, alone=7), going_on])
    (entry,) = rules_heartbeat.heartbeat_findings(members, 1)
    said = "from 1970-01-01T00:00:00Z to 1970-01-01T00:01:00Z, 7 commits without an acknowledgement"
    assert (entry["id"], entry["evidence"]) == ("heartbeat_degraded", said)
    assert found(members, since="1970-01-01T00:00:59Z") != []
    assert found(members, since="1970-01-01T00:01:00Z") == []
    unbounded = dict(time, begin=None, alone=None)
    members[0].info["beats"] = beats(own, degraded=[unbounded])
    (entry,) = rules_heartbeat.heartbeat_findings(members, 1)
    assert entry["evidence"].startswith("from at the latest 1970-01-01T00:00:01Z to ")
    assert entry["evidence"].endswith("an unknown number of commits without an acknowledgement")


def test_the_rulebook_asks_if_there_is_to_be_one():
    members = pair()
    members[1].info["heartbeat"] = None
    for seconds, expected in ((0, False), (1, True)):
        entries = rulebook.evaluate(members, settings=Settings({"heartbeat_seconds": seconds}))
        assert ("heartbeat_service" in {entry["id"] for entry in entries}) is expected


def test_the_results_have_the_lag_by_beats():
    members = pair()
    members[1].info["beats"] = dict(beats("u1"), age=None)
    names = {host: one["identity"] for host, one in rules_heartbeat.kept(members).items()}
    assert names == {one.host: journal.identity(one.info["variables"]) for one in members}
    assert rules_heartbeat.line(members).endswith(": db1: 0.5 s, db2: none")
    members[0].info = None
    assert set(rules_heartbeat.kept(members)) == {"db2"}
    members[1].info["beats"] = None
    assert rules_heartbeat.line(members) == ""


@pytest.mark.parametrize(
    ("check_mode", "read", "name"),
    [(False, True, "now"), (False, False, "now"), (True, True, "now"), (False, True, "")],
)
def test_a_role_change_keeps_what_the_rows_say_for_its_report(tmp_path, check_mode, read, name):
    members = pair()
    for member in members if not read else ():
        del member.info["beats"]
    run = types.SimpleNamespace(
        options=types.SimpleNamespace(results_dir=str(tmp_path), run=name),
        name="shop",
        check_mode=check_mode,
        run_file=lambda file: str(tmp_path / file),
    )
    context.RunContext.keep_look(run, members)
    kept = results.read_json(str(tmp_path / "heartbeat.json"), {})
    assert set(kept) == ({"db1", "db2"} if read and name and not check_mode else set())


def test_a_run_that_did_not_ask_for_the_rows_says_nothing_of_them():
    members = pair()
    for member in members:
        del member.info["beats"]
    assert found(members) == []
