"""A source and two replicas without the collection."""

import os
import pathlib
import threading

import pytest

from support import only
from support.eventually import eventually
from support.live_hosts import hosts
from support.plain_servers import OLD, SERVERS, TIMEOUT_MS, Replica, Source

pytest_collection_modifyitems = only.deselect


TARBALLS = os.environ.get("TARBALLS", "").split()
# (server, tarball): those of tarballs where some are named, else those of Debian's packages.
KINDS: list[tuple[str, str | None]] = [("mysql", path) for path in TARBALLS]
KINDS = KINDS or [(server, None) for server in SERVERS]


@pytest.fixture(
    scope="module",
    params=KINDS,
    ids=[pathlib.Path(path).name if path else server for server, path in KINDS],
)
def cluster(request):
    """(source, its two replicas), replicating asynchronously; semi-sync's plugins are installed."""
    server, tarball = request.param
    words = OLD if tarball else SERVERS[server]
    wanted = [
        (name, server, words["release"], tarball) for name in ("source", "replica", "replica2")
    ]
    for machines in hosts(*wanted, turn="behaviours"):
        source = Source(machines[0], 1, "source", words)
        replicas = [
            Replica(machine, number, "replica", words)
            for number, machine in enumerate(machines[1:], 2)
        ]
        threads = [threading.Thread(target=server.configure) for server in (source, *replicas)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for server in (source, *replicas):
            server.install()
        source.sql(
            "CREATE USER repl@'%' IDENTIFIED BY 'repl'",
            "GRANT REPLICATION SLAVE ON *.* TO repl@'%'",
            "CREATE DATABASE behave",
            "CREATE TABLE behave.rows (id INT AUTO_INCREMENT PRIMARY KEY, details TEXT)",
        )
        for replica in replicas:
            replica.sql(words["follow"] % source.host.name, "START {thread}")
            eventually(replica.running, "the channel runs")
        yield source, replicas


@pytest.fixture
def fresh(cluster):
    """The cluster with semi-sync off everywhere, no client counted, both replicas connected,
    counters at zero.
    """
    source, replicas = cluster
    source.set("enabled", "OFF")
    source.set("timeout", TIMEOUT_MS)
    source.set(source.words["wait_no"], "ON")
    for name, value in (("wait_point", "AFTER_SYNC"), (source.words["wait_count"], 1)):
        if source.has(name):
            source.set(name, value)
    for replica in replicas:
        replica.off()

    # The source learns of a replica that left when it sends.
    def nobody():
        source.sql("INSERT INTO behave.rows (details) VALUES ('nobody')")
        return source.status("clients") == "0"

    eventually(nobody, "no client is left")
    source.sql("FLUSH NO_WRITE_TO_BINLOG STATUS")
    return source, replicas
