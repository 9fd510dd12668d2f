"""Clients that read now and then which row of each writer is the newest, until a file appears, and
what each of them saw; in the order in which it saw it.

    keep_reading.py SOURCE REPLICAS CLIENTS STOP_FILE RESULT_FILE PAUSE RETRY PATIENCE

SOURCE and REPLICAS are host:port; the clients take one and the other in turn, and keep their
connection until it breaks. Account app with password app. PAUSE is between two reads of a client,
RETRY between two attempts after a failure, PATIENCE how long a client waits for an answer, all in
seconds; it is said when each client of the source has read, and one of the replicas, which a router
may hold for gone where the hosts are busy. One small statement a read: the hosts are slow.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import pymysql

from support.clients.keep_writing import Stop, connect

# Which server answers, and what it has: 0:17,1:16,…
NEWEST = (
    "SELECT @@hostname, GROUP_CONCAT(client, ':', number) FROM (SELECT client, MAX(number) AS"
    " number FROM app.written GROUP BY client) AS newest"
)
# The default would cut off what 150 clients have.
WHOLE = "SET SESSION group_concat_max_len = 65536"


class Reader:
    """One client, and what it saw.

    Attributes:
        reads: (when the client asked, when it was told, the number of its connection, the server,
            what that has), the times in seconds since 1970.
    """

    def __init__(self, port: str, address: str, patience: float) -> None:
        self.port, self.address, self.patience = port, address, patience
        self.connection: Any = None
        self.connections = 0
        self.reads: list[tuple[float, float, int, str, str]] = []
        self.errors: dict[str, int] = {}

    def attempt(self) -> bool:
        """Whether a server answered."""
        try:
            if self.connection is None:
                self.connection = connect(self.address, self.patience)
                self.connections += 1
                self.ask(WHOLE)
            begin = time.time()
            ((host, newest),) = self.ask(NEWEST)
            self.reads.append((begin, time.time(), self.connections, host, newest or ""))
        except (pymysql.err.Error, OSError) as error:
            words = str(error)[:120]
            self.errors[words] = self.errors.get(words, 0) + 1
            if self.connection is not None:
                self.connection.close()
                self.connection = None
            return False
        return True

    def ask(self, statement: str) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def read(self, stop: Stop, pause: float, retry: float) -> None:
        while not stop.asked():
            time.sleep(pause if self.attempt() else retry)


def main() -> None:
    source, replicas, clients, stop_file, result_file, *times = sys.argv[1:]
    pause, retry, patience = map(float, times)
    ports = (("source", source), ("replicas", replicas))
    every = [Reader(*ports[number % 2], patience) for number in range(int(clients))]
    stop = Stop(stop_file)
    threads = [threading.Thread(target=one.read, args=(stop, pause, retry)) for one in every]
    for thread in threads:
        thread.start()
    of_source, of_replicas = every[::2], every[1::2]
    while not stop.asked() and not (
        all(one.reads for one in of_source) and any(one.reads for one in of_replicas)
    ):
        time.sleep(0.05)
    print("reading", flush=True)
    for thread in threads:
        thread.join()
    known = [{"port": one.port, "reads": one.reads, "errors": one.errors} for one in every]
    with open(result_file + ".part", "w", encoding="utf-8") as stream:
        json.dump({"readers": known}, stream)
    os.rename(result_file + ".part", result_file)


if __name__ == "__main__":
    main()
