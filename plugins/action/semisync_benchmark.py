# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os
import secrets
import time

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import benchmark, cluster, results, suite as suites

display = Display()
SETTING = "dbre.semisync.semisync_setting"
NETEM = "dbre.semisync.netem"
PASSWORD = ".client-password"
ENVIRONMENT = "dbre.semisync.semisync_environment"
LOAD = "dbre.semisync.semisync_load"
INFO = "dbre.semisync.semisync_info"


class ActionModule(ActionBase):
    """Runs a suite cell by cell; see plugins/modules/semisync_benchmark.py for its documentation."""

    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        dummy, arguments = self.validate_argument_spec(argument_spec=dict(
            do=dict(type="str", choices=["plan", "prepare", "measure", "confirm", "restore", "finish"], required=True),
            suite=dict(type="str", required=True),
            suite_folders=dict(type="list", elements="path", default=[]),
            profile=dict(type="str", choices=["full", "quick"], default="full"),
            repetitions=dict(type="int", default=0),
            resume=dict(type="bool", default=True),
            info_from=dict(type="str", required=True),
            environment_from=dict(type="str", default="__semisync_environment"),
            plan_from=dict(type="str", default="__semisync_benchmark"),
            confirmed_from=dict(type="str", default="__semisync_confirmed"),
            restored_from=dict(type="str", default="__semisync_restored"),
            step=dict(type="dict"),
            pings=dict(type="int", default=0),
            login=dict(type="dict", default={}, no_log=True),
            results_dir=dict(type="path", default="results"),
            run=dict(type="str"),
        ))
        self.arguments, self.task_vars = arguments, task_vars
        self.name, members = cluster.members(task_vars, arguments["info_from"])
        self.source = next(one for one in members if one.role == "source")
        self.replicas = [one for one in members if one.role == "replica"]
        self.folder = results.cluster_folder(arguments["results_dir"], self.name)
        self.me = task_vars["inventory_hostname"]
        result.update(getattr(self, arguments["do"])())
        return result

    # What is known on the controller.

    def suite(self):
        """(its id, the suite)."""
        try:
            path = suites.find(self.arguments["suite"], self.arguments["suite_folders"])
            with open(path) as stream:
                found = suites.read(stream.read(), path, self.arguments["profile"])
        except (suites.Wrong, OSError, UnicodeDecodeError) as error:
            raise AnsibleActionFail("Nothing was changed. %s" % error)
        if self.arguments["repetitions"]:
            found["repetitions"] = self.arguments["repetitions"]
        return os.path.splitext(os.path.basename(path))[0], found

    def planned(self):
        """What plan() returned on the source."""
        return self.task_vars["hostvars"][self.source.host][self.arguments["plan_from"]]

    def document(self):
        return results.read_json(self.planned()["path"], None)

    def registered(self, host, name):
        return self.task_vars["hostvars"][host].get(name) or {}

    def peers(self):
        """The replicas' addresses as they stand in the source's packets."""
        known = self.registered(self.source.host, self.arguments["environment_from"]).get("addresses", {})
        return [known[one.address] for one in self.replicas if known.get(one.address)]

    def client(self):
        """The host that the load runs on: the cluster's first in group semisync_client, else the source."""
        for host in self.task_vars["groups"].get("semisync_client", []):
            theirs = self.task_vars["hostvars"][host]
            if str(theirs.get("semisync_cluster", cluster.DEFAULT)) == self.name:
                return host
        return self.source.host

    def module(self, name, **arguments):
        """A module's result on this host; its failure is this task's."""
        found = self._execute_module(module_name=name, module_args=arguments, task_vars=self.task_vars)
        if found.get("failed"):
            raise AnsibleActionFail("%s: %s" % (self.me, found.get("msg", found)))
        return found

    # What a suite consists of.

    def refuse_missing_tools(self, suite):
        """Fail where the host that the load comes from cannot run it."""
        tools = self.registered(self.client(), self.arguments["environment_from"]).get("tools")
        if tools is None:
            raise AnsibleActionFail("Nothing was changed. %s, from which the load is to come, is not part of this run; see "
                                    "--limit" % self.client())
        missing = suites.lacking(suite, self.client(), tools, self.source.info["names"]["slapper"])
        if missing:
            raise AnsibleActionFail("Nothing was changed. The suite's load cannot run: %s" % missing)

    def plan(self):
        suite_id, suite = self.suite()
        if self.me != self.source.host:
            return {"changed": False, "source": self.source.host}
        self.refuse_missing_tools(suite)
        machines = []
        for one in [self.source] + self.replicas:
            machines.append((one.host, one.role, one.info, self.registered(one.host, self.arguments["environment_from"])
                             .get("environment", {})))
        if self.client() != self.source.host:
            machines.append((self.client(), "client", None, self.registered(
                self.client(), self.arguments["environment_from"]).get("environment", {})))
        rtt = self.registered(self.source.host, self.arguments["environment_from"]).get("rtt_ms", {})
        trips = dict((one.host, rtt.get(one.address)) for one in self.replicas)
        for words in benchmark.defects(self.source.info):
            display.warning(words)
        moment = results.now()
        document = benchmark.begin(self.name, suite_id, suite, self.arguments["profile"], 0,
                                   benchmark.environment(machines, trips, benchmark.collection_version()), moment)
        run, known = benchmark.unfinished(self.folder, document) if self.arguments["resume"] else (None, None)
        left = suites.steps(suite, benchmark.done(known) if known else set())
        expected = suites.expected_seconds(suite, left, benchmark.walls(known) if known else None)
        if known:
            document = known
        else:
            document["suite"]["expected_seconds"] = round(expected)
        path = None
        if not self._task.check_mode:
            try:
                path = os.path.join(results.open_run(self.folder, moment, run or self.arguments["run"]),
                                    benchmark.file_name(suite_id))
            except ValueError as error:
                raise AnsibleActionFail(str(error))
            results.write_json(path, document)
        display.display("%s\n  cluster %s, %d cells, %d repetitions, profile %s, load from %s: %d runs, about %s%s" % (
            suite["title"], self.name, len(suite["cells"]), suite["repetitions"], self.arguments["profile"], self.client(),
            len(left), suites.in_words(expected), "; going on with the interrupted run %s" % run if run else ""))
        return {"steps": left, "path": path, "source": self.source.host, "client": self.client(), "expected_seconds": round(expected),
                "schema": "semisync_bench_" + secrets.token_hex(6), "changed": False,
                "run": os.path.basename(os.path.dirname(path)) if path else None}

    def cell(self, suite):
        return next(cell for cell in suite["cells"] if cell["id"] == self.arguments["step"]["cell"])

    def prepare(self):
        """Set this host up for a step."""
        dummy, suite = self.suite()
        step, cell = self.arguments["step"], self.cell(suite)
        role = "source" if self.me == self.source.host else "replica"
        found = {"changed": False}
        if step[role] or self.shaken():
            variables = dict(cell["durability"] or {})
            if cell["wait_point"]:
                variables["wait_point"] = cell["wait_point"]
            if cell["timeout_ms"] is not None:
                variables["timeout"] = cell["timeout_ms"]
            setting = dict(self.arguments["login"], role=role, replication=cell["replication"], replicas=len(self.replicas),
                           variables=self.with_defaults(variables, role), rollback_after=step[role + "_hold"])
            if role == "source":
                setting["schema"] = self.planned()["schema"]
                if self.client() != self.source.host:
                    setting["account"] = self.account()
            found["setting"] = self.module(SETTING, **setting)
            found["changed"] = found["setting"]["changed"]
        if step["delay"] and role == "source":
            delay = cell["delay_ms"]
            state = dict(state="present", delay_ms=delay, rollback_after=step["delay_hold"]) if delay else dict(state="absent")
            found["netem"] = self.module(NETEM, peers=self.peers(), ping_count=5 if delay else 0, **state)
            found["changed"] = found["changed"] or found["netem"]["changed"]
            if delay:
                document = self.document()
                document["environment"].setdefault("netem", {})["%g" % delay] = dict(
                    (key, found["netem"].get(key)) for key in ("command", "shown", "way", "limit", "rtt_before", "rtt_after"))
                results.write_json(self.planned()["path"], document)
        return found

    def shaken(self):
        """Whether the run before did not count: a server may have restarted with the values of its option files."""
        return self.registered(self.client(), "__semisync_measured").get("valid") is False

    def with_defaults(self, variables, role):
        """What the cells before may have set, and this one does not, goes back to what the server had."""
        info = next(one.info for one in [self.source] + self.replicas if one.host == self.me)
        found = dict((key, info["variables"][key]) for key in ("sync_binlog", "innodb_flush_log_at_trx_commit"))
        if role == "source":
            found.update((key, info["semisync"]["source"]["variables"][key]) for key in ("timeout", "wait_point")
                         if info["semisync"]["source"]["variables"].get(key) is not None)
        return dict(found, **variables)

    def account(self):
        """The account that a separate client host logs in with; its password is in a file that restore() removes."""
        path = os.path.join(os.path.dirname(self.planned()["path"]), PASSWORD)
        if not os.path.exists(path):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(secrets.token_hex(16))
        with open(path) as stream:
            return {"user": self.planned()["schema"], "host": "%", "password": stream.read()}

    def measure(self):
        """Run one cell once and keep what it gave."""
        dummy, suite = self.suite()
        step, cell, planned = self.arguments["step"], self.cell(suite), self.planned()
        login = dict(self.arguments["login"])
        if self.me != self.source.host:
            account = self.account()
            login = {"login_user": account["user"], "login_password": account["password"],
                     "login_host": self.source.address, "login_port": login.get("login_port", 3306), "config_file": ""}
        load = dict((key, value) for key, value in cell["load"].items() if value is not None and key != "same_row")
        begin, moment = time.time(), results.now()
        found = self._execute_module(module_name=LOAD, task_vars=self.task_vars, module_args=dict(
            login, iterations=1, warmup=0, schema=planned["schema"], timeout=suite["time_limit"],
            replication=cell["replication"], replicas=len(self.replicas), delay_ms=cell["delay_ms"],
            peers=self.peers() if self.me == self.source.host else [], **load))
        document = self.document()
        if found.get("failed"):
            run = {"valid": False, "reason": found.get("msg") or "the load failed", "seconds": None, "operations": None,
                   "commits": None, "rate": None, "latency_ms": None, "rtt_ms": None, "counters": {}, "dropped": 0}
        else:
            run = found["runs"][0]
        if run["rtt_ms"] is None and run["valid"]:
            run["rtt_ms"] = self.known_trip(document, cell)
        benchmark.add(document, cell["id"], step["repetition"], run, moment, time.time() - begin)
        results.write_json(planned["path"], document)
        self.tell(document, suite, cell, step)
        return {"changed": True, "valid": run["valid"], "reason": run["reason"]}

    def confirm(self):
        """Where the load came from another host: whether netem on this one dropped packets, which that one cannot see."""
        now = self.module(ENVIRONMENT)["dropped"]
        before = self.registered(self.me, self.arguments["confirmed_from"]).get("dropped", 0)
        # A netem that was put on anew counts from zero.
        lost = now - before if now >= before else now
        if lost:
            step, document = self.arguments["step"], self.document()
            benchmark.spoil(document, step["cell"], step["repetition"], "netem dropped %d packets" % lost)
            results.write_json(self.planned()["path"], document)
            display.display("  %s does not count: netem dropped %d packets" % (step["cell"], lost))
        return {"changed": False, "dropped": now}

    @staticmethod
    def known_trip(document, cell):
        """The round trip that was measured on the source when the delay was set; a client host's own would be another."""
        if cell["delay_ms"]:
            trips = [trip["median"] for trip in document["environment"]["netem"]["%g" % cell["delay_ms"]]["rtt_after"].values()]
        else:
            trips = list(document["environment"]["rtt_ms"].values())
        known = [trip for trip in trips if trip is not None]
        return min(known) if known else None

    def tell(self, document, suite, cell, step):
        steps = self.planned()["steps"]
        position = steps.index(step) + 1
        analysed = next(one for one in document["cells"] if one["id"] == cell["id"])
        left = suites.in_words(suites.expected_seconds(suite, steps[position:], benchmark.walls(document)))
        run = next(entry for entry in analysed["repetitions"] if entry["number"] == step["repetition"])
        display.display(benchmark.line(analysed, run, position, len(steps), left))

    def restore(self):
        """Put back whatever a step set on this host."""
        role = "source" if self.me == self.source.host else "replica"
        found = {"setting": self.module(SETTING, state="absent", role=role, **self.arguments["login"])}
        if role == "source":
            found["netem"] = self.module(NETEM, state="absent", peers=self.peers(), ping_count=self.arguments["pings"])
            planned = self.registered(self.me, self.arguments["plan_from"]).get("path")
            if planned and os.path.exists(os.path.join(os.path.dirname(planned), PASSWORD)):
                os.unlink(os.path.join(os.path.dirname(planned), PASSWORD))
        found["changed"] = any(each["changed"] for each in found.values())
        return found

    def finish(self):
        """Close the run: what it says, its checkpoints, and whether the pair is as it was."""
        suite_id, suite = self.suite()
        document = self.document()
        info = self.module(INFO, wait_for={"clients": len(self.replicas), "source_status": True}, wait_timeout=60,
                           **self.arguments["login"])
        status = info["semisync"]["source"]["status"]
        restored = dict(self.registered(self.me, self.arguments["restored_from"]).get("netem") or {"qdiscs_after": []},
                        status=status["status"], clients=int(status["clients"] or 0), replicas=len(self.replicas))
        benchmark.finish(document, suite, results.now())
        path = self.planned()["path"]
        results.write_json(path, document)
        delays = document["environment"].get("netem", {})
        rows = benchmark.points(document, self.me, delays.get("90"), restored)
        for row in rows:
            row["at"] = document["ended"]
        if rows:
            results.keep_rows(os.path.dirname(path), rows)
        display.display(benchmark.summary(document, path))
        bad = [cell["label"] for cell in document["cells"] if not cell["valid"]]
        return {"changed": False, "path": path, "statement": document["statement"], "checkpoints": rows, "invalid": bad}
