# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules would return in a moment of the small world, and the judge's own functions asked
with it. Everything that the judge sees goes through here; nothing of who was told OK does.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import (
    certificate,
    evidence,
    failover_again,
    failover_cases,
    failover_outcome,
    history,
    remains,
)

from model.state import *
from unit import samples

SOURCE = "source"
# What was committed before the world began.
BASE = 100
RUN = "2026-11-18T130640.000000Z"
# How long a reading takes.
LATENCY = 2.0
IDS = "9000{:03d}"
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


class Verdict(NamedTuple):
    """What was said in a moment.

    Attributes:
        words: one of certificate.VERDICTS, or "refused".
        chosen: which replica takes over, or -1.
        begin, end: of the window, in seconds since 1970.
        until: proven_until.
        assumes: in the certificate's words.
        reasons: why not more is proven, as the names of premises and cases.
        salvaged: whether the candidate is given the rest of the source's binary log.
    """

    words: str
    chosen: int
    begin: float
    end: float
    until: float
    assumes: tuple[str, ...]
    reasons: tuple[str, ...]
    salvaged: bool


def host(number: int) -> str:
    """A replica's inventory name."""
    return f"replica{number + 1}"


def server_id(number: int) -> str:
    """Of a replica; -1 is the source."""
    return IDS.format(number + 2)


def uuid(number: int) -> str:
    return UUIDS.format(number + 2)


def key_of(s: bytes, rules: Rules, asked: Asked) -> bytes:
    """All that a failover can see of a moment, and nothing else: equal keys have equal verdicts."""
    head = bytes(
        (
            s[NOW],
            asked.controller * 8 + asked.gone * 4 + asked.salvage * 2 + asked.log,
            s[SRC] if not asked.gone else 255,
            s[PHASE] + 2 * asked.stuck + 4 * (asked.late + 1),
        )
    )
    look = s[look_at(asked.controller) : look_at(asked.controller) + 2]
    begun = begun_of(s).to_bytes(2, "big")
    parts = [head, look, begun]
    if not asked.gone:
        words = s[WORDS_A + asked.controller] if asked.log else 0
        parts.append(bytes((s[STARTED], s[STOPPING], s[ENDED], words, on_disk(s) * asked.salvage)))
    rows = s[ROWS]
    dumps = DUMP_A + asked.controller
    for at in blocks(rules):
        dump = s[at + dumps] if asked.log and not asked.gone else 0
        if s[at + UP] or s[at + OUTSIDE]:
            parts.append(bytes((s[at + OUTSIDE], dump)))
        else:
            parts.append(s[at + IO : at + APPLIED + 1] + s[at + BORN : at + OUTSIDE])
            parts.append(bytes((s[at + OPEN], dump, rows & ((1 << s[at + GOT]) - 1))))
            if s[PHASE]:
                parts.append(s[at + SEEN_GOT : at + BLOCK])
    return b"".join(parts)


def look_at(controller: int) -> int:
    return LOOK_A + 2 * controller


