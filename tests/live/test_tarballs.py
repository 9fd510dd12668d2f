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
from support.acknowledged import Writers, judge, rows_of, same_data
from support.eventually import eventually
from support.live_hosts import hosts, words
from support.moves import SPEAK, quoted
from support.tarball_cluster import FIRST_WITH_NEW_NAMES, FIRST_WITHOUT_OLD_NAMES, Cluster

pytestmark = pytest.mark.own_target

TARBALLS = os.environ.get("TARBALLS", "").split()
DOCUMENT = os.environ.get("SEMISYNC_SERVERS_DOCUMENT")
CHOSEN = os.environ.get("STEPS", "").split()
RESUME = bool(os.environ.get("RESUME"))
# Characters of what a failed run said; the whole is in LOGS.
SHOWN = 3000
# What the hosts of a cluster say whose failure is another one's.
ECHO = "Refused with the rest of its cluster"
# Where a server has no such thing.
NOTHING_OF_IT = "has no such thing"
CONSENT = ("-e", "semisync_allow_disruption=true")
NEW_PASSWORD = "another password"
FIRST_WITH_GTID_ONLINE = (5, 7)
FIRST_WITH_WAIT_POINT = (5, 7)
FIRST_WITH_SECURE_TRANSPORT = (5, 7)
FIRST_WITH_CLONE = (8, 0, 17)
SWITCHOVERS = 5
# Those that upgrade.yml was run to.
NEXT_SERIES = {(5, 7): "8.0.45", (8, 0): "8.4", (8, 4): "9.7"}
BY_POSITION = (
    "STOP SLAVE; CHANGE MASTER TO MASTER_AUTO_POSITION = 0, MASTER_LOG_FILE = '{}',"
    " MASTER_LOG_POS = {}; START SLAVE"
)
# Findings by the option files, which site.yml has written a moment ago.
OF_OPTION_FILES = ("restart_changes_it", "plugin_not_loaded_at_start", "option_files_unknown")
WRITE = "INSERT INTO important.stuff (details) VALUES ('written by a test')"
PLUGIN_ROW = "rpl_semi_sync_master"


