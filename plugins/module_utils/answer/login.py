# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP answer's account on its own server: it may see what channels do, and read the journal.

Each host makes its own password, which never leaves it, so the statements go to no binary log.
"""

from __future__ import annotations

import secrets

from ansible_collections.dbre.semisync.plugins.module_utils.answer.place import ACCOUNT
from ansible_collections.dbre.semisync.plugins.module_utils.replication.account import native_hash
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import table_name
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names


def new_password() -> str:
    """A password that every policy takes and every option file could hold."""
    return "Aa1-" + secrets.token_urlsafe(24)


def creation(
    names: Names, schema: str, password: str
) -> list[tuple[str, tuple[object, ...] | None]]:
    """The statements that create the account."""
    by = f"WITH {names.account_plugin} BY" if names.account_plugin else "BY"
    if names.mariadb:
        # Its general log has the statement as it was.
        by, password = "BY PASSWORD", native_hash(password)
    table = table_name(schema)
    return [
        (f"CREATE USER %s@%s IDENTIFIED {by} %s", (*ACCOUNT, password)),
        (f"GRANT {names.sees_channels} ON *.* TO %s@%s", ACCOUNT),
        # A privilege on a table that may not be there yet is given only with CREATE (MySQL manual,
        # "GRANT Statement"), which goes at once.
        (f"GRANT CREATE, SELECT ON {table} TO %s@%s", ACCOUNT),
        (f"REVOKE CREATE ON {table} FROM %s@%s", ACCOUNT),
    ]


def removal() -> list[tuple[str, tuple[object, ...] | None]]:
    return [("DROP USER %s@%s", ACCOUNT)]


EXISTS = ("SELECT User FROM mysql.user WHERE User = %s AND Host = %s", ACCOUNT)
