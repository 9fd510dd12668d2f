# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import known_bad
from ansible_collections.dbre.semisync.tests.unit import samples

# Every defect, at its last bad version and at the first good one.
CASES = [
    ("mysql-69341", "mysql", "5.6.10", "5.6.11", "5.6.12"),
    ("mysql-80651", "mysql", None, "5.5.20", "5.6.13"),
    ("mysql-80651", "mysql", None, "5.6.12", "5.6.13"),
    ("mysql-80651", "mysql", None, "5.5.62", "5.6.21"),
    ("mysql-80651", "mysql", None, "5.7.1", "5.7.2"),
    ("mysql-79865", "mysql", "5.6.51", "5.7.16", "5.7.17"),
    ("mysql-89370", "mysql", "5.7.15", "5.7.22", "5.7.23"),
    ("mysql-104015", "mysql", "5.7.33", "5.7.34", "5.7.35"),
    ("mysql-104015", "percona", "8.0.24", "8.0.25", "8.0.26"),
    ("mysql-105400", "mysql", "8.0.26", "8.0.27", "8.0.28"),
    ("mariadb-shutdown", "mariadb", None, "10.4.24", "10.4.25"),
    ("mariadb-shutdown", "mariadb", None, "10.5.15", "10.5.16"),
    ("mariadb-shutdown", "mariadb", None, "10.6.7", "10.6.8"),
    ("mariadb-second-replica", "mariadb", "10.5.29", "10.6.16", "10.6.17"),
    ("mariadb-second-replica", "mariadb", None, "10.11.6", "10.11.7"),
    ("mariadb-second-replica", "mariadb", None, "11.4.0", "11.4.1"),
    ("mariadb-33551", "mariadb", None, "10.6.17", "10.6.18"),
    ("mariadb-33551", "mariadb", None, "10.11.7", "10.11.8"),
    ("mariadb-33551", "mariadb", None, "11.4.1", "11.4.2"),
    ("mariadb-35109", "mariadb", "10.6.17", "10.6.20", "10.6.21"),
    ("mariadb-35109", "mariadb", "10.11.7", "10.11.8", "10.11.11"),
    ("mariadb-35109", "mariadb", "11.4.1", "11.4.4", "11.4.5"),
    ("mariadb-dump-thread", "mariadb", "10.6.30", "10.11.11", "10.11.12"),
    ("mariadb-dump-thread", "mariadb", "11.4.9", "11.8.1", "11.8.2"),
    ("mariadb-no-wait", "mariadb", None, "10.6.22", "10.6.23"),
    ("mariadb-no-wait", "mariadb", None, "10.11.13", "10.11.14"),
    ("mariadb-no-wait", "mariadb", None, "11.4.7", "11.4.8"),
    ("mariadb-no-wait", "mariadb", None, "11.8.2", "11.8.3"),
    ("mariadb-33465", "mariadb", "10.6.1", "10.6.18", "10.6.19"),
    ("mariadb-33465", "mariadb", None, "10.11.8", "10.11.9"),
    ("mariadb-33465", "mariadb", None, "11.1.5", "11.1.6"),
    ("mariadb-33465", "mariadb", None, "11.2.4", "11.2.5"),
    ("mariadb-33465", "mariadb", None, "11.4.2", "11.4.3"),
    ("mariadb-33465", "mariadb", None, "11.5.1", "11.5.2"),
    ("mariadb-innodb-binlog", "mariadb", "12.2.9", "12.3.1", None),
]
# What must be set for a defect to matter.
TRIGGERS = {
    "mysql-80651": {"timeout": "100000000"},
    "mariadb-33551": {"wait_point": "AFTER_COMMIT"},
    "mariadb-35109": {"wait_point": "AFTER_SYNC"},
    "mariadb-no-wait": {"wait_no_replica": "OFF"},
}


def defects(engine, version):
    return [defect.id for defect in known_bad.of_version(engine, parse_version(version))]


