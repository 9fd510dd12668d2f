# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
from typing import Any, ClassVar

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils.bench.ping import Trip
from ansible_collections.dbre.semisync.plugins.module_utils.server import login
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils import (
    closing,
    cluster,
    refusal,
    results,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import advice
from ansible_collections.dbre.semisync.plugins.plugin_utils.cluster_action import (
    ClusterAction,
    Result,
    other_speaks,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems

MODULE = "dbre.semisync.semisync_advise"
# A run ends with at most so many lines of this verdict.
LINES = 5
display = Display()


class ActionModule(ClusterAction):
    """Watches a source and predicts; see plugins/modules/semisync_advise.py for its
    documentation.
    """

    TRANSFERS_FILES = True
    _requires_connection = True
    SPEC: ClassVar = login.argument_spec(
        info_from={"type": "str", "required": True},
        seconds={"type": "float", "default": 10},
        results_dir={"type": "path", "default": "results"},
    )

    def answer(self, arguments: Any, task_vars: Any) -> Result:
        name, members = cluster.members(task_vars, arguments["info_from"])
        unclear = problems.source_problems(members) or [
            member.error for member in members if member.side == "source" and member.error
        ]
        refusal.refuse(task_vars, name, members, unclear)
        source = source_of(members)
        if source.host != task_vars["inventory_hostname"]:
            return other_speaks()
        replicas = replicas_of(members)
        # As they were given: a path of the host is not the controller's.
        options = {**self._task.args, "peers": [member.address for member in replicas]}
        seen = self._execute_module(MODULE, options, task_vars=task_vars)
        if seen.get("failed"):
            return seen
        known = advice.advise(
            name,
            source.host,
            results.stamp(results.now()),
            seen["sample"],
            known_cluster(source, replicas, seen["sample"]["trips"]),
        )
        words = known["statement"]
        display.display("\n  ".join([f"Advice for cluster {name}", *words, *known["unknown"]]))
        closing.leave(name, "advice", [*words[: LINES - 1], *words[LINES - 1 :][-1:]])
        return {**seen, "advice": known, **self.keep(arguments["results_dir"], name, known)}

    def keep(self, results_dir: str, name: str, known: advice.Advice) -> dict[str, str]:
        """Write advice.json, and say where."""
        if self._task.check_mode:
            return {}
        run = results.open_run(results.cluster_folder(results_dir, name), results.now())
        path = os.path.join(run, advice.FILE)
        results.write_json(path, known)
        return {"path": path, "run": os.path.basename(run)}


def known_cluster(source: Member, replicas: list[Member], trips: dict[str, Trip]) -> advice.Cluster:
    """What a prediction needs of the servers."""
    facts = source.facts
    by_host = {member.host: trips[member.address]["median"] for member in replicas}
    return advice.Cluster(
        names=Names(facts["engine"], parse_version(facts["version"])),
        lock_wait_s=int(facts["variables"].get("innodb_lock_wait_timeout") or 50),
        trips=dict(
            sorted(by_host.items(), key=lambda pair: float("inf") if pair[1] is None else pair[1])
        ),
    )
