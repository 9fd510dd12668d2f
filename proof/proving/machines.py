"""Three hosts with kernels of their own that begin every cycle from the same disks, and 50 clients
on this machine. SEMISYNC_LAB must be set before this is imported: a lab for each server.
"""

from __future__ import annotations

import abc
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import servers
import tarball
import uml_host
import uml_net
from ansible_collections.dbre.semisync.plugins.module_utils._server import versions
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from common import say, uml_folder
from kind_uml import UP_SECONDS

from proving.proxy import ANSWER, PORT, READERS, Proxy, root
from support.acknowledged import CLIENTS as KEEP_WRITING
from support.acknowledged import RELEASES
from support.dying import UNITS
from support.eventually import eventually
from support.live_hosts import (
    CLIENTS,
    PROJECT,
    Host,
    first_cause,
    inventory,
    lab,
    playbook,
    run,
)

SOURCE, REPLICAS = "source", ("replica1", "replica2")
NAMES = (SOURCE, *REPLICAS)
# Milliseconds; longer than a cycle, so that nothing is confirmed alone.
TIMEOUT = 3600000
# What the hosts are set up with: so that only a fault decides what is confirmed alone, or as people
# have it, with the default timeout.
STRICT: dict[str, Any] = {"semisync_timeout": TIMEOUT}
USUAL: dict[str, Any] = {"semisync_timeout": None, "semisync_heartbeat_seconds": 1}
# Seconds until hosts that were started follow each other, until all clients write, have ended.
SETTLE, BEGUN, ENDED = 60, 180, 120
# How often each client writes, tries again, and for how long it waits for an answer: a host without
# power does not say that it is gone. While HAProxy has no source, to try costs the hosts nothing.
PAUSE, RETRY, PATIENCE = 0.4, 1.0, "3"
NUMBER = 50
KEEP_READING = "support.clients.keep_reading"
# Enough for any burst that waits out its delay.
QUEUE = 10000
# What site.yml set the snapshot's hosts up with, below the checkout.
MADE_OF = ("plugins", "roles", "playbooks", "proof/proving/machines.py")
# Debian's server checks all its tables after each start, beside what is measured here.
QUIET = {
    "mariadb": "mkdir -p /etc/systemd/system/mariadb.service.d && printf"
    " '[Service]\\nExecStartPost=\\n' >/etc/systemd/system/mariadb.service.d/quiet.conf &&"
    " systemctl daemon-reload",
    "mysql": "true",
}


