# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about the heartbeat, and about what its rows say."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    ROLE_CHANGE,
    SEMISYNC_MONITORING,
)

TABLE = {
    "heartbeat_elsewhere": Kind(
        CRITICAL,
        "A server that is not the source beats",
        "the newest row of [the heartbeat](heartbeat.md) on a member is a few seconds old and of"
        " another server than the source",
        "A server beats only while it takes writes and its journal names it as the source. If that"
        " is not the source of this cluster, two servers take writes (split brain), and what"
        " clients write to one of them is lost.",
        ROLE_CHANGE,
        "Keep clients away from the server that the evidence names, and find out who writes to it."
        " See docs/night-two-sources.md.",
    ),
    "heartbeat_stopped": Kind(
        WARNING,
        "The source does not beat",
        "`semisync_heartbeat_seconds` is not 0, and the newest row of the source is older than"
        " three intervals and 10 seconds, or there is none",
        "A failover can prove nothing about the time after the last row. The service writes none if"
        " its server is not the journal's source, if no replica reads from it, or while a row waits"
        " for its acknowledgement.",
        ROLE_CHANGE,
        "The evidence has what the service says; journalctl -u dbre-semisync-heartbeat-PORT has"
        " more. site.yml repairs the service and its account.",
    ),
    "heartbeat_service": Kind(
        WARNING,
        "The heartbeat's service does not run on this host",
        "`semisync_heartbeat_seconds` is not 0, and the service is not there, not running, not"
        " enabled, or its login is refused",
        "Nothing is recorded while this host is the source. After a failover to it, the heartbeat"
        " stops.",
        ROLE_CHANGE,
        "Run site.yml, which sets it up, gives it another account and starts it.",
    ),
    "heartbeat_degraded": Kind(
        WARNING,
        "The source was degraded, according to its own rows",
        "rows of [the heartbeat](heartbeat.md) since the last run say that semi-sync was on and its"
        " status OFF, and later rows that it was ON again",
        "What was confirmed in that time was on no replica when its client was told. The rows say"
        " when it began and ended, and how many commits were confirmed without an acknowledgement,"
        " even if no run looked.",
        SEMISYNC_MONITORING,
        "Check the replicas' error logs, and the network, at the time that the evidence names.",
    ),
}
