# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the service that applies what a MariaDB replica had received says, and for how long it
counts.
"""

from __future__ import annotations

import threading

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    received_outcome,
    traces,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, MARIADB = Names("mysql", (8, 4, 0), ()), Names("mariadb", (10, 11, 0), ())


class Server:
    """Answers every statement with the same rows."""

    def __init__(self, rows):
        self.answer = rows

    def rows(self, _statement, _arguments=None):
        return self.answer


@pytest.fixture(name="thread")
def fixture_thread():
    return threading.get_native_id()


def outcome(tid, complete=True):
    ticks = int(traces.fields_of(tid)[traces.STARTED])
    return {
        "outcome": {"complete": complete, "words": "", "applied": 3},
        "applier": {"boot": read_text(received_outcome.BOOT).strip(), "tid": tid, "ticks": ticks},
        "at": 1.0,
    }


@pytest.mark.parametrize(
    "names,rows,change,applied",
    [
        (MARIADB, ["own"], lambda kept: kept, True),
        (MYSQL, ["own"], lambda kept: kept, False),
        (MARIADB, ["own"], lambda kept: None, False),
        (MARIADB, ["own"], lambda kept: {**kept, "applier": None}, False),
        (MARIADB, ["own"], lambda kept: {**kept, "outcome": {"complete": False}}, False),
        # Its applier stopped, or is another; there are two; its number was given again later, or
        # in another boot.
        (MARIADB, [], lambda kept: kept, False),
        (MARIADB, [1], lambda kept: kept, False),
        (MARIADB, ["own", 1], lambda kept: kept, False),
        (
            MARIADB,
            ["own"],
            lambda kept: {**kept, "applier": {**kept["applier"], "ticks": 1}},
            False,
        ),
        (
            MARIADB,
            ["own"],
            lambda kept: {**kept, "applier": {**kept["applier"], "boot": ""}},
            False,
        ),
    ],
)
def test_what_was_received_is_applied_if_the_applier_is_the_one_that_was_started_then(
    monkeypatch, thread, names, rows, change, applied
):
    monkeypatch.setattr(received_outcome, "read_outcome", lambda _port: change(outcome(thread)))
    server = Server([{"tid": thread if tid == "own" else tid} for tid in rows])
    assert received_outcome.received_applied(server, names, {"port": "3306"}) is applied


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mode": "Slave_Pos"}'])
def test_an_outcome_that_cannot_be_read_says_nothing(monkeypatch, tmp_path, text):
    file = tmp_path / "3306.json"
    monkeypatch.setattr(received_outcome, "outcome_path", lambda _port: str(file))
    assert received_outcome.read_outcome(3306) is None
    file.write_text(text, encoding="utf-8")
    assert received_outcome.read_outcome(3306) is None
    assert not received_outcome.received_applied(Server([{"tid": 1}]), MARIADB, {"port": "3306"})


def young(**changes):
    made = {"engine": "mariadb", "variables": {"port": "3306"}, "uptime": {"seconds": 5}}
    return {**made, "clock": 1000.0, **changes}


@pytest.mark.parametrize(
    "info,at,works",
    [
        (young(), 996.0, False),
        (young(), 900.0, True),
        (young(), None, True),
        (young(uptime={"seconds": 86400}), None, False),
        (young(engine="mysql"), None, False),
    ],
)
def test_a_service_that_has_not_spoken_since_the_start_is_waited_for(
    monkeypatch, tmp_path, info, at, works
):
    monkeypatch.setattr(received_outcome, "PATIENCE", 0.3)
    monkeypatch.setattr(received_outcome, "POLL", 0.1)
    kept = None if at is None else {"at": at}
    monkeypatch.setattr(received_outcome, "read_outcome", lambda _port: kept)
    assert not received_outcome.at_work(info), "it is not set up"
    monkeypatch.setattr(received_outcome, "SETTINGS", str(tmp_path / "%s"))
    (tmp_path / "3306").write_text("", encoding="utf-8")
    assert received_outcome.at_work(info) is works
    asked = []
    assert received_outcome.settled(lambda: asked.append(1) or info) is info
    assert (len(asked) > 1) is works
