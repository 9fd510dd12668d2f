"""Clients that write a row now and then to whichever of some servers takes it, until a file
appears; what each tried, what was confirmed, what is unknown, and how long it had to wait.

    keep_writing.py ADDRESSES CLIENTS STOP_FILE RESULT_FILE [PAUSE RETRY PATIENCE]

ADDRESSES are host:port, separated by commas. A client that is refused asks the next server; it
keeps its connections, and makes a new one where the old one broke. Account app with password app.
PAUSE is between a client's rows, RETRY between two attempts to write one, PATIENCE how long a
client waits for an answer, all in seconds (of several, separated by commas, each client has one in
turn); with them no client connects before there is something to write, and it is said when each
client has a row. STOP_FILE - stands for the end of standard input, RESULT_FILE - for standard
output.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, ClassVar

import pymysql
import pymysql.connections

# Seconds; see above.
PAUSE, RETRY, PATIENCE = 0.25, 0.01, 30.0
# The server has refused the row: it is read-only, or is shutting down before it began.
REFUSED = (1290, 1792, 1836, 1053)
STANDARD = "-"
TLS = {"check_hostname": False}


class Connection(pymysql.connections.Connection):
    """Makes its TLS context once: each costs 60 ms of CPU, and 50 clients connect at a time."""

    contexts: ClassVar[dict[str, Any]] = {}

    def _create_ssl_ctx(self, sslp: Any) -> Any:
        key = repr(sslp)
        if key not in self.contexts:
            self.contexts[key] = super()._create_ssl_ctx(sslp)
        return self.contexts[key]


def connect(address: str, patience: float) -> Any:
    """A connection; by TLS where the server does not know the password yet."""
    host, _colon, port = address.partition(":")
    options = {
        "host": host,
        "port": int(port),
        "user": "app",
        "password": "app",
        "autocommit": True,
        "connect_timeout": 2,
        "read_timeout": patience,
        "write_timeout": patience,
    }
    try:
        return Connection(**options)
    except (pymysql.err.Error, RuntimeError) as error:
        if "cryptography" not in str(error):
            raise
        return Connection(ssl=TLS, **options)


class Stop:
    """When to stop: once a file is there, or standard input has ended."""

    def __init__(self, file: str) -> None:
        self.file, self.ended = file, threading.Event()
        if file == STANDARD:
            threading.Thread(target=self.wait, daemon=True).start()

    def wait(self) -> None:
        sys.stdin.read()
        self.ended.set()

    def asked(self) -> bool:
        return self.ended.is_set() or (self.file != STANDARD and os.path.exists(self.file))


class Client:
    """One client, and what it knows."""

    def __init__(
        self, number: int, addresses: list[str], pause: float, retry: float, patience: float
    ) -> None:
        self.number, self.addresses = number, addresses
        self.pause, self.retry, self.patience = pause, retry, patience
        self.connections: dict[str, Any] = {}
        self.current = 0
        self.row = 0
        self.confirmed: list[int] = []
        self.times: list[float] = []
        self.unknown: list[int] = []
        self.waits: list[tuple[float, float]] = []
        self.errors: dict[str, int] = {}

    def attempt(self) -> bool:
        """Whether a row was confirmed. One whose outcome is unknown is not tried again."""
        address = self.addresses[self.current]
        try:
            if address not in self.connections:
                self.connections[address] = connect(address, self.patience)
        except (pymysql.err.Error, OSError) as error:
            self.failed(error)
            return False
        self.row += 1
        try:
            with self.connections[address].cursor() as cursor:
                cursor.execute(
                    "INSERT INTO app.written (client, number) VALUES (%s, %s)",
                    (self.number, self.row),
                )
        except (pymysql.err.Error, OSError) as error:
            if not error.args or error.args[0] not in REFUSED:
                self.unknown.append(self.row)
                self.connections.pop(address).close()
            self.failed(error)
            return False
        self.confirmed.append(self.row)
        self.times.append(time.time())
        return True

    def failed(self, error: Exception) -> None:
        words = str(error)[:120]
        self.errors[words] = self.errors.get(words, 0) + 1
        self.current = (self.current + 1) % len(self.addresses)

    def write(self, stop: Stop) -> None:
        while not stop.asked():
            wall, begin = time.time(), time.monotonic()
            while not self.attempt():
                time.sleep(self.retry)
                if stop.asked():
                    break
            self.waits.append((wall, time.monotonic() - begin))
            time.sleep(self.pause)


def main() -> None:
    addresses, clients, stop_file, result_file, *more = sys.argv[1:]
    pause, retry = map(float, more[:2]) if more else (PAUSE, RETRY)
    patience = [float(word) for word in more[2].split(",")] if more else [PATIENCE]
    every = [
        Client(number, addresses.split(","), pause, retry, patience[number % len(patience)])
        for number in range(int(clients))
    ]
    for client in every if not more else []:
        for address in client.addresses:
            client.connections[address] = connect(address, client.patience)
    stop = Stop(stop_file)
    threads = [threading.Thread(target=client.write, args=(stop,)) for client in every]
    for thread in threads:
        thread.start()
    while more and any(not client.confirmed for client in every):
        time.sleep(0.05)
    print("writing", flush=True)
    for thread in threads:
        thread.join()
    known = {
        "attempted": [client.row for client in every],
        "confirmed": [client.confirmed for client in every],
        "unknown": [client.unknown for client in every],
        # When each confirmed row was, in seconds since 1970: of each client, and of all.
        "moments": [client.times for client in every],
        "times": sorted(moment for client in every for moment in client.times),
        "waits": [wait for client in every for wait in client.waits],
        "errors": [client.errors for client in every],
    }
    if result_file == STANDARD:
        print(json.dumps(known), flush=True)
        return
    with open(result_file + ".part", "w", encoding="utf-8") as stream:
        json.dump(known, stream)
    os.rename(result_file + ".part", result_file)


if __name__ == "__main__":
    main()