class Machine(Host):
    """A host of the lab of this process."""

    def __init__(self, server: str, name: str, client: str) -> None:
        self.name, self.server, self.client = name, server, client
        self.address = uml_net.address(name)

    def command(self, script: str) -> list[str]:
        """One connection for all, because a new one takes these hosts a second."""
        ssh, *rest = uml_host.ssh(self.name, script)
        shared = {
            "ControlMaster": "auto",
            "ControlPath": str(uml_folder("connections") / f"prove-{self.name}"),
            "ControlPersist": "120",
        }
        return [ssh, *(word for pair in shared.items() for word in ("-o", "=".join(pair))), *rest]

    def shell(self, command: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
        return run(*self.command(command), **keywords)

    def sql(
        self, statement: str, check: bool = True, form: str = "--skip-column-names"
    ) -> subprocess.CompletedProcess[str]:
        return self.shell(f"{self.client} --batch {form}", input=statement, check=check)

    def until(self, statement: str, wanted: str, seconds: float = SETTLE) -> None:
        """Wait, on the host itself, until the last word that a statement returns is the wanted."""
        self.shell(
            f"timeout {seconds:.0f} sh -s",
            input=f'until {self.client} --batch --skip-column-names --execute "{statement}"'
            f" | grep -q '\\b{wanted}$'; do sleep 0.2; done\n",
        )

    @property
    def alive(self) -> bool:
        return uml_host.running(self.name)

    def leave_down(self) -> None:
        """Let its server be down when the host comes back, also from a power cut."""
        unit = UNITS[self.server]
        self.shell(f"rm -f /etc/systemd/system/*.wants/{unit}.service && sync")


def each(hosts: Iterable[Any], work: Callable[[Any], Any]) -> list[Any]:
    """Do something with all hosts at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(NAMES)) as pool:
        return list(pool.map(work, hosts))


class Machines:
    """The hosts, their snapshot, and where their inventory is.

    Args:
        server: mysql or mariadb.
        folder: for the inventory and the results.
        path: a tarball of the MySQL that the hosts have, and not Debian's.
        usual: whether they have the settings that people have.
        old_names: whether semi-sync's plugins have the old names, on a MySQL that has both.
        names: of the hosts, the source first.

    Attributes:
        disks: files that hosts have as further disks, by the name of the host.
    """

    def __init__(
        self,
        server: str,
        folder: pathlib.Path,
        path: pathlib.Path | None = None,
        usual: bool = False,
        old_names: bool = False,
        names: Sequence[str] = NAMES,
    ) -> None:
        self.server, self.folder, self.path = server, folder, path
        self.old_names = old_names
        self.settings = dict(USUAL if usual else STRICT)
        if old_names:
            self.settings["semisync_plugin_names"] = "old"
        client = f"{tarball.BASEDIR}/bin/mysql" if path else CLIENTS[server]
        self.hosts = [Machine(server, name, client) for name in names]
        self.source, *self.replicas = self.hosts
        self.chosen = (
            tarball.server(path) if path else servers.named(server, RELEASES[server] or "sid")
        )
        self.images: dict[str, str] = {}
        self.disks: dict[str, list[pathlib.Path]] = {}
        self.version = ""
        # When the servers of this cycle had been started.
        self.since = 0.0
        addresses = {host.name: host.address for host in self.hosts}
        self.proxy = Proxy(addresses, folder / "proxy.log")

    def inventory(self, **variables: Any) -> pathlib.Path:
        """The inventory file; a variable that begins with a host's name and a colon is that
        host's.
        """
        its = {
            host.name: {
                **uml_host.connection(host.name),
                # As it is at most sites: nothing ends a connection to a host without power.
                "ansible_ssh_common_args": shlex.join(uml_host.ssh_options(patient=True)),
                **{
                    name.partition(":")[2]: value
                    for name, value in variables.items()
                    if name.startswith(f"{host.name}:")
                },
            }
            for host in self.hosts
        }
        common = {name: value for name, value in variables.items() if ":" not in name}
        return inventory(
            self.folder,
            {self.source: its[SOURCE]},
            {host: its[host.name] for host in self.replicas},
            **{
                "ansible_connection": "ssh",
                **self.settings,
                "semisync_http_port": ANSWER,
                **common,
            },
        )

    # The disks that every cycle begins with

    @property
    def snapshot(self) -> pathlib.Path:
        return uml_folder("snapshot")

    def prepare(self, writers: Writers) -> None:
        """Make the snapshot, unless there is one of this collection: site.yml has set the cluster
        up, and every host was switched off in order.
        """
        # Before any cycle's clock runs.
        root()
        kept, made_of = self.snapshot / "snapshot.json", fingerprint()
        if kept.exists():
            its = json.loads(kept.read_text(encoding="utf-8"))
            self.images, self.version = its["images"], its["version"]
            there = all(pathlib.Path(image).exists() for image in self.images.values())
            if there and its.get("made_of") == made_of:
                return
        # Its network, whatever still runs in it, and hosts that a killed run has set up by half.
        lab("down", "--kind", "uml")
        lab("up", "--kind", "uml", *self.choice(), "--replicas", str(len(self.replicas)))
        made = json.loads((uml_folder() / "lab.json").read_text(encoding="utf-8"))
        self.images = made["images"]
        for host in self.hosts:
            if not self.path:
                # Older ones have no event scheduler that runs by itself.
                host.stop_quickly()
            host.shell(QUIET[self.server])
        done = playbook("site", self.inventory())
        assert done.returncode == 0, first_cause(done)
        writers.prepare(self.source)
        self.version = self.source.value("SELECT @@version")
        self.settle()
        # The source last: nothing waits for replicas then.
        for hosts in (self.replicas, [self.source]):
            each(hosts, lambda host: host.shell("systemctl poweroff", check=False))
            self.until_ended(hosts)
        for host in self.hosts:
            copy(uml_host.folder(host.name) / "disk.cow", self.snapshot / f"{host.name}.cow")
        its = {"images": self.images, "version": self.version, "made_of": made_of}
        kept.write_text(json.dumps(its), encoding="utf-8")

    @property
    def names(self) -> Names:
        """What the servers call things."""
        found = Names(self.server, versions.parse_version(self.version))
        return found.called("old") if self.old_names else found

    @property
    def variables(self) -> dict[str, str]:
        """Of a source."""
        return self.names.variables("source")

    @property
    def statuses(self) -> dict[str, str]:
        """Of a source."""
        return self.names.statuses("source")

    def choice(self) -> list[str]:
        if self.path:
            return ["--server", self.server, "--tarball", str(self.path)]
        release = RELEASES[self.server]
        return ["--server", self.server, *(["--release", release] if release else [])]

    def until_ended(self, hosts: Iterable[Machine]) -> None:
        until = time.monotonic() + SETTLE
        while any(not uml_host.ended(host.name) for host in hosts):
            assert time.monotonic() < until, "a host does not switch itself off"
        # Its disk is written by a process that outlives its words.
        self.cut(*hosts)

    # One cycle's hosts

    def renew(self) -> None:
        """The disks of all hosts as the snapshot has them; none runs."""
        if not uml_net.exists():
            uml_net.create([host.name for host in self.hosts])
        self.cut(*self.hosts)

        def renew(host: Machine) -> None:
            copy(self.snapshot / f"{host.name}.cow", uml_host.folder(host.name) / "disk.cow")

        each(self.hosts, renew)

    def reset(self) -> None:
        """All hosts as the snapshot has them, with a source that all replicas follow."""
        self.renew()
        self.start(*self.hosts)
        self.since = time.monotonic()
        self.settle()

    def start(self, *hosts: Machine, server: bool = True) -> None:
        """Switch hosts on, and wait until their servers answer; without `server` until the hosts
        do.
        """
        for host in hosts:
            image, disks = pathlib.Path(self.images[host.name]), self.disks.get(host.name, ())
            uml_host.boot(host.name, image, len(self.hosts), disks)
        asked = (self.chosen.unit, f"{self.chosen.admin} ping") if server else ("ssh", "true")
        units = dict.fromkeys((host.name for host in hosts), asked)
        uml_host.wait(list(units), units, UP_SECONDS, lambda _host: None)

    def cut(self, *hosts: Machine) -> float:
        """Cut the power of hosts, all at the same moment; when that was."""
        moment = time.time()
        each(hosts, lambda host: uml_net.kill(f"umid={host.name}"))
        return moment

    def settle(self) -> None:
        """Wait until all replicas acknowledge. One that came up before its source would wait
        for a minute until it asks again.
        """
        word = self.names.replica_word
        each(
            self.replicas,
            lambda host: host.sql(f"STOP {word} IO_THREAD; START {word} IO_THREAD"),
        )
        clients = f"SHOW GLOBAL STATUS LIKE '{self.statuses['clients']}'"
        self.source.until(clients, str(len(self.replicas)))

    def delay(self, milliseconds: dict[str, int]) -> None:
        """Delay what the source's server sends to each replica, and nothing else: the hosts'
        answers ask each other, and have 0.3 s for it.
        """
        lines = [
            "modprobe -a sch_prio sch_netem cls_u32",
            "tc qdisc add dev vec0 root handle 1: prio bands 5 priomap"
            " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        ]
        for band, host in enumerate(self.replicas, 2):
            lines += [
                f"tc qdisc add dev vec0 parent 1:{band} netem limit {QUEUE} delay"
                f" {milliseconds[host.name]}ms",
                "tc filter add dev vec0 parent 1: protocol ip prio 1 u32 match ip dst"
                f" {host.address}/32 match ip sport {PORT} 0xffff flowid 1:{band}",
            ]
        self.source.shell(" && ".join(lines))


def fingerprint() -> str:
    """Of what the hosts of the snapshot were set up with."""
    made = hashlib.sha256()
    for name in MADE_OF:
        top = PROJECT / name
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file() and "__pycache__" not in file.parts:
                made.update(f"{file.relative_to(PROJECT)}\n".encode() + file.read_bytes())
    return made.hexdigest()


def copy(disk: pathlib.Path, to: pathlib.Path) -> None:
    to.unlink(missing_ok=True)
    run("cp", "--sparse=always", disk, to)


class Beside(abc.ABC):
    """Clients beside this process, in the hosts' network.

    Args:
        folder: for what they say and know.
        name: of these files.
        begun: what they say once all of them have begun.
    """

    def __init__(self, machines: Machines, folder: pathlib.Path, name: str, begun: str) -> None:
        self.machines, self.begun = machines, begun
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / f"{name}.log"
        self.stop_file, self.result = folder / f"stop-{begun}", folder / f"{name}.json"

    @abc.abstractmethod
    def command(self) -> list[object]:
        """The words of a program and its arguments."""

    def start(self) -> None:
        """Let them begin; each has when this returns."""
        for file in (self.stop_file, self.result):
            file.unlink(missing_ok=True)
        inside = ("ip", "netns", "exec", uml_net.NAMESPACE, sys.executable)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (*inside, *self.command())],
                cwd=PROJECT / "tests",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(lambda: self.begun in self.said(), self.said, BEGUN)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def stop(self) -> dict[str, Any]:
        """What the clients know, once the last has ended."""
        assert self.process
        self.stop_file.touch()
        status = self.process.wait(ENDED)
        self.process = None
        assert status == 0, self.said()
        return json.loads(self.result.read_text(encoding="utf-8"))

    def give_up(self) -> None:
        """End those that are left of a cycle that failed."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Writers(Beside):
    """Those that write; they know one address, by default HAProxy's."""

    def __init__(
        self,
        machines: Machines,
        folder: pathlib.Path,
        patience: str = PATIENCE,
        to: str = Proxy.address,
        pause: float = PAUSE,
    ) -> None:
        super().__init__(machines, folder, "written", "writing")
        self.patience, self.to, self.pause = patience, to, pause

    def prepare(self, source: Machine) -> None:
        """Make their account and table on the source. No key of it is unique: a row that is there
        twice, or on one host alone, must not end replication, which would hide it.
        """
        source.sql(
            "CREATE DATABASE app; CREATE TABLE app.written (client INT NOT NULL, number INT NOT"
            " NULL, KEY (client, number)) ENGINE=InnoDB; CREATE USER app@'%' IDENTIFIED BY 'app';"
            " GRANT ALL ON app.* TO app@'%';"
        )

    def command(self) -> list[object]:
        times = (self.pause, RETRY, self.patience)
        return [KEEP_WRITING, f"{self.to}:{PORT}", NUMBER, self.stop_file, self.result, *times]

    def start(self) -> None:
        super().start()
        if self.to == Proxy.address:
            self.machines.proxy.check()


class Readers(Beside):
    """Half as many that read, by HAProxy: of the source, by the writers' port, and of replicas."""

    def __init__(self, machines: Machines, folder: pathlib.Path) -> None:
        super().__init__(machines, folder, "seen", "reading")

    def command(self) -> list[object]:
        ports = [f"{Proxy.address}:{port}" for port in (PORT, READERS)]
        times = (PAUSE, RETRY, PATIENCE)
        # A module, because it shares code with the writers.
        program = ("-m", KEEP_READING)
        return [*program, *ports, NUMBER // 2, self.stop_file, self.result, *times]


def clear() -> None:
    """Remove hosts, disks and network."""
    if uml_folder().exists():
        lab("down", "--kind", "uml")
        shutil.rmtree(uml_folder(), ignore_errors=True)
    say("the hosts of make prove are gone")
