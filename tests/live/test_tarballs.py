"""Servers from tarballs: every playbook on a source with two replicas, each step's outcome on the
page docs/evidence/servers.md.

`make servers TARBALLS="path path"` names the tarballs; without, there is nothing to test. STEPS
names some of the steps, RESUME=1 those that the page does not have as passed; what they need is run
before them. A step that fails stops nothing but the steps that need what it makes.
"""

import json
import os
import pathlib
import re
import time

import pytest

from support import servers_page
from support.eventually import eventually
from support.live_hosts import PASSWORD, PROJECT, hosts, inventory, playbook, words

pytestmark = pytest.mark.own_target

TARBALLS = os.environ.get("TARBALLS", "").split()
DOCUMENT = os.environ.get("SEMISYNC_SERVERS_DOCUMENT")
CHOSEN = os.environ.get("STEPS", "").split()
RESUME = bool(os.environ.get("RESUME"))
LOGS = PROJECT / "tests" / "output" / "servers"
# Characters of what a failed run said; the whole is in LOGS.
SHOWN = 3000
CONSENT = ("-e", "semisync_allow_disruption=true")
OLD_LOGIN = {"semisync_replication_user": "old", "semisync_replication_password": "old"}
NEW_PASSWORD = "another password"
FIRST_WITH_GTID = (5, 6)
FIRST_WITH_GTID_ONLINE = (5, 7)
FIRST_WITH_WAIT_POINT = (5, 7)
# The older words, which all of these versions understand up to 8.3.
FOLLOW = (
    "CHANGE MASTER TO MASTER_HOST='{}', MASTER_USER='old', MASTER_PASSWORD='old',"
    " MASTER_LOG_FILE='{}', MASTER_LOG_POS={}, MASTER_CONNECT_RETRY=1; START SLAVE"
)
BY_POSITION = (
    "STOP SLAVE; CHANGE MASTER TO MASTER_AUTO_POSITION = 0, MASTER_LOG_FILE = '{}',"
    " MASTER_LOG_POS = {}; START SLAVE"
)
# Findings by the option files, which site.yml has written a moment ago.
OF_OPTION_FILES = ("restart_changes_it", "plugin_not_loaded_at_start", "option_files_unknown")
WRITE = "INSERT INTO important.stuff (details) VALUES ('written by a test')"
PLUGIN_ROW = "rpl_semi_sync_master"


