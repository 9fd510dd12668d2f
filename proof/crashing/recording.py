"""A minute of 50 clients on two hosts whose data directories are on dm-log-writes."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import threading
import time
from typing import Any, TypedDict

import uml_host

from crashing.cases import Case
from proving.machines import Machine, Machines, Writers, copy, each
from support.dying import UNITS
from support.live_hosts import run

SCRIPT = pathlib.Path(__file__).with_name("log_device.py")
DATA, LOG, NAME, DEVICE = "/dev/ubdb", "/dev/ubdc", "written", "/dev/dm-0"
# Files on this machine; they take what is in them.
SIZES = {"data": 2 << 30, "log": 16 << 30}
FORMAT = ("mke2fs", "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0")
# Seconds between two marks, between two rows of a client, and for which the acknowledger's applier
# stands still and runs in turn: what it acknowledged is only in its relay log meanwhile.
MARK, PAUSE, STILL = 0.04, 0.4, 7
PATIENCE = "30"
DROPIN = {"mysql": "mysql.conf.d/zz-points.cnf", "mariadb": "mariadb.conf.d/zz-points.cnf"}


class Recording(TypedDict):
    """What is kept beside the disks and logs of a run.

    Attributes:
        marks: when each was sent, in seconds since 1970: it is in a log later than that.
        load: of this machine at the end.
    """

    server: str
    version: str
    case: str
    at: str
    commit: str
    seconds: float
    marks: list[float]
    load: float


def files_of(folder: pathlib.Path, host: str) -> dict[str, pathlib.Path]:
    """The disk before the run, the log, and the option files of a host."""
    return {name: folder / host / name for name in ("data", "log", "etc")}


class Marks:
    """Numbers, into the logs of all hosts, one after the other until it is stopped."""

    def __init__(self, hosts: list[Machine]) -> None:
        self.sent: list[float] = []
        self.stopped = threading.Event()
        words = f"python3 /root/{SCRIPT.name} mark {NAME}"
        self.streams = [
            subprocess.Popen(
                host.command(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for host in hosts
        ]
        for stream in self.streams:
            assert stream.stdout and stream.stdout.readline() == "ready\n"
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def send(self) -> None:
        while not self.stopped.wait(MARK):
            self.sent.append(time.time())
            for stream in self.streams:
                assert stream.stdin
                stream.stdin.write(f"{len(self.sent) - 1}\n")
                stream.stdin.flush()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()

    def end(self) -> None:
        self.stop()
        for stream in self.streams:
            stream.kill()
            stream.wait()


class Recorder:
    """The hosts of a server, and the folder of one run."""

    def __init__(self, machines: Machines, folder: pathlib.Path, case: Case) -> None:
        self.machines, self.folder, self.case = machines, folder, case
        self.writers = Writers(machines, folder, PATIENCE, machines.source.address, PAUSE)
        self.unit = UNITS[machines.server]

    def files(self, host: Machine) -> dict[str, pathlib.Path]:
        return files_of(self.folder, host.name)

    def prepare(self) -> None:
        """Put the data directories under the log, and let the clients' servers run on them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for host in self.machines.hosts:
            disks = [uml_host.folder(host.name) / name for name in SIZES]
            for disk, size in zip(disks, SIZES.values(), strict=True):
                disk.unlink(missing_ok=True)
                run("truncate", "--size", size, disk)
            run(*FORMAT, disks[0])
            self.machines.disks[host.name] = disks
            (self.folder / host.name).mkdir(parents=True)
        self.machines.renew()
        self.machines.start(*self.machines.hosts, server=False)
        each(self.machines.hosts, self.move)
        for host in self.machines.hosts:
            copy(uml_host.folder(host.name) / "data", self.files(host)["data"])
        each(self.machines.hosts, self.log)
        self.machines.settle()

    def move(self, host: Machine) -> None:
        """Copy the data directory to the disk that will be logged, and set the options."""
        options = "".join(
            f"{name} = {value}\n" for name, value in self.case.options_of(host.name).items()
        )
        host.shell(f"cat >/etc/mysql/{DROPIN[host.server]}", input=f"[mysqld]\n{options}")
        host.shell(f"cat >/root/{SCRIPT.name}", input=SCRIPT.read_text(encoding="utf-8"))
        lines = [
            f"systemctl stop {self.unit}",
            f"mount {DATA} /mnt",
            # Whole: a hole would have to be filled under the log.
            "cp --archive --sparse=never /var/lib/mysql/. /mnt",
            "umount /mnt",
            f"blockdev --flushbufs {DATA}",
        ]
        host.shell(" && ".join(lines))
        etc = self.files(host)["etc"]
        etc.mkdir()
        with subprocess.Popen(
            host.command("tar -C /etc/mysql -c ."), stdout=subprocess.PIPE
        ) as packed:
            run("tar", "-C", etc, "-x", stdin=packed.stdout)

    def log(self, host: Machine) -> None:
        lines = [
            "modprobe dm-log-writes",
            f"python3 /root/{SCRIPT.name} create {NAME} {DATA} {LOG}",
            f"mount {DEVICE} /var/lib/mysql",
            f"systemctl start {self.unit}",
        ]
        host.shell(" && ".join(lines))

    def write(self, seconds: float) -> dict[str, Any]:
        """Let the clients write, and cut the power of both hosts; what the clients know, and the
        marks.
        """
        marks = Marks(self.machines.hosts)
        applier = Applier(self.machines.replicas[0], self.machines.names.replica_word)
        try:
            self.writers.start()
            applier.start()
            time.sleep(seconds)
            applier.stop()
            marks.stop()
            self.machines.cut(*self.machines.hosts)
            return {"known": self.writers.stop(), "marks": marks.sent}
        finally:
            marks.end()
            applier.stop()
            self.writers.give_up()

    def go(self, name: str, seconds: float, commit: str) -> None:
        """One run, whole in its folder once this returns."""
        self.prepare()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        made = self.write(seconds)
        for host in self.machines.hosts:
            run("mv", uml_host.folder(host.name) / "log", self.files(host)["log"])
        known = self.folder / "known.json"
        known.write_text(json.dumps(made["known"]), encoding="utf-8")
        its = Recording(
            server=self.machines.server,
            version=self.machines.version,
            case=name,
            at=at,
            commit=commit,
            seconds=seconds,
            marks=made["marks"],
            load=load(),
        )
        kept = self.folder / "recording.part"
        kept.write_text(json.dumps(its), encoding="utf-8")
        kept.rename(self.folder / "recording.json")


class Applier:
    """The acknowledger's applier, stopped and started in turn."""

    def __init__(self, host: Machine, word: str) -> None:
        self.host, self.word = host, word
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.turn)

    def start(self) -> None:
        self.thread.start()

    def turn(self) -> None:
        verb = "STOP"
        while not self.stopped.is_set():
            self.host.sql(f"{verb} {self.word} SQL_THREAD")
            verb = "START" if verb == "STOP" else "STOP"
            self.stopped.wait(STILL)

    def stop(self) -> None:
        self.stopped.set()
        if self.thread.is_alive():
            self.thread.join()


def load() -> float:
    """Of this machine, over the last minute."""
    return round(float(pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]), 1)
