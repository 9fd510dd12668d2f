# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils import names

OLD_PAIR = (("rpl_semi_sync_master", "semisync_master.so"), ("rpl_semi_sync_slave", "semisync_slave.so"))
NEW_PAIR = (("rpl_semi_sync_source", "semisync_source.so"), ("rpl_semi_sync_replica", "semisync_replica.so"))
NONE = (None, None)
OLD = ("rpl_semi_sync_master",)
NEW = ("rpl_semi_sync_replica",)

# engine, version, installed plugins -> plugins, prefixes' words, source variables beyond the four of 5.5
FOUR = {"enabled", "timeout", "trace_level", "wait_no_slave"}
SIX = FOUR | {"wait_point", "wait_for_slave_count"}
NEW_SIX = {"enabled", "timeout", "trace_level", "wait_no_replica", "wait_point", "wait_for_replica_count"}
SERVERS = [
    ("mysql", (5, 5, 62), (), OLD_PAIR, "master", FOUR),
    ("mysql", (5, 6, 51), (), OLD_PAIR, "master", FOUR),
    ("mysql", (5, 7, 1), (), OLD_PAIR, "master", FOUR),
    ("mysql", (5, 7, 2), (), OLD_PAIR, "master", FOUR | {"wait_point"}),
    ("mysql", (5, 7, 44), (), OLD_PAIR, "master", SIX),
    ("mysql", (8, 0, 22), (), OLD_PAIR, "master", SIX),
    ("mysql", (8, 0, 25), (), OLD_PAIR, "master", SIX),
    ("mysql", (8, 0, 26), (), NEW_PAIR, "source", NEW_SIX),
    ("mysql", (8, 0, 26), OLD, OLD_PAIR, "master", SIX),
    ("mysql", (8, 0, 26), NEW, NEW_PAIR, "source", NEW_SIX),
    ("mysql", (8, 0, 26), OLD + NEW, NEW_PAIR, "source", NEW_SIX),
    ("mysql", (8, 4, 3), (), NEW_PAIR, "source", NEW_SIX),
    ("mysql", (8, 4, 3), OLD, OLD_PAIR, "master", SIX),
    ("mysql", (9, 0, 1), (), NEW_PAIR, "source", NEW_SIX),
    ("mysql", (9, 4, 0), OLD, OLD_PAIR, "master", SIX),
    ("mysql", (9, 5, 0), (), NEW_PAIR, "source", NEW_SIX),
    ("mysql", (9, 5, 0), OLD, NEW_PAIR, "source", NEW_SIX),
    ("mysql", (9, 7, 4), (), NEW_PAIR, "source", NEW_SIX),
    ("percona", (5, 7, 44), (), OLD_PAIR, "master", SIX),
    ("percona", (8, 0, 36), (), NEW_PAIR, "source", NEW_SIX),
    ("percona", (8, 0, 36), OLD, OLD_PAIR, "master", SIX),
    ("mariadb", (5, 5, 68), (), OLD_PAIR, "master", FOUR),
    ("mariadb", (10, 1, 2), (), OLD_PAIR, "master", FOUR),
    ("mariadb", (10, 1, 3), (), OLD_PAIR, "master", FOUR | {"wait_point"}),
    ("mariadb", (10, 3, 2), (), OLD_PAIR, "master", FOUR | {"wait_point"}),
    ("mariadb", (10, 3, 3), (), NONE, "master", FOUR | {"wait_point"}),
    ("mariadb", (10, 5, 29), (), NONE, "master", FOUR | {"wait_point"}),
    ("mariadb", (10, 11, 19), (), NONE, "master", FOUR | {"wait_point"}),
    ("mariadb", (11, 8, 2), (), NONE, "master", FOUR | {"wait_point"}),
]
REPLICA_WORD = {"master": "slave", "source": "replica"}


