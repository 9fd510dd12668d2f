"""A choice of tags does its part or refuses: it is never green over nothing done."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.live_hosts import inventory, playbook, words

LINES = "cat /etc/mysql/*.conf.d/zz-dbre-semisync.cnf"


@pytest.mark.parametrize("tags", [(), ("--tags", "server")], ids=["whole", "tags"])
def test_an_empty_inventory_never_ends_green(tags, tmp_path):
    empty = tmp_path / "hosts.json"
    empty.write_text(json.dumps({"all": {"children": {"semisync_source": {}}}}))
    for name in ("site", "verify", "rotate"):
        result = playbook(name, empty, *tags)
        assert result.returncode != 0, words(result)
        assert "There is no host in group" in words(result)


def nowhere(folder, **groups):
    """An inventory of hosts that nothing connects to, by group."""
    file = folder / "hosts.json"
    children: dict[str, Any] = {
        name: {"hosts": {host: {} for host in hosts}} for name, hosts in groups.items()
    }
    file.write_text(json.dumps({"all": {"children": children}}))
    return file


@pytest.mark.parametrize("name", ["verify", "site", "failover"])
def test_with_limit_no_command_ends_green_where_the_groups_are_missing(name, tmp_path):
    result = playbook(name, nowhere(tmp_path, shop=["db1", "db2"]), "--limit", "shop")
    assert result.returncode != 0, words(result)
    assert "Its groups are shop (db1, db2)." in words(result)


def test_a_group_with_a_slip_in_its_name_is_named(tmp_path):
    slip = {"semisync_sorce": ["db1"], "semisync_replica": ["db2"], "shop": ["db1", "db2"]}
    result = playbook("verify", nowhere(tmp_path, **slip), "--limit", "shop")
    assert result.returncode != 0, words(result)
    assert "no host in group semisync_source, but db1 in semisync_sorce" in words(result)


def test_a_limit_that_leaves_no_host_of_a_cluster_never_ends_green(tmp_path):
    groups = {"semisync_source": ["db1"], "semisync_replica": ["db2"], "web": ["web1"]}
    result = playbook("verify", nowhere(tmp_path, **groups), "--limit", "web")
    assert result.returncode != 0, words(result)
    assert "--limit takes web1, and leaves no host of groups" in words(result)


@pytest.mark.parametrize("name", ["verify", "drill"])
def test_a_tag_that_a_command_does_not_have_never_ends_green(name, tmp_path):
    groups = {"semisync_source": ["db1"], "semisync_replica": ["db2"]}
    result = playbook(name, nowhere(tmp_path, **groups), "--tags", "nosuch")
    assert result.returncode != 0, words(result)
    assert "No host was read in this run with the tags nosuch" in words(result)


def test_a_misspelt_variable_is_refused_with_the_nearest_that_there_is(tmp_path):
    groups = {"semisync_source": ["db1"], "semisync_replica": ["db2"]}
    result = playbook("verify", nowhere(tmp_path, **groups), "-e", "semisync_timout=3000")
    assert result.returncode != 0, words(result)
    assert "db1, db2: semisync_timout is not a variable" in words(result)
    assert "(nearest: semisync_timeout)" in words(result)


def test_each_part_of_site_can_be_run_by_its_tag_in_their_order(shared_pair, tmp_path):
    source, replica = shared_pair
    file, pair = inventory(tmp_path, {source: {}}, {replica: {}}), (source, replica)
    before = [host.fingerprint() for host in pair]
    refused = playbook("site", file, "--tags", "replication")
    said = words(refused)
    assert refused.returncode != 0 and "leave the server part out" in said, said
    assert [host.fingerprint() for host in pair] == before

    done = playbook("site", file, "--tags", "server")
    assert done.returncode == 0, done.stdout
    for host in pair:
        assert "server_id" in host.shell(LINES).stdout
    # No replica could acknowledge yet, and replication was not requested.
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
        # What a run prints that has nothing to do is read every day.
        assert name != "site" or len(again.stdout.splitlines()) <= 70
        assert (
            f"semisync_{tag}" in again.stdout or tag != "verify" or "Checkpoints of" in again.stdout
        )
