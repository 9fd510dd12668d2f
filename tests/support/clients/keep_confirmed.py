"""Clients that insert, change and delete rows until a file appears, and keep what was confirmed;
runs on the source.

    keep_confirmed.py SOCKET CLIENTS STOP_FILE RESULT_FILE

Each transaction notes its number in a table too: what was confirmed and is not there was lost.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pymysql

# Seconds between a client's transactions.
PAUSE = 0.02
STATEMENTS: tuple[tuple[str, Callable[[int], tuple]], ...] = (
    (
        "INSERT INTO shop.orders (customer, payload) VALUES (%s, RANDOM_BYTES(900))",
        lambda rows: (random.randint(1, rows),),
    ),
    (
        "INSERT INTO shop.notes (text, amount) VALUES (%s, %s)",
        lambda rows: (f'it\'s "q\\uoted" pä{random.random()}', random.randint(0, 9999) / 100),
    ),
    (
        "UPDATE shop.orders SET customer = customer + 1 WHERE id = %s",
        lambda rows: (random.randint(1, rows),),
    ),
    (
        "UPDATE shop.orders SET payload = RANDOM_BYTES(800) WHERE id = %s",
        lambda rows: (random.randint(1, rows),),
    ),
    ("DELETE FROM shop.orders WHERE id = %s", lambda rows: (random.randint(1, rows),)),
)


def connect(socket: str) -> Any:
    return pymysql.connect(
        unix_socket=socket, user="root", autocommit=False, charset="utf8mb4", read_timeout=120
    )


def write(
    socket: str,
    client: int,
    rows: int,
    stop_file: str,
    confirmed: list[tuple[int, int]],
    refused: list[str],
) -> None:
    """One client: the numbers of its confirmed transactions go into confirmed, the server's
    refusals are counted.
    """
    connection: Any = None
    number = time.time_ns() // 1000
    while not os.path.exists(stop_file):
        number += 1
        statement, values = random.choice(STATEMENTS)
        try:
            connection = connection or connect(socket)
            with connection.cursor() as cursor:
                cursor.execute(statement, values(rows))
                cursor.execute(
                    "INSERT INTO shop.confirmed (client, number) VALUES (%s, %s)", (client, number)
                )
            connection.commit()
            confirmed.append((client, number))
        except pymysql.err.Error as error:
            refused.append(str(error))
            connection = None
            time.sleep(0.1)
        time.sleep(PAUSE)


def main() -> None:
    socket, clients, stop_file, result_file = sys.argv[1:]
    confirmed: list[tuple[int, int]] = []
    refused: list[str] = []
    with connect(socket).cursor() as cursor:
        cursor.execute("SELECT MAX(id) FROM shop.orders")
        rows = cursor.fetchone()[0]
    threads = [
        threading.Thread(target=write, args=(socket, number, rows, stop_file, confirmed, refused))
        for number in range(int(clients))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(result_file + ".part", "w") as stream:
        json.dump(
            {"confirmed": confirmed, "refused": len(refused), "reasons": sorted(set(refused))[:20]},
            stream,
        )
    os.rename(result_file + ".part", result_file)


if __name__ == "__main__":
    main()
