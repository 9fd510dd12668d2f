"""switchover.yml on real servers: the plan changes nothing, what cannot be is refused by name, the
role goes there and back under writers, hooks and events come at their moment, and a part that is
killed is finished or undone.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from support import hooks
from support.acknowledged import Writers, judge, rows_of, same_data
from support.eventually import eventually
from support.live_hosts import Host, hosts, inventory, playbook, run, words

# Its hosts take a minute to set up. A short form of it runs in every scenario of molecule/.
pytestmark = pytest.mark.long

KILLER = pathlib.Path(__file__).parents[1] / "support" / "clients" / "kill_at.py"
PLACE = {"mysql": "/etc/mysql/mysql.conf.d", "mariadb": "/etc/mysql/mariadb.conf.d"}
LOCK = "dbre.semisync.switchover"


class Cluster:
    """Some hosts, the first of which is the source by the inventory."""

    def __init__(self, made: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder = made, folder
        self.file = inventory(folder, {made[0]: {}}, {host: {} for host in made[1:]})

    def move(self, to: Host, *arguments: str) -> subprocess.CompletedProcess[str]:
        return playbook(
            "switchover", self.file, "-e", f"semisync_switchover_to={to.name}", *arguments
        )

    def moves(self, to: Host, *arguments: str) -> str:
        """Move the role, which must not fail; what the run said."""
        done = self.move(to, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert self.writable() == [to]
        return words(done)

    def record(self) -> dict[str, Any]:
        file = self.folder / "results" / "default" / "latest" / "switchover.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def writable(self) -> list[Host]:
        return [
            host for host in self.hosts if host.value("SELECT @@GLOBAL.read_only") in ("0", "OFF")
        ]

    def replicates(self, host: Host) -> bool:
        """Whether a replica follows, has everything in sight, and acknowledges."""
        word = "SLAVE" if host.server == "mariadb" else "REPLICA"
        said = host.sql(f"SHOW {word} STATUS", form="--vertical").stdout
        status = host.value(
            f"SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{word.lower()}_status'"
        ).split()
        return said.count("Running: Yes") == 2 and status[-1:] == ["ON"]

    def whole(self) -> None:
        """Wait until the source has all its replicas back."""
        source, *replicas = self.hosts
        side = "master" if source.server == "mariadb" else "source"
        eventually(lambda: all(map(self.replicates, replicas)), "the replicas acknowledge", 90)
        eventually(
            lambda: source.value(
                f"SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{side}_clients'"
            ).endswith(f"\t{len(replicas)}"),
            "the source sees its replicas",
        )


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
        made[0].sql(
            "CREATE DATABASE app; CREATE TABLE app.held (id INT PRIMARY KEY) ENGINE=InnoDB;"
            " CREATE USER clerk@'%' IDENTIFIED BY 'clerk'; GRANT INSERT, SELECT ON app.* TO"
            " clerk@'%'"
        )
        yield cluster


def test_the_plan_changes_nothing_and_has_every_statement(cluster):
    source, target = cluster.hosts[:2]
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.move(target, "--check")
    assert done.returncode == 0, done.stdout
    assert f"from {source.name} to {target.name}" in done.stdout
    assert f"{target.name}: SET GLOBAL read_only = 0;" in done.stdout
    assert [host.fingerprint() for host in cluster.hosts] == before
    assert cluster.writable() == [source]
    assert not (cluster.folder / "results" / "default" / "latest" / "switchover.json").exists()


@pytest.mark.parametrize(
    "to,said",
    [
        ("", "semisync_switchover_to is empty"),
        ("db99", "which is not a host of groups"),
        ("elsewhere", "a host of cluster 'other', which this run leaves out"),
        ("the source", "it is the source already"),
    ],
)
def test_a_host_that_cannot_be_the_source_is_refused(cluster, to, said):
    source = cluster.hosts[0]
    before = [host.fingerprint() for host in cluster.hosts]
    arguments = ["-e", f"semisync_switchover_to={source.name if to == 'the source' else to}"]
    if to == "elsewhere":
        # A second cluster of the inventory, that this run does not ask.
        arguments += ["-i", str(another_cluster(cluster)), "--limit", ",".join(names(cluster))]
    done = playbook("switchover", cluster.file, *arguments)
    assert done.returncode != 0
    assert said in words(done)
    assert [host.fingerprint() for host in cluster.hosts] == before


def names(cluster: Cluster) -> list[str]:
    return [host.name for host in cluster.hosts]


def another_cluster(cluster: Cluster) -> pathlib.Path:
    file = cluster.folder / "other.json"
    vars_of = {"semisync_cluster": "other"}
    children = {
        "semisync_source": {"hosts": {"elsewhere0": vars_of}},
        "semisync_replica": {"hosts": {"elsewhere": vars_of}},
    }
    file.write_text(json.dumps({"all": {"children": children}}))
    return file


class Case(NamedTuple):
    """What makes a switchover impossible: on whom, the statements that bring it about and take it
    away by server, and what the refusal says. {0} is the word for a replica, {1} for a source.
    """

    host: int
    said: str
    broken: dict[str, str]
    mended: dict[str, str]


def both(text: str) -> dict[str, str]:
    """The same for both servers."""
    return {
        "mysql": text.format("REPLICA", "SOURCE", "REPLICATION SOURCE"),
        "mariadb": text.format("SLAVE", "MASTER", "MASTER"),
    }


AGAIN = both("START {0}")
CASES = {
    "it_does_not_acknowledge": Case(
        1,
        "it acknowledges: its semi-sync status is OFF",
        both("SET GLOBAL rpl_semi_sync_{0}_enabled = 0; STOP {0} IO_THREAD; START {0} IO_THREAD"),
        both("SET GLOBAL rpl_semi_sync_{0}_enabled = 1; STOP {0} IO_THREAD; START {0} IO_THREAD"),
    ),
    "it_is_delayed": Case(
        1,
        "it is not delayed: a delay of 60 s",
        both("STOP {0}; CHANGE {2} TO {1}_DELAY = 60; START {0}"),
        both("STOP {0}; CHANGE {2} TO {1}_DELAY = 0; START {0}"),
    ),
    "it_is_filtered": Case(
        1,
        "nothing is filtered: Replicate_Ignore_DB = elsewhere",
        {
            "mysql": "STOP REPLICA; CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (elsewhere);"
            " START REPLICA",
            "mariadb": "STOP SLAVE; SET GLOBAL replicate_ignore_db = 'elsewhere'; START SLAVE",
        },
        {
            "mysql": "STOP REPLICA; CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = ();"
            " START REPLICA",
            "mariadb": "STOP SLAVE; SET GLOBAL replicate_ignore_db = ''; START SLAVE",
        },
    ),
    "it_stands_still": Case(
        1, "its channel runs: IO thread Yes, SQL thread No", both("STOP {0} SQL_THREAD"), AGAIN
    ),
    "it_follows_by_position": Case(
        1,
        "it follows by file and position; run gtid.yml",
        {
            "mysql": "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 0;"
            " START REPLICA",
            "mariadb": "STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID = no; START SLAVE",
        },
        {
            "mysql": "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1;"
            " START REPLICA",
            "mariadb": "STOP SLAVE; CHANGE MASTER TO MASTER_USE_GTID = slave_pos; START SLAVE",
        },
    ),
    "the_source_is_not_semi_synchronous": Case(
        0,
        "it is semi-synchronous: status OFF",
        both("SET GLOBAL rpl_semi_sync_{1}_enabled = 0"),
        both("SET GLOBAL rpl_semi_sync_{1}_enabled = 1"),
    ),
    "it_takes_writes_itself": Case(
        1,
        "it is read-only: read_only is",
        both("SET GLOBAL read_only = 0"),
        both("SET GLOBAL read_only = 1"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_it_cannot_be_done_with_is_refused_by_name(cluster, case):
    host = cluster.hosts[case.host]
    cluster.whole()
    host.sql(case.broken[host.server])
    try:
        is_refused(cluster, case.said)
    finally:
        host.sql(case.mended[host.server])
        # A source counts those that acknowledge when they connect.
        for replica in cluster.hosts[1:]:
            replica.sql(both("STOP {0} IO_THREAD; START {0} IO_THREAD")[host.server])


def is_refused(cluster: Cluster, said: str, *arguments: str) -> None:
    """A switchover to the second host that changes nothing and says why."""
    before = [host.fingerprint() for host in cluster.hosts]
    source = {host.name: host.value("SELECT @@GLOBAL.read_only") for host in cluster.hosts}
    done = cluster.move(cluster.hosts[1], *arguments)
    assert done.returncode != 0
    assert said in words(done), done.stdout
    assert [host.fingerprint() for host in cluster.hosts] == before
    assert source == {host.name: host.value("SELECT @@GLOBAL.read_only") for host in cluster.hosts}


@contextlib.contextmanager
def session(host: Host, statements: str, seen: str, *login: str) -> Iterator[None]:
    """A session on a host with these statements, until the end; `seen` is part of the last."""
    process = subprocess.Popen(
        ["docker", "exec", "-i", host.name, host.client, "--batch", *login],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(statements + ";\n")
    process.stdin.close()
    mine = (
        f"SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%{seen}%' AND ID <>"
        " CONNECTION_ID()"
    )
    eventually(lambda: host.value(mine) != "", "the session is there")
    try:
        yield
    finally:
        for number in host.value(mine).split():
            host.sql(f"KILL {number}", check=False)
        process.wait(30)


def test_a_replica_that_is_behind_is_refused(cluster):
    source, target = cluster.hosts[:2]
    cluster.whole()
    with session(target, "FLUSH TABLES WITH READ LOCK; SELECT SLEEP(60)", "SLEEP(60)"):
        source.sql("INSERT INTO app.held VALUES (1)")
        time.sleep(3)
        is_refused(cluster, "limit 1 s", "-e", "semisync_switchover_max_lag=1")
    cluster.whole()


def test_a_host_that_logs_nothing_of_what_it_applies_is_refused(cluster):
    target = cluster.hosts[1]
    file = f"{PLACE[target.server]}/zzz-off.cnf"
    name = "log_slave_updates" if target.server == "mariadb" else "log_replica_updates"
    target.shell(f"printf '[mysqld]\\n{name} = OFF\\n' > {file}")
    target.shell(f"systemctl restart {target.server}")
    target.wait()
    try:
        cluster.whole()
        is_refused(cluster, "it logs what it applies: log_bin is ON")
    finally:
        target.shell(f"rm {file}; systemctl restart {target.server}")
        target.wait()
    cluster.whole()


@pytest.mark.only("mariadb")
def test_binary_logs_that_another_needs_are_missed(cluster):
    source, target, other = cluster.hosts
    cluster.whole()
    other.sql("STOP SLAVE")
    try:
        source.sql("INSERT INTO app.held VALUES (2)")
        eventually(lambda: target.value("SELECT COUNT(*) FROM app.held WHERE id = 2") == "1")
        target.sql("FLUSH BINARY LOGS")
        # The newest begins behind the row. Those before it can go once InnoDB needs them no more.
        newest = target.value("SHOW BINARY LOGS").splitlines()[-1].split()[0]

        def alone() -> bool:
            target.sql(f"PURGE BINARY LOGS TO '{newest}'")
            return len(target.value("SHOW BINARY LOGS").splitlines()) == 1

        eventually(alone, "the older logs are gone")
        is_refused(cluster, f"{other.name} lacks 0-")
    finally:
        other.sql("START SLAVE")
    cluster.whole()


@pytest.mark.only("mysql")
def test_an_authority_that_each_source_made_for_itself_is_refused_and_the_way_is_named(cluster):
    source, target = cluster.hosts[:2]
    required = ("-e", "semisync_replication_ssl=required")
    generated = (*required, "-e", "semisync_replication_ssl_ca=generated")
    done = playbook("site", cluster.file, *generated)
    assert done.returncode == 0, done.stdout
    cluster.whole()
    is_refused(
        cluster,
        "each replica has the copy of one source's own; set semisync_replication_ssl_ca to an"
        " authority that signed all certificates, or empty, and run site.yml",
        *generated,
    )
    done = playbook("site", cluster.file, *required)
    assert done.returncode == 0, done.stdout
    cluster.moves(target, *required)
    cluster.moves(source, *required)


def test_too_few_forks_are_refused(cluster):
    is_refused(cluster, f"pass --forks {len(cluster.hosts)}", "--forks", "1")


def test_a_long_transaction_is_waited_for_then_refused_and_nobody_else_moves_it_meanwhile(cluster):
    source, target = cluster.hosts[:2]
    cluster.whole()
    clerk = ("-uclerk", "-pclerk", "-h127.0.0.1")
    held = "START TRANSACTION; INSERT INTO app.held VALUES (3); SELECT SLEEP(150)"
    with session(source, held, "SLEEP(150)", *clerk):
        time.sleep(2)
        before = [host.fingerprint() for host in cluster.hosts]
        with subprocess.Popen(
            ["ansible-playbook", "-i", cluster.file, "dbre.semisync.switchover",
             "-e", f"semisync_switchover_to={target.name}", "-e", "semisync_switchover_drain=30"],
            cwd=cluster.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as first:  # fmt: skip
            taken = f"SELECT IS_USED_LOCK('{LOCK}') IS NOT NULL"
            eventually(lambda: source.value(taken) == "1", "the first run has begun")
            is_refused(cluster, "no other switchover is in progress")
            said, _errors = first.communicate(timeout=120)
        assert first.returncode != 0
        assert "still has transactions that are open for more than" in " ".join(said.split()), said
        assert cluster.record()["outcome"] == "refused"
        assert cluster.record()["froze_at"] is None
        assert [host.fingerprint() for host in cluster.hosts] == before
        assert cluster.writable() == [source]
        cluster.moves(
            target,
            *("-e", "semisync_switchover_drain=1"),
            *("-e", "semisync_switchover_long_transactions=kill"),
        )
        assert target.value("SELECT COUNT(*) FROM app.held WHERE id = 3") == "0"
    cluster.moves(source)


def test_hooks_run_on_every_host_at_their_moment_and_nobody_is_fenced(cluster):
    source, target = cluster.hosts[:2]
    variables = {
        f"semisync_hook_{name}": str(hooks.write(cluster.folder, name, source.client))
        for name in hooks.HOOKS
    }
    cluster.moves(target, "-e", json.dumps(variables))
    for host in cluster.hosts:
        lines = hooks.accounts(host)
        # A power switch for failovers must not end a source that lives, and follows.
        assert [line[0] for line in lines] == ["before_freeze", "before_open", "after_open"]
        assert {(line[1], line[2]) for line in lines} == {(source.name, target.name)}
        writes = {source: ["0", "0", "1"], target: ["1", "1", "0"]}
        assert [line[3] for line in lines] == writes.get(host, ["1"] * 3)
        host.shell("rm /root/hooks")
    cluster.moves(source)


@pytest.mark.parametrize("where", ["everywhere", "on the source"])
def test_a_hook_that_fails_beforehand_ends_the_run_untouched(cluster, where):
    source = cluster.hosts[0]
    condition = "true" if where == "everywhere" else f"inventory_hostname == '{source.name}'"
    file = hooks.failing(cluster.folder, condition)
    begin = time.monotonic()
    is_refused(cluster, "the pool does not answer", "-e", f"semisync_hook_before_open={file}")
    # The others do not wait for a part that never comes.
    assert time.monotonic() - begin < 30


def test_a_hook_that_fails_afterwards_leaves_the_role_and_the_rest_to_the_next_run(cluster):
    source, target = cluster.hosts[:2]
    file = hooks.failing(cluster.folder, f"inventory_hostname == '{target.name}'")
    done = cluster.move(target, "-e", f"semisync_hook_after_open={file}")
    assert done.returncode != 0 and "the pool does not answer" in words(done)
    assert cluster.writable() == [target]
    # It runs again in the run that settles.
    done = cluster.move(target, "-e", f"semisync_hook_after_open={file}")
    assert done.returncode != 0 and "the pool does not answer" in words(done)
    cluster.moves(target)
    assert cluster.record()["mode"] == "settle"
    again = playbook("site", cluster.file)
    assert "changed=1" not in again.stdout and again.returncode == 0, again.stdout
    cluster.moves(source)


def test_events_go_with_the_role(cluster):
    source, target = cluster.hosts[:2]
    asleep = "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_NAME = 'tick'"
    for host in cluster.hosts[: 1 if source.server == "mariadb" else 0]:
        host.sql("SET GLOBAL event_scheduler = ON")
    source.sql(
        "CREATE TABLE app.ticks (id INT AUTO_INCREMENT PRIMARY KEY, server VARCHAR(64))"
        " ENGINE=InnoDB; CREATE EVENT app.tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO app.ticks"
        " (server) VALUES (@@hostname)"
    )
    cluster.whole()
    if source.server == "mariadb":
        is_refused(cluster, "event_scheduler is the same as on the source: OFF")
        for host in cluster.hosts:
            host.sql("SET GLOBAL event_scheduler = ON")
    cluster.moves(target)
    assert target.value(asleep) == "ENABLED"
    assert "DISABLED" in source.value(asleep)
    ticks = f"SELECT COUNT(*) FROM app.ticks WHERE server = '{target.name}'"
    eventually(lambda: int(target.value(ticks)) > 1, "it runs on the new source")
    after = int(target.value("SELECT MAX(id) FROM app.ticks"))
    time.sleep(2)
    ran = target.value(f"SELECT COUNT(DISTINCT server) FROM app.ticks WHERE id > {after}")
    assert ran == "1"
    cluster.moves(source)
    assert source.value(asleep) == "ENABLED" and "DISABLED" in target.value(asleep)
    source.sql("DROP EVENT app.tick; DROP TABLE app.ticks")


def test_the_role_goes_there_and_back_under_writers(cluster):
    source, target = cluster.hosts[:2]
    writers = Writers(cluster.hosts[-1], cluster.hosts, 10)
    writers.prepare(source)
    writers.start()
    for host in (target, source):
        cluster.moves(host)
        record = cluster.record()
        assert record["outcome"] == "done"
        assert {row["id"] for row in record["points"]} == {f"S{number}" for number in range(1, 10)}
        assert [span["host"] for span in record["writable"]] == [record["from"], host.name]
        page = (cluster.folder / "results/default/latest/report.html").read_text(encoding="utf-8")
        assert f"The source&#39;s role has moved to {host.name}" in page
        assert '<figure id="switchover"' in page
        verified = playbook("verify", cluster.file)
        assert verified.returncode == 0, verified.stdout
    known = writers.stop()
    same_data(cluster.hosts)
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
    done = cluster.move(target)
    assert done.returncode != 0, done.stdout
    assert cluster.writable() == [source], done.stdout
    assert cluster.record()["outcome"] in ("undone", "refused")
    cluster.moves(target)
    cluster.moves(source)


def test_transactions_of_its_own_are_refused(cluster):
    """The last test: what a replica has of its own cannot be taken from it again."""
    target = cluster.hosts[1]
    cluster.whole()
    domain = "SET gtid_domain_id = 77; " if target.server == "mariadb" else ""
    target.sql(f"{domain}CREATE DATABASE errant")
    is_refused(cluster, "it has no errant transactions: ")


def test_a_target_of_a_lower_version_is_refused(tmp_path):
    made = (("source", "mariadb", "13"), ("replica1", "mariadb", "12"))
    for pair in hosts(*made, turn="live-switchover-versions"):
        cluster = Cluster(pair, tmp_path)
        done = playbook("site", cluster.file)
        assert done.returncode == 0, done.stdout + done.stderr
        is_refused(cluster, "its version is not lower than the source's: 10.11")
