"""A source that confirmed rows alone and died: salvage brings them from its binary log. Behind the
failover the cluster is the user's to go on with, and the source that failed is left alone, gone,
without a server or back by itself, until the operator rejoins it by name.
"""

from __future__ import annotations

import json
import re

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, io_thread, kill
from support.live_hosts import hosts, inventory, playbook, run, words

# Its hosts take a minute to set up.
pytestmark = pytest.mark.long


STRICT = "[mysqld]\ngtid_strict_mode = ON\n"
# A header that says it has 300 bytes, and some of them: what a power cut may leave.
TORN = (
    "import struct, sys; open(sys.argv[1], 'ab').write("
    "struct.pack('<IBIIIH', 1, 33, 1, 300, 0, 0) + b'x' * 60)"
)
ALONE = """
CREATE TABLE app.alone (id INT PRIMARY KEY, bytes BLOB, words VARCHAR(99) CHARACTER SET latin1)|
BEGIN|
INSERT INTO app.alone VALUES (1, 0x00FF27225C0A2F2A212A2F3B, 'a # b')|
INSERT INTO app.alone VALUES (2, REPEAT('x', 60000), 'DELIMITER ;')|
COMMIT|
SET NAMES latin1|
INSERT INTO app.alone VALUES (3, NULL, 0xE4F6FC)|
SET SESSION sql_mode = 'ANSI'|
UPDATE app.alone SET words = CONCAT(words, '"') WHERE id = 1|
CREATE PROCEDURE app.two() BEGIN
# a line that looks like a comment of mysqlbinlog
SELECT 1; SELECT 2; END|
DELETE FROM app.written WHERE id % 2 = 0|
"""


class Cluster:
    """Three hosts, the first of which was the source until its server was killed."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        # With pipelining a container that is gone fails a task, and is not unreachable.
        own = {"ansible_pipelining": False}
        self.file = inventory(
            folder, {made[0]: own}, {host: {} for host in made[1:]}, semisync_timeout=1000
        )
        self.source, *self.replicas = made

    def run(self, name, *arguments, good=True):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def log(self):
        """The path of the source's newest binary log."""
        name = self.source.shell("ls /var/lib/mysql/*bin*.0* | sort | tail -1").stdout
        return name.strip()

    def findings(self):
        file = self.folder / "results" / "default" / "latest" / "findings.json"
        return {entry["id"] for entry in json.loads(file.read_text(encoding="utf-8"))}

    @property
    def heir(self):
        (host,) = [one for one in self.hosts[1:] if one.value("SELECT @@read_only") == "0"]
        return host

    @property
    def follower(self):
        return next(host for host in self.hosts[1:] if host is not self.heir)


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica1", "replica2"))
    for made in hosts(*wanted, turn="live-failover-after"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        cluster.run("site")
        if server == "mariadb":
            for host in made:
                host.shell("cat >/etc/mysql/conf.d/strict.cnf", input=STRICT)
                host.sql("SET GLOBAL gtid_strict_mode = ON")
        cluster.source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (id INT PRIMARY KEY AUTO_INCREMENT)"
        )
        cluster.run("verify")
        confirm_alone(cluster)
        yield cluster


def confirm_alone(cluster):
    """Let the source confirm what no replica has, and die."""
    for host in cluster.replicas:
        io_thread(host, "STOP")
    for _number in range(3):
        cluster.source.sql("FLUSH BINARY LOGS;" + "INSERT INTO app.written VALUES ();" * 40)
    cluster.source.shell(f"{cluster.source.client} --delimiter='|'", input=ALONE)
    forbid_restart(cluster.source)
    kill(cluster.source)
    for host in cluster.replicas:
        io_thread(host, "START")


def contents(host):
    return [
        host.value("SELECT COUNT(*), SUM(id) FROM app.written"),
        host.value("SELECT id, SHA2(bytes, 256), HEX(words) FROM app.alone ORDER BY id"),
        host.value("SHOW CREATE PROCEDURE app.two").count("SELECT"),
    ]


def test_without_salvage_there_is_a_window_and_its_rows_are_on_no_replica(cluster):
    said = cluster.run("failover", "--check")
    assert "VERDICT proven but for the degraded window" in said
    for host in cluster.replicas:
        assert host.value("SELECT COUNT(*) FROM app.written") == "0"


