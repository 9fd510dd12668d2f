# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a copy of a server consists of: its end in the binary log, its accounts, and tables that
cannot be copied.
"""

from __future__ import annotations

import re

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MariadbGtids
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import (
    account_name,
    filled,
    quote,
    quote_text,
)

# How both ends quote names and texts in the statements of accounts.
PLAIN_MODE = "SET SESSION sql_mode = ''"
# In the text of SHOW GRANTS, how the account logs in: servers before MySQL 5.7.6, every MariaDB.
LOGIN = re.compile(
    r" IDENTIFIED (?:BY PASSWORD|VIA|WITH)(?: (?:'(?:[^'\\]|\\.|'')*'|[^' ]+))*?"
    r"(?= REQUIRE | WITH |$)"
)
# In the text of SHOW GRANTS, the table or routine that a privilege is on; none for a whole schema.
NAME = r"(`(?:[^`]|``)+`|[^`\s.*]+)"
OBJECT = re.compile(rf" ON (?:(PROCEDURE|FUNCTION|PACKAGE(?: BODY)?) )?{NAME}\.{NAME} TO ")


def unfit_tables(method: str, tables: list[str]) -> str:
    """Why a method cannot copy tables of engines without transactions faithfully; empty if it can.

    Clone copies such tables empty (MySQL manual, "Clone Plugin Limitations"); a dump reads them at
    another moment than the other tables. mariadb-backup locks them for the moment it needs.

    Args:
        tables: names of tables that are not InnoDB.
    """
    if method == "backup" or not tables:
        return ""
    what = (
        "clone leaves them empty"
        if method == "clone"
        else "a dump would read them at a different moment than the others"
    )
    return (
        f"tables that are not InnoDB: {', '.join(tables[:5])}{' …' if len(tables) > 5 else ''};"
        f" {what}. Convert them (ALTER TABLE … ENGINE=InnoDB), or restore a backup of the source on"
        " the replica yourself"
    )


def parse_backup_position(text: str) -> str:
    """The MariaDB GTID position in xtrabackup_binlog_info: 'file<TAB>offset<TAB>0-1-42' gives
    '0-1-42'.

    A source that has written nothing since its binary log was enabled has no position: the copy
    follows from the beginning.

    Raises:
        ValueError: the text is no position.
    """
    words = text.strip().split("\t")
    if len(words) == 2 and words[1].isdigit():
        return ""
    if len(words) != 3:
        raise ValueError(f"the backup has no position of the source's binary log: {text.strip()!r}")
    MariadbGtids.parse(words[2])
    return re.sub(r"\s", "", words[2])


def parse_dump_position(head: str, tail: str) -> str | None:
    """The MariaDB GTID position of a dump made with --master-data=2 --gtid, or None if it has none.

    Before MDEV-15393 it is before the data, since then at the very end.

    Args:
        head, tail: the dump's first and last bytes, as text. What is in between may contain
            anything, such as a routine that sets positions.
    """
    for text in (head.partition("\n-- Current Database:")[0], tail):
        positions = re.findall(r"^-- SET GLOBAL gtid_slave_pos='([\d,-]*)';", text, re.MULTILINE)
        if positions:
            return positions[-1]
    return None


def create_role(name: str, if_not_exists: bool) -> str:
    """SQL that creates a role if it is missing."""
    return f"CREATE ROLE {'IF NOT EXISTS ' if if_not_exists else ''}{quote(name)};\n"


def create_user(row: dict[str, str], shown: str, names: Names) -> str:
    """SQL that creates an account of mysql.user with its login, if it is missing.

    Args:
        row: of mysql.user, with lower-case keys.
        shown: what SHOW CREATE USER says; empty if the server does not know it.
        names: of the server.
    """
    account, stored = account_name(row["user"], row["host"]), row.get("authentication_string", "")
    if not shown:
        shown = f"CREATE USER {account}{login_of(row)}"
    elif not names.hashes_as_hex:
        # It may contain any bytes, including an apostrophe, which 5.7.23 escapes itself.
        shown = shown.replace(f" AS '{stored}'", f" AS {quote_text(stored)}")
    if names.if_not_exists:
        return (
            re.sub(r"^CREATE USER (?!IF NOT EXISTS)", "CREATE USER IF NOT EXISTS ", shown) + ";\n"
        )
    return filled(
        "SET @dbre_semisync = IF((SELECT COUNT(*) FROM mysql.user WHERE User = {user} AND Host ="
        " {host}), 'DO 0', {create});\n"
        "PREPARE dbre_semisync FROM @dbre_semisync;\n"
        "EXECUTE dbre_semisync;\n"
        "DEALLOCATE PREPARE dbre_semisync;\n",
        user=[row["user"]],
        host=[row["host"]],
        create=[shown],
    )


def login_of(row: dict[str, str]) -> str:
    """How an account logs in, for CREATE USER, from its columns in mysql.user."""
    plugin = row.get("plugin", "")
    stored = row.get("authentication_string") or row.get("password", "")
    if plugin in ("", "mysql_native_password", "mysql_old_password"):
        return f" IDENTIFIED BY PASSWORD {quote_text(stored)}" if stored else ""
    return f" IDENTIFIED WITH {plugin}" + (f" AS {quote_text(stored)}" if stored else "")


def plain_grant(grant: str, row: dict[str, str]) -> str:
    """A text of SHOW GRANTS as a statement that does not change how the account logs in.

    MySQL 5.6 and 5.7 show an apostrophe in a name, or in a hash, as it is.

    Args:
        row: of mysql.user, with lower-case keys.
    """
    user, host = row["user"], row["host"]
    grant = grant.replace(f" TO '{user}'@'{host}'", f" TO {account_name(user, host)}")
    for column in ("authentication_string", "password"):
        if row.get(column):
            grant = grant.replace(f" IDENTIFIED BY PASSWORD '{row[column]}'", "")
    return LOGIN.sub("", grant)


def object_of(grant: str) -> tuple[str, str, str] | None:
    """(kind of routine or '', schema, name) of the table or routine that a privilege is on, or None
    if it is on more. The server accepts such a privilege only if that exists (errors 1146, 1305).

    Args:
        grant: of SHOW GRANTS.
    """
    match = OBJECT.search(grant)
    if not match:
        return None
    schema, name = (
        word[1:-1].replace("``", "`") if word.startswith("`") else word
        for word in match.group(2, 3)
    )
    return match.group(1) or "", schema, name


def account_statements(creates: list[str], grants: list[str]) -> list[str]:
    """SQL that creates accounts on a replica; existing ones keep their logins.

    Args:
        creates: of create_role() and create_user().
        grants: of plain_grant().
    """
    first, last = [PLAIN_MODE + ";\n"], []
    for create in creates:
        # A role must exist before it can be an account's default.
        match = re.search(r" DEFAULT ROLE (.+?)(?= REQUIRE | WITH | PASSWORD | ACCOUNT |;)", create)
        if match:
            create = create.replace(match.group(0), "")
            account = create.split()[5]
            last.append(f"ALTER USER {account} DEFAULT ROLE {match.group(1)};\n")
        first.append(create)
    return first + [grant + ";\n" for grant in grants] + last
