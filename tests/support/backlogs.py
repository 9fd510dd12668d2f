"""Replicas that have received what they have not applied, on real servers."""

from __future__ import annotations

import time

from support.live_hosts import Host

WORD = {"mysql": "REPLICA", "mariadb": "SLAVE"}
# Each client sends one row after another; a client that fails fails the whole.
LOAD = """
for client in $(seq {clients}); do
  yes "INSERT INTO app.loaded (client) VALUES ($client);" | head -n {each} | {program} &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || exit 1; done
"""


def prepare(source: Host) -> None:
    source.sql(
        "CREATE DATABASE IF NOT EXISTS app; CREATE TABLE IF NOT EXISTS app.loaded (id BIGINT"
        " AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL) ENGINE=InnoDB"
    )


def load(source: Host, rows: int, clients: int = 50) -> None:
    """So many rows more, each a transaction of its own, all confirmed."""
    source.shell(LOAD.format(clients=clients, each=rows // clients, program=source.client))


def applier(host: Host, verb: str) -> None:
    """Start or stop a replica's SQL thread, alone."""
    host.sql(f"{verb} {WORD[host.server]} SQL_THREAD")


def rows_of(host: Host) -> int:
    return int(host.value("SELECT COUNT(*) FROM app.loaded"))


def drain(replica: Host, wanted: int, seconds: float = 600) -> tuple[int, float]:
    """(transactions that were left, seconds) until a replica has so many rows."""
    left = wanted - rows_of(replica)
    begin = time.monotonic()
    applier(replica, "START")
    wait_for(replica, wanted, seconds)
    return left, time.monotonic() - begin


def wait_for(replica: Host, wanted: int, seconds: float = 600) -> None:
    """Wait until a replica has so many rows."""
    deadline = time.monotonic() + seconds
    while rows_of(replica) < wanted:
        assert time.monotonic() < deadline, "it does not get on"
        time.sleep(0.1)
