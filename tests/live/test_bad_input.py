"""Bad input is refused with its reason, and nothing on any host was touched.

What is wrong with one cluster is refused for that cluster alone, so one run has all of them: each
is a cluster of its own, whose hosts are other names of the same servers.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from support.live_hosts import Host, hosts, inventory, playbook, words

NO_DRIVER = "/opt/no-driver/bin/python3"
# A host's part of what a run said: from its failure to the next line that begins at the margin.
FAILURE = re.compile(r"^fatal: \[(\S+?)\]: (.*\n(?:[ \t].*\n)*)", re.MULTILINE)
RECAP = re.compile(r"^(\S+) +: ok=.* changed=(\d+) .* failed=(\d+) ", re.MULTILINE)


@pytest.fixture(scope="module")
def servers():
    """Two bare MySQL servers, a bare MariaDB, and two MariaDBs that give themselves another
    version.
    """
    for source, replica, mariadb, old, fork in hosts(
        ("source", "mysql", ""),
        ("replica", "mysql", ""),
        ("mariadb", "mariadb", "12"),
        ("old", "mariadb", "12"),
        ("fork", "mariadb", "12"),
        turn="live-bad-input",
    ):
        replica.shell("python3 -m venv --without-pip /opt/no-driver")
        for host, version in ((old, "5.1.73-MariaDB"), (fork, "8.0.11-TiDB-v7.5.1")):
            host.shell(
                f"printf '[mariadb]\\nversion = {version}\\n' >"
                " /etc/mysql/mariadb.conf.d/zy-version.cnf && systemctl restart mariadb"
            )
            host.wait()
        yield {"source": source, "replica": replica, "mariadb": mariadb, "old": old, "fork": fork}


@dataclasses.dataclass(frozen=True)
class Alias:
    """Another name of a server, as the inventory has it."""

    name: str


def one(name: str) -> Callable[[], dict[str, dict[str, Any]]]:
    """A side of one host, with which nothing is wrong."""
    return lambda: {name: {}}


@dataclasses.dataclass(frozen=True)
class Case:
    """A cluster that must be refused.

    Args:
        reason: what must be said of it; {source} and the like are the names of its hosts.
        sources, replicas: its hosts, by the servers that they are, with what is wrong with one.
        variables: what is wrong with all of them.
    """

    reason: str
    sources: dict[str, dict[str, Any]] = dataclasses.field(default_factory=one("source"))
    replicas: dict[str, dict[str, Any]] = dataclasses.field(default_factory=one("replica"))
    variables: dict[str, Any] = dataclasses.field(default_factory=dict)


CASES: dict[str, Case] = {
    "no source": Case(
        "has no source: replica {replica} has nothing to follow; put its source into group",
        sources={},
    ),
    "two sources": Case(
        "has 2 sources: {source}, {replica}",
        sources={"source": {}, "replica": {}},
        replicas={},
    ),
    "a host in both groups": Case(
        "{source} is in both groups", replicas={"source": {}, "replica": {}}
    ),
    "a replica without its source": Case(
        "cluster 'other' (semisync_cluster) has no source",
        replicas={"replica": {"semisync_cluster": "other"}},
    ),
    "the same server_id twice": Case(
        "server_id 7 is given to {source} and {replica}; set semisync_server_id",
        variables={"semisync_server_id": 7},
    ),
    "wrong login": Case(
        "wrong login: the server at /run/mysqld/mysqld.sock refuses nobody",
        variables={"semisync_login_user": "nobody", "semisync_login_password": "geheim"},
    ),
    "wrong socket": Case(
        "does not listen at /run/other.sock",
        variables={"semisync_login_unix_socket": "/run/other.sock"},
    ),
    "a server too old": Case(
        "5.1.73-MariaDB is too old: semi-synchronous replication begins with 5.5",
        sources={"old": {}},
        replicas={"mariadb": {}},
    ),
    "a server not identified": Case(
        "server not identified: the server says it is 8.0.11-TiDB",
        sources={"fork": {}},
        replicas={"mariadb": {}},
    ),
    "no PyMySQL on a host": Case(
        "That Python is not of the system, so no package is installed for it.",
        replicas={"replica": {"ansible_python_interpreter": NO_DRIVER}},
    ),
    "MySQL and MariaDB mixed": Case(
        "MySQL and MariaDB are mixed in one cluster", replicas={"mariadb": {}}
    ),
    "a timeout that is no number": Case(
        "semisync_timeout is 'abc'; it must be a whole number",
        variables={"semisync_timeout": "abc"},
    ),
    "a timeout of nothing": Case(
        "semisync_timeout is 0; it must be 1 to 4294967295", variables={"semisync_timeout": 0}
    ),
    "an unknown wait point": Case(
        "semisync_wait_point is 'NOW'; it must be AFTER_SYNC or AFTER_COMMIT",
        variables={"semisync_wait_point": "NOW"},
    ),
    "more acknowledgements than replicas": Case(
        "semisync_wait_for_replica_count is 2, but the cluster has 1 replica",
        variables={"semisync_wait_for_replica_count": 2},
    ),
    "no password": Case(
        "semisync_replication_password is empty", variables={"semisync_replication_password": ""}
    ),
    "a password too long for MySQL": Case(
        "semisync_replication_password has 33 characters; a MySQL replica takes at most",
        variables={"semisync_replication_password": "x" * 33},
    ),
    "a baseline without consent": Case(
        "pass -e semisync_allow_disruption=true", variables={"semisync_baseline": True}
    ),
}


def names(title: str, case: Case) -> dict[str, Alias]:
    """The names of a case's hosts, by the servers that they are."""
    return {
        server: Alias(f"{title.replace(' ', '-')}-{server}")
        for server in {**case.sources, **case.replicas}
    }


