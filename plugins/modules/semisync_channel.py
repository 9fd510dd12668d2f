#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_channel
short_description: Point a replica at its source by GTID, and start or stop its channel
version_added: "0.1.0"
description:
  - Configures the default replication channel by GTID (C(SOURCE_AUTO_POSITION),
    C(MASTER_USE_GTID=slave_pos)) and starts it, with the statement names of the server's version.
  - Does what community.mysql's C(mysql_replication) cannot - check mode, passwords with any
    character, and the source's
    public key for C(caching_sha2_password) without TLS.
  - A channel that already follows the source is not configured again.
options:
  state:
    description:
      - V(configured) points the channel at the source and starts it.
      - V(started) and V(stopped) start and stop both threads of an existing channel.
      - V(updated) gives an existing channel the given password and TLS, and starts it. Source and
        position stay. The IO thread restarts only if something differs, and must connect within
        O(wait) seconds; otherwise the old values are put back and the module fails.
      - V(reconnected) makes an IO thread that has lost its source retry at once and until it is
        connected, for at most O(wait) seconds, whatever its C(connect_retry), which stays. It
        touches nothing else, and leaves a stopped thread alone.
      - V(tried) only logs in to the source, as the channel would, and fails if that is refused.
    type: str
    choices: [configured, started, stopped, updated, reconnected, tried]
    default: configured
  source_host:
    description: Address of the source as this replica reaches it.
    type: str
  source_port:
    description: Port of the source.
    type: int
    default: 3306
  source_user:
    description: Replication account.
    type: str
  source_password:
    description:
      - Its password, with any character.
      - With O(state=updated) it is compared with the one that the replica has stored, if that can
        be read.
    type: str
  source_ssl:
    description: Whether the channel must use TLS. By default it need not; with O(state=updated) it
      stays as it is.
    type: bool
  source_ssl_ca:
    description: Certificate authority, a file on the replica, that must have signed the source's
      certificate. Empty for none.
    version_added: "1.0.0"
    type: str
  source_ssl_verify:
    description:
      - Whether the name in the source's certificate must be O(source_host). By default, the
        server's own default.
    version_added: "1.0.0"
    type: bool
  wait:
    description: Seconds within which a channel with a new login must connect and its applier must
      catch up, or within which a channel that has lost its source must be connected again.
    version_added: "1.0.0"
    type: int
    default: 30
  connect_retry:
    description: Seconds between attempts to reach the source again.
    type: int
    default: 1
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
notes:
  - For a change of password or TLS, MariaDB stops the applier too, and discards the relay log. So
    what was received is applied first.
seealso:
  - module: dbre.semisync.semisync_account
  - module: community.mysql.mysql_replication
"""

EXAMPLES = r"""
- name: Follow the source
  dbre.semisync.semisync_channel:
    source_host: db1.example.com
    source_user: repl
    source_password: "{{ vault_replication_password }}"

- name: Give the channel another password
  dbre.semisync.semisync_channel:
    state: updated
    source_password: "{{ vault_replication_password }}"

- name: Start both threads again
  dbre.semisync.semisync_channel:
    state: started

- name: Follow a source that has restarted, without a wait for the next try
  dbre.semisync.semisync_channel:
    state: reconnected
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be in check mode, with the password hidden.
  returned: success
  type: list
  elements: str
channel:
  description: The channel before, as M(dbre.semisync.semisync_info) shows it.
  returned: success
  type: dict
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils._replication import account, channel
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel_run import Replica
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Variables,
    )

# Limit of a login that is tried, and of each of its answers.
TRY_SECONDS = 10
# By the error's number, of the server or of the driver.
REMEDIES = {
    **dict.fromkeys(
        login.LOGIN_REFUSED,
        "set semisync_replication_password to the password of the account that is there, or let"
        " that account log in from this host",
    ),
    **dict.fromkeys(login.NOBODY_LISTENS, "check the source's bind_address and firewalls"),
    1129: "run FLUSH HOSTS there, or mysqladmin flush-hosts",
    1130: "let the account log in from this host",
}


