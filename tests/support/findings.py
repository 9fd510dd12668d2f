"""Findings that tests bring about on real hosts: the hosts, what verify.yml says of them, and
whether a test has seen what it says it brings about.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding

from support.eventually import eventually
from support.live_hosts import Host, inventory, playbook, words

# (finding, role of its host, severity)
Told = tuple[str, str, str]
ROLES = ("source", "replica", "second")
WORDS = {
    "mysql": {
        "source": "source",
        "replica": "replica",
        "no_replica": "no_replica",
        "thread": "REPLICA",
        "delay": "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = {};",
        "position": "SHOW BINARY LOG STATUS",
        "by_position": (
            "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = '%s',"
            " SOURCE_LOG_POS = %s;"
        ),
        "by_gtid": "CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1;",
        "as_before_tls": "CHANGE REPLICATION SOURCE TO SOURCE_SSL_CA = '';",
    },
    "mariadb": {
        "source": "master",
        "replica": "slave",
        "no_replica": "no_slave",
        "thread": "SLAVE",
        "delay": "CHANGE MASTER TO MASTER_DELAY = {};",
        "position": "SHOW MASTER STATUS",
        "by_position": (
            "CHANGE MASTER TO MASTER_USE_GTID = no, MASTER_LOG_FILE = '%s', MASTER_LOG_POS = %s;"
        ),
        "by_gtid": "CHANGE MASTER TO MASTER_USE_GTID = slave_pos;",
        "as_before_tls": "CHANGE MASTER TO MASTER_SSL = 0, MASTER_SSL_CA = '';",
    },
}
FOLDERS = {"mysql": "mysql.conf.d", "mariadb": "mariadb.conf.d"}
# The last file that a server reads.
OWN_FILE = "/etc/mysql/{}/zzz-findings.cnf"
# What a cluster straight after site.yml is told.
NOTES = {
    ("relay_log_not_synced", "replica", "info"),
    ("replication_unverified", "replica", "info"),
}
# A server can only be brought to it if it has plugins, if it can give itself another version, or if
# a newer one refuses what it has.
IMPOSSIBLE = {
    "mysql": {"known_bad_version", "next_version"},
    "mariadb": {"plugin_mix", "plugin_not_loaded_at_start"},
}


class Cluster:
    """A source and its replicas, and the inventory they are in.

    Args:
        made: the hosts, the source first.
        folder: for inventory and results.
        variables: of the inventory.
    """

    def __init__(self, made: Sequence[Host], folder: pathlib.Path, **variables: Any) -> None:
        self.source, self.replica, self.folder = made[0], made[1], folder
        self.hosts = dict(zip(ROLES, made, strict=False))
        self.words, self.variables = WORDS[made[0].server], variables
        # What each run of verify.yml has told, and the findings of the newest.
        self.runs: list[set[Told]] = []
        self.findings: list[Finding] = []
        self.usual()

    def usual(self, **more: Any) -> None:
        """Write the inventory, with other values of some variables."""
        replicas = list(self.hosts.values())[1:]
        self.file = inventory(
            self.folder,
            {self.source: {}},
            {host: {} for host in replicas},
            **{**self.variables, **more},
        )

    def site(self, *arguments: str) -> str:
        """Run site.yml, which must succeed; what it said."""
        done = playbook("site", self.file, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return words(done)

    def sql(self, host: str, statements: str) -> str:
        """Run statements in which {source}, {replica} … stand for this server's words."""
        return self.hosts[host].value(statements.format(**self.words))

    def insert(self) -> None:
        self.source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")

    def verify(self, *arguments: str) -> tuple[int, set[Told], str]:
        """(exit status, what was told but the notes of a healthy cluster, the output)."""
        result = playbook("verify", self.file, *arguments)
        latest = self.folder / "results/default/latest/findings.json"
        roles = {host.name: role for role, host in self.hosts.items()}
        self.findings = json.loads(latest.read_text(encoding="utf-8"))
        found = {
            (one["id"], roles.get(one["host"], one["host"]), one["severity"])
            for one in self.findings
        }
        self.runs.append(found)
        notes = {(kind, role, info) for kind, _, info in NOTES for role in ROLES[1:]}
        return result.returncode, found - notes, words(result)

    def checkpoints(self) -> list[dict[str, Any]]:
        kept = self.folder / "results/default/latest/checkpoints.json"
        rows: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
        return rows

    def evidence(self, kind: str) -> str:
        return " | ".join(one["evidence"] for one in self.findings if one["id"] == kind)

    def eventually(self, host: str, statement: str, value: str) -> None:
        """Wait until the last column of a statement's row has a value."""
        eventually(
            lambda: self.sql(host, statement).split()[-1:] == [value], f"{statement} is {value}"
        )

    def whole(self) -> None:
        """Wait until the source waits for its replicas again, and each acknowledges."""
        self.eventually("source", "SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{source}_status'", "ON")
        for role in list(self.hosts)[1:]:
            status = "SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{replica}_status'"
            self.eventually(role, status, "ON")

    def caught_up(self) -> None:
        """Wait until the replica has the source's rows."""
        newest = self.source.value("SELECT MAX(id) FROM important.stuff")
        self.eventually("replica", "SELECT MAX(id) FROM important.stuff", newest)

    @contextlib.contextmanager
    def changed(self, host: str, statements: str, back: str) -> Iterator[None]:
        """Statements on a host, and others that take them back."""
        self.sql(host, statements)
        try:
            yield
        finally:
            self.sql(host, back)

    @contextlib.contextmanager
    def options(self, host: str, lines: str, restart: bool = True) -> Iterator[None]:
        """An option file more on a host, which its server starts with."""
        there = self.hosts[host]
        file = OWN_FILE.format(FOLDERS[there.server])
        again = f"systemctl restart {there.server}" if restart else ":"
        there.shell(f"cat > {file} && {again}", input=f"[mysqld]\n{lines}")
        there.wait()
        try:
            yield
        finally:
            there.shell(f"rm {file} && {again}")
            there.wait()


def brings(*stated: str) -> pytest.MarkDecorator:
    """Mark a test as one that brings findings about: each "kind role severity"."""
    return pytest.mark.brings(*(tuple(one.split()) for one in stated))


def missing(stated: Sequence[Told], runs: Sequence[set[Told]]) -> list[str]:
    """What is wrong with runs of verify.yml that must have told something, and later no more."""
    wrong = []
    for one in stated:
        first = next((number for number, told in enumerate(runs) if one in told), None)
        if first is None:
            wrong.append(f"{' '.join(one)}: no run has told it")
        elif all(one[:2] in {other[:2] for other in told} for told in runs[first:]):
            wrong.append(f"{' '.join(one)}: it was told to the end")
    return wrong


@pytest.hookimpl(wrapper=True)
def check_call(item: Any) -> Generator[None, Any, Any]:
    """A hook of pytest, pytest_runtest_call: a test that states what it brings about fails if it
    did not, or if that was not gone in the end.
    """
    mark = item.get_closest_marker("brings")
    clusters = {one for one in item.funcargs.values() if isinstance(one, Cluster)}
    before = {one: len(one.runs) for one in clusters}
    result = yield
    if mark:
        (cluster,) = clusters
        assert missing(mark.args, cluster.runs[before[cluster] :]) == []
    return result
