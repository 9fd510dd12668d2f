# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statements of a switchover, by server: the plan shows them, and the parts run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import (
    Step,
    as_sql,
    change_statement,
    show,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    REPLICA,
    SOURCE,
    Names,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import (
    quote,
    quote_text,
    set_statement,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ScheduledEvent,
        Side,
    )

# An event that its source's server is to run (MySQL manual, "The INFORMATION_SCHEMA EVENTS Table").
ELSEWHERE = ("SLAVESIDE_DISABLED", "REPLICA_SIDE_DISABLED")


def freeze_statement(names: Names) -> str:
    """Keeps writers out. It waits for the commits in progress."""
    return set_statement("super_read_only" if names.super_read_only else "read_only", 1)


def open_statement() -> str:
    """Lets writers in; super_read_only goes with it (MySQL manual, "super_read_only")."""
    return set_statement("read_only", 0)


def side_statement(names: Names, side: Side, on: bool) -> str:
    return set_statement(names.variables(side)["enabled"], int(on))


def stop_replica(names: Names) -> Step:
    return f"STOP {names.replica_word}", None


def start_replica(names: Names) -> Step:
    return f"START {names.replica_word}", None


def stop_thread(names: Names, thread: str) -> Step:
    return f"STOP {names.replica_word} {thread}_THREAD", None


def start_thread(names: Names, thread: str) -> Step:
    return f"START {names.replica_word} {thread}_THREAD", None


def renew_steps(names: Names) -> list[Step]:
    """On a replica that follows the right source already: reconnect. If the source's host lost
    power, a replica keeps waiting for data for slave_net_timeout.
    """
    return [stop_replica(names), start_replica(names)]


def promote_steps(names: Names) -> list[Step]:
    """On the target, once it has applied everything. Its channel is kept, for the way back."""
    return [
        stop_replica(names),
        (side_statement(names, REPLICA, False), None),
        (side_statement(names, SOURCE, True), None),
    ]


def return_steps(names: Names) -> list[Step]:
    """The target's way back."""
    return [
        (side_statement(names, SOURCE, False), None),
        (side_statement(names, REPLICA, True), None),
        start_replica(names),
    ]


def redirect_steps(names: Names, host: str, port: int) -> list[Step]:
    """On a replica: follow another source by the same account, and TLS as before."""
    statement, prefix = names.change_source
    by_gtid = "MASTER_USE_GTID = slave_pos" if names.mariadb else f"{prefix}_AUTO_POSITION = 1"
    return [
        stop_replica(names),
        (f"{statement} {prefix}_HOST = %s, {prefix}_PORT = %s, {by_gtid}", (host, port)),
        start_replica(names),
    ]


def attach_steps(names: Names, channel: dict[str, object], applied: str) -> list[Step]:
    """On the former source: follow the target, and acknowledge.

    Args:
        channel: the parameters of channel.change_statement().
        applied: where a MariaDB server begins; see merged().
    """
    begin: list[Step] = (
        [(f"SET GLOBAL gtid_slave_pos = {quote_text(applied)}", None)] if names.mariadb else []
    )
    return [
        *begin,
        (side_statement(names, REPLICA, True), None),
        change_statement(names, channel),
        start_replica(names),
    ]


def retires_slowly(names: Names) -> bool:
    """Whether a server stands still for up to a second when its source side is switched off."""
    return not names.mariadb


def retire_steps(names: Names) -> list[Step]:
    """On the former source, when the target is open: what it applies waits for no acknowledgement.

    Not before: the server ends its receiver of acknowledgements, which looks up once a second, and
    answers no question about a variable meanwhile (seen on 9.7.4).
    """
    return [(side_statement(names, SOURCE, False), None)]


def detach_steps(names: Names, attached: bool) -> list[Step]:
    """The former source's way back, before it is opened again.

    Args:
        attached: whether it has a channel, which is of this switchover: a source had none.
    """
    own: list[Step] = (
        [stop_replica(names), (f"RESET {names.replica_word} ALL", None)] if attached else []
    )
    return [
        *own,
        (side_statement(names, REPLICA, False), None),
        (side_statement(names, SOURCE, True), None),
    ]


def forget_steps(names: Names) -> list[Step]:
    """On the new source: its channel as a replica is no way back any more."""
    return [(f"RESET {names.replica_word} ALL", None)]


def alter_event(event: ScheduledEvent, words: str) -> list[Step]:
    """Change whether an event runs here; it keeps its definer, SQL mode and time zone.

    Args:
        words: ENABLE, DISABLE, or names_more.disable_on_replica().
    """
    user, _at, host = event["definer"].rpartition("@")
    return [
        (
            "SET SESSION sql_mode = %s, SESSION time_zone = %s",
            (event["sql_mode"], event["time_zone"]),
        ),
        (
            f"ALTER DEFINER = {quote_text(user)}@{quote_text(host)} EVENT"
            f" {quote(event['schema'])}.{quote(event['name'])} {words}",
            None,
        ),
    ]


def shown(steps: list[Step]) -> list[str]:
    """Statements for output, with the password hidden."""
    return [show(statement, arguments) for statement, arguments in steps]


def channel_of(
    params: Mapping[str, object], tls: Mapping[str, bool | str | None]
) -> dict[str, object]:
    """The parameters of channel.change_statement() for the former source.

    Args:
        params: source_host, source_port, source_user, source_password, connect_retry.
        tls: ssl, ca and verify, where None keeps the server's default.
    """
    verify = tls.get("verify")
    return dict(
        params,
        source_ssl=bool(tls["ssl"]),
        source_ssl_ca=tls.get("ca") or None,
        source_ssl_verify=None if verify is None else as_sql(verify),
    )


def merged(slave_pos: str | None, binlog_pos: str | None) -> Gtids:
    """Where a MariaDB source begins as a replica: the last transaction of each domain, whether it
    was applied or written here.

    Raises:
        ValueError: one of them is not a GTID position.
    """
    return gtids.position(gtids.MariadbGtids, slave_pos, binlog_pos)
