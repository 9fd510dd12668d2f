# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a failover together, on servers that are none: whatever dies, at most one takes
writes, nothing that was received is thrown away, and what did not take over is as it was.
"""

from __future__ import annotations

import threading
import time
import types
from typing import Any, ClassVar, cast

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    drain,
    failover_replica,
    failover_target,
    io_thread_resume,
    lock_holder,
    locks,
    part_run,
    partial_transaction,
    participant,
    promotion,
    read_only_dropin,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.role_change.dead_source import (  # noqa: E501
    DeadSource,
)

SOURCE = "00000000-0000-0000-0000-000000000001"
POINTS = ("applied_all", "ready", "open", "first_commit")


class Killed(BaseException):
    """SIGKILL: nothing of the part's own comes after it."""


class Module:
    params: ClassVar[dict[str, object]] = {"password": "secret"}

    def __init__(self, host: str) -> None:
        self.host = host


class Warden:
    """What the guard knows when the part is gone."""

    stage = ""

    def report_stage(self, stage: str) -> None:
        self.stage = stage


class Play:
    """One run of all parts at the same time; the first replica takes over."""

    def __init__(self, world: DeadSource, monkeypatch: Any, **params: Any) -> None:
        self.world, self.more = world, params
        self.results: dict[str, Any] = {}
        self.kill: dict[str, str] = {}
        self.act: dict[tuple[str, str], Any] = {}
        self.released: list[str] = []
        self.acted: set[str] = set()
        play = self

        def note(this: Any, event: str, words: str = "") -> None:
            host = this.plan.host
            assert len(world.writers()) <= 1
            this.timeline.append({"event": event, "words": words, "at": 0.0})
            play.act.pop((host, event), lambda: None)()
            if play.kill.get(host) == event:
                del play.kill[host]
                raise Killed

        def connect(this: Any, host: str) -> Any:
            return play.connection(this, host)

        def release(name: str) -> bool:
            play.released.append(name)
            return name not in play.acted

        monkeypatch.setattr(
            participant.Participant, "local", lambda this: play.connection(this, this.plan.host)
        )
        monkeypatch.setattr(participant.Participant, "connect", connect)
        monkeypatch.setattr(participant.Participant, "log_event", note)
        monkeypatch.setattr(read_only_dropin, "take_away", lambda *_words: False)
        monkeypatch.setattr(
            failover_target.FailoverTarget, "option_file", lambda _this: ("x", "block")
        )
        monkeypatch.setattr(io_thread_resume, "release", release)
        monkeypatch.setattr(io_thread_resume, "address", lambda module, _token: module.host)
        for place in (watchdog, failover_target, failover_replica, promotion):
            for name, value in (("MEET", 1.0), ("BACK", 1), ("TOLD", 0.05)):
                if hasattr(place, name):
                    monkeypatch.setattr(place, name, value)

    def connection(self, this: Any, host: str) -> Any:
        made = self.world.connect(host)
        this.__dict__.setdefault("made", []).append(made)
        return made

    def plan(self, host: str) -> FailoverPlan:
        hosts = list(self.world.servers)
        made: dict[str, object] = {
            "mode": "switch",
            "part": "target" if host == hosts[1] else "replica",
            "host": host,
            "token": "feed",
            "source": hosts[0],
            "target": hosts[1],
            "source_id": "one",
            "target_id": "two",
            "members": [{"host": one, "address": one, "port": 3306, "tls": False} for one in hosts],
            "others": hosts[2:],
            "user": "repl",
            "wait_count": 1,
            "timeout": 0.5,
            "stall": 0.3,
            "catch_up": 2,
            "drain": 0,
            "schema": "important",
            "verdict": "proven",
            "ends_lock": False,
            "received": f"{SOURCE}:1-{self.world[host].received}",
            "held": True,
            "durability": {},
            "option_file": None,
        }
        return FailoverPlan.from_dict(dict(made, **self.more))

    def one(self, host: str) -> None:
        plan, warden = self.plan(host), Warden()
        this: Any = part_run.participant_of(Module(host), plan, cast(Any, warden))
        try:
            self.results[host] = this.run()
        except ServerError as error:
            self.results[host] = {"outcome": "failed", "reason": str(error)}
        except Killed:
            for made in this.made:
                made.close()
            self.results[host] = {"outcome": "killed", "reason": ""}
            if warden.stage:
                self.results[host]["guard"] = part_run.participant_of(Module(host), plan).recover(
                    warden.stage
                )

    def run(self) -> dict[str, str]:
        hosts = list(self.world.servers)[1:]
        threads = [threading.Thread(target=self.one, args=(host,)) for host in hosts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert len(self.world.writers()) <= 1
        return {host: result["outcome"] for host, result in self.results.items()}


def world(**received: int) -> DeadSource:
    return DeadSource(received or {"db2": 120, "db3": 110}, {"db2": 100, "db3": 90})


def waits_again(server: Any, source: str = "db1") -> bool:
    """Whether a replica is what it was before its IO thread was stopped."""
    sides = {"source": False, "replica": True}
    return (server.io, server.sql, server.source, server.sides, server.read_only) == (
        True,
        True,
        source,
        sides,
        True,
    )


def test_the_candidate_applies_all_and_opens_when_somebody_acknowledges(monkeypatch):
    there = world()
    play = Play(there, monkeypatch)
    assert play.run() == {"db2": "done", "db3": "done"}
    db2, db3 = there["db2"], there["db3"]
    assert (db2.executed[1], db2.read_only, db2.source) == (120, False, None)
    assert db2.sides == {"source": True, "replica": False}
    assert (db3.source, db3.io, db3.sql, db3.read_only) == ("db2", True, True, True)
    assert db2.journal == ["done"]
    points = {point["id"]: point["good"] for point in play.results["db2"]["points"]}
    assert points == {"C6": True, "S6": True, "S7": True}
    assert play.released == ["db2", "db3"] or play.released == ["db3", "db2"]
    opened = db2.statements.index("SET GLOBAL read_only = 0")
    assert db2.statements.index("SET GLOBAL rpl_semi_sync_source_enabled = 1") < opened


def test_without_anybody_to_acknowledge_the_source_side_stays_off(monkeypatch):
    there = DeadSource({"db2": 120}, {"db2": 100})
    assert Play(there, monkeypatch, wait_count=0).run() == {"db2": "done"}
    assert there["db2"].sides == {"source": False, "replica": False}
    assert there["db2"].journal == ["done"] and not there["db2"].read_only


def behind() -> DeadSource:
    """The candidate has nearly applied what it has, the other one has not."""
    return DeadSource({"db2": 1000, "db3": 1000}, {"db2": 998, "db3": 400})


def test_a_replica_with_a_longer_backlog_than_the_candidate_s_is_waited_for(monkeypatch):
    there = behind()
    play = Play(there, monkeypatch, timeout=0.2, catch_up=10)
    begin = time.monotonic()
    assert play.run() == {"db2": "done", "db3": "done"}
    # The backlog takes longer than the time that is left to it if no part waits.
    assert time.monotonic() - begin > 0.6
    assert (there["db3"].source, there["db3"].executed[1]) == ("db2", 1000)


def test_a_replica_whose_backlog_stands_still_is_not_waited_for(monkeypatch):
    there = behind()
    there["db3"].stuck_at = 500
    play = Play(there, monkeypatch, timeout=0.2)
    assert play.run() == {"db2": "undone", "db3": "refused"}
    assert "after they had applied" in play.results["db2"]["reason"]
    assert waits_again(there["db2"]) and waits_again(there["db3"])


@pytest.mark.parametrize("stop,outcome", [(10, "done"), (0.1, "undone")])
def test_a_replica_that_takes_long_to_stop_is_waited_for_as_long_as_a_server_may_take(
    monkeypatch, stop, outcome
):
    there = world()
    there["db3"].stops_in = 1.0
    monkeypatch.setattr(partial_transaction, "STOP", stop)
    play = Play(there, monkeypatch, timeout=0.2)
    assert play.run()["db2"] == outcome
    if outcome == "done":
        assert there["db3"].source == "db2" and there["db3"].io
    else:
        assert "had applied their backlog" in play.results["db2"]["reason"]
        assert waits_again(there["db2"]) and waits_again(there["db3"])


def torn(there: DeadSource) -> DeadSource:
    """The source died while it sent a transaction: no applier stops quickly."""
    for host in ("db2", "db3"):
        there[host].half, there[host].stops_in = f"{SOURCE}:121", 5.0
    return there


def test_the_first_half_of_a_transaction_is_given_up_at_once(monkeypatch):
    there = torn(world())
    begin = time.monotonic()
    assert Play(there, monkeypatch).run() == {"db2": "done", "db3": "done"}
    assert time.monotonic() - begin < 5
    for host in ("db2", "db3"):
        said = there[host].statements
        assert said.index("KILL 13") < said.index("STOP REPLICA")


def test_a_transaction_that_came_whole_is_no_half_one(monkeypatch):
    there = world()
    there["db2"].half = f"{SOURCE}:120"
    Play(there, monkeypatch).run()
    assert "KILL 13" not in there["db2"].statements


@pytest.mark.parametrize("killed", ["", "half", "attach", "ready"])
def test_who_gave_half_a_transaction_up_applies_again_where_nobody_takes_over(monkeypatch, killed):
    there = torn(world())
    there["db3"].sides["replica"] = False
    play = Play(there, monkeypatch)
    if killed:
        play.kill["db3" if killed == "attach" else "db2"] = killed
    play.run()
    there["db3"].sides["replica"] = True
    assert there.writers() == []
    assert waits_again(there["db2"]) and waits_again(there["db3"])


def test_nobody_is_waited_for_longer_than_applying_may_take(monkeypatch):
    there = behind()
    play = Play(there, monkeypatch, timeout=0.1, catch_up=0.3)
    assert play.run()["db2"] == "undone"
    assert there.writers() == []


@pytest.mark.parametrize("error", ["", "duplicate key"])
def test_an_applier_that_does_not_get_on_ends_it_and_everybody_waits_again(monkeypatch, error):
    there = world()
    there["db2"].stuck_at, there["db2"].error = 110, error
    if error:
        there["db2"].failing["@@GLOBAL.gtid_executed"] = lambda: setattr(
            there["db2"], "sql", there["db2"].executed[1] < 110
        )
    play = Play(there, monkeypatch)
    assert play.run() == {"db2": "refused", "db3": "refused"}
    assert there.writers() == []
    assert (error or "applied nothing for") in play.results["db2"]["reason"]
    there["db2"].sql = True
    assert waits_again(there["db2"]) and waits_again(there["db3"])


def test_nobody_who_acknowledges_ends_it(monkeypatch):
    there = world()
    there["db3"].sides["replica"] = False
    assert Play(there, monkeypatch).run() == {"db2": "undone", "db3": "undone"}
    there["db3"].sides["replica"] = True
    assert waits_again(there["db2"]) and waits_again(there["db3"])


def test_an_io_thread_that_was_started_meanwhile_ends_it(monkeypatch):
    there = world()
    play = Play(there, monkeypatch)
    play.acted = {"db2"}
    there["db2"].io = True
    assert play.run() == {"db2": "refused", "db3": "refused"}
    assert "within 60 s" in play.results["db2"]["reason"]
    there = world()
    there["db2"].io = True
    play = Play(there, monkeypatch)
    assert play.run()["db2"] == "refused"
    assert "is running again" in play.results["db2"]["reason"]


def test_a_follower_whose_io_thread_was_started_meanwhile_ends_it_too(monkeypatch):
    there = world()
    there["db3"].io = True
    play = Play(there, monkeypatch)
    assert play.run()["db3"] == "refused"
    assert "db3's IO thread is running again" in play.results["db3"]["reason"]
    assert waits_again(there["db3"])


EVENTS = {("app", "tick"): "SLAVESIDE_DISABLED", ("app", "off"): "REPLICA_SIDE_DISABLED"}
BEFORE = [
    {"schema": "app", "name": "tick", "status": "ENABLED"},
    {"schema": "app", "name": "off", "status": "DISABLED"},
]


@pytest.mark.parametrize("interrupted", [False, True])
def test_events_run_on_the_new_source_as_they_ran_on_the_dead_one(monkeypatch, interrupted):
    there = world()
    there["db2"].events = dict(EVENTS)
    play = Play(there, monkeypatch, event_states=BEFORE)
    if interrupted:
        play.kill["db2"] = "open"
    play.run()
    if interrupted:
        again = Play(there, monkeypatch, mode="finish", held=False, event_states=BEFORE)
        assert again.run() == {"db2": "done", "db3": "done"}
    assert there["db2"].events == {("app", "tick"): "ENABLED", ("app", "off"): "DISABLED"}


def test_events_that_nobody_saw_run_are_left_and_named(monkeypatch):
    there = world()
    there["db2"].events = dict(EVENTS)
    play = Play(there, monkeypatch, event_states=BEFORE[1:])
    assert play.run() == {"db2": "done", "db3": "done"}
    assert there["db2"].events["app", "tick"] == "SLAVESIDE_DISABLED"
    left = [
        one["words"] for one in play.results["db2"]["timeline"] if one["event"] == "events_left"
    ]
    assert left == ["not known to have run on db1: app.tick"]


def test_another_run_on_one_of_the_hosts_ends_it(monkeypatch):
    for host in ("db2", "db3"):
        there = world()
        locks.take(there.connect(host), lock_holder.RUN_LOCK, 0)
        play = Play(there, monkeypatch)
        play.run()
        assert there.writers() == []
        other = "db3" if host == "db2" else "db2"
        assert waits_again(there[other])
        # What belongs to the other run is left to it.
        assert not there[host].io


@pytest.mark.parametrize("host", ["db2", "db3"])
def test_what_is_said_to_be_no_run_is_ended(monkeypatch, host):
    there = world()
    locks.take(there.connect(host), lock_holder.RUN_LOCK, 0)
    assert Play(there, monkeypatch, ends_lock=True).run() == {"db2": "done", "db3": "done"}
    assert there.writers() == ["db2"]


@pytest.mark.parametrize("point", POINTS)
def test_a_candidate_whose_part_is_killed_is_open_or_as_it_was(monkeypatch, point):
    there = world()
    play = Play(there, monkeypatch)
    play.kill["db2"] = point
    play.run()
    if point in ("open", "first_commit"):
        assert there.writers() == ["db2"]
        assert there["db3"].source == "db2"
    else:
        assert there.writers() == []
        assert waits_again(there["db2"]) and waits_again(there["db3"])


@pytest.mark.parametrize("point", ["applied_all", "attach", "attached"])
def test_a_replica_whose_part_is_killed_ends_up_with_the_others(monkeypatch, point):
    there = world()
    play = Play(there, monkeypatch)
    play.kill["db3"] = point
    play.run()
    if there.writers():
        assert there["db3"].source == "db2" and there["db3"].io
    else:
        assert waits_again(there["db2"]) and waits_again(there["db3"])


@pytest.mark.parametrize("point", POINTS)
def test_a_candidate_that_dies_too_leaves_no_second_writer_and_nobody_who_waits_for_it(
    monkeypatch, point
):
    there = world()
    # An hour, as it is by default.
    play = Play(there, monkeypatch, catch_up=3600)
    play.act["db2", point] = there["db2"].crash
    assert play.run()["db2"] in ("unknown", "done")
    assert there.writers() == []
    assert there["db3"].read_only


@pytest.mark.parametrize("moved", [True, False], ids=["db3 had moved", "db3 had not"])
def test_a_rerun_finishes_what_was_opened(monkeypatch, moved):
    there = world()
    play = Play(there, monkeypatch)
    play.kill["db2"] = "open"
    play.run()
    assert (there.writers(), there["db2"].journal, there["db2"].source) == (["db2"], [], "db1")
    if not moved:
        there["db3"].source, there["db3"].io = "db1", True
    again = Play(there, monkeypatch, mode="finish", held=False)
    assert again.run() == {"db2": "done", "db3": "done"}
    assert (there["db2"].journal, there["db2"].source) == (["done"], None)
    assert (there["db3"].source, there["db3"].io, there["db3"].sql) == ("db2", True, True)


def test_a_rerun_opens_again_what_was_restarted_and_needs_nobody_where_that_was_accepted(
    monkeypatch,
):
    there = DeadSource({"db2": 120}, {"db2": 100})
    assert Play(there, monkeypatch, wait_count=0).run() == {"db2": "done"}
    there["db2"].read_only = True
    assert Play(there, monkeypatch, wait_count=0, mode="finish").run() == {"db2": "done"}
    assert not there["db2"].read_only and there["db2"].sides["source"] is False


@pytest.mark.parametrize("point,opens", [("", True), ("applied_all", False), ("ready", False)])
def test_a_candidate_is_as_careful_as_it_was_before_it_opens_or_goes_back(
    monkeypatch, point, opens
):
    there = world()
    durability = {"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}
    play = Play(there, monkeypatch, durability=durability)
    if point:
        play.kill["db2"] = point
    play.run()
    said = there["db2"].statements
    for name in durability:
        assert f"SET GLOBAL {name} = 1" in said
        if opens:
            assert said.index(f"SET GLOBAL {name} = 1") < said.index("SET GLOBAL read_only = 0")
    assert (there.writers() == ["db2"]) is opens


def test_a_replica_waits_while_somebody_works_on_the_target_and_no_longer(monkeypatch):
    for works in (True, False):
        there = world()
        play = Play(there, monkeypatch)
        monkeypatch.setattr(io_thread_resume, "RESUME_AFTER", 0.3)
        if works:
            flag = locks.flag_name("feed", drain.FLAG)
            locks.take(there.connect("db2"), flag, 0)
        begin = time.monotonic()
        play.one("db3")
        waited = time.monotonic() - begin
        assert play.results["db3"]["outcome"] == "refused"
        assert waits_again(there["db3"])
        # The time that applying may take, or that a part may be away.
        assert (waited > 2) is works
        said = play.results["db3"]["reason"]
        assert ("the run's process on db2 has ended" in said) is not works


@pytest.mark.parametrize("begins,kind", [(option_files.HEADER, "drop-in"), ("[mysqld]\n", "block")])
def test_a_target_finds_its_own_option_file(tmp_path, begins, kind):
    # The first look at it has not read where that is.
    path = tmp_path / "ours.cnf"
    path.write_text(begins)
    variables = {"pid_file": str(tmp_path / "none.pid"), "datadir": str(tmp_path), "basedir": ""}
    this: Any = failover_target.FailoverTarget.__new__(failover_target.FailoverTarget)
    this.lines_at, this.module = None, Module("db2")
    this.monitor = types.SimpleNamespace(variables=lambda: variables)
    this.plan = types.SimpleNamespace(option_file=str(path))
    assert this.option_file() == (str(path), kind, "mysqld")
    path.unlink()
    # It is looked for once, before the opening.
    assert this.option_file() == (str(path), kind, "mysqld")
