#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_seed
short_description: Give a new replica its source's data
version_added: "0.1.0"
description:
  - Replaces the data of this server with a copy of the source's, and sets the GTID position that replication goes on
    from - by the clone plugin, by mariadb-backup or by a dump.
  - Runs on the host by itself. The controller shows a line of progress every few seconds; where the controller goes away,
    the copy goes on, and a later run waits for its end.
  - Writes down in C(/var/lib/dbre-semisync) how far it is. A seeding that was interrupted is recognised by that, and
    begins again at the next run.
  - Whether the replica may be overwritten is decided by M(dbre.semisync.semisync_plan), not here.
options:
  method:
    description: How the data are copied.
    type: str
    choices: [clone, backup, dump]
    required: true
  source:
    description: Inventory name of the source, for what is written down.
    type: str
    required: true
  source_host:
    description: Address of the source as this replica reaches it.
    type: str
    required: true
  source_port:
    description: Port of its server, for a clone.
    type: int
    default: 3306
  source_password:
    description: Password of the account C(dbre_semisync_seed) on the source, for a clone.
    type: str
  source_ssl:
    description: Whether a clone must use TLS.
    type: bool
    default: true
  plugins:
    description: Plugins from a library that are active on the source, for a clone.
    type: dict
    default: {}
  port:
    description: Port on which M(dbre.semisync.semisync_seed_send) offers a backup or dump.
    type: int
    default: 4444
  certificate:
    description: Certificate of that stream, as PEM.
    type: str
  token:
    description: What that stream wants to hear.
    type: str
  expected_bytes:
    description: How much there is to copy.
    type: int
    default: 0
  unit:
    description: systemd unit of this server.
    type: str
    required: true
  tools:
    description: Paths of the programs C(backup), C(stream) and C(client) on this host.
    type: dict
    default: {}
  wait:
    description: Seconds to wait until the source offers its stream.
    type: int
    default: 60
  restart_timeout:
    description: Seconds this server may take to restart.
    type: int
    default: 120
  seen_at:
    description: Time in what a seeding had written down when this one was planned. One that has ended since is enough.
    type: float
    default: 0
  timeout:
    description: Seconds the whole may take.
    type: int
    default: 86400
  progress_seconds:
    description: Seconds between two lines of progress.
    type: int
    default: 5
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_seed_donor
  - module: dbre.semisync.semisync_seed_send
"""

EXAMPLES = r"""
- name: Clone the source
  dbre.semisync.semisync_seed:
    method: clone
    source: db1
    source_host: db1.example.com
    source_password: "{{ a_password_for_once }}"
    unit: mysql
"""

RETURN = r"""
bytes:
  description: Bytes that came.
  returned: success
  type: int
seconds:
  description: How long it took.
  returned: success
  type: float
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import login, seed_link, seed_marker, seed_replica, state


DECLINE_SECONDS = 5


def ask(module):
    """The server's names and port."""
    server = state.Server(login.connect(module))
    return state.identify(server), server.variables()["port"]


def decline(params):
    """Tell the source that nobody comes for the stream it offers, so that its port is free for the next replica."""
    if params["method"] == "clone":
        return
    try:
        seed_link.connect(params["source_host"], params["port"], params["certificate"], params["token"],
                          DECLINE_SECONDS).close()
    except seed_link.Broken:  # it has given up already
        pass


def seed(module):
    """Seed, unless a seeding has ended since this one was planned; returns the marker and whether anything was done."""
    params, began = module.params, time.time()
    login.require_driver(module)
    try:
        names, port = seed_marker.patiently(lambda: ask(module))
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg=login.explain(error, params), reason="login")
    params["mariadb"], params["reset"] = names.mariadb, names.reset_binary_logs
    marker = seed_marker.Marker(port, source=params["source"], method=params["method"])
    marker.hold()
    before = seed_marker.read(port) or {}
    if seed_marker.ended_since(before, params["seen_at"]):
        marker.facts = before
        decline(params)
        return marker, False
    if before.get("state") == "loading" and "plugins" in before:
        marker.facts["plugins"] = before["plugins"]
    marker.write(state=before.get("state") if before.get("state") == "loading" else "copying", stage="starts", began=began,
                 bytes=0, total=params["expected_bytes"])
    replica = seed_replica.Replica(module, marker)
    getattr(replica, params["method"])()
    marker.facts.pop("plugins", None)
    marker.write(state="done", stage="done", caught_up=False, seconds=round(time.time() - began, 1))
    return marker, True


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            method=dict(type="str", choices=["clone", "backup", "dump"], required=True),
            source=dict(type="str", required=True),
            source_host=dict(type="str", required=True),
            source_port=dict(type="int", default=3306),
            source_password=dict(type="str", no_log=True),
            source_ssl=dict(type="bool", default=True),
            plugins=dict(type="dict", default={}),
            port=dict(type="int", default=4444),
            certificate=dict(type="str"),
            token=dict(type="str", no_log=True),
            expected_bytes=dict(type="int", default=0),
            unit=dict(type="str", required=True),
            tools=dict(type="dict", default={}),
            wait=dict(type="int", default=60),
            restart_timeout=dict(type="int", default=120),
            seen_at=dict(type="float", default=0),
            timeout=dict(type="int", default=86400),
            progress_seconds=dict(type="int", default=5),
        ),
        required_if=[("method", "clone", ("source_password",)), ("method", "backup", ("certificate", "token")),
                     ("method", "dump", ("certificate", "token"))],
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        marker, changed = seed(module)
    except (seed_replica.Failed, seed_link.Broken) as error:
        module.fail_json(msg="seeding from %s by %s failed: %s" % (
            module.params["source"], module.params["method"], error))
    module.exit_json(changed=changed, bytes=marker.facts["bytes"], seconds=marker.facts["seconds"])


if __name__ == "__main__":
    main()
