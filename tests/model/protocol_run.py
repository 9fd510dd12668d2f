# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a change of roles on servers in memory, one statement at a time: their own code, a
clock of the run's, and one fault before one statement.
"""

from __future__ import annotations

import sys
import threading
import time as real_time
from typing import Any, ClassVar, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    failover_replica,
    freeze,
    io_thread_resume,
    part_run,
    participant,
    read_only_dropin,
    replica_part,
    role_statements,
    source_part,
    target_part,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.failover_target import (
    FailoverTarget,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    FailoverPlan,
    SwitchoverPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import attempts
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

from model.protocol_world import Connection, World

# A part's file is otherwise imported with the part, too late for install().
PARTS = (failover_replica, replica_part, source_part, target_part)
OURS = "ansible_collections.dbre.semisync.plugins.module_utils."
# A statement takes so many seconds, and a server so many to be there again, a host so many more.
STATEMENT, SERVER_BACK, HOST_BACK = 0.001, 1.0, 20.0
# Whatever still runs then waits for something that does not come.
LONGEST = 120.0
# The parts' own, in seconds: a part that polls asks less often, and none waits as long.
SHORTER = {"PAUSE": 0.02, "LOOK": 0.05, "MEET": 6, "BACK": 6, "CLIENTS": 3, "ANSWERED": 2}
PART, BOTH, SERVER, POWER, LOST = "part", "part and guard", "server", "power", "lost"
FAULTS = (PART, BOTH, SERVER, POWER, LOST)
# host -> how many times slower than the others it is.
PACE: dict[str, int] = {}


class Fault(NamedTuple):
    """What dies, on which host, before which statement of the run."""

    kind: str
    host: str
    step: int


class Killed(BaseException):
    """SIGKILL: nothing of the part's own comes after it."""


class Task:
    """One process: a thread that runs while all others wait."""

    def __init__(self, run: Run, host: str, work: Any, guards: bool = False) -> None:
        self.run, self.host, self.guards = run, host, guards
        self.turn, self.wake = threading.Semaphore(0), run.now
        self.dead = self.ended = False
        # How many different things it has said: where it is.
        self.said, self.last = 0, ""
        self.made: list[Connection] = []
        self.thread = threading.Thread(target=self.live, args=(work,), daemon=True)
        self.thread.start()

    def live(self, work: Any) -> None:
        self.turn.acquire()
        LOCAL.task = self
        try:
            if not self.dead:
                work()
        except Killed:
            pass
        except BaseException as error:  # told by the run
            self.run.errors.append(error)
        self.ended = True
        for made in self.made:
            made.close()
        self.run.baton.release()

    def sleep(self, seconds: float) -> None:
        if self.dead:
            raise Killed
        self.wake = self.run.now + max(seconds, 0.0)
        self.run.baton.release()
        self.turn.acquire()
        if self.dead:
            raise Killed


LOCAL = threading.local()


class Time:
    """The module `time`, by the run's clock."""

    strftime, gmtime = real_time.strftime, real_time.gmtime

    @staticmethod
    def monotonic() -> float:
        return float(LOCAL.task.run.now)

    @staticmethod
    def time() -> float:
        return 1795000000.0 + float(LOCAL.task.run.now)

    @staticmethod
    def sleep(seconds: float) -> None:
        LOCAL.task.sleep(seconds)


class Module:
    params: ClassVar[dict[str, object]] = {"password": "secret"}

    def __init__(self, host: str) -> None:
        self.host = host


class Warden:
    """The guard's side of it: the last stage."""

    stage = ""

    def report_stage(self, stage: str) -> None:
        self.stage = stage


def local(this: Any) -> Connection:
    return LOCAL.task.run.connect(this.host)


def connect(_this: Any, host: str) -> Connection:
    return LOCAL.task.run.connect(host)


def freezes(server: Any, _other: Any, names: Any, seconds: float) -> str:
    """freeze.freeze() without a thread of its own: it waits for what is under way."""
    statement, limit = role_statements.freeze_statement(names), Time.monotonic() + seconds
    while server.server.pending:
        if Time.monotonic() > limit:
            raise freeze.FrozenError(f"{statement} did not end")
        server.rows("SELECT 1")
    server.rows(statement)
    return statement


def fenced(value: bool) -> Any:
    def act(path: str, *_words: Any) -> str:
        LOCAL.task.run.world.servers[path].fenced = value
        return path

    return act


def install() -> None:
    """Let the parts live in here."""
    for name, module in list(sys.modules.items()):
        for constant, value in SHORTER.items():
            if name.startswith(OURS) and hasattr(module, constant):
                setattr(module, constant, value)
    ours: Any
    for place, name, ours in (
        (participant.Participant, "local", local),
        (participant.Participant, "connect", connect),
        (freeze, "freeze", freezes),
        (read_only_dropin, "put", fenced(True)),
        (read_only_dropin, "take_away", fenced(False)),
        # Nothing overrides it.
        (read_only_dropin, "overridden", lambda *_words: ""),
        # Its own option file has the role by then.
        (read_only_dropin, "loosen", lambda ours, _options: fenced(False)(ours.path)),
        (FailoverTarget, "option_file", lambda this: (this.plan.host, "drop-in")),
        (io_thread_resume, "release", lambda _name: True),
        (io_thread_resume, "address", lambda module, _token: module.host),
    ):
        setattr(place, name, ours)
    for name, module in list(sys.modules.items()):
        if name.startswith(OURS) and getattr(module, "time", None) is real_time:
            module.time = Time  # type: ignore[attr-defined]


