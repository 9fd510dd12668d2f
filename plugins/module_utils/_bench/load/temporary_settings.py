# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings for the duration of a measurement: the statements that make them, and those that restore
them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Kept,
    Readings,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import repeated
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import DURABILITY, Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import (
    account_name,
    quote,
    set_statement,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import same_value

# Where a host keeps what must be restored: in memory, because a reboot undoes the settings too.
FOLDER = "/run/dbre-semisync"
# A reboot drops no schema and no account; what was created is named here too, and nothing secret.
LASTING = "/var/lib/dbre-semisync-benchmark.json"
TIMER_PREFIX = "semisync-setting-"
# How often the rollback retries a server that does not respond, and the seconds in between.
ATTEMPTS, PAUSE = 60, 5
# What may be set on the source only, by our keys; durability may be set on both sides.
SOURCE_ONLY = ("timeout", "wait_point", "wait_for_replica_count")
WORDS = ("AFTER_SYNC", "AFTER_COMMIT", "ON", "OFF")


def variable_names(names: Names) -> dict[str, str]:
    """Our key -> the server's name of every variable that a measurement may set on a source."""
    here = {
        key: name
        for key, name in names.variables("source").items()
        if key in SOURCE_ONLY or key == "enabled"
    }
    return dict({key: key for key in DURABILITY}, **here)


def wanted_variables(
    names: Names,
    side: str,
    replication: str | None,
    variables: Mapping[str, int | str],
) -> dict[str, str]:
    """The server's variables and the values that a setting gives them.

    Args:
        names: the server's.
        side: source or replica.
        replication: none, async, semisync, or None to leave it alone.
        variables: our keys and values.

    Raises:
        ValueError: a key that this server or side does not have, or a value that is none.
    """
    known = variable_names(names)
    wanted: dict[str, str] = {}
    for key, value in variables.items():
        if key not in known or key == "enabled":
            raise ValueError(
                f"{key} cannot be set on this server; these can:"
                f" {', '.join(sorted(set(known) - {'enabled'}))}"
            )
        if side == "source" or key in DURABILITY:
            wanted[known[key]] = checked(key, value)
    if side == "source" and replication:
        wanted[known["enabled"]] = "ON" if replication == "semisync" else "OFF"
    return wanted


def checked(key: str, value: int | str) -> str:
    """A value in capitals.

    Raises:
        ValueError: it is neither a number nor a word that such a variable has.
    """
    text = str(value).upper()
    if text in WORDS or text.isdigit():
        return text
    raise ValueError(f"{key} is {value!r}; it must be a number or one of {', '.join(WORDS)}")


def io_statement(names: Names, run: bool) -> str:
    """Starts or stops the default channel's IO thread."""
    return f"{'START' if run else 'STOP'} {names.replica_word} IO_THREAD"


def changes(now: Readings, wanted: Mapping[str, str]) -> list[str]:
    """The statements that lead from some values to others; semi-sync is switched on last and off
    first.

    Args:
        now: the server's variables, by name.
        wanted: those that should have a value.
    """
    differing = [name for name in sorted(wanted) if not same_value(now.get(name), wanted[name])]
    last = [name for name in differing if name.endswith("_enabled") and wanted[name] == "ON"]
    first = [name for name in differing if name.endswith("_enabled") and wanted[name] == "OFF"]
    rest = [name for name in differing if not name.endswith("_enabled")]
    return [set_statement(name, wanted[name]) for name in first + rest + last]


def remembered(
    kept: Kept,
    now: Readings,
    wanted: Mapping[str, str],
    io_running: bool,
    wants_io: bool | None,
    schema: str | None,
    account: tuple[str, str] | None,
) -> Kept:
    """What must be restored: the first values of everything that was changed, and what was created.

    Args:
        kept: the same from an earlier setting that is still in force, or an empty dict.
        now: the server's variables.
        wanted: those about to be set.
        io_running: whether the replica's IO thread runs.
        wants_io: whether it should, None to leave it alone.
        schema: name of a schema that will be created, or None.
        account: (user, host) that will be created, or None.
    """
    variables = {name: str(now.get(name)).upper() for name in wanted}
    variables.update(kept.get("variables", {}))
    io = kept.get("io")
    if wants_io is not None and io is None and wants_io != io_running:
        io = io_running
    schemas = list(kept.get("schemas", []))
    accounts = [list(pair) for pair in kept.get("accounts", [])]
    if schema and schema not in schemas:
        schemas.append(schema)
    if account and list(account) not in accounts:
        accounts.append(list(account))
    return {"variables": variables, "io": io, "schemas": schemas, "accounts": accounts}


def restore_statements(
    names: Names,
    kept: Kept,
    now: Readings | None = None,
) -> list[str]:
    """The statements that restore what remembered() returns.

    Args:
        now: the server's variables; without them every variable is set.
    """
    statements = []
    io_ran = kept.get("io")
    if io_ran is not None:
        statements.append(io_statement(names, io_ran))
    before, now = kept.get("variables", {}), now or {}
    switches = {name: before[name] for name in before if name.endswith("_enabled")}
    others = {name: before[name] for name in before if name not in switches}
    statements += changes(now, others)
    statements += [f"DROP DATABASE IF EXISTS {quote(schema)}" for schema in kept.get("schemas", [])]
    for user, host in kept.get("accounts", []):
        statements += drop_user_statements(names, account_name(user, host))
    # Last, so that no DROP waits for an acknowledgement while no replica is connected again.
    return statements + changes(now, switches)


def drop_user_statements(names: Names, account: str) -> list[str]:
    """Statements that drop an account if it exists, and may be repeated.

    Args:
        account: as account_name() writes it.
    """
    if names.if_not_exists:
        return [f"DROP USER IF EXISTS {account}"]
    # Creates it if it is already gone, with a hash that no password has.
    return [
        f"GRANT USAGE ON *.* TO {account} IDENTIFIED BY PASSWORD '*{'0' * 40}'",
        f"DROP USER {account}",
    ]


def account_statements(
    user: str,
    host: str,
    schema: str,
) -> list[str]:
    """Statements for an account that may do everything in one schema and sees all sessions.

    Returns:
        the first takes the password as its argument, the others none.
    """
    name, in_grant = account_name(user, host), quote(schema).replace("_", "\\_")
    return [
        f"CREATE USER {name.replace('%', '%%')} IDENTIFIED BY %s",
        # An underscore stands for any character here.
        f"GRANT ALL ON {in_grant}.* TO {name}",
        f"GRANT PROCESS ON *.* TO {name}",
    ]


def restore_script(client: str) -> str:
    """Shell lines that restore everything by themselves, and retry until the server does it. The
    statements may be repeated.

    Args:
        client: path of mysql or mariadb.
    """
    lines = [
        # The settings have been restored meanwhile.
        f"test -d {FOLDER} || exit 0",
        f"if {shlex.quote(client)} --defaults-extra-file={FOLDER}/login.cnf < {FOLDER}/restore.sql",
        f"then rm -rf {FOLDER} {LASTING}",
        "exit 0",
        "fi",
    ]
    return repeated(lines, ATTEMPTS, PAUSE) + "\nexit 1"
