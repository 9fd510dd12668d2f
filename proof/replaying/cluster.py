"""Three Docker hosts that begin every history from the same data, and clients that write to the
source from this machine, each row in a session of its own.
"""

from __future__ import annotations

import concurrent.futures
import pathlib
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pymysql
from ansible_collections.dbre.semisync.plugins.module_utils._server import versions
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

from support.clients.keep_writing import connect
from support.dying import UNITS
from support.eventually import eventually
from support.live_hosts import Host, inventory, playbook, run

Done = Any
# What a history calls the timeouts of a source, in milliseconds.
TIMEOUTS = {"short": 5000, "long": 36000000}
# Seconds until hosts that were started follow each other, and for which a client waits.
SETTLE, PATIENCE = 90, 3600
# Seconds that a container may take to start all its units, on a busy machine.
BOOTED = 300
# What a host begins with, beside its data.
KEPT = ("/var/lib/mysql", "/etc/mysql", "/etc/systemd/system")
RUNNING = (
    "until systemctl is-system-running 2>/dev/null | grep -q 'running\\|degraded'; do sleep 0.2;"
    " done"
)
CONTROLLERS = ("a", "b")
# An uptime is in whole seconds, so a look takes a server that was started within two seconds before
# it for one that was started after it, and MariaDB throws relay logs away at a start.
OLD = 4


def each(hosts: Iterable[Host], work: Callable[[Host], Any]) -> list[Any]:
    """Do something with all hosts at the same time."""
    every = list(hosts)
    with concurrent.futures.ThreadPoolExecutor(max(1, len(every))) as pool:
        return list(pool.map(work, every))


class Row:
    """A row in a session of its own, and when its client was told that it is committed."""

    def __init__(self, address: str, number: int) -> None:
        self.number, self.error = number, ""
        self.told: float | None = None
        self.thread = threading.Thread(target=self.write, args=(address,), daemon=True)
        self.thread.start()

    def write(self, address: str) -> None:
        try:
            with connect(address, PATIENCE).cursor() as cursor:
                cursor.execute("INSERT INTO app.written VALUES (0, %s)", (self.number,))
            self.told = time.time()
        except (pymysql.err.Error, OSError, RuntimeError) as error:
            self.error = str(error)[:200]