@pytest.mark.parametrize("engine,version,installed,plugins,word,suffixes", SERVERS)
def test_a_server_gets_its_own_plugins_and_variables(engine, version, installed, plugins, word, suffixes):
    table = names.Names(engine, version, installed)
    assert (table.plugin("source"), table.plugin("replica")) == plugins
    assert set(table.variables("source").values()) == set("rpl_semi_sync_%s_%s" % (word, end) for end in suffixes)
    replica = "rpl_semi_sync_%s_" % REPLICA_WORD[word]
    assert table.variables("replica") == {"enabled": replica + "enabled", "trace_level": replica + "trace_level"}


@pytest.mark.parametrize("engine,version,installed,plugins,word,suffixes", SERVERS)
def test_statuses_are_spelled_as_show_status_spells_them(engine, version, installed, plugins, word, suffixes):
    table = names.Names(engine, version, installed)
    assert table.statuses("source")["yes_tx"] == "Rpl_semi_sync_%s_yes_tx" % word
    assert table.statuses("replica") == {"status": "Rpl_semi_sync_%s_status" % REPLICA_WORD[word]}
    assert len(table.statuses("source")) == 14


def test_our_keys_do_not_change_with_the_servers_words():
    old, new = names.Names("mysql", (8, 0, 25)), names.Names("mysql", (8, 0, 26))
    assert set(old.variables("source")) == set(new.variables("source"))
    assert old.variables("source")["wait_no_replica"] == "rpl_semi_sync_master_wait_no_slave"
    assert old.variables("source")["wait_for_replica_count"] == "rpl_semi_sync_master_wait_for_slave_count"


