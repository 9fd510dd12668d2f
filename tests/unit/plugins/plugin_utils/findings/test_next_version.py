# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import server_options
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import next_version, rulebook
from ansible_collections.dbre.semisync.tests.unit import samples


def server(engine, version, options=(), persisted=(), plugins=()):
    """A bare server of a version that starts with these options."""
    family = "mariadb" if engine == "mariadb" else "mysql"
    info = samples.server(family, version=version)
    info["engine"] = engine
    info["option_files"]["options"].update(dict.fromkeys(options, "1"))
    info["persisted"].update(dict.fromkeys(persisted, "1"))
    info["plugins_registered"].update(dict.fromkeys(plugins, "semisync_master.so"))
    return samples.member("db1", "source", info)


def evidence(member):
    return "; ".join(one["evidence"] for one in next_version.next_version_findings(member))


@pytest.mark.parametrize(
    "engine,version,options,said",
    [
        ("mysql", "5.7.44", ["query_cache_size"], "MySQL 8.0 refuses query_cache_size"),
        (
            "mysql",
            "5.7.44",
            ["expire_logs_days", "tx_isolation", "log_warnings"],
            "MySQL 8.0 refuses log_warnings, tx_isolation; MySQL 8.4 refuses expire_logs_days",
        ),
        # What it refuses itself cannot be there, or has the prefix loose_.
        ("mysql", "8.0.45", ["query_cache_size"], ""),
        ("percona", "8.0.45", ["ssl"], "Percona Server 8.4 refuses ssl"),
        ("mysql", "8.4.6", ["mysql_native_password"], "MySQL 9.0 refuses mysql_native_password"),
        (
            "mysql",
            "8.4.6",
            ["rpl_semi_sync_master_enabled"],
            "MySQL 9.5 refuses rpl_semi_sync_master_enabled",
        ),
        # It has no other names yet.
        ("mysql", "5.7.44", ["rpl_semi_sync_master_enabled"], ""),
        ("mysql", "8.0.25", ["rpl_semi_sync_slave_enabled"], ""),
        ("mysql", "8.4.6", ["loose_mysql_native_password", "loose_ssl"], ""),
        ("mysql", "9.7.4", ["expire_logs_days", "mysql_native_password"], ""),
        ("mysql", "8.4.6", ["rpl_semi_sync_source_enabled", "max_connections"], ""),
        ("mariadb", "10.11.14", ["innodb_defragment"], "MariaDB 11.4 refuses innodb_defragment"),
        ("mariadb", "11.8.3", ["innodb_defragment"], ""),
        # MySQL's alone; on MariaDB these are the names.
        ("mariadb", "10.11.14", ["query_cache_size", "rpl_semi_sync_master_enabled"], ""),
    ],
)
def test_options_that_a_newer_version_refuses(engine, version, options, said):
    assert evidence(server(engine, version, options)) == said
    assert evidence(server(engine, version, persisted=options)) == said


@pytest.mark.parametrize(
    "version,accounts,options,said",
    [
        ("8.0.45", [], [], ""),
        ("8.0.45", ["repl@%"], [], "MySQL 8.4 refuses logins by mysql_native_password (repl@%)"),
        ("5.7.44", list("abcdefg"), [], "MySQL 8.4 refuses logins by mysql_native_password"),
        # 8.4 that does not load it has locked them out already.
        ("8.4.3", ["repl@%"], [], ""),
        (
            "8.4.3",
            ["repl@%"],
            ["mysql_native_password"],
            "MySQL 9.0 refuses mysql_native_password, logins by mysql_native_password (repl@%)",
        ),
    ],
)
def test_accounts_whose_plugin_a_newer_version_lacks(version, accounts, options, said):
    member = server("mysql", version, options)
    member.info["native_accounts"] = accounts
    assert evidence(member).startswith(said) and bool(said) is bool(evidence(member))


@pytest.mark.parametrize("value", ["", None, "FORCE", "FORCE_PLUS_PERMANENT", "1", "OFF", "0"])
@pytest.mark.parametrize("name", ["mysql_native_password", "loose_mysql_native_password"])
@pytest.mark.parametrize("place", ["options", "command_line"])
def test_each_way_to_load_the_plugin_counts(place, name, value):
    on = value not in ("OFF", "0")
    for version, first in (("8.0.45", (9, 0) if on else (8, 4)), ("8.4.3", (9, 0) if on else None)):
        member = server("mysql", version)
        member.info["native_accounts"] = ["repl@%"]
        member.info["option_files"].setdefault(place, {})[name] = value
        assert [one for one, _words in next_version.refused_accounts(member.info)] == (
            [first] if first else []
        )


@pytest.mark.parametrize(
    "version,said",
    [
        ("8.0.25", ""),
        ("8.0.26", "MySQL 9.5 refuses plugin rpl_semi_sync_master"),
        ("9.4.0", "MySQL 9.5 refuses plugin rpl_semi_sync_master"),
        ("9.5.0", ""),
    ],
)
def test_plugins_of_the_old_names_where_there_are_new_ones(version, said):
    assert evidence(server("mysql", version, plugins=["rpl_semi_sync_master"])) == said


def test_it_is_a_note_of_the_host():
    (one,) = [
        entry
        for entry in rulebook.evaluate([server("mysql", "8.0.45", ["expire_logs_days"])])
        if entry["id"] == "next_version"
    ]
    assert (one["severity"], one["host"]) == ("info", "db1")


def test_an_option_stands_once():
    for engine in ("mysql", "mariadb"):
        every = [
            name for one in next_version.REMOVALS if engine in one.engines for name in one.options
        ]
        assert len(every) == len(set(every))


def test_an_option_that_a_newer_version_refuses_leaves_its_host():
    assert server_options.wanted("innodb_defragment_n_pages")
    assert server_options.wanted("expire_logs_days")
    # An option file may hold secrets.
    assert not server_options.wanted("password")
