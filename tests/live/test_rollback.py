"""A server that does not come up with the new option file is started again with the old one."""

import pytest

from support.live_hosts import hosts, inventory, playbook, words

# RFC 6761: never resolves, so no server can bind it.
NOWHERE = "nonsense.invalid"
# What reads an error log, and the journal.
READERS = "/usr/bin/tail /usr/bin/journalctl"
RETRY = {
    "mysql": (
        "STOP REPLICA IO_THREAD; CHANGE REPLICATION SOURCE TO SOURCE_CONNECT_RETRY = 60;"
        " START REPLICA IO_THREAD"
    ),
    "mariadb": "STOP SLAVE; CHANGE MASTER TO MASTER_CONNECT_RETRY = 60; START SLAVE",
}


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request):
    for made in hosts(
        ("source", *request.param), ("replica", *request.param), turn="live-rollback"
    ):
        made[0].stop_quickly()
        yield made


def test_the_old_option_file_is_back_and_the_next_run_finishes(pair, tmp_path):
    source, replica = pair
    before = source.shell("find /etc/mysql -type f -exec sha256sum {} + | sort").stdout
    result = playbook(
        "site",
        inventory(
            tmp_path,
            {source: {}},
            {replica: {}},
            semisync_bind_address=NOWHERE,
            semisync_restart_timeout=20,
        ),
    )
    assert result.returncode != 0
    assert "the server was started with it, and answers" in words(result)
    assert source.shell("find /etc/mysql -type f -exec sha256sum {} + | sort").stdout == before
    source.wait()
    # It ends with the checks of verify.yml.
    assert playbook("site", inventory(tmp_path, {source: {}}, {replica: {}})).returncode == 0


def test_a_source_that_goes_back_has_its_replica_at_once(pair, tmp_path):
    source, replica = pair
    # The servers' own, for which a replica that has lost its source would stay away.
    replica.sql(RETRY[source.server])
    # The end of the server's log cannot be read; it is started all the same.
    source.shell(f"chmod a-x {READERS}")
    result = playbook(
        "site",
        inventory(
            tmp_path,
            {source: {"semisync_bind_address": NOWHERE}},
            {replica: {}},
            semisync_restart_timeout=20,
        ),
    )
    source.shell(f"chmod a+x {READERS}")
    assert result.returncode != 0
    assert "the server was started with it, and answers" in words(result)
    assert "The end of the server's log: not known: " in words(result)
    # Its channel was told to connect: by itself it tries again after 60 s.
    assert source.seconds_alone() < 30
    assert playbook("verify", inventory(tmp_path, {source: {}}, {replica: {}})).returncode == 0
