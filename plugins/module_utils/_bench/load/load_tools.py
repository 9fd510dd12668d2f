# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that make a load: each prepares its own schema, runs once, and reports."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import (
    mysqlslap,
    sysbench,
    validity,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    LoadOptions,
    Login,
    ToolRun,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host import command, trust
from ansible_collections.dbre.semisync.plugins.module_utils._host.process import find_tool, running
from ansible_collections.dbre.semisync.plugins.module_utils._server import sql
from ansible_collections.dbre.semisync.plugins.module_utils._server.client_login import (
    client_options,
    secret_file,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    ServerError,
    driver_errors,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.login import connect
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

# Of `timeout` (coreutils), whose second signal follows the first after this many seconds.
TIMED_OUT = 124
KILLED = 137
GRACE = 5


def program_or_fail(
    module: AnsibleModule,
    name: str,
    remedy: str,
    folders: Sequence[str] = (),
) -> str:
    """The path of a program, from these folders or else from the PATH."""
    program = find_tool(module, (name,), list(folders))
    if not program:
        module.fail_json(msg=f"{name} is missing on this host; {remedy}")
    return str(program)


class Load(ABC):
    """One load in a schema of its own: what the tools have in common."""

    def __init__(
        self,
        module: AnsibleModule,
        server: Server,
        names: Names,
        schema: str,
    ) -> None:
        self.module = module
        self.params: LoadOptions = module.params
        self.server, self.names, self.schema = server, names, schema
        self.command: list[str] = []
        self.file = ""

    def write(
        self,
        text: str,
        suffix: str,
    ) -> str:
        """A file only its owner can read; removed by close()."""
        self.file = secret_file(text, suffix)
        return self.file

    def close(self) -> None:
        if self.file:
            os.unlink(self.file)

    def prepare(self) -> str:
        """Create what the load needs; returns the error, or ""."""
        self.server.rows(f"CREATE DATABASE {sql.quote(self.schema)}")
        return ""

    @abstractmethod
    def run(self) -> ToolRun:
        """Run the load once."""

    def call(self, words: list[str]) -> tuple[int, str, str]:
        """Exit status, output and standard error of a command, which ends when its time is up."""
        limited = ["timeout", f"--kill-after={GRACE}", str(self.params["timeout"])]
        if self.file:
            trust.hand_over(words[0], self.file)
        limited += trust.trusted_command(words)
        return command.run(self.module, limited)

    def late(self, code: int) -> str:
        return (
            f"the run took longer than {int(self.params['timeout'])} s"
            if code in (TIMED_OUT, KILLED)
            else ""
        )


class Slap(Load):
    """mysqlslap, which creates and drops the schema itself."""

    def prepare(self) -> str:
        if not self.command:
            program = program_or_fail(
                self.module,
                self.names.slapper,
                "it comes with the server's client package",
                running(self.server.variables()).folders,
            )
            self.command = mysqlslap.argv(
                program,
                self.write(client_options(self.module.params), ".cnf"),
                self.schema,
                self.params,
            )
        return ""

    def run(self) -> ToolRun:
        code, output, stderr = self.call(self.command)
        asked = mysqlslap.asked(self.params["clients"], self.params["queries"] or 0)
        outcome: ToolRun = {
            "asked": asked,
            "own_query": bool(self.params.get("query")),
            "operations": asked,
            "reason": self.late(code) or mysqlslap.mysqlslap_failure(code, stderr, output),
        }
        if not outcome["reason"]:
            seconds = mysqlslap.parse_csv(output)
            outcome["seconds"] = seconds
            outcome["rate"] = round(asked / seconds, 2) if seconds else None
        return outcome


class Sysbench(Load):
    """sysbench, with its own table."""

    def prepare(self) -> str:
        program = program_or_fail(
            self.module, "sysbench", "install it, or set the load's tool to mysqlslap or client"
        )
        if not self.file:
            self.write(sysbench.config(self.login(), self.schema), ".conf")
        super().prepare()
        self.command = sysbench.argv(program, self.file, self.params, "run")
        code, output, stderr = self.call(sysbench.argv(program, self.file, self.params, "prepare"))
        return self.late(code) or sysbench.sysbench_failure(code, stderr, output)

    def login(self) -> Login:
        params = self.params
        return {
            "user": params["login_user"] or "root",
            "password": params["login_password"],
            "socket": params["login_unix_socket"],
            "host": params["login_host"],
            "port": params["login_port"],
        }

    def run(self) -> ToolRun:
        code, output, stderr = self.call(self.command)
        reason = self.late(code) or sysbench.sysbench_failure(code, stderr, output)
        if not reason:
            try:
                return sysbench.parse(output)
            except ValueError as error:
                reason = str(error)
        return {"asked": None, "own_query": True, "reason": reason}


class Client(Load):
    """One connection that times every transaction."""

    def prepare(self) -> str:
        super().prepare()
        self.server.rows(f"USE {sql.quote(self.schema)}")
        for statement in (self.params.get("create") or "").split(";"):
            if statement.strip():
                self.server.rows(statement)
        return ""

    def run(self) -> ToolRun:
        ends: list[float] = []
        times: list[float] = []
        failure: list[str] = []
        connection = Server(connect(self.module))
        connection.rows(f"USE {sql.quote(self.schema)}")
        number = connection.rows("SELECT CONNECTION_ID() AS id")[0]["id"]
        worker = threading.Thread(
            target=self.work, args=(connection, ends, times, failure), daemon=True
        )
        begin = time.monotonic()
        worker.start()
        worker.join(self.params["timeout"])
        if worker.is_alive():
            failure.append(f"the run took longer than {int(self.params['timeout'])} s")
            self.server.rows(f"KILL {number}")
        seconds = ends[-1] if ends else time.monotonic() - begin
        return {
            "asked": len(times),
            "own_query": True,
            "operations": len(times),
            "seconds": round(seconds, 6),
            "rate": round(len(times) / seconds, 2),
            "latency_ms": validity.latencies(times),
            "rate_stdev": validity.throughput_stdev(ends, seconds),
            "reason": "; ".join(failure),
        }

    def work(
        self,
        connection: Server,
        ends: list[float],
        times: list[float],
        failure: list[str],
    ) -> None:
        """Run the query until the queries or the seconds are used up, in a thread of its own.

        Args:
            ends: gets the second since the begin at which each query ended.
            times: gets the milliseconds of each.
            failure: gets why a query failed.
        """
        query, execute = self.params.get("query"), connection.cursor.execute
        clock = time.monotonic
        seconds, queries = self.params.get("seconds"), self.params["queries"] or 0
        begin = before = clock()
        try:
            with driver_errors():
                while (before - begin < seconds) if seconds else (len(times) < queries):
                    execute(query)
                    after = clock()
                    times.append((after - before) * 1000)
                    ends.append(after - begin)
                    before = after
        except ServerError as error:
            failure.append(f"the query failed after {len(times)} of its runs: {error}")


TOOLS: dict[str, Callable[..., Load]] = {
    "mysqlslap": Slap,
    "sysbench": Sysbench,
    "client": Client,
}
