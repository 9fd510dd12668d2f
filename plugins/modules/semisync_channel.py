#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_channel
short_description: Point a replica at its source by GTID, and start or stop its channel
version_added: "0.1.0"
description:
  - Configures the default replication channel by GTID (C(SOURCE_AUTO_POSITION), C(MASTER_USE_GTID=slave_pos)) and starts
    it, under the statement names of the server's version.
  - Does what community.mysql's C(mysql_replication) cannot - check mode, passwords with any character, and the source's
    public key for C(caching_sha2_password) without TLS.
  - A channel that already follows the source is not configured again.
options:
  state:
    description:
      - V(configured) points the channel at the source and starts it.
      - V(started) and V(stopped) start and stop both threads of a channel that exists.
      - V(updated) brings password and TLS of a channel that exists to what is given, and starts it. Source and position stay.
        The IO thread restarts only where something differs, and must connect within O(wait) seconds; otherwise the old
        values are put back and the module fails.
    type: str
    choices: [configured, started, stopped, updated]
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
      - With O(state=updated) it is compared with the one that the replica keeps, where that can be read.
    type: str
  source_ssl:
    description: Whether the channel must use TLS. By default not, or with O(state=updated) as it is.
    type: bool
  source_ssl_ca:
    description: Certificate authority, a file on the replica, that must have signed the source's certificate. Empty for none.
    type: str
  source_ssl_verify:
    description:
      - Whether the name in the source's certificate must be O(source_host). By default as the server does it.
    type: bool
  wait:
    description: Seconds within which a channel whose login has changed must connect, and its applier must catch up.
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
  - MariaDB stops the applier too for a change of password or TLS. What was received is applied before, because the server
    forgets it then.
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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import account, channel, channel_run, host, login, on_server, state


def kept_password(server, server_names, variables):
    """The password that the replica keeps for its channel, or None where it cannot be read."""
    if not server_names.mariadb and variables.get("master_info_repository", "TABLE") == "TABLE":
        rows = server.rows("SELECT User_password AS word FROM mysql.slave_master_info WHERE Channel_name = ''")
        return state.text(rows[0]["word"]) if rows else None
    try:
        return account.in_master_info(host.read_text(os.path.join(variables["datadir"], "master.info")))
    except OSError:
        return None


def run(module, server, server_names):
    """Bring the channel to its state; what it was, and how it got there."""
    params, replica = module.params, channel_run.Replica(module, server, server_names)
    before = replica.channel()
    if params["state"] != "configured" and before is None:
        raise ValueError("there is no replication channel to be %s on this host" % params["state"])
    changes, known = [], None
    if params["state"] == "updated":
        known = kept_password(server, server_names, server.variables())
        changes = channel.login_changes(params, before, known)
    steps = channel.login_steps(server_names, changes, before) if changes else channel.steps(server_names, params, before)
    if changes and not module.check_mode:
        replica.update(changes, before, known)
    elif not module.check_mode:
        replica.run(steps)
    return dict(changed=bool(steps), channel=before,
                statements=[channel.show(statement, arguments) for statement, arguments in steps],
                diff={"before": channel.describe(before),
                      "after": channel.predict(before, params) if steps else channel.describe(before)})


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state=dict(type="str", choices=["configured", "started", "stopped", "updated"], default="configured"),
            source_host=dict(type="str"),
            source_port=dict(type="int", default=3306),
            source_user=dict(type="str"),
            source_password=dict(type="str", no_log=True),
            source_ssl=dict(type="bool"),
            source_ssl_ca=dict(type="str"),
            source_ssl_verify=dict(type="bool"),
            connect_retry=dict(type="int", default=1),
            wait=dict(type="int", default=30),
        ),
        required_if=[("state", "configured", ("source_host", "source_user", "source_password"))],
        supports_check_mode=True,
    )
    on_server.work(module, run, "working on the channel failed")


if __name__ == "__main__":
    main()
