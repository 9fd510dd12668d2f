"""One cycle: the hosts anew, clients that write, a fault, failover.yml, and the verdict on both the
rows and the certificate.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import tarball
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import moment_of
from common import LabError

from proving.back import Back, failed
from proving.faults import FAULTS
from proving.machines import Machine, Machines, Readers, Writers
from proving.mutants import MUTANTS, broken
from proving.reads import PORTS
from proving.reads import judge as judge_reads
from proving.scene import Done, Fault, Scene, Strike
from proving.switching import FAILOVER, writable
from proving.usual import SWITCHED, until_beats
from proving.verdicts import NEEDLESS, early, lies, moments_of, outside
from support.acknowledged import judge, rows_of
from support.live_hosts import (
    PROJECT,
    playbook,
    playbook_environment,
    playbook_words,
    run,
    words,
)

# What keeps a cycle from being judged; anything else is a mistake in here.
FAILURES = (AssertionError, LabError, subprocess.TimeoutExpired, OSError)
# Seconds between which the fault comes when all clients write, and for which they write on.
EARLIEST, LATEST, AFTERWARDS = 1.0, 4.0, 3.0
# Seconds before the look: an applier that was started less than two before it may have been
# restarted after it, and a failover is refused.
SETTLED = 2.5
# Seconds that a playbook, and a replica that catches up with its new source, may take; and one to
# which clients wrote until another host was up.
PLAYBOOK, CAUGHT_UP, CAUGHT_UP_LONG = 420, 60, 240
# Fewer confirmed rows say nothing.
FEWEST = 50
WRONG = ("lost", "unexpected", "twice")
# What a cycle judges, and what it judges with.
JUDGED = ("plugins", "roles", "playbooks", "lab", "tests/support", "proof")
REFUSED = "did not take over"
# What certificate.json says of a failover that was done.
DONE = "done"
# One cycle in so many runs the playbook to its end, and brings the former source back.
WHOLE = 10
# Seconds between two looks at the certificate, and for which a killed playbook may still write it.
LOOK, OUTLIVED = 0.2, 3.0
# Seconds for which a playbook that hangs on a host without power is waited for, before its person
# ends it.
HANGS = 60


def names(case: str) -> tuple[str, str]:
    """(fault, mutant or "") of a case: a fault, or a mutant under the fault that shows it."""
    return (MUTANTS[case].fault, case) if case in MUTANTS else (case, "")


class Cycle:
    """One cycle.

    Args:
        case: a fault, or a mutant.
        seed: of everything that is drawn.
        log: file for what the playbooks said.
    """

    def __init__(self, machines: Machines, case: str, seed: int, log: pathlib.Path) -> None:
        self.machines, self.log = machines, log
        fault, self.mutant = names(case)
        self.fault: Fault = FAULTS[fault]
        self.scene = Scene(machines, seed, MUTANTS[case].held if self.mutant else None)
        self.writers = Writers(machines, machines.folder, self.fault.patience)
        self.readers = Readers(machines, machines.folder)
        self.scene.writers, self.scene.play, self.scene.look = self.writers, self.play, self.seen
        self.record: dict[str, Any] = {
            "case": case,
            "server": machines.server,
            "version": machines.version,
            "commit": commit(),
            "seed": seed,
            "delay": self.fault.delay,
            "at": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "judged": False,
            "why": "",
        }
        if content := tarball.content(machines.chosen.release):
            self.record["tarball"] = content
        if machines.old_names:
            self.record["names"] = "old"
        # What is ended with the cycle, the last first.
        self.ends = contextlib.ExitStack()
        self.whole = seed % WHOLE == 0 or (bool(self.mutant) and MUTANTS[case].back)
        self.returns = bool(self.fault.back) and self.whole
        # A live server cannot be left out, and under a mutant it always starts by itself. Of the
        # others it is drawn, and not by what draws the moment of the fault.
        either = self.returns and not self.fault.lives and not self.mutant
        self.scene.by_files = either and seed // WHOLE % 2 == 0
        self.environment: dict[str, str] = {}
        # Before which moment nothing is missing, by the certificate.
        self.until: str | None = None

    def go(self) -> dict[str, Any]:
        """The record of it, judged or with the reason why not."""
        begin = time.monotonic()
        with self.ends:
            self.ends.callback(self.scene.end)
            self.ends.callback(self.machines.proxy.stop)
            self.ends.callback(self.writers.give_up)
            self.ends.callback(self.readers.give_up)
            try:
                self.run()
                self.record["judged"] = True
            except FAILURES as error:
                self.record["why"] = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        self.record["seconds"] = round(time.monotonic() - begin, 1)
        self.record["load"] = round(os.getloadavg()[0], 1)
        return self.record

    def run(self) -> None:
        begin = time.monotonic()
        self.machines.reset()
        self.machines.delay(self.fault.delay)
        self.record["reset"] = round(time.monotonic() - begin, 1)
        # It has seen who the source is before the clients come.
        self.machines.proxy.start()
        self.fault.before(self.scene)
        if self.scene.by_files:
            self.machines.source.leave_down()
        time.sleep(SETTLED)
        self.first_look()
        file = self.machines.inventory(**self.fault.variables(self.scene))
        self.writers.start()
        self.readers.start()
        time.sleep(self.scene.draw.uniform(EARLIEST, LATEST))
        self.fault.load(self.scene)
        self.fault.strike(self.scene)
        if self.fault.usual:
            # Any controller.
            shutil.rmtree(self.machines.folder / "results", ignore_errors=True)
        started = time.time()
        done = self.failover(file)
        self.record["playbook"] = round(time.time() - started, 1)
        back = Back(self.scene, self.fault, self.write, self.environment)
        led = time.time()
        if done.returncode == 0:
            time.sleep(AFTERWARDS)
            if self.returns:
                back.come_up()
        known, seen = self.writers.stop(), self.readers.stop()
        self.keep(known, seen)
        self.read(done, known, seen)
        self.measure(known["times"], started)
        if self.fault.again:
            self.record["again"] = bool(known["times"]) and known["times"][-1] > led
            self.record["ways"] = self.scene.ways
            self.record["lost_host"] = self.scene.gone[0].name
            self.record["writable"] = len(writable(self.scene))
        if done.returncode == 0 and self.returns:
            self.record["back"] = back.go()

    def first_look(self) -> None:
        """verify.yml, before the clients come; or beats, and no look."""
        if self.fault.usual:
            until_beats(self.scene)
            return
        looked = self.look()
        self.record["looks"] = [self.kept_status()]
        promised = self.machines.server not in self.fault.may_lose
        assert not promised or looked.returncode == 0, f"verify.yml: {words(looked)[-600:]}"

    def failover(self, file: pathlib.Path) -> Done:
        """failover.yml, or the broken one, as often as the fault wants it."""
        accepted = ",".join(self.fault.accept)
        common = ["-e", f"semisync_failover_accept={accepted}"] if accepted else []
        if self.mutant:
            folder = pathlib.Path(self.ends.enter_context(tempfile.TemporaryDirectory()))
            path = broken(MUTANTS[self.mutant], folder)
            self.environment["ANSIBLE_COLLECTIONS_PATH"] = str(path)
        self.record["whole"] = self.whole

        def attempt(*arguments: str, strike: Strike | None = None) -> Done:
            return self.until_certain(file, *common, *arguments, strike=strike)

        return self.fault.takeover(self.scene, attempt) if self.fault.takeover else attempt()

    def until_certain(
        self,
        file: pathlib.Path,
        *arguments: str,
        strike: Strike | None,
    ) -> Done:
        """failover.yml until its certificate says who takes writes, unless it is to be made whole.
        What it does behind that, the option files, goes on while the rows are read, and ends with
        the hosts.
        """
        begin = time.time()
        done = self.conduct(
            "failover",
            file,
            *arguments,
            strike=strike,
            enough=lambda: not self.whole and self.taken_over(begin),
        )
        taken = self.taken_over(begin) or done.returncode == 0
        return subprocess.CompletedProcess(done.args, int(not taken), done.stdout, "")

    def play(self, name: str, *arguments: str, strike: Strike | None = None) -> Done:
        """Another playbook. Who waits for a host without power ends it after a while."""
        file = self.machines.inventory(**self.fault.variables(self.scene))
        struck: list[float] = []

        def enough() -> bool:
            if "struck" in self.record and not struck:
                struck.append(time.monotonic())
            return bool(struck) and time.monotonic() > struck[0] + HANGS

        return self.conduct(name, file, *arguments, strike=strike, enough=enough)

    def conduct(
        self,
        name: str,
        file: pathlib.Path,
        *arguments: str,
        strike: Strike | None,
        enough: Callable[[], bool],
    ) -> Done:
        """A playbook until it ends, or until it is enough; in its middle something may happen."""
        begin = time.time()
        words = playbook_words(name, file, *arguments, before=("timeout", str(PLAYBOOK)))
        said = self.log.with_suffix(".said")
        with said.open("w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                words,
                cwd=file.parent,
                env=playbook_environment(**self.environment),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.ends.callback(end, process)
        while process.poll() is None and not enough():
            time.sleep(LOOK)
            if strike and strike.task in said.read_text(encoding="utf-8"):
                time.sleep(strike.seconds)
                self.record["struck"] = [strike.task, round(strike.seconds, 1)]
                strike.what(partial(end, process))
                strike = None
                # Ansible's workers are sessions of their own, and may outlive it for a moment.
                time.sleep(OUTLIVED)
        if name != FAILOVER:
            end(process)
        text = said.read_text(encoding="utf-8")
        self.write(" ".join([name, *arguments]), begin, text)
        return subprocess.CompletedProcess(words, process.poll() or 0, text, "")

    def taken_over(self, since: float) -> bool:
        """Whether a failover that was begun then says so."""
        files = [file for file in self.certificates() if file.stat().st_mtime >= since]
        return bool(files) and json.loads(files[-1].read_text(encoding="utf-8"))["outcome"] == DONE

    def look(self) -> Done:
        """verify.yml, for the last time before the source dies."""
        begin = time.time()
        words = ("-e", "semisync_verify_canary=false")
        limit = ("timeout", str(PLAYBOOK))
        # A fault's own inventory may have an unreachable source.
        done = playbook("verify", self.machines.inventory(), *words, before=limit)
        self.write("verify", begin, done.stdout + done.stderr)
        return done

    def seen(self) -> str:
        """A further look: the status of the source's semi-sync that it kept."""
        begin = time.time()
        self.look()
        file = self.state()
        assert file.exists() and file.stat().st_mtime >= begin, "verify.yml has kept no look"
        status = self.kept_status()
        self.record["looks"].append(status)
        return status

    def state(self) -> pathlib.Path:
        return self.machines.folder / "results" / "default" / "state.json"

    def kept_status(self) -> str:
        """What the last look saw of the source's semi-sync."""
        return str(json.loads(self.state().read_text(encoding="utf-8"))["status"])

    def write(self, name: str, begin: float, said: str) -> None:
        """Keep what a playbook said."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n===== {name}, begun at {begin:.3f}, {time.time() - begin:.1f} s\n")
            log.write(said)

    def keep(self, known: dict[str, Any], seen: dict[str, Any]) -> None:
        """What the clients knew, beside the log: who doubts a verdict can reckon it again."""
        self.log.with_suffix(".json").write_text(json.dumps(known), encoding="utf-8")
        self.log.with_suffix(".reads.json").write_text(json.dumps(seen), encoding="utf-8")
        self.record["attempted"] = sum(known["attempted"])
        self.record["confirmed"] = sum(len(rows) for rows in known["confirmed"])
        self.record["unknown"] = sum(len(rows) for rows in known["unknown"])
        assert self.record["confirmed"] >= FEWEST, f"few rows: {known['errors'][:2]}"

    def read(self, done: Done, known: dict[str, Any], seen: dict[str, Any]) -> None:
        """The verdicts: on the rows of every host that is left, on what the readers saw, and of the
        certificate.
        """
        kept = self.certificate() if self.scene.led in (None, FAILOVER) else self.needless()
        self.record.update(
            verdict=kept["verdict"] if done.returncode == 0 else REFUSED,
            accepted=kept["accepted"],
            certificate=kept["verdict"],
            outcome=kept["outcome"],
            to=kept["to"],
            reasons=kept["reasons"],
            cases=[case["name"] for case in kept["cases"]],
            window=kept["window"],
        )
        if done.returncode != 0:
            self.record["complaint"] = words(done)[-1500:]
            return
        there = [host for host in self.machines.hosts if host not in self.scene.gone]
        # The new source first: the others follow it.
        there.sort(key=lambda host: host.name != kept["to"])
        rows_by_host = {host.name: rows_of(host) for host in self.caught_up(there)}
        wrong = {host: judge(known, rows) for host, rows in rows_by_host.items()}
        self.record["read"] = judge_reads(seen, rows_by_host, moments_of(known))
        self.keep_rows(rows_by_host)
        self.record["by_host"] = {
            host: {word: len(rows[word]) for word in WRONG} for host, rows in wrong.items()
        }
        for word in WRONG:
            self.record[word] = max(len(rows[word]) for rows in wrong.values())
        lost = {row for rows in wrong.values() for row in rows["lost"]}
        self.record["outside"] = outside(lost, known, kept["window"])
        self.record["early"] = early(lost, known, kept.get("proven_until"))
        self.until = kept.get("proven_until")

    def keep_rows(self, there: dict[str, Any]) -> None:
        """The rows of each host, beside what the readers saw."""
        rows = {host: sorted(its) for host, its in there.items()}
        self.log.with_suffix(".rows.json").write_text(json.dumps(rows), encoding="utf-8")

    def certificate(self) -> dict[str, Any]:
        """certificate.json of the failover; verify.yml's run has none."""
        files = self.certificates()
        if not files and self.fault.again:
            return dict(self.needless(), verdict=certificate.NOT_PROVEN, outcome="none")
        assert files, "failover.yml has left no certificate"
        kept: dict[str, Any] = json.loads(files[-1].read_text(encoding="utf-8"))
        return kept

    def needless(self) -> dict[str, Any]:
        """What stands for a certificate if none was needed."""
        there = writable(self.scene)
        return {
            "verdict": NEEDLESS,
            "outcome": self.scene.led or "nothing",
            "to": there[0].name if there else None,
            "reasons": [],
            "cases": [],
            "accepted": [],
            "window": None,
        }

    def certificates(self) -> list[pathlib.Path]:
        """Those since the source's death, in their order."""
        files = sorted(self.machines.folder.glob("results/default/2*/certificate.json"))
        return [file for file in files if file.stat().st_mtime >= self.scene.died]

    def caught_up(self, there: list[Machine]) -> list[Machine]:
        """Those that have what the new source has. One that does not come so far is left out, and
        said to be; with a mutant there is no wait for it.
        """
        patience = CAUGHT_UP_LONG if self.returns else CAUGHT_UP
        until = time.monotonic() + (0 if self.mutant else patience)
        first, *behind = there
        count = "SELECT COUNT(*) FROM app.written"
        wanted = first.value(count)
        while behind := [host for host in behind if host.value(count) != wanted]:
            if time.monotonic() > until:
                break
            time.sleep(0.2)
        self.record["behind"] = [host.name for host in behind]
        return [host for host in there if host not in behind]

    def measure(self, times: list[float], started: float) -> None:
        """How long no row was confirmed."""
        gaps = [
            (later - before, later)
            for before, later in itertools.pairwise(times)
            if later > self.scene.died
        ]
        there = bool(gaps) and self.record["verdict"] != REFUSED
        gap, end = max(gaps, default=(0.0, 0.0))
        # The clients of a source that lives go on there.
        if there and self.until and not self.fault.lives:
            self.record["until"] = round(end - gap - moment_of(self.until), 2)
        switched = self.machines.folder / SWITCHED
        if switched.exists() and switched.stat().st_mtime > self.scene.died:
            self.record["fenced"] = round(switched.stat().st_mtime - self.scene.died, 1)
        self.record["without"] = round(gap, 1) if there else None
        self.record["to_first"] = round(end - started, 1) if there else None


