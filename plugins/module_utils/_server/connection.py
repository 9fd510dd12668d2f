# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to one server: the few statements with which this collection reads, and the frame of
modules that use it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Tuple, cast

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import (
    normalise_channel,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import (
    ServerError,
    driver_errors,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import as_number, text
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import identify_version

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Account,
        Channel,
        EventState,
        Reader,
        ScheduledEvent,
        Tls,
        Uptime,
        Variables,
    )

# The last two are directories that MariaDB takes for schemas: a file system's, and the one of a
# seeding that was cut off.
SYSTEM_SCHEMAS = (
    "information_schema",
    "performance_schema",
    "mysql",
    "sys",
    "ndbinfo",
    "#mysql50#lost+found",
    "#mysql50#dbre-semisync-seed",
)
# What a schema may hold. Views are tables.
HELD = (
    "SELECT DISTINCT TABLE_SCHEMA AS name FROM information_schema.TABLES",
    "SELECT DISTINCT ROUTINE_SCHEMA AS name FROM information_schema.ROUTINES",
    "SELECT DISTINCT EVENT_SCHEMA AS name FROM information_schema.EVENTS",
)
EVERYWHERE = " ON *.*"

# A statement and its arguments.
Step = Tuple[str, Optional[Tuple[object, ...]]]


class Server:
    """A server behind a dictionary cursor: the few statements this collection reads with.

    Args:
        cursor: a DB-API cursor that returns rows as dictionaries.
    """

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def within(self, seconds: float) -> Server:
        """The same, which gives up if the server does not answer a statement in that time: the
        connection ends then, but the statement may still take effect. Without effect by MySQLdb.
        """
        self.cursor.connection._read_timeout = seconds
        return self

    def rows(
        self, statement: str, arguments: Sequence[object] | None = None
    ) -> list[dict[str, Any]]:
        """The rows that a statement returns.

        Raises:
            ServerError: the server refuses it, or is gone.
        """
        with driver_errors():
            self.cursor.execute(statement, arguments)
            return list(self.cursor.fetchall() or ())

    def pairs(self, statement: str) -> Variables:
        """A two-column result as a dictionary with lower-case keys."""
        values: Variables = {}
        for row in self.rows(statement):
            name, value = list(row.values())
            values[name.lower()] = value
        return values

    def variables(self) -> Variables:
        return self.pairs("SHOW GLOBAL VARIABLES")

    def semisync_status(self) -> Variables:
        return self.pairs("SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync%'")

    def uptime(self) -> Uptime:
        """Seconds since the server started, and since FLUSH STATUS set its counters to zero."""
        status = self.pairs("SHOW GLOBAL STATUS LIKE 'Uptime%'")
        return {
            "seconds": int(status.get("uptime") or 0),
            "since_reset": as_number(status.get("uptime_since_flush_status")),
        }

    def plugins(self) -> dict[str, str]:
        """Semi-sync plugins the server has loaded: name -> status."""
        return {
            row["name"]: row["status"]
            for row in self.rows(
                "SELECT PLUGIN_NAME AS name, PLUGIN_STATUS AS status FROM"
                " information_schema.PLUGINS WHERE PLUGIN_NAME LIKE 'rpl\\_semi\\_sync%' AND"
                " PLUGIN_TYPE = 'REPLICATION'"
            )
        }

    def registered_plugins(self) -> dict[str, str]:
        """Semi-sync plugins that mysql.plugin loads at the next start: name -> library."""
        return {
            row["name"]: row["dl"]
            for row in self.rows(
                "SELECT name, dl FROM mysql.plugin WHERE name LIKE 'rpl\\_semi\\_sync%'"
            )
        }

    def schemas(self) -> list[str]:
        """Schemas that are not the server's own."""
        rows = self.rows("SHOW DATABASES")
        return sorted(
            name for row in rows for name in row.values() if name.lower() not in SYSTEM_SCHEMAS
        )

    def empty_schemas(self) -> list[str]:
        """Those of schemas() that hold nothing, as test of a new MySQL 5.6; none of them where this
        login may not see what they hold.
        """
        filled = {text(row["name"]).lower() for asked in HELD for row in self.rows(asked)}
        empty = [name for name in self.schemas() if name.lower() not in filled]
        return empty if empty and self.sees_everything() else []

    def events(self) -> list[ScheduledEvent]:
        """Scheduled events that this login sees, with what changing one has to keep."""
        return [
            cast("ScheduledEvent", {name: text(value) for name, value in row.items()})
            for row in self.rows(
                "SELECT EVENT_SCHEMA AS `schema`, EVENT_NAME AS name, DEFINER AS definer, STATUS AS"
                " status, SQL_MODE AS sql_mode, TIME_ZONE AS time_zone FROM"
                " information_schema.EVENTS ORDER BY 1, 2"
            )
        ]

    def event_states(self) -> list[EventState] | None:
        """Schema, name and status of every scheduled event; None if they cannot be read, or
        this login may not see all.
        """
        try:
            rows = self.events() if self.sees_everything() else None
        except ServerError:
            # Its tables are damaged, say.
            return None
        if rows is None:
            return None
        return [
            {"schema": row["schema"], "name": row["name"], "status": row["status"]} for row in rows
        ]

    def sees_everything(self) -> bool:
        """Whether information_schema shows this login the contents of every schema."""
        grants = [text(next(iter(row.values()))) for row in self.rows("SHOW GRANTS")]
        everywhere = {
            privilege.replace(EVERYWHERE, "")
            for grant in grants
            for privilege in parse_grant(grant)
            if privilege.endswith(EVERYWHERE)
        }
        revoked = any(grant.startswith("REVOKE") for grant in grants)
        return not revoked and bool(
            "ALL PRIVILEGES" in everywhere or everywhere >= {"SELECT", "EVENT"}
        )

    def persisted(self) -> dict[str, str]:
        """Variables that SET PERSIST wrote; they override the option files (MySQL manual,
        "Persisted System Variables").
        """
        return {
            row["name"].lower(): row["value"]
            for row in self.rows(
                "SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM"
                " performance_schema.persisted_variables"
            )
        }

    def accounts(self) -> list[Account]:
        """Accounts only for replication, or for a seeding of ours: user, host, privileges, and
        whether they may log in with TLS only.
        """
        accounts: list[Account] = []
        for row in self.rows(
            "SELECT User AS user, Host AS host, ssl_type FROM mysql.user"
            " WHERE Repl_slave_priv = 'Y' AND Super_priv = 'N' OR User = 'dbre_semisync_seed'"
            " ORDER BY User, Host"
        ):
            grants: list[str] = []
            for grant in self.rows("SHOW GRANTS FOR %s@%s", (text(row["user"]), text(row["host"]))):
                grants.extend(parse_grant(text(next(iter(grant.values())))))
            accounts.append(
                {
                    "user": text(row["user"]),
                    "host": text(row["host"]),
                    "privileges": grants,
                    # ANY is REQUIRE SSL; X509 and SPECIFIED require more.
                    "needs_ssl": bool(text(row["ssl_type"] or "")),
                }
            )
        return accounts

    def native_accounts(self) -> list[str]:
        """Accounts that log in by mysql_native_password, but for locked ones: user@host."""
        rows = self.rows(
            "SELECT User AS user, Host AS host FROM mysql.user WHERE plugin ="
            " 'mysql_native_password' AND account_locked = 'N' ORDER BY User, Host"
        )
        return [f"{text(row['user'])}@{text(row['host'])}" for row in rows]

    def senders(self) -> list[int]:
        """Connection numbers of the threads that send the binary log to replicas."""
        return [
            int(row["Id"])
            for row in self.rows("SHOW PROCESSLIST")
            if text(row["Command"]).startswith("Binlog Dump")
        ]

    def readers(self) -> list[Reader]:
        """readers_in() its process list."""
        return readers_in(self.rows("SHOW PROCESSLIST"))

    def tls(self, variables: Variables) -> Tls:
        """Whether the server has TLS for its clients."""
        if variables.get("have_ssl") is not None:
            return {"on": variables["have_ssl"] == "YES"}
        # MySQL 8.4 and later have no such variable; MariaDB's status is that of the session.
        return {
            "on": bool(
                self.pairs("SHOW GLOBAL STATUS LIKE 'Ssl\\_server\\_not\\_after'").get(
                    "ssl_server_not_after"
                )
            )
        }

    def applied(self, names: Names) -> str:
        """The GTIDs that a replica has applied, as one line of text."""
        name = "gtid_slave_pos" if names.mariadb else "gtid_executed"
        return "".join(
            text(self.rows(f"SELECT @@GLOBAL.{name} AS value")[0]["value"] or "").split()
        )

    def channels(self, names: Names) -> list[Channel]:
        return [normalise_channel(row) for row in self.rows(names.show_channels)]


def run_steps(server: Server, steps: Iterable[Step]) -> None:
    """Run statements, each with its arguments, in order.

    Raises:
        ServerError: the server refuses one; those after it are not run.
    """
    for statement, arguments in steps:
        server.rows(statement, arguments)


@contextlib.contextmanager
def open_to_root(server: Server) -> Iterator[None]:
    """Switch super_read_only off, if it is on, for a few statements; read_only stays."""
    frozen = server.variables().get("super_read_only") == "ON"
    try:
        if frozen:
            server.rows("SET GLOBAL super_read_only = OFF")
        yield
    finally:
        if frozen:
            server.rows("SET GLOBAL super_read_only = ON")


def readers_in(listed: Iterable[Mapping[str, object]]) -> list[Reader]:
    """Sessions that read the binary log, in a process list: user and host of each; the list does
    not show whether they use TLS.
    """
    return [
        {"user": text(row["User"]), "host": text(row["Host"]).rsplit(":", 1)[0], "tls": None}
        for row in listed
        if text(row["Command"]).startswith("Binlog Dump")
    ]


def parse_grant(grant: str) -> list[str]:
    """The privileges of one SHOW GRANTS line, without anything that identifies a password.

    'GRANT REPLICATION SLAVE ON *.* TO ...' gives ['REPLICATION SLAVE ON *.*']; USAGE is no
    privilege.
    """
    match = re.match(r"GRANT (.+?) ON (.+?) TO ", grant)
    if not match:
        return []
    privileges = [privilege.strip() for privilege in re.split(r",(?![^(]*\))", match.group(1))]
    return [f"{privilege} ON {match.group(2)}" for privilege in privileges if privilege != "USAGE"]


def identify(server: Server) -> Names:
    """The names table of the server behind a connection.

    Raises:
        UnknownServerError: a fork or a version that this collection does not know.
    """
    row = server.rows("SELECT @@version AS version, @@version_comment AS comment")[0]
    engine, version = identify_version(row["version"], row["comment"])
    return Names(engine, version, server.plugins())


def work(
    module: AnsibleModule,
    what: Callable[[AnsibleModule, Server, Names], Mapping[str, object]],
    failed: str,
    connect: Callable[[AnsibleModule], Any] = login.connect_or_fail,
    seconds: float | None = None,
) -> None:
    """Exit the module with what its work returns, or fail with a message.

    Args:
        module: the AnsibleModule, with login's options.
        what: takes (module, server, its names) and returns what exit_json takes. Its ValueErrors,
            as of an unknown server, are the message.
        failed: what did not work, before the server's own message.
        connect: takes the module and returns a cursor.
        seconds: for each answer of the server; None for as long as it takes.
    """
    server = Server(connect(module))
    if seconds is not None:
        server.within(seconds)
    try:
        result = what(module, server, identify(server))
    except ValueError as error:
        module.fail_json(msg=str(error))
    except (ServerError, OSError) as error:
        refused = isinstance(error, ServerError) and error.number in login.ACCESS_DENIED
        # A missing privilege says nothing about the server.
        words = disk_space.explained(f"{failed}: {error}")
        module.fail_json(msg=words, **({"reason": "login"} if refused else {}))
    module.exit_json(**result)


def close(server: Server) -> None:
    """Let a connection go, and with it its lock."""
    with contextlib.suppress(Exception):  # it may be gone already
        server.cursor.connection.close()
