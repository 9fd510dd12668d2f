"""The replication account gets another password, and TLS comes and goes, while writers write: nothing is lost or degraded.

The servers listen on another port, and the collection logs in over TCP with a password, on the source from a login file.
"""

import contextlib
import json
import subprocess
import time

import pytest
from killed import listening, places, was_killed
from live_hosts import PASSWORD, hosts, inventory, playbook, run, words

PORT = 3307
NEW = "n€u 'w\"ort\\ 100% zimtstern"
ADMIN = 'ädmin "pw\\#'
COUNTERS = {"mysql": ("Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_source_yes_tx"),
            "mariadb": ("Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_master_yes_tx")}
WRITER = "while :; do echo 'INSERT INTO shop.orders VALUES (NULL);'; sleep 0.02; done | %s --batch --unbuffered"
READERS = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"


def prepare(host):
    """Another port, and an administrator who may log in over TCP alone."""
    host.shell("cat > /etc/mysql/conf.d/own.cnf && systemctl restart " + host.server, input="[mysqld]\nport = %d\n" % PORT)
    host.wait()
    host.sql("SET NAMES utf8mb4; SET SESSION sql_log_bin = 0; CREATE USER {0}@'127.0.0.1' IDENTIFIED BY {1};"
             "GRANT ALL ON *.* TO {0}@'127.0.0.1' WITH GRANT OPTION".format(host.admin, literal(ADMIN)))


def literal(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


class Pair:
    def __init__(self, source, replica, folder):
        self.source, self.replica = source, replica
        source.shell("umask 077; cat > /root/semisync.cnf", input="[client]\nhost=127.0.0.1\nport=%d\nuser=boss\npassword=%s\n"
                     % (PORT, literal(ADMIN)))
        login = {"semisync_login_user": "chief", "semisync_login_password": ADMIN, "semisync_login_host": "127.0.0.1",
                 "semisync_login_port": PORT}
        self.file = inventory(folder, {source: {"semisync_login_config_file": "/root/semisync.cnf"}}, {replica: login})

    def play(self, name, *arguments, environment=None, **variables):
        return playbook(name, self.file, *arguments, "-e", json.dumps(variables), **(environment or {}))

    def counted(self):
        no, yes = [int(self.source.value("SHOW GLOBAL STATUS LIKE '%s'" % name).split()[1]) for name in COUNTERS[self.source.server]]
        return no, yes

    def takes(self, password):
        """Whether the source lets the replica in with this password."""
        client = {"mysql": "mysql", "mariadb": "mariadb"}[self.source.server]
        return run("docker", "exec", "-e", "MYSQL_PWD=" + password, self.replica.name, client, "-urepl", "-h", self.source.name,
                   "-P", PORT, "-e", "SELECT 1", check=False).returncode == 0

    def rows(self):
        return [host.value("SELECT COUNT(*), MAX(id) FROM shop.orders") for host in (self.source, self.replica)]

    def module(self, arguments):
        return run("ansible", "-i", self.file, self.replica.name, "-m", "dbre.semisync.semisync_channel", "-a", json.dumps(dict(
            arguments, login_user="chief", login_password=ADMIN, login_host="127.0.0.1", login_port=PORT)), check=False)


@pytest.fixture(scope="module", params=[pytest.param(("mysql", ""), marks=pytest.mark.long), ("mariadb", "12")],
                ids=lambda param: param[0])
def pair(request, tmp_path_factory):
    for source, replica in hosts(("source",) + request.param, ("replica",) + request.param, turn="live-rotation-" + request.param[0]):
        for host, admin in ((source, "boss"), (replica, "chief")):
            host.admin = admin
            prepare(host)
        made = Pair(source, replica, tmp_path_factory.mktemp("rotation"))
        done = made.play("site")
        assert done.returncode == 0, done.stdout + done.stderr
        source.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY)")
        yield made


@contextlib.contextmanager
def under_load(pair):
    """A writer meanwhile; afterwards no commit has gone without its acknowledgement, and no row is missing."""
    before = pair.counted()
    writer = subprocess.Popen(["docker", "exec", pair.source.name, "sh", "-c", WRITER % pair.source.server])
    yield pair
    assert writer.poll() is None
    pair.source.shell("pkill -f 'sleep 0.02' ; pkill -f -- --unbuffered", check=False)
    writer.wait()
    after = pair.counted()
    assert after[0] == before[0], "a commit was not acknowledged"
    assert after[1] > before[1] + 20
    wait_for(lambda: len(set(pair.rows())) == 1)


