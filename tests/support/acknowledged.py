"""Clients that write to whichever server takes it, and whether each confirmed row is there: K1."""

from __future__ import annotations

import json
import pathlib
import time
from collections import Counter
from typing import Any

from support.clients.keep_writing import PATIENCE, PAUSE, RETRY
from support.live_hosts import Host, run

RELEASES = {"mysql": "", "mariadb": "12"}
CLIENTS = pathlib.Path(__file__).with_name("clients") / "keep_writing.py"


class Writers:
    """The clients, on one host, from start to stop.

    Args:
        host: where they run.
        servers: those that they write to.
    """

    def __init__(self, host: Host, servers: list[Host], clients: int = 50) -> None:
        self.host, self.servers, self.clients = host, servers, clients

    def prepare(self, source: Host) -> None:
        """Make their account and table on the source."""
        for server in self.servers:
            # Of MySQL 5.6: on the host itself they come before the clients' own.
            for account in server.sql(
                "SELECT QUOTE(Host) FROM mysql.user WHERE User = ''"
            ).stdout.split():
                server.sql(f"SET SESSION sql_log_bin = 0; DROP USER ''@{account}")
        source.sql(
            "CREATE DATABASE IF NOT EXISTS app; CREATE TABLE IF NOT EXISTS app.written (id BIGINT"
            " AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, number INT NOT NULL) ENGINE=InnoDB;"
            " CREATE USER app@'%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO app@'%';"
        )

    def start(
        self,
        address: str | None = None,
        retry: float | None = None,
        pause: float = PAUSE,
        patience: float = PATIENCE,
    ) -> None:
        """Let them write: to an address, or to whichever server takes it; each again in so many
        seconds where it was refused, by default at once.

        Args:
            pause: seconds between two rows of a client.
            patience: seconds for which a client waits for an answer.
        """
        timed = retry is not None or (pause, patience) != (PAUSE, PATIENCE)
        to = address or ",".join(f"{server.name}:3306" for server in self.servers)
        run("docker", "cp", CLIENTS, f"{self.host.name}:/root/keep_writing.py")
        run(
            "docker",
            "exec",
            "--detach",
            self.host.name,
            "sh",
            "-c",
            "python3 /root/keep_writing.py"
            f" {to} {self.clients} /root/stop-writing /root/written.json"
            f"{f' {pause} {retry or RETRY} {patience}' if timed else ''} >/root/writers.log 2>&1",
        )

    def stop(self, seconds: float = 90) -> dict[str, Any]:
        """What the clients know, once the last has ended."""
        self.host.shell("touch /root/stop-writing")
        until = time.monotonic() + seconds
        while self.host.shell("test -e /root/written.json", check=False).returncode != 0:
            assert time.monotonic() < until, self.host.shell("cat /root/writers.log").stdout
            time.sleep(0.2)
        return json.loads(
            self.host.shell(
                "cat /root/written.json; rm /root/written.json /root/stop-writing"
            ).stdout
        )


def rows_of(host: Host) -> Counter:
    """How often each row is on a server."""
    lines = host.value("SELECT client, number FROM app.written").splitlines()
    return Counter(tuple(int(word) for word in line.split()) for line in lines)


def judge(known: dict[str, Any], there: Counter) -> dict[str, list]:
    """K1: what was lost, what no writer wrote, what is there twice; each empty if all is well.

    A row that was refused may not be there; one whose outcome is unknown may be either.
    """
    confirmed = {
        (client, number) for client, rows in enumerate(known["confirmed"]) for number in rows
    }
    unknown = {(client, number) for client, rows in enumerate(known["unknown"]) for number in rows}
    return {
        "lost": sorted(confirmed - set(there)),
        "unexpected": sorted(set(there) - confirmed - unknown),
        "twice": sorted(row for row, times in there.items() if times > 1),
    }


def same_data(made: list[Host], seconds: float = 60) -> None:
    """Wait until all servers have as many rows."""
    until = time.monotonic() + seconds
    while True:
        counts = [host.value("SELECT COUNT(*) FROM app.written") for host in made]
        if len(set(counts)) == 1:
            return
        assert time.monotonic() < until, f"the servers' rows differ: {counts}"
        time.sleep(0.5)


def record_of(folder: pathlib.Path) -> dict[str, Any]:
    """switchover.json of the newest run."""
    file = folder / "results" / "default" / "latest" / "switchover.json"
    return json.loads(file.read_text(encoding="utf-8"))
