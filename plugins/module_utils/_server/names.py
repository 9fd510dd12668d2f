# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of what servers call things, by engine and version.

Nothing else compares a version number, but the controller's table of known defects. Sources: MySQL
5.7, 8.0, 8.4 and 9.5 manuals ("Semisynchronous Replication"), mysql-server plugin/semisync, MariaDB
documentation ("Semisynchronous Replication") and release notes of 10.1.3 and 10.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side

SOURCE: Final = "source"
REPLICA: Final = "replica"

OLD = "master_slave"
NEW = "source_replica"

NEVER = (10**6,)
# First release of a MariaDB series that truncates unacknowledged transactions from its binary log
# if it is started with init-rpl-role=SLAVE (MDEV-33465, release notes of each series; 11.3 has
# none).
TRUNCATES_SINCE = {
    (10, 6): 19,
    (10, 11): 9,
    (11, 1): 6,
    (11, 2): 5,
    (11, 4): 3,
    (11, 5): 2,
}
TRUNCATES_FROM = (11, 6)

# First version with the new names, first without the old ones (mysql-server plugin/semisync; 9.5
# release notes).
NEW_NAMES_SINCE = {"mysql": (8, 0, 26), "percona": (8, 0, 26), "mariadb": NEVER}
OLD_NAMES_UNTIL = {"mysql": (9, 5, 0), "percona": (9, 5, 0), "mariadb": NEVER}
# MariaDB 10.3.3 builds semi-sync into the server: no plugin row, nothing to install.
BUILT_IN_SINCE = {"mysql": NEVER, "percona": NEVER, "mariadb": (10, 3, 3)}

PLUGINS = {
    (OLD, SOURCE): ("rpl_semi_sync_master", "semisync_master.so"),
    (OLD, REPLICA): ("rpl_semi_sync_slave", "semisync_slave.so"),
    (NEW, SOURCE): ("rpl_semi_sync_source", "semisync_source.so"),
    (NEW, REPLICA): ("rpl_semi_sync_replica", "semisync_replica.so"),
}
SIDE_WORD: dict[tuple[str, Side], str] = {
    (OLD, SOURCE): "master",
    (OLD, REPLICA): "slave",
    (NEW, SOURCE): "source",
    (NEW, REPLICA): "replica",
}

# Our key -> (old suffix, new suffix, first MySQL version, first MariaDB version)
SOURCE_VARIABLES = {
    "enabled": ("enabled", "enabled", (5, 5), (5, 5)),
    "timeout": ("timeout", "timeout", (5, 5), (5, 5)),
    "trace_level": ("trace_level", "trace_level", (5, 5), (5, 5)),
    "wait_no_replica": ("wait_no_slave", "wait_no_replica", (5, 5), (5, 5)),
    "wait_point": ("wait_point", "wait_point", (5, 7, 2), (10, 1, 3)),
    "wait_for_replica_count": ("wait_for_slave_count", "wait_for_replica_count", (5, 7, 3), NEVER),
}
REPLICA_VARIABLES = {
    "enabled": ("enabled", "enabled", (5, 5), (5, 5)),
    "trace_level": ("trace_level", "trace_level", (5, 5), (5, 5)),
}
SOURCE_STATUSES = (
    "status",
    "clients",
    "yes_tx",
    "no_tx",
    "no_times",
    "wait_sessions",
    "timefunc_failures",
    "wait_pos_backtraverse",
    "tx_wait_time",
    "tx_waits",
    "tx_avg_wait_time",
    "net_wait_time",
    "net_waits",
    "net_avg_wait_time",
)
REPLICA_STATUSES = ("status",)

# What decides whether a commit is on the server's own disk; the names are the same on all servers.
DURABILITY = ("sync_binlog", "innodb_flush_log_at_trx_commit")

# Values of an unconfigured server (MySQL 9.5 manual, "Server System Variables"; MariaDB's of the
# same name).
SEMISYNC_DEFAULTS = {
    "enabled": "OFF",
    "timeout": "10000",
    "trace_level": "32",
    "wait_no_replica": "ON",
    "wait_for_replica_count": "1",
}
SERVER_DEFAULTS = {
    "server_id": "1",
    "innodb_flush_log_at_trx_commit": "1",
    "read_only": "OFF",
    "super_read_only": "OFF",
    "relay_log_recovery": "OFF",
    "gtid_mode": "OFF",
}


