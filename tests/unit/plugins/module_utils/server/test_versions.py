# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import (
    UnknownServerError,
    identify_version,
)


# Texts of @@version and @@version_comment as servers and packages spell them.
@pytest.mark.parametrize(
    "version,comment,expected",
    [
        ("5.5.62", "MySQL Community Server (GPL)", ("mysql", (5, 5, 62))),
        ("5.5.5", "MySQL Community Server (GPL)", ("mysql", (5, 5, 5))),
        ("5.7.44-log", "MySQL Community Server (GPL)", ("mysql", (5, 7, 44))),
        ("8.0.36-0ubuntu0.22.04.1", "(Ubuntu)", ("mysql", (8, 0, 36))),
        ("8.0.40-commercial", "MySQL Enterprise Server - Commercial", ("mysql", (8, 0, 40))),
        ("9.7.4-2", "(Debian)", ("mysql", (9, 7, 4))),
        (
            "8.0.36-28",
            "Percona Server (GPL), Release 28, Revision 47601f19",
            ("percona", (8, 0, 36)),
        ),
        ("8.0.36-28.1", "Percona XtraDB Cluster (GPL), Release rel28", ("percona", (8, 0, 36))),
        ("10.11.19-MariaDB-0+deb12u1", "Debian 12", ("mariadb", (10, 11, 19))),
        ("10.11.19-MariaDB-0+deb12u1-log", "Debian 12", ("mariadb", (10, 11, 19))),
        (
            "5.5.5-10.11.14-MariaDB-log",
            "mariadb.org binary distribution",
            ("mariadb", (10, 11, 14)),
        ),
        ("5.5.68-MariaDB", "MariaDB Server", ("mariadb", (5, 5, 68))),
        ("11.8.2", "MariaDB Server", ("mariadb", (11, 8, 2))),
        ("8.4", "MySQL Community Server - GPL", ("mysql", (8, 4, 0))),
    ],
)
def test_a_server_is_identified_by_its_own_words(version, comment, expected):
    assert identify_version(version, comment) == expected


@pytest.mark.parametrize(
    "version,comment,words",
    [
        (
            "8.0.11-TiDB-v7.5.0",
            "TiDB Server (Apache License 2.0)",
            "no semi-synchronous replication of this kind",
        ),
        (
            "5.7.mysql_aurora.2.11.2",
            "Source distribution",
            "no semi-synchronous replication of this kind",
        ),
        ("8.0.30-Vitess", "Version: 21.0.0", "no semi-synchronous replication of this kind"),
        (
            "5.1.73",
            "Source distribution",
            "5.1.73 is too old: semi-synchronous replication begins with 5.5",
        ),
        ("5.3.12-MariaDB", "", "5.3.12-MariaDB is too old"),
        ("23.8.2.7", "ClickHouse", "neither MySQL, Percona Server nor MariaDB"),
        ("unknown", "", "'unknown' has no number in it"),
        ("", "", "has no number in it"),
    ],
)
def test_what_is_no_known_server_is_refused_with_its_own_words(version, comment, words):
    with pytest.raises(UnknownServerError) as error:
        identify_version(version, comment)
    assert words in str(error.value)