def kept_password(server: Server, names: Names, variables: Variables) -> str | None:
    """The password that the replica has stored for its channel, or None if it cannot be read."""
    kept_in = variables.get("master_info_repository", "TABLE" if names.login_in_table else "FILE")
    if kept_in == "TABLE":
        # The default channel; it is the only one if the table has no column for its name.
        words = [
            row["User_password"]
            for row in server.rows("SELECT * FROM mysql.slave_master_info")
            if not row.get("Channel_name")
        ]
        return text(words[0]) if words else None
    try:
        return account.in_master_info(
            read_text(os.path.join(variables["datadir"] or "", "master.info"))
        )
    except OSError:
        return None


def update(module: AnsibleModule, replica: Replica, before: Channel) -> list[Step]:
    """Give the channel the given password and TLS; return the statements."""
    params = module.params
    names = replica.names
    known = kept_password(replica.server, names, replica.server.variables())
    changes = channel.login_changes(params, before, known)
    if changes and not module.check_mode:
        replica.update(changes, before, known)
    if changes:
        return channel.login_steps(names, changes, before)
    return start_or_stop(module, replica, before)


def start_or_stop(module: AnsibleModule, replica: Replica, before: Channel | None) -> list[Step]:
    """Configure, start, stop or reconnect the channel; return the statements."""
    steps = channel.steps(replica.names, module.params, before)
    if steps and module.params["state"] == "reconnected" and not module.check_mode:
        replica.reconnect()
    elif not module.check_mode:
        replica.run(steps)
    return steps


def try_login(params: Mapping[str, Any]) -> dict[str, object]:
    """Log in to the source as the channel would.

    Raises:
        ValueError: the source refuses the account, or cannot be reached.
    """
    host, port, user = params["source_host"], params["source_port"], params["source_user"]
    try:
        there = login.connect_to(
            host, port, user, params["source_password"], params["source_ssl"], TRY_SECONDS, params
        )
        connection.close(Server(there))
    except ServerError as error:
        # What else fails may be this host's Python, whose packages the server does not need.
        if error.number in REMEDIES:
            raise ValueError(
                f"{user} cannot log in to the source's server at {host}:{port} from this host:"
                f" {error}. Nothing was changed; {REMEDIES[error.number]}"
            ) from error
    return {"changed": False, "channel": None, "statements": []}


def set_channel(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Bring the channel to the wanted state; return what it was, and how it got there."""
    params = module.params
    if params["state"] == "tried":
        return try_login(params)
    replica = Replica(module, server, names)
    before = replica.channel()
    if before is None and params["state"] != "configured":
        raise ValueError(f"there is no replication channel to be {params['state']} on this host")
    if before is not None and params["state"] == "updated":
        steps = update(module, replica, before)
    else:
        steps = start_or_stop(module, replica, before)
    return {
        "changed": bool(steps),
        "channel": before,
        "statements": [channel.show(statement, arguments) for statement, arguments in steps],
        "diff": {
            "before": channel.channel_text(before),
            "after": channel.predict(before, params) if steps else channel.channel_text(before),
        },
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state={
                "type": "str",
                "choices": [
                    "configured",
                    "started",
                    "stopped",
                    "updated",
                    "reconnected",
                    "tried",
                ],
                "default": "configured",
            },
            source_host={"type": "str"},
            source_port={"type": "int", "default": 3306},
            source_user={"type": "str"},
            source_password={"type": "str", "no_log": True},
            source_ssl={"type": "bool"},
            source_ssl_ca={"type": "str"},
            source_ssl_verify={"type": "bool"},
            connect_retry={"type": "int", "default": 1},
            wait={"type": "int", "default": 30},
        ),
        required_if=[
            (
                "state",
                state,
                (
                    "source_host",
                    "source_user",
                    "source_password",
                ),
            )
            for state in ("configured", "tried")
        ],
        supports_check_mode=True,
    )
    connection.work(module, set_channel, "working on the channel failed")


if __name__ == "__main__":
    main()
