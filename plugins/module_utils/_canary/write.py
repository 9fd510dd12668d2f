# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Canary rows written on a source: each is timed, and its effect on the counters is recorded."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._canary.canary_rows import (
    COUNTERS,
    MARK,
    create_statements,
    insert,
    missing_columns,
    prune_statement,
    row_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import rises

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Values

NOT_FOLLOWED = (
    "no row was written: no replica reads this server's binary log, and semi-sync is off; site.yml"
    " sets both up"
)


def columns(server: Server, schema: str, table: str) -> list[str]:
    rows = server.rows(
        "SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS"
        " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        (schema, table),
    )
    return [row["name"] for row in rows]


def counters(server: Server, names: Names) -> Values:
    return by_key(names.statuses("source"), server.semisync_status())


def timed_insert(
    server: Server, schema: str, table: str, text: str, timeout: float
) -> tuple[float, bool]:
    """Insert one row; (seconds, confirmed). The server continues it when the time is up."""
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
    """Create the table if it is missing and delete our old rows; (created, missing columns)."""
    present = columns(server, schema, table)
    if present:
        missing = missing_columns(present)
        if keep and not missing and not check_mode:
            asked = filled("SELECT MAX(id) AS id FROM {table}", table=(schema, table))
            newest = server.rows(asked)[0]["id"]
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


def write_rows(
    module: AnsibleModule, server: Server, names: Names, texts: list[str]
) -> tuple[list[dict[str, Any]], Values]:
    """Write rows until one is not confirmed in time; return each one's time, and the counters
    afterwards.
    """
    params = module.params
    watcher = Server(login.connect(module))
    before = counters(watcher, names)
    written: list[dict[str, Any]] = []
    for number, row in enumerate(texts, 1):
        seconds, confirmed = timed_insert(
            server,
            params["schema"],
            params["table"],
            row,
            params["timeout"],
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
    return written, before


def write_canary(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    params = module.params
    schema, table, rows = params["schema"], params["table"], params["rows"]
    # A table that exists before replication does would have to be copied to the replicas.
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
    texts = [row_text(params["token"], number, rows) for number in range(1, rows + 1)]
    diff = {"before": "", "after": "".join(f"{schema}.{table}: {one}\n" for one in texts)}
    if module.check_mode:
        return {
            "changed": rows > 0 or created,
            "created": created,
            "written": [],
            "confirmed_at": None,
            "diff": diff,
            "status": counters(server, names),
        }
    written, after = write_rows(module, server, names, texts)
    return {
        "changed": bool(written) or created,
        "created": created,
        "written": written,
        "status": after,
        "diff": diff,
        "confirmed_at": written[-1]["confirmed_at"] if written else None,
    }


def nothing(server: Server, names: Names) -> dict[str, object]:
    """The result if no row is written."""
    return {
        "changed": False,
        "created": False,
        "written": [],
        "confirmed_at": None,
        "diff": {"before": "", "after": ""},
        "status": counters(server, names),
        "msg": NOT_FOLLOWED,
    }
