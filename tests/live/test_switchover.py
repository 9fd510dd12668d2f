"""switchover.yml on real servers: the plan changes nothing, what cannot be is refused by name, the
role goes there and back under writers, and a part that is killed is finished or undone.
"""

from __future__ import annotations

import json
import pathlib

import pytest

from support.acknowledged import Writers, judge, rows_of
from support.live_hosts import hosts, inventory, playbook, run, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long

KILLER = pathlib.Path(__file__).parents[1] / "support" / "clients" / "kill_at.py"
ROLES = (
    "SELECT @@GLOBAL.read_only; SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%enabled';"
    " SHOW DATABASES; SHOW PROCESSLIST"
)


class Cluster:
    """Some hosts, the first of which is the source by the inventory."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        self.file = inventory(folder, {made[0]: {}}, {host: {} for host in made[1:]})

    def move(self, to, *arguments):
        return playbook("switchover", self.file, "-e", f"semisync_switchover_to={to}", *arguments)

    def record(self):
        file = self.folder / "results" / "default" / "latest" / "switchover.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def writable(self):
        return [
            host for host in self.hosts if host.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
        ]


@pytest.fixture(
    scope="module",
    params=[("mysql", "", 2), ("mariadb", "12", 3)],
    ids=lambda param: f"{param[0]}-{param[2]}",
    name="cluster",
)
def fixture_cluster(request, tmp_path_factory):
    server, release, number = request.param
    names = ["source", *(f"replica{turn}" for turn in range(1, number))]
    for made in hosts(*((name, server, release) for name in names), turn="live-switchover"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        yield cluster


def test_the_plan_changes_nothing_and_has_every_statement(cluster):
    source, target = cluster.hosts[:2]
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.move(target.name, "--check")
    assert done.returncode == 0, done.stdout
    assert f"from {source.name} to {target.name}" in done.stdout
    assert f"{target.name}: SET GLOBAL read_only = 0;" in done.stdout
    assert [host.fingerprint() for host in cluster.hosts] == before
    assert cluster.writable() == [source]


@pytest.mark.parametrize(
    "to,said",
    [
        ("", "semisync_switchover_to is empty"),
        ("nobody", "no host of groups"),
        ("the source", "it is the source already"),
    ],
)
def test_a_host_that_cannot_be_the_source_is_refused(cluster, to, said):
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.move(cluster.hosts[0].name if to == "the source" else to)
    assert done.returncode != 0
    assert said in words(done)
    assert [host.fingerprint() for host in cluster.hosts] == before


def test_the_role_goes_there_and_back_under_writers(cluster):
    source, target = cluster.hosts[:2]
    writers = Writers(cluster.hosts[-1], cluster.hosts, 10)
    writers.prepare(source)
    writers.start()
    for host in (target, source):
        done = cluster.move(host.name)
        assert done.returncode == 0, done.stdout + done.stderr
        assert cluster.writable() == [host]
        record = cluster.record()
        assert record["outcome"] == "done"
        assert {row["id"] for row in record["points"]} == {f"S{number}" for number in range(1, 10)}
        verified = playbook("verify", cluster.file)
        assert verified.returncode == 0, verified.stdout
    known = writers.stop()
    for host in cluster.hosts:
        verdict = judge(known, rows_of(host))
        assert verdict == {"lost": [], "unexpected": [], "twice": []}, host.name
    again = playbook("site", cluster.file)
    assert "changed=0" in again.stdout.split("PLAY RECAP")[-1].replace(" ", ""), again.stdout


def test_a_target_whose_part_is_killed_leaves_the_source_open(cluster):
    source, target = cluster.hosts[:2]
    run("docker", "cp", KILLER, f"{target.name}:/root/kill_at.py")
    point = "armed" if source.server == "mysql" else "ready"
    run(
        *("docker", "exec", "--detach", target.name, "python3", "/root/kill_at.py"),
        *(target.value("SELECT @@socket"), point, "module"),
    )
    done = cluster.move(target.name)
    assert done.returncode != 0, done.stdout
    assert cluster.writable() == [source], done.stdout
    assert cluster.move(target.name).returncode == 0
    assert cluster.writable() == [target]
    assert cluster.move(source.name).returncode == 0
