"""The former source comes back, and who was lost with it: none may take writes, rejoin.yml judges
each, and brings it back as its verdict allows; then all hosts have the same rows.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import uml_net
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.methods import (
    ATTACH,
    SEED,
    TRUNCATE,
)

from proving.machines import Machine
from proving.proxy import ANSWER
from proving.scene import Fault, Scene
from support.dying import kill
from support.eventually import eventually
from support.live_hosts import PROJECT, playbook, words

ASK = PROJECT / "tests" / "support" / "clients" / "ask_often.py"
# Seconds between two questions, for which they are put once it is back, and until all have applied
# all.
OFTEN, ASKED, APPLIED = 0.3, 5.0, 240
# How a server is told of that lives, and whose clients wait for acknowledgements that never come.
WAITS = "wait for an acknowledgement"
# Seconds until HAProxy has heard of one that lived all the time that it is the source no more.
NOTICED = 10.0
# The order in which an open way is taken. What replay needs, a person has to say.
WAYS = (ATTACH, TRUNCATE, SEED)
TIMEOUT = ("timeout", "600")
# What rejoin.json says of one that was done, and of one that changed nothing more.
DONE, REFUSED = "done", "refused"

# Keeps what a playbook said: its name, when it began, its output.
Write = Callable[[str, float, str], None]


class Back:
    """One former source's way back.

    Args:
        write: keeps what a playbook said.
        environment: for the playbook; a mutant's is another.
    """

    def __init__(
        self, scene: Scene, fault: Fault, write: Write, environment: dict[str, str]
    ) -> None:
        self.scene, self.fault, self.write, self.environment = scene, fault, write, environment
        self.machines = scene.machines
        self.former: Machine = scene.source
        self.record: dict[str, Any] = {"down": scene.by_files, "equal": False, "wrong": ""}

    def come_up(self) -> None:
        """Its host is there again, while clients write to the new source: what routers are told of
        it, and whether a row comes to it.
        """
        assert self.fault.back
        asking = [] if self.fault.lives else self.ask_all()
        try:
            self.fault.back(self.scene)
            if not asking:
                # Routers close the connections of one that lived when they have asked it again.
                time.sleep(NOTICED)
                asking = self.ask_all()
            before = self.rows()
            time.sleep(ASKED)
            self.record["rows"] = self.rows() - before
            said = [json.loads(one.communicate(timeout=ASKED + 10)[0]) for one in asking]
        finally:
            for one in asking:
                one.kill()
                one.wait()
        self.record["asked"] = sum(sum(answers.values()) for answers in said)
        self.record["yes"] = sum(answers.get("200", 0) for answers in said)

    def ask_all(self) -> list[subprocess.Popen[str]]:
        """Ask each host that comes back whether it is the source, as routers do."""
        return [self.ask(host) for host in self.scene.gone]

    def ask(self, host: Machine) -> subprocess.Popen[str]:
        url = f"http://{host.address}:{ANSWER}/source"
        inside = ("ip", "netns", "exec", uml_net.NAMESPACE, sys.executable)
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*inside, str(ASK), url, str(OFTEN)], text=True, stdin=pipe, stdout=pipe
        )

    def rows(self) -> int:
        """On the former source; none if its server was not started."""
        if self.scene.by_files:
            return 0
        return int(self.former.value("SELECT COUNT(*) FROM app.written"))

    def rejoin(self, host: Machine, *arguments: str) -> tuple[bool, dict[str, Any], str]:
        """(whether it went well, rejoin.json, what was said) of rejoin.yml."""
        begin = time.time()
        named = ("-e", f"semisync_rejoin={host.name}")
        file = self.machines.inventory()
        done = playbook("rejoin", file, *named, *arguments, before=TIMEOUT, **self.environment)
        self.write(f"rejoin {host.name} {' '.join(arguments)}", begin, done.stdout + done.stderr)
        files = sorted(self.machines.folder.glob("results/default/2*/rejoin.json"))
        new = [one for one in files if one.stat().st_mtime >= begin]
        kept = json.loads(new[-1].read_text(encoding="utf-8")) if new else {}
        return done.returncode == 0, kept, words(done)

    def go(self) -> dict[str, Any]:
        """The record of it: the verdict, the way, and whether all hosts are equal in the end."""
        for replica in [host for host in self.scene.gone if host is not self.former]:
            _verdict, self.record["replica"], wrong = self.bring(replica)
            # A source without replicas waits for no acknowledgement until then.
            wrong = wrong or self.site()
            if wrong:
                return self.failed(f"{replica.name}: {wrong}")
        verdict, way, wrong = self.bring(self.former)
        if verdict:
            self.record["verdict"] = verdict["verdict"]
            self.record["phantoms"] = verdict["phantoms"]["count"]
        if way:
            self.record["way"] = way
        if wrong:
            return self.failed(wrong)
        self.record["equal"] = self.equal()
        return self.record

    def bring(self, host: Machine) -> tuple[dict[str, Any], str, str]:
        """Bring a host back, by the first way that is open: (the first rejoin.json, the ways that
        were tried, why it is not back or empty).
        """
        _good, kept, said = self.rejoin(host, "--check")
        if WAITS in said:
            # As it says; systemd starts it again, and its recovery commits what waited.
            kill(host)
            host.until("SELECT 1", "1")
            _good, kept, said = self.rejoin(host, "--check")
        if not kept:
            return {}, "", f"no verdict: {said[-300:]}"
        verdict = kept
        taken: list[str] = []
        # MariaDB may roll back more than the unacknowledged commits, which its log does not tell
        # before; rejoin.yml says so, and what is left then.
        while kept.get("outcome") != DONE:
            opened = {way["name"] for way in kept["ways"] if not way["closed"]}
            way = next((name for name in WAYS if name in opened and name not in taken), "")
            if not way:
                return verdict, ", ".join(taken), f"no way is open: {kept['ways']}"
            taken.append(way)
            named = [] if way == ATTACH else ["-e", f"semisync_rejoin_way={way}"]
            good, kept, said = self.rejoin(host, *named)
            if not kept or (not good and kept["outcome"] != REFUSED):
                return verdict, ", ".join(taken), f"rejoin.yml: {said[-300:]}"
        self.scene.gone.remove(host)
        return verdict, ", ".join(taken), ""

    def site(self) -> str:
        """Why site.yml fails, or empty; meanwhile a former source must not take writes."""
        if not self.scene.by_files:
            self.former.sql("SET GLOBAL read_only = 1")
        begin = time.time()
        done = playbook("site", self.machines.inventory(), before=TIMEOUT, **self.environment)
        self.write("site", begin, done.stdout + done.stderr)
        return f"site.yml: {words(done)[-300:]}" if done.returncode else ""

    def failed(self, why: str) -> dict[str, Any]:
        self.record["wrong"] = why
        return self.record

    def equal(self) -> bool:
        """Whether the clients' table is the same everywhere, once each has as many rows."""
        there = [host for host in self.machines.hosts if host not in self.scene.gone]

        def different(statement: str) -> bool:
            return len({host.value(statement) for host in there}) != 1

        with contextlib.suppress(AssertionError):
            eventually(lambda: not different("SELECT COUNT(*) FROM app.written"), seconds=APPLIED)
        return not different("CHECKSUM TABLE app.written")


def failed(record: dict[str, Any]) -> bool:
    """Whether a former source took writes, was called the source, or has not become a replica with
    the rows of all.
    """
    back = record.get("back")
    if not back:
        return False
    return bool(back["yes"] or back["rows"] or back["wrong"] or not back["equal"])
