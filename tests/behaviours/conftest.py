"""A source and two replicas without the collection."""

import contextlib
import os
import pathlib
import threading

import pytest

from support import only
from support.eventually import eventually
from support.live_hosts import hosts
from support.plain_servers import GENERATIONS, SERVERS, TIMEOUT_MS, Replica, Source, of_tarball

pytest_collection_modifyitems = only.deselect


TARBALLS = os.environ.get("TARBALLS", "").split()
# (server, tarball, generation of names): those of tarballs where some are named, else those of
# Debian's packages.
KINDS: list[tuple[str, str | None, str]] = [
    ("mysql", path, generation) for path in TARBALLS for generation in GENERATIONS
]
KINDS = KINDS or [(server, None, "") for server in SERVERS]


@pytest.fixture(
    scope="module",
    params=KINDS,
    ids=[
        f"{pathlib.Path(path).name}-{generation}" if path else server
        for server, path, generation in KINDS
    ],
)
def cluster(request):
    """(source, its two replicas), replicating asynchronously; semi-sync's plugins are installed."""
    server, tarball, generation = request.param
    release = None if tarball else SERVERS[server]["release"]
    wanted = [(name, server, release, tarball) for name in ("source", "replica", "replica2")]
    # Closed at once where a generation is skipped: the next one waits for the same hosts.
    with contextlib.closing(hosts(*wanted, turn="behaviours")) as made:
        machines = next(made)
        words = of_tarball(release_of(machines[0]), generation) if tarball else SERVERS[server]
        if words is None:
            pytest.skip(f"this MySQL has no plugins of the {generation} names")
        yield replicating(machines, words)


def release_of(machine):
    """A server's version, in numbers."""
    version = machine.value("SELECT VERSION()").partition("-")[0]
    return tuple(map(int, version.split(".")))


def replicating(machines, words):
    """(source, its two replicas) of bare hosts."""
    source = Source(machines[0], 1, "source", words)
    replicas = [
        Replica(machine, number, "replica", words) for number, machine in enumerate(machines[1:], 2)
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
    return source, replicas


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
