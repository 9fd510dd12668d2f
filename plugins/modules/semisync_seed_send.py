#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_seed_send
short_description: Send a copy of a source's data to the one replica that asks for it
version_added: "0.1.0"
description:
  - Listens on O(port) until the replica that knows O(token) comes, then sends it the output of mariadb-backup or of the
    dump program, over TLS. Run it with C(async) and C(poll=0); M(dbre.semisync.semisync_seed) is the other end.
  - Where nobody comes within O(wait) seconds it ends, and has changed nothing.
options:
  method:
    description: What is sent.
    type: str
    choices: [backup, dump]
    required: true
  port:
    description: TCP port to listen on.
    type: int
    required: true
  certificate:
    description: Certificate for this one stream, as PEM.
    type: str
    required: true
  key:
    description: Its private key, as PEM.
    type: str
    required: true
  token:
    description: What the replica must know.
    type: str
    required: true
  program:
    description: Path of mariadb-backup or the dump program.
    type: path
    required: true
  wait:
    description: Seconds to wait for the port, and for the replica.
    type: int
    default: 120
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
attributes:
  check_mode:
    support: none
  diff_mode:
    support: none
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: Offer a backup
  dbre.semisync.semisync_seed_send:
    method: backup
    port: 4444
    certificate: "{{ keys.certificate }}"
    key: "{{ keys.key }}"
    token: "{{ keys.token }}"
    program: /usr/bin/mariadb-backup
  async: 86400
  poll: 0
"""

RETURN = r"""
sent:
  description: Bytes that were sent.
  returned: success
  type: int
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import login, seed_link, seed_source, state


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            method=dict(type="str", choices=["backup", "dump"], required=True),
            port=dict(type="int", required=True),
            certificate=dict(type="str", required=True),
            key=dict(type="str", required=True, no_log=True),
            token=dict(type="str", required=True, no_log=True),
            program=dict(type="path", required=True),
            wait=dict(type="int", default=120),
        ),
    )
    params = module.params
    server = state.Server(login.connect_or_fail(module))
    names = state.identify(server)
    info = {"mariadb": names.mariadb, "program": params["program"], "schemas": server.schemas(),
            "datadir": server.variables()["datadir"]}
    head = "".join(seed_source.accounts(server)).encode("utf-8") if params["method"] == "dump" else b""
    del server
    try:
        with seed_source.login_file(params) as path, seed_source.scratch() as folder:
            words = seed_source.command(params["method"], info, path, folder)
            sent = seed_source.serve(params, head, words, folder)
    except seed_link.Broken as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, sent=sent)


if __name__ == "__main__":
    main()
