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
    type: str
    choices: [configured, started, stopped]
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
    description: Its password, with any character.
    type: str
  source_ssl:
    description: Whether the channel must use TLS.
    type: bool
    default: false
  connect_retry:
    description: Seconds between attempts to reach the source again.
    type: int
    default: 1
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: community.mysql.mysql_replication
"""

EXAMPLES = r"""
- name: Follow the source
  dbre.semisync.semisync_channel:
    source_host: db1.example.com
    source_user: repl
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

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import channel, login, names, state


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state=dict(type="str", choices=["configured", "started", "stopped"], default="configured"),
            source_host=dict(type="str"),
            source_port=dict(type="int", default=3306),
            source_user=dict(type="str"),
            source_password=dict(type="str", no_log=True),
            source_ssl=dict(type="bool", default=False),
            connect_retry=dict(type="int", default=1),
        ),
        required_if=[("state", "configured", ("source_host", "source_user", "source_password"))],
        supports_check_mode=True,
    )
    params = module.params
    server = state.Server(login.connect_or_fail(module))
    try:
        server_names = state.identify(server)
    except names.UnknownServer as error:
        module.fail_json(msg=str(error))
    before = state.default_channel(server.channels(server_names))
    if params["state"] != "configured" and before is None:
        module.fail_json(msg="there is no replication channel to be %s on this host" % params["state"])
    steps = channel.steps(server_names, params, before)
    if not module.check_mode:
        for statement, arguments in steps:
            try:
                server.rows(statement, arguments)
            except Exception as error:  # the drivers share no exception class
                module.fail_json(msg="the server refuses %s: %s" % (channel.show(statement, arguments), error))
    module.exit_json(
        changed=bool(steps),
        statements=[channel.show(statement, arguments) for statement, arguments in steps],
        channel=before,
        diff={"before": channel.describe(before),
              "after": channel.predict(before, params) if steps else channel.describe(before)},
    )


if __name__ == "__main__":
    main()
