"""The words of a history, each done on real hosts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder

from replaying.cluster import TIMEOUTS, Cluster, Row
from support.consents import by_consent
from support.live_hosts import PROJECT, Host, run

HOLD = PROJECT / "tests" / "support" / "clients" / "hold.py"
# Seconds: for a row's answer before the next step; behind an event until others have noticed; a
# minute of a history, in which a short timeout is over; for which an applier is held behind the
# moment at which a failover waits for it, and at most.
ANSWER, NOTICED, MINUTE, HELD, LONGEST = 1.5, 1.0, 12.0, 5, 900
# Statements of a session that waits for an acknowledgement.
WAITING = "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for semi-sync%'"
# Seconds that a server may take to come back, and an orderly stop.
BACK, STOP = 90, 60
# Seconds for a row that a replica can acknowledge.
ACKNOWLEDGED = 20
# Seconds that one which is to stop may take to tell the clients that wait.
STOPPING = 20
# Steps behind which an applier that was held runs again.
RENEWED = (
    "restart",
    "power",
    "start_slave",
    "start_sql",
    "reset_slave",
    "reset_replica",
    "stop_start",
)
SOURCE = "source"
PROCESS = "$(pidof mysqld mariadbd)"


class UnknownStepError(Exception):
    """A history has a word that no step has."""


class Player:
    """One history on a cluster.

    Args:
        story: one of replays.json.
        say: told what is done.
    """

    def __init__(self, cluster: Cluster, story: dict[str, Any], say: Callable[[str], None]) -> None:
        self.cluster, self.story, self.say = cluster, story, say
        self.rows: list[Row] = []
        self.beside: list[subprocess.Popen[bytes]] = []
        self.gone: list[Host] = []
        self.stopped = False
        # Replicas that receive nothing.
        self.silent: set[str] = set()
        self.left: list[str] = []
        self.wrong: list[str] = []
        # What failover.yml said, once it has.
        self.done: Any = None

    def play(self) -> None:
        """All steps, one after the other."""
        self.left = list(self.story["steps"])
        while self.left:
            step = self.left.pop(0)
            begin = time.time()
            self.do(step)
            told = [row.number for row in self.rows if row.told]
            self.say(f"{begin:.1f} {step}: {time.time() - begin:.1f} s; rows told OK: {told}")

    def do(self, step: str) -> None:
        name, _colon, what = step.partition(":")
        work = getattr(self, f"do_{name}", None)
        if work is None:
            raise UnknownStepError(f"no step {step!r}")
        work(*([what] if what else []))

    def end(self) -> None:
        for process in self.beside:
            process.kill()
            process.wait()

    def host(self, name: str) -> Host:
        return self.cluster.by_name[name]

    def word(self) -> str:
        return self.cluster.names.replica_word

    # Clients

    def do_commit(self) -> None:
        row = self.cluster.write(len(self.rows) + 1)
        self.rows.append(row)
        # One that a replica can acknowledge is waited for: a busy machine takes its time.
        reached = [host for host in self.cluster.hosts[1:] if self.acknowledges(host)]
        row.thread.join(ACKNOWLEDGED if reached else ANSWER)

    def acknowledges(self, host: Host) -> bool:
        """Whether nothing that was done keeps a replica from it."""
        there = host in self.cluster.hosts[: self.story.get("replicas", 2) + 1]
        return there and host.name not in self.silent and host not in self.gone

    def do_wait(self) -> None:
        time.sleep(MINUTE)

    def do_kill_query(self, _number: str = "") -> None:
        for number in self.cluster.source.value(WAITING).split():
            self.cluster.source.sql(f"KILL QUERY {number}", check=False)
        time.sleep(NOTICED)

    # Lines and replicas

    def do_cut(self, name: str) -> None:
        """Nothing of the source reaches the replica."""
        host = self.host(name)
        self.silent.add(host.name)
        self.cluster.source.shell(f"ip route add blackhole {self.cluster.address(host)}")

    def do_heal(self, name: str) -> None:
        host = self.host(name)
        self.silent.discard(host.name)
        self.cluster.source.shell(
            f"ip route del blackhole {self.cluster.address(host)}", check=False
        )
        # The source's kernel tries again ever more rarely: a new connection does not wait for that.
        host.sql(f"STOP {self.word()} IO_THREAD; START {self.word()} IO_THREAD")
        time.sleep(2 * NOTICED)

    def do_stop_io(self, name: str) -> None:
        self.silent.add(self.host(name).name)
        self.host(name).sql(f"STOP {self.word()} IO_THREAD")

    def do_start_io(self, name: str) -> None:
        self.silent.discard(self.host(name).name)
        self.host(name).sql(f"START {self.word()} IO_THREAD")
        time.sleep(2 * NOTICED)

    def do_stop_sql(self, name: str) -> None:
        self.host(name).sql(f"STOP {self.word()} SQL_THREAD")

    def do_start_sql(self, name: str) -> None:
        self.host(name).sql(f"START {self.word()} SQL_THREAD")

    def do_stop_slave(self, name: str) -> None:
        self.silent.add(self.host(name).name)
        self.host(name).sql(f"STOP {self.word()}")

    def do_start_slave(self, name: str) -> None:
        self.silent.discard(self.host(name).name)
        self.host(name).sql(f"START {self.word()}")
        time.sleep(NOTICED)

    def do_stop_start(self, name: str) -> None:
        self.do_stop_slave(name)
        self.do_start_slave(name)

    def do_reset_slave(self, name: str) -> None:
        word = self.word()
        self.host(name).sql(f"STOP {word}; RESET {word}; START {word}")
        time.sleep(NOTICED)

    do_reset_replica = do_reset_slave

    def do_hold(self, name: str) -> None:
        """Its applier stands still: stopped where a later step starts it again, else by a lock that
        the failover gets free.
        """
        host = self.host(name)
        if any(step in (f"{word}:{name}" for word in RENEWED) for step in self.left):
            self.do_stop_sql(name)
            return
        its = ["app.written", lock_holder.RUN_LOCK, str(HELD), str(LONGEST)]
        inside = ["docker", "exec", "-i", host.name, "python3", "-u", "-", *its]
        with HOLD.open("rb") as script:
            process = subprocess.Popen(
                inside, stdin=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        self.beside.append(process)
        assert process.stdout
        said = process.stdout.readline().decode().strip()
        assert said == "held", said + process.stdout.read().decode()

    def do_restart(self, name: str) -> None:
        """SIGKILL of a server, which starts again."""
        host = self.host(name)
        host.shell(f"systemctl kill --signal=KILL {self.cluster.unit}")
        self.start_server(host)

    def do_kill_server(self, name: str) -> None:
        self.host(name).shell(f"systemctl kill --signal=KILL {self.cluster.unit}")

    def do_power(self, name: str) -> None:
        """A host's power goes and comes back; what its kernel had is not lost with a container."""
        host = self.host(name)
        run("docker", "kill", host.name)
        run("docker", "start", host.name)
        host.wait()
        time.sleep(NOTICED)

    def do_die(self, name: str) -> None:
        """A host is gone."""
        host = self.host(name)
        run("docker", "kill", host.name)
        self.gone.append(host)

    do_power_cut = do_die

    def do_edit_inventory(self, name: str) -> None:
        host = self.host(name)
        if host in self.cluster.members:
            self.cluster.members.remove(host)
        else:
            self.cluster.members.append(host)

    def start_server(self, host: Host) -> None:
        unit = self.cluster.unit
        ended = f"while systemctl is-active -q {unit}; do sleep 0.1; done"
        host.shell(
            f"timeout 30 sh -c '{ended}'; systemctl reset-failed {unit}; systemctl start {unit}"
        )
        host.wait(BACK)
        time.sleep(NOTICED)

    # The source

    def do_set(self, what: str) -> None:
        name, value = what.split("=")
        number = TIMEOUTS.get(value, value)
        self.cluster.source.sql(f"SET GLOBAL {self.cluster.variable(name)} = {number}")

    def do_switch_off(self) -> None:
        self.do_set("enabled=0")

    def do_switch_on(self) -> None:
        self.do_set("enabled=1")

    def do_site(self, what: str) -> None:
        """site.yml of controller A."""
        name, value = what.split("=")
        number = TIMEOUTS.get(value, value)
        done = self.cluster.play("a", "site", "--tags", "server", "-e", f"semisync_{name}={number}")
        if done.returncode:
            self.wrong.append(f"site.yml: {done.stdout[-300:]}")

    def do_kill_source(self) -> None:
        source = self.cluster.source
        if self.stopped:
            source.shell(f"kill -KILL {PROCESS}", check=False)
        else:
            source.shell(f"systemctl kill --signal=KILL {self.cluster.unit}")
        time.sleep(NOTICED)

    def hanging(self, order: str) -> None:
        """Ask the source to stop in order; as soon as it does it stands still, and does not end."""
        source = self.cluster.source
        waiting = [row for row in self.rows if row.thread.is_alive()]
        source.shell(order)
        until = time.monotonic() + (STOPPING if waiting else ANSWER)
        while time.monotonic() < until and (
            not waiting or any(row.thread.is_alive() for row in waiting)
        ):
            time.sleep(0.05)
        if source.shell(f"kill -STOP {PROCESS}", check=False).returncode:
            self.wrong.append("its server had ended before it could be held")
        self.stopped = True

    def do_stop_source(self) -> None:
        if self.left and self.left[0] == "source_ends":
            self.cluster.source.shell(f"timeout {STOP} systemctl stop {self.cluster.unit}")
            return
        self.hanging(f"systemctl stop --no-block {self.cluster.unit}")

    def do_source_ends(self) -> None:
        time.sleep(NOTICED)

    def do_shutdown_and_kill_source(self) -> None:
        client = self.cluster.source.client
        self.hanging(f"({client} --execute SHUTDOWN >/dev/null 2>&1 &)")
        self.do_kill_source()

    def do_power_source(self) -> None:
        self.do_die(SOURCE)

    def do_start_source(self) -> None:
        if self.cluster.source in self.gone:
            run("docker", "start", self.cluster.source.name)
            self.gone.remove(self.cluster.source)
            self.cluster.source.wait(BACK)
            return
        self.stopped = False
        self.start_server(self.cluster.source)

    # Playbooks

    def do_look(self, controller: str = "a") -> None:
        begin = time.time()
        done = self.cluster.play(controller, "verify", "-e", "semisync_verify_canary=false")
        file = self.cluster.results(controller) / "default" / "state.json"
        if not file.exists() or file.stat().st_mtime < begin:
            self.wrong.append(f"verify.yml has kept no look: {done.stdout[-300:]}")

    def do_failover(self, what: str = "") -> None:
        """As the history has it; refused cases are accepted by name where they can be."""
        how = self.story.get("failover") or {}
        source = self.cluster.source
        if how.get("source_host") == "gone" and source not in self.gone:
            self.do_die(SOURCE)
        if how.get("error_log") == "not readable" and source not in self.gone:
            # MySQL's file, and the journal that MariaDB writes to.
            forgotten = "journalctl --rotate --vacuum-time=1s; rm -f /var/log/mysql/error.log*"
            source.shell(forgotten, check=False)
        salvage = bool(how.get("salvage")) or what == "salvage"
        more = ["-e", "semisync_failover_salvage=true"] if salvage else []
        controller = how.get("controller", "a")

        def attempt(*arguments: str) -> Any:
            return self.cluster.play(controller, "failover", *more, *arguments)

        self.done = by_consent(attempt)
