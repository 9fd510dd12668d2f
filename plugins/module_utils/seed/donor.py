# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source before and after it is copied: how much there is, and the account for a clone."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.seed import accounts, copying, marker
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils.server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.sql import account_name
from ansible_collections.dbre.semisync.plugins.module_utils.server.values import text

SYSTEM = ", ".join(f"'{name}'" for name in connection.SYSTEM_SCHEMAS)
# The password is an argument of the statement; so its account has a doubled per cent sign.
ACCOUNT = account_name(copying.DONOR, "%")
ACCOUNT_WITH_ARGUMENTS = ACCOUNT.replace("%", "%%")


def measure(server: Server) -> dict[str, Any]:
    """What is to be copied: {'bytes', 'tables', 'schemas', 'unfit'}; bytes as the server estimates
    them.
    """
    row = server.rows(
        "SELECT COUNT(*) AS tables, COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS bytes"
        " FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
    )[0]
    unfit = server.rows(
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.TABLES WHERE"
        f" TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB' AND TABLE_SCHEMA NOT IN ({SYSTEM})"
        " ORDER BY 1"
    )
    return {
        "bytes": int(row["bytes"]),
        "tables": int(row["tables"]),
        "schemas": server.schemas(),
        "unfit": [text(table["name"]) for table in unfit],
    }


def dynamic_plugins(server: Server) -> dict[str, str]:
    """Active plugins from a library: name -> library. A clone wants them on the replica, too."""
    return {
        row["name"]: row["dl"]
        for row in server.rows(
            "SELECT PLUGIN_NAME AS name, PLUGIN_LIBRARY AS dl FROM information_schema.PLUGINS"
            " WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL"
        )
    }


def donor_statements(
    plugins: dict[str, str], password: str, require_ssl: bool
) -> list[tuple[str, tuple[str] | None]]:
    """What makes a MySQL server a donor: [(statement, arguments)]."""
    account, needs = ACCOUNT_WITH_ARGUMENTS, "SSL" if require_ssl else "NONE"
    statements: list[tuple[str, tuple[str] | None]] = [
        (f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY %s", (password,)),
        (f"ALTER USER {account} IDENTIFIED BY %s REQUIRE {needs}", (password,)),
        (f"GRANT BACKUP_ADMIN ON *.* TO {ACCOUNT}", None),
    ]
    if "clone" in plugins:
        return statements
    return [("INSTALL PLUGIN clone SONAME 'mysql_clone.so'", None), *statements]


def end_statements(uninstall: bool) -> list[tuple[str, None]]:
    """What takes that back: [(statement, no arguments)]."""
    drop = [(f"DROP USER IF EXISTS {ACCOUNT}", None)]
    return drop + ([("UNINSTALL PLUGIN clone", None)] if uninstall else [])


def prepare(module: Any, server: Server, names: Names) -> dict[str, Any]:
    """Say how much there is to copy, and let the replica in; see part prepare of semisync_seed.

    Raises:
        ValueError: the source has tables that this method cannot copy faithfully.
    """
    params = module.params
    amounts, plugins = measure(server), dynamic_plugins(server)
    unfit = copying.unfit_tables(params["method"], amounts["unfit"])
    if unfit:
        raise ValueError(f"the source has {unfit}")
    clones = params["method"] == "clone"
    installs = clones and "clone" not in plugins
    statements = (
        donor_statements(plugins, params["password"], params["require_ssl"]) if clones else []
    )
    if installs and not module.check_mode:
        # Whose plugin it is, is noted before it is there.
        note(server).write()
    execute(module, server, statements)
    result = dict(amounts, plugins=plugins, installed=installs, changed=bool(statements))
    if params["method"] == "dump":
        # The sender reads them again when it sends: what it says is seen where it fails, alone.
        result["left_out"] = accounts.read(server, names).left_out
        if result["left_out"]:
            module.warn(
                "a dump leaves out privileges on what the source no longer has: "
                + "; ".join(result["left_out"])
            )
    return result


def clear(module: Any, server: Server, _names: Names) -> dict[str, Any]:
    """Drop what a clone needed on its source; see part clear of semisync_seed."""
    if module.params["method"] != "clone":
        return {"changed": False}
    ours = note(server)
    statements = end_statements(ours.exists() and "clone" in dynamic_plugins(server))
    execute(module, server, statements)
    if not module.check_mode:
        ours.remove()
    return {"changed": True}


def note(server: Server) -> marker.Donor:
    """The note that the clone plugin of this server is ours."""
    return marker.Donor(server.rows("SELECT @@GLOBAL.port AS port")[0]["port"])


def execute(module: Any, server: Server, statements: Any) -> None:
    """Run statements, but not in check mode."""
    for statement, arguments in [] if module.check_mode else statements:
        try:
            server.rows(statement, arguments)
        except ServerError as error:
            module.fail_json(msg=f"the source refuses {statement}: {error}")