def wait_for(holds):
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def done(result, *secrets):
    assert result.returncode == 0, result.stdout + result.stderr
    assert not [secret for secret in secrets if secret in result.stdout + result.stderr]
    return result


def test_the_password_changes_under_writers_and_a_second_run_changes_nothing(pair):
    with under_load(pair):
        assert pair.takes(PASSWORD) and not pair.takes(NEW)
        said = done(pair.play("rotate", "--diff", "-vvv", semisync_replication_password=NEW), "zimtstern", PASSWORD)
        assert "repl@% accepts the new password" in words(said)
        assert pair.takes(NEW) and not pair.takes(PASSWORD)
        again = done(pair.play("rotate", semisync_replication_password=NEW))
        assert "changed=1" not in again.stdout, again.stdout
        done(pair.play("verify"))


@pytest.mark.long
def test_a_rotation_that_was_interrupted_is_finished_by_the_next(pair):
    with under_load(pair):
        kept = {"mysql": "IDENTIFIED BY {0} RETAIN CURRENT PASSWORD",
                "mariadb": "IDENTIFIED VIA mysql_native_password USING PASSWORD({0}) OR mysql_native_password USING PASSWORD({1})"}
        pair.source.sql("SET NAMES utf8mb4; SET SESSION sql_log_bin = 0; ALTER USER repl@'%' "
                        + kept[pair.source.server].format(literal(PASSWORD), literal(NEW)))
        assert pair.takes(PASSWORD) and pair.takes(NEW)
        third = pair.play("rotate", semisync_replication_password="a third one")
        assert third.returncode != 0 and "repl@% accepts two passwords" in words(third)
        done(pair.play("rotate", semisync_replication_password=PASSWORD))
        assert pair.takes(PASSWORD) and not pair.takes(NEW)


# Shares of the tasks, so that one test ends in some ten minutes.
PARTS = 3


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_a_rotation_that_is_killed_after_a_task_is_finished_by_the_next(pair, part, tmp_path):
    done(pair.play("rotate"))
    with under_load(pair):
        tasks, old = tmp_path / "tasks", "the first 0"
        done(pair.play("rotate", environment=listening(0, tasks), semisync_replication_password=old))
        for number, name in places(tasks, part, PARTS):
            new = "killed after %d" % number
            was_killed(pair.play("rotate", environment=listening(number), semisync_replication_password=new))
            assert tls(pair), "the channel does not run after task %d (%s)" % (number, name)
            done(pair.play("rotate", semisync_replication_password=new))
            assert pair.takes(new) and not pair.takes(old), "after task %d (%s)" % (number, name)
            print("killed after task %d (%s): finished by the next run" % (number, name))
            old = new
        done(pair.play("rotate"))
    done(pair.play("verify"))


def test_a_login_that_the_source_refuses_is_taken_back(pair):
    said = pair.module({"state": "updated", "source_password": "nonsense", "wait": 3})
    assert said.returncode != 0 and "the old one is back" in said.stdout
    wait_for(lambda: tls(pair))
    assert "changed=1" not in done(pair.play("rotate")).stdout


@pytest.mark.long
def test_the_old_password_stays_while_a_stranger_needs_it(pair):
    reader = {"mysql": "mysqlbinlog", "mariadb": "mariadb-binlog"}[pair.source.server]
    first = pair.source.value("SHOW BINARY LOGS").split()[0]
    stranger = subprocess.Popen(
        ["docker", "exec", "-e", "MYSQL_PWD=" + PASSWORD, pair.replica.name, reader, "--read-from-remote-server", "--raw",
         "--stop-never", "--stop-never-slave-server-id=77" if reader == "mariadb-binlog" else "--connection-server-id=77",
         "-urepl", "-h", pair.source.name, "-P", str(PORT), "--result-file=/tmp/", first], stderr=subprocess.DEVNULL)
    wait_for(lambda: pair.source.value(READERS) == "2")
    refused = pair.play("rotate", semisync_replication_password=NEW)
    assert refused.returncode != 0 and "2 sessions read the binary log as repl" in words(refused)
    assert pair.takes(NEW) and pair.takes(PASSWORD)
    pair.replica.shell("pkill " + reader)
    stranger.wait()
    # A source sees that a session is gone when it has something to send.
    wait_for(lambda: pair.source.value("INSERT INTO shop.orders VALUES (NULL); " + READERS) == "1")
    done(pair.play("rotate", semisync_replication_password=NEW))
    assert pair.takes(NEW) and not pair.takes(PASSWORD)
    done(pair.play("rotate"))


