"""Bad input is refused with its reason, and nothing on any host was touched."""

from typing import Any

import pytest

from support.live_hosts import hosts, inventory, playbook, words

NO_DRIVER = "/opt/no-driver/bin/python3"


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
    ):
        replica.shell("python3 -m venv --without-pip /opt/no-driver")
        for host, version in ((old, "5.1.73-MariaDB"), (fork, "8.0.11-TiDB-v7.5.1")):
            host.shell(
                f"printf '[mariadb]\\nversion = {version}\\n' >"
                " /etc/mysql/mariadb.conf.d/zy-version.cnf && systemctl restart mariadb"
            )
            host.wait()
        yield {"source": source, "replica": replica, "mariadb": mariadb, "old": old, "fork": fork}


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

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "no source": (
        {"sources": {}, "replicas": {"replica": {}}},
        (
            "has no source: replica semisync-live-replica has nothing to follow; put its source"
            " into group"
        ),
    ),
    "two sources": (
        {"sources": {"source": {}, "replica": {}}, "replicas": {}},
        "has 2 sources: semisync-live-source, semisync-live-replica",
    ),
    "a host in both groups": (
        {"sources": {"source": {}}, "replicas": {"source": {}, "replica": {}}},
        "semisync-live-source is in both groups",
    ),
    "a replica without its source": (
        {"sources": {"source": {}}, "replicas": {"replica": {"semisync_cluster": "other"}}},
        "cluster 'other' (semisync_cluster) has no source",
    ),
    "the same server_id twice": (
        dict(PAIR, semisync_server_id=7),
        (
            "server_id 7 is given to semisync-live-source and semisync-live-replica; set "
            "semisync_server_id"
        ),
    ),
    "wrong login": (
        dict(PAIR, semisync_login_user="nobody", semisync_login_password="geheim"),
        "wrong login: the server at /run/mysqld/mysqld.sock refuses nobody",
    ),
    "wrong socket": (
        dict(PAIR, semisync_login_unix_socket="/run/other.sock"),
        "does not listen at /run/other.sock",
    ),
    "a server too old": (
        {"sources": {"old": {}}, "replicas": {"mariadb": {}}},
        "5.1.73-MariaDB is too old: semi-synchronous replication begins with 5.5",
    ),
    "a server not identified": (
        {"sources": {"fork": {}}, "replicas": {"mariadb": {}}},
        "server not identified: the server says it is 8.0.11-TiDB",
    ),
    "no PyMySQL on a host": (
        {
            "sources": {"source": {}},
            "replicas": {"replica": {"ansible_python_interpreter": NO_DRIVER}},
        },
        "That Python is not of the system, so no package is installed for it.",
    ),
    "MySQL and MariaDB mixed": (
        {"sources": {"source": {}}, "replicas": {"mariadb": {}}},
        "MySQL and MariaDB are mixed in one cluster",
    ),
    "a timeout that is no number": (
        dict(PAIR, semisync_timeout="abc"),
        "semisync_timeout is 'abc'; it must be a whole number",
    ),
    "a timeout of nothing": (
        dict(PAIR, semisync_timeout=0),
        "semisync_timeout is 0; it must be 1 to 4294967295",
    ),
    "an unknown wait point": (
        dict(PAIR, semisync_wait_point="NOW"),
        "semisync_wait_point is 'NOW'; it must be AFTER_SYNC or AFTER_COMMIT",
    ),
    "more acknowledgements than replicas": (
        dict(PAIR, semisync_wait_for_replica_count=2),
        "semisync_wait_for_replica_count is 2, but the cluster has 1 replica",
    ),
    "no password": (
        dict(PAIR, semisync_replication_password=""),
        "semisync_replication_password is empty",
    ),
    "a password too long for MySQL": (
        dict(PAIR, semisync_replication_password="x" * 33),
        "semisync_replication_password has 33 characters; a MySQL replica takes at most",
    ),
    "a baseline without consent": (
        dict(PAIR, semisync_baseline=True),
        "Say semisync_allow_disruption=true",
    ),
    "nothing in the inventory": (
        {"sources": {}, "replicas": {}},
        "no host in group semisync_source or semisync_replica",
    ),
    "verify without anything in the inventory": (
        {"sources": {}, "replicas": {}, "playbook_name": "verify"},
        "no host in group semisync_source or semisync_replica",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_is_refused_before_anything_is_touched(servers, tmp_path, name):
    given, reason = CASES[name]
    assert reason in refused(servers, tmp_path, **given)


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
    assert (
        "semisync-live-replica holds data that the source semisync-live-source does not have"
        in said
    )
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
