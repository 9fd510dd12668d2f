"""Several replicas and several clusters: as many acknowledgements as wanted, and one cluster's
trouble is its own.
"""

import json
import os
from typing import Any

import container
import pytest

from support.live_hosts import PROJECT, Host, hosts, inventory, playbook, run, words

pytestmark = pytest.mark.own_target

# Ten in `make test-clusters`; three show the same in a third of the time.
CLUSTERS = int(os.environ.get("SEMISYNC_TEST_CLUSTERS", "3"))


@pytest.fixture(scope="module")
def servers():
    names = [
        (f"{role}{number}", "mariadb", "12")
        for number in range(CLUSTERS)
        for role in ("source", "replica")
    ]
    with container.room(len(names)):
        for made in hosts(*names, turn="live-clusters"):
            yield list(zip(made[::2], made[1::2], strict=False))


@pytest.fixture(scope="module")
def tree():
    yield from hosts(
        ("source", "mysql", ""),
        *[(f"replica{number}", "mysql", "") for number in (1, 2, 3)],
        turn="live-tree",
    )


def given(folder, pairs, broken=None, **variables):
    """An inventory of many clusters; one of them cannot be logged in to on its replica."""
    both: list[dict[Host, dict[str, Any]]] = [{}, {}]
    for number, pair in enumerate(pairs):
        for group, host in zip(both, pair, strict=False):
            group[host] = {"semisync_cluster": f"c{number}"}
    if broken is not None:
        both[1][pairs[broken][1]]["semisync_login_user"] = "nobody"
    return inventory(folder, *both, **variables)


def waits(host):
    return host.value("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_master_status'").endswith("ON")


def test_one_broken_cluster_is_named_and_the_others_finish(servers, tmp_path):
    broken = len(servers) - 1
    before = [host.fingerprint() for host in servers[broken]]
    result = playbook("site", given(tmp_path, servers, broken))
    said = words(result)
    assert result.returncode == 2, result.stdout
    assert f"Cluster 'c{broken}': {servers[broken][1].name}: wrong login" in said
    for number, (source, _dummy) in enumerate(servers[:broken]):
        assert waits(source)
        rows = json.loads((tmp_path / f"results/c{number}/latest/checkpoints.json").read_text())
        assert not [row for row in rows if row["outcome"] == "failed"]
        assert f"Cluster c{number}" not in said
    assert [host.fingerprint() for host in servers[broken]] == before
    assert not (tmp_path / f"results/c{broken}").exists()


def test_a_limit_takes_whole_clusters_and_nothing_else(servers, tmp_path):
    file = given(tmp_path, servers)
    part = playbook("site", file, "--limit", servers[0][0].name)
    assert (
        part.returncode != 0
        and "was not read in this run; --limit must take a cluster whole" in words(part)
    )
    whole = playbook("verify", file, "--limit", ",".join(host.name for host in servers[0]))
    assert whole.returncode == 0, whole.stdout
    assert not (tmp_path / "results/c1").exists()


def test_a_tag_reads_and_changes_nothing(servers, tmp_path):
    before = [host.fingerprint() for host in servers[0]]
    result = playbook(
        "site", given(tmp_path, servers[:1]), "--tags", "preflight", "-e", "semisync_timeout=4321"
    )
    assert result.returncode == 0, result.stdout
    assert (
        "changed=1" not in result.stdout and [host.fingerprint() for host in servers[0]] == before
    )


def test_two_acknowledgements_of_three_replicas(tree, tmp_path):
    source, replicas = tree[0], tree[1:]
    file = inventory(
        tmp_path, {source: {}}, {host: {} for host in replicas}, semisync_wait_for_replica_count=2
    )
    result = playbook("site", file)
    assert result.returncode == 0, result.stdout
    asked = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_%s'"
    assert source.value("SELECT @@rpl_semi_sync_source_wait_for_replica_count") == "2"
    assert source.value(asked % "clients").endswith("3")

    def no_tx():
        return int(source.value(asked % "no_tx").split()[-1])

    before = no_tx()
    # One of three may go; with two gone a commit waits for the timeout.
    replicas[0].sql("STOP REPLICA IO_THREAD")
    source.sql("INSERT INTO important.stuff (details) VALUES ('two of three')")
    assert no_tx() == before
    replicas[1].sql("STOP REPLICA IO_THREAD")
    source.sql("INSERT INTO important.stuff (details) VALUES ('one of three')")
    assert no_tx() == before + 1
    assert playbook("site", file).returncode == 0
    assert playbook("verify", file).returncode == 0


def test_a_play_of_ones_own_takes_one_replica_after_another(tree, tmp_path):
    """The example of the server role's README, to the letter, where another setting is wanted."""
    source, replicas = tree[0], tree[1:]
    text = (PROJECT / "roles/server/README.md").read_text(encoding="utf-8")
    play = tmp_path / "play.yml"
    play.write_text(text.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    file = inventory(
        tmp_path,
        {source: {}},
        {host: {} for host in replicas},
        semisync_wait_for_replica_count=2,
        semisync_trace_level=48,
    )
    result = run("ansible-playbook", "-i", file, play, cwd=tmp_path)
    assert result.stdout.count("PLAY [Replicas first, one at a time]") == 3, result.stdout
    for host in tree:
        side = "source" if host is source else "replica"
        assert host.value(f"SELECT @@rpl_semi_sync_{side}_trace_level") == "48"
    settled = playbook("site", file)
    assert settled.returncode == 0 and "changed=1" not in settled.stdout, settled.stdout
