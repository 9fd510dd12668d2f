# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies what a MariaDB replica had received before its server stopped, and starts replication.

A replica by GTID discards its relay log when its threads start (MDEV-4698), with transactions that
it has acknowledged. So its server starts with skip_slave_start, and this service reads the relay
log, has the server apply it by position, and only then starts the threads by GTID.

It logs in to its server as the system account of the server (unix_socket). Its argument is a file
with its settings.
"""

from __future__ import annotations

import json
import os
import pwd
import struct
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import pymysql
import pymysql.cursors

MAGIC = b"\xfebin"
# Timestamp, type, server_id, size, next position, flags (MariaDB KB, "2-Binlog Event Header").
HEADER = struct.Struct("<IBIIIH")
# seq_no, domain_id, flags (MariaDB KB, "GTID_EVENT").
GTID = struct.Struct("<QIB")
QUERY, XID, XA_PREPARE, DESCRIPTION, GTID_EVENT, ENCRYPTION = 2, 16, 38, 15, 162, 164
# What precedes the only event of a group without an end: INTVAR, RAND, USER_VAR, ANNOTATE_ROWS.
PREFIXES = (5, 13, 14, 160)
STANDALONE, PREPARED_XA, COMPLETED_XA = 1, 64, 128
TORN = -1
CHECKSUM = 4
ENDS = (b"COMMIT", b"ROLLBACK")
# Seconds between two looks at the applier, and until one that was started runs.
POLL, STARTING = 0.1, 5
# Of the fields behind a thread's name in /proc/TID/stat, when it was started (proc(5)).
STARTED = 19
NO_GTID = "No"


class NotCoveredError(Exception):
    """The relay log cannot be applied by position; the text says why."""


class OvertakenError(Exception):
    """A role change or a person has changed the channel; the text says what was seen."""


class Group(NamedTuple):
    """A transaction of a relay log.

    Attributes:
        gtid: domain, server and number.
        start: file and position of its first event.
        end: after its last event; None if the relay log ends before.
        xa: whether it prepares or ends an XA transaction.
    """

    gtid: tuple[int, int, int]
    start: tuple[str, int]
    end: tuple[str, int] | None
    xa: bool


class Event(NamedTuple):
    """An event; kind TORN for the rest of a file that does not end with a whole one."""

    kind: int
    server: int
    start: int
    end: int
    body: bytes


def events_of(stream: BinaryIO) -> Iterator[Event]:
    """The whole events of a file; a server that died may have left the last one unfinished.

    Raises:
        NotCoveredError: the events are encrypted, or the file is no relay log.
    """
    magic = stream.read(len(MAGIC))
    if magic != MAGIC:
        if MAGIC.startswith(magic):
            return
        raise NotCoveredError("it does not begin like a relay log")
    place, summed = len(MAGIC), 0
    while True:
        head = stream.read(HEADER.size)
        if not head:
            return
        body, kind, server = b"", TORN, 0
        if len(head) == HEADER.size:
            _time, kind, server, size, _next, _flags = HEADER.unpack(head)
            body = stream.read(max(0, size - HEADER.size))
        if kind == ENCRYPTION:
            raise NotCoveredError("its events are encrypted (encrypt_binlog)")
        end = place + len(head) + len(body)
        if kind == TORN or end - place != size:
            yield Event(TORN, 0, place, end, b"")
            return
        if kind == DESCRIPTION:
            # The algorithm's number precedes its own checksum.
            summed = body[-CHECKSUM - 1]
            if summed > 1:
                raise NotCoveredError(f"its checksums are of an unknown kind, {summed}")
        elif summed:
            body, right = body[:-CHECKSUM], struct.unpack("<I", body[-CHECKSUM:])[0]
            if zlib.crc32(body, zlib.crc32(head)) != right:
                yield Event(TORN, 0, place, end, b"")
                return
        yield Event(kind, server, place, end, body)
        place = end


def statement_of(body: bytes) -> bytes:
    """The text of a QUERY_EVENT."""
    database, variables = body[8], struct.unpack_from("<H", body, 11)[0]
    return body[13 + variables + database + 1 :]


def ends_group(event: Event, standalone: bool) -> bool:
    """Whether an event is the last of its group."""
    if standalone:
        return event.kind not in (*PREFIXES, DESCRIPTION)
    if event.kind in (XID, XA_PREPARE):
        return True
    return event.kind == QUERY and statement_of(event.body).strip().upper() in ENDS


# Events of a relay log itself, which may come within a group: ROTATE, DESCRIPTION, IGNORABLE, the
# heartbeat, a binlog checkpoint, a list of GTIDs, the start of encryption.
OWN = (3, 4, DESCRIPTION, 27, 28, 161, 163)


def groups_of(files: Iterable[tuple[str, BinaryIO]]) -> list[Group]:
    """The transactions of a relay log, in order.

    Args:
        files: name and contents, the oldest first.

    Raises:
        NotCoveredError: one does not end or cannot be read, and others follow.
    """
    made: list[Group] = []
    begun: tuple[Group, bool] | None = None
    torn = ""
    for name, stream in files:
        for event in events_of(stream):
            if event.kind == TORN:
                torn = name
            elif event.kind not in OWN and torn:
                raise NotCoveredError(f"{torn} is damaged, and it has later transactions")
            elif event.kind == GTID_EVENT:
                if begun:
                    raise NotCoveredError(f"{text_of(begun[0].gtid)} does not end in it")
                number, domain, flags = GTID.unpack_from(event.body)
                group = Group(
                    (domain, event.server, number),
                    (name, event.start),
                    None,
                    bool(flags & (PREPARED_XA | COMPLETED_XA)),
                )
                begun = (group, bool(flags & STANDALONE))
            elif begun and event.kind not in OWN and ends_group(event, begun[1]):
                made.append(begun[0]._replace(end=(name, event.end)))
                begun = None
    return made + ([begun[0]] if begun else [])


def text_of(gtid: tuple[int, int, int]) -> str:
    return "-".join(map(str, gtid))


def position_of(gtids: str) -> dict[int, int]:
    """Domain -> number of a @@gtid_slave_pos."""
    parts = [one.strip().split("-") for one in gtids.split(",") if one.strip()]
    return {int(domain): int(number) for domain, _server, number in parts}


def left_of(groups: list[Group], applied: dict[int, int]) -> list[Group]:
    """The whole transactions that a server has not applied.

    Args:
        applied: of position_of().

    Raises:
        NotCoveredError: no position separates them from the others.
    """
    left = [
        number for number, one in enumerate(groups) if one.gtid[2] > applied.get(one.gtid[0], -1)
    ]
    if not left:
        return []
    rest = groups[left[0] :]
    if len(left) != len(rest):
        raise NotCoveredError("transactions that are applied come after others that are not")
    latest: dict[int, int] = {}
    for one in groups:
        if one.gtid[2] <= latest.get(one.gtid[0], -1):
            # Without gtid_strict_mode: then a number does not say what is applied.
            raise NotCoveredError(f"{text_of(one.gtid)} is out of order")
        latest[one.gtid[0]] = one.gtid[2]
    if any(one.xa for one in rest):
        raise NotCoveredError("it has XA transactions")
    return [one for one in rest if one.end]


class Replica:
    """The server that this service belongs to.

    Args:
        settings: socket: path of the server's socket.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.connection = pymysql.connect(
            unix_socket=settings["socket"],
            user=pwd.getpwuid(os.getuid()).pw_name,
            cursorclass=pymysql.cursors.DictCursor,
            autocommit=True,
            read_timeout=60,
        )

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def variable(self, name: str) -> str:
        return str(self.rows(f"SELECT @@GLOBAL.{name} AS value")[0]["value"] or "")

    def channel(self) -> dict[str, Any]:
        """The row of SHOW SLAVE STATUS of the channel without a name; empty if there is none."""
        made = self.rows("SHOW SLAVE STATUS")
        return made[0] if made else {}

    def applied(self) -> dict[int, int]:
        return position_of(self.variable("gtid_slave_pos"))

    def relay_log(self) -> Iterator[tuple[str, BinaryIO]]:
        """Name and contents of its relay log's files, the oldest first."""
        folder = self.variable("datadir")
        with open(
            os.path.join(folder, self.variable("relay_log_index")), encoding="utf-8"
        ) as index:
            names = [line.strip() for line in index if line.strip()]
        for name in names:
            with open(os.path.join(folder, name), "rb") as stream:
                yield name, stream


