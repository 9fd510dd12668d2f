#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_seed_donor
short_description: Make a source ready to be copied, and put it back afterwards
version_added: "0.1.0"
description:
  - Says how much there is to copy, and refuses tables that the way to copy would not copy truly.
  - For a clone, installs the clone plugin where it is missing and creates the account C(dbre_semisync_seed) with the
    privilege BACKUP_ADMIN alone. V(absent) drops the account, and the plugin where it was installed for this; a note in
    C(/var/lib/dbre-semisync) says so, also after a run that was interrupted.
options:
  state:
    description: V(present) before the copy, V(absent) after it.
    type: str
    choices: [present, absent]
    default: present
  method:
    description: How the replica is seeded.
    type: str
    choices: [clone, backup, dump]
    required: true
  password:
    description: Password of the account for a clone.
    type: str
  require_ssl:
    description: Whether that account must use TLS.
    type: bool
    default: false
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: Make ready for a clone
  dbre.semisync.semisync_seed_donor:
    method: clone
    password: "{{ a_password_for_once }}"

- name: Put it back
  dbre.semisync.semisync_seed_donor:
    state: absent
    method: clone
"""

RETURN = r"""
bytes:
  description: How much there is to copy, as the server estimates it.
  returned: O(state=present)
  type: int
tables:
  description: How many tables.
  returned: O(state=present)
  type: int
schemas:
  description: The schemas that are not the server's own.
  returned: O(state=present)
  type: list
  elements: str
plugins:
  description: Active plugins from a library, and their libraries.
  returned: O(state=present)
  type: dict
installed:
  description: Whether the clone plugin was installed for this.
  returned: O(state=present)
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import login, on_server, seed, seed_marker, seed_source


def run(module, server, dummy):
    """Ready the source to give its data, or take back what that needed; what there is to copy."""
    params, result, statements = module.params, {}, []
    note = seed_marker.Donor(server.rows("SELECT @@GLOBAL.port AS port")[0]["port"])
    if params["state"] == "present":
        result.update(seed_source.measure(server), plugins=seed_source.dynamic_plugins(server))
        unfit = seed.unfit_tables(params["method"], result["unfit"])
        if unfit:
            raise ValueError("the source has %s" % unfit)
        result["installed"] = params["method"] == "clone" and "clone" not in result["plugins"]
        if params["method"] == "clone":
            statements = seed_source.donor_statements(result["plugins"], params["password"], params["require_ssl"])
    elif params["method"] == "clone":
        statements = seed_source.end_statements(note.exists() and "clone" in seed_source.dynamic_plugins(server))
    if not module.check_mode:
        execute(module, server, statements, note, result.get("installed"))
    return dict(result, changed=bool(statements))


def execute(module, server, statements, note, installs):
    """Run the statements; whose plugin it is, is noted before it is there."""
    if installs:
        note.write()
    for statement, arguments in statements:
        try:
            server.rows(statement, arguments)
        except Exception as error:  # the drivers share no exception class
            module.fail_json(msg="the source refuses %s: %s" % (statement, error))
    if module.params["state"] == "absent":
        note.remove()


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state=dict(type="str", choices=["present", "absent"], default="present"),
            method=dict(type="str", choices=["clone", "backup", "dump"], required=True),
            password=dict(type="str", no_log=True),
            require_ssl=dict(type="bool", default=False),
        ),
        supports_check_mode=True,
    )
    on_server.work(module, run, "the source cannot be asked")


if __name__ == "__main__":
    main()