def test_what_is_in_the_way_is_refused_by_name_and_nothing_is_changed(cluster):
    log, salvage = cluster.log(), ("-e", "semisync_failover_salvage=true")
    flip = "printf '\\{}' | dd of={} bs=1 count=1 conv=notrunc"
    cluster.source.shell(flip.format("375", log))
    assert "salvage_encrypted" in cluster.run("failover", *salvage, good=False)
    cluster.source.shell(flip.format("376", log))
    if cluster.source.server == "mariadb":
        cluster.replicas[1].sql("SET GLOBAL gtid_strict_mode = OFF")
        assert "salvage_not_strict" in cluster.run("failover", *salvage, good=False)
        cluster.replicas[1].sql("SET GLOBAL gtid_strict_mode = ON")
    # A byte that is wrong in the middle: the program's checksums see it, behind the stop.
    middle = int(cluster.source.shell(f"stat -c %s {log}").stdout) // 2
    cluster.source.shell(f"cp -p {log} /root/kept")
    cluster.source.shell(f"printf 'XXXX' | dd of={log} bs=1 count=4 seek={middle} conv=notrunc")
    said = cluster.run("failover", *salvage, good=False)
    assert "salvage_damaged" in said, said
    cluster.source.shell(f"cat /root/kept >{log}")
    assert [io_thread(host) for host in cluster.replicas] == ["Connecting", "Connecting"]


def test_what_it_confirmed_alone_is_salvaged_with_its_gtids(cluster):
    source = cluster.source
    source.shell(f'python3 -c "{TORN}" {cluster.log()}')
    cluster.run("failover", "-e", "semisync_failover_salvage=true")
    kept = certificate(cluster.folder)
    assert (kept["verdict"], kept["outcome"], kept["window"]) == ("proven", "done", None)
    assert kept["salvage"]["torn_bytes"] > 0
    (c7,) = [row for row in kept["premises"] if row["id"] == "C7"]
    assert c7["outcome"] == "passed" and "were applied" in c7["observed"]
    first, second = (contents(host) for host in cluster.replicas)
    assert first == second
    assert first[0].split()[0] == "60"
    print(source.server, kept["salvage"], first)


def goes_on(cluster):
    """What a user does with a cluster: check it, and bring it to its plan, which it has."""
    assert "is held: nothing is started" in cluster.run("verify")
    assert "held" in cluster.findings()
    assert not re.search(r"changed=[1-9]", cluster.run("site"))


def test_the_option_files_have_the_new_roles_at_once(cluster):
    heir, follower = cluster.heir, cluster.follower
    for host, read_only in ((heir, "0"), (follower, "1")):
        unit = UNITS[host.server]
        # It takes no acknowledgement for longer than a restart.
        host.shell(f"systemctl restart {unit}.service")
        host.wait()
        assert host.value("SELECT @@GLOBAL.read_only") == read_only, host.name


def test_they_go_on_where_its_host_lives_and_its_server_is_dead(cluster):
    goes_on(cluster)
    state = cluster.source.shell(f"systemctl is-active {UNITS[cluster.source.server]}", check=False)
    assert state.stdout.strip() == "failed"


def test_they_go_on_where_its_host_is_gone(cluster):
    run("docker", "stop", "--time", "0", cluster.source.name)
    goes_on(cluster)
    before = cluster.follower
    cluster.run("switchover", "-e", f"semisync_switchover_to={before.name}")
    assert cluster.heir is before


def test_a_source_that_came_back_by_itself_is_named_and_left_alone(cluster):
    # Its unit is started with it.
    run("docker", "start", cluster.source.name)
    cluster.source.wait()
    source, heir = cluster.source, cluster.heir
    # All that it has, the others have.
    if source.server == "mysql":
        own = "".join(source.value("SELECT @@GLOBAL.gtid_executed").replace("\\n", "").split())
        assert heir.value(f"SELECT GTID_SUBTRACT('{own}', @@GLOBAL.gtid_executed)") == ""
    else:
        own = source.value("SELECT @@GLOBAL.gtid_binlog_pos")
        assert own in heir.value("SELECT @@GLOBAL.gtid_binlog_state").split(",")
    assert contents(source) == contents(heir)
    # Its host was up at the failover: it lets no client in.
    assert source.value("SELECT @@GLOBAL.read_only") == "1"
    goes_on(cluster)
    source.sql("SET GLOBAL read_only = OFF")
    before = cluster.source.fingerprint()
    for name in ("verify", "site"):
        said = cluster.run(name, good=False)
        assert "is held: nothing is started" in said
        assert "held_takes_writes" in cluster.findings()
    assert cluster.source.fingerprint() == before
    word = "REPLICA" if cluster.source.server == "mysql" else "SLAVE"
    assert cluster.source.value(f"SHOW {word} STATUS") == ""


def test_it_comes_back_by_consent_to_replace_its_data(cluster):
    consent = ("-e", '{"semisync_seed_overwrite": true}')
    assert "take writes, a split brain" in cluster.run("site", *consent, good=False)
    cluster.source.sql("SET GLOBAL read_only = ON")
    cluster.run("site", *consent)
    assert cluster.source.value("SELECT @@GLOBAL.read_only") == "1"
    cluster.run("verify")
    assert "held" not in cluster.findings()
    heir = cluster.heir
    status = heir.value("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_clients'").split()
    assert status[1] == "2"
