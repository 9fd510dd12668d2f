"""How the source's role is moved by hand: what an administrator would type, and what a playbook
writes into the journal.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.dbre.semisync.plugins.module_utils._replication import (
    journal,
    journal_writing,
)

from support.eventually import eventually
from support.live_hosts import PASSWORD, Host

SCHEMA = "important"
# The client takes a host without a locale for one that speaks Latin-1.
SPEAK = "SET NAMES utf8mb4;"
# A member of a cluster can be reached before it is a source: Debian's servers listen on loopback.
LISTEN = "printf '[mysqld]\\nbind_address = 0.0.0.0\\n' > /etc/mysql/conf.d/zz-listen.cnf"


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def identity(host: Host) -> str:
    return host.value(f"SELECT @@{'server_id' if host.server == 'mariadb' else 'server_uuid'}")


def executed(host: Host) -> str:
    name = "gtid_binlog_pos" if host.server == "mariadb" else "gtid_executed"
    return host.value(f"SELECT REPLACE(@@GLOBAL.{name}, '\n', '')")


def follow(host: Host, source: Host, password: str = PASSWORD) -> None:
    """Point a server that has everything that its new source has at it, by GTID."""
    if host.server == "mariadb":
        host.sql(
            f"{SPEAK} STOP SLAVE; SET GLOBAL gtid_slave_pos = @@gtid_current_pos;"
            f" CHANGE MASTER TO MASTER_HOST='{source.name}', MASTER_USER='repl',"
            f" MASTER_PASSWORD={quoted(password)}, MASTER_USE_GTID=slave_pos,"
            " MASTER_CONNECT_RETRY=1; START SLAVE"
        )
        return
    host.sql(
        f"{SPEAK} STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST='{source.name}',"
        f" SOURCE_USER='repl', SOURCE_PASSWORD={quoted(password)}, SOURCE_AUTO_POSITION=1,"
        # The account that the collection makes needs TLS.
        " SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=86400, SOURCE_SSL=1; START REPLICA"
    )


def promote(host: Host) -> None:
    """Make a replica follow no source and take writes."""
    word = "SLAVE" if host.server == "mariadb" else "REPLICA"
    host.sql(f"STOP {word}; RESET {word} ALL; SET GLOBAL read_only = 0")


def freeze(host: Host) -> None:
    host.sql(f"SET GLOBAL {'' if host.server == 'mariadb' else 'super_'}read_only = 1")


def write_row(
    on: Host, before: Host, after: Host, operation: str = journal.SWITCHOVER, state: str = "done"
) -> None:
    """A row of the journal, as the playbook that moves the role writes it."""
    for statement in journal_writing.create_statements(SCHEMA):
        on.sql(statement)
    entry = journal_writing.Entry(
        operation, "by hand", state, before.name, after.name, identity(before), identity(after)
    )
    on.sql(journal_writing.insert_statement(SCHEMA) % tuple(map(quoted, entry)))


def move(before: Host, after: Host, others: Sequence[Host] = (), password: str = PASSWORD) -> None:
    """Move the source's role to a replica that has everything, and write it down."""
    freeze(before)
    position = executed(before)
    eventually(lambda: executed(after) == position, "it has applied everything", 30)
    promote(after)
    for host in (before, *others):
        follow(host, after, password)
    write_row(after, before, after)
