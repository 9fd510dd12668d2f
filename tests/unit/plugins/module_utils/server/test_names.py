# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import names

OLD_PAIR = (
    ("rpl_semi_sync_master", "semisync_master.so"),
    ("rpl_semi_sync_slave", "semisync_slave.so"),
)
NEW_PAIR = (
    ("rpl_semi_sync_source", "semisync_source.so"),
    ("rpl_semi_sync_replica", "semisync_replica.so"),
)
NONE = (None, None)
OLD = ("rpl_semi_sync_master",)
NEW = ("rpl_semi_sync_replica",)

# engine, version, installed plugins -> plugins, prefixes' words, source variables beyond the four
# of 5.5
FOUR = {"enabled", "timeout", "trace_level", "wait_no_slave"}
SIX = FOUR | {"wait_point", "wait_for_slave_count"}
NEW_SIX = {
    "enabled",
    "timeout",
    "trace_level",
    "wait_no_replica",
    "wait_point",
    "wait_for_replica_count",
}
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
def test_a_server_gets_its_own_plugins_and_variables(
    engine, version, installed, plugins, word, suffixes
):
    table = names.Names(engine, version, installed)
    assert (table.plugin("source"), table.plugin("replica")) == plugins
    assert set(table.variables("source").values()) == {
        f"rpl_semi_sync_{word}_{end}" for end in suffixes
    }
    replica = f"rpl_semi_sync_{REPLICA_WORD[word]}_"
    assert table.variables("replica") == {
        "enabled": replica + "enabled",
        "trace_level": replica + "trace_level",
    }


@pytest.mark.parametrize("engine,version,installed,plugins,word,suffixes", SERVERS)
def test_statuses_are_spelled_as_show_status_spells_them(
    engine, version, installed, plugins, word, suffixes
):
    table = names.Names(engine, version, installed)
    assert table.statuses("source")["yes_tx"] == f"Rpl_semi_sync_{word}_yes_tx"
    assert table.statuses("replica") == {"status": f"Rpl_semi_sync_{REPLICA_WORD[word]}_status"}
    assert len(table.statuses("source")) == 14


def test_our_keys_do_not_change_with_the_servers_words():
    old, new = names.Names("mysql", (8, 0, 25)), names.Names("mysql", (8, 0, 26))
    assert set(old.variables("source")) == set(new.variables("source"))
    assert old.variables("source")["wait_no_replica"] == "rpl_semi_sync_master_wait_no_slave"
    assert (
        old.variables("source")["wait_for_replica_count"]
        == "rpl_semi_sync_master_wait_for_slave_count"
    )


