"""Semi-sync comes and goes without a restart and without holding a writer up; what is left is as it
was.
"""

import time

import pytest

from support.live_hosts import hosts, inventory, playbook, words
from support.waits import Writers, longest

pytestmark = pytest.mark.own_target

# What the online way promises on a machine of its own. Tests share theirs, where a commit alone can
# take longer, so that only a wait for the semi-sync timeout counts as one here; `make stalls`
# measures.
SEMISYNC_TIMEOUT_MS = 10000
CLIENTS = 10
FILES = "cd / && find etc/mysql etc/my.cnf* -type f -exec sha256sum {} + 2>/dev/null | sort"


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request, tmp_path_factory):
    """An asynchronous pair whose replication is its owner's: the collection's lines for it were
    handed over.
    """
    for source, replica in hosts(
        ("source", *request.param), ("replica", *request.param), turn="live-online"
    ):
        folder = tmp_path_factory.mktemp("pair")
        file = inventory(
            folder,
            {source: {}},
            {replica: {}},
            semisync_apply="online",
            semisync_timeout=SEMISYNC_TIMEOUT_MS,
        )
        done = playbook("parts.apply", file, "-e", "semisync_stage=replication")
        assert done.returncode == 0, done.stdout
        gone = playbook("remove", file)
        assert gone.returncode == 0, gone.stdout
        yield source, replica, file


def settings(host):
    """The server's process and what semi-sync is there set to."""
    return host.value(
        "SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%';SELECT PLUGIN_NAME FROM"
        " information_schema.PLUGINS WHERE PLUGIN_NAME LIKE 'rpl_semi%' ORDER BY 1"
    )


def pid(host):
    return host.shell("pidof mysqld mariadbd", check=False).stdout.strip()


def files(host):
    return host.shell(FILES, check=False).stdout


def test_online_and_back_again(pair):
    source, replica, file = pair
    before = [(pid(host), files(host), settings(host)) for host in (source, replica)]
    writers = Writers(source, CLIENTS)
    writers.start()
    time.sleep(2)
    begin = time.time()
    done = playbook("site", file)
    found = writers.stop()
    assert done.returncode == 0, done.stdout
    assert found["refused"] == 0 and longest(found["rows"], since=begin - 1) < SEMISYNC_TIMEOUT_MS
    assert [pid(host) for host in (source, replica)] == [one[0] for one in before], (
        "a server was restarted"
    )

    online = [settings(host) for host in (source, replica)]
    for host in (replica, source):
        host.shell("systemctl restart " + host.server)
        host.wait()
    assert [settings(host) for host in (source, replica)] == online, (
        "the next restart changes what was set online"
    )
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout

    announced = playbook("remove", file, "--check", "--diff")
    assert announced.returncode == 0 and [settings(host) for host in (source, replica)] == online
    writers.start()
    gone = playbook("remove", file)
    found = writers.stop()
    assert gone.returncode == 0, gone.stdout
    assert longest(found["rows"]) < SEMISYNC_TIMEOUT_MS and found["refused"] == 0
    assert [files(host) for host in (source, replica)] == [one[1] for one in before]
    changes = [
        line.split("changed=")[1].split()[0]
        for result in (announced, gone)
        for line in result.stdout.splitlines()
        if "changed=" in line
    ]
    assert changes[: len(changes) // 2] == changes[len(changes) // 2 :], (
        "--check announced something else"
    )
    if source.server == "mysql":
        assert (
            [settings(host) for host in (source, replica)] == [one[2] for one in before] == ["", ""]
        )
    else:
        assert "enabled\tON" not in settings(source) + settings(replica)

    source.sql("INSERT INTO stalls.rows_of (client) VALUES (-1)")
    until = time.monotonic() + 60
    while replica.value("SELECT COUNT(*) FROM stalls.rows_of WHERE client = -1") != "1":
        assert time.monotonic() < until, "replication does not go on"
        time.sleep(0.2)
    once_more = playbook("remove", file)
    assert (
        once_more.returncode == 0
        and "changed=0" in once_more.stdout
        and "changed=1" not in once_more.stdout
    )


def test_lines_of_others_that_would_do_harm_are_named_before_anything_is_undone(pair):
    source, replica, file = pair
    assert playbook("site", file).returncode == 0
    name = source.value("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%_enabled'").split("\t")[0]
    folder = f"/etc/mysql/{source.server}.conf.d"
    source.shell(f"printf '[mysqld]\\n{'loose_' + name} = 1\\n' > {folder}/own.cnf")
    before = [host.fingerprint() for host in (source, replica)]
    refused = playbook("remove", file)
    assert refused.returncode != 0 and f"the option files set {name} besides our lines" in words(
        refused
    )
    assert [host.fingerprint() for host in (source, replica)] == before
    source.shell(f"rm {folder}/own.cnf")
    assert playbook("remove", file).returncode == 0
