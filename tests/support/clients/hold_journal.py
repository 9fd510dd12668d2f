"""Keeps the journal of this host's server from being written to, from the moment at which a
switchover's row `begun` is there; runs on that host.

    hold_journal.py SOCKET SECONDS

A target that cannot write its row `done` is open, and no journal says so.
"""

from __future__ import annotations

import sys
import time

import pymysql

NEWEST = "SELECT number, state FROM important.semisync_journal ORDER BY number DESC LIMIT 1"
# Seconds until it is given up, and between two looks.
LIMIT, PAUSE = 120, 0.002


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2])
    server = pymysql.connect(unix_socket=path, user="root", autocommit=True).cursor()

    def newest() -> tuple[int, str]:
        try:
            server.execute(NEWEST)
        except pymysql.err.ProgrammingError:
            return 0, ""
        return server.fetchone() or (0, "")

    before, until = newest()[0], time.monotonic() + LIMIT
    print("waits", flush=True)
    while True:
        number, state = newest()
        if number > before and state == "begun":
            break
        if time.monotonic() > until:
            sys.exit("nothing has begun")
        time.sleep(PAUSE)
    server.execute("LOCK TABLES important.semisync_journal READ")
    print("holds", flush=True)
    time.sleep(seconds)


if __name__ == "__main__":
    main()
