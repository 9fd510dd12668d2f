# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that make a load: each prepares a schema of its own, runs once, and tells what it did."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import tempfile
import threading
import time

from ansible_collections.dbre.semisync.plugins.module_utils import canary, load, login, slap, state, sysbench

# Of `timeout` (coreutils), whose second signal follows the first after this many seconds.
TIMED_OUT = 124
KILLED = 137
GRACE = 5


def program_or_fail(module, name, remedy):
    program = module.get_bin_path(name)
    if not program:
        module.fail_json(msg="%s is missing on this host; %s" % (name, remedy))
    return program


class Load(object):
    """One load in a schema of its own: what the tools have in common."""

    def __init__(self, module, server, server_names, schema):
        self.module, self.params, self.server, self.names = module, module.params, server, server_names
        self.schema, self.command, self.file = schema, [], None

    def write(self, text, suffix):
        """A file only its owner can read; removed by close()."""
        handle, self.file = tempfile.mkstemp(prefix="semisync-", suffix=suffix, dir=self.module.tmpdir)
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        return self.file

    def close(self):
        if self.file:
            os.unlink(self.file)

    def prepare(self):
        self.server.rows("CREATE DATABASE %s" % canary.quote(self.schema))

    def call(self, command):
        """Exit status, output and standard error of a command, which is ended when its time is up."""
        words = ["timeout", "--kill-after=%d" % GRACE, str(self.params["timeout"])] + command
        return self.module.run_command(words, environ_update={"LC_ALL": "C"})

    def late(self, code):
        return "the run took longer than %d s" % self.params["timeout"] if code in (TIMED_OUT, KILLED) else ""


class Slap(Load):
    """mysqlslap, which creates and drops the schema itself."""

    def prepare(self):
        if not self.command:
            program = program_or_fail(self.module, self.names.slapper, "it comes with the server's client package")
            self.command = slap.argv(program, self.write(load.option_file(login.tool_params(self.params)), ".cnf"), self.schema, self.params)

    def run(self):
        code, output, stderr = self.call(self.command)
        asked = slap.asked(self.params["clients"], self.params["queries"])
        outcome = {"asked": asked, "own_query": bool(self.params["query"]), "operations": asked,
                   "reason": self.late(code) or slap.complaint(code, stderr, output)}
        if not outcome["reason"]:
            seconds = slap.parse_csv(output)
            outcome.update(seconds=seconds, rate=round(asked / seconds, 2) if seconds else None)
        return outcome


class Sysbench(Load):
    """sysbench, with its own table."""

    def prepare(self):
        program = program_or_fail(self.module, "sysbench", "install it, or set the load's tool to mysqlslap or client")
        if not self.file:
            self.write(sysbench.config(self.login(), self.schema), ".conf")
        super(Sysbench, self).prepare()
        self.command = sysbench.argv(program, self.file, self.params, "run")
        code, output, stderr = self.call(sysbench.argv(program, self.file, self.params, "prepare"))
        return self.late(code) or sysbench.complaint(code, stderr, output)

    def login(self):
        params = self.params
        return {"user": params["login_user"] or "root", "password": params["login_password"],
                "socket": params["login_unix_socket"], "host": params["login_host"], "port": params["login_port"]}

    def run(self):
        code, output, stderr = self.call(self.command)
        outcome = {"asked": None, "own_query": True, "reason": self.late(code) or sysbench.complaint(code, stderr, output)}
        if not outcome["reason"]:
            try:
                outcome.update(sysbench.parse(output))
                outcome["asked"] = outcome["operations"]
            except ValueError as error:
                outcome["reason"] = str(error)
        return outcome


class Client(Load):
    """One connection that times every transaction."""

    def prepare(self):
        super(Client, self).prepare()
        self.server.rows("USE %s" % canary.quote(self.schema))
        for statement in (self.params["create"] or "").split(";"):
            if statement.strip():
                self.server.rows(statement)

    def run(self):
        ends, times, failure = [], [], []
        connection = state.Server(login.connect(self.module))
        connection.rows("USE %s" % canary.quote(self.schema))
        number = connection.rows("SELECT CONNECTION_ID() AS id")[0]["id"]
        worker = threading.Thread(target=self.work, args=(connection, ends, times, failure))
        worker.daemon = True
        begin = time.time()
        worker.start()
        worker.join(self.params["timeout"])
        if worker.is_alive():
            failure.append("the run took longer than %d s" % self.params["timeout"])
            self.server.rows("KILL %d" % number)
        seconds = ends[-1] if ends else time.time() - begin
        return {"asked": len(times), "own_query": True, "operations": len(times), "seconds": round(seconds, 6),
                "rate": round(len(times) / seconds, 2), "latency_ms": load.latencies(times),
                "rate_stdev": load.throughput_stdev(ends, seconds), "reason": "; ".join(failure)}

    def work(self, connection, ends, times, failure):
        """Run the query until the queries or the seconds are used up; milliseconds and the end of each."""
        query, execute, clock = self.params["query"], connection.cursor.execute, time.monotonic
        seconds, queries = self.params["seconds"], self.params["queries"]
        begin = before = clock()
        try:
            while (before - begin < seconds) if seconds else (len(times) < queries):
                execute(query)
                after = clock()
                times.append((after - before) * 1000)
                ends.append(after - begin)
                before = after
        except Exception as error:  # the drivers share no exception class
            failure.append("the query failed after %d of its runs: %s" % (len(times), error))


TOOLS = {"mysqlslap": Slap, "sysbench": Sysbench, "client": Client}