def passes(cluster, name, *arguments):
    """Run a playbook that is to succeed."""
    done = cluster.play(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def refuses(cluster, name, reason, *arguments):
    """Run a playbook that is to refuse, and to have touched nothing."""
    before = [host.fingerprint() for host in cluster.hosts]
    done = cluster.play(name, *arguments)
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


def accounts(cluster):
    """The replication account with each plugin that this server has for passwords."""
    asked = "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND"
    names = "'mysql_native_password', 'caching_sha2_password'"
    found = cluster.source.value(f"{asked} PLUGIN_NAME IN ({names})").split()
    password = quoted(cluster.variables["semisync_replication_password"])
    user = cluster.variables.get("semisync_replication_user", "repl")
    for plugin in sorted(found):
        # A statement that 5.5 and 5.6 do not have: their one plugin is what the account has.
        if len(found) > 1:
            cluster.source.sql(
                f"{SPEAK} ALTER USER {user}@'%' IDENTIFIED WITH {plugin} BY {password}"
            )
        connected_again(cluster)
        again(cluster)
        verify(cluster)
    return f"{servers_page.PASSED}: {', '.join(sorted(found))}"


def connected_again(cluster):
    """Have the replicas log in once more."""
    for host in cluster.replicas:
        cluster.sql(host, "STOP SLAVE IO_THREAD; START SLAVE IO_THREAD")
    cluster.whole()


def secure_transport(cluster):
    """Servers that take connections by TLS alone."""
    if cluster.series < FIRST_WITH_SECURE_TRANSPORT:
        return NOTHING_OF_IT
    for host in cluster.hosts:
        host.sql("SET GLOBAL require_secure_transport = ON")
    connected_again(cluster)
    again(cluster)
    verify(cluster)
    for host in cluster.hosts:
        host.sql("SET GLOBAL require_secure_transport = OFF")
    return None


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
        cluster.sql(host, BY_POSITION.format(*place))
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
    # Of each replica, and the best of them once more in the run's last lines.
    assert said.count("has everything that any replica has received; all applied") >= 2, said


def switchovers(cluster):
    """The role goes round under 50 writers, and comes back; not without GTIDs."""
    if not cluster.has_gtid:
        to = f"semisync_switchover_to={cluster.replicas[0].name}"
        return refuses(cluster, "switchover", "run gtid.yml first to enable GTIDs", "-e", to)
    made = list(cluster.hosts)
    writers = Writers(made[-1], made)
    writers.prepare(cluster.source)
    same_data(made)
    writers.start()
    targets = [*made[1:], *made]
    try:
        for target in [*targets[: SWITCHOVERS - 1], cluster.source]:
            passes(cluster, "switchover", "-e", f"semisync_switchover_to={target.name}")
    finally:
        known = writers.stop()
    same_data(made)
    for host in made:
        assert not any(judge(known, rows_of(host)).values()), host.name
    again(cluster)
    verify(cluster)
    return f"{servers_page.PASSED}: {sum(map(len, known['confirmed']))} rows confirmed, none lost"


def remove(cluster):
    passes(cluster, "remove")
    for host in cluster.hosts:
        assert not host.value("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%'")
    again_without_change(cluster, "remove")


def old_names(cluster):
    """Plugins of the older names, loaded by hand before the first run: the names stay."""
    if not FIRST_WITH_NEW_NAMES <= cluster.release < FIRST_WITHOUT_OLD_NAMES:
        return NOTHING_OF_IT
    remove(cluster)
    sides = {cluster.source: "master", **dict.fromkeys(cluster.replicas, "slave")}
    for host, side in sides.items():
        host.sql(f"INSTALL PLUGIN rpl_semi_sync_{side} SONAME 'semisync_{side}.so'")
    passes(cluster, "site")
    again(cluster)
    verify(cluster)
    for host in cluster.hosts:
        names = host.value("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync%'").splitlines()
        assert names and not re.search("source|replica", " ".join(names).partition("\t")[0]), names
    # remove.yml took our line away, and site.yml leaves read_only of a replica that it found.
    for host in cluster.replicas:
        host.sql("SET GLOBAL read_only = ON")
    for target in (cluster.replicas[0], cluster.source):
        passes(cluster, "switchover", "-e", f"semisync_switchover_to={target.name}")
    # It passes with the findings about read_only after a restart.
    passes(cluster, "verify")
    remove(cluster)
    return None


def online(cluster):
    def started():
        return [host.shell("pidof mysqld").stdout for host in cluster.hosts]

    before = started()
    passes(cluster, "site", "-e", "semisync_apply=online")
    assert started() == before
    # It passes with the finding that read_only, which remove.yml took from the option file, is ON.
    passes(cluster, "verify")


def upgrade_plan(cluster):
    """What keeps MySQL from its next series is refused before anything is touched, and no more once
    it is gone.
    """
    to = NEXT_SERIES.get(cluster.series)
    if to is None:
        return NOTHING_OF_IT
    hook = cluster.folder / "tasks.yml"
    hook.write_text("- name: Nothing\n  ansible.builtin.debug:\n", encoding="utf-8")
    given = ("-e", f"semisync_upgrade_to={to}", "-e", f"semisync_hook_upgrade={hook}", "--check")
    cluster.source.sql(
        "CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.prepared (id INT"
        " PRIMARY KEY); XA START 'night'; INSERT INTO shop.prepared VALUES (1); XA END 'night';"
        " XA PREPARE 'night'"
    )
    refuses(cluster, "upgrade", "XA transactions stay prepared (1)", *given)
    cluster.source.sql("XA ROLLBACK 'night'")
    if to == "8.4":
        native = "CREATE USER old@'%' IDENTIFIED WITH mysql_native_password BY 'old'"
        cluster.source.sql(native)
        refuses(cluster, "upgrade", "logins by mysql_native_password (old@%)", *given)
        cluster.source.sql("ALTER USER old@'%' ACCOUNT LOCK")
    said = words(passes(cluster, "upgrade", *given))
    assert f"upgrade from {cluster.version} to {to}" in said, said
    return None


def seed(cluster):
    """A bare host in a replica's place, for a source whose binary logs no longer have everything;
    without GTIDs that is refused.
    """
    return seeded(cluster, "clone" if cluster.release >= FIRST_WITH_CLONE else "dump")


def seed_by_dump(cluster):
    """The same by dump, which is what older servers have anyway."""
    return seeded(cluster, "dump", "-e", "semisync_seed_method=dump")


def seeded(cluster, way, *arguments):
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
    said = words(passes(cluster, "site", *arguments))
    assert f"{replica.name} is seeded from {cluster.source.name} by {way}" in said, said
    sums = {host.value("CHECKSUM TABLE shop.orders") for host in cluster.hosts}
    assert len(sums) == 1 and "NULL" not in sums.pop()
    again(cluster)
    verify(cluster)
    return f"{servers_page.PASSED}: by {way}"


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
        cluster.sql(host, "STOP SLAVE IO_THREAD")
    source.sql(WRITE)
    named({"degraded", "clients_missing"}, critical=True)
    # Since that run.
    source.sql(WRITE)
    for host in replicas:
        cluster.sql(host, "START SLAVE IO_THREAD")
    cluster.whole()
    named({"was_degraded"}, critical=False)

    cluster.sql(replicas[0], "STOP SLAVE SQL_THREAD")
    named({"applier_stopped"}, critical=True)
    cluster.sql(replicas[0], "START SLAVE SQL_THREAD")
    cluster.whole()

    cluster.sql(source, "SET GLOBAL rpl_semi_sync_master_enabled = OFF")
    number = replicas[1].value("SELECT @@server_id")
    replicas[1].sql(f"SET GLOBAL server_id = {replicas[0].value('SELECT @@server_id')}")
    named({"semisync_off", "server_id_clash", "restart_changes_it"}, critical=True)
    replicas[1].sql(f"SET GLOBAL server_id = {number}")
    cluster.sql(source, "SET GLOBAL rpl_semi_sync_master_enabled = ON")
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
    if not cluster.has_gtid:
        expected.add("known_bad_version")
    else:
        cluster.replicas[0].sql("SET GLOBAL read_only = OFF")
        expected.add("replica_writable")
    for name, value in settings.items():
        cluster.sql(cluster.source, f"SET GLOBAL {name} = {value}")
    cluster.sql(
        cluster.source,
        f"SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name = '{PLUGIN_ROW}'",
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
        cluster.sql(cluster.source, f"SET GLOBAL {name} = {value}")
    cluster.sql(
        cluster.source,
        "SET SESSION sql_log_bin = 0; INSERT INTO mysql.plugin VALUES"
        f" ('{PLUGIN_ROW}', 'semisync_master.so')",
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
    accounts: site,
    secure_transport: site,
    rotate: site,
    gtid: site,
    candidate: site,
    upgrade_plan: site,
    switchovers: site,
    remove: site,
    online: remove,
    old_names: remove,
    seed: site,
    seed_by_dump: site,
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
    every = re.findall(r"^ *msg: ['\"]?([^\n]+)", text, re.MULTILINE)
    said = [words for words in every if not words.startswith(ECHO)]
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
