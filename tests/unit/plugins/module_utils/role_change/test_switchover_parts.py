# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a switchover together, on servers that are none: whatever dies, there is never more
than one that takes writes, and in the end there is one.
"""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar, cast

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    log_in,
    look_plan,
    part_run,
    participant,
    promotion,
    read_only_dropin,
    replica_part,
    role_statements,
    source_part,
    source_rollback,
    target_part,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SwitchoverPlan
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.role_change.world import (
    Connection,
    World,
)


class Killed(BaseException):
    """SIGKILL: nothing of the part's own comes after it."""


class Module:
    params: ClassVar[dict[str, object]] = {"password": "secret"}


class Warden:
    """What the guard knows when the part is gone."""

    def __init__(self) -> None:
        self.stage = ""

    def report_stage(self, stage: str) -> None:
        self.stage = stage


# Seconds of the parts, shorter.
SHORT = {"MEET": 1.5, "BACK": 1, "CLIENTS": 0.2, "TOLD": 0.05, "ROUTERS": 0.1}


class Play:
    """One run of all parts at the same time."""

    def __init__(self, world: World, monkeypatch: Any, mode: str = "switch") -> None:
        self.world, self.mode = world, mode
        self.results: dict[str, Any] = {}
        self.kill: dict[str, str] = {}
        # A host that loses its power: nothing of it outlives that.
        self.cut: dict[str, str] = {}
        self.fenced: set[str] = set()
        self.act: dict[tuple[str, str], Any] = {}
        self.most_writers = 0
        self.more: dict[str, Any] = {}
        play = self

        def local(this: Any) -> Connection:
            return play.connection(this, this.plan.host)

        def note(this: Any, event: str, words: str = "") -> None:
            host = this.plan.host
            play.most_writers = max(play.most_writers, len(world.writers()))
            this.timeline.append({"event": event, "words": words, "at": 0.0})
            play.act.pop((host, event), lambda: None)()
            if play.cut.get(host) == event:
                world[host].crash()
                raise Killed
            if play.kill.get(host) == event:
                del play.kill[host]
                raise Killed

        def connect(this: Any, host: str) -> Any:
            this.place(host)
            return play.connection(this, host)

        monkeypatch.setattr(participant.Participant, "local", local)
        monkeypatch.setattr(participant.Participant, "connect", connect)
        monkeypatch.setattr(participant.Participant, "log_event", note)
        monkeypatch.setattr(read_only_dropin, "put", lambda path, *_words: self.fenced.add(path))
        monkeypatch.setattr(
            read_only_dropin, "take_away", lambda path, *_words: self.fenced.discard(path)
        )
        for place in (watchdog, source_part, source_rollback, target_part, promotion, replica_part):
            for name, value in (
                ("MEET", 1.5),
                ("BACK", 1),
                ("CLIENTS", 0.2),
                ("TOLD", 0.05),
                ("ROUTERS", 0.1),
            ):
                if hasattr(place, name):
                    monkeypatch.setattr(place, name, value)

    def connection(self, this: Any, host: str) -> Connection:
        made = Connection(self.world[host])
        if not hasattr(this, "made"):
            this.made = []
        this.made.append(made)
        return made

    def plan(self, host: str, **more: Any) -> SwitchoverPlan:
        hosts = list(self.world.servers)
        kind = {0: "source", 1: "target"}.get(hosts.index(host), "replica")
        made = {
            "mode": self.mode,
            "part": kind,
            "host": host,
            "token": "feed",
            "source": hosts[0],
            "target": hosts[1],
            "source_id": "one",
            "target_id": "two",
            "members": [{"host": one, "address": one, "port": 3306, "tls": False} for one in hosts],
            "user": "repl",
            "connect_retry": 1,
            "tls": {"ssl": False},
            "wait_count": 1,
            "timeout": 0.5,
            "drain": 0,
            "long_transactions": "refuse",
            "catch_up": 1,
            "schema": "important",
            "events": False,
            "event_states": None,
            "super_read_only": False,
            "verdict": "",
            "ends_lock": False,
            "option_file": {"path": host, "kind": "block", "group": "mysqld"},
            **self.more,
            **more,
        }
        return SwitchoverPlan.from_dict(made)

    def one(self, host: str) -> None:
        plan, warden = self.plan(host), Warden()
        this: Any = part_run.participant_of(Module(), plan, cast(Any, warden))
        try:
            self.results[host] = this.run()
        except ServerError as error:
            self.results[host] = {"outcome": "failed", "reason": str(error)}
        except Killed:
            for made in this.made:
                made.close()
            self.results[host] = {"outcome": "killed", "reason": ""}
            if warden.stage and host not in self.cut:
                self.results[host]["guard"] = part_run.participant_of(Module(), plan).recover(
                    warden.stage
                )

    def run(self) -> dict[str, Any]:
        threads = [threading.Thread(target=self.one, args=(host,)) for host in self.world.servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert self.most_writers <= 1
        assert len(self.world.writers()) <= 1
        return self.results

    def outcomes(self) -> dict[str, str]:
        return {host: result["outcome"] for host, result in self.results.items()}


HOSTS = [("db1", "db2"), ("db1", "db2", "db3")]


def test_routers_see_that_a_source_is_closed_before_it_stands_still(monkeypatch):
    # MySQL says nothing of its variables for up to a second while its source side is switched off.
    play, moments = Play(World("db1", "db2"), monkeypatch), list[float]()
    real = role_statements.retire_steps

    def retire(names: Any) -> Any:
        moments.append(time.monotonic())
        return real(names)

    monkeypatch.setattr(role_statements, "retire_steps", retire)
    play.act[("db1", "open_seen")] = lambda: moments.append(time.monotonic())
    play.run()
    seen, retired = moments
    assert retired - seen >= source_part.ROUTERS > 0


@pytest.mark.parametrize("hosts", HOSTS, ids=len)
def test_the_role_moves(monkeypatch, hosts):
    world = World(*hosts)
    play = Play(world, monkeypatch)
    play.run()
    assert set(play.outcomes().values()) == {"done"}, play.results
    assert world.writers() == ["db2"]
    assert [world[host].source for host in hosts if host != "db2"] == ["db2"] * (len(hosts) - 1)
    assert [one["id"] for one in play.results["db2"]["points"]] == ["S1", "S5", "S6", "S7"]
    assert [one["id"] for one in play.results["db1"]["points"]] == ["S2", "S3", "S4"]
    assert world["db2"].source is None
    assert world["db1"].journal == ["begun"] and world["db2"].journal == ["done"]


def test_a_source_that_would_start_writable_all_the_same_keeps_its_role(monkeypatch):
    world = World("db1", "db2")
    play, fenced = Play(world, monkeypatch), list[bool]()

    def overridden(*_words: object) -> str:
        fenced.append("db1" in play.fenced)
        return "it would start writable"

    monkeypatch.setattr(read_only_dropin, "overridden", overridden)
    play.run()
    assert fenced == [True] and play.fenced == set()
    assert play.outcomes()["db1"] == "undone" and world.writers() == ["db1"]
    assert "db1: it would start writable" in play.results["db1"]["reason"]
    assert world["db1"].journal == ["begun", "undone"]
    assert not any("read_only = 1" in one for one in world["db1"].statements)


SOURCE_EVENTS = ["met", "drained", "announced", "freeze", "frozen", "attach", "attached", "granted"]
TARGET_EVENTS = ["caught_up", "armed", "frozen_seen", "applied_all", "ready", "asks", "open"]


@pytest.mark.parametrize("hosts", HOSTS[1:], ids=len)
@pytest.mark.parametrize(
    "host,event",
    [("db1", event) for event in SOURCE_EVENTS] + [("db2", event) for event in TARGET_EVENTS],
)
def test_a_part_that_is_killed_leaves_one_that_takes_writes(monkeypatch, hosts, host, event):
    world = World(*hosts)
    play = Play(world, monkeypatch)
    play.kill = {host: event}
    play.run()
    writers = world.writers()
    if event == "granted":
        # Decided by the first; never by both.
        assert writers in (["db1"], ["db2"]), play.results
    else:
        assert writers == (["db2"] if event == "open" else ["db1"]), play.results
    for name in hosts:
        if name != writers[0]:
            assert (world[name].source, world[name].runs) == (writers[0], True), play.results
    assert world[writers[0]].clients() >= 1, [world[one].statements for one in hosts]


@pytest.mark.parametrize("hosts", HOSTS, ids=len)
@pytest.mark.parametrize("event", ["frozen_seen", "applied_all", "ready", "asks"])
def test_a_target_whose_server_dies_does_not_get_the_role(monkeypatch, hosts, event):
    world = World(*hosts)
    play = Play(world, monkeypatch)
    play.act[("db2", event)] = world["db2"].crash
    play.run()
    assert world.writers() == ["db1"], play.results
    assert not any(result["outcome"] == "done" for result in play.results.values())


@pytest.mark.parametrize("event", ["announced", "freeze", "frozen", "attached"])
def test_a_source_that_restarts_frozen_takes_its_role_back(monkeypatch, event):
    world = World("db1", "db2")
    play = Play(world, monkeypatch)

    def restart() -> None:
        world["db1"].crash()
        world["db1"].restart()
        world["db1"].sides["source"] = True

    play.act[("db1", event)] = restart
    play.run()
    assert world.writers() == ["db1"], play.results
    assert (world["db2"].source, world["db2"].runs) == ("db1", True)


CUTS = [("db1", event) for event in ("announced", "frozen", "attached", "granted")]
CUTS += [("db2", event) for event in ("applied_all", "ready", "asks", "open", "first_commit")]
CUTS += [("db3", event) for event in ("attach", "attached")]


def power_is_back(play: Play, host: str) -> None:
    """A server as its option file and what it wrote down let it start."""
    server = play.world[host]
    server.sides = {"source": host == "db1", "replica": host != "db1"}
    server.runs = server.source is not None
    server.restart(read_only=host != "db1" or host in play.fenced)


def next_mode(world: World) -> str:
    """What the next run has to do, as plans/switchover.py reads the journal."""
    if "done" in world["db2"].journal:
        return "finish"
    if world["db1"].journal[-1:] != ["begun"]:
        return ""
    more = set(world["db2"].executed.items()) - set(world["db1"].executed.items())
    return "finish" if more or not world["db2"].read_only else "undo"


@pytest.mark.parametrize("host,event", CUTS)
def test_after_a_power_cut_the_next_run_leaves_one_that_all_others_follow(monkeypatch, host, event):
    world = World("db1", "db2", "db3")
    play = Play(world, monkeypatch)
    play.cut = {host: event}
    play.run()
    power_is_back(play, host)
    assert len(world.writers()) <= 1, play.results
    mode = next_mode(world)
    if mode:
        again = Play(world, monkeypatch, mode)
        again.run()
        assert set(again.outcomes().values()) <= {"done", "undone"}, again.results
    (source,) = world.writers()
    for name, server in world.servers.items():
        if name != source:
            assert (server.source, server.runs) == (source, True), (mode, play.results)
    assert world[source].clients() == 2, (mode, play.results)


def test_a_target_that_dies_after_the_word_leaves_the_source_frozen(monkeypatch):
    world = World("db1", "db2")
    play = Play(world, monkeypatch)
    play.act[("db1", "granted")] = world["db2"].crash
    play.run()
    assert world.writers() == []
    assert play.outcomes()["db1"] == "unknown"
    # It comes back, read-only: the next run knows that it was not open.
    world["db2"].restart()
    again = Play(world, monkeypatch, "undo")
    again.run()
    assert world.writers() == ["db1"], again.results
    assert set(again.outcomes().values()) == {"undone"}, again.results


def test_a_source_that_let_nobody_open_is_open_again_without_the_target(monkeypatch):
    """No session holds the target's flags; it follows no source, so that nothing was granted."""
    world = World("db1", "db2", "db3")
    world["db1"].read_only = True
    world["db2"].crash()
    play = Play(world, monkeypatch, "undo")
    play.more = {"without_target": True}
    for host in ("db1", "db3"):
        play.one(host)
    assert world.writers() == ["db1"], play.results
    assert world["db1"].journal == ["undone"]
    # One that follows the target may have let it open.
    world["db1"].read_only, world["db1"].source = True, "db2"
    play.one("db1")
    assert world.writers() == [] and play.results["db1"]["outcome"] == "unknown"


def test_a_target_that_is_out_of_the_inventory_keeps_no_source_closed(monkeypatch):
    world = World("db1", "db2", "db3")
    world["db1"].read_only = True
    world["db2"].crash()
    play = Play(world, monkeypatch, "undo")
    members = [one for one in play.plan("db1").to_dict()["members"] if one["host"] != "db2"]
    play.more = {"without_target": True, "members": members}
    for host in ("db1", "db3"):
        play.one(host)
    assert world.writers() == ["db1"], play.results
    assert world["db1"].journal == ["undone"]
    assert {play.results[host]["outcome"] for host in ("db1", "db3")} == {"undone"}


def test_a_source_that_is_open_again_says_where_the_journal_does_not_have_it(monkeypatch):
    def refuse() -> None:
        raise ServerError(Exception(1290, "read-only"))

    world = World("db1", "db2")
    play = Play(world, monkeypatch)
    play.act[("db1", "reopened")] = lambda: world["db1"].failing.update({"^INSERT": refuse})
    play.act[("db2", "ready")] = world["db2"].crash
    play.run()
    assert play.outcomes()["db1"] == "undone" and world.writers() == ["db1"]
    assert "the journal still says that the switchover began" in play.results["db1"]["reason"]


@pytest.mark.parametrize("late", [("db1", "back"), ("db2", None)])
def test_a_source_that_came_up_open_is_undone_whoever_is_first(monkeypatch, late):
    """Its host lost its power before anything kept it read-only: the target's part sees it open at
    once, and must not go before the source has asked.
    """
    world = World("db1", "db2", "db3")
    for host in ("db2", "db3"):
        world[host].follow("db1")
    world["db1"].journal.append("begun")
    play = Play(world, monkeypatch, "undo")
    if late[1]:
        play.act[late] = lambda: time.sleep(0.4)
    else:
        began = target_part.TargetPart.undo
        monkeypatch.setattr(
            target_part.TargetPart, "undo", lambda this: (time.sleep(0.4), began(this))[1]
        )
    play.run()
    assert world.writers() == ["db1"], play.results
    assert set(play.outcomes().values()) == {"undone"}, play.results
    assert world["db1"].journal[-1] == "undone"


def test_a_source_that_does_not_hear_of_the_target_says_what_it_is_left_as(monkeypatch):
    """Without the target's part nothing is known; who takes writes goes on to."""
    world = World("db1", "db2")
    world["db2"].follow("db1")
    play = Play(world, monkeypatch, "undo")
    play.one("db1")
    assert "db1 takes writes, as before" in play.results["db1"]["reason"]
    world["db1"].read_only = True
    play.one("db1")
    assert "db1 stays read-only" in play.results["db1"]["reason"]


def test_a_target_that_was_open_when_it_died_is_opened_again(monkeypatch):
    world = World("db1", "db2", "db3")
    play = Play(world, monkeypatch)
    play.kill = {"db2": "open"}
    play.run()
    world["db2"].crash()
    world["db2"].restart()
    again = Play(world, monkeypatch, "finish")
    again.run()
    assert world.writers() == ["db2"], again.results
    assert set(again.outcomes().values()) == {"done"}, again.results
    assert world["db2"].journal == ["done"]


def test_a_target_whose_server_dies_when_it_is_open_says_so_and_claims_nothing(monkeypatch):
    world = World("db1", "db2", "db3")
    play = Play(world, monkeypatch)
    play.act[("db2", "open")] = world["db2"].crash
    play.run()
    assert play.outcomes()["db2"] == "unknown"
    assert "db2 was opened, and then: " in play.results["db2"]["reason"]


def test_locks_on_another_server_do_not_outlive_a_host_that_lost_its_power(monkeypatch):
    """Its connections are not closed on it; the other server does that, when no part can
    need them.
    """
    world = World("db1", "db2")
    play = Play(world, monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr(participant.Participant, "local", lambda _self: Connection(world["db1"]))
    monkeypatch.setattr(participant.login, "connect_to", lambda *_where: Connection(world["db2"]))
    monkeypatch.setattr(log_in, "Server", lambda connection: connection)
    plan = play.plan("db1", timeout=10, drain=30, catch_up=10)
    part_run.participant_of(Module(), plan).connect("db2")
    assert world["db2"].statements == ["SET SESSION wait_timeout = %s"]
    longest = watchdog.MEET + plan.catch_up + plan.drain + 2 * plan.timeout
    assert part_run.participant_of(Module(), plan).lifetime() > longest


@pytest.mark.parametrize("mode,source", [("undo", "db1"), ("finish", "db2")])
def test_a_replica_that_follows_the_right_one_connects_anew(monkeypatch, mode, source):
    """Its connection may be to a host that has lost its power meanwhile."""
    world = World("db1", "db2", "db3")
    if mode == "finish":
        world["db1"].read_only, world["db2"].read_only = True, False
        world["db1"].follow("db2")
        world["db2"].source = None
    for host in ("db1", "db2", "db3"):
        if host != source:
            world[host].follow(source)
    play = Play(world, monkeypatch, mode)
    play.run()
    assert world.writers() == [source], play.results
    for host in {"db1", "db2", "db3"} - {source}:
        words = world[host].statements
        assert words.index("STOP REPLICA") < words.index("START REPLICA"), words


def test_a_second_run_is_refused_and_leaves_the_first_alone(monkeypatch):
    world = World("db1", "db2")
    other = Connection(world["db1"])
    other.rows("SELECT GET_LOCK(%s, %s) AS got", ("dbre.semisync.switchover", 0))
    play = Play(world, monkeypatch)
    play.run()
    assert world.writers() == ["db1"]
    assert "another role change is in progress" in play.results["db1"]["reason"]
    assert play.outcomes() == {"db1": "refused", "db2": "refused"}


def test_parts_do_not_wait_long_for_a_target_that_never_begins(monkeypatch):
    world = World(*HOSTS[1])
    play = Play(world, monkeypatch)
    run_one = play.one
    monkeypatch.setattr(play, "one", lambda host: None if host == "db2" else run_one(host))
    begin = time.monotonic()
    play.run()
    assert time.monotonic() - begin < 4
    assert play.outcomes() == {"db1": "refused", "db3": "refused"}
    assert "the process on db2 did not begin within 2.5 s" in play.results["db3"]["reason"]
    assert world.writers() == ["db1"]


@pytest.mark.parametrize(("mode", "outcome"), [("switch", "refused"), ("finish", "unknown")])
def test_a_part_whose_server_cannot_be_asked_says_why_and_did_nothing(monkeypatch, mode, outcome):
    plan = Play(World("db1", "db2"), monkeypatch, mode).plan("db2")
    monkeypatch.setattr(disk_space, "full_folders", lambda _folders: {"/data": 0})
    error = ServerError(Exception(1114, "The table '/tmp/#sql' is full"))
    result = part_run.nothing_begun(plan, error)
    assert (result["outcome"], result["changed"]) == (outcome, False)
    assert str(result["reason"]).startswith(
        "the file system of /data is full (0 MB left); its server cannot be asked: "
    )


def test_a_target_without_space_does_not_get_the_role_and_names_its_disk(monkeypatch):
    world = World("db1", "db2")
    play = Play(world, monkeypatch)

    # There is space again before the reason is told.
    seen = iter([{"/data": 0}])

    def fill() -> None:
        monkeypatch.setattr(disk_space, "full_folders", lambda _folders: next(seen, {}))

    play.act[("db2", "applied_all")] = fill
    play.run()
    assert world.writers() == ["db1"]
    assert play.results["db2"]["reason"] == (
        "the file system of /data is full (0 MB left); without space db2 could take no writes. Free"
        " space there or choose another host, and run this again"
    )


def test_a_part_that_fails_on_a_full_disk_names_it_first(monkeypatch):
    world = World("db1", "db2")
    play = Play(world, monkeypatch)

    def fill() -> None:
        world["db1"].commit()
        monkeypatch.setattr(disk_space, "full_folders", lambda _folders: {"/data": 0})

    play.act[("db1", "attached")] = fill
    play.run()
    assert play.results["db1"]["reason"].startswith(
        "the file system of /data is full (0 MB left); db1 was written to"
    )


def test_a_source_that_is_written_to_after_the_freeze_keeps_its_role(monkeypatch):
    world = World("db1", "db2")
    play = Play(world, monkeypatch)
    play.act[("db1", "attached")] = world["db1"].commit
    play.run()
    assert world.writers() == ["db1"], play.results
    assert "was written to while writers were kept out" in play.results["db1"]["reason"]


def test_transactions_of_the_targets_own_are_found_before_anybody_is_kept_out(monkeypatch):
    world = World("db1", "db2")
    world["db2"].commit()
    play = Play(world, monkeypatch)
    play.run()
    assert play.outcomes() == {"db1": "refused", "db2": "refused"}
    assert "has transactions that db1 lacks" in play.results["db2"]["reason"]
    assert not any("read_only" in words for words in world["db1"].statements)


@pytest.mark.parametrize(
    "of_operation,part",
    [(part_run.switchover_class, "former"), (part_run.failover_class, "source")],
)
def test_a_part_that_a_role_change_does_not_have_is_refused_by_name(of_operation, part):
    with pytest.raises(look_plan.PlanError, match=f"no part '{part}'"):
        of_operation(part)