class Run:
    """All parts at the same time.

    Args:
        plans: host -> what its part is given, as the controller plans it.
        failing: whether they are the parts of a failover.
    """

    def __init__(
        self,
        world: World,
        plans: dict[str, dict[str, Any]],
        failing: bool = False,
        fault: Fault | None = None,
    ) -> None:
        self.world, self.plans, self.failing, self.fault = world, plans, failing, fault
        self.now, self.step = 0.0, 0
        self.baton = threading.Semaphore(0)
        self.errors: list[BaseException] = []
        self.results: dict[str, Any] = {}
        self.wardens: dict[str, Warden] = {}
        self.back: list[tuple[float, str]] = []
        # The places at which a fault is another than at the place before.
        self.places: list[tuple[int, Any]] = []
        self.tasks = [Task(self, host, lambda host=host: self.one(host)) for host in plans]

    def connect(self, host: str) -> Connection:
        task = LOCAL.task

        def pause(statement: str, seconds: float = STATEMENT) -> None:
            if statement and statement != task.last:
                task.said, task.last = task.said + 1, statement
            task.sleep(seconds * PACE.get(task.host, 1))

        made = Connection(self.world.servers[host], pause)
        task.made.append(made)
        return made

    def part(self, host: str, warden: Warden | None = None) -> Any:
        kind = FailoverPlan if self.failing else SwitchoverPlan
        module: Any = Module(host)
        dog: Any = warden
        return part_run.participant_of(module, kind.from_dict(self.plans[host]), dog)

    def one(self, host: str) -> None:
        self.wardens[host] = Warden()
        try:
            self.results[host] = self.part(host, self.wardens[host]).run()
        except ServerError as error:
            self.results[host] = {"outcome": "failed", "reason": str(error)}

    def recover(self, host: str, stage: str) -> None:
        """The guard."""

        def work() -> None:
            try:
                made = attempts.try_again(part_run.RESTART, lambda: self.part(host))
                self.results[host] = made.recover(stage)
            except ServerError:
                pass  # it is in the host's log

        self.tasks.append(Task(self, host, work, guards=True))

    def kill(self, host: str, guards: bool) -> None:
        for task in self.tasks:
            if task.host == host and not task.ended and (guards or not task.guards):
                task.dead, task.wake = True, self.now
                for made in task.made:
                    made.close()

    def strike(self, fault: Fault) -> None:
        """The fault comes."""
        host, server = fault.host, self.world.servers[fault.host]
        living = [one for one in self.tasks if one.host == host and not one.ended]
        if fault.kind in (PART, BOTH):
            self.kill(host, fault.kind == BOTH)
            stage = self.wardens[host].stage if host in self.wardens else ""
            guarded = self.plans.get(host, {}).get("mode") == "switch"
            if fault.kind == PART and living and stage and guarded:
                self.recover(host, stage)
        elif fault.kind == SERVER:
            server.crash()
            self.back.append((self.now + SERVER_BACK, host))
        else:
            self.kill(host, True)
            server.power_cut()
            if fault.kind == LOST:
                server.lost = True
            else:
                self.back.append((self.now + HOST_BACK, host))

    def hanging(self) -> None:
        """A guard ends a part that hangs, and does its own."""
        for host, plan in self.plans.items():
            longest = watchdog.seconds(plan["timeout"]) + plan["catch_up"] * self.failing
            stage = self.wardens[host].stage if host in self.wardens else ""
            for task in self.tasks:
                late = task.host == host and not (task.ended or task.guards or task.dead)
                if late and plan["mode"] == "switch" and stage and self.now > longest:
                    self.kill(host, False)
                    self.recover(host, stage)

    def finish(self) -> dict[str, Any]:
        """Run everything to its end."""
        while True:
            self.back.sort()
            living = [task for task in self.tasks if not task.ended]
            wakes = [task.wake for task in living] + [at for at, _host in self.back]
            if not wakes or self.now > LONGEST:
                break
            self.now = max(self.now, min(wakes))
            if self.back and self.back[0][0] <= self.now:
                self.world.servers[self.back.pop(0)[1]].start()
            else:
                task = min(living, key=lambda one: (one.wake, one.host))
                self.step += 1
                if not self.fault:
                    place = tuple((one.host, one.said, one.ended) for one in self.tasks)
                    self.places.append((self.step, (place, self.world.state())))
                if self.fault and self.step == self.fault.step:
                    self.strike(self.fault)
                    self.world.tick()
                    continue
                task.turn.release()
                self.baton.acquire()
            self.world.tick()
            if self.now > 20:
                self.hanging()
        for task in self.tasks:
            while not task.ended:
                task.dead = True
                task.turn.release()
                self.baton.acquire()
        for server in self.world.servers.values():
            server.locks = {}
        for _turn in range(20):
            self.world.tick()
        if self.errors:
            raise self.errors[0]
        return self.results
