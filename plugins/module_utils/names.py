# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of what servers call things, by engine and version.

Nothing else in this collection compares a version number. Sources: MySQL 5.7, 8.0, 8.4 and 9.5
manuals ("Semisynchronous Replication"), mysql-server plugin/semisync, MariaDB documentation
("Semisynchronous Replication") and release notes of 10.1.3 and 10.3.3.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

SOURCE = "source"
REPLICA = "replica"

OLD = "master_slave"
NEW = "source_replica"

OLDEST = {"mysql": (5, 5, 0), "percona": (5, 5, 0), "mariadb": (5, 5, 0)}
NEVER = (10 ** 6,)

# First version with the new names, first without the old ones (mysql-server plugin/semisync; 9.5 release notes).
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
SIDE_WORD = {(OLD, SOURCE): "master", (OLD, REPLICA): "slave", (NEW, SOURCE): "source", (NEW, REPLICA): "replica"}

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
    "status", "clients", "yes_tx", "no_tx", "no_times", "wait_sessions", "timefunc_failures", "wait_pos_backtraverse",
    "tx_wait_time", "tx_waits", "tx_avg_wait_time", "net_wait_time", "net_waits", "net_avg_wait_time",
)
REPLICA_STATUSES = ("status",)

# Values of a server that nobody configured (MySQL 9.5 manual, "Server System Variables"; MariaDB's of the same name).
SEMISYNC_DEFAULTS = {"enabled": "OFF", "timeout": "10000", "trace_level": "32", "wait_no_replica": "ON",
                     "wait_for_replica_count": "1"}
SERVER_DEFAULTS = {"server_id": "1", "innodb_flush_log_at_trx_commit": "1", "read_only": "OFF", "super_read_only": "OFF",
                   "relay_log_recovery": "OFF", "gtid_mode": "OFF"}


class UnknownServer(ValueError):
    """The server is none that this collection knows, or too old for semi-sync. The text says which."""


def parse_version(version):
    """The leading numbers of a version string: '5.5.5-10.11.14-MariaDB-log' gives (10, 11, 14).

    MariaDB announces itself with a '5.5.5-' prefix to old clients; it is not the version.
    """
    text = re.sub(r"^5\.5\.5-(?=\d+\.\d+)", "", version)
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if not match:
        raise UnknownServer("the server's version %r has no number in it" % version)
    return tuple(int(part or 0) for part in match.groups())


def identify(version, comment=""):
    """Engine and version of a server from its @@version and @@version_comment.

    Args:
        version: text of @@version.
        comment: text of @@version_comment.

    Returns:
        (engine, version) with engine one of mysql, percona, mariadb and version a tuple of three integers.

    Raises:
        UnknownServer: for a fork that has no semi-sync of its own, or a version before 5.5.
    """
    lowered = ("%s %s" % (version, comment)).lower()
    for fork in ("tidb", "aurora", "oceanbase", "vitess", "singlestore", "polardb"):
        if fork in lowered:
            raise UnknownServer("the server says it is %s (%s), which has no semi-synchronous replication of this kind"
                                % (version, comment))
    number = parse_version(version)
    if "mariadb" in lowered:
        engine = "mariadb"
    elif "percona" in lowered:
        engine = "percona"
    elif number[0] in (5, 8, 9):
        engine = "mysql"
    else:
        raise UnknownServer("the server's version %r (%s) is neither MySQL, Percona Server nor MariaDB"
                            % (version, comment))
    if number < OLDEST[engine]:
        raise UnknownServer("%s %s is too old: semi-synchronous replication begins with %s"
                            % (engine, version, ".".join(str(n) for n in OLDEST[engine][:2])))
    return engine, number


