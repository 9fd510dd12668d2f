"""The end of `make demo`: a third host joins, clients write 50 rows a second, the source's role
moves, the new source loses its power, a replica takes over, and every row is asked for.

    story.py --kind docker|uml [--rate 50]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import kind_docker  # noqa: E402
import uml_host  # noqa: E402
import uml_net  # noqa: E402

import inventory  # noqa: E402
from support import told  # noqa: E402
from support.acknowledged import judge  # noqa: E402

RESULTS = PROJECT / "results" / "default"
CLIENTS = PROJECT / "tests" / "support" / "clients" / "keep_writing.py"
HOSTS = ("source", "replica1", "replica2")
# Clients, and seconds: between two attempts to write a row, and until a server that says nothing
# counts as gone; a row takes about as long as the third.
NUMBER, RETRY, PATIENCE, COMMIT = 10, 0.1, 2, 0.01
BEGUN, ENDED, CAUGHT_UP, AFTERWARDS = 60, 30, 30, 3
LOOKS = 5
ASKED = ("-e", "semisync_promise=lossless", "-e", "semisync_heartbeat_seconds=1")
PREPARE = (
    "CREATE DATABASE IF NOT EXISTS app; DROP TABLE IF EXISTS app.written; CREATE TABLE app.written"
    " (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, number INT NOT NULL)"
    " ENGINE=InnoDB; CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'app'; GRANT ALL ON app.* TO"
    " app@'%';"
)
ROWS = "SELECT client, number FROM app.written"
MYSQL = "$(command -v mariadb || command -v mysql) --batch --skip-column-names"


class StoryError(Exception):
    """It cannot go on; one line."""


class Docker:
    """Containers: the clients have one of their own beside them."""

    def on(self, host: str, script: str) -> list[str]:
        return ["docker", "exec", "-i", kind_docker.PREFIX + host, "sh", "-c", script]

    def inside(self, *words: str) -> list[str]:
        image = [
            "docker",
            "inspect",
            "--format",
            "{{.Config.Image}}",
            kind_docker.PREFIX + "source",
        ]
        name = said(image).strip()
        return [
            "docker",
            "run",
            "--rm",
            "-i",
            "--network",
            kind_docker.NETWORK,
            name,
            "python3",
            *words,
        ]

    def address(self, host: str) -> str:
        return kind_docker.PREFIX + host

    # Ansible takes a container that is stopped for one that answers nonsense, and not for one that
    # cannot be reached: nothing would say then that it is dead.
    gone: ClassVar[dict[str, Any]] = {
        "ansible_connection": "ssh",
        "ansible_host": "127.0.0.1",
        "ansible_port": 1,
    }


class Uml:
    """Hosts with kernels of their own: the clients are on this machine, in their network."""

    def on(self, host: str, script: str) -> list[str]:
        return uml_host.ssh(host, script)

    def inside(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", uml_net.NAMESPACE, sys.executable, *words]

    def address(self, host: str) -> str:
        return uml_net.address(host)

    gone: ClassVar[dict[str, Any]] = {}


PLACES: dict[str, type[Docker | Uml]] = {"docker": Docker, "uml": Uml}


def said(command: list[str], text: str = "") -> str:
    """What a command prints."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise StoryError(f"{' '.join(command[:3])} failed: {words}")
    return done.stdout


