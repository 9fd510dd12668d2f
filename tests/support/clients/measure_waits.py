"""Clients that write a row now and then until a file appears, and how long each had to wait; runs
on the source's host.

    measure_waits.py SOCKET CLIENTS STOP_FILE RESULT_FILE

A stall is the time from a client's wish to write a row until that row is committed, reconnecting
included.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import pymysql

# Seconds between a client's rows: 50 of them write about 200 a second, which two cores with both
# servers can take.
PAUSE = 0.25


def connect(socket: str) -> Any:
    return pymysql.connect(
        unix_socket=socket, user="root", autocommit=True, read_timeout=60, write_timeout=60
    )


def write(
    socket: str,
    number: int,
    stop_file: str,
    stalls: list[tuple[float, float]],
    refused: list[float],
) -> None:
    """One client: (when, seconds) of each row goes into stalls, refusals are counted."""
    connection: Any = None
    while not os.path.exists(stop_file):
        begin = time.time()
        while True:
            try:
                connection = connection or connect(socket)
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO stalls.rows_of (client) VALUES (%s)", (number,))
                break
            except pymysql.err.Error:
                refused.append(time.time())
                connection = None
                time.sleep(0.01)
        stalls.append((begin, time.time() - begin))
        time.sleep(PAUSE)


def main() -> None:
    socket, clients, stop_file, result_file = sys.argv[1:]
    with connect(socket).cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS stalls")
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS stalls.rows_of (id BIGINT AUTO_INCREMENT PRIMARY KEY,"
            " client INT NOT NULL, at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))"
            " ENGINE=InnoDB"
        )
    stalls: list[tuple[float, float]] = []
    refused: list[float] = []
    threads = [
        threading.Thread(target=write, args=(socket, number, stop_file, stalls, refused))
        for number in range(int(clients))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(result_file + ".part", "w") as stream:
        json.dump({"rows": stalls, "refused": len(refused)}, stream)
    os.rename(result_file + ".part", result_file)


if __name__ == "__main__":
    main()
