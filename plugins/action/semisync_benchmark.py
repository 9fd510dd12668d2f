# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import secrets
import time
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.benchmark import (
    environment,
    points,
    record,
    schedule,
    suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.benchmark.parts import (
    ARGUMENTS,
    NEEDED,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.benchmark.step import (
    cell_of,
    load_options,
    netem_options,
    setting_options,
    timer_prefixes,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.benchmark.suite_file import SuiteError
from ansible_collections.dbre.semisync.plugins.plugin_utils.lifeline import (
    LEASE,
    Lifeline,
    clock,
    run_lives,
)

display = Display()
SETTING = "dbre.semisync.semisync_setting"
NETEM = "dbre.semisync.netem"
PASSWORD = ".client-password"
ENVIRONMENT = "dbre.semisync.semisync_environment"
LOAD = "dbre.semisync.semisync_load"
INFO = "dbre.semisync.semisync_info"


class ActionModule(ActionBase):
    """Runs a suite cell by cell; documented in plugins/modules/semisync_benchmark.py."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_if=[("do", part, names) for part, names in NEEDED.items()],
        )
        self.arguments, self.task_vars = arguments, task_vars
        self.cluster, members = cluster.members(task_vars, arguments["info_from"])
        self.source = next(member for member in members if member.side == "source")
        self.replicas = [member for member in members if member.side == "replica"]
        self.servers = [self.source, *self.replicas]
        self.folder = results.cluster_folder(arguments["results_dir"], self.cluster)
        self.me = task_vars["inventory_hostname"]
        self.side = "source" if self.me == self.source.host else "replica"
        result.update(getattr(self, arguments["do"])())
        return result

    # What is known on the controller.

    def registered(self, host: str, option: str) -> dict[str, Any]:
        """A host's result in the variable that an option names; empty where there is none."""
        return self.task_vars["hostvars"][host].get(self.arguments[option]) or {}

    def read_suite(self) -> tuple[str, dict[str, Any]]:
        """(its id, the suite); plan() alone reads it, and keeps it for all other parts."""
        try:
            path = suite.find(self.arguments["suite"], self.arguments["suite_folders"])
            with open(path) as stream:
                wanted = suite.read(stream.read(), path, self.arguments["profile"])
        except (SuiteError, OSError, UnicodeDecodeError) as error:
            raise AnsibleActionFail(f"Nothing was changed. {error}") from error
        if self.arguments["repetitions"]:
            wanted["repetitions"] = self.arguments["repetitions"]
        return os.path.splitext(os.path.basename(path))[0], wanted

    def planned(self) -> dict[str, Any]:
        """What plan() returned on the source."""
        return self.registered(self.source.host, "plan_from")

    def kept(self) -> dict[str, Any]:
        """benchmark-SUITE.json of this run."""
        path = self.planned()["path"]
        kept = results.read_json(path, None)
        if kept is None:
            raise AnsibleActionFail(f"{path} cannot be read, which plan has written for this run")
        return kept

    def keep(self, result: dict[str, Any]) -> None:
        results.write_json(self.planned()["path"], result)

    def machine(self, host: str) -> dict[str, Any]:
        return self.registered(host, "environment_from").get("environment", {})

    def peers(self, all_needed: bool = False) -> list[str]:
        """The replicas' addresses as they stand in the source's packets.

        Args:
            all_needed: whether one that the source cannot resolve is an error.
        """
        known = self.registered(self.source.host, "environment_from").get("addresses", {})
        lost = [member.host for member in self.replicas if not known.get(member.address)]
        if lost and all_needed:
            raise AnsibleActionFail(
                f"{self.source.host} does not know the address of {', '.join(lost)}, so the way"
                " there cannot be delayed"
            )
        return [known[member.address] for member in self.replicas if known.get(member.address)]

    def client(self) -> str:
        """The host that the load runs on: the cluster's first in group semisync_client, else the
        source.
        """
        for host in self.task_vars["groups"].get("semisync_client", []):
            variables = self.task_vars["hostvars"][host]
            if str(variables.get("semisync_cluster", cluster.DEFAULT)) == self.cluster:
                return host
        return self.source.host

    def lifeline(self, host: str) -> Lifeline:
        """This run's sign of life for a server's host."""
        side = "source" if host == self.source.host else "replica"
        return Lifeline(constants.DEFAULT_LOCAL_TMP, host, timer_prefixes(side))

    def module(self, name: str, **options: Any) -> dict[str, Any]:
        """A module's result on this host; its failure is this task's."""
        result = self._execute_module(
            module_name=name, module_args=options, task_vars=self.task_vars
        )
        if result.get("failed"):
            raise AnsibleActionFail(f"{self.me}: {result.get('msg', result)}")
        return result

    # What a suite consists of.

    def plan(self) -> dict[str, Any]:
        """Read the suite, and begin its run or go on with an interrupted one."""
        suite_id, wanted = self.read_suite()
        if self.me != self.source.host:
            return {"changed": False, "source": self.source.host}
        self.refuse_missing_tools(wanted)
        for words in environment.defects(self.source.info):
            display.warning(words)
        moment = results.now()
        result = record.begin(
            self.cluster, suite_id, wanted, self.arguments["profile"], self.describe(), moment
        )
        run, known = None, None
        if self.arguments["resume"]:
            run, known = record.unfinished(self.folder, result)
        steps = schedule.remaining_steps(wanted, record.done(known) if known else set())
        expected = schedule.expected_seconds(wanted, steps, record.walls(known) if known else None)
        if known:
            result = record.resume(result, known)
        else:
            result["suite"]["expected_seconds"] = round(expected)
        path = None
        if not self._task.check_mode:
            try:
                folder = results.open_run(self.folder, moment, run or self.arguments["run"])
            except ValueError as error:
                raise AnsibleActionFail(str(error)) from error
            path = os.path.join(folder, record.file_name(suite_id))
            results.write_json(path, result)
            record.remove_former(path, suite_id)
        display.display(
            f"{wanted['title']}\n  cluster {self.cluster}, {len(wanted['cells'])} cells,"
            f" {wanted['repetitions']} repetitions, profile {self.arguments['profile']}, load from"
            f" {self.client()}: {len(steps)} runs, about {schedule.in_words(expected)}"
            + (f"; going on with the interrupted run {run}" if run else "")
        )
        return {
            "steps": steps,
            "path": path,
            "source": self.source.host,
            "client": self.client(),
            "expected_seconds": round(expected),
            "schema": "semisync_bench_" + secrets.token_hex(6),
            "changed": False,
            "run": os.path.basename(os.path.dirname(path)) if path else None,
        }

    def refuse_missing_tools(self, wanted: dict[str, Any]) -> None:
        """Fail where the host that the load comes from cannot run it."""
        tools = self.registered(self.client(), "environment_from").get("tools")
        if tools is None:
            raise AnsibleActionFail(
                f"Nothing was changed. {self.client()}, from which the load is to come, is not part"
                " of this run; see --limit"
            )
        missing = suite.lacking(wanted, self.client(), tools, self.source.info["names"]["slapper"])
        if missing:
            raise AnsibleActionFail(f"Nothing was changed. The suite's load cannot run: {missing}")

    def describe(self) -> dict[str, Any]:
        """The run's environment."""
        machines: list[tuple[str, str, dict[str, Any] | None, dict[str, Any]]] = [
            (member.host, member.side, member.info, self.machine(member.host))
            for member in self.servers
        ]
        if self.client() != self.source.host:
            machines.append((self.client(), "client", None, self.machine(self.client())))
        trips = self.registered(self.source.host, "environment_from").get("rtt_ms", {})
        rtt_ms = {member.host: trips.get(member.address) for member in self.replicas}
        return environment.describe(machines, rtt_ms, environment.collection_version())

    def prepare(self) -> dict[str, Any]:
        """Set this host up for a step."""
        step, result = self.arguments["step"], self.kept()
        cell = cell_of(result, step)
        done: dict[str, Any] = {"changed": False}
        lifeline, begun = self.lifeline(self.me), clock()
        # A run that did not count may have restarted a server, with the values of its option files.
        valid = self.registered(self.client(), "measured_from").get("valid")
        anew = not valid or lifeline.lapsed()
        seconds = schedule.longest_step(result["suite"]["time_limit"])
        if lifeline.hold(self, seconds):
            seconds = LEASE
        else:
            anew = True
            display.warning(schedule.unheard(self.me, seconds, LEASE))
        if step[self.side] or anew:
            info = next(member.info for member in self.servers if member.host == self.me)
            options = setting_options(cell, self.side, info, len(self.replicas), seconds)
            if self.side == "source":
                options["schema"] = self.planned()["schema"]
                if self.client() != self.source.host:
                    options["account"] = self.account()
            done["setting"] = self.module(SETTING, **self.arguments["login"], **options)
            done["changed"] = done["setting"]["changed"]
            lifeline.renewed(begun)
        if self.side == "source" and (step["delay"] or anew):
            peers = self.peers(all_needed=bool(cell["delay_ms"]))
            done["netem"] = self.module(NETEM, **netem_options(cell, peers, seconds))
            done["changed"] = done["changed"] or done["netem"]["changed"]
            if cell["delay_ms"] and done["netem"]["changed"]:
                record.keep_netem(result, cell["delay_ms"], done["netem"])
                self.keep(result)
        return done

    def account(self) -> dict[str, str]:
        """The account that a separate client host logs in with; its password is in a file that
        restore() removes.
        """
        path = os.path.join(os.path.dirname(self.planned()["path"]), PASSWORD)
        if not os.path.exists(path):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(16))
        with open(path) as stream:
            return {"user": self.planned()["schema"], "host": "%", "password": stream.read()}

    def measure(self) -> dict[str, Any]:
        """Run one cell once and keep what it gave."""
        step, result = self.arguments["step"], self.kept()
        cell = cell_of(result, step)
        on_source = self.me == self.source.host
        options = load_options(
            cell,
            result["suite"]["time_limit"],
            self.planned()["schema"],
            len(self.replicas),
            self.peers() if on_source else [],
        )
        login = self.arguments["login"] if on_source else self.client_login()
        begin, moment, main = time.time(), results.now(), os.getppid()
        loaded = self._execute_module(
            module_name=LOAD, task_vars=self.task_vars, module_args={**login, **options}
        )
        if loaded.get("failed"):
            run = record.failed_run(loaded.get("msg") or "the load failed")
        else:
            run = loaded["runs"][0]
        if run["rtt_ms"] is None and run["valid"]:
            run = record.with_known_trip(run, result, cell)
        if not run_lives(main):
            raise AnsibleActionFail("ansible-playbook was killed; the next run measures this again")
        lapsed = [each.host for each in self.servers if self.lifeline(each.host).lapsed()]
        if lapsed:
            run = record.lapsed_run(run, lapsed, LEASE)
        record.add(result, cell["id"], step["repetition"], run, moment, time.time() - begin)
        self.keep(result)
        self.show(result, step)
        return {"changed": True, "valid": run["valid"], "reason": run["reason"]}

    def client_login(self) -> dict[str, Any]:
        """Login options of a client host, which is another than the source."""
        account = self.account()
        return {
            "login_user": account["user"],
            "login_password": account["password"],
            "login_host": self.source.address,
            "login_port": self.arguments["login"].get("login_port", 3306),
            "config_file": "",
        }

    def show(self, result: dict[str, Any], step: dict[str, Any]) -> None:
        """A line for the run that has just ended."""
        steps = self.planned()["steps"]
        position = steps.index(step) + 1
        cell = cell_of(result, step)
        run = next(run for run in cell["repetitions"] if run["number"] == step["repetition"])
        seconds = schedule.expected_seconds(result, steps[position:], record.walls(result))
        left = schedule.in_words(seconds)
        display.display(record.line(cell, run, position, len(steps), left))

    def confirm(self) -> dict[str, Any]:
        """Where the load came from another host: whether netem on this one dropped packets, which
        that one cannot see.
        """
        now = self.module(ENVIRONMENT)["dropped"]
        before = self.registered(self.me, "confirmed_from").get("dropped", 0)
        # A netem that was put on anew counts from zero.
        lost = now - before if now >= before else now
        if lost:
            step, result = self.arguments["step"], self.kept()
            reason = f"netem dropped {lost} packets"
            record.spoil(result, step["cell"], step["repetition"], reason)
            self.keep(result)
            display.display(f"  {step['cell']} does not count: {reason}")
        return {"changed": False, "dropped": now}

    def restore(self) -> dict[str, Any]:
        """Put back whatever a step set on this host."""
        try:
            done = self.put_back()
        finally:
            # Where that failed, the host tries by itself when its timers run out.
            self.lifeline(self.me).release()
        done["changed"] = any(part["changed"] for part in done.values())
        return done

    def put_back(self) -> dict[str, Any]:
        """The modules' results."""
        done = {
            "setting": self.module(
                SETTING, state="absent", side=self.side, **self.arguments["login"]
            )
        }
        # Before the servers were read, any of them may be the one that a run delayed.
        if self.side == "source" or self.source.info is None:
            done["netem"] = self.module(
                NETEM, state="absent", peers=self.peers(), ping_count=self.arguments["pings"]
            )
            planned = self.planned().get("path")
            if planned and os.path.exists(os.path.join(os.path.dirname(planned), PASSWORD)):
                os.unlink(os.path.join(os.path.dirname(planned), PASSWORD))
        return done

    def finish(self) -> dict[str, Any]:
        """Close the run: what it says, its checkpoints, and whether the pair is as it was."""
        result, path = self.kept(), self.planned()["path"]
        info = self.module(
            INFO,
            wait_for={"clients": len(self.replicas), "source_status": True},
            wait_timeout=60,
            **self.arguments["login"],
        )
        status = info["semisync"]["source"]["status"]
        restored = {
            "qdiscs_after": (self.registered(self.me, "restored_from").get("netem") or {}).get(
                "qdiscs_after"
            ),
            "status": status["status"],
            "clients": int(status["clients"] or 0),
            "replicas": len(self.replicas),
        }
        record.finish(result, results.now())
        self.keep(result)
        rows = points.points(result, self.me, restored)
        for row in rows:
            row["at"] = result["ended"]
        if rows:
            results.keep_rows(os.path.dirname(path), rows)
        display.display(record.summary(result, path))
        return {
            "changed": False,
            "path": path,
            "statement": result["statement"],
            "checkpoints": rows,
            "invalid": [cell["label"] for cell in result["cells"] if not cell["valid"]],
        }
