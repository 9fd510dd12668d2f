# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits until a server's state is what a task wants."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication.state import read_once
from ansible_collections.dbre.semisync.plugins.module_utils._server import login
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import (
    describe_channel,
    running,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ServerState,
        State,
        WaitFor,
    )

POLL_SECONDS = 0.1
# Option wait_for of semisync_info.
WAIT_FOR = {
    "answering": {"type": "bool", "default": True},
    "channel": {"type": "bool", "default": False},
    "clients": {"type": "int"},
    "no_clients": {"type": "bool", "default": False},
    "source_status": {"type": "bool", "default": False},
    "replica_status": {"type": "bool", "default": False},
    "max_lag": {"type": "int"},
    "tls_only": {"type": "str"},
}


def read_when(
    module: AnsibleModule,
    wanted: WaitFor,
    timeout: float,
) -> tuple[State, float]:
    """The state as soon as every wanted condition holds, and the seconds that took; fails when time
    is up.
    """
    begin = time.monotonic()

    def look() -> tuple[State | None, list[str]]:
        """The state, None if it cannot be read, and what it lacks."""
        try:
            info = read_once(module)
        except ServerError as error:
            return None, [login.explain(error, module.params)]
        return info, unmet(wanted, info)

    info, lacking = wait_until(
        look,
        timeout,
        POLL_SECONDS,
        enough=lambda seen: not seen[1],
    )
    if info is None or lacking:
        module.fail_json(
            msg=f"waited {int(timeout)} s in vain: {'; '.join(lacking)}", reason="wait"
        )
    return info, time.monotonic() - begin


def unmet(wanted: WaitFor, info: ServerState) -> list[str]:
    """What a wait still lacks, in words; an empty list when every wanted condition holds.

    Args:
        wanted: {'channel': bool, 'clients': int, 'no_clients': bool, 'source_status': bool,
            'replica_status': bool, 'max_lag': int, 'tls_only': str}.
        info: result of read().
    """
    lacking = []
    source, replica = info["semisync"]["source"]["status"], info["semisync"]["replica"]["status"]
    if wanted.get("channel") and not running(info["channel"]):
        lacking.append("the replication channel does not run: " + describe_channel(info["channel"]))
    clients = wanted.get("clients")
    if clients is not None and int(source["clients"] or 0) < clients:
        lacking.append(
            f"{source['clients'] or 0} semi-sync replicas are connected, {clients} are wanted"
        )
    if wanted.get("no_clients") and int(source["clients"] or 0) > 0:
        lacking.append(f"{source['clients']} semi-sync replicas are still connected")
    if wanted.get("source_status") and source["status"] != "ON":
        lacking.append(f"semi-sync's status on the source is {source['status']}")
    if wanted.get("replica_status") and replica["status"] != "ON":
        lacking.append(f"semi-sync's status on the replica is {replica['status']}")
    lag, most = info["channel"] and info["channel"]["seconds_behind"], wanted.get("max_lag")
    if most is not None and (lag is None or int(lag) > most):
        lacking.append(
            f"its lag is {'unknown' if lag is None else f'{lag} s'}, at most {most} s are wanted"
        )
    plain = [
        reader["host"]
        for reader in info["readers"]
        if reader["user"] == wanted.get("tls_only") and reader["tls"] is False
    ]
    if plain:
        lacking.append(
            f"sessions read the binary log as {wanted['tls_only']} without TLS, from"
            f" {', '.join(plain)}"
        )
    return lacking