class Clients:
    """They write from start() to stop()."""

    def __init__(self, place: Docker | Uml, rate: float) -> None:
        pause = max(0.0, NUMBER / rate - COMMIT)
        addresses = ",".join(f"{place.address(host)}:3306" for host in HOSTS)
        words = (addresses, NUMBER, "-", "-", pause, RETRY, PATIENCE)
        program = CLIENTS.read_text(encoding="utf-8")
        self.command = place.inside("-c", program, *map(str, words))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While this lasts, and no longer: they end with their standard input."""
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        limit = threading.Timer(BEGUN, self.process.kill)
        limit.start()
        try:
            if not self.process.stdout or self.process.stdout.readline() != "writing\n":
                raise StoryError(f"the clients did not begin to write within {BEGUN} s")
            limit.cancel()
            yield
        finally:
            limit.cancel()
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def stop(self) -> dict[str, Any]:
        """What they know."""
        try:
            printed, _none = self.process.communicate("", timeout=ENDED)
            known: dict[str, Any] = json.loads(printed)
        except (subprocess.TimeoutExpired, ValueError) as error:
            raise StoryError("the clients do not say what they know") from error
        return known


class Story:
    """One run of it."""

    def __init__(self, kind: str, rate: float) -> None:
        self.kind, self.place, self.rate = kind, PLACES[kind](), rate
        self.inventory = inventory.path(kind)
        # The procedure's run: one report has all of it.
        self.run = (RESULTS / "latest").resolve().name
        self.moments: dict[str, float] = {}

    def say(self, words: str) -> None:
        print(f"\n=== {time.strftime('%H:%M:%S')} {words}\n", flush=True)

    def playbook(self, name: str, *arguments: str) -> None:
        """Run one, and see how long it takes."""
        begin = time.time()
        path = PROJECT / ("site.yml" if name == "site" else f"playbooks/{name}.yml")
        words = ["ansible-playbook", "-i", str(self.inventory), str(path), *ASKED, *arguments]
        if subprocess.run(words, cwd=PROJECT, check=False).returncode:
            raise StoryError(f"{name}.yml failed; what it said is above")
        self.moments.update({f"{name} begin": begin, f"{name} end": time.time()})

    def sql(self, host: str, statement: str) -> str:
        """What a statement returns, as root on the host."""
        return said(self.place.on(host, f'{MYSQL} --execute "{statement}"'))

    def sides(self) -> tuple[str, str]:
        """(who takes writes, who shall)."""
        asked = {host: self.sql(host, "SELECT @@GLOBAL.read_only").strip() for host in HOSTS}
        writable = [host for host in HOSTS if asked[host] == "0"]
        if len(writable) != 1:
            raise StoryError(f"one host should take writes: {', '.join(writable) or 'none does'}")
        return writable[0], next(host for host in HOSTS[1:] if host not in writable)

    def record(self, name: str) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads((RESULTS / self.run / name).read_text(encoding="utf-8"))
        return kept

    def tell(self) -> int:
        """All of it; its exit status."""
        self.say("A third host joins, and writers are promised to lose nothing")
        self.playbook("site", "-e", "semisync_apply=online")
        self.source, self.target = self.sides()
        self.sql(self.source, PREPARE)
        clients = Clients(self.place, self.rate)
        self.say(f"Clients begin: {self.rate:g} rows a second, to whichever server takes them")
        with clients.writing():
            self.act()
            known = clients.stop()
        certificate = self.record("certificate.json")
        survivors = [host for host in HOSTS if host != certificate["from"]]
        there = self.rows(certificate["to"], survivors)
        by_host = {host: judge(known, rows) for host, rows in there.items()}
        (RESULTS / self.run / "clients.json").write_text(json.dumps(known), encoding="utf-8")
        return self.end(known, by_host, certificate)

    def act(self) -> None:
        """What happens while they write."""
        run = ("-e", f"semisync_run={self.run}")
        self.say(f"Switchover from {self.source} to {self.target}")
        self.playbook("switchover", "-e", f"semisync_switchover_to={self.target}", *run)
        self.say("verify.yml looks at the new source, as cron has it")
        self.look()
        self.say(f"Power cut: {self.target}, the source")
        self.moments["cut"] = time.time()
        self.lab("cut", self.target)
        hook = ("-e", f"semisync_hook_fence={PROJECT / 'lab' / 'fence.yml'}")
        self.say("Failover")
        with self.without_power(self.target):
            self.playbook("failover", *hook, "-e", f"lab_kind={self.kind}", *run)
        time.sleep(AFTERWARDS)

    @contextlib.contextmanager
    def without_power(self, host: str) -> Iterator[None]:
        """Have Ansible find a host as it would one without power: by a file beside the inventory,
        so that the commands that a playbook shows next are those of an inventory that stays.
        """
        file = inventory.beside(self.kind) / f"{host}.json"
        file.parent.mkdir(exist_ok=True)
        try:
            file.write_text(json.dumps(self.place.gone), encoding="utf-8")
            yield
        finally:
            shutil.rmtree(file.parent)

    def look(self) -> None:
        """verify.yml, until it has seen a moment at which no commit waited: from there on counts
        what the certificate says of the source.
        """
        for _look in range(LOOKS):
            self.playbook("verify")
            if json.loads((RESULTS / "state.json").read_text(encoding="utf-8")).get("calm_at"):
                return

    def lab(self, command: str, host: str) -> None:
        words = [sys.executable, str(PROJECT / "lab"), command, "--kind", self.kind, host]
        if subprocess.run(words, check=False).returncode:
            raise StoryError(f"lab {command} {host} failed")

    def rows(self, first: str, hosts: list[str]) -> dict[str, Any]:
        """The rows of each host, once it has as many as the new source."""

        def read(host: str) -> Counter[tuple[int, int]]:
            lines = self.sql(host, ROWS).splitlines()
            pairs = (line.split() for line in lines)
            return Counter((int(client), int(number)) for client, number in pairs)

        found = {first: read(first)}
        for host in hosts:
            until = time.monotonic() + CAUGHT_UP
            while host != first:
                found[host] = read(host)
                if found[host].total() >= found[first].total() or time.monotonic() > until:
                    break
                time.sleep(0.5)
        return found

    def end(
        self, known: dict[str, Any], by_host: dict[str, Any], certificate: dict[str, Any]
    ) -> int:
        """Say what the clients saw."""
        moved, at = self.record("switchover.json"), self.moments
        counted = told.figures(known, by_host)
        times = known["times"]
        gap = told.without(times, at["cut"])

        def waited(name: str) -> str:
            span = at[f"{name} begin"], at[f"{name} end"]
            return told.amount(told.longest_wait(known["waits"], *span))

        opened = certificate.get("opened_after_ms")
        rows = [
            (
                "rows",
                f"{counted['attempted']} attempted, {counted['confirmed']} confirmed,"
                f" {counted['unknown']} unknown"
                f" ({told.rate(times, at['verify begin'], at['verify end']):.0f} a second)",
            ),
            (
                f"on {' and '.join(by_host)}",
                ", ".join(f"{counted[word]} {words}" for word, words in told.WRONG.items()),
            ),
            (
                f"switchover to {moved['to']}",
                f"longest wait of a client {waited('switchover')}; no server took writes for"
                f" {told.amount((moved['writers_waited_ms'] or 0) / 1000)}",
            ),
            (
                f"power cut of {certificate['from']}",
                f"no row confirmed for {told.amount(gap and gap[0])};"
                f" {told.amount(opened and opened / 1000)} of failover.yml until"
                f" {certificate['to']} took writes",
            ),
            ("certificate", certificate["verdict"]),
            ("report", os.path.relpath(RESULTS / self.run / "report.html")),
        ]
        wrong = told.complaints(counted, certificate["verdict"])
        self.say("What the clients saw")
        print("\n".join(told.table(rows)), flush=True)
        for words in wrong:
            print(f"  WRONG: {words}", flush=True)
        return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=PLACES, default="docker")
    parser.add_argument("--rate", type=float, default=50, help="rows a second")
    options = parser.parse_args()
    try:
        return Story(options.kind, options.rate).tell()
    except StoryError as error:
        print(f"story: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