def tls(pair):
    """How the replica's channel is set: TLS, authority, whether the source's name is verified; None while it does not run."""
    status = pair.replica.sql("SHOW REPLICA STATUS", form="--vertical").stdout
    found = dict((line.partition(":")[0].strip(), line.partition(":")[2].strip()) for line in status.splitlines())
    found = dict((name.replace("Source", "Master").replace("Replica", "Slave"), value) for name, value in found.items())
    if not found["Slave_IO_Running"] == found["Slave_SQL_Running"] == "Yes":
        return None
    return found["Master_SSL_Allowed"], found.get("Master_SSL_CA_File", ""), found["Master_SSL_Verify_Server_Cert"]


def wanted(pair, mode, authority="", name=False):
    variables = {"semisync_replication_ssl": mode, "semisync_replication_ssl_ca": authority,
                 "semisync_replication_ssl_verify_name": name, "semisync_channel_timeout": 5}
    return pair.play("site", **variables)


def authority(folder, name):
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=" + name, "-addext", "subjectAltName=DNS:" + name, "-keyout", folder / "key.pem", "-out", folder / "ca.pem")
    return (folder / "key.pem").read_text(), (folder / "ca.pem").read_text()


def give(host, key, certificate):
    host.shell("mkdir -p /etc/mysql/tls && cat > /etc/mysql/tls/both.pem && chown mysql /etc/mysql/tls/both.pem &&"
               " printf '[mysqld]\nssl_cert=/etc/mysql/tls/both.pem\nssl_key=/etc/mysql/tls/both.pem\n'"
               " > /etc/mysql/conf.d/tls.cnf && systemctl restart mariadb", input=key + certificate)
    host.wait()


# A MySQL server makes an authority for itself.
@pytest.mark.long
@pytest.mark.only("mariadb")
def test_mariadb_tls_with_an_authority_of_ones_own(pair, tmp_path):
    refused = wanted(pair, "required")
    assert refused.returncode != 0 and "the server has no TLS" in words(refused)
    key, certificate = authority(tmp_path, "elsewhere.example.com")
    pair.replica.shell("mkdir -p /etc/mysql/tls && cat > /etc/mysql/tls/ca.pem", input=certificate)
    give(pair.source, key, certificate)
    path = "/etc/mysql/tls/ca.pem"
    wait_for(lambda: tls(pair) == ("No", "", "No"))
    assert wanted(pair, "required", path).returncode == 0
    assert tls(pair) == ("Yes", path, "No")
    # No session without TLS can begin any more.
    pair.source.sql("ALTER USER repl@'%' REQUIRE SSL")
    pair.replica.sql("STOP SLAVE; START SLAVE")
    wait_for(lambda: tls(pair))
    refused = wanted(pair, "disabled")
    assert refused.returncode != 0 and "the old one is back" in words(refused)
    refused = wanted(pair, "required", path, name=True)
    assert refused.returncode != 0 and "the old one is back" in words(refused)
    wait_for(lambda: tls(pair) == ("Yes", path, "No"))
    give(pair.source, *authority(tmp_path, pair.source.name))
    pair.replica.shell("cat > /etc/mysql/tls/ca.pem", input=(tmp_path / "ca.pem").read_text())
    pair.replica.sql("STOP SLAVE; START SLAVE")
    wait_for(lambda: tls(pair))
    done(wanted(pair, "required", path, name=True))
    assert tls(pair) == ("Yes", path, "Yes")
    assert "changed=1" not in done(wanted(pair, "required", path, name=True)).stdout
    done(pair.play("verify"))
