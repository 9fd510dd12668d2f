# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages that findings rest on: a manual's, MySQL's and MariaDB's, or what was measured."""

from __future__ import annotations

MYSQL = "https://dev.mysql.com/doc/refman/8.4/en/"
MARIADB = "https://mariadb.com/kb/en/"
MARIADB_SEMISYNC = MARIADB + "semisynchronous-replication/"
MARIADB_LOGS = MARIADB + "replication-and-binary-log-system-variables/"

# What a power cut took under each setting, on real servers.
POWER_CUTS = "https://github.com/dbre/semisync/blob/main/docs/evidence/crash-points.md"

SEMISYNC = (MYSQL + "replication-semisync.html", MARIADB_SEMISYNC)
SEMISYNC_INSTALLATION = (MYSQL + "replication-semisync-installation.html", MARIADB_SEMISYNC)
SEMISYNC_MONITORING = (MYSQL + "replication-semisync-monitoring.html", MARIADB_SEMISYNC)
SOURCE_OPTIONS = (MYSQL + "replication-options-source.html", MARIADB_SEMISYNC)
ROLE_CHANGE = MYSQL + "replication-solutions-switch.html"
ROLE_CHANGE_GTID = (ROLE_CHANGE, MARIADB + "gtid/")
CRASH_SAFE = (MYSQL + "replication-solutions-unexpected-replica-halt.html", MARIADB_LOGS)
BINARY_LOG = (MYSQL + "replication-options-binary-log.html", MARIADB_LOGS)
REPLICA_OPTIONS = (MYSQL + "replication-options-replica.html", MARIADB_LOGS)
ACCOUNT = (MYSQL + "replication-howto-repuser.html", MARIADB + "setting-up-replication/")
ENCRYPTION = (
    MYSQL + "replication-encrypted-connections.html",
    MARIADB + "replication-with-secure-connections/",
)
EVENTS = (MYSQL + "replication-features-invoked.html", MARIADB + "events/")
SERVER_VARIABLES = (MYSQL + "server-system-variables.html", MARIADB + "server-system-variables/")
MIXED_PLUGINS = MYSQL + "replication-semisync-installation.html"
PLUGINS = MYSQL + "plugin-loading.html"
OPTION_FILES = MYSQL + "option-files.html"
STATUS = MYSQL + "replication-administration-status.html"
TIME_ZONES = MYSQL + "replication-features-timezone.html"
NEXT_VERSION = (MYSQL + "upgrading-from-previous-series.html", MARIADB + "upgrading/")
FULL_DISK = MYSQL + "full-disk.html"
SERVER_ID = MYSQL + "replication-howto-repuniqueid.html"
