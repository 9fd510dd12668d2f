# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The context of a part of a benchmark on the controller: the cluster, the results of other tasks,
and the run's file.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from ansible.errors import AnsibleActionFail
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    NewAccount,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import Qdisc
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import environment, suite
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Environment,
    Machine,
    Step,
    Suite,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.environment import MachineOfRun
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.suite_file import SuiteError
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster, refusal, results

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict
else:
    TypedDict = dict

CLIENT_FILE = ".client-password"

# What each part needs in addition.
NEEDED = {
    "plan": ["suite", "environment_from"],
    "prepare": ["step", "environment_from", "plan_from", "measured_from"],
    "measure": ["step", "environment_from", "plan_from"],
    "confirm": ["step", "plan_from", "confirmed_from"],
    "restore": ["environment_from", "plan_from"],
    "finish": ["plan_from", "restored_from"],
}
ARGUMENTS: dict[str, dict[str, object]] = {
    "do": {"type": "str", "choices": list(NEEDED), "required": True},
    "suite": {"type": "str"},
    "suite_folders": {"type": "list", "elements": "path", "default": []},
    "profile": {"type": "str", "choices": ["full", "quick"], "default": "full"},
    "repetitions": {"type": "int", "default": 0},
    "resume": {"type": "bool", "default": True},
    "info_from": {"type": "str", "required": True},
    "environment_from": {"type": "str"},
    "plan_from": {"type": "str"},
    "measured_from": {"type": "str"},
    "confirmed_from": {"type": "str"},
    "restored_from": {"type": "str"},
    "step": {"type": "dict"},
    "pings": {"type": "int", "default": 0},
    "login": {"type": "dict", "default": {}, "no_log": True},
    "results_dir": {"type": "path", "default": "results"},
    "run": {"type": "str"},
}


class BenchmarkOptions(TypedDict):
    """semisync_benchmark's options; those that end in _from name variables."""

    do: str
    suite: str
    suite_folders: list[str]
    profile: str
    repetitions: int
    resume: bool
    info_from: str
    environment_from: str | None
    plan_from: str | None
    measured_from: str | None
    confirmed_from: str | None
    restored_from: str | None
    step: Step
    pings: int
    login: dict[str, object]
    results_dir: str
    run: str | None


class Planned(TypedDict):
    """What plan() returned on the source; on a client host, as which host the source sees it."""

    steps: NotRequired[list[Step]]
    path: NotRequired[str | None]
    schema: NotRequired[str]
    seen_as: NotRequired[str]


class Surroundings(TypedDict):
    """What semisync_environment returned on a host."""

    environment: NotRequired[Machine]
    addresses: NotRequired[dict[str, str | None]]
    tools: NotRequired[dict[str, str | None]]
    rtt_ms: NotRequired[dict[str, float | None]]
    no_delay: NotRequired[str]


