"""A choice of tags does its part or refuses: it is never green over nothing done."""

from __future__ import annotations

import json

import pytest

from support.live_hosts import hosts, inventory, playbook, words

LINES = "cat /etc/mysql/*.conf.d/zz-dbre-semisync.cnf"


@pytest.mark.parametrize("tags", [(), ("--tags", "server")], ids=["whole", "tags"])
def test_an_empty_inventory_never_ends_green(tags, tmp_path):
    empty = tmp_path / "hosts.json"
    empty.write_text(json.dumps({"all": {"children": {"semisync_source": {}}}}))
    for name in ("site", "verify", "rotate"):
        result = playbook(name, empty, *tags)
        assert result.returncode != 0, words(result)
        assert "There is no host in group" in words(result)


def test_each_part_of_site_can_be_run_by_its_tag_in_their_order(tmp_path):
    for source, replica in hosts(
        ("source", "mysql", ""), ("replica", "mysql", ""), turn="live-tags"
    ):
        source.stop_quickly()
        file, pair = inventory(tmp_path, {source: {}}, {replica: {}}), (source, replica)
        before = [host.fingerprint() for host in pair]
        refused = playbook("site", file, "--tags", "replication")
        assert refused.returncode != 0 and "leaves the server out" in words(refused), words(refused)
        assert [host.fingerprint() for host in pair] == before

        done = playbook("site", file, "--tags", "server")
        assert done.returncode == 0, done.stdout
        for host in pair:
            assert "server_id" in host.shell(LINES).stdout
        # No replica could acknowledge yet, and nobody asked for replication.
        assert source.value("SELECT @@GLOBAL.rpl_semi_sync_source_enabled") == "0"
        assert replica.value("SHOW REPLICA STATUS") == ""

        done = playbook("site", file, "--tags", "replication")
        assert done.returncode == 0, done.stdout
        assert replica.value("SHOW REPLICA STATUS") != ""

        done = playbook("site", file)
        assert done.returncode == 0, done.stdout
        assert source.value("SELECT @@GLOBAL.rpl_semi_sync_source_enabled") == "1"
        for name, tag in (("rotate", "rotate"), ("gtid", "gtid"), ("site", "verify")):
            again = playbook(name, file, "--tags", tag)
            assert again.returncode == 0, again.stdout
            assert f"semisync_{tag}" in again.stdout or tag != "verify" or "P5" in again.stdout
