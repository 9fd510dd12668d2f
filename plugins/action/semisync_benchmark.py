# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
import os
import secrets
import time
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import LoadRun
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import (
    benchmark_points,
    environment,
    run_begin,
    run_record,
    schedule,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_context import (
    ARGUMENTS,
    NEEDED,
    BenchmarkContext,
    BenchmarkOptions,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    MeasuredCell,
    Restored,
    Step,
    Suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.step_options import (
    cell_of,
    load_options,
    netem_options,
    setting_options,
    timer_prefixes,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    closing,
    progress,
    results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.lifeline import (
    LEASE,
    Lifeline,
    clock,
    run_lives,
)

display = Display()
SETTING = "dbre.semisync.semisync_setting"
NETEM = "dbre.semisync.netem"
ENVIRONMENT = "dbre.semisync.semisync_environment"
LOAD = "dbre.semisync.semisync_load"
SEED = "dbre.semisync.semisync_seed"
INFO = "dbre.semisync.semisync_info"


class ActionModule(ActionBase):
    """Runs a suite cell by cell; documented in plugins/modules/semisync_benchmark.py."""

    TRANSFERS_FILES = False

    def run(
        self,
        tmp: Any = None,
        task_vars: Any = None,
    ) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_if=[("do", part, names) for part, names in NEEDED.items()],
        )
        self.arguments: BenchmarkOptions = arguments
        self.known = BenchmarkContext(task_vars, self.arguments)
        result.update(getattr(self, arguments["do"])())
        return result

    def lifeline(self, host: str) -> Lifeline:
        """This run's sign of life for a server's host."""
        side = "source" if host == self.known.source.host else "replica"
        return Lifeline(constants.DEFAULT_LOCAL_TMP, host, timer_prefixes(side))

    def module(
        self,
        name: str,
        **options: object,
    ) -> dict[str, Any]:
        """A module's result on this host; if it fails, this task fails."""
        result = self._execute_module(
            module_name=name, module_args=options, task_vars=self.known.task_vars
        )
        if result.get("failed"):
            raise AnsibleActionFail(f"{self.known.me}: {result.get('msg', result)}")
        return result

    def plan(self) -> dict[str, object]:
        """Read the suite, and begin its run or resume an interrupted run."""
        known = self.known
        suite_id, wanted = known.read_suite()
        if known.me != known.source.host:
            seen = {"seen_as": self.seen_as()} if known.me == known.client() else {}
            return {"changed": False, "source": known.source.host, **seen}
        known.refuse_missing_tools(wanted)
        for words in environment.defects(known.source.facts):
            display.warning(words)
        moment, profile = results.now(), self.arguments["profile"]
        described = known.describe()
        fresh = run_begin.begin(known.name, suite_id, wanted, profile, described, moment)
        begun = run_begin.begun(known.folder, fresh, wanted, self.arguments["resume"])
        path = None
        if not self._task.check_mode:
            path = self.open(begun.result, moment, begun.run)
        self.announce(wanted, begun)
        return {
            "steps": begun.steps,
            "path": path,
            "source": known.source.host,
            "client": known.client(),
            "expected_seconds": round(begun.expected),
            "schema": "semisync_bench_" + secrets.token_hex(6),
            "changed": False,
            "run": os.path.basename(os.path.dirname(path)) if path else None,
        }

    def announce(
        self,
        suite: Suite,
        begun: run_begin.Begun,
    ) -> None:
        """Show what will be run, and for how many seconds."""
        known = self.known
        display.display(
            f"{suite['title']}\n  cluster {known.name}, {len(suite['cells'])} cells,"
            f" {suite['repetitions']} repetitions, profile {self.arguments['profile']}, load from"
            f" {known.client()}: {len(begun.steps)} runs,"
            f" about {progress.duration_text(begun.expected)}"
            + (f"; resuming the interrupted run {begun.run}" if begun.run else "")
        )

    def open(
        self,
        result: Benchmark,
        moment: datetime.datetime,
        interrupted: str | None,
    ) -> str:
        """Write the record of a new or resumed run; return its path."""
        suite_id = result["suite"]["id"]
        try:
            name = interrupted or self.arguments["run"]
            folder = results.open_run(self.known.folder, moment, name)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        path = os.path.join(folder, run_begin.file_name(suite_id))
        results.write_json(path, result)
        run_begin.remove_former(path, suite_id)
        return path

    def seen_as(self) -> str:
        """As which host the source sees this client; empty if it does not report it."""
        login = self.known.source_login()
        where = {"source_host": login["login_host"], "source_port": login["login_port"]}
        result = self._execute_module(
            module_name=SEED,
            module_args={"part": "seen", "method": "clone", **where},
            task_vars=self.known.task_vars,
        )
        return str(result.get("host") or "")

    def prepare(self) -> dict[str, object]:
        """Set this host up for a step."""
        known = self.known
        step, result = self.arguments["step"], known.kept()
        lifeline, begun = self.lifeline(known.me), clock()
        # A run that did not count may have restarted a server, with the values of its option files.
        anew = not known.measured() or lifeline.lapsed()
        seconds = schedule.longest_step(result["suite"]["time_limit"])
        if lifeline.hold(self, seconds):
            seconds = LEASE
        else:
            anew = True
            display.warning(schedule.unheard(known.me, seconds, LEASE))
        done: dict[str, object] = {}
        changed = False
        if step[known.side] or anew:
            setting = self.set_up(cell_of(result, step), seconds)
            done["setting"], changed = setting, setting["changed"]
            lifeline.renewed(begun)
        if known.side == "source" and (step["delay"] or anew):
            netem = self.delay(result, cell_of(result, step), seconds)
            done["netem"], changed = netem, changed or netem["changed"]
        return {"changed": changed, **done}

    def set_up(
        self,
        cell: MeasuredCell,
        seconds: int,
    ) -> dict[str, Any]:
        """Apply a cell's settings to this host's server; return seconds until the rollback."""
        known = self.known
        info = next(member.facts for member in known.servers if member.host == known.me)
        options = setting_options(cell, known.side, info, len(known.replicas), seconds)
        if known.side == "source":
            options["schema"] = known.planned()["schema"]
            if known.client() != known.source.host:
                options["account"] = known.account()
        return self.module(SETTING, **self.arguments["login"], **options)

    def delay(
        self,
        result: Benchmark,
        cell: MeasuredCell,
        seconds: int,
    ) -> dict[str, Any]:
        """Apply a cell's delay on the source and record it; return seconds until the rollback."""
        delay_ms = cell["delay_ms"]
        peers = self.known.peers(all_needed=bool(delay_ms))
        netem = self.module(NETEM, **netem_options(cell, peers, seconds))
        if delay_ms and netem["changed"]:
            run_record.keep_netem(result, delay_ms, netem)
            self.known.keep(result)
        return netem

    def measure(self) -> dict[str, object]:
        """Run one cell once and record its result."""
        known = self.known
        step, result = self.arguments["step"], known.kept()
        cell = cell_of(result, step)
        main = os.getppid()
        begin, moment = time.time(), results.now()
        run = self.load(cell, result["suite"]["time_limit"])
        if run["rtt_ms"] is None and run["valid"]:
            run = run_record.with_known_trip(run, result, cell)
        if not run_lives(main):
            raise AnsibleActionFail(
                "ansible-playbook was killed; the next benchmark measures this again"
            )
        lapsed = [each.host for each in known.servers if self.lifeline(each.host).lapsed()]
        if lapsed:
            run = run_record.lapsed_run(run, lapsed, LEASE)
        run_record.add(result, cell["id"], step["repetition"], run, moment, time.time() - begin)
        known.keep(result)
        self.show(result, step)
        return {"changed": True, "valid": run["valid"], "reason": run["reason"]}

    def load(self, cell: MeasuredCell, time_limit: int) -> LoadRun:
        """Run a cell's load once on this host."""
        known = self.known
        on_source = known.me == known.source.host
        schema = known.planned()["schema"]
        peers = known.peers() if on_source else []
        options = load_options(cell, time_limit, schema, len(known.replicas), peers)
        login = self.arguments["login"] if on_source else known.client_login()
        loaded = self._execute_module(
            module_name=LOAD, task_vars=known.task_vars, module_args={**login, **options}
        )
        if loaded.get("failed"):
            return run_record.failed_run(loaded.get("msg") or "the load failed")
        return loaded["runs"][0]

    def show(self, result: Benchmark, step: Step) -> None:
        """Show a line for the run that has just ended."""
        steps = self.known.planned()["steps"]
        position = steps.index(step) + 1
        cell = cell_of(result, step)
        run = next(run for run in cell["repetitions"] if run["number"] == step["repetition"])
        seconds = schedule.expected_seconds(result, steps[position:], run_record.walls(result))
        left = progress.time_left(seconds)
        display.display(run_record.line(cell, run, position, len(steps), left))

    def confirm(self) -> dict[str, object]:
        """If the load came from another host, check whether netem dropped packets on this one,
        which that host cannot see.
        """
        now = self.module(ENVIRONMENT)["dropped"]
        before = self.known.confirmed()
        # A netem that was added again counts from zero.
        lost = now - before if now >= before else now
        if lost:
            step, result = self.arguments["step"], self.known.kept()
            reason = f"netem dropped {lost} packets"
            run_record.spoil(result, step["cell"], step["repetition"], reason)
            self.known.keep(result)
            display.display(f"  {step['cell']} does not count: {reason}")
        return {"changed": False, "dropped": now}

    def restore(self) -> dict[str, object]:
        """Restore whatever a step set on this host."""
        try:
            done = self.put_back()
        finally:
            # If that failed, the host tries by itself when its timers expire.
            self.lifeline(self.known.me).release()
        return {**done, "changed": any(part["changed"] for part in done.values())}

    def put_back(self) -> dict[str, dict[str, Any]]:
        """The results of the modules that restore."""
        known, login = self.known, self.arguments["login"]
        done = {"setting": self.module(SETTING, state="absent", side=known.side, **login)}
        # If the servers were not read, any of them may be the one that a run delayed.
        if known.side == "source" or known.source.info is None:
            done["netem"] = self.module(
                NETEM, state="absent", peers=known.peers(), ping_count=self.arguments["pings"]
            )
            known.forget_account()
        return done

    def finish(self) -> dict[str, object]:
        """Finish the run: its result, its checkpoints, and whether the pair is as before."""
        known = self.known
        result, path = known.kept(), known.path()
        info = self.module(
            INFO,
            wait_for={"clients": len(known.replicas), "source_status": True},
            wait_timeout=60,
            **self.arguments["login"],
        )
        status = info["semisync"]["source"]["status"]
        restored: Restored = {
            "qdiscs_after": known.qdiscs_after(),
            "status": status["status"],
            "clients": int(status["clients"] or 0),
            "replicas": len(known.replicas),
        }
        ended = results.now()
        run_record.finish(result, ended)
        known.keep(result)
        points = benchmark_points.points(result, known.me, restored)
        rows = check.at(results.stamp(ended), points)
        if rows:
            results.keep_rows(os.path.dirname(path), rows)
        display.display(run_record.end_of_run_text(result, path))
        last = [result["suite"]["title"], *result["statement"][:3], path]
        closing.leave(known.name, "benchmark", last)
        return {
            "changed": False,
            "path": path,
            "statement": result["statement"],
            "checkpoints": rows,
            "invalid": [cell["label"] for cell in result["cells"] if not cell["valid"]],
        }
