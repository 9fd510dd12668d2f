# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that applies what a MariaDB replica had received: what it reads of a relay log, what
it has the server do, and what it never does.
"""

from __future__ import annotations

import importlib.util
import io
import struct
import zlib
from pathlib import Path

import pytest

ROLES = Path(__file__).resolve().parents[3] / "roles"
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SPEC = importlib.util.spec_from_file_location(
    "dbre_semisync_received", ROLES / "received" / "files" / "received.py"
)
assert SPEC and SPEC.loader
program = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

# Written by MariaDB 10.11's IO thread: transactions 96 to 102 of server 1602912117: rows, DDL, a
# table without transactions, a rollback to a savepoint.
RELAY_LOG = (FIXTURES / "mariadb-10.11-relay.binlog").read_bytes()
# Where they begin, and where the last one ends.
BEGINS = (641, 812, 993, 1148, 1351, 1598, 2022)
END = 2184
SERVER = 1602912117


def event(kind, body=b"", server=1, summed=True):
    """An event of a relay log."""
    size = 19 + len(body) + (4 if summed else 0)
    whole = struct.pack("<IBIIIH", 0, kind, server, size, 0, 0) + body
    return whole + (struct.pack("<I", zlib.crc32(whole)) if summed else b"")


def log(*events, algorithm=1):
    description = b"\x04\x00" + b"10.11".ljust(50, b"\0") + bytes([algorithm])
    return program.MAGIC + event(15, description) + b"".join(events)


def gtid(number, domain=0, flags=0):
    return event(162, struct.pack("<QIB", number, domain, flags))


def transaction(number, domain=0):
    return gtid(number, domain) + event(30, b"row") + event(16, b"\0" * 8)


def groups(*files):
    return program.groups_of([(f"r{one}", io.BytesIO(data)) for one, data in enumerate(files)])


def numbers(made):
    return [(one.gtid[0], one.gtid[2], one.end is not None) for one in made]


def test_the_transactions_of_a_real_relay_log_are_read_with_their_places():
    made = groups(RELAY_LOG)
    assert [one.gtid for one in made] == [(0, SERVER, number) for number in range(96, 103)]
    assert tuple(one.start[1] for one in made) == BEGINS
    assert [one.end for one in made] == [("r0", place) for place in (*BEGINS[1:], END)]


@pytest.mark.parametrize("length", range(641, 2184, 13))
def test_a_transaction_that_is_cut_short_is_never_taken_for_whole(length):
    made = groups(RELAY_LOG[:length])
    whole = [one.gtid[2] for one in made if one.end]
    ends = dict(zip(range(96, 103), (*BEGINS[1:], END), strict=True))
    assert whole == [number for number, end in ends.items() if end <= length]


@pytest.mark.parametrize("place", range(645, 2184, 29))
def test_a_damaged_event_ends_what_is_read(place):
    damaged = bytearray(RELAY_LOG)
    damaged[place] ^= 0xFF
    ends = dict(zip(range(96, 103), (*BEGINS[1:], END), strict=True))
    try:
        whole = [one.gtid[2] for one in groups(bytes(damaged)) if one.end]
    except program.NotCoveredError:
        return
    assert whole == [number for number, end in ends.items() if end <= place]


def test_a_transaction_may_span_files_and_the_empty_one_of_a_new_start_follows():
    first = log(transaction(7), gtid(8), event(30, b"row"), event(4, b"\4" + b"\0" * 7 + b"r1"))
    second = log(event(30, b"more"), event(16, b"\0" * 8))
    assert numbers(groups(first, second, log())) == [(0, 7, True), (0, 8, True)]


@pytest.mark.parametrize(
    "files,words",
    [
        ([log(gtid(7), event(30), transaction(8))], "0-1-7 does not end in it"),
        ([log(transaction(7))[:-2], log(transaction(8))], "r0 is damaged"),
        ([log(transaction(7), event(164))], "encrypted"),
        ([log(transaction(7), algorithm=2)], "unknown kind, 2"),
        ([b"\xfdbin" + b"\0" * 40], "does not begin like a relay log"),
    ],
)
def test_a_relay_log_that_cannot_be_trusted_is_not_applied(files, words):
    with pytest.raises(program.NotCoveredError, match=words):
        groups(*files)


@pytest.mark.parametrize(
    "applied,left",
    [
        ("0-1-6", [7, 8, 9]),
        ("0-9-7", [8, 9]),
        ("0-1-9", []),
        ("0-1-12,3-1-1", []),
        ("", [7, 8, 9]),
    ],
)
def test_what_the_server_has_applied_is_not_applied_again(applied, left):
    made = groups(log(transaction(7), transaction(8), transaction(9), gtid(10)))
    rest = program.left_of(made, program.position_of(applied))
    assert [one.gtid[2] for one in rest] == left


@pytest.mark.parametrize(
    "data,applied,words",
    [
        # A domain that was applied ahead of another.
        (log(transaction(7), transaction(3, domain=1)), "1-1-3", "come after others"),
        (log(gtid(7, flags=64 | 1), event(38)), "", "XA"),
        # Without gtid_strict_mode.
        (log(transaction(9), transaction(7)), "0-1-8", "come after others|out of order"),
        (log(transaction(9), transaction(7)), "0-1-6", "out of order"),
    ],
)
def test_what_no_position_separates_is_not_applied(data, applied, words):
    with pytest.raises(program.NotCoveredError, match=words):
        program.left_of(groups(data), program.position_of(applied))


class FakeReplica:
    """A replica with a stopped channel, that applies all that it is given unless it fails."""

    def __init__(self, files, applied="0-1-6", **channel):
        self.files, self.position, self.fails = files, applied, False
        self.statements = []
        self.row = {
            "Slave_IO_Running": "No",
            "Slave_SQL_Running": "No",
            "Using_Gtid": "Slave_Pos",
            "SQL_Delay": 0,
            "Last_SQL_Error": "",
            "Last_SQL_Errno": 0,
            "Relay_Log_File": "r.1",
            "Relay_Log_Pos": 4,
            **channel,
        }

    def rows(self, statement, values=()):
        self.statements.append((statement, *values))
        if statement.startswith("CHANGE MASTER"):
            by_position = "= no," in statement
            self.row["Using_Gtid"] = "No" if by_position else statement.rpartition(" ")[2]
        if "SQL_THREAD" in statement and not self.fails:
            self.position = "0-1-9"
        return []

    def channel(self):
        return dict(self.row)

    def variable(self, _name):
        return "0"

    def applied(self):
        return program.position_of(self.position)

    def relay_log(self):
        if isinstance(self.files, OSError):
            raise self.files
        return [(f"./r.{one}", io.BytesIO(data)) for one, data in enumerate(self.files)]


WHOLE = log(transaction(7), transaction(8), transaction(9))


def recovered(replica, tmp_path):
    kept = program.Kept(str(tmp_path / "3306.json"))
    return program.recover(replica, kept, replica.channel()), kept


def test_it_is_applied_by_position_and_the_channel_returns_to_gtids(tmp_path):
    replica = FakeReplica([WHOLE, log()])
    outcome, kept = recovered(replica, tmp_path)
    assert (outcome.complete, outcome.applied) == (True, 3)
    begin = len(log())
    assert replica.statements == [
        (
            "CHANGE MASTER TO MASTER_USE_GTID = no, RELAY_LOG_FILE = %s, RELAY_LOG_POS = %s",
            "r.0",
            begin,
        ),
        ("START SLAVE SQL_THREAD UNTIL RELAY_LOG_FILE = %s, RELAY_LOG_POS = %s", "r.0", len(WHOLE)),
        ("STOP SLAVE",),
        ("CHANGE MASTER TO MASTER_USE_GTID = Slave_Pos",),
        ("SET GLOBAL relay_log_purge = 0",),
    ]
    # If it dies in between, the next one knows where it came from.
    assert kept.mode() == "Slave_Pos"


def test_one_that_was_interrupted_goes_on_and_returns_to_gtids(tmp_path):
    replica = FakeReplica([WHOLE], applied="0-1-8", Using_Gtid="No")
    program.Kept(str(tmp_path / "3306.json")).begin("Current_Pos")
    outcome, _kept = recovered(replica, tmp_path)
    assert (outcome.complete, outcome.applied) == (True, 1)
    assert replica.statements[-2] == ("CHANGE MASTER TO MASTER_USE_GTID = Current_Pos",)


def test_a_channel_by_position_is_left_as_it_is(tmp_path):
    replica = FakeReplica([WHOLE], Using_Gtid="No")
    assert recovered(replica, tmp_path)[0].complete
    assert replica.statements == []


@pytest.mark.parametrize(
    "replica",
    [
        FakeReplica([log(gtid(7), event(30), transaction(8))]),
        FakeReplica([WHOLE], SQL_Delay=3600),
        FakeReplica(FileNotFoundError("r.0")),
    ],
    ids=["not_understood", "delayed", "missing"],
)
def test_what_cannot_be_applied_is_said_and_nothing_is_changed(replica, tmp_path):
    outcome, _kept = recovered(replica, tmp_path)
    assert not outcome.complete and "cannot be applied by position" in outcome.words
    assert replica.statements == []


def test_an_applier_that_stops_leaves_the_relay_log_where_it_is(tmp_path):
    replica = FakeReplica([WHOLE], Last_SQL_Error="duplicate key", Last_SQL_Errno=1062)
    replica.fails = True
    with pytest.raises(program.NotCoveredError, match="duplicate key"):
        recovered(replica, tmp_path)
    # By GTID the server would discard it.
    assert replica.row["Using_Gtid"] == "No"
    assert ("START SLAVE",) not in replica.statements


@pytest.mark.parametrize(
    "threads,runs",
    [
        (("No", "No"), False),
        (("Yes", "Yes"), True),
        (("Connecting", "No"), True),
        (("No", "Yes"), True),
    ],
)
def test_threads_that_run_already_have_discarded_it(threads, runs):
    row = dict(zip(("Slave_IO_Running", "Slave_SQL_Running"), threads, strict=True))
    assert program.is_running(row) is runs


@pytest.mark.parametrize(
    "text,held", [(None, False), ("[mysqld]\nread_only\n", False), ("skip_slave_start = ON", True)]
)
def test_a_server_that_is_kept_from_replicating_stays_so(tmp_path, text, held):
    file = tmp_path / "zz.cnf"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    assert program.is_held(str(file)) is held


@pytest.mark.parametrize(
    "mode,using,interrupted",
    [("Slave_Pos", "No", True), ("", "No", False), ("Slave_Pos", "Slave_Pos", False)],
)
def test_an_applier_by_position_is_its_own_only_if_it_was_interrupted(
    tmp_path, mode, using, interrupted
):
    kept = program.Kept(str(tmp_path / "3306.json"))
    if mode:
        kept.begin(mode)
    assert program.is_interrupted({"Using_Gtid": using}, kept) is interrupted


def test_what_the_server_filters_counts_as_applied_once_its_applier_is_past_it(tmp_path):
    replica = FakeReplica([WHOLE])
    replica.fails = True
    assert recovered(replica, tmp_path)[0].complete
    assert replica.row["Using_Gtid"] == "Slave_Pos"
    before = FakeReplica([WHOLE], Relay_Log_File="r.0", Relay_Log_Pos=4)
    before.fails = True
    with pytest.raises(program.NotCoveredError, match="no error"):
        recovered(before, tmp_path)


def test_a_channel_that_was_pointed_elsewhere_meanwhile_is_left_alone(tmp_path):
    replica = FakeReplica([WHOLE])
    replica.fails = True
    real = replica.rows

    def switched(statement, values=()):
        made = real(statement, values)
        if "SQL_THREAD" in statement:
            replica.row["Using_Gtid"] = "Slave_Pos"
        return made

    replica.rows = switched
    with pytest.raises(program.OvertakenError):
        recovered(replica, tmp_path)
    assert replica.statements[-1][0].startswith("START SLAVE SQL_THREAD")


def test_an_interrupted_one_whose_relay_log_is_gone_returns_to_gtids(tmp_path):
    replica = FakeReplica(FileNotFoundError("r.0"), Using_Gtid="No")
    program.Kept(str(tmp_path / "3306.json")).begin("Slave_Pos")
    assert not recovered(replica, tmp_path)[0].complete
    assert replica.row["Using_Gtid"] == "Slave_Pos"
