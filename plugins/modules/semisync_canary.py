#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_canary
short_description: Prove replication with rows that are written, acknowledged and seen to arrive
version_added: "0.1.0"
description:
  - On a source, inserts rows one by one and returns how long each took and how far semi-sync's counters rose with it.
  - On a replica, waits until the last row of the same token is there and returns when it was seen. With O(mode=watch) it
    leaves a process behind that waits, and returns at once; started before the rows are written, it measures the lag to a
    few milliseconds. The option O(dbre.semisync.semisync_info#module:watcher) asks that process what it saw.
  - The table is created when it is missing (C(id), C(details), C(happened)); an existing table with these columns is used
    as it is. Only rows that the module wrote are ever deleted again.
options:
  mode:
    description:
      - V(write) inserts rows, V(wait) waits for them, V(watch) waits for them in the background.
      - The process that V(watch) leaves behind ends when it was asked, or a minute after O(timeout).
    type: str
    choices: [write, wait, watch]
    default: write
  token:
    description: A text that tells this set of rows from every other; the same for V(write) and V(watch).
    type: str
    required: true
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
    description: How many of the newest rows to keep; older ones that the module wrote are deleted, V(0) keeps all.
    type: int
    default: 1000
  timeout:
    description:
      - With O(mode=write), seconds to wait for the confirmation of one row. A source without replicas holds a row for as
        long as its semi-sync timeout says; the module then returns without the confirmation.
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
"""

RETURN = r"""
written:
  description: One entry a row, with its number, C(latency_ms), C(confirmed) and the C(counters) it raised.
  returned: O(mode=write)
  type: list
  elements: dict
  sample: [{"row": 1, "latency_ms": 1.9, "confirmed": true, "counters": {"yes_tx": 1, "no_tx": 0}}]
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
  description: Whether the last row was seen in time.
  returned: O(mode=wait)
  type: bool
arrived_at:
  description: The host's clock, in seconds since 1970, when the last row was seen; null when it was not.
  returned: O(mode=wait)
  type: float
polls:
  description: How often the replica was asked.
  returned: O(mode=wait)
  type: int
watching:
  description: Whether a process is there that waits for the rows.
  returned: O(mode=watch)
  type: bool
"""

import threading
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import canary, login, on_server, state, watcher

POLL_SECONDS = 0.005
# A row that came before the first poll is not older than this many others.
LOOK_BACK = 1000


def columns(server, schema, table):
    rows = server.rows("SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS"
                       " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s", (schema, table))
    return [row["name"] for row in rows]


def counters(server, server_names):
    return state.by_key(server_names.statuses("source"), server.semisync_status())


def insert(server, table, details, timeout):
    """Insert one row; (seconds, confirmed). The insert goes on in the server when the time is up."""
    failure = []

    def work():
        try:
            server.rows("INSERT INTO %s (details) VALUES (%%s)" % table, (details,))
        except Exception as error:  # the drivers share no exception class
            failure.append(error)

    worker = threading.Thread(target=work)
    worker.daemon = True
    begin = time.monotonic()
    worker.start()
    worker.join(timeout)
    if failure:
        raise failure[0]
    return time.monotonic() - begin, not worker.is_alive()


def prepare(server, schema, table, keep, check_mode):
    """Create the table where it is missing and delete our old rows; (created, missing columns)."""
    there = columns(server, schema, table)
    if there:
        missing = canary.missing_columns(there)
        if keep and not missing and not check_mode:
            newest = server.rows("SELECT MAX(id) AS id FROM %s" % canary.table_name(schema, table))[0]["id"]
            if newest and newest > keep:
                server.rows(canary.prune_statement(schema, table), (newest - keep, canary.MARK + " %"))
        return False, missing
    if not check_mode:
        for statement in canary.create_statements(schema, table):
            server.rows(statement)
    return True, []


def write(module, server, server_names):
    params = module.params
    schema, table, rows = params["schema"], params["table"], params["rows"]
    created, missing = prepare(server, schema, table, params["keep"], module.check_mode)
    if missing:
        module.fail_json(msg="the table %s.%s exists but lacks %s; set semisync_canary_schema and semisync_canary_table "
                             "to names that are free" % (schema, table, ", ".join(missing)))
    diff = {"before": "", "after": "".join("%s.%s: %s\n" % (schema, table, canary.details(params["token"], n + 1, rows))
                                           for n in range(rows))}
    if module.check_mode:
        return dict(changed=rows > 0 or created, created=created, written=[], confirmed_at=None, diff=diff,
                    status=counters(server, server_names))
    watcher = state.Server(login.connect(module))
    before, written = counters(watcher, server_names), []
    for number in range(1, rows + 1):
        seconds, confirmed = insert(server, canary.table_name(schema, table),
                                    canary.details(params["token"], number, rows), params["timeout"])
        now, after = time.time(), counters(watcher, server_names)
        written.append({"row": number, "latency_ms": round(seconds * 1000, 3), "confirmed": confirmed,
                        "confirmed_at": now, "counters": canary.delta(before, after)})
        before = after
        if not confirmed:
            break
    return dict(changed=bool(written) or created, created=created, written=written, status=before, diff=diff,
                confirmed_at=written[-1]["confirmed_at"] if written else None)


def look(module, server, dummy):
    return wait(module, server)


def wait(module, server, ready=None):
    """Look for the last row until it is there or time is up; ready is called after the first look."""
    params = module.params
    table = canary.table_name(params["schema"], params["table"])
    last = canary.details(params["token"], params["rows"], params["rows"])
    begin, polls, start = time.monotonic(), 0, None
    while True:
        polls += 1
        if start is None:
            start = newest_id(server, table)
        if start is not None and server.rows("SELECT id FROM %s WHERE id > %%s AND details = %%s" % table,
                                             (start - LOOK_BACK, last)):
            return dict(changed=False, arrived=True, arrived_at=time.time(), polls=polls)
        if ready and polls == 1:
            ready()
        if module.check_mode or time.monotonic() - begin >= params["timeout"]:
            return dict(changed=False, arrived=False, arrived_at=None, polls=polls)
        time.sleep(POLL_SECONDS)


def watch(module):
    """Leave a process behind that waits for the rows, on a connection of its own."""
    if module.check_mode:
        return dict(changed=False, watching=False)
    name = watcher.address(module.params["token"], module.params)

    def work(ready):
        return wait(module, state.Server(login.connect(module)), ready)

    return dict(changed=False, watching=watcher.leave_behind(name, module.params["timeout"], work))


def newest_id(server, table):
    """The highest id, 0 in an empty table, None where the table has not arrived yet."""
    try:
        return int(server.rows("SELECT COALESCE(MAX(id), 0) AS id FROM %s" % table)[0]["id"])
    except Exception as error:  # the drivers share no exception class
        if error.args and error.args[0] in (1049, 1146):
            return None
        raise


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            mode=dict(type="str", choices=["write", "wait", "watch"], default="write"),
            token=dict(type="str", required=True, no_log=False),
            rows=dict(type="int", default=1),
            schema=dict(type="str", default="important"),
            table=dict(type="str", default="stuff"),
            keep=dict(type="int", default=1000),
            timeout=dict(type="float", default=15),
        ),
        supports_check_mode=True,
    )
    if module.params["rows"] < 1:
        module.fail_json(msg="rows is %d; at least one is needed" % module.params["rows"])
    if module.params["mode"] == "watch":
        login.require_driver(module)
        module.exit_json(**watch(module))
    on_server.work(module, write if module.params["mode"] == "write" else look, "the canary failed")


if __name__ == "__main__":
    main()
