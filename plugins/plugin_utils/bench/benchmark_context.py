# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a part of a benchmark knows on the controller: the cluster, what other tasks registered, and
the file of the run.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import environment, suite
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.suite_file import SuiteError

CLIENT_FILE = ".client-password"


class Known:
    """A cluster, as a task on one of its hosts sees it.

    Args:
        task_vars: the task's variables.
        arguments: its options; those that end in _from name variables.
    """

    def __init__(self, task_vars: Any, arguments: dict[str, Any]) -> None:
        self.task_vars, self.arguments = task_vars, arguments
        try:
            self.name, members = cluster.members(task_vars, arguments["info_from"])
        except cluster.HeldError as error:
            raise AnsibleActionFail(str(error)) from error
        self.source = next(member for member in members if member.side == "source")
        self.replicas = [member for member in members if member.side == "replica"]
        self.servers = [self.source, *self.replicas]
        self.folder = results.cluster_folder(arguments["results_dir"], self.name)
        self.me = task_vars["inventory_hostname"]
        self.side = "source" if self.me == self.source.host else "replica"

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
            if str(variables.get("semisync_cluster", cluster.DEFAULT)) == self.name:
                return host
        return self.source.host

    def refuse_missing_tools(self, wanted: dict[str, Any]) -> None:
        """Fail where the host that the load comes from cannot run it."""
        tools = self.registered(self.client(), "environment_from").get("tools")
        if tools is None:
            raise AnsibleActionFail(
                f"Nothing was changed. {self.client()}, from which the load is to come, is not part"
                " of this run; see --limit"
            )
        missing = suite.lacking(wanted, self.client(), tools, self.source.facts["names"]["slapper"])
        if missing:
            raise AnsibleActionFail(f"Nothing was changed. The suite's load cannot run: {missing}")

    def describe(self) -> dict[str, Any]:
        """The run's environment."""
        machines: list[tuple[str, str, Info | None, dict[str, Any]]] = [
            (member.host, member.side, member.info, self.machine(member.host))
            for member in self.servers
        ]
        if self.client() != self.source.host:
            machines.append((self.client(), "client", None, self.machine(self.client())))
        trips = self.registered(self.source.host, "environment_from").get("rtt_ms", {})
        rtt_ms = {member.host: trips.get(member.address) for member in self.replicas}
        return environment.describe(machines, rtt_ms, environment.collection_version())

    def account(self) -> dict[str, str]:
        """The account that a separate client host logs in with; its password is in a file that
        restore() removes.
        """
        path = os.path.join(os.path.dirname(self.planned()["path"]), CLIENT_FILE)
        if not os.path.exists(path):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(16))
        with open(path) as stream:
            password = stream.read()
        # From where the source saw it ask, or from everywhere if the source did not tell.
        host = self.registered(self.client(), "plan_from").get("seen_as") or "%"
        return {"user": self.planned()["schema"], "host": host, "password": password}

    def client_login(self) -> dict[str, Any]:
        """Login options of a client host, which is another than the source."""
        account = self.account()
        return {
            "login_user": account["user"],
            "login_password": account["password"],
            **self.source_login(),
            "config_file": "",
        }

    def source_login(self) -> dict[str, Any]:
        """Where another host finds the source."""
        port = self.arguments["login"].get("login_port", 3306)
        return {"login_host": self.source.address, "login_port": port}
