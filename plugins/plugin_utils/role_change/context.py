# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step of failover.yml knows: Ansible's variables, and what earlier runs have kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import survivors
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.readings import (
    Judged,
    Read,
    of_results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.survivors import Evidence
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.kept import Shelf


class Known:
    """What one task knows.

    Args:
        arguments: the task's.
        task_vars: its variables.
        own: this host's settings.
        on_host: runs the module on this host with a plan, and with options of its own.
        token_of: marks this run; takes the cluster's name and its Members.
        task: Ansible's own; in check mode nothing may be written.
    """

    def __init__(
        self,
        arguments: dict[str, Any],
        task_vars: Any,
        own: settings.Settings,
        on_host: Callable[..., dict[str, Any]],
        token_of: Callable[[str, list[Member]], str],
        task: Any,
    ) -> None:
        self.arguments, self.task_vars, self.own = arguments, task_vars, own
        self.on_host, self.task, self.check_mode = on_host, task, bool(task.check_mode)
        self.host = str(task_vars["inventory_hostname"])
        self.name, self.members = cluster.members(task_vars, arguments["info_from"], own=own)
        # Behind a failover of a pair nobody is left beside the new source.
        wrong = cluster.inventory_problems(
            task_vars, arguments["info_from"], self.name, self.members, self.is_settled()
        )
        cluster.refuse(task_vars, self.name, self.members, wrong)
        self.token = token_of(self.name, self.members)
        self.judged_by = self.assembled()
        self.opened = self.judged_by.opened
        self.members = self.judged_by.evidence.members

    @property
    def mine(self) -> Member:
        return cluster.of_host(self.task_vars, self.members)

    def results_of(self, argument: str) -> dict[str, Any]:
        """host -> the result that it registered under the name that an argument has."""
        variables, name = self.task_vars["hostvars"], self.arguments.get(argument)
        return {
            member.host: (variables[member.host].get(name) or {}) if name else {}
            for member in self.members
        }

    def is_replica(self) -> bool:
        """Whether this host is one that was read."""
        return self.mine in survivors.readable(self.members)

    def assembled(self) -> Judged:
        """Everything that is known now; see verdict/evidence.py."""
        return of_results(
            self.members,
            self.read(),
            self.kept(results.STATE),
            self.kept(results.BEGUN),
            self.own,
            time.time(),
            self.fence(),
            (self.fenced() or {}).get("failed", ()),
        )

    def evidence(self) -> Evidence:
        return self.judged_by.evidence

    def read(self) -> Read:
        """What the modules of this run's steps returned."""
        frozen = self.results_of("frozen_from") if self.arguments.get("frozen_from") else None
        return Read(
            self.results_of("info_from"),
            self.results_of("reach_from"),
            frozen,
            self.results_of("salvage_from"),
        )

    def fence(self) -> str:
        """Whether a hook is still to end the source, or has run; once it was seen dead, neither."""
        if not self.own.get("hook_fence"):
            return ""
        if self.arguments["step"] == "plan":
            return survivors.BEHIND if self.arguments.get("fenced_from") else survivors.AHEAD
        seen = self.fence_seen()
        return survivors.BEHIND if seen and seen["case"] and not seen["dead_at"] else ""

    def fence_seen(self) -> dict[str, Any] | None:
        """What the step before has kept of those tasks."""
        kept = self.results_of("fenced_from")[self.host].get("certificate") or {}
        seen: dict[str, Any] | None = kept.get("fenced")
        return seen

    def fenced(self) -> dict[str, Any] | None:
        """What is known of the tasks that fence the source; None where there are none."""
        before, seen = self.results_of("fenced_from"), self.fence_seen()
        if self.arguments["step"] != "plan" or self.fence() != survivors.BEHIND:
            return seen
        left = self.task_vars["ansible_play_hosts"]
        failed = sorted(host for host, result in before.items() if result and host not in left)
        return dict(seen or {"case": None, "words": "", "dead_at": None}, failed=failed)

    def last(self) -> dict[str, Any] | None:
        """The last look at the source; this run's own, if the source lives."""
        return self.evidence().last

    def kept(self, file: str) -> dict[str, Any] | None:
        """What an earlier run kept in the cluster's folder."""
        kept = results.read_json(os.path.join(self.folder(), file), None)
        return kept if isinstance(kept, dict) else None

    def folder(self) -> str:
        return results.cluster_folder(self.arguments.get("results_dir", "results"), self.name)

    def speaks(self) -> bool:
        return cluster.speaks(self.task_vars, self.members, self.task)

    def is_settled(self) -> bool:
        """Whether the report comes after everything else."""
        return boolean(self.arguments.get("settled") or False)

    def shelf(self) -> Shelf:
        """Where the last look is kept."""
        base = self.arguments.get("results_dir", "results")
        return Shelf(base, self.name, None, results.now(), self.check_mode)
