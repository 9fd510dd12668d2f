# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings about who is the source, and who was."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.manuals import (
    EVENTS,
    MARIADB_GTID,
    SWITCH,
    Kind,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import CRITICAL, WARNING

TABLE = {
    "two_sources": Kind(
        CRITICAL,
        "Two servers take writes",
        "Each confirms transactions that the other does not have. What is written on one of them"
        " will be lost, or has to be merged by hand, and every further minute makes it more.",
        (SWITCH, MARIADB_GTID),
        "Keep the clients on one of them, and make the other read-only at once (SET GLOBAL"
        " read_only = 1). Compare what each has alone, bring over what must not be lost, and only"
        " then let the other follow again.",
    ),
    "source_unclear": Kind(
        CRITICAL,
        "It is not clear who is the source",
        "The servers and their journal contradict each other, and whoever acts on one of them alone"
        " may write to the wrong server. Nothing of this collection changes anything meanwhile.",
        (SWITCH, MARIADB_GTID),
        "Find out who takes the clients' writes, make the others follow it, and where roles were"
        " moved by other means, write a row into the journal: docs/operations.md.",
    ),
    "change_interrupted": Kind(
        CRITICAL,
        "A change of roles was broken off",
        "The cluster may be between two sources, its writers may have to wait, and nothing else"
        " changes it meanwhile.",
        (SWITCH, MARIADB_GTID),
        "Run switchover.yml again: it finishes the change, or takes it back. Where a host of it is"
        " lost for good, it says what leads out.",
    ),
    "held": Kind(
        WARNING,
        "A former source is held",
        "It lost its role by a failover, and may have transactions that nobody else has: its"
        " recovery commits what waited for an acknowledgement. Nothing is started, attached or"
        " written there.",
        SWITCH,
        "rejoin.yml says what it has alone before anybody starts it, and brings it back. Where"
        " it does not come back, take it out of the inventory.",
    ),
    "held_takes_writes": Kind(
        CRITICAL,
        "A former source is back, and takes writes",
        "Its role went to another server by a failover. Whatever is written there is on no other"
        " server, and will be lost.",
        SWITCH,
        "Keep the clients away from it, and SET GLOBAL read_only = 1 there, at once. Then"
        " rejoin.yml says what it has alone, and brings it back.",
    ),
    "follows_held": Kind(
        CRITICAL,
        "A replica follows a former source",
        "It was away when that one lost its role by a failover. It gets what nobody else has as"
        " soon as that server runs, it acknowledges nothing of the new source, and it may have"
        " alone what was confirmed before.",
        SWITCH,
        "rejoin.yml with its name (semisync_rejoin) says what it has alone, and lets it follow the"
        " new source.",
    ),
    "events_nowhere": Kind(
        WARNING,
        "A scheduled event runs on no server",
        "Replicas leave a source's events to the source. Where a replica became the source by other"
        " means, or it is not known whether an event ran on a dead source, purges and rollups stop"
        " without a word.",
        EVENTS,
        "On the source: ALTER EVENT ... ENABLE for each that is to run, or DISABLE; event_scheduler"
        " = ON in every member's option file.",
    ),
    "events_on_replica": Kind(
        CRITICAL,
        "A replica runs a scheduled event itself",
        "What it writes is on no other server: the replica has transactions that its source lacks,"
        " and breaks when the source's own event writes the same rows. Accounts with SUPER write"
        " although read_only is ON.",
        EVENTS,
        "On the replica, where the event is the source's: SET SESSION sql_log_bin = 0; ALTER"
        " DEFINER = ... EVENT ... DISABLE ON SLAVE, with the definer that it has. rejoin.yml and"
        " switchover.yml do it where they make a server a replica.",
    ),
}
