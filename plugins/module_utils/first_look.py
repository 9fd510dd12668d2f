# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first look of a failover at a host: its server, or how that ended."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils import everything
from ansible_collections.dbre.semisync.plugins.module_utils.binlog import salvage
from ansible_collections.dbre.semisync.plugins.module_utils.host import unit_exit
from ansible_collections.dbre.semisync.plugins.module_utils.role_change import (
    failover_facts,
    last_words,
)


def read(module: Any) -> dict[str, Any]:
    """Everything about this server, and what the judge of a failover needs beside it."""
    try:
        info = everything.state(module)
    except everything.UNREADABLE as error:
        failure = everything.unreadable(error, module.params)
        seen: dict[str, Any] = {}
        if failure["reason"] == "stopped":
            seen["ended"] = unit_exit.read(module)
            seen["log"] = last_words.read(module, module.params["error_log"])
            if module.params["files"]:
                seen["salvage"] = salvage.look(module)
        module.fail_json(look=seen, **failure)
    return {**everything.beside(module, info, True), "look": failover_facts.read(module, info)}
