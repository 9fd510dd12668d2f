# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a change of roles by name, and how one is run."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.role_change import watchdog
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_replica import (
    FailoverReplica,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.failover_target import (
    FailoverTarget,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.switchover_parts import (
    PARTS,
    patiently,
)

FAILOVER_PARTS: dict[str, Any] = {"target": FailoverTarget, "replica": FailoverReplica}


def run(module: Any) -> dict[str, Any]:
    """This host's part."""
    if module.check_mode:
        return {"changed": True, "outcome": "", "reason": "", "statements": []}
    failing = module.params["operation"] == "failover"
    kind = (FAILOVER_PARTS if failing else PARTS)[module.params["part"]]
    warden = None
    if module.params["mode"] == "switch":
        # What was received may take long to be applied.
        longest = watchdog.seconds(module.params) + (module.params["catch_up"] if failing else 0)
        # Before there is any connection.
        warden = watchdog.Guard(lambda stage: patiently(module, kind).recover(stage), longest)
    try:
        return dict(kind(module, warden).go())
    finally:
        if warden:
            warden.end()
