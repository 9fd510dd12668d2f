"""The replication account gets another password, and TLS comes and goes, while writers write:
nothing is lost or degraded.

The servers listen on another port, and the collection logs in over TCP with a password, on the
source from a login file.
"""

import json
import subprocess

import pytest

from support.eventually import eventually
from support.killed import listening, places, was_killed
from support.live_hosts import PASSWORD, hosts, inventory, run, words
from support.pair import Pair, done, tls, under_load, wanted

PORT = 3307
NEW = "n€u 'w\"ort\\ 100% zimtstern"
ADMIN = 'ädmin "pw\\#'
READERS = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"


def prepare(host, admin):
    """Another port, and an administrator who may log in over TCP alone."""
    host.shell(
        "cat > /etc/mysql/conf.d/own.cnf && systemctl restart " + host.server,
        input=f"[mysqld]\nport = {PORT}\n",
    )
    host.wait()
    host.sql(
        f"SET NAMES utf8mb4; SET SESSION sql_log_bin = 0; CREATE USER {admin}@'127.0.0.1'"
        f" IDENTIFIED BY {literal(ADMIN)};GRANT ALL ON *.* TO {admin}@'127.0.0.1' WITH GRANT"
        " OPTION"
    )


def literal(text):
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class PairWithLogin(Pair):
    """A pair whose servers are reached over TCP, with a password."""

    def __init__(self, source, replica, folder):
        source.shell(
            "umask 077; cat > /root/semisync.cnf",
            input=f"[client]\nhost=127.0.0.1\nport={PORT}\nuser=boss\npassword={literal(ADMIN)}\n",
        )
        login = {
            "semisync_login_user": "chief",
            "semisync_login_password": ADMIN,
            "semisync_login_host": "127.0.0.1",
            "semisync_login_port": PORT,
        }
        file = inventory(
            folder, {source: {"semisync_login_config_file": "/root/semisync.cnf"}}, {replica: login}
        )
        super().__init__(source, replica, file)

    def takes(self, password):
        """Whether the source lets the replica in with this password."""
        client = {"mysql": "mysql", "mariadb": "mariadb"}[self.source.server]
        return (
            run(
                "docker",
                "exec",
                "-e",
                "MYSQL_PWD=" + password,
                self.replica.name,
                client,
                "-urepl",
                "-h",
                self.source.name,
                "-P",
                PORT,
                "-e",
                "SELECT 1",
                check=False,
            ).returncode
            == 0
        )

    def module(self, arguments):
        return run(
            "ansible",
            "-i",
            self.file,
            self.replica.name,
            "-m",
            "dbre.semisync.semisync_channel",
            "-a",
            json.dumps(
                dict(
                    arguments,
                    login_user="chief",
                    login_password=ADMIN,
                    login_host="127.0.0.1",
                    login_port=PORT,
                )
            ),
            check=False,
        )


@pytest.fixture(
    scope="module",
    params=[pytest.param(("mysql", ""), marks=pytest.mark.long), ("mariadb", "12")],
    ids=lambda param: param[0],
)
def pair(request, tmp_path_factory):
    for source, replica in hosts(
        ("source", *request.param),
        ("replica", *request.param),
        turn="live-rotation-" + request.param[0],
    ):
        for host, admin in ((source, "boss"), (replica, "chief")):
            prepare(host, admin)
        made = PairWithLogin(source, replica, tmp_path_factory.mktemp("rotation"))
        done = made.play("site")
        assert done.returncode == 0, done.stdout + done.stderr
        source.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY)"
        )
        yield made


def test_the_password_changes_under_writers_and_a_second_run_changes_nothing(pair):
    with under_load(pair):
        assert pair.takes(PASSWORD) and not pair.takes(NEW)
        said = done(
            pair.play("rotate", "--diff", "-vvv", semisync_replication_password=NEW),
            "zimtstern",
            PASSWORD,
        )
        assert "repl@% accepts the new password" in words(said)
        assert pair.takes(NEW) and not pair.takes(PASSWORD)
        again = done(pair.play("rotate", semisync_replication_password=NEW))
        assert "changed=1" not in again.stdout, again.stdout
        done(pair.play("verify"))


