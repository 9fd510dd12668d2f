# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways on which a former source may come back, and what of its verdict closes each."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import methods
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
    PHANTOMS,
    Judged,
)

LOOK = {
    "down": True,
    "version": "10.11.19-MariaDB-0+deb12u1",
    "log": {"shown": {"lasting": []}},
}


def closed(judged, look=None, engine="mariadb"):
    ways = methods.ways("db1", "db2", judged, LOOK if look is None else look, engine)
    return {one.name: one.closed for one in ways}


def opened(judged, look=None, engine="mariadb"):
    return {name for name, why in closed(judged, look, engine).items() if not why}


def test_each_verdict_has_its_ways():
    assert opened(Judged(CLEAN)) == {"attach", "seed"}
    assert opened(Judged(PHANTOMS, "0-1-5")) == {"truncate", "seed"}
    assert opened(Judged(PHANTOMS, "x:5"), engine="mysql") == {"replay", "seed"}
    assert opened(Judged(CANNOT_TELL, why=("strict",))) == {"seed"}
    assert opened(Judged(CLEAN, hindrances=("db2 has purged what it needs",))) == {"seed"}
    assert "purged" in closed(Judged(CLEAN, hindrances=("db2 has purged",)))["attach"]


@pytest.mark.parametrize(
    "judged,look,words",
    [
        (Judged(CLEAN), LOOK, "nothing to replay"),
        (Judged(CANNOT_TELL, why=("reset",)), LOOK, "verdict"),
        (Judged(PHANTOMS, "x:5"), {"down": True, "log": None, "why": "encrypted"}, "encrypted"),
        (Judged(PHANTOMS, "x:5", hindrances=("db2 has purged",)), LOOK, "purged"),
        (
            Judged(PHANTOMS, "x:5"),
            dict(LOOK, log={"shown": {"lasting": ["x:5"]}}),
            "x:5 cannot be tried",
        ),
    ],
)
def test_a_new_source_takes_over_only_what_can_be_tried_before(judged, look, words):
    assert words in closed(judged, look, engine="mysql")["replay"]


def test_a_new_source_of_mariadb_takes_nothing_over():
    assert "higher sequence numbers" in closed(Judged(PHANTOMS, "0-1-5"))["replay"]


def test_tables_without_transactions_close_the_taking_over_too():
    ways = methods.ways("db1", "db2", Judged(PHANTOMS, "x:5"), LOOK, "mysql", ["app.log"])
    assert "app.log" in next(one.closed for one in ways if one.name == "replay")


def test_a_host_that_could_not_be_asked_has_no_way():
    assert opened(Judged(CANNOT_TELL, why=("unreachable",)), {}) == set()


@pytest.mark.parametrize(
    "version,right",
    [
        # MDEV-33465, by the release notes of each series.
        ("10.5.29", False),
        ("10.6.1", False),
        ("10.6.18", False),
        ("10.6.19", True),
        ("10.11.8", False),
        ("10.11.9", True),
        ("11.0.6", False),
        ("11.1.5", False),
        ("11.1.6", True),
        ("11.2.4", False),
        ("11.2.5", True),
        ("11.3.2", False),
        ("11.4.2", False),
        ("11.4.3", True),
        ("11.5.1", False),
        ("11.5.2", True),
        ("11.6.1", True),
        ("11.8.3", True),
        ("12.0.2", True),
    ],
)
def test_a_mariadb_takes_back_its_logs_end_where_its_release_does_it_right(version, right):
    look = dict(LOOK, version=f"{version}-MariaDB")
    why = closed(Judged(PHANTOMS, "0-1-5"), look)["truncate"]
    assert (not why) is right
    assert right or "MDEV-33465" in why


@pytest.mark.parametrize(
    "more,words",
    [
        ({"down": False}, "runs, and has committed everything"),
        ({"log": None, "why": "encrypted"}, "was not read: encrypted"),
        ({"version": ""}, "is not known"),
        ({"log": {"shown": {"lasting": ["0-1-5", "0-1-6"]}}}, "0-1-5 and others cannot be rolled"),
    ],
)
def test_nothing_is_taken_back_that_cannot_be(more, words):
    assert words in closed(Judged(PHANTOMS, "0-1-5"), dict(LOOK, **more))["truncate"]
