# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of findings about which server is the source, which was, and where events run."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.manuals import (
    EVENTS,
    ROLE_CHANGE,
    ROLE_CHANGE_GTID,
)

TABLE = {
    "two_sources": Kind(
        CRITICAL,
        "Two servers take writes",
        "two hosts of the cluster are not read-only and replicate from no member, and each of them"
        " has followers, is named by the journal, is the inventory's source, or has transactions"
        " of the cluster. The evidence has what each has that the other lacks",
        "This is a split brain: each confirms transactions that the other does not have. What is"
        " written on one of them will be lost or has to be merged by hand, and it grows every"
        " minute.",
        ROLE_CHANGE_GTID,
        "Keep the clients on one of them, and make the other read-only at once (SET GLOBAL"
        " read_only = 1). Compare what only one of them has, copy what must not be lost, and only"
        " then let the other replicate again.",
    ),
    "source_unclear": Kind(
        CRITICAL,
        "It is not clear which server is the source",
        "servers, journal and inventory [contradict each other](operations.md#who-is-the-source),"
        " and two_sources does not apply. The evidence has the contradicting claims",
        "The servers and their journal contradict each other. To act on one of them may send"
        " writes to the wrong server. Until this is resolved, no playbook of this collection"
        " changes anything.",
        ROLE_CHANGE_GTID,
        "Find out which server takes the clients' writes, and make the others replicate from it."
        " If the role was moved without this collection, add a row to the journal:"
        " docs/operations.md.",
    ),
    "change_interrupted": Kind(
        CRITICAL,
        "A role change was interrupted",
        "the newest row of the journal says that a role change began, and no row says that it was"
        " done or undone",
        "The cluster may be between two sources, writers may have to wait, and no other playbook"
        " changes it meanwhile.",
        ROLE_CHANGE_GTID,
        "Run switchover.yml again: it completes the role change or rolls it back. If one of its"
        " hosts is lost for good, it names the playbook to run instead.",
    ),
    "held": Kind(
        WARNING,
        "A former source is held",
        "the journal says that a failover took the source's role from this host, it has had no"
        " part in a role change since, and it does not replicate, read-only, from a member of the"
        " cluster",
        "It lost its role in a failover and may have errant transactions: its crash recovery"
        " commits what was waiting for an acknowledgement. Playbooks do not start it, attach it or"
        " write to it.",
        ROLE_CHANGE,
        "Run rejoin.yml before the server is started: it lists the errant transactions and brings"
        " the host back. If the host does not come back, remove it from the inventory.",
    ),
    "held_takes_writes": Kind(
        CRITICAL,
        "A former source is back, and takes writes",
        "as held, and its server runs and is not read-only",
        "A failover gave its role to another server. What is written here is on no other server"
        " and will be lost.",
        ROLE_CHANGE,
        "Keep the clients away from it, and run SET GLOBAL read_only = 1 there at once. Then run"
        " rejoin.yml, which lists its errant transactions and brings it back.",
    ),
    "follows_held": Kind(
        CRITICAL,
        "A replica follows a former source",
        "a replica's channel is to a host that is [held](#held)",
        "It was away during the failover. As soon as the former source runs, it receives errant"
        " transactions. It acknowledges nothing of the new source, and may be the only one with"
        " transactions that were confirmed before.",
        ROLE_CHANGE,
        "Run rejoin.yml with its name (semisync_rejoin): it lists what only this host has, and"
        " attaches it to the new source.",
    ),
    "events_nowhere": Kind(
        WARNING,
        "A scheduled event runs on no server",
        "the source has an event that is `SLAVESIDE_DISABLED` (`REPLICA_SIDE_DISABLED`), or one"
        " that is `ENABLED` while `event_scheduler` is not ON",
        "Replicas leave a source's events to the source. If a replica was promoted without this"
        " collection, or if it is not known whether an event ran on a dead source, purges and"
        " rollups stop without any error.",
        EVENTS,
        "On the source, run ALTER EVENT ... ENABLE for each event that has to run, or DISABLE for"
        " the others. Set event_scheduler = ON in every member's option file.",
    ),
    "events_on_replica": Kind(
        CRITICAL,
        "A replica runs a scheduled event itself",
        "an event is `ENABLED` on a replica",
        "What it writes is on no other server: the replica has errant transactions, and"
        " replication breaks when the source's own event writes the same rows. Accounts with SUPER"
        " can write although read_only is ON.",
        EVENTS,
        "If the event is the source's, run on the replica: SET SESSION sql_log_bin = 0; ALTER"
        " DEFINER = ... EVENT ... DISABLE ON SLAVE (from MySQL 8.2 on DISABLE ON REPLICA), with its"
        " present definer. rejoin.yml and switchover.yml do this when they turn a server into a"
        " replica.",
        severities="critical; warning while `event_scheduler` is not ON or `super_read_only` is ON",
    ),
}
