"""Kills this host's part of a switchover, its server, or the host, when the switchover has come so
far; runs on that host.

    kill_at.py SOCKET POINT module|server|host|nothing

A point is a flag of the newest switchover on this host's server, or what the server says: armed,
begun, done (the journal's newest row), attached (a source has a channel), redirected (a replica has
another source), open. With host everything on it stands still and its link is down, so that whoever
started this can cut its power at that moment; with nothing it is only told. SIGKILL otherwise.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pymysql

ANY_FLAG = (
    "SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'USER LEVEL"
    " LOCK' AND OBJECT_NAME LIKE 'dbre.semisync.%%.%s'"
)
JOURNAL = (
    "SELECT number, state, IS_USED_LOCK(CONCAT('dbre.semisync.', run, '.%s')) FROM"
    " important.semisync_journal ORDER BY number DESC LIMIT 1"
)
# Seconds until it is given up, and between two looks.
LIMIT, PAUSE = 120, 0.001


class Server:
    """The server here, and how it was when this began."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.connect()
        self.rows_before = self.journal("begun")[0]
        self.source_before = self.source()

    def connect(self) -> None:
        connection = pymysql.connect(unix_socket=self.path, user="root", autocommit=True)
        self.cursor = connection.cursor()

    def journal(self, flag: str) -> tuple[int, str, bool]:
        """(number and state of the newest row, whether its switchover's flag is held)."""
        try:
            self.cursor.execute(JOURNAL % flag)
        except pymysql.err.ProgrammingError:
            return 0, "", False
        number, state, holder = self.cursor.fetchone() or (0, "", None)
        return number, state, holder is not None

    def source(self) -> str:
        """The host that the server follows; empty for none."""
        for statement in ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS"):
            try:
                self.cursor.execute(statement)
            except pymysql.err.ProgrammingError:
                continue
            # Its state comes first.
            row = self.cursor.fetchone()
            return str(row[1]) if row else ""
        return ""

    def has_come_to(self, point: str) -> bool:
        try:
            return self.asked(point)
        except pymysql.err.OperationalError:
            # A switchover ends the sessions that read_only does not keep out.
            self.connect()
            return False

    def asked(self, point: str) -> bool:
        if point == "open":
            self.cursor.execute("SELECT @@GLOBAL.read_only")
            return str(self.cursor.fetchone()[0]).lower() in ("0", "off")
        if point == "armed":
            self.cursor.execute(ANY_FLAG % point)
            return self.cursor.fetchone() is not None
        if point in ("attached", "redirected"):
            return self.source() not in ("", self.source_before)
        number, state, held = self.journal(point)
        if number <= self.rows_before:
            return False
        return state == point if point in ("begun", "done") else held


def others() -> dict[int, list[bytes]]:
    """Processes and their words, without those that this one lives by."""
    found, mine = {}, set()
    number = os.getpid()
    while number > 1:
        mine.add(number)
        number = parent_of(number)
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in mine | {1}:
            try:
                with open(f"/proc/{name}/cmdline", "rb") as stream:
                    found[int(name)] = stream.read().split(b"\0")
            except OSError:
                continue
    return found


def parent_of(number: int) -> int:
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as stream:
            return int(stream.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def is_meant(what: str, number: int, words: list[bytes]) -> bool:
    """Whether a process is of what is to be killed: the module without its guard, the server, or
    whatever runs.
    """
    program = os.path.basename(words[0])
    if what == "server":
        return program in (b"mysqld", b"mariadbd")
    if what == "module":
        return (
            program.startswith(b"python3")
            and parent_of(number) != 1
            and b"keep_writing" not in b" ".join(words)
        )
    return what == "host"


def main() -> None:
    path, point, what = sys.argv[1:]
    server = Server(path)
    print("waits", flush=True)
    until = time.monotonic() + LIMIT
    while not server.has_come_to(point):
        if time.monotonic() > until:
            sys.exit("it did not come so far")
        time.sleep(PAUSE)
    meant = [number for number, words in others().items() if is_meant(what, number, words)]
    for number in meant:
        try:
            os.kill(number, signal.SIGSTOP if what == "host" else signal.SIGKILL)
        except ProcessLookupError:
            continue
    if what == "host":
        subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)
    print(f"{what} at {point}: {len(meant)} processes", flush=True)


if __name__ == "__main__":
    main()
