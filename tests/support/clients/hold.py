"""Keeps a replica's applier from a table: until somebody waits for that applier to end, or until
its IO thread has stood still for a while. Whoever fails over finds a backlog that way, and it is
free again before anybody gives up or hangs.

    hold.py TABLE SECONDS LIMIT

SECONDS are those behind the IO thread's stop; LIMIT is how long it is held at most. Prints "held"
once it is.
"""

from __future__ import annotations

import os
import sys
import time

import pymysql

SOCKETS = ("/run/mysqld/mysqld.sock", "/tmp/mysql.sock")
# Seconds between two looks; how long it takes somebody who waits to be seen.
LOOK = 0.1
STOPS = ("STOP SLAVE", "STOP REPLICA")
# SHOW REPLICA STATUS waits for a STOP that hangs, and these do not.
IO_THREAD = {
    True: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Slave_IO'",
    False: (
        "SELECT COUNT(*) FROM performance_schema.replication_connection_status"
        " WHERE SERVICE_STATE <> 'OFF'"
    ),
}


def connect():
    path = next(path for path in SOCKETS if os.path.exists(path))
    return pymysql.connect(unix_socket=path, user="root", autocommit=True)


def stops(cursor) -> bool:
    """Whether somebody stops the applier, and waits for it."""
    cursor.execute("SHOW FULL PROCESSLIST")
    said = [str(row[7] or "").upper() for row in cursor.fetchall()]
    return any(
        word.startswith(("STOP SLAVE", "STOP REPLICA")) and "IO_" not in word for word in said
    )


def receives(cursor, mariadb: bool) -> bool:
    cursor.execute(IO_THREAD[mariadb])
    return cursor.fetchone()[0] > 0


def main() -> None:
    table, seconds, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    holding, looking = connect(), connect()
    mariadb = "mariadb" in holding.get_server_info().lower()
    with holding.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {table} READ")
    print("held", flush=True)
    begin = received = time.monotonic()
    why = "the limit"
    with looking.cursor() as cursor:
        while time.monotonic() - begin < limit:
            if stops(cursor):
                why = "somebody stops the applier"
                break
            if receives(cursor, mariadb):
                received = time.monotonic()
            elif time.monotonic() - received > seconds:
                why = "the IO thread stands still"
                break
            time.sleep(LOOK)
    print(f"free again after {time.monotonic() - begin:.1f} s: {why}", flush=True)
    holding.close()


if __name__ == "__main__":
    main()
