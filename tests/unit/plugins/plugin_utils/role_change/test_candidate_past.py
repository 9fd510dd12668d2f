# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    ranking,
    survivors,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

NOTHING_ALONE = "db1 has confirmed nothing without a replica"


def said(engine="mysql", last=None, change=None):
    evidence = remnants.evidence(engine)
    if change:
        change(evidence.members)
    return ranking.past(evidence.members, last, remnants.NOW)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize(
    "changes,words",
    [
        ({}, "its timeout has not passed since the last look"),
        ({"timeout": "10000"}, f"before {survivors.stamp(remnants.LOOK + 10)}; after that"),
        ({"status": "OFF"}, "was degraded at the last look"),
    ],
)
def test_what_the_source_may_have_confirmed_alone(engine, changes, words):
    (line,) = said(engine, remnants.look(engine, **changes))
    assert words in line


def test_without_a_look_nobody_knows():
    (line,) = said(last=None)
    assert "without a replica: no run of verify.yml has kept a look at db1" in line


@pytest.mark.parametrize(
    "engine,words",
    [("mysql", "whether its machine was started too"), ("mariadb", "MDEV-4698")],
)
def test_a_replica_that_was_started_since_is_named(engine, words):
    def started(members):
        members[2].info["uptime"] = {"seconds": 60, "since_reset": 60}

    first, last = said(engine, remnants.look(engine), started)
    assert first.startswith("db3 may lack what it acknowledged") and words in first
    assert last.startswith(NOTHING_ALONE)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_what_a_replica_may_have_lost_is_not_said_to_be_on_another(engine):
    members = remnants.evidence(engine).members
    last = remnants.look(engine)

    def statement(needed):
        doubtful = list(ranking.may_lack(members, last, remnants.NOW))
        return doubtful, " ".join(ranking.rank(members, needed, doubtful)["statement"])

    assert statement(1)[0] == [] and "Every commit that a replica" in statement(1)[1]
    members[2].info["uptime"] = {"seconds": 60, "since_reset": 60}
    doubtful, words = statement(1)
    assert doubtful == ["db3"] and "Every commit" not in words
    assert "A commit that only db3 acknowledged may be on no replica" in words
    # With another that acknowledged it, it is there.
    assert "Every commit that a replica" in statement(2)[1]


def test_nothing_is_said_where_no_replica_was_read():
    def unread(members):
        for member in members:
            member.info = None

    assert said(last=remnants.look("mysql"), change=unread) == []
