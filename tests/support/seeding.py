"""What the tests of seeding do with hosts: data on a source, writers on it, a run that is killed,
and the comparison.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from typing import Any

from support.live_hosts import Host, run

WRITERS = pathlib.Path(__file__).with_name("clients") / "keep_confirmed.py"
CLIENTS = 6
PAYLOAD = 7000
SYSTEM = "('information_schema', 'performance_schema', 'mysql', 'sys')"
TABLES = """
SET SESSION sql_log_bin = 0;
CREATE DATABASE shop CHARACTER SET utf8mb4;
CREATE TABLE shop.orders (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL,
  payload VARBINARY(7000) NOT NULL, KEY (customer)) ENGINE=InnoDB;
CREATE TABLE shop.notes (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, text VARCHAR(2000) NOT NULL,
  amount DECIMAL(12, 2) NOT NULL,
  at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=InnoDB;
CREATE TABLE shop.confirmed (client INT NOT NULL, number BIGINT NOT NULL,
  PRIMARY KEY (client, number)) ENGINE=InnoDB;
CREATE TABLE shop.`odd ``name` (id INT NOT NULL PRIMARY KEY, parent INT,
  FOREIGN KEY (parent) REFERENCES `odd ``name` (id));
CREATE TABLE shop.audited (note BIGINT NOT NULL) ENGINE=InnoDB;
CREATE TRIGGER shop.audit AFTER INSERT ON shop.notes
  FOR EACH ROW INSERT INTO shop.audited VALUES (NEW.id);
CREATE VIEW shop.large AS SELECT id FROM shop.orders WHERE customer > 10;
CREATE PROCEDURE shop.count_orders() SELECT COUNT(*) FROM shop.orders;
INSERT INTO shop.`odd ``name` VALUES (1, NULL), (2, 1);
INSERT INTO shop.orders (customer, payload) VALUES (0, CONCAT({first}));
CREATE USER app@'%' IDENTIFIED BY 'Geheim-77''"';
GRANT SELECT ON shop.* TO app@'%';
GRANT INSERT, UPDATE (customer) ON shop.orders TO app@'%';
GRANT EXECUTE ON PROCEDURE shop.count_orders TO app@'%';
CREATE TABLE shop.gone (id INT NOT NULL PRIMARY KEY);
CREATE USER formerly@'%';
GRANT SELECT ON shop.gone TO formerly@'%';
DROP TABLE shop.gone;
""".format(first=", ".join(["RANDOM_BYTES(1000)"] * (PAYLOAD // 1000)))
DOUBLE = (
    "SET SESSION sql_log_bin = 0; INSERT INTO shop.orders (customer, payload)"
    " SELECT customer + (1 << %d), CONCAT(RANDOM_BYTES(16), SUBSTR(payload, 17)) FROM shop.orders"
)
OBJECTS = (
    "SELECT 'view', TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'shop' UNION ALL"
    " SELECT 'routine', ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop'"
    " UNION ALL SELECT 'trigger', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE"
    " TRIGGER_SCHEMA = 'shop' UNION ALL SELECT 'account', CONCAT(User, '@', Host) FROM mysql.user"
    " WHERE User = 'app' UNION ALL SELECT 'privilege', CONCAT_WS(' ', Db, Table_name, Table_priv,"
    " Column_priv) FROM mysql.tables_priv WHERE User = 'app' UNION ALL SELECT 'privilege',"
    " CONCAT_WS(' ', Db, Routine_name, Proc_priv) FROM mysql.procs_priv WHERE User = 'app'"
    " ORDER BY 1, 2"
)
WAIT = {
    "mysql": ("SELECT @@GLOBAL.gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', %d)"),
    "mariadb": ("SELECT @@GLOBAL.gtid_binlog_pos", "SELECT MASTER_GTID_WAIT('%s', %d)"),
}


def fill(source: Host, megabytes: int) -> int:
    """Give a source data that its binary log does not have; returns the bytes on its disk."""
    durable = source.value(
        "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_flush_log_at_trx_commit"
    ).split()
    source.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
    source.sql(TABLES)
    doubled = 0
    # Two rows a page of 16 kB.
    while 8192 * 2**doubled < megabytes * 1000 * 1000:
        source.sql(DOUBLE % doubled)
        doubled += 1
    source.sql(f"SET GLOBAL innodb_flush_log_at_trx_commit = {durable[1]}")
    return size(source)


def size(host: Host) -> int:
    """Bytes of the data on the host's disk."""
    return int(host.shell("du -sb /var/lib/mysql/shop | cut -f1").stdout)


class Writers:
    """Clients on a source, while in use as a context; afterwards what was confirmed to them."""

    def __init__(self, source: Host) -> None:
        self.source, self.refused = source, 0
        self.confirmed: list[tuple[int, ...]] = []

    def __enter__(self) -> Writers:
        socket = self.source.value("SELECT @@socket")
        run("docker", "cp", WRITERS, f"{self.source.name}:/root/seed_writers.py")
        self.source.shell("rm -f /root/seed_stop /root/seed_written.json")
        run(
            "docker",
            "exec",
            "--detach",
            self.source.name,
            "python3",
            "/root/seed_writers.py",
            socket,
            CLIENTS,
            "/root/seed_stop",
            "/root/seed_written.json",
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self.source.shell("touch /root/seed_stop")
        until = time.monotonic() + 150
        while self.source.shell("test -e /root/seed_written.json", check=False).returncode != 0:
            assert time.monotonic() < until, "the writers have not ended"
            time.sleep(0.2)
        found = json.loads(self.source.shell("cat /root/seed_written.json").stdout)
        self.confirmed, self.refused = (
            [tuple(pair) for pair in found["confirmed"]],
            found["refused"],
        )


class Site:
    """A run of site.yml that shows its output as it comes and can be killed."""

    def __init__(self, file: pathlib.Path, log: pathlib.Path, *arguments: str) -> None:
        self.log, self.began = log, time.monotonic()
        with log.open("w") as stream:
            self.child = subprocess.Popen(
                ["ansible-playbook", "-i", str(file), "dbre.semisync.site", *arguments],
                cwd=file.parent,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(
                    os.environ,
                    ANSIBLE_CALLBACK_RESULT_FORMAT="yaml",
                    ANSIBLE_PIPELINING="true",
                    COLUMNS="1000",
                ),
            )

    def text(self) -> str:
        """What it has said so far, line breaks smoothed out."""
        return " ".join(self.log.read_text(encoding="utf-8", errors="replace").split())

    def end(self, seconds: float = 540) -> str:
        """Its output, once it has ended well."""
        try:
            self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"site.yml takes more than {int(seconds)} s:\n{self.text()[-3000:]}"
            ) from None
        assert self.child.returncode == 0, self.text()[-6000:]
        return self.text()

    def kill(self) -> None:
        """End it as a power cut of the controller would."""
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def kill_while_it_copies(self, replica: Host, seconds: float = 240) -> None:
        """Kill it once some of the data has come to the replica, and not all of it."""
        until = time.monotonic() + seconds
        while not copying(written_down(replica)):
            assert self.child.poll() is None, (
                "it ended before it could be killed:\n" + self.text()[-6000:]
            )
            assert time.monotonic() < until, "it copies nothing:\n" + self.text()[-3000:]
        self.kill()
        assert ": done," not in self.text()


def copying(facts: dict[str, Any]) -> bool:
    """Whether some of the data has come, and not all of it."""
    return (
        facts.get("stage") in ("clone", "loads", "copies")
        and 0 < facts["bytes"] < 0.8 * facts["total"]
    )


def written_down(replica: Host) -> dict[str, Any]:
    """What the last seeding of a replica wrote down."""
    return json.loads(
        replica.shell("cat /var/lib/dbre-semisync/seed-3306.json", check=False).stdout or "{}"
    )


def progress(text: str, replica: Host) -> list[tuple[str, str, str]]:
    """The lines of progress: (seconds, stage, amount)."""
    return re.findall(rf" seed {re.escape(replica.name)}: (\d+) s (\w+) (.+?) of about ", text)


def stated(text: str, replica: Host) -> tuple[str, str, int]:
    """(way, size, seconds) as the run says them: way and size before the first line of progress,
    seconds at the end.
    """
    before = re.search(rf"{re.escape(replica.name)} is seeded from \S+ by (\w+): ([\d.]+ MB)", text)
    after = re.search(rf" seed {re.escape(replica.name)}: done, [^:]+ in (\d+) s", text)
    assert before and after, text[-3000:]
    lines = re.search(rf" seed {re.escape(replica.name)}: \d+ s", text)
    assert lines is None or before.start() < lines.start()
    return before.group(1), before.group(2), int(after.group(1))


def catch_up(source: Host, replica: Host, seconds: float = 240) -> None:
    """Wait until a replica has applied all that its source has written by now."""
    position, wait = WAIT[source.server]
    gtid = "".join(source.value(position).replace("\\n", "").split())
    assert gtid and replica.value(wait % (gtid, seconds)) == "0", (
        f"the replica did not catch up within {int(seconds)} s"
    )


def checksums(host: Host) -> list[str]:
    """CHECKSUM TABLE of every table that is not the server's own."""
    names = host.value(
        "SELECT CONCAT('`', TABLE_SCHEMA, '`.`', REPLACE(TABLE_NAME, '`', '``'), '`') FROM"
        " information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN"
        f" {SYSTEM} ORDER BY 1"
    ).splitlines()
    found = host.value("CHECKSUM TABLE " + ", ".join(names)).splitlines()
    assert len(found) == len(names) and not [line for line in found if line.endswith("NULL")]
    return found


def compare(source: Host, replica: Host, confirmed: Iterable[tuple[int, ...]]) -> int:
    """Nothing is lost: every table is the same, and has each transaction that was confirmed; how
    many tables.
    """
    catch_up(source, replica)
    there = {
        tuple(map(int, line.split()))
        for line in replica.value("SELECT client, number FROM shop.confirmed").splitlines()
    }
    lost = set(confirmed) - there
    assert not lost, f"{len(lost)} confirmed transactions are lost, such as {sorted(lost)[:3]}"
    found = checksums(source)
    assert checksums(replica) == found
    objects = source.value(OBJECTS)
    assert len(objects.splitlines()) == 6 and replica.value(OBJECTS) == objects
    return len(found)
