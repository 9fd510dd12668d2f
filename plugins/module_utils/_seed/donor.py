# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source before and after it is copied: how much there is, and the account for a clone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._seed import (
    accounts,
    copying,
    marker,
    marker_writing,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server, Step
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import account_name, filled
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

EVERYWHERE = "%"
# In the refusal of a login, the client's host as the server compares it with accounts.
REFUSED = re.compile(rf"'{marker.DONOR}'@'([0-9A-Za-z.:_-]+)'")
REQUIRE = {"required": "SSL", "any": "NONE", "disabled": "NONE"}
SEEN_SECONDS = 5


class Amounts(TypedDict):
    """What must be copied; bytes by the server's estimate, unfit tables by name."""

    bytes: int
    tables: int
    schemas: list[str]
    unfit: list[str]


def measure(server: Server) -> Amounts:
    """What must be copied: {'bytes', 'tables', 'schemas', 'unfit'}; bytes by the server's
    estimate.
    """
    row = server.rows(
        "SELECT COUNT(*) AS tables, COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) AS bytes"
        " FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
    )[0]
    asked = filled(
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) AS name FROM information_schema.TABLES WHERE"
        " TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB' AND TABLE_SCHEMA NOT IN ({own})"
        " ORDER BY 1",
        own=list(connection.SYSTEM_SCHEMAS),
    )
    unfit = server.rows(asked)
    return {
        "bytes": int(row["bytes"]),
        "tables": int(row["tables"]),
        "schemas": server.schemas(),
        "unfit": [text(table["name"]) for table in unfit],
    }


def dynamic_plugins(server: Server) -> dict[str, str]:
    """Active plugins from a library: name -> library. A clone needs them on the replica, too."""
    return {
        row["name"]: row["dl"]
        for row in server.rows(
            "SELECT PLUGIN_NAME AS name, PLUGIN_LIBRARY AS dl FROM information_schema.PLUGINS"
            " WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL"
        )
    }


def seen_as(params: Mapping[str, object]) -> str:
    """As which host a source sees this one; empty if the refusal does not name it.

    The account does not exist, or has another password: the refusal names the host.
    """
    try:
        login.connect_to(
            str(params["source_host"]),
            int(str(params["source_port"])),
            marker.DONOR,
            "",
            False,
            SEEN_SECONDS,
            params,
        )
    except ServerError as error:
        match = REFUSED.search(str(error)) if error.number in login.LOGIN_REFUSED else None
        return match.group(1) if match else ""
    return ""


def donor_statements(
    plugins: dict[str, str],
    host: str,
    password: str,
    tls: str,
) -> list[Step]:
    """The statements that make a MySQL server a donor: [(statement, arguments)].

    Outside the binary log, because the other replicas do not need the account.

    Args:
        plugins: what is active already.
        host: that the account may log in from.
        tls: required, any or disabled.
    """
    account = account_name(marker.DONOR, host)
    # The statement has an argument, the password, so a per cent sign in the account is doubled.
    escaped = account.replace("%", "%%")
    statements: list[Step] = [
        ("SET SESSION sql_log_bin = 0", None),
        (f"CREATE USER IF NOT EXISTS {escaped} IDENTIFIED BY %s", (password,)),
        (f"ALTER USER {escaped} IDENTIFIED BY %s REQUIRE {REQUIRE[tls]}", (password,)),
        (f"GRANT BACKUP_ADMIN ON *.* TO {account}", None),
    ]
    if "clone" in plugins:
        return statements
    return [("INSTALL PLUGIN clone SONAME 'mysql_clone.so'", None), *statements]


def end_statements(hosts: list[str], uninstall: bool) -> list[Step]:
    """The statements that undo that: [(statement, no arguments)]. Into the binary log, because the
    clone has the account too.

    Args:
        hosts: of the existing accounts.
    """
    drop: list[Step] = [
        (f"DROP USER IF EXISTS {account_name(marker.DONOR, host)}", None) for host in hosts
    ]
    return [*drop, ("UNINSTALL PLUGIN clone", None)] if uninstall else drop


def donor_hosts(server: Server) -> list[str]:
    """The hosts that the accounts of clones may log in from."""
    rows = server.rows(
        "SELECT Host AS host FROM mysql.user WHERE User = %s ORDER BY Host", (marker.DONOR,)
    )
    return [text(row["host"]) for row in rows]


def prepare(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Return how much there is to copy, and create the replica's account; see part prepare of
    semisync_seed.

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
    host = params["donor_host"] or EVERYWHERE
    statements = (
        donor_statements(plugins, host, params["password"], params["tls"]) if clones else []
    )
    if installs and not module.check_mode:
        # The note that the plugin is ours is written before the plugin is installed.
        note(server).write()
    execute(module, server, statements)
    result: dict[str, object] = {
        **amounts,
        "plugins": plugins,
        "installed": installs,
        "changed": bool(statements),
    }
    if params["method"] == "dump":
        # The sender reads them again when it sends; its own output is only seen if it fails.
        left_out = accounts.read_accounts(server, names).left_out
        result["left_out"] = left_out
        if left_out:
            words = "a dump leaves out privileges on what the source no longer has: "
            module.warn(words + "; ".join(left_out))
    return result


def clear(module: AnsibleModule, server: Server, _names: Names) -> dict[str, object]:
    """Drop what a clone needed on its source; see part clear of semisync_seed."""
    if module.params["method"] != "clone":
        return {"changed": False}
    ours = note(server)
    uninstall = ours.exists() and "clone" in dynamic_plugins(server)
    statements = end_statements(donor_hosts(server), uninstall)
    execute(module, server, statements)
    if not module.check_mode:
        ours.remove()
    return {"changed": True}


def note(server: Server) -> marker_writing.Donor:
    """The note that the clone plugin of this server is ours."""
    return marker_writing.Donor(server.rows("SELECT @@GLOBAL.port AS port")[0]["port"])


def execute(module: AnsibleModule, server: Server, statements: Iterable[Step]) -> None:
    """Run statements, but not in check mode."""
    for statement, arguments in [] if module.check_mode else statements:
        try:
            server.rows(statement, arguments)
        except ServerError as error:
            module.fail_json(msg=f"the source refuses {statement}: {error}")