def group(servers: dict[str, Host], side: str) -> dict[Alias, dict[str, Any]]:
    """The hosts of all cases that are on one side, with their variables."""
    return {
        names(title, case)[server]: {
            "ansible_host": servers[server].name,
            "semisync_cluster": title,
            **case.variables,
            **extra,
        }
        for title, case in CASES.items()
        for server, extra in getattr(case, side).items()
    }


class Refusals:
    """What one run on all clusters said of each host, and what it left."""

    def __init__(self, servers: dict[str, Host], run: Any) -> None:
        self.before = {name: host.fingerprint() for name, host in servers.items()}
        self.result: subprocess.CompletedProcess[str] = run()
        self.after = {name: host.fingerprint() for name, host in servers.items()}
        self.said: dict[str, str] = {}
        for name, text in FAILURE.findall(self.result.stdout):
            said = words(subprocess.CompletedProcess([], 1, text, ""))
            self.said[name] = f"{self.said.get(name, '')} {said}"
        self.counted = {
            name: (int(changed), int(failed))
            for name, changed, failed in RECAP.findall(self.result.stdout)
        }


@pytest.fixture(scope="module")
def refusals(servers, tmp_path_factory):
    file = inventory(
        tmp_path_factory.mktemp("refusals"), group(servers, "sources"), group(servers, "replicas")
    )
    return Refusals(servers, lambda: playbook("site", file))


@pytest.mark.parametrize("title", CASES)
def test_is_refused_before_anything_is_touched(refusals, title):
    case = CASES[title]
    its = names(title, case)
    reason = case.reason.format(**{server: alias.name for server, alias in its.items()})
    said = {alias.name: refusals.said.get(alias.name, "") for alias in its.values()}
    assert any(reason in text for text in said.values()), said
    # Every host of it: none goes on where another was refused.
    assert {alias.name: refusals.counted[alias.name] for alias in its.values()} == {
        alias.name: (0, 1) for alias in its.values()
    }
    assert {server: refusals.after[server] for server in its} == {
        server: refusals.before[server] for server in its
    }


def refused(servers, tmp_path, sources, replicas, *arguments, playbook_name="site", **variables):
    """Run a playbook that must refuse; returns what it said once every host is seen to be
    untouched.
    """
    given = [
        {servers[name]: extra for name, extra in group.items()} for group in (sources, replicas)
    ]
    involved = {name: servers[name] for name in [*sources, *replicas]}
    before = {name: host.fingerprint() for name, host in involved.items()}
    result = playbook(playbook_name, inventory(tmp_path, *given, **variables), *arguments)
    assert result.returncode != 0, result.stdout
    assert {name: host.fingerprint() for name, host in involved.items()} == before
    assert "changed=0" in result.stdout and "changed=1" not in result.stdout
    return words(result)


PAIR: dict[str, Any] = {"sources": {"source": {}}, "replicas": {"replica": {}}}


@pytest.mark.parametrize("name", ["site", "verify"])
def test_an_inventory_without_hosts_is_refused(tmp_path, name):
    said = refused({}, tmp_path, {}, {}, playbook_name=name)
    assert "no host in group semisync_source or semisync_replica" in said


def test_verify_leaves_nothing_on_servers_that_were_never_set_up(servers, tmp_path):
    # A canary's schema there would have to be brought to the replica.
    said = refused(servers, tmp_path, **PAIR, playbook_name="verify")
    assert "no replica reads this server's binary log, and semi-sync is off" in said


def test_a_replica_with_data_of_its_own_is_refused_and_keeps_it(servers, tmp_path):
    servers["replica"].sql(
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY);"
        "INSERT INTO shop.orders VALUES (1)"
    )
    said = refused(servers, tmp_path, **PAIR)
    source, replica = servers["source"].name, servers["replica"].name
    assert f"{replica} holds data that the source {source} does not have" in said
    assert servers["replica"].value("SELECT COUNT(*) FROM shop.orders") == "1"


def test_a_server_that_does_not_run_is_named(servers, tmp_path):
    servers["mariadb"].shell("systemctl stop mariadb")
    try:
        given = inventory(tmp_path, {servers["mariadb"]: {}}, {servers["old"]: {}})
        result = playbook("site", given)
        assert result.returncode != 0
        said = words(result)
        assert "the server is not running, or does not listen at" in said
        assert (
            "Units of this host that could be it: mariadb.service is stopped. Its option files are,"
            " on Debian, " in said
        )
    finally:
        servers["mariadb"].shell("systemctl start mariadb")
