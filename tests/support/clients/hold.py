"""Keeps a replica's applier from a table: until a session waits for that applier to end, or for a
while after the moment at which a run takes the lock of its part on this server. So a failover
finds a backlog, and the table is free again before any session gives up or hangs.

    hold.py TABLE LOCK SECONDS LIMIT

SECONDS are those after the lock; LIMIT is how long the applier is held at most. Prints "held" once
it is.
"""

from __future__ import annotations

import os
import sys
import time

import pymysql

SOCKETS = ("/run/mysqld/mysqld.sock", "/tmp/mysql.sock")
# Seconds between two looks; how long it takes until a waiting session is seen.
LOOK = 0.1
STOPS = ("STOP SLAVE", "STOP REPLICA")


def connect():
    path = next(path for path in SOCKETS if os.path.exists(path))
    return pymysql.connect(unix_socket=path, user="root", autocommit=True)


def stops(cursor) -> bool:
    """Whether a session stops the applier, and waits for it."""
    cursor.execute("SHOW FULL PROCESSLIST")
    said = [str(row[7] or "").upper() for row in cursor.fetchall()]
    return any(
        word.startswith(("STOP SLAVE", "STOP REPLICA")) and "IO_" not in word for word in said
    )


def taken(cursor, lock: str) -> bool:
    cursor.execute("SELECT IS_USED_LOCK(%s)", (lock,))
    return cursor.fetchone()[0] is not None


def main() -> None:
    table, lock, seconds, limit = *sys.argv[1:3], float(sys.argv[3]), float(sys.argv[4])
    holding, looking = connect(), connect()
    with holding.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {table} READ")
    print("held", flush=True)
    begin = time.monotonic()
    since, why = None, "the limit"
    with looking.cursor() as cursor:
        while time.monotonic() - begin < limit:
            if stops(cursor):
                why = "somebody stops the applier"
                break
            if since is None and taken(cursor, lock):
                since = time.monotonic()
            if since is not None and time.monotonic() - since > seconds:
                why = "somebody waits for what it applies"
                break
            time.sleep(LOOK)
    print(f"free again after {time.monotonic() - begin:.1f} s: {why}", flush=True)
    holding.close()


if __name__ == "__main__":
    main()
