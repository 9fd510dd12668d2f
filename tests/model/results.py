# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules would return in a moment of the small world, by tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    part_results,
    readings,
)

from model.state import (
    APPLIED,
    APPLIER,
    APPLIER_AT,
    BEATS,
    BEGINS,
    BOOT,
    BOOTS,
    BORN,
    CLOSED,
    COUNT,
    DUMP_A,
    ENABLED,
    ENDED,
    EPOCH,
    EXITED,
    FENCED,
    GOT,
    HOLES,
    HOOK,
    IO,
    LINE,
    LOG,
    MOST,
    NO,
    NOW,
    OFF,
    OPEN,
    OUTSIDE,
    OWN_ENDS,
    PHASE,
    POWERLESS,
    ROWS,
    RUNS,
    SEEN_APPLIED,
    SEEN_APPLIER,
    SEEN_BORN,
    SEEN_EPOCH,
    SEEN_GOT,
    SERVED,
    SHUTDOWN,
    SQL,
    SRC,
    STARTED,
    STARTED_AGAIN,
    STATUS,
    STOPPED_KILLED,
    STOPPING,
    STOPS,
    STRAY,
    TIMEOUT,
    TIMEOUTS,
    TWIN,
    UNFENCED,
    UP,
    WNR,
    WORDS_A,
    YES,
    Moment,
    Rules,
    beat_of,
    begin,
    block,
    blocks,
    look_of,
    on_disk,
    seconds,
    since,
    waiting,
)
from unit import samples

SOURCE = "source"
# What was committed before the world began.
BASE = 100
# How long a reading takes.
LATENCY = 2.0
IDS = "9000{:03d}"
# When the source's host was first started, and what number another server's beats have.
BOOTED, STRAYS = BEGINS - 10 * 86400, 50
UUIDS = "91c92dd4-e5a0-11f1-9b95-0000000{:05d}"


class Asked(NamedTuple):
    """How a failover is run in a moment.

    Attributes:
        controller: whose memory it has.
        gone: whether the source's host does not answer.
        salvage: whether semisync_failover_salvage is on.
        log: whether the error log of a dead source could be read.
        late: a replica whose IO thread was not stopped, and that receives and acknowledges after it
            was read, its line being back; -1 is none.
        stuck: whether the new source's applier stood still, so that it applied nothing more.
    """

    controller: int = 0
    gone: bool = False
    salvage: bool = False
    log: bool = True
    late: int = -1
    stuck: bool = False


def host(number: int) -> str:
    """A replica's inventory name."""
    return f"replica{number + 1}"


def server_id(number: int) -> str:
    """Of a replica; -1 is the source."""
    return IDS.format(number + 2)


def uuid(number: int) -> str:
    return UUIDS.format(number + 2)


def monotonic(boots: int, moment: float) -> float:
    """The monotonic clock of the source's host, which a start sets back; by how much is no matter
    here.
    """
    return moment - BOOTED - boots * 86400


def hook_begun(s: Moment) -> float:
    """When the tasks of semisync_hook_fence began."""
    return seconds((s[HOOK] & 15) - 1)


def answers(s: Moment, at: int) -> bool:
    """Whether the source answers a replica that asks whether it lives."""
    return s[SRC] in (RUNS, STOPS) and not s[at + LINE]