class Adapter:
    """The modules' results for one kind of world, and the judge's answers.

    Args:
        rules: of the world.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules, self.mariadb = rules, rules.mariadb
        self.source_info = samples.captured(rules.engine, "source")
        self.replica_info = samples.captured(rules.engine, "replica")
        self.looks: list[dict[str, Any] | None] = [None]
        self.numbers: dict[str, int] = {}
        self.look_memo: dict[tuple[int, bytes], int] = {}
        self.moved: dict[tuple[int, tuple[int, ...]], int] = {}
        self.spent_memo: dict[tuple[int, int], int] = {}
        self.settings = {
            salvage: samples.settings(
                failover_to="", failover_accept=[], failover_salvage=salvage, hook_fence=""
            )
            for salvage in (False, True)
        }
        self.accepted: list[str] = []

    # What is kept on a controller, by number

    def number_of(self, kept: dict[str, Any] | None) -> int:
        """The number of a kept file; equal ones have the same."""
        if kept is None:
            return 0
        text = json.dumps(kept, sort_keys=True)
        if text not in self.numbers:
            self.numbers[text] = len(self.looks)
            self.looks.append(json.loads(text))
        return self.numbers[text]

    def look(self, s: bytes, controller: int) -> int:
        """The number of the look that verify.yml keeps in this moment."""
        saved = look_of(s, controller)
        key = (saved, self.seen_by_look(s))
        if key not in self.look_memo:
            members = self.members(s, living=True)
            at = remains.stamp(seconds(s[NOW]) + LATENCY)
            kept = history.look_back(self.looks[saved], members, at)[0]
            self.look_memo[key] = self.number_of(kept)
        return self.look_memo[key]

    def seen_by_look(self, s: bytes) -> bytes:
        source = bytes((*s[NOW : NOW + 1], *s[LOG : YES + 3], s[ROWS], bool(waiting(s))))
        return source + b"".join(
            bytes((s[at + OUTSIDE], s[at + LINE], s[at + UP]))
            + (b"" if s[at + UP] else s[at + IO : at + APPLIED + 1] + s[at + BORN : at + OUTSIDE])
            for at in blocks(self.rules)
        )

    def spend(self, number: int, minute: int) -> int:
        """The same look, once a playbook of ours is about to change what it promised."""
        key = (number, minute)
        if number and key not in self.spent_memo:
            kept = dict(self.looks[number] or {})
            if not kept.get("spent_at"):
                kept.update(spent_at=remains.stamp(seconds(minute)), spent_why="a change")
            self.spent_memo[key] = self.number_of(kept)
        return self.spent_memo.get(key, 0)

    def move(self, number: int, order: tuple[int, ...]) -> int:
        """The same look with the replicas' names exchanged: the one at order[i] is i now."""
        if not number:
            return 0
        key = (number, order)
        if key not in self.moved:
            names = {}
            for new, old in enumerate(order):
                for name in (host, server_id, uuid):
                    names[name(old)] = name(new)
            pattern = re.compile("|".join(map(re.escape, names)))
            text = json.dumps(self.looks[number], sort_keys=True)
            kept = json.loads(pattern.sub(lambda found: names[found.group()], text))
            self.moved[key] = self.number_of(kept)
        return self.moved[key]

    # What modules return

    def gtids(self, count: int) -> str:
        first = BASE + count
        return f"0-{server_id(-1)}-{first}" if self.mariadb else f"{uuid(-1)}:1-{first}"

    def journal(self, rows: int, has: int) -> dict[str, Any]:
        """What a server says of its journal that has so many transactions."""
        seen = (rows & ((1 << has) - 1)).bit_count()
        identity = server_id(-1) if self.mariadb else uuid(-1)
        return {
            "number": 1,
            "operation": "switchover",
            "run": "before",
            "state": "done",
            "from_host": "elsewhere",
            "to_host": SOURCE,
            "from_id": "1",
            "to_id": identity,
            "happened": "2026-11-01T00:00:00Z",
            "position": "",
            "verdict": "",
            "details": "",
            # The first row is the switchover's.
            "settings_row": seen + 1 if seen else 0,
        }

    def of_source(self, s: bytes) -> dict[str, Any]:
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
            journal=self.journal(s[ROWS], s[LOG]),
        )

    def channel(self, s: bytes, got: int, applied: int, io: str, sql: int) -> dict[str, Any]:
        empty = not self.mariadb and got == applied
        return dict(
            self.replica_info["channel"],
            source_host=SOURCE,
            source_uuid=None if self.mariadb else uuid(-1),
            source_server_id=int(server_id(-1)),
            retrieved="" if empty else self.gtids(got),
            io_running=io,
            sql_running="No" if sql else "Yes",
            seconds_behind=None,
            last_io_error="",
            last_sql_error="",
            gtid=True,
        )

    def gtid_of_replica(self, applied: int) -> dict[str, Any]:
        gtid = dict(self.replica_info["gtid"])
        has = self.gtids(applied)
        if self.mariadb:
            gtid.update(gtid_slave_pos=has, gtid_binlog_pos=has, gtid_binlog_state=has)
        else:
            gtid.update(gtid_executed=has, gtid_purged="")
        return gtid

    def of_replica(self, s: bytes, number: int, living: bool) -> dict[str, Any]:
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
            channel=self.channel(s, got, applied, io, s[at + SQL]),
            gtid=self.gtid_of_replica(applied),
            # Its own connection comes after what runs: an even epoch has seen no look since.
            connection_id=10 * (epoch + 1 - epoch % 2) + 9,
            applier_ids=[] if s[at + SQL] else [10 * applier + 5],
            journal=self.journal(s[ROWS], applied),
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

    def ended(self, s: bytes, asked: Asked) -> dict[str, Any] | None:
        """What systemd and the error log say of a dead source."""
        if s[SRC] == POWERLESS:
            return None
        at = seconds(s[NOW]) + 1
        ended_ago = at - since(s[ENDED])
        words = s[WORDS_A + asked.controller]
        dumps = [
            int(server_id(number))
            for number, start in enumerate(blocks(self.rules))
            if s[start + DUMP_A + asked.controller]
        ]
        known = asked.log and bool(look_of(s, asked.controller))
        return {
            "how": "exited" if s[SRC] == EXITED else "killed",
            "status": 0 if s[SRC] == EXITED else 9,
            "started_ago": at - since(s[STARTED]),
            "stopping_ago": at - since(s[STOPPING])
            if s[SRC] in (EXITED, STOPPED_KILLED)
            else ended_ago - 0.01,
            "ended_ago": ended_ago,
            "log": {
                "shutdown": bool(words & SHUTDOWN),
                "off": bool(words & OFF),
                "dumps": dumps,
                "started": bool(words & STARTED_AGAIN),
                "lines": [],
            }
            if known
            else None,
        }

    def results(self, s: bytes, asked: Asked) -> evidence.Read:
        """What every module of failover.yml returned, up to its judgement."""
        now = seconds(s[NOW])
        stamps = {"asked_at": now, "read_at": now + LATENCY}
        alive = s[SRC] in (RUNS, STOPS)
        if asked.gone:
            info: dict[str, Any] = {SOURCE: {"unreachable": True, "msg": "no route to host"}}
        else:
            look: dict[str, Any] = dict(stamps, ended=self.ended(s, asked))
            if asked.salvage:
                look["salvage"] = {"case": "", "words": ""}
            info = {SOURCE: {"failed": True, "reason": "stopped", "msg": "", "look": look}}
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
            # It answers nobody who asks from here: its line is cut, or it is dead.
            places = [
                {
                    "address": host(other) if other >= 0 else SOURCE,
                    "port": 3306,
                    "tls": True,
                    "words": "" if other >= 0 else "refused",
                    "answered": other >= 0 or (alive and not s[at + LINE]),
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
                "channel": self.channel(s, s[at + GOT], s[at + APPLIED], "No", s[at + SQL]),
                "gtid": self.gtid_of_replica(s[at + APPLIED]),
                "server_seconds": int(now + 1 - since(s[at + BORN])),
                "kernel_seconds": now + 1 - since(s[at + BOOT]),
                "applier_ids": [] if s[at + SQL] else [10 * s[at + APPLIER] + 5],
                "journal": self.journal(s[ROWS], s[at + APPLIED]),
            }
        salvage: dict[str, Any] = {}
        if asked.salvage and not asked.gone:
            gtids = [
                f"0-{server_id(-1)}-{BASE + n}" if self.mariadb else f"{uuid(-1)}:{BASE + n}"
                for n in range(best + 1, on_disk(s) + 1)
            ]
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
        return evidence.Read(info, {}, frozen, salvage)

    # The judge

    def judge(self, s: bytes, asked: Asked) -> Verdict:
        """What failover.yml says in this moment, with every case accepted that can be."""
        kept = self.looks[look_of(s, asked.controller)]
        begun = self.looks[begun_of(s)]
        now = seconds(s[NOW]) + LATENCY
        judged = evidence.of_results(
            self.members(s, living=False),
            self.results(s, asked),
            kept,
            begun,
            self.settings[asked.salvage],
            now,
        )
        known = judged.evidence
        if judged.opened:
            return self.judge_again(judged, now)
        chosen = failover_cases.candidate_of(known) if remains.readable(known.members) else None
        cases = [*failover_outcome.not_frozen(known), *failover_cases.cases(known)]
        barred = [case.name for case in cases if not case.acceptable]
        if barred or not chosen:
            return refusal(tuple(barred) or ("no candidate",))
        accepted = [case.name for case in cases]
        record = certificate.record("shop", "feed", known, accepted, chosen)
        points = [{"id": "C6", "good": not asked.stuck, "observed": "all", "expected": "all"}]
        if record["salvage"]:
            points.append({"id": "C7", "good": True, "observed": "all", "expected": "all"})
        target = {"outcome": "done", "reason": "", "points": points, "timeline": []}
        done = failover_outcome.completed(record, {chosen.host: target}, accepted, RUN)
        return verdict_of(done, cases)

    def judge_again(self, judged: evidence.Judged, now: float) -> Verdict:
        """The same of a failover that was interrupted after its opening."""
        opened, known = judged.opened, judged.evidence
        wrong = failover_again.problems(opened, known.members)
        if wrong:
            return refusal(("again",))
        kept = failover_again.certificate_of(opened, "shop", "feed", now)
        target = {"outcome": "done", "reason": "", "timeline": []}
        done = failover_outcome.completed(kept, {opened.target.host: target}, [], RUN)
        return verdict_of(done, [])

    def begun(self, s: bytes, asked: Asked) -> int:
        """The number of the certificate that failover.yml leaves when it dies after its judgement;
        0 if it would have refused.
        """
        judged = evidence.of_results(
            self.members(s, living=False),
            self.results(s, asked),
            self.looks[look_of(s, asked.controller)],
            None,
            self.settings[asked.salvage],
            seconds(s[NOW]) + LATENCY,
        )
        known = judged.evidence
        cases = [*failover_outcome.not_frozen(known), *failover_cases.cases(known)]
        chosen = None
        if all(case.acceptable for case in cases) and not judged.opened:
            chosen = failover_cases.candidate_of(known)
        if not chosen:
            return 0
        accepted = [case.name for case in cases]
        kept = certificate.record("shop", "feed", known, accepted, chosen)
        return self.number_of(dict(kept, outcome=failover_again.BEGUN))


def refusal(reasons: tuple[str, ...]) -> Verdict:
    return Verdict("refused", -1, 0, 0, 0, (), reasons, False)


def verdict_of(kept: dict[str, Any], cases: list[Any]) -> Verdict:
    """A certificate without what the search does not ask."""
    window, until = kept["window"], kept.get("proven_until")
    wrong = sorted({words.split(",")[0] for words in kept["reasons"]})
    named = sorted({case.name.split(":")[0] for case in cases} - {"alone", "interrupted"})
    return Verdict(
        kept["verdict"],
        int(kept["to"].removeprefix("replica")) - 1,
        remains.moment_of(window["from"]) if window else 0,
        remains.moment_of(window["to"]) if window else 0,
        remains.moment_of(until) if until else 0,
        tuple(kept.get("assumes") or ()),
        tuple(wrong + named),
        bool(kept["salvage"]),
    )
