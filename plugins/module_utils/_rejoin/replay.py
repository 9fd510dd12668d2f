# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the transactions that only a former MySQL source has on the new one, with their GTIDs, if the
new one has not written the same rows since.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (
    log_access,
    log_transactions,
    printing,
    row_conflicts,
    salvage,
)
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import (
    former_facts,
    offline_server,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    global_text,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    CarryPlan,
    ReplayPlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.roll_forward import (
    alone,
    carry_out,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# Seconds to wait for a row lock that a client holds.
PATIENCE = 10
# Of the GTID that a transaction is to have.
OF_WHOLE = re.compile(
    rb"(/\*M?!\d+ )?SET (TRANSACTION|@@session\.(gtid_next|original_|immediate_))", re.IGNORECASE
)

# What cannot be said within one: of the session, and of a file.
IN_NONE = re.compile(
    rb"(/\*M?!\d+ )?SET @@session\.pseudo_(slave|replica)_mode|BINLOG", re.IGNORECASE
)


class ReplayError(Exception):
    """The replay is not possible; the text says why. Nothing was applied."""


ERRORS = (
    ReplayError,
    offline_server.PlaceError,
    log_access.SalvageError,
    log_transactions.TailError,
)

# On the former source's host


def carry(module: AnsibleModule, plan: CarryPlan) -> dict[str, object]:
    """Read the transactions that the new source lacks; see the RETURN section of semisync_rejoin.

    Raises:
        ReplayError, PlaceError, SalvageError, TailError, OSError: they cannot be read, or be
            carried out again as they are.
    """
    files = plan.files or offline_server.find(module, plan.units, plan.program).files()
    program = log_access.program(module, files)
    paths = log_access.listed(files)
    known = MysqlGtids.parse(plan.known)
    paths = paths[former_facts.first_needed(program, paths, known) :]
    last = former_facts.whole(paths[-1], paths[-1])
    wanted = MysqlGtids.parse(plan.wanted)
    written: list[row_conflicts.Row] = []
    reader = log_transactions.Reader(lambda one: wanted.covers(MysqlGtids.parse(one)))
    seen = row_conflicts.Rows(written.append)
    ends = [*(former_facts.whole(path, paths[-1]).end for path in paths[:-1]), last.end]
    transactions = printing.printed(
        program,
        [printing.Part(path, end) for path, end in zip(paths, ends)],
        lambda lines: list(salvage.limited(reader.read(lines, seen.comment))),
        ["--verbose", f"--include-gtids={wanted}"],
    )
    seen.finished()
    missing = wanted.minus(MysqlGtids.of(*(one.gtid for one in transactions)))
    if missing:
        raise ReplayError(f"{missing} is no longer in its binary log, or is incomplete there")
    for one in transactions:
        check(one)
    return {"changed": False, "count": len(transactions), "payload": pack(transactions, written)}


def check(one: log_transactions.Transaction) -> None:
    """Only rows can be compared with what the new source wrote.

    Raises:
        ReplayError: it has something else.
    """
    for statement in one.texts:
        said = b" ".join(statement.split()[:2]).decode("utf-8", "replace")
        raise ReplayError(
            f"{one.gtid} has a statement instead of rows ({said} …): it is not known what it would"
            " do on the new source"
        )


def pack(transactions: list[log_transactions.Transaction], written: list[row_conflicts.Row]) -> str:
    """Encode both as plain text for transport."""
    whole = [salvage.pack(transactions), written]
    return base64.b64encode(zlib.compress(json.dumps(whole).encode("ascii"))).decode("ascii")


def unpack(payload: str) -> tuple[list[log_transactions.Transaction], list[row_conflicts.Row]]:
    """The reverse."""
    packed, written = json.loads(zlib.decompress(base64.b64decode(payload)))
    return salvage.unpack(packed), [row_conflicts.Row(*one) for one in written]


# On the new source's host


def replay(
    module: AnsibleModule, plan: ReplayPlan, server: Server, names: Names
) -> dict[str, object]:
    """Run them; in check mode only test whether that is possible."""
    transactions, written = unpack(module.params["tail"])
    done = 0
    try:
        both = row_conflicts.Written(written, primary_keys(server, written))
        scan = Scan(
            log_access.program(module, plan.files),
            plan,
            server,
            names,
            both,
        )
        scan.go_on()
        if not module.check_mode:
            session = Server(login.connect(module))
            try:
                session.rows(f"SET SESSION innodb_lock_wait_timeout = {PATIENCE}")
                session.rows(f"SET SESSION lock_wait_timeout = {PATIENCE}")
                alone(session)
                rehearse(session, transactions)
                for one in transactions:
                    carry_out(session, one, scan.go_on)
                    done += 1
            finally:
                # An open transaction there is rolled back.
                connection.close(session)
            have = MysqlGtids.parse(global_text(server, "gtid_executed"))
            for one in transactions:
                if not have.covers(MysqlGtids.parse(one.gtid)):
                    raise ReplayError(f"it does not have {one.gtid}, which it was given")
    except (ReplayError, AbortError, ServerError, log_access.SalvageError, OSError) as error:
        module.fail_json(msg=left(str(error), done, len(transactions)), done=done)
    except log_transactions.TailError as error:
        module.fail_json(
            msg=left(f"its log cannot be interpreted: {error}", done, len(transactions))
        )
    return {"changed": bool(transactions), "done": done}


def left(
    words: str,
    done: int,
    number: int,
) -> str:
    """The result as text."""
    if not done:
        return f"nothing was executed: {words}"
    return f"{done} of {number} were executed and stay on the new source; then {words}"


def primary_keys(server: Server, written: list[row_conflicts.Row]) -> dict[str, list[str]]:
    """Of each table the numbers of its primary key's columns.

    Raises:
        ReplayError: there is no such table.
    """
    primary = {}
    for table in {row.table for row in written}:
        schema, name = (
            word.encode("latin-1").decode("utf-8") for word in row_conflicts.split(table)
        )
        columns = server.rows(
            "SELECT COLUMN_NAME AS name, ORDINAL_POSITION AS number FROM"
            " information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            (schema, name),
        )
        if not columns:
            raise ReplayError(f"it has no table {schema}.{name}")
        number_of = {text(row["name"]): str(row["number"]) for row in columns}
        key = server.rows(
            "SELECT COLUMN_NAME AS name FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = %s"
            " AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX",
            (schema, name),
        )
        primary[table] = [number_of[text(row["name"])] for row in key]
    return primary


class Scan:
    """Reads the new source's binary log for rows that both servers have written.

    A client that commits after us has waited for our row locks; one that committed before is in the
    log by the time we hold them. So what is read when the locks are held decides.

    Args:
        program: prints its files.
        written: by the former source only.
    """

    def __init__(
        self,
        program: str,
        plan: ReplayPlan,
        server: Server,
        names: Names,
        written: row_conflicts.Written,
    ) -> None:
        self.program, self.files = program, plan.files
        self.server, self.names, self.written = server, names, written
        self.known = MysqlGtids.parse(plan.known)
        self.place: tuple[str, int] | None = None

    def go_on(self) -> None:
        """Read what was written since.

        Raises:
            ReplayError: both have written the same row, or this cannot be ruled out.
            SalvageError, TailError, OSError, ServerError: it cannot be read.
        """
        status = self.server.rows(self.names.show_binary_log_status)[0]
        name, end = text(status["File"]), int(status["Position"])
        paths = log_access.listed(self.files)
        place = [one for one in paths if one.endswith("/" + name)]
        paths = paths[: paths.index(place[0]) + 1]
        begin = 4
        if self.place is None:
            paths = paths[former_facts.first_needed(self.program, paths, self.known) :]
        else:
            first, begin = self.place
            if self.place == (paths[-1], end):
                return
            paths = log_access.since(paths, first.rpartition("/")[2])
        parts = [printing.Part(path, os.path.getsize(path)) for path in paths]
        parts[0] = parts[0]._replace(begin=begin)
        parts[-1] = parts[-1]._replace(end=end)
        options = ["--verbose", "--base64-output=DECODE-ROWS", f"--exclude-gtids={self.known}"]
        met = printing.printed(
            self.program, parts, row_conflicts.Meeting(self.written).read, options
        ).met
        self.place = paths[-1], end
        if met:
            raise ReplayError(
                f"both have written since their histories diverged: {'; '.join(met[:5])}"
                f"{f' and {len(met) - 5} more' if met[5:] else ''}"
            )


def rehearse(session: Server, transactions: list[log_transactions.Transaction]) -> None:
    """Run everything in one transaction, and roll it back.

    Raises:
        ReplayError: the server refuses one of them.
    """
    try:
        for one in transactions:
            ahead, within = parts(one)
            if one is transactions[0]:
                carry_out(session, log_transactions.Transaction(one.gtid, ahead))
                # The description of a file has left that undetermined.
                session.rows("SET SESSION gtid_next = 'AUTOMATIC'")
                session.rows("BEGIN")
            else:
                within = [text for text in ahead if not IN_NONE.match(text)] + within
            carry_out(session, log_transactions.Transaction(one.gtid, within))
    except AbortError as error:
        raise ReplayError(str(error)) from error
    finally:
        session.rows("ROLLBACK")


def parts(one: log_transactions.Transaction) -> tuple[list[bytes], list[bytes]]:
    """What stands before a transaction's beginning, and what is between that and its end, without
    what its GTID needs.
    """
    words = [text.upper() for text in one.statements]
    begin = next(place for place, word in enumerate(words) if word in log_transactions.BEGINS)
    ahead = [text for text in one.statements[:begin] if not OF_WHOLE.match(text)]
    return ahead, [
        text
        for text, word in zip(one.statements[begin + 1 :], words[begin + 1 :])
        if not OF_WHOLE.match(text) and word not in log_transactions.ENDS
    ]
