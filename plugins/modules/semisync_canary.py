#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_canary
short_description: Prove replication with rows that are written, acknowledged and received
version_added: "0.1.0"
description:
  - On a source, inserts rows one by one and returns how long each took and how far semi-sync's
    counters rose with it.
  - On a replica, waits until the last row of the same token is there and returns when it was seen.
    With O(mode=watch) it leaves a process running that waits, and returns at once; started before
    the rows are written, it measures the lag to a few milliseconds. The option
    O(dbre.semisync.semisync_info#module:watcher) fetches the result from that process.
  - The table is created if it is missing (C(id), C(details), C(happened)); an existing table with
    these columns is used as it is. Only rows that the module wrote are ever deleted.
options:
  mode:
    description:
      - V(write) inserts rows, V(wait) waits for them, V(watch) waits for them in the background.
      - The process that V(watch) starts ends when its result is fetched, or a minute after
        O(timeout). A server that is not a replica is skipped.
    type: str
    choices: [write, wait, watch]
    default: write
  token:
    description: A text that identifies this set of rows; the same for V(write) and V(watch).
      Required, except with O(watched_from), and with O(mode=watch), where the task then makes one
      for all of its hosts.
    type: str
  rows:
    description: Number of rows.
    type: int
    default: 1
  schema:
    description: Schema of the table.
    type: str
    default: important
  table:
    description: Name of the table.
    type: str
    default: stuff
  keep:
    description: How many of the newest rows to keep; older ones that the module wrote are deleted,
      V(0) keeps all.
    type: int
    default: 1000
  only_followed:
    description:
      - With O(mode=write), create nothing on a server without replicas, which means that no session
        reads its binary log and semi-sync's source side is off. If the table is missing there,
        nothing is written, and C(msg) says why.
    version_added: "1.0.0"
    type: bool
    default: false
  watched_from:
    description: With O(mode=write), name of the variable that holds each host's registered result
      of O(mode=watch). The row gets their token, and is written by the host that is the source of
      its cluster by what all of them said. The task is skipped on the others, and on all hosts if
      it is not clear which one is the source.
    version_added: "1.1.0"
    type: str
  bring_back:
    description: With O(watched_from), first write a row that is not counted, and wait until the
      source waits for its replicas. A source that fell back returns to semi-sync with the next
      acknowledged row, but does not wait for that row.
    version_added: "1.1.0"
    type: bool
    default: false
  timeout:
    description:
      - With O(mode=write), seconds to wait for the confirmation of one row. A source without
        replicas blocks a row for its semi-sync timeout; the module then returns without the
        confirmation.
      - With O(mode=wait) and O(mode=watch), seconds to wait for the row.
    type: float
    default: 15
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
attributes:
  check_mode:
    details:
      - Writes nothing in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_info
"""

EXAMPLES = r"""
- name: Write three rows on the source
  dbre.semisync.semisync_canary:
    token: release-42
    rows: 3
  register: canary

- name: See them arrive on the replica
  dbre.semisync.semisync_canary:
    mode: wait
    token: release-42
    rows: 3
    timeout: 5

- name: All replicas of a cluster watch for a row
  dbre.semisync.semisync_canary:
    mode: watch
  register: watched

- name: Its source writes that row
  dbre.semisync.semisync_canary:
    watched_from: watched
"""

RETURN = r"""
written:
  description: One entry per row, with its number, C(latency_ms), C(confirmed) and the C(counters)
    that it increased.
  returned: O(mode=write)
  type: list
  elements: dict
  sample: [{"row": 1, "latency_ms": 1.9, "confirmed": true, "counters": {"yes_tx": 1, "no_tx": 0}}]
msg:
  description: Why no row was written.
  returned: O(only_followed) is given, and the server has no replicas
  type: str
confirmed_at:
  description: The host's clock, in seconds since 1970, when the last row was confirmed.
  returned: O(mode=write)
  type: float
created:
  description: Whether the table was created.
  returned: O(mode=write)
  type: bool
status:
  description: The source's semi-sync statuses after the rows, under the collection's keys.
  returned: O(mode=write)
  type: dict
arrived:
  description: Whether the last row arrived in time.
  returned: O(mode=wait)
  type: bool
arrived_at:
  description: The host's clock, in seconds since 1970, when the last row was seen; null if it was
    not.
  returned: O(mode=wait)
  type: float
gave_up_at:
  description: The host's clock, in seconds since 1970, when the module stopped waiting for the row;
    null if it was seen.
  returned: O(mode=wait)
  type: float
polls:
  description: How often the replica was queried.
  returned: O(mode=wait)
  type: int
token:
  description: The token of the rows.
  returned: success
  type: str
watching:
  description: Whether a process waits for the rows.
  returned: O(mode=watch)
  type: bool
channel:
  description: The default replication channel, as M(dbre.semisync.semisync_info) returns it.
  returned: O(mode=watch)
  type: dict
variables:
  description: The server's identity, and whether it is read-only, as M(dbre.semisync.semisync_info)
    returns it.
  returned: O(mode=watch)
  type: dict
journal:
  description: The newest row of the cluster's journal, as M(dbre.semisync.semisync_info) returns
    it.
  returned: O(mode=watch)
  type: dict
held:
  description: Servers that a failover left behind, as M(dbre.semisync.semisync_info) returns them.
  returned: O(mode=watch)
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._canary.wait import wait_for_row, watch
from ansible_collections.dbre.semisync.plugins.module_utils._canary.write import write_canary
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            mode={"type": "str", "choices": ["write", "wait", "watch"], "default": "write"},
            token={"type": "str", "no_log": False},
            rows={"type": "int", "default": 1},
            schema={"type": "str", "default": "important"},
            table={"type": "str", "default": "stuff"},
            keep={"type": "int", "default": 1000},
            only_followed={"type": "bool", "default": False},
            # The action's: it takes these out.
            watched_from={"type": "str"},
            bring_back={"type": "bool", "default": False},
            timeout={"type": "float", "default": 15},
        ),
        supports_check_mode=True,
    )
    if not module.params["token"]:
        module.fail_json(msg="token is missing, which identifies the rows")
    if module.params["rows"] < 1:
        module.fail_json(msg=f"rows is {module.params['rows']}; at least one is needed")
    if module.params["mode"] == "watch":
        module.exit_json(**watch(module))
    connection.work(
        module,
        write_canary if module.params["mode"] == "write" else wait_for_row,
        "the canary failed",
    )


if __name__ == "__main__":
    main()
