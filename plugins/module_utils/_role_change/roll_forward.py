# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the transactions salvaged from a dead source on the candidate, with their GTIDs."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions, salvage
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import Step
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import role_statements
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    Participant,
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    ServerError,
    driver_errors,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import quote_text
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

# Of the protocol: what a client can, a command, and what that one sets.
MULTI_STATEMENTS, SET_OPTION, SINGLE = 1 << 16, 0x1B, 1


def roll_forward(part: Participant, tail: str) -> None:
    """Run the salvaged transactions.

    Raises:
        AbortError: the server refuses one of its statements, or does not have it afterwards.
    """
    transactions = salvage.unpack(tail)
    fits(part, transactions)
    server = part.local()
    try:
        super_only = part.names.super_read_only and canonical_value(
            global_text(part.monitor, "super_read_only")
        )
        if transactions and super_only not in ("0", False):
            # read_only stays on, and keeps clients out.
            part.run_statements([("SET GLOBAL super_read_only = 0", None)])
        alone(server)
        for one in transactions:
            carry_out(server, one)
    finally:
        connection.close(server)
    part.run_statements(position_steps(part))
    lacking = [one.gtid for one in transactions if not has(part, one.gtid)]
    if lacking:
        raise AbortError(f"{part.host} does not have {lacking[0]}, which it was given")
    part.point(
        "C7",
        True,
        f"{len(transactions)} transactions of {part.source} that no replica had were applied",
        "everything that its binary log has",
    )
    part.log_event("salvaged", f"{len(transactions)} transactions")


def fits(part: Participant, transactions: list[log_transactions.Transaction]) -> None:
    """Refuse a statement so long that the server would end the connection. The rows that one
    statement changed come as one statement.

    Raises:
        AbortError: a statement is longer than the server takes.
    """
    limit = int(global_text(part.monitor, "max_allowed_packet"))
    for one in transactions:
        longest = max(map(len, one.statements), default=0)
        # The packet has one more byte, the command.
        if longest + 1 > limit:
            raise AbortError(
                f"{one.gtid} of the dead source has a statement of {longest} bytes, and"
                f" max_allowed_packet is {limit} on {part.host}: SET GLOBAL"
                " max_allowed_packet = 1073741824 there, and run it again"
            )


def alone(server: Server) -> None:
    """Let the server take one statement at a time, as replication does: what is a comment of one
    version may be the end of a statement for another.
    """
    connection = getattr(server.cursor, "connection", None)
    if connection is None:
        return
    if hasattr(connection, "set_server_option"):
        connection.set_server_option(SINGLE)
    elif getattr(connection, "client_flag", 0) & MULTI_STATEMENTS:
        # PyMySQL before 1.0 asks for several, and has no option to change that.
        connection._execute_command(SET_OPTION, SINGLE.to_bytes(2, "little"))
        connection._read_packet()


def carry_out(
    server: Server, one: log_transactions.Transaction, at_end: Callable[[], object] | None = None
) -> None:
    """Run one transaction.

    Args:
        at_end: is called before it is committed.

    Raises:
        AbortError: the server refuses a statement.
    """
    try:
        for statement in one.statements:
            if at_end and statement in log_transactions.ENDS:
                at_end()
            with driver_errors():
                server.cursor.execute(statement)
    except ServerError as error:
        raise AbortError(f"{one.gtid} of the dead source was refused: {error}") from error


def position_steps(part: Participant) -> list[Step]:
    """On MariaDB: what was carried out by hand counts as applied. Its threads must stand still for
    that; everything that was received is applied by now.
    """
    if not part.names.mariadb:
        return []
    slave_pos = global_text(part.monitor, "gtid_slave_pos")
    both = role_statements.merged(slave_pos, global_text(part.monitor, "gtid_binlog_pos"))
    if part.gtids(slave_pos) == both:
        return []
    return [
        role_statements.stop_replica(part.names),
        (f"SET GLOBAL gtid_slave_pos = {quote_text(str(both))}", None),
    ]


def has(part: Participant, name: str) -> bool:
    logged = part.gtids(global_text(part.monitor, part.names.logged_position))
    return logged.covers(part.gtids(name))