class Names:
    """What one server calls semi-sync's plugins, variables, statuses and statements.

    Args:
        engine: mysql, percona or mariadb.
        version: tuple of integers.
        installed: names of the semi-sync plugins the server has; an old one keeps the old names in
            use if the server knows both kinds (8.0.26 to 9.4), because the two kinds cannot be
            loaded together.
    """

    def __init__(
        self, engine: str, version: tuple[int, ...], installed: Iterable[str] = ()
    ) -> None:
        self.engine = engine
        self.version: tuple[int, ...] = tuple(version)
        self.builtin = self.version >= BUILT_IN_SINCE[engine]
        knows_new = self.version >= NEW_NAMES_SINCE[engine]
        knows_old = self.version < OLD_NAMES_UNTIL[engine]
        has_old = any(name in OLD_PLUGINS for name in installed)
        has_new = any(name in NEW_PLUGINS for name in installed)
        self.generation = OLD if knows_old and (not knows_new or (has_old and not has_new)) else NEW

    def called(self, generation: str) -> Names:
        """The names with the plugins of a generation, old or new, if this server knows both."""
        return Names(self.engine, self.version, GENERATIONS[generation])

    @property
    def mariadb(self) -> bool:
        return self.engine == "mariadb"

    def since(self, mysql: tuple[int, ...], mariadb: tuple[int, ...]) -> bool:
        """Whether this server is at least the version given for its engine."""
        return self.version >= (mariadb if self.mariadb else mysql)

    @property
    def waits_together(self) -> bool:
        """Whether commits of several clients wait in parallel: a separate thread reads the
        acknowledgements (MySQL 5.7.4 release notes, worklog 6630; MariaDB MDEV-13073). On others
        the thread that sends the binary log reads each before it sends the next.
        """
        return self.since((5, 7, 4), (10, 3, 3))

    def plugin(self, side: Side) -> tuple[str, str] | None:
        """(plugin, library) for INSTALL PLUGIN on this side; None if semi-sync is built in."""
        return None if self.builtin else PLUGINS[(self.generation, side)]

    def prefix(self, side: Side) -> str:
        return f"rpl_semi_sync_{SIDE_WORD[(self.generation, side)]}_"

    def variables(self, side: Side) -> dict[str, str]:
        """Our key -> the server's variable name, for those that this server has."""
        table = SOURCE_VARIABLES if side == SOURCE else REPLICA_VARIABLES
        names = {}
        for key, (old, new, mysql, mariadb) in table.items():
            if self.since(mysql, mariadb):
                names[key] = self.prefix(side) + (old if self.generation == OLD else new)
        return names

    def statuses(self, side: Side) -> dict[str, str]:
        """Our key -> the server's status name, as SHOW GLOBAL STATUS spells it."""
        keys = SOURCE_STATUSES if side == SOURCE else REPLICA_STATUSES
        return {key: "R" + self.prefix(side)[1:] + key for key in keys}

    # Statements: MySQL 8.0.22/8.0.23 and 8.4 manuals ("Replication Statements"), MariaDB 10.5.1
    # release notes.

    @property
    def replica_word(self) -> str:
        return "REPLICA" if self.since((8, 0, 22), (10, 5, 1)) else "SLAVE"

    @property
    def show_channels(self) -> str:
        """MariaDB 10.0.1 and later: SHOW SLAVE STATUS has the default channel only."""
        if self.since(NEVER, (10, 0, 1)):
            return "SHOW ALL SLAVES STATUS"
        return f"SHOW {self.replica_word} STATUS"

    @property
    def log_updates(self) -> str:
        return "log_replica_updates" if self.since((8, 0, 26), NEVER) else "log_slave_updates"

    @property
    def change_source(self) -> tuple[str, str]:
        """(statement, option prefix) that points a replica at its source."""
        if self.since((8, 0, 23), NEVER):
            return "CHANGE REPLICATION SOURCE TO", "SOURCE"
        return "CHANGE MASTER TO", "MASTER"

    @property
    def has_public_key_option(self) -> bool:
        """caching_sha2_password without TLS needs the source's RSA key: 8.0.4 and later can ask for
        it.
        """
        return self.since((8, 0, 4), NEVER)

    @property
    def account_plugin(self) -> str | None:
        """Authentication plugin of a new replication account; None for the server's own default."""
        return "caching_sha2_password" if self.has_public_key_option else None

    # Accounts: MySQL 5.6, 5.7 and 8.0 manuals ("Account Management Statements"), MariaDB's of the
    # same name.

    @property
    def alter_user(self) -> bool:
        """ALTER USER gives a password, and SHOW CREATE USER shows it (MySQL 5.7.6 and MariaDB
        10.2.0 release notes); before that SET PASSWORD, whose text is a password itself from then
        on, and the columns of mysql.user.
        """
        return self.since((5, 7, 6), (10, 2, 0))

    @property
    def if_not_exists(self) -> bool:
        """CREATE USER IF NOT EXISTS and DROP USER IF EXISTS (MySQL 5.7.8 and MariaDB 10.1.3 release
        notes).
        """
        return self.since((5, 7, 8), (10, 1, 3))

    @property
    def hashes_as_hex(self) -> bool:
        """print_identified_with_as_hex (MySQL 8.0.17 release notes): SHOW CREATE USER shows a hash
        so that CREATE USER takes it, whatever bytes it has.
        """
        return self.since((8, 0, 17), NEVER)

    @property
    def dual_passwords(self) -> bool:
        """An account may accept two passwords: RETAIN CURRENT PASSWORD (MySQL 8.0.14 release
        notes), or two ways to log in (MariaDB 10.4.3 release notes, IDENTIFIED VIA … OR …).
        """
        return self.since((8, 0, 14), (10, 4, 3))

    @property
    def changes_channel_while_applying(self) -> bool:
        """CHANGE of a channel's login needs only the IO thread stopped (MySQL 5.7.4 release notes);
        MariaDB wants both.
        """
        return self.since((5, 7, 4), NEVER)

    @property
    def login_in_table(self) -> bool:
        """A replica keeps its login on the source in a table where master_info_repository says
        nothing: the variable and the table begin with MySQL 5.6.2, and the table is all there is
        where the variable has gone (release notes of 5.6.2 and 8.4.0). MariaDB has a file alone.
        """
        return self.since((5, 6, 2), NEVER)

    @property
    def sees_channels(self) -> str:
        """The privilege that shows what channels do and nothing more (MySQL manual; MariaDB 10.5.9
        release notes).
        """
        return "SLAVE MONITOR" if self.since(NEVER, (10, 5, 9)) else "REPLICATION CLIENT"

    @property
    def longest_source_password(self) -> int | None:
        """Characters CHANGE REPLICATION SOURCE TO takes (MySQL manual, SOURCE_PASSWORD); MariaDB
        sets no such limit.
        """
        return None if self.mariadb else 32

    @property
    def has_gtid(self) -> bool:
        """MySQL's are called gtid_executed and gtid_purged since 5.6.9 (its release notes)."""
        return self.since((5, 6, 9), (10, 0, 2))

    @property
    def gtid_online(self) -> bool:
        """GTIDs come without a restart (MySQL 5.7.6 release notes: gtid_mode is dynamic)."""
        return self.since((5, 7, 6), (10, 0, 2))

    @property
    def super_read_only(self) -> bool:
        """Accounts with SUPER can be kept from writing as well (MySQL 5.7.8 release notes)."""
        return self.since((5, 7, 8), NEVER)

    @property
    def logged_position(self) -> str:
        """The variable with the GTIDs of the server's binary log."""
        return "gtid_binlog_pos" if self.mariadb else "gtid_executed"

    @property
    def show_binary_log_status(self) -> str:
        """MySQL 8.2 release notes."""
        return "SHOW BINARY LOG STATUS" if self.since((8, 2, 0), NEVER) else "SHOW MASTER STATUS"

    @property
    def show_registered(self) -> str:
        """MySQL 8.0.22 release notes; MariaDB knows the old statement under all versions."""
        return "SHOW REPLICAS" if self.since((8, 0, 22), NEVER) else "SHOW SLAVE HOSTS"

    @property
    def reset_binary_logs(self) -> str:
        """Forgets binary logs and GTIDs (MySQL 8.2 release notes)."""
        return "RESET BINARY LOGS AND GTIDS" if self.since((8, 2, 0), NEVER) else "RESET MASTER"

    @property
    def copy_series(self) -> str | None:
        """What both servers must have alike for a copy of the files; None if this one cannot be
        copied so.

        Clone begins with 8.0.17; until 8.0.36 it asks for the same release, then for the same
        series (MySQL manual, "Cloning Remote Data"). A mariadb-backup is restored to the same
        series (MariaDB documentation).
        """
        if self.since((8, 0, 17), (10, 1, 23)):
            exact = not self.since((8, 0, 37), (10, 1, 23))
            return ".".join(str(number) for number in self.version[: 3 if exact else 2])
        return None

    @property
    def dump_options(self) -> list[str] | None:
        """What makes the server's own dump program write the GTIDs of what it dumps; None if it
        cannot.

        MySQL has --set-gtid-purged from 5.6.9, MariaDB --gtid from 10.0.13 (their release notes).
        Before MySQL 8.0.32 the GTIDs are read later than the data unless --master-data takes the
        lock that keeps writers out for that moment (bugs.mysql.com 84478; 8.0.32 release notes): a
        replica would never get what was written in between.
        """
        if self.mariadb:
            return ["--master-data=2", "--gtid"] if self.since(NEVER, (10, 0, 13)) else None
        if not self.since((5, 6, 9), NEVER):
            return None
        lock = [] if self.since((8, 0, 32), NEVER) else ["--master-data=2"]
        return ["--set-gtid-purged=ON", *lock]

    @property
    def has_persisted_variables(self) -> bool:
        return self.since((8, 0, 2), NEVER)

    @property
    def has_native_accounts(self) -> bool:
        """It may have accounts of mysql_native_password, which 9.0 removed, and knows locked ones
        (MySQL 5.7.6 and 9.0 release notes).
        """
        return self.since((5, 7, 6), NEVER) and self.version < (9, 0)

    @property
    def log_bin_by_default(self) -> bool:
        return self.since((8, 0, 0), NEVER)

    @property
    def verifies_source_by_default(self) -> bool:
        """MariaDB 11.3 and later turns TLS with verification on for a channel unless told
        otherwise.
        """
        return self.since(NEVER, (11, 3, 0))

    @property
    def proves_itself_by_password(self) -> bool:
        """A certificate that the server made for itself is verified by the account's password
        (MariaDB 11.4.1).
        """
        return self.since(NEVER, (11, 4, 1))

    @property
    def shows_connection_types(self) -> bool:
        """performance_schema.threads has CONNECTION_TYPE (MySQL 5.7.2 release notes, MariaDB
        10.5.2).
        """
        return self.since((5, 7, 2), (10, 5, 2))

    @property
    def shows_what_is_applied(self) -> bool:
        """performance_schema names the transaction that the applier has begun (MySQL 8.0 manual,
        "The replication_applier_status_by_coordinator Table").
        """
        return self.since((8, 0, 11), NEVER)

    def defaults(self) -> dict[str, str]:
        """Variable -> the value it starts with where no option file sets it, for those that a
        restart may change.
        """
        values = dict(
            SERVER_DEFAULTS,
            sync_binlog="1" if self.since((5, 7, 7), NEVER) else "0",
            sync_relay_log="10000" if self.since((5, 6, 6), (10, 1, 0)) else "0",
        )
        for side in (SOURCE, REPLICA):
            for key, name in self.variables(side).items():
                values[name] = SEMISYNC_DEFAULTS.get(
                    key, "AFTER_COMMIT" if self.mariadb else "AFTER_SYNC"
                )
        return values

    @property
    def truncates(self) -> bool:
        """A start with init-rpl-role=SLAVE takes back what was committed nowhere but in the binary
        log.
        """
        patch = TRUNCATES_SINCE.get((self.version[0], self.version[1]), NEVER[0])
        return self.mariadb and (self.version >= TRUNCATES_FROM or self.version[2] >= patch)

    @property
    def slapper(self) -> str:
        """The load tool that comes with the server's client package."""
        return "mariadb-slap" if self.since(NEVER, (10, 4, 6)) else "mysqlslap"


OLD_PLUGINS = tuple(PLUGINS[(OLD, side)][0] for side in (SOURCE, REPLICA))
NEW_PLUGINS = tuple(PLUGINS[(NEW, side)][0] for side in (SOURCE, REPLICA))
# Values of semisync_plugin_names.
WORDS = {OLD: "old", NEW: "new"}
GENERATIONS = {"old": OLD_PLUGINS, "new": NEW_PLUGINS}

# Which side a variable such as rpl_semi_sync_slave_enabled switches on, whatever generation its
# name is of.
SWITCHES: dict[str, Side] = {
    f"rpl_semi_sync_{word}_enabled": side for (dummy, side), word in SIDE_WORD.items()
}
