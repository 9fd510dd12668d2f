"""Replicas that have received what they have not applied, on real servers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from support.live_hosts import Host

WORD = {"mysql": "REPLICA", "mariadb": "SLAVE"}
ONE_BY_ONE = {
    "mysql": "STOP REPLICA SQL_THREAD; SET GLOBAL replica_parallel_workers = {};"
    " START REPLICA SQL_THREAD",
    "mariadb": "STOP SLAVE; SET GLOBAL slave_parallel_threads = {}; START SLAVE",
}
ONE = {"mysql": 1, "mariadb": 0}
# The lab's disks are quick: each commit of the applier waits.
SLOW = {
    "mysql": "SET GLOBAL binlog_group_commit_sync_delay = {delay}",
    "mariadb": "SET GLOBAL binlog_commit_wait_usec = {delay},"
    " GLOBAL binlog_commit_wait_count = 1000",
}
USUAL = {
    "mysql": "SET GLOBAL binlog_group_commit_sync_delay = DEFAULT",
    "mariadb": "SET GLOBAL binlog_commit_wait_usec = DEFAULT,"
    " GLOBAL binlog_commit_wait_count = DEFAULT",
}
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


def slow(host: Host, microseconds: int) -> None:
    """Have each of its commits wait for so long."""
    host.sql(SLOW[host.server].format(delay=microseconds))


def one_by_one(host: Host) -> None:
    """Have a replica apply one transaction after another."""
    host.sql(ONE_BY_ONE[host.server].format(ONE[host.server]))


@contextlib.contextmanager
def slowly(host: Host, microseconds: int) -> Iterator[None]:
    """A replica that applies one transaction after another, and waits for so long after each."""
    one_by_one(host)
    slow(host, microseconds)
    try:
        yield
    finally:
        host.sql(USUAL[host.server])
        host.sql(ONE_BY_ONE[host.server].format("DEFAULT"))


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
