# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters whose source is dead, derived from captured servers: db1 was the source, the others have
what it committed, and verify.yml looked at it ten minutes ago.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import survivors
from ansible_collections.dbre.semisync.tests.unit import samples

SOURCE = "91c92dd4-e5a0-11f1-9b95-0242ac130002"
NOW = 1795000000.0
LOOK = NOW - 600


def uuid(host: str) -> str:
    return f"91c92dd4-e5a0-11f1-9b95-0000000000{host[-1]:0>2}"


def replica(engine: str, host: str, whole: bool = False) -> Any:
    """A replica as a failover reads it; or as semisync_info does, whole."""
    info = samples.captured(engine, "replica") if whole else samples.survivor(engine)
    info["uptime"] = {"seconds": 86400, "since_reset": 86400}
    info["variables"].update(sync_relay_log="10000", relay_log_recovery="OFF")
    info["channel"].update(io_running="Connecting", sql_running="Yes", seconds_behind=None)
    info["channel"]["source_host"] = "db1"
    # The applier runs since before the last look, whose connection had a higher number.
    info["applier_ids"] = [5, 6]
    if engine == "mysql":
        info["variables"]["server_uuid"] = uuid(host)
        info["channel"].update(source_uuid=SOURCE, retrieved=f"{SOURCE}:1-100")
        info["gtid"] = {"gtid_executed": f"{SOURCE}:1-100", "gtid_purged": ""}
    else:
        info["variables"]["server_id"] = host[-1]
        info["channel"].update(source_server_id=1, retrieved="0-1-100")
        info["gtid"].update(
            gtid_slave_pos="0-1-100", gtid_binlog_pos="0-1-100", gtid_binlog_state="0-1-100"
        )
    return samples.member(host, "replica", info)


def look(engine: str, **changes: Any) -> dict[str, Any]:
    """What verify.yml kept."""
    kept = {
        "server": SOURCE if engine == "mysql" else "db1:/var/lib/mysql/",
        "server_id": "1",
        "at": survivors.stamp(LOOK),
        "clock": LOOK,
        "yes_tx": 90,
        "no_tx": 0,
        "no_times": 0,
        "status": "ON",
        "clients": "2",
        "wait_sessions": "0",
        "calm_at": survivors.stamp(LOOK),
        "timeout": "3600000",
        "wait_no_replica": "ON",
        "wait_for_replica_count": "1" if engine == "mysql" else None,
        "degraded_since": None,
        "gtid": f"{SOURCE}:1-95" if engine == "mysql" else "0-1-95",
        "host": "db1",
        "acknowledgers": {
            f"db{number}": {"server_id": str(number), "uuid": None} for number in (2, 3)
        },
        "strangers": 0,
        "replicas": {
            f"db{number}": {"connection_id": 25, "asked_at": LOOK, "before": 20}
            for number in (2, 3, 4)
        },
        "read_by": survivors.stamp(LOOK),
        "past": [],
        "settings_row": 0,
        "binlog_filters": [],
    }
    return dict(kept, **changes)


def evidence(engine: str, replicas: int = 2, whole: bool = False, **changes: Any) -> Any:
    """Nothing speaks against a failover; read, and not yet frozen."""
    hosts = [f"db{number + 2}" for number in range(replicas)]
    members = [
        samples.member("db1", "source", None, error="no server listens"),
        *(replica(engine, host, whole) for host in hosts),
    ]
    every = ["db1", *hosts]
    looks = {
        host: {
            "reach": {other: "refused" if other == "db1" else "" for other in every},
            "answered": hosts,
            "filters": [],
            "running": False,
            "kernel_seconds": 86400.0,
            "first_gtids": "",
        }
        for host in hosts
    }
    made = {
        "members": members,
        "source": {"failed": True, "reason": "stopped", "msg": "no server listens"},
        "looks": dict(looks, db1={"ended": None, "asked_at": NOW, "read_at": NOW}),
        "frozen": None,
        "last": look(engine),
        "settings": samples.settings(failover_to="", failover_accept=[]),
        "now": NOW,
    }
    return survivors.Evidence(**dict(made, **changes))


def frozen(evidence_of: Any) -> Any:
    """The same after the stop."""
    for member in survivors.readable(evidence_of.members):
        member.link["io_running"] = "No"
    stopped = {
        member.host: {"stopped": True, "changed": True, "at": NOW}
        for member in survivors.readable(evidence_of.members)
    }
    return evidence_of._replace(frozen=stopped)


BOOT = "6f3c9b1e-0000-4000-8000-000000000001"
# The source's host runs for as long as its monotonic clock says; its server a bit less.
MONOTONIC, UPTIME = 500000.0, 400000


def beat(engine: str, number: int, ago: float, **changes: Any) -> Any:
    """A beat of db1, so many seconds ago; facts of it and fields of the row may differ."""
    facts = {
        "enabled": "ON",
        "status": "ON",
        "timeout": 10000,
        "wait_point": "AFTER_SYNC",
        "wait_count": 1 if engine == "mysql" else None,
        "wait_no_replica": "ON",
        "clients": 2,
        "acknowledgers": [uuid(host) if engine == "mysql" else host[-1] for host in ("db2", "db3")],
        "yes_tx": 1000 + number,
        "no_tx": 0,
        "no_times": 0,
        "wait_sessions": 0,
        "killed": 0,
        "settings_row": 0,
        "binlog_filters": [],
        "sync_binlog": "1",
        "flush_log": "1",
    }
    row = {
        "number": number,
        "server": SOURCE if engine == "mysql" else "1",
        "boot": BOOT,
        "monotonic": MONOTONIC - ago,
        "wall": NOW - ago,
        "uptime": int(UPTIME - ago),
        "gtid": f"{SOURCE}:1-{min(100, number)}"
        if engine == "mysql"
        else f"0-1-{min(100, number)}",
        "facts": {**facts, **{key: changes.pop(key) for key in list(changes) if key in facts}},
    }
    return dict(row, **changes)


def with_beats(evidence_of: Any, *rows: Any, exact: bool = True, kept: Any = None) -> Any:
    """The same with these rows on every replica; no look was kept, if none is given."""
    looks = dict(evidence_of.looks)
    if exact:
        clocks = {"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW}
        looks["db1"] = {**looks["db1"], **clocks}
    for member in survivors.readable(evidence_of.members):
        looks[member.host] = {**looks[member.host], "applier_seconds": 86000.0}
    beats = {member.host: list(rows) for member in survivors.readable(evidence_of.members)}
    return evidence_of._replace(looks=looks, last=None, kept=kept, beats=beats)
