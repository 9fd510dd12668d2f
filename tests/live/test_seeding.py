"""A replica is seeded from a source that takes writes: what `make seed` shows with 1 GB, with
little data.
"""

import pytest

from support.live_hosts import CLIENTS, hosts, inventory, playbook, run, words
from support.seeding import Site, Writers, compare, fill, stated

# Once the channel runs, nothing is applied for so many seconds; what is received meanwhile lies
# there.
BEHIND_SECONDS = 20
BEHIND = (
    "until %s -e 'SHOW REPLICA STATUS' 2>/dev/null | grep -q .; do sleep 0.1; done;"
    "%s -e 'FLUSH TABLES WITH READ LOCK; SELECT SLEEP(%d)'"
)
# As the source's general log has them: account, host, and how they came.
CLONE_LOGINS = (
    "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type = 'Connect'"
    " AND CONVERT(argument USING utf8mb4) LIKE 'dbre_semisync_seed@% on %'"
)


@pytest.mark.long
@pytest.mark.parametrize(
    "server,release,way",
    [
        ("mysql", "", "clone"),
        ("mysql", "", "dump"),
        ("mariadb", "12", "backup"),
        ("mariadb", "12", "dump"),
    ],
)
def test_data_of_its_own_are_replaced_with_consent_alone_and_no_row_of_the_source_is_lost(
    server, release, way, tmp_path
):
    for source, replica in hosts(("source", server, release), ("replica", server, release)):
        fill(source, 1)
        replica.sql(
            "CREATE DATABASE mine; CREATE TABLE mine.own (id INT PRIMARY KEY); INSERT INTO mine.own"
            " VALUES (1)"
        )
        before = replica.fingerprint()
        if way == "clone":
            source.sql("SET PERSIST log_output = 'TABLE'; SET PERSIST general_log = ON")
        # The others are chosen by themselves.
        given = {"semisync_seed_method": way} if way == "dump" else {}
        file = inventory(tmp_path, {source: {}}, {replica: {}}, **given)
        refused = playbook("site", file)
        assert refused.returncode != 0 and "It is not overwritten" in words(refused)
        assert replica.fingerprint() == before
        with Writers(source) as writers:
            text = Site(file, tmp_path / "site.log", "-e", "semisync_seed_overwrite=true").end()
        assert stated(text, replica)[0] == way
        assert ("a dump leaves out privileges" in text) == (way == "dump")
        assert compare(source, replica, writers.confirmed) >= 5 and len(writers.confirmed) > 100
        assert "mine" not in replica.value("SHOW DATABASES").split()
        if way == "clone":
            logins = source.value(CLONE_LOGINS).splitlines()
            assert logins and all("using SSL/TLS" in login for login in logins), logins
        for host in (source, replica):
            assert (
                "clone"
                not in host.value("SELECT PLUGIN_NAME FROM information_schema.PLUGINS").split()
            )
            assert "dbre_semisync_seed" not in host.value("SELECT User FROM mysql.user")


@pytest.mark.long
@pytest.mark.parametrize("server,release", [("mysql", ""), ("mariadb", "12")])
def test_a_replica_that_is_behind_after_its_seeding_is_waited_for(server, release, tmp_path):
    for source, replica in hosts(("source", server, release), ("replica", server, release)):
        fill(source, 1)
        file, client = inventory(tmp_path, {source: {}}, {replica: {}}), CLIENTS[server]
        run(
            "docker",
            "exec",
            "--detach",
            replica.name,
            "sh",
            "-c",
            BEHIND % (client, client, BEHIND_SECONDS),
        )
        with Writers(source) as writers:
            refused = playbook("site", file, "-e", "semisync_catch_up_timeout=7")
            assert (
                refused.returncode != 0
                and "transactions are missing, and it applies none" in words(refused)
            ), words(refused)
            assert "transactions to apply" in words(refused)
            text = Site(file, tmp_path / "site.log").end()
        assert "Ask the source how far it is" in text
        assert compare(source, replica, writers.confirmed) >= 5
        again = playbook("site", file)
        assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout
        assert "Ask the source how far it is" not in again.stdout