class Cluster:
    """A source and two replicas of one version."""

    def __init__(self, made, folder):
        self.source, *self.replicas = made
        self.version = self.source.value("SELECT VERSION()").partition("-")[0]
        self.series = tuple(map(int, self.version.split(".")[:2]))
        self.folder, self.variables = folder, {"semisync_replication_password": PASSWORD}
        if not self.has_gtid:
            self.variables.update(OLD_LOGIN)
        self.inventory()

    @property
    def hosts(self):
        return (self.source, *self.replicas)

    @property
    def has_gtid(self):
        return self.series >= FIRST_WITH_GTID

    def inventory(self, **variables):
        """Write the inventory, with these variables from now on."""
        self.variables.update(variables)
        self.file = inventory(
            self.folder,
            {self.source: {}},
            {host: {} for host in self.replicas},
            **self.variables,
        )

    def play(self, name, *arguments):
        """Run a playbook; what it says is kept."""
        done = playbook(name, self.file, *arguments)
        LOGS.mkdir(parents=True, exist_ok=True)
        with (LOGS / f"{self.version}.log").open("a", encoding="utf-8") as log:
            log.write(f"\n=== {name} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done

    def by_position(self):
        """Replication by file and position, as its owner would have set it up."""
        for number, host in enumerate(self.hosts, start=10):
            host.shell(
                f"printf 'server_id = {number}\\nlog_bin = ours-bin\\n' >> /etc/my.cnf"
                " && systemctl restart mysql"
            )
            host.wait()
        self.source.sql("GRANT REPLICATION SLAVE ON *.* TO old@'%' IDENTIFIED BY 'old'")
        file, offset = self.place()
        for host in self.replicas:
            host.sql(FOLLOW.format(self.source.name, file, offset))
        self.whole()

    def restart(self, command):
        """Run a command on every host and restart its server; the source first, so that its
        replicas find it changed.
        """
        for host in self.replicas:
            host.sql("STOP SLAVE")
        for host in self.hosts:
            host.shell(f"{command} && systemctl restart mysql")
            host.wait()
        self.whole()

    def place(self):
        """File and position of the source."""
        return self.source.value("SHOW MASTER STATUS").split()[:2]

    def status(self, replica):
        """SHOW SLAVE STATUS of a replica."""
        lines = replica.sql("SHOW SLAVE STATUS", form="--vertical").stdout.splitlines()
        pairs = [line.partition(":") for line in lines]
        return {name.strip(): value.strip() for name, _colon, value in pairs}

    def whole(self):
        """Wait until both replicas have what the source has, and every server its semi-sync that
        has it enabled.
        """

        def runs():
            place = self.place()
            for status in map(self.status, self.replicas):
                at = [status.get("Relay_Master_Log_File"), status.get("Exec_Master_Log_Pos")]
                threads = [status.get(f"Slave_{name}_Running") for name in ("IO", "SQL")]
                if at != place or threads != ["Yes", "Yes"]:
                    return False
            return all(self.semisync(host, "enabled") == self.semisync(host) for host in self.hosts)

        eventually(runs, "both replicas follow the source")

    def semisync(self, host, what="status"):
        """A variable or status of semi-sync on its side; empty if there is none."""
        side = "master" if host is self.source else "slave"
        kind = "VARIABLES" if what == "enabled" else "STATUS"
        said = host.value(f"SHOW GLOBAL {kind} LIKE 'rpl_semi_sync_{side}_{what}'").split()
        return said[-1] if said else ""


def passes(cluster, name, *arguments):
    """Run a playbook that is to succeed."""
    done = cluster.play(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def refuses(cluster, name, reason):
    """Run a playbook that is to refuse, and to have touched nothing."""
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.play(name)
    assert done.returncode != 0 and reason in words(done), words(done)
    assert [host.fingerprint() for host in cluster.hosts] == before
    return servers_page.REFUSED


def check(cluster):
    before = [host.fingerprint() for host in cluster.hosts]
    passes(cluster, "site", "--check", "--diff")
    assert [host.fingerprint() for host in cluster.hosts] == before


def site(cluster):
    passes(cluster, "site")


def again(cluster):
    done = passes(cluster, "site")
    assert not re.search(r"changed=[1-9]", done.stdout), done.stdout


def verify(cluster):
    """What a container hides of its processes is not taken for what a restart would change."""
    passes(cluster, "verify")
    file = cluster.folder / "results/default/latest/findings.json"
    untrue = [entry for entry in json.loads(file.read_text()) if entry["id"] in OF_OPTION_FILES]
    assert untrue == []


def drill(cluster):
    passes(cluster, "drill", *CONSENT)


def row_latency(cluster):
    benchmark(cluster, "row_latency")


def clients(cluster):
    benchmark(cluster, "clients")


def benchmark(cluster, suite):
    short = ("-e", f"semisync_suite={suite}", "-e", "semisync_benchmark_profile=quick")
    passes(cluster, "benchmark", *CONSENT, *short)
    verify(cluster)


def rotate(cluster):
    cluster.inventory(semisync_replication_password=NEW_PASSWORD)
    passes(cluster, "rotate")
    again_without_change(cluster, "rotate")
    verify(cluster)


def again_without_change(cluster, name):
    done = passes(cluster, name)
    assert not re.search(r"changed=[1-9]", done.stdout), done.stdout


def gtid(cluster):
    """From file and position, and from servers without GTIDs."""
    if not cluster.has_gtid:
        return refuses(cluster, "gtid", "has no GTIDs; they begin with MySQL 5.6.9")
    cluster.whole()
    place = cluster.place()
    for host in cluster.replicas:
        host.sql(BY_POSITION.format(*place))
    cluster.whole()
    if cluster.series >= FIRST_WITH_GTID_ONLINE:
        for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"):
            for host in cluster.hosts:
                host.sql(f"SET GLOBAL gtid_mode = {mode}")
        for host in cluster.hosts:
            host.sql("SET GLOBAL enforce_gtid_consistency = OFF")
            host.shell("sed -i '/gtid/Id' /etc/my.cnf")
    else:
        cluster.restart("sed -i '/gtid/Id' /etc/my.cnf")
        refuses(cluster, "gtid", "restart all servers of the cluster with gtid_mode = ON")
        # As the refusal says.
        cluster.restart(
            "printf '[mysqld]\\ngtid_mode = ON\\nenforce_gtid_consistency = ON\\n' >> /etc/my.cnf"
        )
    passes(cluster, "gtid", "-e", "semisync_gtid_watch=1")
    for host in cluster.replicas:
        assert cluster.status(host)["Auto_Position"] == "1"
    for host in cluster.hosts:
        assert host.value("SELECT @@gtid_mode, @@enforce_gtid_consistency").split()[0] == "ON"
    again_without_change(cluster, "gtid")
    verify(cluster)
    return None


def candidate(cluster):
    said = words(passes(cluster, "candidate"))
    assert said.count("has everything that any replica has received; all applied") == 2, said


def remove(cluster):
    passes(cluster, "remove")
    for host in cluster.hosts:
        assert not host.value("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%'")
    again_without_change(cluster, "remove")


def online(cluster):
    def started():
        return [host.shell("pidof mysqld").stdout for host in cluster.hosts]

    before = started()
    passes(cluster, "site", "-e", "semisync_apply=online")
    assert started() == before
    verify(cluster)


def seed(cluster):
    """A bare host in a replica's place, for a source whose binary logs no longer have everything;
    without GTIDs that is refused.
    """
    replica = cluster.replicas[-1]
    cluster.source.sql(
        "CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.orders (id INT"
        " AUTO_INCREMENT PRIMARY KEY, details TEXT); INSERT INTO shop.orders (details) VALUES ('a')"
    )
    replica.start().wait()
    if not cluster.has_gtid:
        return refuses(cluster, "site", "has no GTIDs, without which the collection does not")

    def purged():
        cluster.source.sql("FLUSH LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
        return len(cluster.source.value("SHOW BINARY LOGS").splitlines()) == 1

    eventually(purged, "the source has one binary log")
    said = words(passes(cluster, "site"))
    assert f"{replica.name} is seeded from" in said, said
    sums = {host.value("CHECKSUM TABLE shop.orders") for host in cluster.hosts}
    assert len(sums) == 1 and "NULL" not in sums.pop()
    again(cluster)
    verify(cluster)
    return None


def judged(cluster):
    """(exit status, findings as id -> evidence) of verify.yml."""
    done = cluster.play("verify")
    latest = cluster.folder / "results/default/latest/findings.json"
    return done.returncode, {row["id"]: row["evidence"] for row in json.loads(latest.read_text())}


def findings(cluster):
    """What can go wrong is brought about, named, and gone once it is mended."""
    source, replicas = cluster.source, cluster.replicas
    usual = set(judged(cluster)[1])
    seen = set()

    def named(expected, critical):
        status, entries = judged(cluster)
        assert set(entries) - usual == set(expected), entries
        assert (status == 0) is not critical, status
        seen.update(expected)

    for host in replicas:
        host.sql("STOP SLAVE IO_THREAD")
    source.sql(WRITE)
    named({"degraded", "clients_missing"}, critical=True)
    # Since that run.
    source.sql(WRITE)
    for host in replicas:
        host.sql("START SLAVE IO_THREAD")
    cluster.whole()
    named({"was_degraded"}, critical=False)

    replicas[0].sql("STOP SLAVE SQL_THREAD")
    named({"applier_stopped"}, critical=True)
    replicas[0].sql("START SLAVE SQL_THREAD")
    cluster.whole()

    source.sql("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
    number = replicas[1].value("SELECT @@server_id")
    replicas[1].sql(f"SET GLOBAL server_id = {replicas[0].value('SELECT @@server_id')}")
    named({"semisync_off", "server_id_clash", "restart_changes_it"}, critical=True)
    replicas[1].sql(f"SET GLOBAL server_id = {number}")
    source.sql("SET GLOBAL rpl_semi_sync_master_enabled = ON")
    cluster.whole()

    expected = weaken(cluster)
    named(expected, critical=False)
    mend(cluster)
    named(set(), critical=False)
    return f"{servers_page.PASSED}: {len(seen)} brought about"


def weaken(cluster):
    """Values that weaken the promise; the findings that they are."""
    settings = {
        "rpl_semi_sync_master_timeout": 86400000,
        "rpl_semi_sync_master_wait_no_slave": "OFF",
        "sync_binlog": 0,
    }
    expected = {"timeout_freezes_writers", "no_wait_without_replica", "source_not_durable"}
    expected |= {"restart_changes_it", "differs_from_inventory", "plugin_not_loaded_at_start"}
    if cluster.series >= FIRST_WITH_WAIT_POINT:
        settings["rpl_semi_sync_master_wait_point"] = "AFTER_COMMIT"
        expected.add("after_commit")
    if cluster.series < FIRST_WITH_GTID:
        expected.add("known_bad_version")
    else:
        cluster.replicas[0].sql("SET GLOBAL read_only = OFF")
        expected.add("replica_writable")
    for name, value in settings.items():
        cluster.source.sql(f"SET GLOBAL {name} = {value}")
    cluster.source.sql(
        f"SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name = '{PLUGIN_ROW}'"
    )
    return expected


def mend(cluster):
    """Undo weaken()."""
    settings = {
        "rpl_semi_sync_master_timeout": 1500,
        "rpl_semi_sync_master_wait_no_slave": "ON",
        "sync_binlog": 1,
    }
    if cluster.series >= FIRST_WITH_WAIT_POINT:
        settings["rpl_semi_sync_master_wait_point"] = "AFTER_SYNC"
    if cluster.has_gtid:
        cluster.replicas[0].sql("SET GLOBAL read_only = ON")
    for name, value in settings.items():
        cluster.source.sql(f"SET GLOBAL {name} = {value}")
    cluster.source.sql(
        "SET SESSION sql_log_bin = 0; INSERT INTO mysql.plugin VALUES"
        f" ('{PLUGIN_ROW}', 'semisync_master.so')"
    )


# What a step needs to have passed; a check of bare hosts needs nothing. What a bare host in a
# replica's place leaves behind where it is refused is no cluster, so that comes last.
STEPS = {
    check: None,
    site: None,
    again: site,
    verify: site,
    findings: site,
    drill: site,
    row_latency: site,
    clients: site,
    rotate: site,
    gtid: site,
    candidate: site,
    remove: site,
    online: remove,
    seed: site,
}


def name_of(step):
    return step.__name__.replace("_", " ")


ORDER = [name_of(step) for step in STEPS]


def chosen(wanted):
    """The steps of these names, and those that they need; all of them if none is named."""
    picked = [step for step in STEPS if step.__name__ in wanted or name_of(step) in wanted]
    for step in picked:
        needed = STEPS[step]
        picked += [needed] if needed and needed not in picked else []
    return [step for step in STEPS if step in picked]


def reason(error):
    """What a run that failed said last, in a line, without the folders of this machine."""
    text = re.sub(r"(/[\w.+-]+)+/", "", str(error))
    said = re.findall(r"^ *msg: ['\"]?([^\n]+)", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (said or lines or [type(error).__name__])[-1][:300]


def run_steps(cluster, steps, tell):
    """Run steps; what went wrong, in words.

    Args:
        cluster: where.
        steps: which, in their order.
        tell: called with a step's name and its outcome.
    """
    done, errors = set(), []
    for step in steps:
        needed = STEPS[step]
        if needed and needed not in done:
            tell(name_of(step), servers_page.NOT_RUN)
            continue
        begin = time.monotonic()
        try:
            said = step(cluster) or servers_page.PASSED
            done.add(step)
            tell(name_of(step), f"{said}, {time.monotonic() - begin:.0f} s")
        except AssertionError as error:
            errors.append(f"{name_of(step)}: {reason(error)}")
            print(str(error)[-SHOWN:], flush=True)
            tell(name_of(step), f"failed: {reason(error)}")
    return errors


def to_do(version):
    """The steps to run, and those that they need."""
    wanted = CHOSEN or ORDER
    if RESUME and DOCUMENT:
        page = pathlib.Path(DOCUMENT).read_text(encoding="utf-8")
        over = servers_page.passed(page, version)
        wanted = [name for name in wanted if name.replace("_", " ") not in over]
    return chosen(wanted)


def test_a_reason_names_no_folder():
    said = 'TASK [x]\n    msg: "no /tmp/pytest-7/a_b/hosts.json here"\nPLAY RECAP'
    assert reason(said) == 'no hosts.json here"'


def test_what_a_step_needs_is_run_before_it():
    assert chosen(["online", "verify"]) == [site, verify, remove, online]
    assert chosen([]) == []
    assert chosen(ORDER) == list(STEPS)


@pytest.mark.parametrize("tarball", TARBALLS, ids=[pathlib.Path(path).name for path in TARBALLS])
def test_every_playbook(tarball, tmp_path):
    names = ("source", "replica1", "replica2")
    # Different ones do not wait for each other.
    turn = "tarball-" + "".join(re.findall(r"\d+", pathlib.Path(tarball).name)[:3])
    for made in hosts(*((name, "mysql", None, tarball) for name in names), turn=turn):
        cluster = Cluster(made, tmp_path)

        def tell(step, outcome, version=cluster.version):
            print(f"{version} {step}: {outcome}", flush=True)
            # What a step said before stands until it is run again.
            if DOCUMENT and outcome != servers_page.NOT_RUN:
                servers_page.write(pathlib.Path(DOCUMENT), version, {step: outcome}, ORDER)

        if not cluster.has_gtid:
            cluster.by_position()
        errors = run_steps(cluster, to_do(cluster.version), tell)
        assert not errors, "\n".join(errors)
