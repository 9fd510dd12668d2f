# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verdict takes for granted because no run could see it, in plain words.

What leaves a trace that this run could read is judged, not assumed; tests/model/ checks that each
event which can make a verdict false is either seen or in this list.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.dbre.semisync.plugins.plugin_utils.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    last_look,
    relay_logs,
    source_log,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.survivors import Evidence


def listed(evidence: Evidence) -> list[str]:
    """What the verdict on a failover rests on without having been seen."""
    if last_look.unwatched(evidence):
        return []
    return [*of_replicas(evidence), *of_source(evidence)]


def of_source(evidence: Evidence) -> Iterator[str]:
    """About the dead source; of what came after the look nothing if its binary log is read to its
    end.
    """
    source, look = source_of(evidence.members).host, last_look.look(evidence)
    at, synced = look["at"], look.get("unsynced")
    if synced is not None:
        # A confirmed commit that went with the power, before anything looked, left no trace.
        yield (
            f"the host of {source} lost no transaction to a power cut before {at}, though its"
            f" sync_binlog was {synced}"
        )
    if source_log.covers(evidence):
        return
    yield f"semi-sync on {source} was not changed by hand after {at}"
    yield f"no other replica acknowledged to {source} after {at}"
    if survivors.is_mariadb(evidence):
        yield f"no commit that waited on {source} was ended by KILL after {at}"
    told = last_look.log(evidence)
    if last_look.orderly(evidence):
        return
    if not last_look.ended(evidence):
        yield f"the server of {source} had no clean shutdown and no restart after {at}"
    elif not told or not told.get("whole", True):
        # systemd knows its own stop; a SIGTERM or SHUTDOWN before is in the error log only.
        yield f"the server of {source} was not told to shut down before it was killed"


def of_replicas(evidence: Evidence) -> Iterator[str]:
    """About replicas that count although their servers were started again."""
    if survivors.is_mariadb(evidence):
        return
    for member in survivors.readable(evidence.members):
        if relay_logs.is_restarted(evidence, member) and not relay_logs.lost(evidence, member):
            at = last_look.look(evidence)["at"]
            yield f"replication on {member.host} was not reset by hand after {at}"