def end(process: subprocess.Popen[bytes]) -> None:
    """End a playbook and everything that it has started here."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wrong(record: dict[str, Any]) -> bool:
    """Whether the playbook as it is did what it may not: a mutant may."""
    if not record["judged"] or record["case"] not in FAULTS:
        return False
    forgiven = ("lost",) if record["server"] in FAULTS[record["case"]].may_lose else ()
    amiss = any(record.get(word) for word in WRONG if word not in forgiven)
    liar = lies(record) or bool(record.get("early"))
    led = dead_end(record) or too_sure(record)
    return liar or amiss or failed(record) or led or misread(record)


def misread(record: dict[str, Any]) -> bool:
    """Whether readers saw what they may not: a row that was lost, or time that went back by one
    port. A source that lives still has readers when the new one has begun.
    """
    read, fault = record.get("read"), FAULTS[record["case"]]
    if not read:
        return False
    # A replica has what it has, whatever becomes of the source.
    amiss = read["replicas"]["back"]
    if not (fault.reads_lost or record["server"] in fault.may_lose):
        amiss += sum(read[port]["lost"] for port in PORTS)
        amiss += 0 if fault.lives else read["source"]["back"] + read["source"]["stale"]
    return bool(amiss)


def dead_end(record: dict[str, Any]) -> bool:
    """Whether no playbook led to one server that takes writes."""
    return FAULTS[record["case"]].again and (
        record["verdict"] == REFUSED or not record["again"] or record["writable"] != 1
    )


def too_sure(record: dict[str, Any]) -> bool:
    """Whether it is "proven" where rows were confirmed that no replica has."""
    return FAULTS[record["case"]].unproven and record["verdict"] == certificate.PROVEN


@functools.cache
def commit() -> str:
    """What is judged, by its short hash; with a + where it was changed since."""
    head = run("git", "-C", PROJECT, "rev-parse", "--short=7", "HEAD").stdout.strip()
    changed = run("git", "-C", PROJECT, "status", "--porcelain", "--", *JUDGED).stdout.strip()
    return f"{head}{'+' if changed else ''}"
