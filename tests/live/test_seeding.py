"""A replica is seeded from a source that takes writes: what `make seed` shows with 1 GB, with little data."""

import sys

import pytest
from live_hosts import PROJECT, hosts, inventory, playbook, words

sys.path.insert(0, str(PROJECT / "tests" / "seed"))

from seeding import Site, Writers, compare, fill, stated  # noqa: E402


@pytest.mark.long
@pytest.mark.parametrize("server,release,way", [("mysql", "", "clone"), ("mariadb", "12", "backup")])
def test_data_of_its_own_are_replaced_with_consent_alone_and_no_row_of_the_source_is_lost(server, release, way, tmp_path):
    for source, replica in hosts(("source", server, release), ("replica", server, release)):
        fill(source, 1)
        replica.sql("CREATE DATABASE mine; CREATE TABLE mine.own (id INT PRIMARY KEY); INSERT INTO mine.own VALUES (1)")
        before = replica.fingerprint()
        file = inventory(tmp_path, {source: {}}, {replica: {}})
        refused = playbook("site", file)
        assert refused.returncode != 0 and "It is not overwritten" in words(refused)
        assert replica.fingerprint() == before
        with Writers(source) as writers:
            text = Site(file, tmp_path / "site.log", "-e", "semisync_seed_overwrite=true").end()
        assert stated(text, replica)[0] == way
        assert compare(source, replica, writers.confirmed) >= 5 and len(writers.confirmed) > 100
        assert "mine" not in replica.value("SHOW DATABASES").split()
        for host in (source, replica):
            assert "clone" not in host.value("SELECT PLUGIN_NAME FROM information_schema.PLUGINS").split()
            assert "dbre_semisync_seed" not in host.value("SELECT User FROM mysql.user")