@pytest.mark.parametrize("engine,version,word,change,updates", [
    ("mysql", (5, 5, 62), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mysql", (5, 7, 44), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mysql", (8, 0, 21), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mysql", (8, 0, 22), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mysql", (8, 0, 23), "REPLICA", ("CHANGE REPLICATION SOURCE TO", "SOURCE"), "log_slave_updates"),
    ("mysql", (8, 0, 26), "REPLICA", ("CHANGE REPLICATION SOURCE TO", "SOURCE"), "log_replica_updates"),
    ("percona", (8, 0, 36), "REPLICA", ("CHANGE REPLICATION SOURCE TO", "SOURCE"), "log_replica_updates"),
    ("mysql", (9, 7, 4), "REPLICA", ("CHANGE REPLICATION SOURCE TO", "SOURCE"), "log_replica_updates"),
    ("mariadb", (10, 5, 0), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mariadb", (10, 5, 1), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ("mariadb", (11, 8, 2), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
])
def test_statements_by_version(engine, version, word, change, updates):
    table = names.Names(engine, version)
    assert (table.replica_word, table.change_source, table.log_updates) == (word, change, updates)


@pytest.mark.parametrize("engine,version,statement", [
    ("mysql", (5, 7, 44), "SHOW SLAVE STATUS"),
    ("mysql", (9, 7, 4), "SHOW REPLICA STATUS"),
    ("mariadb", (5, 5, 68), "SHOW SLAVE STATUS"),
    ("mariadb", (10, 0, 2), "SHOW ALL SLAVES STATUS"),
    ("mariadb", (10, 11, 19), "SHOW ALL SLAVES STATUS"),
])
def test_channels_are_asked_for_in_the_servers_words(engine, version, statement):
    assert names.Names(engine, version).show_channels == statement


@pytest.mark.parametrize("engine,version,expected", [
    # gtid, persisted, binary log by default, public key option, TLS verification by default
    ("mysql", (5, 5, 62), (False, False, False, False, False)),
    ("mysql", (5, 6, 51), (True, False, False, False, False)),
    ("mysql", (5, 7, 44), (True, False, False, False, False)),
    ("mysql", (8, 0, 36), (True, True, True, True, False)),
    ("percona", (8, 0, 36), (True, True, True, True, False)),
    ("mysql", (9, 7, 4), (True, True, True, True, False)),
    ("mariadb", (5, 5, 68), (False, False, False, False, False)),
    ("mariadb", (10, 1, 3), (True, False, False, False, False)),
    ("mariadb", (10, 11, 19), (True, False, False, False, False)),
    ("mariadb", (11, 4, 5), (True, False, False, False, True)),
    ("mariadb", (11, 8, 2), (True, False, False, False, True)),
])
def test_what_a_server_can_do(engine, version, expected):
    table = names.Names(engine, version)
    assert (table.has_gtid, table.has_persisted_variables, table.log_bin_by_default, table.has_public_key_option,
            table.verifies_source_by_default) == expected


@pytest.mark.parametrize("engine,version,plugin,longest,slapper", [
    ("mysql", (5, 7, 44), None, 32, "mysqlslap"),
    ("mysql", (9, 7, 4), "caching_sha2_password", 32, "mysqlslap"),
    ("mariadb", (10, 4, 5), None, None, "mysqlslap"),
    ("mariadb", (10, 4, 6), None, None, "mariadb-slap"),
    ("mariadb", (10, 11, 19), None, None, "mariadb-slap"),
])
def test_accounts_and_tools_by_version(engine, version, plugin, longest, slapper):
    table = names.Names(engine, version)
    assert (table.account_plugin, table.longest_source_password, table.slapper) == (plugin, longest, slapper)


# Texts of @@version and @@version_comment as servers and packages spell them.
@pytest.mark.parametrize("version,comment,expected", [
    ("5.5.62", "MySQL Community Server (GPL)", ("mysql", (5, 5, 62))),
    ("5.5.5", "MySQL Community Server (GPL)", ("mysql", (5, 5, 5))),
    ("5.7.44-log", "MySQL Community Server (GPL)", ("mysql", (5, 7, 44))),
    ("8.0.36-0ubuntu0.22.04.1", "(Ubuntu)", ("mysql", (8, 0, 36))),
    ("8.0.40-commercial", "MySQL Enterprise Server - Commercial", ("mysql", (8, 0, 40))),
    ("9.7.4-2", "(Debian)", ("mysql", (9, 7, 4))),
    ("8.0.36-28", "Percona Server (GPL), Release 28, Revision 47601f19", ("percona", (8, 0, 36))),
    ("8.0.36-28.1", "Percona XtraDB Cluster (GPL), Release rel28", ("percona", (8, 0, 36))),
    ("10.11.19-MariaDB-0+deb12u1", "Debian 12", ("mariadb", (10, 11, 19))),
    ("10.11.19-MariaDB-0+deb12u1-log", "Debian 12", ("mariadb", (10, 11, 19))),
    ("5.5.5-10.11.14-MariaDB-log", "mariadb.org binary distribution", ("mariadb", (10, 11, 14))),
    ("5.5.68-MariaDB", "MariaDB Server", ("mariadb", (5, 5, 68))),
    ("11.8.2", "MariaDB Server", ("mariadb", (11, 8, 2))),
    ("8.4", "MySQL Community Server - GPL", ("mysql", (8, 4, 0))),
])
def test_a_server_is_identified_by_its_own_words(version, comment, expected):
    assert names.identify(version, comment) == expected


@pytest.mark.parametrize("version,comment,words", [
    ("8.0.11-TiDB-v7.5.0", "TiDB Server (Apache License 2.0)", "no semi-synchronous replication of this kind"),
    ("5.7.mysql_aurora.2.11.2", "Source distribution", "no semi-synchronous replication of this kind"),
    ("8.0.30-Vitess", "Version: 21.0.0", "no semi-synchronous replication of this kind"),
    ("5.1.73", "Source distribution", "5.1.73 is too old: semi-synchronous replication begins with 5.5"),
    ("5.3.12-MariaDB", "", "5.3.12-MariaDB is too old"),
    ("23.8.2.7", "ClickHouse", "neither MySQL, Percona Server nor MariaDB"),
    ("unknown", "", "'unknown' has no number in it"),
    ("", "", "has no number in it"),
])
def test_what_is_no_known_server_is_refused_with_its_own_words(version, comment, words):
    with pytest.raises(names.UnknownServer) as error:
        names.identify(version, comment)
    assert words in str(error.value)