@pytest.mark.parametrize(
    "engine,version,word,change,updates",
    [
        ("mysql", (5, 5, 62), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        ("mysql", (5, 7, 44), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        ("mysql", (8, 0, 21), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        ("mysql", (8, 0, 22), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        (
            "mysql",
            (8, 0, 23),
            "REPLICA",
            ("CHANGE REPLICATION SOURCE TO", "SOURCE"),
            "log_slave_updates",
        ),
        (
            "mysql",
            (8, 0, 26),
            "REPLICA",
            ("CHANGE REPLICATION SOURCE TO", "SOURCE"),
            "log_replica_updates",
        ),
        (
            "percona",
            (8, 0, 36),
            "REPLICA",
            ("CHANGE REPLICATION SOURCE TO", "SOURCE"),
            "log_replica_updates",
        ),
        (
            "mysql",
            (9, 7, 4),
            "REPLICA",
            ("CHANGE REPLICATION SOURCE TO", "SOURCE"),
            "log_replica_updates",
        ),
        ("mariadb", (10, 5, 0), "SLAVE", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        ("mariadb", (10, 5, 1), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
        ("mariadb", (11, 8, 2), "REPLICA", ("CHANGE MASTER TO", "MASTER"), "log_slave_updates"),
    ],
)
def test_statements_by_version(engine, version, word, change, updates):
    table = names.Names(engine, version)
    assert (table.replica_word, table.change_source, table.log_updates) == (word, change, updates)


@pytest.mark.parametrize(
    "engine,version,statement",
    [
        ("mysql", (5, 7, 44), "SHOW SLAVE STATUS"),
        ("mysql", (9, 7, 4), "SHOW REPLICA STATUS"),
        ("mariadb", (5, 5, 68), "SHOW SLAVE STATUS"),
        ("mariadb", (10, 0, 2), "SHOW ALL SLAVES STATUS"),
        ("mariadb", (10, 11, 19), "SHOW ALL SLAVES STATUS"),
    ],
)
def test_channels_are_asked_for_in_the_servers_words(engine, version, statement):
    assert names.Names(engine, version).show_channels == statement


@pytest.mark.parametrize(
    "engine,version,expected",
    [
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
    ],
)
def test_what_a_server_can_do(engine, version, expected):
    table = names.Names(engine, version)
    assert (
        table.has_gtid,
        table.has_persisted_variables,
        table.log_bin_by_default,
        table.has_public_key_option,
        table.verifies_source_by_default,
    ) == expected


@pytest.mark.parametrize(
    "engine,version,plugin,longest,slapper",
    [
        ("mysql", (5, 7, 44), None, 32, "mysqlslap"),
        ("mysql", (9, 7, 4), "caching_sha2_password", 32, "mysqlslap"),
        ("mariadb", (10, 4, 5), None, None, "mysqlslap"),
        ("mariadb", (10, 4, 6), None, None, "mariadb-slap"),
        ("mariadb", (10, 11, 19), None, None, "mariadb-slap"),
    ],
)
def test_accounts_and_tools_by_version(engine, version, plugin, longest, slapper):
    table = names.Names(engine, version)
    assert (table.account_plugin, table.longest_source_password, table.slapper) == (
        plugin,
        longest,
        slapper,
    )


@pytest.mark.parametrize(
    "engine,version,expected",
    [
        ("mysql", (5, 5, 62), False),
        ("mysql", (5, 6, 51), False),
        ("mysql", (5, 7, 3), False),
        ("mysql", (5, 7, 4), True),
        ("percona", (5, 6, 51), False),
        ("mariadb", (10, 2, 44), False),
        ("mariadb", (10, 3, 3), True),
    ],
)
def test_since_when_a_thread_of_its_own_reads_acknowledgements(engine, version, expected):
    assert names.Names(engine, version).waits_together is expected


# The last server of each engine that lacks it, and the first that has it.
@pytest.mark.parametrize(
    "what,mysql,mariadb",
    [
        ("alter_user", ((5, 7, 5), (5, 7, 6)), ((10, 1, 48), (10, 2, 0))),
        ("if_not_exists", ((5, 7, 7), (5, 7, 8)), ((10, 1, 2), (10, 1, 3))),
        ("hashes_as_hex", ((8, 0, 16), (8, 0, 17)), ((11, 8, 2), None)),
        ("login_in_table", ((5, 6, 1), (5, 6, 2)), ((11, 8, 2), None)),
        ("has_gtid", ((5, 6, 8), (5, 6, 9)), ((10, 0, 1), (10, 0, 2))),
    ],
)
def test_what_a_version_brought_is_not_asked_of_one_before(what, mysql, mariadb):
    for engine, (before, first) in (("mysql", mysql), ("mariadb", mariadb)):
        assert not getattr(names.Names(engine, before), what)
        assert first is None or getattr(names.Names(engine, first), what)


@pytest.mark.parametrize(
    "engine,version,options",
    [
        ("mysql", (5, 6, 8), None),
        # Its GTIDs would be of a later moment than its data without the lock.
        ("mysql", (5, 6, 9), ["--set-gtid-purged=ON", "--master-data=2"]),
        ("mysql", (8, 0, 31), ["--set-gtid-purged=ON", "--master-data=2"]),
        ("mysql", (8, 0, 32), ["--set-gtid-purged=ON"]),
        ("mysql", (9, 7, 4), ["--set-gtid-purged=ON"]),
        ("mariadb", (10, 0, 12), None),
        ("mariadb", (10, 0, 13), ["--master-data=2", "--gtid"]),
    ],
)
def test_a_dump_has_the_gtids_of_its_own_moment(engine, version, options):
    assert names.Names(engine, version).dump_options == options
