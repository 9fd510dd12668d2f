#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_gtid
short_description: (internal) Take one step from file and position to GTIDs
version_added: "1.0.0"
description:
  - Takes a server one step from replication by file and position to replication by GTID. The role
    P(dbre.semisync.replication#role) takes the steps in order.
  - The modes of MySQL servers come first. All servers that replicate with each other take a step
    before any takes the next; a server that is already there or further is left alone.
  - Then each replica's channel is changed to C(SOURCE_AUTO_POSITION=1) or
    C(MASTER_USE_GTID=slave_pos), but only with proof that the replica has its source's transactions
    under the same GTIDs. The proof takes three calls, so that no thread of the channel is stopped
    while the controller goes from host to host.
options:
  step:
    description:
      - V(warn), V(consistent), V(off_permissive), V(on_permissive) and V(on) set
        C(enforce_gtid_consistency) or C(gtid_mode) at run time, in this order. V(warn) then waits
        until O(watch) seconds have passed without a violation of GTID consistency in the error log,
        and fails if there was one.
      - V(drained), between V(on_permissive) and V(on), waits until no transaction without a GTID is
        in progress.
      - V(read_replica) returns a replica's position in its source's binary log, and the GTIDs that
        it has applied, both of one moment. On MariaDB the applier stops for that moment. A stopped
        channel is started.
      - V(read_source) returns, on a source, a position in its binary log and the GTIDs up to there.
        On MySQL that is the log's end, on MariaDB O(replica_place).
      - V(convert), on a replica, waits until it has applied everything up to O(source_place),
        compares, and changes the channel. If the source does not accept it, the module restores
        file and position, then fails.
    type: str
    choices:
      - warn
      - consistent
      - off_permissive
      - on_permissive
      - drained
      - "on"
      - read_replica
      - read_source
      - convert
    required: true
  watch:
    description: Seconds without a violation that V(warn) requires.
    type: int
    default: 60
  replica_place:
    description: What V(read_replica) returned on the replica, for the other two.
    type: dict
  source_place:
    description: What V(read_source) returned on the source, for V(convert).
    type: dict
  source:
    description: Inventory name of the source, for messages.
    type: str
  host:
    description: Inventory name of this host, for messages.
    type: str
  wait:
    description: Seconds that transactions may be in progress, that a channel may take to connect,
      and its applier to apply what was received.
    type: int
    default: 60
  catch_up:
    description: Seconds that the replica may take to reach O(source_place).
    type: int
    default: 3600
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
attributes:
  check_mode:
    details:
      - Reads, waits and compares in check mode, as far as the server's mode allows; stops nothing.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_catch_up
  - module: dbre.semisync.semisync_channel
"""

EXAMPLES = r"""
- name: The application's statements are looked at, none is refused yet
  dbre.semisync.semisync_gtid:
    step: warn
    watch: 600

- name: How far the source is
  dbre.semisync.semisync_gtid:
    step: read_source
  delegate_to: db1
  register: source

- name: Follow by GTID
  dbre.semisync.semisync_gtid:
    step: convert
    source_place: "{{ source.place }}"
"""

RETURN = r"""
place:
  description: C(file) and C(position) in the source's binary log, and the C(gtid) up to there.
  returned: O(step=read_replica) or O(step=read_source)
  type: dict
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
"""


from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_run import (
    change_mode,
    convert,
    read_replica,
    read_source,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MODE_STEPS = ["warn", "consistent", "off_permissive", "on_permissive", "drained", "on"]
CHANNEL_STEPS = {
    "read_replica": read_replica,
    "read_source": read_source,
    "convert": convert,
}


def gtid_step(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Take the step."""
    step = module.params["step"]
    if step in MODE_STEPS:
        return change_mode(module, server)
    return CHANNEL_STEPS[step](module, server, names)


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step={
                "type": "str",
                "choices": [
                    "warn",
                    "consistent",
                    "off_permissive",
                    "on_permissive",
                    "drained",
                    "on",
                    "read_replica",
                    "read_source",
                    "convert",
                ],
                "required": True,
            },
            watch={"type": "int", "default": 60},
            replica_place={"type": "dict"},
            source_place={"type": "dict"},
            source={"type": "str"},
            host={"type": "str"},
            wait={"type": "int", "default": 60},
            catch_up={"type": "int", "default": 3600},
        ),
        required_if=[("step", "convert", ("source_place",))],
        supports_check_mode=True,
    )
    connection.work(module, gtid_step, f"step {module.params['step']} failed")


if __name__ == "__main__":
    main()
