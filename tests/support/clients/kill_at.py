"""Kills this host's part of a switchover, or its server, when the part has come so far.

    kill_at.py SOCKET POINT module|server

A point is a flag of the switchover on this host's server, or frozen, attached, open: what its
server says. SIGKILL in each case.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import pymysql

FLAGS = (
    "SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'USER LEVEL"
    " LOCK' AND OBJECT_NAME LIKE 'dbre.semisync.%%.%s'"
)


def there(cursor: Any, point: str) -> bool:
    """Whether the part has come to the point."""
    if point in ("read_only", "open"):
        cursor.execute("SELECT @@GLOBAL.read_only")
        frozen = str(cursor.fetchone()[0]).lower() in ("1", "on")
        return frozen == (point == "read_only")
    if point == "source_side":
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_%_enabled'")
        return any(
            value == "ON"
            for name, value in cursor.fetchall()
            if "source" in name or "master" in name
        )
    if point == "attached":
        cursor.execute("SHOW SLAVE STATUS" if b"maria" in VERSION else "SHOW REPLICA STATUS")
        return cursor.fetchone() is not None
    if point == "begun":
        try:
            cursor.execute("SELECT state FROM important.semisync_journal ORDER BY number DESC")
            row = cursor.fetchone()
            return row is not None and row[0] == "begun"
        except pymysql.err.Error:
            return False
    cursor.execute(FLAGS % point)
    return cursor.fetchone() is not None


VERSION = b""


def parents(number: int) -> int:
    with open(f"/proc/{number}/stat", encoding="utf-8") as stream:
        return int(stream.read().rpartition(")")[2].split()[1])


def processes(what: str) -> list[int]:
    """The module's processes without its guard, or the server's."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as stream:
                words = stream.read().split(b"\0")
            parent = parents(int(name))
        except OSError:
            continue
        program = os.path.basename(words[0])
        script = b" ".join(words)
        if (what == "server" and program in (b"mysqld", b"mariadbd")) or (
            what == "module"
            and program.startswith(b"python3")
            and parent != 1
            and b"keep_writing" not in script
            and b"kill_at" not in script
        ):
            found.append(int(name))
    return found


def main() -> None:
    global VERSION
    path, point, what = sys.argv[1:]
    connection = pymysql.connect(unix_socket=path, user="root", autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@version")
        VERSION = cursor.fetchone()[0].lower().encode()
        until = time.monotonic() + 120
        while not there(cursor, point):
            if time.monotonic() > until:
                print("it did not come so far")
                sys.exit(1)
            time.sleep(0.001)
    killed = processes(what)
    for number in killed:
        os.kill(number, signal.SIGKILL)
    print(f"killed {len(killed)} processes at {point}")


if __name__ == "__main__":
    main()
