# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kind of finding has, and the pages of the manuals that they rest on."""

from __future__ import annotations

import collections

MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/"
SEMISYNC = MANUAL + "replication-semisync.html"
INSTALLATION = MANUAL + "replication-semisync-installation.html"
MONITORING = MANUAL + "replication-semisync-monitoring.html"
SOURCE_VARIABLES = MANUAL + "replication-options-source.html"
SWITCH = MANUAL + "replication-solutions-switch.html"
CRASH_SAFE = MANUAL + "replication-solutions-unexpected-replica-halt.html"
SERVER_VARIABLES = (
    MANUAL + "server-system-variables.html",
    "https://mariadb.com/kb/en/server-system-variables/",
)
EVENTS = (
    MANUAL + "replication-features-invoked.html",
    "https://mariadb.com/kb/en/events/",
)
MARIADB_GTID = "https://mariadb.com/kb/en/gtid/"
MARIADB = "https://mariadb.com/kb/en/semisynchronous-replication/"

# source: one place, or MySQL's and MariaDB's.
Kind = collections.namedtuple("Kind", "severity title why source remedy")
