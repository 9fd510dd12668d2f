# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which version may follow which, by the rules of the manuals."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import upgrade_path


@pytest.mark.parametrize(
    "engine,version,to",
    [
        ("mysql", "5.7.44", "8.0"),
        ("mysql", "5.7.44", "8.0.45"),
        ("percona", "8.0.45", "8.4"),
        ("mysql", "8.0.45", "8.2"),
        ("mysql", "8.2.0", "8.4"),
        ("mysql", "8.4.6", "9.1"),
        ("mysql", "8.4.6", "9.7"),
        ("mysql", "9.1.0", "9.7"),
        ("mysql", "8.4.5", "8.4.6"),
        ("mysql", "8.4.6", "8.4"),
        ("mariadb", "10.5.29", "10.11"),
        ("mariadb", "10.5.29", "11.8"),
        ("mariadb", "5.5.68", "12.3"),
        ("mariadb", "10.11.14", "11.8.3"),
    ],
)
def test_a_way_that_is_open(engine, version, to):
    assert upgrade_path.path_problem(engine, version, to) == ""


@pytest.mark.parametrize(
    "engine,version,to,words",
    [
        ("mysql", "5.7.44", "8.4", "upgrade to 8.0 first"),
        ("mysql", "5.7.44", "8.1.0", "upgrade to 8.0 first"),
        ("mysql", "8.0.45", "9.7", "upgrade to 8.4 first"),
        ("mysql", "8.0.45", "9.0", "upgrade to 8.4 first"),
        ("mysql", "8.2.0", "9.7", "upgrade to 8.4 first"),
        ("mysql", "9.7.4", "10.0", "does not know 10.0"),
        ("mysql", "8.4.6", "8.0", "no server goes back"),
        ("mysql", "8.4.6", "8.4.5", "no server goes back"),
        ("mysql", "5.6.51", "5.7", "does not upgrade its system tables itself"),
        ("mysql", "5.7.44", "8.0.11", "does not upgrade its system tables itself"),
        ("mariadb", "11.8.3", "10.11", "no server goes back"),
        ("mariadb", "11.8.3", "11.8.2", "no server goes back"),
    ],
)
def test_a_way_that_is_not(engine, version, to, words):
    assert words in upgrade_path.path_problem(engine, version, to)


@pytest.mark.parametrize(
    "version,to,there",
    [
        ("11.8.3", "11.8", True),
        ("11.8.3", "11.8.3", True),
        ("11.8.3", "11.8.4", False),
        ("11.80.1", "11.8", False),
        ("10.11.14", "11.8", False),
    ],
)
def test_a_series_is_reached_by_each_of_its_versions(version, to, there):
    assert upgrade_path.reached(version, to) is there


def test_only_an_older_series_cannot_follow():
    assert upgrade_path.is_older_series("10.11.14", "11.8.3")
    assert not upgrade_path.is_older_series("11.8.2", "11.8.3")
    assert not upgrade_path.is_older_series("11.8.2", "10.11.14")


def test_how_a_server_stops_before_an_upgrade():
    assert upgrade_path.shutdown_of("mysql", "8.4") == 0
    assert upgrade_path.shutdown_of("mariadb", "10.4") == 0
    assert upgrade_path.shutdown_of("mariadb", "11.8") == 1
