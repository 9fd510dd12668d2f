# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements that point a replica at its source, and start and stop its channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Step
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel

# Never give up: since MySQL 8.4 a replica stops trying after 10 attempts (MySQL 8.4 manual,
# SOURCE_RETRY_COUNT).
RETRY_FOREVER = 0
HIDDEN = "********"
# No statement: wait until what the replica has received is applied.
DRAIN = "wait for the applier"
# Our parameter -> (the servers' option, the channel's key in semisync_info).
TLS = (
    ("source_ssl", "SSL", "tls"),
    ("source_ssl_ca", "SSL_CA", "tls_ca"),
    ("source_ssl_verify", "SSL_VERIFY_SERVER_CERT", "tls_verify"),
)
# A statement and its arguments.


def change_statement(names: Names, params: Mapping[str, object]) -> Step:
    """(statement, arguments) of CHANGE REPLICATION SOURCE TO or CHANGE MASTER TO, by GTID."""
    statement, prefix = names.change_source
    options = [
        ("HOST", params["source_host"]),
        ("PORT", params["source_port"]),
        ("USER", params["source_user"]),
        ("PASSWORD", params["source_password"]),
        ("CONNECT_RETRY", params["connect_retry"]),
        ("SSL", int(bool(params["source_ssl"]))),
    ]
    options += [
        (option, as_sql(params[name]))
        for name, option, dummy in TLS[1:]
        if params.get(name) is not None
    ]
    words = [f"{prefix}_{name} = %s" for name, dummy in options]
    arguments = [value for dummy, value in options]
    if names.mariadb:
        words.append("MASTER_USE_GTID = slave_pos")
        if (
            names.verifies_source_by_default
            and not params["source_ssl"]
            and params.get("source_ssl_verify") is None
        ):
            words.append("MASTER_SSL_VERIFY_SERVER_CERT = 0")
    else:
        words += [f"{prefix}_RETRY_COUNT = {RETRY_FOREVER}", f"{prefix}_AUTO_POSITION = 1"]
        # With TLS the password needs no key; without TLS, an impostor of the source could send its
        # own key.
        if names.has_public_key_option and not params["source_ssl"]:
            words.append(f"GET_{prefix}_PUBLIC_KEY = 1")
    return f"{statement} {', '.join(words)}", tuple(arguments)


def as_sql(value: object) -> object:
    """A value as an argument of a statement: the servers have no booleans."""
    return int(value) if isinstance(value, bool) else value


def login_changes(params: Mapping[str, object], before: Channel, known: str | None) -> list[Any]:
    """Options of a channel's login that differ from what is wanted: [(option, value)]; None leaves
    an option unchanged.

    Args:
        before: the channel.
        known: its password, or None if that cannot be read.
    """
    old = tls_of(before)
    password = (
        [("PASSWORD", params["source_password"])]
        if params["source_password"] not in (None, known)
        else []
    )
    return password + [
        (option, as_sql(params[name]))
        for name, option, key in TLS
        if params[name] is not None and params[name] != old[key]
    ]


def tls_of(channel: Channel) -> dict[str, bool | str]:
    """A channel's TLS settings, by the keys of TLS."""
    return {
        "tls": channel["tls"],
        "tls_ca": channel["tls_ca"],
        "tls_verify": channel["tls_verify"],
    }


def way_back(changes: list[Any], before: Channel, known: str | None) -> list[Any]:
    """The values that login_changes() replaces, to restore them; without a password that could not
    be read.
    """
    tls = tls_of(before)
    old = {option: as_sql(tls[key]) for dummy, option, key in TLS}
    old.update({} if known is None else {"PASSWORD": known})
    return [(option, old[option]) for option, dummy in changes if option in old]


def login_steps(names: Names, changes: list[tuple[str, int | str]], before: Channel) -> list[Step]:
    """The statements that change a channel's login, and stop only the threads that they must.

    If both threads must stop, the server discards what it has received: so that is applied first.
    """
    stop = f"STOP {names.replica_word}"
    start = f"START {names.replica_word}"
    prefix = names.change_source[1]
    options = [f"{prefix}_{name} = %s" for name, dummy in changes]
    if names.has_public_key_option and ("SSL", 0) in changes:
        options.append(f"GET_{prefix}_PUBLIC_KEY = 1")
    change = (
        f"{names.change_source[0]} {', '.join(options)}",
        tuple(value for dummy, value in changes),
    )
    if names.changes_channel_while_applying:
        # With both threads stopped MySQL would discard its relay logs.
        applier: list[Step] = (
            [] if before["sql_running"] == "Yes" else [(start + " SQL_THREAD", None)]
        )
        return [
            *applier,
            (stop + " IO_THREAD", None),
            change,
            (start, None),
        ]
    drain: list[Step] = (
        [(DRAIN, None), (stop + " IO_THREAD", None), (DRAIN, None)]
        if before["sql_running"] == "Yes"
        else []
    )
    return [
        *drain,
        (stop, None),
        change,
        (start, None),
    ]


