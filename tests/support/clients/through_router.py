"""Clients that insert rows through a router until a file appears, each over one connection that it
makes again where it broke; runs on the router's host.

    through_router.py HOST PORT CLIENTS STOP_FILE RESULT_FILE

A row that was confirmed must be there, once. A row without an answer to its commit may be there or
not.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import pymysql

PAUSE = 0.02


class Client:
    """One client: what became of its rows, and its longest time without a confirmed one."""

    def __init__(self, host: str, port: int, number: int) -> None:
        self.host, self.port, self.number = host, port, number
        self.confirmed: list[str] = []
        self.unknown: list[str] = []
        self.refused: dict[str, int] = {}
        self.longest = 0.0

    def connect(self) -> Any:
        options = {
            "host": self.host,
            "port": self.port,
            "user": "app",
            "password": "app",
            "autocommit": True,
            "connect_timeout": 2,
            "read_timeout": 10,
        }
        try:
            return pymysql.connect(**options)
        except (pymysql.err.MySQLError, RuntimeError) as error:
            # caching_sha2_password wants TLS for the first login.
            if "cryptography" not in str(error):
                raise
            return pymysql.connect(ssl={"check_hostname": False}, **options)

    def run(self, stop_file: str) -> None:
        connection: Any = None
        row, since = 0, time.monotonic()
        while not os.path.exists(stop_file):
            row += 1
            name, sent = f"{self.number}-{row}", False
            try:
                connection = connection or self.connect()
                with connection.cursor() as cursor:
                    sent = True
                    cursor.execute("INSERT INTO shop.seen (name) VALUES (%s)", (name,))
                self.confirmed.append(name)
                now = time.monotonic()
                self.longest, since = max(self.longest, now - since), now
            except (pymysql.err.MySQLError, OSError) as error:
                number = error.args[0] if error.args else 0
                # 1290: the server is read-only and has taken nothing.
                if sent and number != 1290:
                    self.unknown.append(name)
                self.refused[str(number)] = self.refused.get(str(number), 0) + 1
                connection = None
            time.sleep(PAUSE)


def main() -> None:
    host, port, clients, stop_file, result_file = sys.argv[1:]
    made = [Client(host, int(port), number) for number in range(int(clients))]
    threads = [threading.Thread(target=client.run, args=(stop_file,)) for client in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused: dict[str, int] = {}
    for client in made:
        for number, count in client.refused.items():
            refused[number] = refused.get(number, 0) + count
    with open(result_file + ".part", "w") as stream:
        json.dump(
            {
                "confirmed": [name for client in made for name in client.confirmed],
                "unknown": [name for client in made for name in client.unknown],
                "refused": refused,
                "longest": max(client.longest for client in made),
            },
            stream,
        )
    os.rename(result_file + ".part", result_file)


if __name__ == "__main__":
    main()
