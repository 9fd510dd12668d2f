# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses at which a replica tries the others before it is known where they listen."""

from __future__ import annotations

from typing import ClassVar

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    failover_facts,
    log_in,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.look_plan import (
    FirstLookPlan,
    Place,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError


class Module:
    params: ClassVar[dict[str, object]] = {"password": "x", "peer_ssl": "required"}


INFO = {"channel": {"source_host": "10.0.0.1", "source_port": 3307}, "tls": {"on": True}}


def test_each_place_is_tried_once_and_the_source_where_it_is_followed():
    others = [Place("db1", None), Place("10.0.0.1", "3307")]
    found = failover_facts.places_of(others, INFO)
    assert [(one.address, one.port) for one in found] == [("db1", 3306), ("10.0.0.1", 3307)]
    assert {one.tls for one in found} == {True}
    # One that follows no source has no such place.
    assert failover_facts.places_of([], dict(INFO, channel=None)) == []


def test_a_place_that_refuses_has_answered_and_says_why(monkeypatch):
    def connect(address, *_more):
        raise {"db2": ServerError(Exception(1045, "denied")), "db3": ServerError(OSError("gone"))}[
            address
        ]

    monkeypatch.setattr(log_in.login, "connect_to", connect)
    places = [Place(name, 3306) for name in ("db2", "db3")]
    tried = failover_facts.try_all(Module(), "repl", places)
    assert [one["answered"] for one in tried] == [True, False]
    assert "denied" in tried[0]["words"] and "gone" in tried[1]["words"]


def test_a_server_that_breaks_off_meanwhile_is_said_so(monkeypatch):
    def gone(_module):
        raise ServerError(Exception(2013, "Lost connection"))

    monkeypatch.setattr(failover_facts.login, "connect", gone)
    plan = FirstLookPlan([], "repl")
    assert failover_facts.failover_facts(Module(), plan, INFO) == {
        "failed": True,
        "msg": "(2013, 'Lost connection')",
    }


@pytest.mark.parametrize(
    "tls,known,passed", [(True, True, True), (True, False, None), (False, True, None)]
)
def test_only_a_member_that_was_read_is_known_to_have_tls(monkeypatch, tls, known, passed):
    asked = []

    def connect(*words):
        asked.append(words)
        raise ServerError(Exception(1045, "denied"))

    monkeypatch.setattr(log_in.login, "connect_to", connect)
    place = Place("db2", 3306, tls, known)
    failover_facts.reach_place(Module(), "repl", place)
    assert (asked[0][4], asked[0][6]) == (passed, Module.params)


def test_a_server_that_speaks_and_has_no_tls_for_us_has_answered():
    assert failover_facts.answered(ServerError(Exception(2026, "TLS failed")))
    assert not failover_facts.answered(ServerError(Exception(2003, "refused")))