def gtid_steps(names: Names) -> list[Step]:
    """The statements that make a channel follow by GTID. What was received is applied first,
    because the server discards it.
    """
    word, (statement, prefix) = names.replica_word, names.change_source
    option = "MASTER_USE_GTID = slave_pos" if names.mariadb else f"{prefix}_AUTO_POSITION = 1"
    return [
        (DRAIN, None),
        (f"STOP {word} IO_THREAD", None),
        (DRAIN, None),
        (f"STOP {word}", None),
        (f"{statement} {option}", None),
        (f"START {word}", None),
    ]


def position_steps(names: Names, stopped: Channel) -> list[Step]:
    """The statements back to file and position, at which the channel stopped."""
    word, (statement, prefix) = names.replica_word, names.change_source
    option = "MASTER_USE_GTID = no" if names.mariadb else f"{prefix}_AUTO_POSITION = 0"
    return [
        (f"STOP {word}", None),
        (
            f"{statement} {option}, {prefix}_LOG_FILE = %s, {prefix}_LOG_POS = %s",
            (stopped["applied_file"], stopped["applied_position"]),
        ),
        (f"START {word}", None),
    ]


def follows(before: Channel | None, params: Mapping[str, object]) -> bool:
    """Whether the channel already points at this source, and has connected to it."""
    return (
        before is not None
        and before["source_host"] == params["source_host"]
        and int(before["source_port"] or 0) == params["source_port"]
        and before["source_user"] == params["source_user"]
        and bool(before["source_uuid"] or before["source_server_id"])
    )


def waits_to_connect(channel: Channel | None) -> bool:
    """Whether the IO thread runs and has no source: it waits connect_retry seconds before it
    retries.
    """
    return channel is not None and channel["io_running"] not in ("Yes", "No")


def reconnect_steps(names: Names) -> list[Step]:
    """The statements that make an IO thread retry its source at once; the applier keeps running."""
    return [(f"{word} {names.replica_word} IO_THREAD", None) for word in ("STOP", "START")]


def steps(names: Names, params: Mapping[str, object], before: Channel | None) -> list[Step]:
    """The statements to run, in order."""
    stop = f"STOP {names.replica_word}"
    start = f"START {names.replica_word}"
    if params["state"] == "stopped":
        threads = [before["io_running"], before["sql_running"]] if before else []
        return [(stop, None)] if any(thread != "No" for thread in threads) else []
    if params["state"] == "reconnected":
        return reconnect_steps(names) if waits_to_connect(before) else []
    if params["state"] in ("started", "updated") or follows(before, params):
        # START has no effect on a thread that waits to retry.
        woken = reconnect_steps(names)[:1] if waits_to_connect(before) else []
        return [] if channels.running(before) else [*woken, (start, None)]
    first: list[Step] = [] if before is None else [(stop, None)]
    return [*first, change_statement(names, params), (start, None)]


def show(statement: str, arguments: tuple[object, ...] | None) -> str:
    """The statement for people: arguments in place, the password hidden."""
    if not arguments:
        return statement
    words = statement.split("%s")
    shown = [
        HIDDEN if word.endswith("_PASSWORD = ") else repr(value)
        for word, value in zip(words, arguments)
    ]
    return statement % tuple(shown)


def channel_text(channel: Channel | None) -> str:
    """A channel for the diff."""
    if channel is None:
        return "no channel\n"
    tls = f"TLS = {describe_tls(channel)}\n" if channel.get("tls") else ""
    return (
        f"source = {channel['source_user']}@{channel['source_host']}:{channel['source_port']}\nIO"
        f" thread = {channel['io_running']}\nSQL thread = {channel['sql_running']}\n" + tls
    )


def describe_tls(channel: Channel) -> str:
    """What TLS a channel uses, for the diff."""
    words = [
        f", CA {channel['tls_ca']}" if channel.get("tls_ca") else "",
        ", name verified" if channel.get("tls_verify") else "",
    ]
    return "Yes" + "".join(words)


def predict(before: Channel | None, params: Mapping[str, object]) -> str:
    """The channel as it should be afterwards, for the diff."""
    runs = "No" if params["state"] == "stopped" else "Yes"
    after: dict[str, object] = {**(before or {}), "io_running": runs}
    if params["state"] != "reconnected":
        after["sql_running"] = runs
    if params["state"] == "configured":
        after.update(
            source_user=params["source_user"],
            source_host=params["source_host"],
            source_port=params["source_port"],
        )
    if params["state"] in ("configured", "updated"):
        after.update(
            (key, params.get(name)) for name, dummy, key in TLS if params.get(name) is not None
        )
    return channel_text(cast("Channel", after))
