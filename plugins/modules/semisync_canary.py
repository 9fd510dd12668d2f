#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_canary
short_description: Prove replication with rows that are written, acknowledged and seen to arrive
version_added: "0.1.0"
description:
  - On a source, inserts rows one by one and returns how long each took and how far semi-sync's
    counters rose with it.
  - On a replica, waits until the last row of the same token is there and returns when it was seen.
    With O(mode=watch) it
    leaves a process behind that waits, and returns at once; started before the rows are written, it
    measures the lag to a
    few milliseconds. The option O(dbre.semisync.semisync_info#module:watcher) asks that process
    what it saw.
  - The table is created when it is missing (C(id), C(details), C(happened)); an existing table with
    these columns is used
    as it is. Only rows that the module wrote are ever deleted again.
options:
  mode:
    description:
      - V(write) inserts rows, V(wait) waits for them, V(watch) waits for them in the background.
      - The process that V(watch) leaves behind ends when it was asked, or a minute after
        O(timeout). A server that follows nobody is left alone.
    type: str
    choices: [write, wait, watch]
    default: write
  token:
    description: A text that tells this set of rows from every other; the same for V(write) and
      V(watch).
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
    description: How many of the newest rows to keep; older ones that the module wrote are deleted,
      V(0) keeps all.
    type: int
    default: 1000
  only_followed:
    description:
      - With O(mode=write), create nothing on a server that nobody follows - no session reads its
        binary log, and semi-sync's source side is off. Where the table is missing there, nothing is
        written, and C(msg) says why.
    type: bool
    default: false
  timeout:
    description:
      - With O(mode=write), seconds to wait for the confirmation of one row. A source without
        replicas holds a row for as
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
  description: One entry per row, with its number, C(latency_ms), C(confirmed) and the
    C(counters) that it raised.
  returned: O(mode=write)
  type: list
  elements: dict
  sample: [{"row": 1, "latency_ms": 1.9, "confirmed": true, "counters": {"yes_tx": 1, "no_tx": 0}}]
msg:
  description: Why no row was written.
  returned: O(only_followed) is given, and nobody follows the server
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
  description: Whether the last row was seen in time.
  returned: O(mode=wait)
  type: bool
arrived_at:
  description: The host's clock, in seconds since 1970, when the last row was seen; null when it was
    not.
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
channel:
  description: The default replication channel, as M(dbre.semisync.semisync_info) returns it.
  returned: O(mode=watch)
  type: dict
variables:
  description: Who the server is, and whether it is read-only, as M(dbre.semisync.semisync_info)
    returns it.
  returned: O(mode=watch)
  type: dict
journal:
  description: The newest row of the cluster's journal, as M(dbre.semisync.semisync_info) returns
    it.
  returned: O(mode=watch)
  type: dict
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.canary.rows import (
    COUNTERS,
    MARK,
    create_statements,
    insert,
    missing_columns,
    prune_statement,
    row_text,
    table_name,
)
from ansible_collections.dbre.semisync.plugins.module_utils.canary.watcher import (
    address,
    leave_behind,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.replication.standing import (
    read_standing,
)
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import rises

NOT_FOLLOWED = (
    "no row was written: no replica reads this server's binary log, and semi-sync is off; site.yml"
    " sets both up"
)
POLL_SECONDS = 0.005
# A row that came before the first poll is not older than this many others.
LOOK_BACK = 1000
# Errors that say that the schema or the table is not there (yet).
MISSING = (1049, 1146)


def columns(server: Server, schema: str, table: str) -> list[str]:
    rows = server.rows(
        "SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        (schema, table),
    )
    return [row["name"] for row in rows]


def counters(server: Server, names: Names) -> dict[str, Any]:
    return by_key(names.statuses("source"), server.semisync_status())


def timed_insert(
    server: Server, schema: str, table: str, text: str, timeout: float
) -> tuple[float, bool]:
    """Insert one row; (seconds, confirmed). The server goes on with it when the time is up."""
    failures: list[ServerError] = []

    def work() -> None:
        try:
            insert(server, schema, table, text)
        except ServerError as error:
            failures.append(error)

    worker = threading.Thread(target=work)
    worker.daemon = True
    begin = time.monotonic()
    worker.start()
    worker.join(timeout)
    if failures:
        raise failures[0]
    return time.monotonic() - begin, not worker.is_alive()


def prepare(
    server: Server, schema: str, table: str, keep: int, check_mode: bool
) -> tuple[bool, list[str]]:
    """Create the table where it is missing and delete our old rows; (created, missing columns)."""
    present = columns(server, schema, table)
    if present:
        missing = missing_columns(present)
        if keep and not missing and not check_mode:
            newest = server.rows(f"SELECT MAX(id) AS id FROM {table_name(schema, table)}")[0]["id"]
            if newest and newest > keep:
                server.rows(prune_statement(schema, table), (newest - keep, MARK + " %"))
        return False, missing
    if not check_mode:
        for statement in create_statements(schema, table):
            server.rows(statement)
    return True, []


def followed(server: Server, names: Names) -> bool:
    """Whether a replica reads this server's binary log, or its commits wait for one."""
    enabled = server.variables().get(names.variables("source")["enabled"])
    return enabled == "ON" or bool(server.senders())


def write(module: AnsibleModule, server: Server, names: Names) -> dict[str, Any]:
    params = module.params
    schema, table, rows = params["schema"], params["table"], params["rows"]
    # What is there before replication is would have to be brought to the replicas.
    if (
        params["only_followed"]
        and not columns(server, schema, table)
        and not followed(server, names)
    ):
        return nothing(server, names)
    created, missing = prepare(server, schema, table, params["keep"], module.check_mode)
    if missing:
        module.fail_json(
            msg=(
                f"the table {schema}.{table} exists but lacks {', '.join(missing)}; set"
                " semisync_canary_schema and semisync_canary_table to names that are free"
            )
        )
    diff = {
        "before": "",
        "after": "".join(
            f"{schema}.{table}: {row_text(params['token'], n + 1, rows)}\n" for n in range(rows)
        ),
    }
    if module.check_mode:
        return {
            "changed": rows > 0 or created,
            "created": created,
            "written": [],
            "confirmed_at": None,
            "diff": diff,
            "status": counters(server, names),
        }
    watcher = Server(login.connect(module))
    before = counters(watcher, names)
    written: list[dict[str, Any]] = []
    for number in range(1, rows + 1):
        seconds, confirmed = timed_insert(
            server, schema, table, row_text(params["token"], number, rows), params["timeout"]
        )
        now, after = time.time(), counters(watcher, names)
        written.append(
            {
                "row": number,
                "latency_ms": round(seconds * 1000, 3),
                "confirmed": confirmed,
                "confirmed_at": now if confirmed else None,
                "counters": rises(before, after, COUNTERS),
            }
        )
        before = after
        if not confirmed:
            break
    return {
        "changed": bool(written) or created,
        "created": created,
        "written": written,
        "status": before,
        "diff": diff,
        "confirmed_at": written[-1]["confirmed_at"] if written else None,
    }


def nothing(server: Server, names: Names) -> dict[str, Any]:
    """The result where no row is written."""
    return {
        "changed": False,
        "created": False,
        "written": [],
        "confirmed_at": None,
        "diff": {"before": "", "after": ""},
        "status": counters(server, names),
        "msg": NOT_FOLLOWED,
    }


def look(module: AnsibleModule, server: Server, _names: Names) -> dict[str, Any]:
    return wait(module, server)


def wait(
    module: AnsibleModule, server: Server, ready: Callable[[], Any] | None = None
) -> dict[str, Any]:
    """Look for the last row until it is there or time is up; calls ready after the first look."""
    params, polls, start = module.params, 0, None
    table = table_name(params["schema"], params["table"])
    last = row_text(params["token"], params["rows"], params["rows"])

    def arrived() -> bool:
        nonlocal polls, start
        polls += 1
        if start is None:
            start = newest_id(server, table)
        if start is not None and server.rows(
            f"SELECT id FROM {table} WHERE id > %s AND details = %s", (start - LOOK_BACK, last)
        ):
            return True
        if ready and polls == 1:
            ready()
        return False

    seen = wait_until(arrived, 0 if module.check_mode else params["timeout"], POLL_SECONDS)
    return {
        "changed": False,
        "arrived": seen,
        "arrived_at": time.time() if seen else None,
        "polls": polls,
    }


def watch(module: AnsibleModule) -> dict[str, Any]:
    """Leave a process behind that waits for the rows, on a connection of its own; and say what the
    server says of its part in replication.
    """
    # As whoever asks it knows the server: a login writes down where it found the server.
    name = address(module.params["token"], module.params)
    cursor = login.connect_or_fail(module)
    try:
        standing = read_standing(Server(cursor), module.params["schema"])
    except (ServerError, ValueError) as error:
        module.fail_json(msg=f"the canary failed: {error}")
    finally:
        cursor.connection.close()
    if module.check_mode or standing["channel"] is None:
        return {"changed": False, "watching": False, **standing}

    def work(ready: Callable[[], Any]) -> dict[str, Any]:
        return wait(module, Server(login.connect(module)), ready)

    watching = leave_behind(name, module.params["timeout"], work)
    return {"changed": False, "watching": watching, **standing}


def newest_id(server: Server, table: str) -> int | None:
    """The highest id, 0 in an empty table, None where the table has not arrived yet."""
    try:
        return int(server.rows(f"SELECT COALESCE(MAX(id), 0) AS id FROM {table}")[0]["id"])
    except ServerError as error:
        if error.number in MISSING:
            return None
        raise


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            mode={"type": "str", "choices": ["write", "wait", "watch"], "default": "write"},
            token={"type": "str", "required": True, "no_log": False},
            rows={"type": "int", "default": 1},
            schema={"type": "str", "default": "important"},
            table={"type": "str", "default": "stuff"},
            keep={"type": "int", "default": 1000},
            only_followed={"type": "bool", "default": False},
            timeout={"type": "float", "default": 15},
        ),
        supports_check_mode=True,
    )
    if module.params["rows"] < 1:
        module.fail_json(msg=f"rows is {module.params['rows']}; at least one is needed")
    if module.params["mode"] == "watch":
        module.exit_json(**watch(module))
    connection.work(
        module, write if module.params["mode"] == "write" else look, "the canary failed"
    )


if __name__ == "__main__":
    main()