@pytest.mark.parametrize("defect,engine,before,bad,good", CASES)
def test_the_versions_of_a_defect(defect, engine, before, bad, good):
    assert defect in defects(engine, bad)
    assert before is None or defect not in defects(engine, before)
    assert good is None or defect not in defects(engine, good)
    other = "mariadb" if engine != "mariadb" else "mysql"
    assert defect not in defects(other, bad)


def test_every_defect_has_a_case_and_a_source():
    assert {case[0] for case in CASES} == {defect.id for defect in known_bad.DEFECTS}
    assert all(
        defect.what and defect.source and defect.condition in known_bad.CONDITIONS
        for defect in known_bad.DEFECTS
    )


@pytest.mark.parametrize(
    "engine,version",
    [
        ("mysql", "9.7.4"),
        ("mysql", "8.4.6"),
        ("mysql", "8.0.44"),
        ("mariadb", "10.5.29"),
        ("mariadb", "10.11.19"),
        ("mariadb", "11.8.6"),
    ],
)
def test_servers_without_a_known_defect(engine, version):
    assert defects(engine, version) == []


def source(engine, version, **semisync):
    info = samples.captured("mysql" if engine == "mysql" else "mariadb", "source")
    info.update(engine=engine, version=version)
    info["semisync"]["source"]["variables"].update(
        {"wait_point": None, "timeout": "10000", "wait_no_replica": "ON"}, **semisync
    )
    return info


@pytest.mark.parametrize(
    "defect,engine,before,bad,good", [case for case in CASES if case[0] in TRIGGERS]
)
def test_a_defect_matters_only_with_the_setting_that_triggers_it(defect, engine, before, bad, good):
    assert defect not in [one.id for one in known_bad.of_source(source(engine, bad), [])]
    assert defect in [
        one.id for one in known_bad.of_source(source(engine, bad, **TRIGGERS[defect]), [])
    ]


def test_a_defect_of_several_replicas_needs_several():
    replica, info = samples.captured("mysql", "replica"), source("mysql", "5.7.20")
    assert "mysql-89370" not in [one.id for one in known_bad.of_source(info, [replica])]
    assert "mysql-89370" in [one.id for one in known_bad.of_source(info, [replica, replica])]


def test_a_defect_of_tls_needs_a_channel_with_it():
    replica, info = samples.captured("mariadb", "replica"), source("mariadb", "11.8.1")
    assert "mariadb-dump-thread" not in [one.id for one in known_bad.of_source(info, [replica])]
    replica["channel"]["tls"] = True
    assert "mariadb-dump-thread" in [one.id for one in known_bad.of_source(info, [replica])]


@pytest.mark.parametrize(
    "engine,version,variable,value,defect",
    [
        ("mysql", "8.0.27", "replication_sender_observe_commit_only", "ON", "mysql-105400"),
        ("mariadb", "12.3.1", "binlog_storage_engine", "innodb", "mariadb-innodb-binlog"),
    ],
)
def test_a_defect_of_a_variable_needs_it(engine, version, variable, value, defect):
    info = source(engine, version)
    assert defect not in [one.id for one in known_bad.of_source(info, [])]
    info["variables"][variable] = value
    assert defect in [one.id for one in known_bad.of_source(info, [])]


def test_the_version_with_the_fix_is_that_of_the_branch():
    defect = next(one for one in known_bad.DEFECTS if one.id == "mariadb-35109")
    assert known_bad.first_good(defect, (10, 11, 9)) == "10.11.11"
    endless = next(one for one in known_bad.DEFECTS if one.id == "mariadb-innodb-binlog")
    assert known_bad.first_good(endless, (12, 3, 1)) == ""


def test_a_defect_of_both_sides_needs_both_in_the_option_file():
    info = source("mariadb", "10.11.8")
    options = info["option_files"]["options"]
    options.update(rpl_semi_sync_master_enabled="1", rpl_semi_sync_slave_enabled="0")
    assert "mariadb-33465" not in [one.id for one in known_bad.of_source(info, [])]
    options["rpl_semi_sync_slave_enabled"] = "ON"
    assert "mariadb-33465" in [one.id for one in known_bad.of_source(info, [])]
