# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtid_run
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

UUID = "91c92dd4-e5a0-11f1-9b95-0242ac130002"


class FailedError(Exception):
    """In place of the end of the module."""


class Module:
    def __init__(self, step, check_mode=False, **params):
        self.check_mode = check_mode
        self.params = dict({"step": step, "wait": 5, "watch": 60}, **params)

    def fail_json(self, msg, **more):
        raise FailedError(msg)


class Server:
    """A MySQL server with its modes, and transactions without a GTID that end one by one."""

    def __init__(self, consistency="OFF", mode="OFF", anonymous=0):
        self.modes = {"enforce_gtid_consistency": consistency, "gtid_mode": mode}
        self.anonymous, self.ran = anonymous, []

    def pairs(self, statement):
        if "VARIABLES" in statement:
            return self.modes
        if self.anonymous is None:
            return {}
        self.anonymous -= 1
        return {"ongoing_anonymous_transaction_count": str(self.anonymous)}

    def rows(self, statement, arguments=None):
        self.ran.append(statement)
        if "BINLOG_GTID_POS" in statement:
            return [{"BINLOG_GTID_POS(…)": None if arguments[0] == "purged" else b"0-1-42"}]
        if statement.startswith("SHOW"):
            return [{"File": "b.2", "Position": "77", "Executed_Gtid_Set": f"{UUID}:1-5,\n"}]
        return []


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(gtid_run, "POLL_SECONDS", 0)


def test_a_mode_is_set_where_the_server_has_not_come_so_far():
    server = Server("ON", "OFF")
    result = gtid_run.change_mode(Module("off_permissive"), server)
    assert server.ran == result["statements"] == ["SET GLOBAL gtid_mode = OFF_PERMISSIVE"]
    assert result["diff"]["after"] == "gtid_mode = OFF_PERMISSIVE\n"
    again = gtid_run.change_mode(Module("off_permissive"), Server("ON", "ON"))
    assert not again["changed"] and again["statements"] == []


def test_a_mode_is_only_told_in_check_mode():
    server = Server()
    result = gtid_run.change_mode(Module("warn", check_mode=True), server)
    assert result["changed"] and server.ran == []


def test_transactions_without_a_gtid_are_waited_for():
    server = Server(anonymous=4)
    assert not gtid_run.change_mode(Module("drained"), server)["changed"]
    assert server.anonymous == 0


def test_transactions_that_do_not_end_are_named():
    with pytest.raises(FailedError, match="8 transactions without a GTID are still in progress"):
        gtid_run.change_mode(Module("drained", wait=0), Server(anonymous=9))


def test_transactions_that_nobody_counts_are_not_taken_for_none():
    with pytest.raises(ValueError, match="it is not known whether transactions are in progress"):
        gtid_run.change_mode(Module("drained"), Server(anonymous=None))


@pytest.mark.parametrize(
    "rows,seconds",
    [
        ([{"ago": 7.5}], 7.5),
        ([{"ago": None}], 300),  # since the server started
        ([], 4),  # nothing tells
    ],
)
def test_since_when_a_server_warns_is_not_guessed(rows, seconds):
    server = Server()
    server.rows = lambda statement: rows
    assert gtid_run.seconds_warned(server, 300, 4) == seconds


@pytest.mark.parametrize(
    "entries,ago,shown",
    [(14, None, (True, None)), (14, 2.5, (True, 2.5)), (0, None, (False, None))],
)
def test_an_error_log_that_is_not_shown_is_not_a_quiet_one(entries, ago, shown):
    server = Server()
    server.rows = lambda statement, arguments: [{"entries": entries, "ago": ago}]
    assert gtid_run.last_violation(server) == shown


def test_the_place_of_a_mysql_source_is_its_end():
    result = gtid_run.read_source(Module("read_source"), Server(), Names("mysql", (9, 7, 0)))
    assert result["place"] == {"file": "b.2", "position": 77, "gtid": f"{UUID}:1-5,"}


@pytest.mark.parametrize("file,gtid", [("b.1", "0-1-42"), ("purged", None)])
def test_the_place_of_a_mariadb_source_is_its_replicas(file, gtid):
    place = {"file": file, "position": 9, "gtid": "0-1-40"}
    module = Module("read_source", replica_place=place)
    result = gtid_run.read_source(module, Server(), Names("mariadb", (10, 11, 6)))
    assert result["place"] == {"file": file, "position": 9, "gtid": gtid}
