# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a conversion to GTIDs, on the servers: a MySQL server's modes, and a replica's
channel.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtid_mode
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import (
    DRAIN,
    gtid_steps,
    show,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel_run import Replica
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

POLL_SECONDS = 0.1
# A module call that sleeps longer may lose its connection.
LONGEST_SECONDS = 600
VIOLATION = "%violates GTID consistency%"
WITHOUT_GTID = "ongoing_anonymous_transaction_count"
NO_PLACE = {
    "file": "",
    "position": 0,
    "gtid": "",
}

# --- modes of a MySQL server ---


def single_value(server: Server, statement: str, arguments: Any = None) -> Any:
    """The first row's only value, or None without a row."""
    rows = server.rows(statement, arguments)
    return next(iter(rows[0].values())) if rows else None


def seconds_warned(server: Server, uptime: int, watched: float) -> float:
    """Seconds since the server began to warn.

    Args:
        uptime: seconds since it started.
        watched: seconds that it was watched; before 8.0 nothing else is known.
    """
    try:
        rows = server.rows(
            "SELECT TIMESTAMPDIFF(MICROSECOND, SET_TIME, NOW(6)) / 1000000 AS ago FROM"
            " performance_schema.variables_info WHERE VARIABLE_NAME = 'enforce_gtid_consistency'"
        )
    except ServerError:
        return watched
    if not rows:
        return watched
    return uptime if rows[0]["ago"] is None else float(rows[0]["ago"])


def last_violation(server: Server) -> tuple[bool, float | None]:
    """(whether the server shows its error log, seconds since its last violation of GTID consistency
    or None without one). With performance_schema OFF the table is there and empty (seen on 9.7).
    """
    try:
        row = server.rows(
            "SELECT COUNT(*) AS entries, TIMESTAMPDIFF(MICROSECOND, MAX(IF(DATA LIKE %s, LOGGED,"
            " NULL)), NOW(6)) / 1000000 AS ago FROM performance_schema.error_log",
            (VIOLATION,),
        )[0]
    except ServerError:
        return False, None
    return bool(row["entries"]), None if row["ago"] is None else float(row["ago"])


def watch(module: AnsibleModule, server: Server) -> None:
    """Wait until the error log has been quiet for long enough; fail if it was not."""
    seconds = module.params["watch"]
    begin = time.monotonic()
    while True:
        uptime = server.uptime()["seconds"]
        shows_log, logged_ago = last_violation(server)
        warned = seconds_warned(server, uptime, time.monotonic() - begin)
        left = gtid_mode.quiet(
            seconds,
            uptime,
            warned,
            logged_ago,
        )
        if left is None:
            violation = single_value(
                server,
                "SELECT DATA FROM performance_schema.error_log WHERE DATA LIKE %s"
                " ORDER BY LOGGED DESC LIMIT 1",
                (VIOLATION,),
            )
            module.fail_json(
                msg=(
                    f"a statement violated GTID consistency {int(logged_ago or 0)} s ago:"
                    f" {text(violation)} With enforce_gtid_consistency = ON the server"
                    " would refuse it. It stays WARN: fix the application, and run this again"
                    f" after {int(seconds)} s without such a statement"
                )
            )
        if not left:
            break
        if left > LONGEST_SECONDS:
            module.fail_json(
                msg=(
                    "enforce_gtid_consistency is WARN now, and must stay WARN for"
                    f" {int(seconds)} s (semisync_gtid_watch); run this again in {int(left)} s"
                )
            )
        time.sleep(min(left, 1))
    if not shows_log:
        module.warn(
            "this server does not expose its error log; check it yourself for statements that"
            " violate GTID consistency"
        )


def drain(module: AnsibleModule, server: Server) -> None:
    """Wait until no transaction without a GTID is in progress; fail if some remain."""

    def under_way() -> int:
        status = server.pairs(f"SHOW GLOBAL STATUS LIKE '{WITHOUT_GTID}'")
        if WITHOUT_GTID not in status:
            raise ValueError(
                f"it is not known whether transactions are in progress: there is no {WITHOUT_GTID}"
                " here"
            )
        return int(status[WITHOUT_GTID] or 0)

    seconds = 0 if module.check_mode else module.params["wait"]
    left = wait_until(
        under_way,
        seconds,
        POLL_SECONDS,
        enough=lambda number: not number,
    )
    if left and not module.check_mode:
        module.fail_json(
            msg=(
                f"{left} transactions without a GTID are still in progress after {seconds} s; end"
                " them and run this again"
            )
        )


def change_mode(module: AnsibleModule, server: Server) -> dict[str, object]:
    """Take a step of the modes, if the server is not already there."""
    step = module.params["step"]
    statement = None
    variables = server.pairs("SHOW GLOBAL VARIABLES LIKE '%gtid\\_%'")
    if step == "drained":
        drain(module, server)
    else:
        statement = gtid_mode.statement(step, variables)
    if statement and not module.check_mode:
        server.rows(statement)
    if step == "warn" and not module.check_mode and variables["enforce_gtid_consistency"] != "ON":
        watch(module, server)
    name, _dummy, value = (statement or "").partition("SET GLOBAL ")[2].partition(" = ")
    return {
        "changed": bool(statement),
        "statements": [statement] if statement else [],
        "diff": {
            "before": f"{name} = {variables.get(name)}\n" if name else "",
            "after": f"{name} = {value}\n" if name else "",
        },
    }


# --- a replica's channel ---


def read_source(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """The GTIDs that belong to a position in this source's binary log."""
    return {
        "changed": False,
        "statements": [],
        "place": source_place(module, server, names),
    }


def source_place(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """The log's end on MySQL; on MariaDB the replica's position."""
    if names.mariadb:
        place = module.params["replica_place"]
        position = single_value(
            server, "SELECT BINLOG_GTID_POS(%s, %s)", (place["file"], int(place["position"]))
        )
        return dict(place, gtid=None if position is None else text(position))
    # The set is read before the position, so that all of its transactions are before that position.
    status = {
        key.lower(): value for key, value in server.rows(names.show_binary_log_status)[0].items()
    }
    return {
        "file": text(status["file"]),
        "position": int(status["position"]),
        "gtid": "".join(text(status["executed_gtid_set"] or "").split()),
    }


def read_replica(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Start a channel that was left stopped, and return how far it is; on MySQL that is read
    later.
    """
    replica = Replica(module, server, names)
    started = replica.begin()
    return {
        "changed": started,
        "statements": [f"START {names.replica_word}"] if started else [],
        "place": replica.place() if names.mariadb else NO_PLACE,
    }


def convert(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Make the channel follow by GTID, if that is proven to be correct."""
    replica = Replica(module, server, names)
    before = replica.channel()
    if before is None:
        raise ValueError("there is no replication channel on this host")
    statements = []
    if not before["gtid"]:
        # In check mode a stopped channel was left so by an interrupted conversion; a real run would
        # start it.
        stands = module.check_mode and not channels.running(before)
        reason = "" if stands else refusal(module, replica)
        if reason:
            module.fail_json(msg=f"Not converted. {reason}", reason="replayed")
        if not module.check_mode:
            replica.to_gtid()
        statements = [show(*step) for step in gtid_steps(names) if step[0] != DRAIN]
    return {
        "changed": bool(statements),
        "statements": statements,
        "diff": {
            "before": "follows by file and position\n" if statements else "",
            "after": "follows by GTID\n" if statements else "",
        },
    }


def refusal(module: AnsibleModule, replica: Replica) -> str:
    """Why the channel must stay by position, in words; empty if GTIDs are proven."""
    params = module.params
    host = params["host"] or "the replica"
    source = params["source"] or "its source"
    if replica.names.mariadb:
        reason = gtid_mode.mismatch(params["replica_place"], params["source_place"]["gtid"])
        return f"{host} follows by file and position: {reason}" if reason else ""
    if module.check_mode and replica.server.variables().get("gtid_mode") != "ON":
        # Nothing has a GTID yet: all that can be proven was, when the conversion was planned.
        return ""
    replica.pass_by(params["source_place"], params["catch_up"])
    executed = MysqlGtids.parse(params["source_place"]["gtid"])
    lost = executed.minus(MysqlGtids.parse(replica.applied()))
    return gtid_mode.refusal(host, source, str(lost)) if lost else ""
