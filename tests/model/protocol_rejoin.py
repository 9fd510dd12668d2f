# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rejoin.yml on servers in memory: the judge's and the steps' own code, one statement at a time,
and one thing that dies before one of them.
"""

from __future__ import annotations

import threading
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import prepare, read_only_start
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    read_only_dropin,
    role_statements,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    RejoinPlan,
    RejoinRecordPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import REPLICA, Names
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import quarantined_hosts
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import errant
from ansible_collections.dbre.semisync.tests.unit import samples

from model.protocol_people import UUID, read
from model.protocol_run import LOCAL, Fault, Run, Task
from model.protocol_world import World, gone

NAMES = Names(
    "mysql", (8, 4, 0), {"rpl_semi_sync_source": "ACTIVE", "rpl_semi_sync_replica": "ACTIVE"}
)
SCHEMA = "important"
# Runs of rejoin.yml until a server that can follow is called left out.
RUNS = 4


class Ready:
    """What start.py's functions ask of a module."""

    check_mode = False

    def __init__(self, host: str) -> None:
        self.host = host

    def fail_json(self, msg: str) -> None:
        raise read_only_start.ReadyError(msg)


class Sequence(Run):
    """One playbook's steps, one after another, with a connection to each host that they ask for."""

    def __init__(self, world: World, host: str, steps: Any, fault: Fault | None) -> None:
        self.world, self.plans, self.failing, self.fault = world, {}, False, fault
        self.now, self.step = 0.0, 0
        self.baton = threading.Semaphore(0)
        self.errors: list[BaseException] = []
        self.results: dict[str, Any] = {}
        self.wardens: dict[str, Any] = {}
        self.back: list[tuple[float, str]] = []
        self.places: list[tuple[int, Any]] = []
        self.tasks = [Task(self, host, lambda: self.go(steps))]

    def go(self, steps: Any) -> None:
        try:
            steps(self.connect)
            self.results["rejoin"] = "done"
        except (ServerError, read_only_start.ReadyError) as error:
            self.results["rejoin"] = f"failed: {error}"


def install() -> None:
    """Let the steps connect in here."""
    ours: Any
    for place, name, ours in (
        (prepare, "Server", lambda made: made),
        (prepare, "identify", lambda _server: NAMES),
        (prepare.login, "connect", lambda module: LOCAL.task.run.connect(module.host)),
    ):
        setattr(place, name, ours)


def away(world: World) -> list[str]:
    """The members that a failover left and that live: who is to come back."""
    made = []
    for host, server in world.servers.items():
        info = read(server)
        made.append(samples.member(host, "replica", info, error="" if info else "unreachable"))
    _left, out = quarantined_hosts.apart(made)
    return [one.member.host for one in out if world.servers[one.member.host].up]


class Rejoin:
    """rejoin.yml of one former source, run until it follows.

    Attributes:
        verdict: of the last judgement.
        story: what each run said.
    """

    def __init__(self, world: World, host: str) -> None:
        self.world, self.host = world, host
        self.story: list[str] = []
        self.verdict = ""
        self.last_run: Run | None = None

    def judge(self, to: str) -> errant.Judged:
        """What it has that the source lacks.

        Raises:
            ServerError: one of the two does not answer.
            AssertionError: it is called clean, and has something of its own.
        """
        server, new = self.world.servers[self.host], self.world.servers[to]
        if not (server.up and new.up):
            raise gone()
        judged = errant.errant_verdict(
            errant.from_info(self.host, read(server)), errant.from_info(to, read(new))
        )
        own = server.executed - new.executed
        if judged.verdict == errant.CLEAN:
            assert not own, f"{self.host} is called clean, and has {sorted(own)} of its own"
        self.verdict = judged.verdict
        return judged

    def once(self, fault: Fault | None = None) -> str:
        """One run; what it said. Empty if there is nothing to bring back."""
        server = self.world.servers[self.host]
        writers = self.world.writers()
        if len(writers) != 1 or not server.up or not self.is_left(writers[0]):
            return ""
        judged = self.judge(writers[0])
        if judged.verdict != errant.CLEAN or judged.hindrances:
            return f"refused: {judged.verdict} {'; '.join(judged.hindrances)}"
        self.last_run = Sequence(self.world, self.host, self.steps(writers[0]), fault)
        done = self.last_run.finish()
        self.story.append(f"rejoin.yml of {self.host}: {done.get('rejoin', 'interrupted')}")
        return self.story[-1]

    def is_left(self, to: str) -> bool:
        """Whether the source's journal has it among those that a failover left."""
        number = UUID % self.world.servers[self.host].number
        left = (read(self.world.servers[to]) or {}).get("held") or []
        return any(row["id"] == number for row in left)

    def steps(self, to: str) -> Any:
        """What roles/rejoin/tasks/back.yml does, as a function of a way to connect."""
        server = self.world.servers[self.host]
        option_file = OptionFile(self.host, "drop-in", "mysqld")
        plan = RejoinPlan(
            down=False,
            missed=False,
            leaves=server.source == to,
            unit="mysql",
            datadir=None,
            option_file=option_file,
            lines=[],
            open_to_root=False,
            truncate=False,
            keep=False,
            timeout=10,
            run="rejoin",
            since="",
        )
        entry = {
            "run": "rejoin",
            "from_host": self.host,
            "to_host": to,
            "from_id": UUID % server.number,
            "to_id": UUID % self.world.servers[to].number,
        }

        def go(connect: Any) -> None:
            module: Any = Ready(self.host)
            finishing = self.host not in away(self.world)
            if not finishing:
                read_only_dropin.put(self.host, "drop-in", "mysqld", read_only_start.WORDS)
                prepare.close(module, plan)
            assert self.judge(to).verdict == errant.CLEAN
            connection: Any = connect(self.host)
            if not finishing:
                prepare.release(module, plan, connection, NAMES)
            server.role = "replica"
            connection.rows(role_statements.side_statement(NAMES, REPLICA, True))
            for statement, arguments in role_statements.redirect_steps(NAMES, to, 3306):
                connection.rows(statement, arguments)
            read_only_dropin.loosen(option_file, None)
            back: Any = connect(to)
            prepare.record(module, RejoinRecordPlan(entry, SCHEMA), back, NAMES)

        return go

    def until_it_follows(self) -> str:
        """Run it again and again; why it does not follow, empty if it does."""
        said = ""
        for _turn in range(RUNS):
            said = self.once()
            if not said:
                break
            if said.startswith("refused"):
                return said
        server = self.world.servers[self.host]
        (to,) = self.world.writers()
        if said or self.host in away(self.world) or self.is_left(to):
            return f"{self.host} is not back: {'; '.join(self.story)}"
        for _turn in range(20):
            self.world.tick()
        new = self.world.servers[to]
        lacks = new.executed - server.executed
        if server.source != to or lacks or server.fenced or not server.read_only:
            return (
                f"{self.host} does not follow {to}, lacks {sorted(lacks)}, fenced {server.fenced}"
            )
        return ""