class Names(object):
    """What one server calls semi-sync's plugins, variables, statuses and statements.

    Args:
        engine: mysql, percona or mariadb.
        version: tuple of integers.
        installed: names of the semi-sync plugins the server has; an old one keeps the old names in use where
            the server knows both kinds (8.0.26 to 9.4), because the two kinds refuse to live side by side.
    """

    def __init__(self, engine, version, installed=()):
        self.engine = engine
        self.version = tuple(version)
        self.builtin = self.version >= BUILT_IN_SINCE[engine]
        knows_new = self.version >= NEW_NAMES_SINCE[engine]
        knows_old = self.version < OLD_NAMES_UNTIL[engine]
        has_old = any(name in OLD_PLUGINS for name in installed)
        has_new = any(name in NEW_PLUGINS for name in installed)
        self.generation = OLD if knows_old and (not knows_new or (has_old and not has_new)) else NEW

    @property
    def mariadb(self):
        return self.engine == "mariadb"

    def since(self, mysql, mariadb):
        """True where this server is at least the version given for its engine."""
        return self.version >= (mariadb if self.mariadb else mysql)

    @property
    def waits_together(self):
        """True where commits of several clients wait for one acknowledgement side by side: binlog group commit and a
        thread of its own for acknowledgements (MySQL 5.7.4 release notes)."""
        return self.since((5, 7, 4), (5, 5))

    def plugin(self, side):
        """(plugin, library) for INSTALL PLUGIN on this side, or None where semi-sync is built in."""
        return None if self.builtin else PLUGINS[(self.generation, side)]

    def prefix(self, side):
        return "rpl_semi_sync_%s_" % SIDE_WORD[(self.generation, side)]

    def variables(self, side):
        """Our key -> the server's variable name, for those that this server has."""
        table = SOURCE_VARIABLES if side == SOURCE else REPLICA_VARIABLES
        found = {}
        for key, (old, new, mysql, mariadb) in table.items():
            if self.since(mysql, mariadb):
                found[key] = self.prefix(side) + (old if self.generation == OLD else new)
        return found

    def statuses(self, side):
        """Our key -> the server's status name, as SHOW GLOBAL STATUS spells it."""
        keys = SOURCE_STATUSES if side == SOURCE else REPLICA_STATUSES
        return dict((key, "R" + self.prefix(side)[1:] + key) for key in keys)

    # Statements: MySQL 8.0.22/8.0.23 and 8.4 manuals ("Replication Statements"), MariaDB 10.5.1 release notes.

    @property
    def replica_word(self):
        return "REPLICA" if self.since((8, 0, 22), (10, 5, 1)) else "SLAVE"

    @property
    def show_channels(self):
        """MariaDB 10.0.1 and later: SHOW SLAVE STATUS has the default channel only."""
        if self.since(NEVER, (10, 0, 1)):
            return "SHOW ALL SLAVES STATUS"
        return "SHOW %s STATUS" % self.replica_word

    @property
    def log_updates(self):
        return "log_replica_updates" if self.since((8, 0, 26), NEVER) else "log_slave_updates"

    @property
    def change_source(self):
        """(statement, option prefix) that points a replica at its source."""
        if self.since((8, 0, 23), NEVER):
            return "CHANGE REPLICATION SOURCE TO", "SOURCE"
        return "CHANGE MASTER TO", "MASTER"

    @property
    def has_public_key_option(self):
        """caching_sha2_password without TLS needs the source's RSA key: 8.0.4 and later can ask for it."""
        return self.since((8, 0, 4), NEVER)

    @property
    def account_plugin(self):
        """Authentication plugin of a new replication account; None for the server's own default."""
        return "caching_sha2_password" if self.has_public_key_option else None

    @property
    def alter_user(self):
        """ALTER USER gives a password (MySQL 5.7.6 and MariaDB 10.2.0 release notes); before that SET PASSWORD."""
        return self.since((5, 7, 6), (10, 2, 0))

    @property
    def dual_passwords(self):
        """An account may accept two passwords: RETAIN CURRENT PASSWORD (MySQL 8.0.14 release notes), or two ways to log
        in (MariaDB 10.4.3 release notes, IDENTIFIED VIA … OR …)."""
        return self.since((8, 0, 14), (10, 4, 3))

    @property
    def changes_channel_while_applying(self):
        """CHANGE of a channel's login needs only the IO thread stopped (MySQL 5.7.4 release notes); MariaDB wants both."""
        return self.since((5, 7, 4), NEVER)

    @property
    def longest_source_password(self):
        """Characters CHANGE REPLICATION SOURCE TO takes (MySQL manual, SOURCE_PASSWORD); MariaDB sets no such limit."""
        return None if self.mariadb else 32

    @property
    def has_gtid(self):
        return self.since((5, 6, 5), (10, 0, 2))

    @property
    def gtid_online(self):
        """GTIDs come without a restart: gtid_mode is dynamic (MySQL 5.7.6 release notes), MariaDB has them always."""
        return self.since((5, 7, 6), (10, 0, 2))

    @property
    def show_binary_log_status(self):
        """MySQL 8.2 release notes."""
        return "SHOW BINARY LOG STATUS" if self.since((8, 2, 0), NEVER) else "SHOW MASTER STATUS"

    @property
    def reset_binary_logs(self):
        """Forgets binary logs and GTIDs (MySQL 8.2 release notes)."""
        return "RESET BINARY LOGS AND GTIDS" if self.since((8, 2, 0), NEVER) else "RESET MASTER"

    @property
    def copy_series(self):
        """What both servers must have alike for a copy of the files; None where this one cannot be copied so.

        Clone begins with 8.0.17; until 8.0.36 it asks for the same release, then for the same series (MySQL manual,
        "Cloning Remote Data"). A mariadb-backup is restored to the same series (MariaDB documentation).
        """
        if self.since((8, 0, 17), (10, 1, 23)):
            exact = not self.since((8, 0, 37), (10, 1, 23))
            return ".".join(str(number) for number in self.version[:3 if exact else 2])
        return None

    @property
    def has_persisted_variables(self):
        return self.since((8, 0, 2), NEVER)

    @property
    def log_bin_by_default(self):
        return self.since((8, 0, 0), NEVER)

    @property
    def verifies_source_by_default(self):
        """MariaDB 11.3 and later turns TLS with verification on for a channel unless told otherwise."""
        return self.since(NEVER, (11, 3, 0))

    @property
    def proves_itself_by_password(self):
        """A certificate that the server made for itself is verified by the account's password (MariaDB 11.4.1)."""
        return self.since(NEVER, (11, 4, 1))

    @property
    def shows_connection_types(self):
        """performance_schema.threads has CONNECTION_TYPE (MySQL 5.7.2 release notes, MariaDB 10.5.2)."""
        return self.since((5, 7, 2), (10, 5, 2))

    def defaults(self):
        """Variable -> the value it starts with where no option file sets it, for those that a restart may change."""
        found = dict(SERVER_DEFAULTS, sync_binlog="1" if self.since((5, 7, 7), NEVER) else "0",
                     sync_relay_log="10000" if self.since((5, 6, 6), (10, 1, 0)) else "0")
        for side in (SOURCE, REPLICA):
            for key, name in self.variables(side).items():
                found[name] = SEMISYNC_DEFAULTS.get(key, "AFTER_COMMIT" if self.mariadb else "AFTER_SYNC")
        return found

    @property
    def slapper(self):
        """The load tool that comes with the server's client package."""
        return "mariadb-slap" if self.since(NEVER, (10, 4, 6)) else "mysqlslap"


OLD_PLUGINS = tuple(PLUGINS[(OLD, side)][0] for side in (SOURCE, REPLICA))
NEW_PLUGINS = tuple(PLUGINS[(NEW, side)][0] for side in (SOURCE, REPLICA))

# Which side a variable such as rpl_semi_sync_slave_enabled switches on, whatever generation its name is of.
SWITCHES = dict(("rpl_semi_sync_%s_enabled" % word, side) for (dummy, side), word in SIDE_WORD.items())
