# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is read of a server and its host: the RETURN section of semisync_info."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    files,
    server_files,
    server_options,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication import ack_wait
from ansible_collections.dbre.semisync.plugins.module_utils._replication.state import read_once
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import dropin_place
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.received_shapes import (
        Received,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Backlog,
        Info,
        OnHost,
        OptionFiles,
        State,
        Variables,
    )


def state(module: AnsibleModule) -> State:
    """The server's own state. Waits for a server that is being seeded on this host.

    Raises:
        UnknownServerError: a fork or a version that this collection does not know.
        ServerError: it does not respond.
    """
    return marker.patiently(lambda: read_once(module))


def with_host_facts(module: AnsibleModule, info: State, measure_backlog: bool) -> Info:
    """The state with what its host shows, and what takes more than one look.

    Args:
        module: the AnsibleModule, with login's options and `option_file`.
        info: of state().
        measure_backlog: whether a replica is watched while it applies.
    """
    params, variables = module.params, info["variables"]
    # After the state, with its GTIDs: see there.
    measured = ack_wait.read_ack_wait(module, info)
    applies = backlog_of(module) if measure_backlog and info["channel"] else None
    on_host = server_options.server_on_host(
        module,
        variables,
        params["option_file"],
    )
    result: Info = {
        **info,
        **measured,
        **on_host,
        "fence": fence_stands(on_host["option_files"]),
        "login": {
            "host": params["login_host"],
            "port": params["login_port"],
            "unix_socket": params["login_unix_socket"],
        },
        "error_log": server_files.read_error_log(
            variables,
            on_host["pid"],
        ),
        "answer": answer_layout.installed_answer(int(variables["port"] or 0)),
        "received": received_of(int(variables["port"] or 0), info["engine"], on_host),
        "seed": marker.read_marker(variables.get("port")),
        "disk_full": disk_full(on_host, variables),
        "certificates": server_files.read_certificates(variables, files.read_text),
    }
    if measure_backlog:
        result["backlog"] = applies
    return result


def disk_full(on_host: OnHost, variables: Variables) -> str:
    """Which file systems of a server of this host are full, in words."""
    folders = disk_space.folders_of(variables) if on_host["pid"] else []
    return disk_space.words(disk_space.full_folders(folders))


def received_of(server_port: int, engine: str, on_host: OnHost) -> Received | None:
    """What received_place.read_received() says; None on MySQL."""
    if engine != "mariadb":
        return None
    # Not at the top: see backlog_of().
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change import received_place

    return received_place.read_received(server_port, on_host)


def fence_stands(option_files: OptionFiles) -> bool:
    """Whether the option file of a switchover stands there; see dropin_place.closes()."""
    try:
        return dropin_place.closes(
            option_files["path"], option_files["kind"], option_files["group"]
        )
    except OSError:
        # What option_files has of them says why.
        return False


def backlog_of(module: AnsibleModule) -> Backlog | None:
    """What backlog.measured_backlog() says."""
    # Not at the top: hosts compile it and the GTIDs' types at each import, most for nothing.
    from ansible_collections.dbre.semisync.plugins.module_utils._replication import backlog

    return backlog.measured_backlog(module)