class Kept:
    """What outlasts this service: whether a channel is to return to GTIDs, and the last outcome.

    Args:
        path: of the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        try:
            with open(self.path, encoding="utf-8") as stream:
                return dict(json.load(stream))
        except (OSError, ValueError):
            return {}

    def write(self, **values: Any) -> None:
        temporary = self.path + ".new"
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(values, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(temporary, self.path)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def mode(self) -> str:
        """The mode to which an interrupted service has to return."""
        return str(self.read().get("mode") or "")

    def begin(self, mode: str) -> None:
        self.write(mode=mode)


class Outcome(NamedTuple):
    """What became of the relay log.

    Attributes:
        complete: whether everything that it had is applied.
        words: what was done or found.
        applied: how many transactions were applied by position.
    """

    complete: bool
    words: str
    applied: int = 0


def is_running(channel: dict[str, Any]) -> bool:
    """Whether one of its threads runs: then the server has discarded its relay log already."""
    return channel["Slave_IO_Running"] != "No" or channel["Slave_SQL_Running"] != "No"


def is_interrupted(channel: dict[str, Any], kept: Kept) -> bool:
    """Whether this service died while the server applied the relay log by position."""
    return bool(kept.mode()) and channel["Using_Gtid"] == NO_GTID


def is_past(channel: dict[str, Any], file: str, place: int) -> bool:
    """Whether the applier has reached a place of the relay log, whose files are numbered."""

    def number(name: str) -> int:
        return int(name.rpartition(".")[2])

    now = (number(channel["Relay_Log_File"]), int(channel["Relay_Log_Pos"]))
    return now >= (number(file), place)


def apply_by_position(replica: Replica, left: list[Group]) -> None:
    """Have the server apply transactions of its relay log, and wait for that.

    Raises:
        NotCoveredError: its applier has stopped.
        OvertakenError: its channel was changed.
    """
    (first, begin), last = left[0].start, left[-1]
    until, end = last.end or last.start
    replica.rows(
        "CHANGE MASTER TO MASTER_USE_GTID = no, RELAY_LOG_FILE = %s, RELAY_LOG_POS = %s",
        (os.path.basename(first), begin),
    )
    replica.rows(
        "START SLAVE SQL_THREAD UNTIL RELAY_LOG_FILE = %s, RELAY_LOG_POS = %s",
        (os.path.basename(until), end),
    )
    wanted = {one.gtid[0]: one.gtid[2] for one in left}
    while True:
        applied, channel = replica.applied(), replica.channel()
        if channel.get("Using_Gtid") != NO_GTID:
            raise OvertakenError("its channel was changed meanwhile")
        if all(applied.get(domain, -1) >= number for domain, number in wanted.items()):
            break
        if channel["Slave_SQL_Running"] == "No":
            # What the server filters it does not record.
            if not int(channel["Last_SQL_Errno"] or 0) and is_past(channel, until, end):
                break
            raise NotCoveredError(f"the applier stopped: {channel['Last_SQL_Error'] or 'no error'}")
        time.sleep(POLL)
    replica.rows("STOP SLAVE")


NO_CHANNEL = Outcome(True, "it follows no source")


def recover(replica: Replica, kept: Kept, channel: dict[str, Any]) -> Outcome:
    """Apply what the replica has received, while none of its threads runs.

    Raises:
        NotCoveredError: the applier has stopped. Its channel is left by position, so that nothing
            is discarded.
        OvertakenError: its channel was changed meanwhile, and is left as it is.
    """
    mode = kept.mode() or channel["Using_Gtid"]
    if mode == NO_GTID:
        return Outcome(True, "it does not use GTIDs, so it keeps its relay log")
    try:
        if int(channel["SQL_Delay"] or 0):
            raise NotCoveredError(f"it is delayed by {channel['SQL_Delay']} s")
        left = left_of(groups_of(replica.relay_log()), replica.applied())
        outcome = Outcome(True, "everything that it had received is applied", len(left))
    except (NotCoveredError, OSError) as error:
        left = []
        outcome = Outcome(False, f"its relay log cannot be applied by position: {error}")
    purge = replica.variable("relay_log_purge")
    if left:
        kept.begin(mode)
        apply_by_position(replica, left)
    if replica.channel()["Using_Gtid"] == NO_GTID:
        replica.rows(f"CHANGE MASTER TO MASTER_USE_GTID = {mode}")
        # With RELAY_LOG_FILE the server switches it off, and on again.
        replica.rows(f"SET GLOBAL relay_log_purge = {purge}")
    return outcome


def applier_of(replica: Replica) -> dict[str, Any] | None:
    """What identifies the applier that runs now: its thread, when it started by the kernel's clock,
    and the kernel; None if there is none, or more than one.
    """
    running = replica.rows(
        "SELECT TID AS tid FROM information_schema.PROCESSLIST WHERE COMMAND = 'Slave_SQL'"
    )
    if len(running) != 1:
        return None
    try:
        with open(f"/proc/{running[0]['tid']}/stat", encoding="utf-8") as stream:
            # The name before it may contain spaces and brackets (proc(5)).
            ticks = stream.read().rpartition(")")[2].split()[STARTED]
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as stream:
            boot = stream.read().strip()
    except (OSError, IndexError):
        return None
    return {"boot": boot, "tid": int(running[0]["tid"]), "ticks": int(ticks)}


def applier_soon(replica: Replica) -> dict[str, Any] | None:
    """The same, once it runs."""
    end = time.monotonic() + STARTING
    while True:
        applier = applier_of(replica)
        if applier or time.monotonic() > end:
            return applier
        time.sleep(POLL)


def is_held(path: str) -> bool:
    """Whether an option file keeps replication stopped for another reason."""
    try:
        with open(path, encoding="utf-8") as stream:
            return "skip_slave_start" in stream.read()
    except OSError:
        return False


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as stream:
        settings = json.load(stream)
    if any(map(is_held, settings["held"])):
        print("its start is held: its replication stays stopped")
        return 0
    replica, kept = Replica(settings), Kept(settings["kept"])
    if "--check" in sys.argv:
        replica.channel()
        return 0
    channel = replica.channel()
    if channel and is_interrupted(channel, kept):
        # By position nothing is discarded.
        replica.rows("STOP SLAVE")
    elif channel and is_running(channel):
        print("its threads run already: nothing was done")
        return 0
    try:
        outcome = recover(replica, kept, channel) if channel else NO_CHANNEL
    except OvertakenError as error:
        kept.write(overtaken=str(error))
        print(f"{error}: nothing more is done")
        return 0
    replica.rows("START ALL SLAVES")
    applier = applier_soon(replica) if channel else None
    kept.write(outcome=outcome._asdict(), applier=applier, at=time.time())
    print(f"{outcome.words}; transactions that were applied by position: {outcome.applied}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