@pytest.mark.long
def test_a_rotation_that_was_interrupted_is_finished_by_the_next(pair):
    with under_load(pair):
        kept = {
            "mysql": "IDENTIFIED BY {0} RETAIN CURRENT PASSWORD",
            "mariadb": (
                "IDENTIFIED VIA mysql_native_password USING PASSWORD({0}) OR mysql_native_password"
                " USING PASSWORD({1})"
            ),
        }
        pair.source.sql(
            "SET NAMES utf8mb4; SET SESSION sql_log_bin = 0; ALTER USER repl@'%' "
            + kept[pair.source.server].format(literal(PASSWORD), literal(NEW))
        )
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
        done(
            pair.play("rotate", environment=listening(0, tasks), semisync_replication_password=old)
        )
        for number, name in places(tasks, part, PARTS):
            new = f"killed after {number}"
            was_killed(
                pair.play(
                    "rotate", environment=listening(number), semisync_replication_password=new
                )
            )
            assert tls(pair), f"the channel does not run after task {number} ({name})"
            done(pair.play("rotate", semisync_replication_password=new))
            assert pair.takes(new) and not pair.takes(old), f"after task {number} ({name})"
            print(f"killed after task {number} ({name}): finished by the next run")
            old = new
        done(pair.play("rotate"))
    done(pair.play("verify"))


def test_a_login_that_the_source_refuses_is_taken_back(pair):
    said = pair.module({"state": "updated", "source_password": "nonsense", "wait": 3})
    assert said.returncode != 0 and "the old one was restored" in said.stdout
    eventually(lambda: tls(pair))
    assert "changed=1" not in done(pair.play("rotate")).stdout


@pytest.mark.long
def test_the_old_password_stays_while_a_stranger_needs_it(pair):
    reader = {"mysql": "mysqlbinlog", "mariadb": "mariadb-binlog"}[pair.source.server]
    first = pair.source.value("SHOW BINARY LOGS").split()[0]
    stranger = subprocess.Popen(
        [
            "docker",
            "exec",
            "-e",
            "MYSQL_PWD=" + PASSWORD,
            pair.replica.name,
            reader,
            "--read-from-remote-server",
            "--raw",
            "--stop-never",
            (
                "--stop-never-slave-server-id=77"
                if reader == "mariadb-binlog"
                else "--connection-server-id=77"
            ),
            "-urepl",
            "-h",
            pair.source.name,
            "-P",
            str(PORT),
            "--result-file=/tmp/",
            first,
        ],
        stderr=subprocess.DEVNULL,
    )
    eventually(lambda: pair.source.value(READERS) == "2")
    refused = pair.play("rotate", semisync_replication_password=NEW)
    assert refused.returncode != 0 and "2 sessions read the binary log as repl" in words(refused)
    assert pair.takes(NEW) and pair.takes(PASSWORD)
    pair.replica.shell("pkill " + reader)
    stranger.wait()
    # A source sees that a session is gone when it has something to send.
    eventually(
        lambda: pair.source.value("INSERT INTO shop.orders VALUES (NULL); " + READERS) == "1"
    )
    done(pair.play("rotate", semisync_replication_password=NEW))
    assert pair.takes(NEW) and not pair.takes(PASSWORD)
    done(pair.play("rotate"))


def authority(folder, name):
    run(
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=" + name,
        "-addext",
        "subjectAltName=DNS:" + name,
        "-keyout",
        folder / "key.pem",
        "-out",
        folder / "ca.pem",
    )
    return (folder / "key.pem").read_text(), (folder / "ca.pem").read_text()


def give(host, key, certificate):
    host.shell(
        "mkdir -p /etc/mysql/tls && cat > /etc/mysql/tls/both.pem && chown mysql"
        " /etc/mysql/tls/both.pem && printf"
        " '[mysqld]\nssl_cert=/etc/mysql/tls/both.pem\nssl_key=/etc/mysql/tls/both.pem\n' >"
        " /etc/mysql/conf.d/tls.cnf && systemctl restart mariadb",
        input=key + certificate,
    )
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
    eventually(lambda: tls(pair) == ("No", "", "No"))
    assert wanted(pair, "required", path).returncode == 0
    assert tls(pair) == ("Yes", path, "No")
    # No session without TLS can begin any more.
    pair.source.sql("ALTER USER repl@'%' REQUIRE SSL")
    pair.replica.sql("STOP SLAVE; START SLAVE")
    eventually(lambda: tls(pair))
    refused = wanted(pair, "disabled")
    assert refused.returncode != 0 and "may log in with TLS only" in words(refused)
    refused = wanted(pair, "required", path, name=True)
    assert refused.returncode != 0 and "the old one was restored" in words(refused)
    eventually(lambda: tls(pair) == ("Yes", path, "No"))
    give(pair.source, *authority(tmp_path, pair.source.name))
    pair.replica.shell("cat > /etc/mysql/tls/ca.pem", input=(tmp_path / "ca.pem").read_text())
    pair.replica.sql("STOP SLAVE; START SLAVE")
    eventually(lambda: tls(pair))
    done(wanted(pair, "required", path, name=True))
    assert tls(pair) == ("Yes", path, "Yes")
    assert "changed=1" not in done(wanted(pair, "required", path, name=True)).stdout
    done(pair.play("verify"))