class Results:
    """Of one kind of world.

    Args:
        rules: of the world.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules, self.mariadb = rules, rules.mariadb
        self.source_info = samples.captured(rules.engine, "source")
        self.replica_info = samples.survivor(rules.engine)
        # What controllers and tables have, by number; 0 is nothing.
        self.looks: list[Any] = [None]

    def gtids(self, count: int, holes: int = 0) -> str:
        first = BASE + count
        if self.mariadb:
            return self.position(count)
        lacks = [BASE + 1 + number for number in range(count) if holes & 1 << number]
        ends = [*(one - 1 for one in lacks), first]
        begins = [1, *(one + 1 for one in lacks)]
        parts = [f"{one}-{end}" for one, end in zip(begins, ends, strict=True) if one <= end]
        return f"{uuid(-1)}:{':'.join(parts)}"

    def position(self, count: int) -> str:
        """A MariaDB source's, after so many transactions: of each domain the last."""
        second = count // 2 if self.rules.domains else 0
        parts = [f"0-{server_id(-1)}-{BASE + count - second}"]
        parts += [f"1-{server_id(-1)}-{BASE + second}"] * self.rules.domains
        return ",".join(parts)

    def transaction(self, number: int) -> str:
        """The GTID of the source's transaction by its number in the world, from 1."""
        if not self.mariadb:
            return f"{uuid(-1)}:{BASE + number}"
        domain = 1 - number % 2 if self.rules.domains else 0
        last = self.position(number).split(",")[domain]
        return last

    def beat(self, s: bytes) -> dict[str, Any]:
        """The row that the source writes of itself in this moment."""
        number, info = s[BEATS].bit_count() + 1, self.of_source(s)
        # Events within a minute take no time; two beats do, and what comes after one is later.
        now = seconds(s[NOW]) - (MOST - number) / 1000
        running = info["semisync"]["source"]["variables"]
        status = info["semisync"]["source"]["status"]
        counted = ("clients", "yes_tx", "no_tx", "no_times", "wait_sessions")
        return {
            "number": number,
            "server": server_id(-1) if self.mariadb else uuid(-1),
            "boot": f"boot {s[BOOTS]}",
            "monotonic": monotonic(s[BOOTS], now),
            "wall": now + self.rules.skew[0],
            "uptime": info["uptime"]["seconds"],
            "gtid": info["gtid"]["gtid_binlog_state" if self.mariadb else "gtid_executed"],
            "facts": {
                **{name: int(status[name]) for name in counted},
                "enabled": running["enabled"],
                "status": status["status"],
                "timeout": int(running["timeout"]),
                "wait_point": running["wait_point"],
                "wait_count": None if self.mariadb else s[COUNT],
                "wait_no_replica": running["wait_no_replica"],
                # MariaDB's beats do not name them.
                "acknowledgers": None
                if self.mariadb
                else sorted(str(one["uuid"]) for one in info["registered"]),
                "killed": s[OWN_ENDS],
                "settings_row": history.settings_row(info),
                "binlog_filters": [],
                "sync_binlog": info["variables"]["sync_binlog"],
                "flush_log": "1",
            },
        }

    def stray(self, s: bytes, at: int, number: int = STRAYS) -> dict[str, Any]:
        """The newest beat of the server that was source before, in a replica's table."""
        then = since(s[at + STRAY] & ~TWIN)
        row = self.beat(begin(self.rules))
        facts = dict(row["facts"], timeout=36000000)
        return dict(row, number=number, server="1", boot="another", monotonic=then - BOOTED,
                    wall=then + self.rules.skew[0], facts=facts)  # fmt: skip

    def rows(self, s: bytes, at: int, has: int) -> list[dict[str, Any]]:
        """The heartbeat's rows on a replica that has applied so much, newest first."""
        there = s[BEATS] & ~s[at + HOLES] & ((1 << has) - 1)
        found = [self.kept(beat_of(s, one)) for one in range(MOST) if there & 1 << one]
        found.reverse()
        if s[at + STRAY] & TWIN:
            number = found[0]["number"] if found else 1
            return [self.stray(s, at, number), *found[1:]]
        return [self.stray(s, at)] * bool(s[at + STRAY]) + found

    def kept(self, number: int) -> Any:
        """What a controller's file, or a table's row, has, by its number."""
        return self.looks[number]

    def settings_row(self, s: bytes, has: int) -> int:
        """The number of the newest row of settings, on a server that has so many transactions; the
        first row of the journal is the switchover's.
        """
        seen = (s[ROWS] & ((1 << has) - 1)).bit_count()
        return seen + 1 if seen else 0

    def settings_open(self, s: bytes) -> int:
        """The number of the oldest that is not closed, or 0."""
        left = s[ROWS] & ~s[CLOSED] & ((1 << s[LOG]) - 1)
        return (s[ROWS] & (left & -left) * 2 - 1).bit_count() + 1 if left else 0

    def journal(self) -> dict[str, Any]:
        """The newest row of the journal that is of roles."""
        return {
            "number": 1,
            "operation": "switchover",
            "run": "before",
            "state": "done",
            "from_host": "elsewhere",
            "to_host": SOURCE,
            "from_id": "1",
            "to_id": server_id(-1) if self.mariadb else uuid(-1),
            "happened": "2026-11-01T00:00:00Z",
            "position": "",
            "verdict": "",
            "details": "",
        }

    def of_source(self, s: bytes) -> Any:
        """semisync_info of the source, which lives."""
        now = seconds(s[NOW])
        clock = now + self.rules.skew[0]
        attached = [
            number
            for number, at in enumerate(blocks(self.rules))
            if not (s[at + UP] or s[at + LINE] or s[at + IO])
        ]
        executed = s[LOG] if self.mariadb else s[LOG] - len(waiting(s))
        status = {
            "status": "ON" if s[STATUS] else "OFF",
            "clients": str(len(attached)),
            "wait_sessions": str(len(waiting(s))),
            "yes_tx": str(s[YES]),
            "no_tx": str(s[NO]),
            "no_times": str(min(s[NO], 1)),
        }
        timeout = TIMEOUTS[s[TIMEOUT]]
        running = {
            "enabled": "ON" if s[ENABLED] else "OFF",
            "timeout": str(int(1000 * timeout)),
            "wait_no_replica": "ON" if s[WNR] else "OFF",
            "wait_point": "AFTER_SYNC",
            "wait_for_replica_count": None if self.mariadb else str(s[COUNT]),
        }
        up = int(now - since(s[STARTED]))
        gtid = dict(self.source_info["gtid"])
        if self.mariadb:
            state = self.gtids(executed)
            gtid.update(gtid_binlog_pos=state, gtid_binlog_state=state, gtid_slave_pos="")
        else:
            gtid.update(gtid_executed=self.gtids(executed), gtid_purged="")
        variables = dict(
            self.source_info["variables"],
            server_id=server_id(-1),
            server_uuid=None if self.mariadb else uuid(-1),
            hostname=SOURCE,
            sync_binlog="1" if self.rules.sync_binlog else "0",
            gtid_strict_mode="ON" if self.mariadb else None,
            read_only="OFF",
        )
        semisync = {
            "source": {"variables": running, "status": status},
            "replica": self.source_info["semisync"]["replica"],
        }
        return dict(
            self.source_info,
            asked_at=now,
            clock=clock,
            uptime={"seconds": up, "since_reset": up},
            variables=variables,
            semisync=semisync,
            gtid=gtid,
            calm_since=clock if s[STATUS] and not waiting(s) else None,
            connection_id=1000,
            applier_ids=[],
            registered=[
                {"server_id": int(server_id(one)), "uuid": None if self.mariadb else uuid(one)}
                for one in attached
            ],
            error_log={"path": "/var/log/mysql/error.log", "inode": 1, "size": 1},
            binlog_filters=[],
            journal=self.journal(),
            settings_row=self.settings_row(s, s[LOG]),
            settings_open=self.settings_open(s),
        )

    def channel(self, s: bytes, at: int, got: int, applied: int, io: str) -> dict[str, Any]:
        empty = not self.mariadb and got == applied
        return dict(
            self.replica_info["channel"],
            source_host=SOURCE,
            source_uuid=None if self.mariadb else uuid(-1),
            source_server_id=int(server_id(-1)),
            retrieved="" if empty else self.gtids(got, s[at + HOLES]),
            io_running=io,
            sql_running="No" if s[at + SQL] else "Yes",
            seconds_behind=None,
            last_io_error="",
            last_sql_error="",
            gtid=True,
        )

    def gtid_of_replica(self, applied: int, holes: int) -> dict[str, Any]:
        gtid = dict(self.replica_info["gtid"])
        has = self.gtids(applied, holes)
        if self.mariadb:
            gtid.update(gtid_slave_pos=has, gtid_binlog_pos=has, gtid_binlog_state=has)
        else:
            gtid.update(gtid_executed=has, gtid_purged="")
        return gtid

    def of_replica(self, s: bytes, number: int, living: bool) -> Any:
        """semisync_info of a replica; as the first look of a failover read it, once it has."""
        at = block(number)
        got, applied, born = s[at + GOT], s[at + APPLIED], s[at + BORN]
        epoch, applier = s[at + EPOCH], s[at + APPLIER]
        if s[PHASE]:
            got, applied, born = s[at + SEEN_GOT], s[at + SEEN_APPLIED], s[at + SEEN_BORN]
            epoch, applier = s[at + SEEN_EPOCH], s[at + SEEN_APPLIER]
        now = seconds(s[NOW])
        io = "No" if s[at + IO] else "Yes" if living and not s[at + LINE] else "Connecting"
        up = int(now + 1 - since(born))
        variables = dict(
            self.replica_info["variables"],
            server_id=server_id(number),
            server_uuid=None if self.mariadb else uuid(number),
            hostname=host(number),
            read_only="OFF" if s[at + OPEN] else "ON",
            sync_relay_log="1" if self.rules.sync_relay_log else "10000",
            relay_log_recovery="ON" if self.rules.recovery else "OFF",
            gtid_strict_mode="ON" if self.mariadb else None,
        )
        semisync = {
            "source": self.replica_info["semisync"]["source"],
            "replica": {
                "variables": self.replica_info["semisync"]["replica"]["variables"],
                "status": {"status": "ON" if io == "Yes" else "OFF"},
            },
        }
        return dict(
            self.replica_info,
            asked_at=now,
            clock=now + 1 + self.rules.skew[1],
            uptime={"seconds": up, "since_reset": up},
            variables=variables,
            semisync=semisync,
            channel=self.channel(s, at, got, applied, io),
            gtid=self.gtid_of_replica(applied, s[at + HOLES]),
            # Its own connection comes after what runs: an even epoch has seen no look since.
            connection_id=10 * (epoch + 1 - epoch % 2) + 9,
            applier_ids=[] if s[at + SQL] else [10 * applier + 5],
            journal=self.journal(),
            settings_row=self.settings_row(s, applied),
        )

    def members(self, s: bytes, living: bool) -> list[Member]:
        """The cluster as the inventory and semisync_info have it."""
        source = (
            Member(SOURCE, "source", self.of_source(s))
            if living
            else Member(SOURCE, "source", None, error="nothing listens")
        )
        return [
            source,
            *(
                Member(host(number), "replica", self.of_replica(s, number, living))
                if not s[at + UP]
                else Member(host(number), "replica", None, error="unreachable")
                for number, at in enumerate(blocks(self.rules))
                if not s[at + OUTSIDE]
            ),
        ]

    def ended(self, s: bytes) -> dict[str, Any] | None:
        """What systemd says of a dead source's server."""
        if s[SRC] == POWERLESS:
            return None
        at = seconds(s[NOW]) + 1
        ended_ago = at - since(s[ENDED])
        stopped = s[SRC] in (EXITED, STOPPED_KILLED)
        return {
            "how": "exited" if s[SRC] == EXITED else "killed",
            "status": 0 if s[SRC] == EXITED else 9,
            "started_ago": at - since(s[STARTED]),
            "stopping_ago": at - since(s[STOPPING]) if stopped else ended_ago - 0.01,
            "ended_ago": ended_ago,
        }

    def log(self, s: bytes, asked: Asked) -> dict[str, Any] | None:
        """What its error log says since a controller's look, if it could be read from there."""
        if not asked.log or not look_of(s, asked.controller):
            return None
        words = s[WORDS_A + asked.controller]
        dumps = [
            int(server_id(number))
            for number, start in enumerate(blocks(self.rules))
            if s[start + DUMP_A + asked.controller]
        ]
        return {
            "shutdown": bool(words & SHUTDOWN),
            "off": bool(words & OFF),
            "dumps": dumps,
            "started": bool(words & STARTED_AGAIN),
            "lines": [],
        }

    def fence(self, s: bytes) -> readings.Fence:
        """What is known of the tasks of semisync_hook_fence."""
        if not s[FENCED]:
            return readings.NO_FENCE
        begun, clock = hook_begun(s), None
        if self.rules.asked_before:
            # It was read a moment after it was asked.
            clock = part_results.HostClock(
                boot=f"boot {s[HOOK] >> 4}",
                monotonic=monotonic(s[HOOK] >> 4, begun + 0.5),
                wall=begun + 0.5 + self.rules.skew[0],
                asked_at=begun,
            )
        failed = [SOURCE] * s[UNFENCED]
        return readings.Fence("", failed, seconds(s[FENCED] - 1) + 1, clock)

    def results(self, s: bytes, asked: Asked) -> readings.Read:
        """What every module of failover.yml returned, up to its judgement."""
        now = seconds(s[NOW])
        stamps = {"asked_at": now, "read_at": now + LATENCY}
        if asked.gone:
            info: dict[str, Any] = {SOURCE: {"unreachable": True, "msg": "no route to host"}}
        else:
            look: dict[str, Any] = dict(stamps, ended=self.ended(s), log=self.log(s, asked))
            if self.rules.beats:
                boots = s[BOOTS] + (s[SRC] == POWERLESS)
                clock = now + 1 + self.rules.skew[0]
                look.update(boot=f"boot {boots}", monotonic=monotonic(boots, now + 1), wall=clock)
            if asked.salvage:
                look["salvage"] = {"case": "", "words": ""}
            info = {SOURCE: {"failed": True, "reason": "stopped", "msg": "", "look": look}}
        # The replicas were read before the hook.
        if s[HOOK]:
            stamps["asked_at"] = hook_begun(s)
        frozen: dict[str, Any] = {SOURCE: {}}
        present = [n for n, at in enumerate(blocks(self.rules)) if not s[at + OUTSIDE]]
        best = 0
        for number in present:
            at = block(number)
            if s[at + UP]:
                info[host(number)] = {"unreachable": True, "msg": "no route to host"}
                frozen[host(number)] = {}
                continue
            best = max(best, s[at + GOT])
            born = s[at + SEEN_BORN] if s[PHASE] else s[at + BORN]
            places = [
                {
                    "address": host(other) if other >= 0 else SOURCE,
                    "port": 3306,
                    "tls": True,
                    "words": "" if other >= 0 else "refused",
                    "answered": other >= 0 or answers(s, at),
                    "there": other >= 0 or answers(s, at),
                }
                for other in (-1, *present)
                if other != number and (other < 0 or not s[block(other) + UP])
            ]
            info[host(number)] = {
                "look": {
                    **stamps,
                    "running": False,
                    "tried": places,
                    "filters": [],
                    "first_gtids": "",
                    "kernel_seconds": now + 1 - since(s[at + BOOT]),
                    "server_seconds": int(now + 1 - since(born)),
                    "received_applied": bool(s[at + SERVED] and not s[at + SQL]),
                }
            }
            frozen[host(number)] = {
                "changed": True,
                "stopped": number != asked.late,
                "was": "Connecting",
                "at": now + 1 + self.rules.skew[1],
                "read_at": now + 1 + self.rules.skew[1],
                "asked_at": now,
                "answered_at": now + LATENCY,
                "channel": self.channel(s, at, s[at + GOT], s[at + APPLIED], "No"),
                "gtid": self.gtid_of_replica(s[at + APPLIED], s[at + HOLES]),
                "server_seconds": int(now + 1 - since(s[at + BORN])),
                "kernel_seconds": now + 1 - since(s[at + BOOT]),
                "applier_ids": [] if s[at + SQL] else [10 * s[at + APPLIER] + 5],
            }
            runs = None if s[at + SQL] else now + 1 - since(s[at + APPLIER_AT])
            frozen[host(number)]["applier_seconds"] = runs
            frozen[host(number)]["received_applied"] = bool(s[at + SERVED] and not s[at + SQL])
            if self.rules.beats:
                frozen[host(number)]["beats"] = self.rows(s, at, s[at + APPLIED])
        salvage: dict[str, Any] = {}
        if asked.salvage and not asked.gone:
            gtids = [self.transaction(n) for n in range(best + 1, on_disk(s) + 1)]
            salvage[SOURCE] = {
                "salvage": {
                    "case": "",
                    "words": "",
                    "count": len(gtids),
                    "gtids": gtids,
                    "seen": "",
                    "files": ["binlog.000001"],
                    "end": 4,
                    "torn": 0,
                    "torn_gtid": "",
                }
            }
        return readings.Read(info, {}, frozen, salvage)
