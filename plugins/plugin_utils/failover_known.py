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
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import failover, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import (
    failover_again,
    history,
    remains,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.kept import Shelf
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.remains import Evidence


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
        wrong = problems.of_inventory(self.name, self.members, self.is_settled())
        cluster.refuse(task_vars, self.name, self.members, wrong)
        for member in self.members:
            raw = task_vars["hostvars"][member.host].get(arguments["info_from"]) or {}
            if member.info is None and raw.get("reason") == "stopped":
                # The module says to start it, and that is what nobody may do now.
                member.error = "its server does not run, or does not listen where it was looked for"
        self.token = token_of(self.name, self.members)
        self.opened = failover_again.find(self.members, self.begun())
        if self.opened:
            for member in self.members:
                # Who died is none of them any more where the journal says so already.
                known = self.opened.source in [one.host for one in self.members]
                dead = self.opened.source if known else self.opened.target.host
                member.side = "source" if member.host == dead else "replica"

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
        return self.mine in remains.readable(self.members)

    def evidence(self) -> Evidence:
        """Everything that is known now."""
        frozen = self.results_of("frozen_from") if self.arguments.get("frozen_from") else None
        for member in self.members:
            stopped = (frozen or {}).get(member.host) or {}
            if member.info is not None and "gtid" in stopped:
                member.info = dict(member.info, gtid=stopped["gtid"], channel=stopped["channel"])
        return Evidence(
            members=self.members,
            source=self.results_of("info_from")[source_of(self.members).host],
            looks=self.looks(),
            frozen=frozen,
            last=self.last(),
            settings=self.own,
            now=time.time(),
            salvage=self.salvaged(),
            fence=self.fence(),
            unfenced=(self.fenced() or {}).get("failed", ()),
        )

    def tried(self, host: str) -> list[dict[str, Any]]:
        """The places at which a replica has tried to log in, with what became of it."""
        looked = self.results_of("info_from")[host].get("look") or {}
        return [*looked.get("tried", ()), *self.results_of("reach_from")[host].get("tried", ())]

    def peers_of(self, asking: Member) -> list[dict[str, Any]]:
        """Where a replica reaches the others."""
        peers = failover.peers(self.members, asking)
        return [peer for peer in peers if peer["host"] != asking.host]

    def looks(self) -> dict[str, Any]:
        """host -> what was read of it beside its state: of a replica that was read, by the others'
        names; of the source, how it ended.
        """
        known = {}
        for member in self.members:
            looked = self.results_of("info_from")[member.host].get("look") or {}
            if member in remains.readable(self.members):
                reached = failover.reached(self.peers_of(member), self.tried(member.host))
                known[member.host] = {**looked, **reached}
            else:
                known[member.host] = {"ended": looked.get("ended")}
        return known

    def fence(self) -> str:
        """Whether a hook is still to end the source, or has run; once it was seen dead, neither."""
        if self.arguments["step"] != "plan" or not self.own.get("hook_fence"):
            return ""
        return remains.BEHIND if self.arguments.get("fenced_from") else remains.AHEAD

    def fenced(self) -> dict[str, Any] | None:
        """What is known of the tasks that fence the source; None where there are none."""
        before = self.results_of("fenced_from")
        seen: dict[str, Any] | None = (before[self.host].get("certificate") or {}).get("fenced")
        if self.fence() != remains.BEHIND:
            return seen
        left = self.task_vars["ansible_play_hosts"]
        failed = sorted(host for host, result in before.items() if result and host not in left)
        return dict(seen or {"case": None, "words": "", "dead_at": None}, failed=failed)

    def salvaged(self) -> dict[str, Any] | None:
        """What was found in the source's binary log, or of it."""
        host = source_of(self.members).host
        looked = self.results_of("info_from")[host].get("look") or {}
        seen = self.results_of("salvage_from")[host].get("salvage") or looked.get("salvage")
        return dict(seen) if seen else None

    def last(self) -> dict[str, Any] | None:
        """What verify.yml kept of its last look; this run's own, where the source lives."""
        kept = results.read_json(os.path.join(self.folder(), results.STATE), None)
        known = kept if isinstance(kept, dict) else None
        living = None if self.opened else source_of(self.members).info
        return history.look_back(known, living, results.stamp(results.now()))[0] or known

    def begun(self) -> dict[str, Any] | None:
        """The certificate of a run that has not said what became of it."""
        kept = results.read_json(os.path.join(self.folder(), results.BEGUN), None)
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