class BenchmarkContext:
    """A cluster, as a task on one of its hosts sees it.

    Args:
        task_vars: the task's variables.
        arguments: its options.
    """

    def __init__(
        self,
        task_vars: Mapping[str, Any],
        arguments: BenchmarkOptions,
    ) -> None:
        self.task_vars, self.arguments = task_vars, arguments
        try:
            self.name, members = cluster.members(task_vars, arguments["info_from"])
        except refusal.HeldError as error:
            raise AnsibleActionFail(str(error)) from error
        self.source = next(member for member in members if member.side == "source")
        self.replicas = [member for member in members if member.side == "replica"]
        self.servers = [self.source, *self.replicas]
        self.folder = results.cluster_folder(arguments["results_dir"], self.name)
        self.me: str = task_vars["inventory_hostname"]
        self.side: Literal["source", "replica"] = "replica"
        if self.me == self.source.host:
            self.side = "source"

    # What other tasks registered.

    def registered(
        self,
        host: str,
        variable: str | None,
    ) -> Mapping[str, Any]:
        """A host's result in a variable; empty if there is none."""
        return self.task_vars["hostvars"][host].get(variable or "") or {}

    def planned(self, host: str = "") -> Planned:
        """What plan() returned on a host, the source by default."""
        return cast(
            "Planned", self.registered(host or self.source.host, self.arguments["plan_from"])
        )

    def surroundings(self, host: str) -> Surroundings:
        return cast("Surroundings", self.registered(host, self.arguments["environment_from"]))

    def measured(self) -> bool:
        """Whether the client's previous run counted."""
        run = self.registered(self.client(), self.arguments["measured_from"])
        return bool(run.get("valid"))

    def confirmed(self) -> int:
        """Packets that netem had dropped on this host after the previous run."""
        return self.registered(self.me, self.arguments["confirmed_from"]).get("dropped", 0)

    def qdiscs_after(self) -> list[Qdisc] | None:
        """This host's qdiscs after the restore; None if they were not reported."""
        restored = self.registered(self.me, self.arguments["restored_from"])
        return (restored.get("netem") or {}).get("qdiscs_after")

    # The suite, and the run as it is stored.

    def read_suite(self) -> tuple[str, Suite]:
        """(its id, the suite). Only plan() reads it, and stores it for all other parts."""
        try:
            path = suite.find(self.arguments["suite"], self.arguments["suite_folders"])
            with open(path) as stream:
                wanted = suite.read_suite(stream.read(), path, self.arguments["profile"])
        except (SuiteError, OSError, UnicodeDecodeError) as error:
            raise AnsibleActionFail(f"Nothing was changed. {error}") from error
        if self.arguments["repetitions"]:
            wanted["repetitions"] = self.arguments["repetitions"]
        return os.path.splitext(os.path.basename(path))[0], wanted

    def path(self) -> str:
        """The path of benchmark-SUITE.json of this run."""
        return self.planned().get("path") or ""

    def kept(self) -> Benchmark:
        """benchmark-SUITE.json of this run."""
        kept = results.read_json(self.path(), None)
        if kept is None:
            raise AnsibleActionFail(f"{self.path()}, which this run wrote, cannot be read")
        return kept

    def keep(self, result: Benchmark) -> None:
        results.write_json(self.path(), result)

    # Hosts.

    def machine(self, host: str) -> Machine:
        return self.surroundings(host).get("environment", {})

    def peers(self, all_needed: bool = False) -> list[str]:
        """The replicas' addresses as the source's packets have them.

        Args:
            all_needed: whether one that the source cannot resolve is an error.
        """
        known = self.surroundings(self.source.host).get("addresses", {})
        lost = [member.host for member in self.replicas if not known.get(member.address)]
        if lost and all_needed:
            raise AnsibleActionFail(
                f"{self.source.host} cannot resolve the address of {', '.join(lost)}, so the"
                " traffic there cannot be delayed"
            )
        addresses = [known.get(member.address) for member in self.replicas]
        return [address for address in addresses if address]

    def client(self) -> str:
        """The host that the load runs on: the cluster's first in group semisync_client, else the
        source.
        """
        for host in self.task_vars["groups"].get("semisync_client", []):
            variables = self.task_vars["hostvars"][host]
            if str(variables.get("semisync_cluster", cluster.DEFAULT)) == self.name:
                return host
        return self.source.host

    def refuse_missing_tools(self, wanted: Suite) -> None:
        """Fail if the host that the load comes from cannot run it."""
        client = self.client()
        tools = self.surroundings(client).get("tools")
        if tools is None:
            raise AnsibleActionFail(
                f"Nothing was changed. The load is to run on {client}, which is not part of this"
                " run; see --limit"
            )
        slapper = self.source.facts["names"]["slapper"]
        missing = suite.lacking(wanted, client, tools, slapper)
        no_delay = self.surroundings(self.source.host).get("no_delay", "")
        if no_delay and any(cell["delay_ms"] for cell in wanted["cells"]):
            missing = f"{self.source.host}: {no_delay}"
        if missing:
            raise AnsibleActionFail(f"Nothing was changed. The suite's load cannot run: {missing}")

    def describe(self) -> Environment:
        """The run's environment."""
        machines = [
            MachineOfRun(member.host, member.side, member.info, self.machine(member.host))
            for member in self.servers
        ]
        client = self.client()
        if client != self.source.host:
            machines.append(MachineOfRun(client, "client", None, self.machine(client)))
        trips = self.surroundings(self.source.host).get("rtt_ms", {})
        rtt_ms = {member.host: trips.get(member.address) for member in self.replicas}
        return environment.environment_of_run(machines, rtt_ms, environment.collection_version())

    # The account of a client host.

    def account_file(self) -> str:
        return os.path.join(os.path.dirname(self.path()), CLIENT_FILE)

    def account(self) -> NewAccount:
        """The account that a separate client host logs in with; its password is in a file that
        forget_account() removes.
        """
        path = self.account_file()
        if not os.path.exists(path):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(16))
        with open(path) as stream:
            password = stream.read()
        # From the address that the source saw, or from anywhere if the source did not report one.
        host = self.planned(self.client()).get("seen_as") or "%"
        return {"user": self.planned()["schema"], "host": host, "password": password}

    def forget_account(self) -> None:
        """Remove the password's file, if there is one."""
        if self.path() and os.path.exists(self.account_file()):
            os.unlink(self.account_file())

    def client_login(self) -> dict[str, object]:
        """Login options of a client host that is not the source."""
        account = self.account()
        return {
            "login_user": account["user"],
            "login_password": account["password"],
            **self.source_login(),
            "config_file": "",
        }

    def source_login(self) -> dict[str, object]:
        """The address at which another host reaches the source."""
        port = self.arguments["login"].get("login_port", 3306)
        return {"login_host": self.source.address, "login_port": port}