class Cluster:
    """The hosts.

    Args:
        hosts: the source first.
        folder: for the inventories of both controllers and their results.
    """

    def __init__(self, hosts: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder = hosts, folder
        self.source, *self.replicas = hosts
        self.server = self.source.server
        self.unit = UNITS[self.server]
        self.version = ""
        self.by_name = {host.name.rpartition("-")[2]: host for host in hosts}
        self.members: list[Host] = []
        self.timeout = "long"

    @property
    def names(self) -> Names:
        """What the servers call things."""
        return Names(self.server, versions.parse_version(self.version))

    def variable(self, name: str) -> str:
        return self.names.variables("source")[name]

    def status(self, name: str) -> str:
        return self.source.value(
            f"SHOW GLOBAL STATUS LIKE '{self.names.statuses('source')[name]}'"
        ).split()[-1]

    def prepare(self) -> None:
        """site.yml once; what every history begins with is kept on each host."""
        self.members = list(self.hosts)
        done = self.play("a", "site")
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr
        self.source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (client INT NOT NULL, number INT NOT"
            " NULL, KEY (client, number)) ENGINE=InnoDB; CREATE USER app@'%' IDENTIFIED BY 'app';"
            " GRANT ALL ON app.* TO app@'%'"
        )
        self.version = self.source.value("SELECT @@version")
        self.until_received(self.replicas)
        for host in (*self.replicas, self.source):
            host.shell(f"timeout 120 systemctl stop {self.unit}")
            copies = " && ".join(
                f"mkdir -p /snapshot{path} && cp -a {path}/. /snapshot{path}/" for path in KEPT
            )
            host.shell(copies)

    def reset(self, settings: dict[str, Any], replicas: int) -> None:
        """The hosts as they were then, with a history's settings."""
        self.members = self.hosts[: replicas + 1]
        self.timeout = settings.get("timeout", "long")
        for controller in CONTROLLERS:
            run("rm", "-rf", self.results(controller))
        each(self.hosts, lambda host: run("docker", "kill", host.name, check=False))
        each(self.members, lambda host: self.renew(host, settings))
        count = settings.get("wait_for_replica_count", 1)
        if count != 1:
            self.source.sql(f"SET GLOBAL {self.variable('wait_for_replica_count')} = {count}")
        word = self.names.replica_word
        for host in self.members[1:]:
            host.sql(f"STOP {word} IO_THREAD; START {word} IO_THREAD")
        eventually(
            lambda: self.status("clients") == str(replicas),
            lambda: f"{self.status('clients')} replicas acknowledge",
            SETTLE,
        )
        time.sleep(OLD)

    def renew(self, host: Host, settings: dict[str, Any]) -> None:
        """Start a host with the data and options of the beginning."""
        run("docker", "start", host.name)
        restored = " && ".join(
            f"rm -rf {path}/..?* {path}/.[!.]* {path}/* && cp -a /snapshot{path}/. {path}/"
            for path in KEPT
        )
        # A dead server stays dead, even after its host starts.
        folder = f"/etc/systemd/system/{self.unit}.service.d"
        lines = [
            f'timeout {BOOTED} sh -c "{RUNNING}"; true',
            f"systemctl kill --signal=KILL {self.unit} 2>/dev/null; systemctl stop {self.unit}",
            restored,
            f"mkdir -p {folder}",
            f"printf '[Service]\\nRestart=no\\n' >{folder}/dead.conf",
            *self.options(host, settings),
            "systemctl daemon-reload",
            f"systemctl start {self.unit}",
        ]
        host.shell("\n".join(["set -e", *lines[:1], "set +e", lines[1], "set -e", *lines[2:]]))
        host.wait()

    def options(self, host: Host, settings: dict[str, Any]) -> list[str]:
        """Lines of a shell that give a host's option files a history's settings."""
        if host is self.source:
            wanted = {
                self.variable("timeout"): TIMEOUTS[self.timeout],
                self.variable("wait_no_replica"): int(settings.get("wait_no_replica", True)),
            }
            return [
                f"grep -rlE '^(loose_)?{name}' /etc/mysql | xargs sed -i -E"
                f" 's/^((loose_)?{name}[ =]+).*/\\1{value}/'"
                for name, value in wanted.items()
            ]
        own = {"sync_relay_log": settings.get("sync_relay_log", 10000)}
        if self.server == "mysql":
            own["relay_log_recovery"] = int(settings.get("relay_log_recovery", False))
        text = "".join(f"{name} = {value}\\n" for name, value in own.items())
        return [f"printf '[mysqld]\\n{text}' >/etc/mysql/conf.d/zz-replayed.cnf"]

    # Playbooks

    def results(self, controller: str) -> pathlib.Path:
        return self.folder / f"results-{controller}"

    def inventory(self, controller: str) -> pathlib.Path:
        """A controller's, as the members are now."""
        its = self.folder / controller
        its.mkdir(parents=True, exist_ok=True)
        return inventory(
            its,
            {self.source: {}},
            {host: {} for host in self.members if host is not self.source},
            semisync_timeout=TIMEOUTS[self.timeout],
            semisync_results_dir=str(self.results(controller)),
        )

    def play(self, controller: str, name: str, *arguments: str) -> Done:
        """A playbook of a controller, and what it said."""
        limit = ("timeout", "900")
        return playbook(name, self.inventory(controller), *arguments, before=limit)

    # What is on hosts

    def address(self, host: Host) -> str:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return run("docker", "inspect", "--format", form, host.name).stdout.strip()

    def runs(self, host: Host) -> bool:
        form = "{{.State.Running}}"
        return run("docker", "inspect", "--format", form, host.name).stdout.strip() == "true"

    def write(self, number: int) -> Row:
        return Row(f"{self.address(self.source)}:3306", number)

    def position(self, host: Host) -> str:
        name = "gtid_binlog_pos" if self.server == "mariadb" else "gtid_executed"
        return host.value(f"SELECT REPLACE(@@GLOBAL.{name}, '\n', '')")

    def until_received(self, hosts: Iterable[Host]) -> None:
        """Wait until hosts have applied what the source has."""
        for host in hosts:
            eventually(partial(self.is_level, host), host.name, 60)

    def is_level(self, host: Host) -> bool:
        """Whether a host has applied what the source has."""
        return self.position(host) == self.position(self.source)
