# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a failover would take is reported, and unknown figures are not made up."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import backlog, rulebook
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import ranking
from ansible_collections.dbre.semisync.tests.unit import samples

SEEN = {"unit": "transactions", "left": 9000, "applied": 60, "seconds": 1.0, "busy": True}


def pair(channel=None, **changes):
    members = samples.pair("mysql")
    members[1].info["backlog"] = dict(SEEN, **changes)
    members[1].channel.update(channel or {})
    return members


def found(members, most=60.0):
    return [
        (entry["severity"], entry["evidence"])
        for entry in rulebook.evaluate(members, failover_limit=most)
        if entry["id"] == "failover_slow"
    ]


TABLE = [
    ({}, {}, "9000 transactions to apply, about 150.0 s at 60 a second"),
    ({}, {"busy": False}, "9000 transactions to apply, at most 150.0 s at 60 a second"),
    ({}, {"left": 0, "applied": None, "seconds": None}, "nothing to apply"),
    (
        {},
        {"applied": 0, "seconds": 3.02},
        "9000 transactions to apply, how long that takes is not known: it applied nothing in 3.0 s",
    ),
    (
        {"sql_running": "No", "last_sql_error": "Duplicate entry"},
        {"applied": None, "seconds": None},
        "9000 transactions to apply, how long that takes is not known: its applier has stopped:"
        " Duplicate entry",
    ),
    (
        {"delay": 3600},
        {"applied": None, "seconds": None},
        "9000 transactions to apply, how long that takes is not known: it is delayed by 3600 s",
    ),
    (
        {},
        {"left": None, "unit": "bytes"},
        "an unknown number of bytes to apply, how long that takes is not known: what it has to"
        " apply is in several files",
    ),
]


@pytest.mark.parametrize("channel,changes,words", TABLE)
def test_what_is_known_is_said(channel, changes, words):
    members = pair(channel, **changes)
    assert backlog.line(members).endswith(f": db2: {words}")
    member = members[1]
    assert backlog.estimate_text(backlog.of_member(member)) == words


@pytest.mark.parametrize("count,least", [(1, 2), (2, 1)])
def test_how_many_replicas_would_have_to_be_read_is_said_where_there_are_several(count, least):
    members = pair()
    assert "would have to read" not in backlog.line(members)
    other = samples.member("db3", "replica", samples.captured("mysql", "replica"))
    running = members[0].info["semisync"]["source"]["variables"]
    running["wait_for_replica_count"] = str(count)
    words = backlog.line([*members, other])
    assert f"read {least} of 2 replicas, as a commit waits for {count}" in words


def test_nothing_is_said_where_nobody_has_measured():
    members = samples.pair("mysql")
    assert backlog.line(members) == "" and found(members) == []
    members[1].info["backlog"] = None
    assert backlog.line(members) == ""


def test_a_failover_that_would_take_long_is_a_finding_from_the_limit_on():
    assert [severity for severity, _words in found(pair())] == ["warning"]
    assert [severity for severity, _words in found(pair(), 150.0)] == ["warning"]
    assert found(pair(), 150.1) == []
    # It may be faster than it was seen to be.
    assert found(pair(busy=False)) == []


def test_what_is_unknown_is_a_note_and_an_applier_that_stopped_a_finding_of_its_own():
    ((severity, words),) = found(pair(applied=0, seconds=3.0))
    assert severity == "info" and "not known" in words
    stopped = pair({"sql_running": "No"}, applied=None, seconds=None)
    assert found(stopped) == []
    assert "applier_stopped" in {entry["id"] for entry in rulebook.evaluate(stopped)}


def test_the_candidate_says_how_long_it_would_apply():
    members = pair()
    members[1].channel["retrieved"] = "91c92dd4-e5a0-11f1-9b95-0242ac130099:1-9000"
    words = " ".join(ranking.rank(members, 1)["statement"])
    assert "9000 transactions to apply, about 150.0 s" in words
