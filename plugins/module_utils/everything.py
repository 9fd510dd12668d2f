# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is read of a server and its host: the RETURN section of semisync_info."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.answer import place
from ansible_collections.dbre.semisync.plugins.module_utils.host import error_log, process
from ansible_collections.dbre.semisync.plugins.module_utils.host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils.replication import (
    backlog,
    calm,
    certificates,
)
from ansible_collections.dbre.semisync.plugins.module_utils.replication.state import read_once
from ansible_collections.dbre.semisync.plugins.module_utils.seed import marker
from ansible_collections.dbre.semisync.plugins.module_utils.server import login
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.versions import (
    UnknownServerError,
)

# What keeps a server from being read.
UNREADABLE = (UnknownServerError, ServerError)


def state(module: Any) -> dict[str, Any]:
    """The server's own state. One that is being seeded on this host is waited for.

    Raises:
        UnknownServerError: a fork or a version that this collection does not know.
        ServerError: it does not answer.
    """
    read: dict[str, Any] = marker.patiently(lambda: read_once(module))
    return read


def beside(module: Any, info: dict[str, Any], measure_backlog: bool) -> dict[str, Any]:
    """The state with what its host says, and what takes more than one look.

    Args:
        module: the AnsibleModule, with login's options and `option_file`.
        info: of state().
        measure_backlog: whether a replica is watched while it applies.
    """
    params, variables = module.params, info["variables"]
    # Behind the state, with its GTIDs: see there.
    result = dict(info, **calm.read(module, info))
    if measure_backlog:
        result["backlog"] = backlog.read(module) if info["channel"] else None
    result["login"] = {key: params["login_" + key] for key in ("host", "port", "unix_socket")}
    result.update(process.read(module, variables, params["option_file"]))
    result["error_log"] = error_log.read(variables, result["pid"])
    result["answer"] = place.read(int(variables["port"] or 0))
    result["seed"] = marker.read_marker(variables.get("port"))
    result["certificates"] = certificates.read(variables, read_text)
    return result


def unreadable(error: Exception, params: dict[str, Any]) -> dict[str, str]:
    """What fail_json takes where it cannot be read: the words, and the kind of failure."""
    if isinstance(error, ServerError):
        return {"msg": login.explain(error, params), "reason": login.kind(error)}
    return {
        "msg": f"server not identified: {error}. Supported: MySQL and Percona Server from 5.5,"
        " MariaDB from 5.5.",
        "reason": "server",
    }
