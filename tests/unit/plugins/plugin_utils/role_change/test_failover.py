# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of failover.yml from Ansible's variables: what each host is given, and what is kept."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import json
import time
import types

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Peer
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    refusal,
    results,
    verdict_store,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    context,
    failover_plan,
    first_look,
    registered,
    step_action,
    survivors,
    task_options,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import (
    peers_of,
    reached,
    untried,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

STEPS = {
    "reach": registered.FAILOVER_REACH.name,
    "plan": registered.FAILOVER_PLAN.name,
    "freeze": registered.FAILOVER_FREEZE.name,
    "salvage": registered.FAILOVER_SALVAGE.name,
    "judge": registered.FAILOVER_JUDGE.name,
    "part": registered.FAILOVER_PART.name,
}
REACHED, PLANNED, FROZEN = (STEPS[step] for step in ("reach", "plan", "freeze"))
JUDGED, DONE = STEPS["judge"], STEPS["part"]
RUN = "2026-01-31T120000.000000Z"
UNREAD = {"failed": True, "reason": "stopped", "msg": "no server listens"}


def looked(evidence, member):
    """What the first look at a host says: of a replica, each place at which it tried a login."""
    found = dict(evidence.looks.get(member.host, {}))
    reach, answered = found.pop("reach", {}), found.pop("answered", [])
    there = found.pop("there", answered)
    if member.info:
        found["tried"] = [
            {
                **dataclasses.asdict(peer),
                "words": reach[peer.host],
                "answered": peer.host in answered,
                "there": peer.host in there,
            }
            for peer in peers_of(evidence.members, member)
            if peer.host in reach
        ]
    return found


class Run:
    """A cluster of three whose source is dead, in a play."""

    def __init__(self, monkeypatch, folder):
        monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(folder / "tmp"))
        (folder / "tmp").mkdir()
        self.said = []
        monkeypatch.setattr(context.display, "display", self.said.append)
        monkeypatch.setattr(context.secrets, "token_hex", lambda _bytes: "feed")
        monkeypatch.setattr(time, "time", lambda: remnants.NOW)
        now = datetime.datetime.fromtimestamp(remnants.NOW, datetime.UTC)
        monkeypatch.setattr(results, "now", lambda: now)
        self.folder = folder / "results"
        evidence = remnants.evidence("mysql")
        self.values = {
            member.host: {
                "info": dict(member.info or UNREAD, look=looked(evidence, member)),
                "semisync_replication_user": "repl",
            }
            for member in evidence.members
        }
        results.write_json(str(self.folder / "default" / "state.json"), evidence.last)
        self.given, self.lost = {}, []

    def step(
        self, step, host, check_mode=False, on_host=None, settled=False, fenced=False, **settings
    ):
        arguments = {
            "step": step,
            "info_from": "info",
            "results_dir": str(self.folder),
            "run": RUN,
            "settled": settled,
            "fenced": fenced and step == "plan",
        }
        task_vars = {
            **self.values[host],
            "hostvars": self.values,
            "groups": {"semisync_source": ["db1"], "semisync_replica": ["db2", "db3"]},
            "inventory_hostname": host,
            "ansible_play_hosts": [name for name in self.values if name not in self.lost],
            "ansible_play_hosts_all": list(self.values),
        }
        own = samples.settings(
            **{"failover_to": "", "failover_accept": [], "replication_user": "repl", **settings}
        )
        run = context.RunContext(
            types.SimpleNamespace(args=arguments, check_mode=check_mode, _uuid=step),
            context.FAILOVER,
            task_vars,
            own,
            on_host
            or (lambda plan, **_more: self.given.update({(step, host): plan}) or {"ran": step}),
        )
        try:
            return step_action.do(run)
        except context.NotMeantError as error:
            return {"skipped": True, "skip_reason": str(error)}

    def answer(self, asking, host, words):
        """Let a server answer a replica's login so."""
        for tried in self.values[asking]["info"]["look"]["tried"]:
            if tried["host"] == host:
                tried.update(words=words, answered=True)

    def freeze(self):
        for host in ("db2", "db3"):
            info = self.values[host]["info"]
            self.values[host][FROZEN] = {
                "stopped": True,
                "changed": True,
                "at": remnants.NOW,
                "channel": dict(info["channel"], io_running="No"),
                "gtid": info["gtid"],
            }

    def plan(self, **more):
        """Let every host plan; what one of them has of it."""
        made = {host: self.step("plan", host, **more) for host in self.values}
        for host, result in made.items():
            self.values[host][PLANNED] = result
        return made["db2"]

    def judge(self, **settings):
        for host in self.values:
            self.values[host][JUDGED] = self.step("judge", host, **settings)
        return self.values["db1"][JUDGED]

    def certificate(self):
        return json.loads((self.folder / "default/latest/certificate.json").read_text())


@pytest.fixture(name="run")
def fixture_run(monkeypatch, tmp_path):
    return Run(monkeypatch, tmp_path)


def test_only_replicas_that_were_read_are_touched(run):
    assert run.step("freeze", "db2") == {"ran": "freeze"}
    assert run.step("freeze", "db1")["skipped"]


class Hosts:
    """What the modules say on a host, by the module; the step's own is the look's."""

    def __init__(self, **answers):
        self.answers, self.asked, self.plans = answers, [], {}

    def __call__(self, plan, module="", step="look"):
        name = module.rpartition("_")[2] or step
        self.asked.append(name)
        self.plans[name] = plan
        said = self.answers[name]
        result = said.pop(0) if isinstance(said, list) else said
        return {**result, "asked_at": len(self.asked), "answered_at": len(self.asked) + 0.5}


ENDED = {**UNREAD, "look": {"ended": None}}
RUNS = {"changed": False}
ALIVE: dict[str, object] = {"channel": None, "variables": {}}


def read_of(**changes):
    """What a look says of a replica that has applied everything."""
    info = samples.survivor("mysql")
    info["gtid"] = {"gtid_executed": f"{remnants.SOURCE}:1-100"}
    info["channel"].update(retrieved=f"{remnants.SOURCE}:1-100", sql_running="Yes", gtid=True)
    return {**info, "look": {}, **changes}


@pytest.mark.parametrize(
    "host,answers,asked",
    [
        # On the night: one module on each host.
        ("db1", {"words": ENDED}, ["words"]),
        ("db2", {"look": read_of()}, ["look"]),
        ("db2", {"look": {"failed": True, "reason": "silent"}}, ["look"]),
        # Guesses that were wrong.
        ("db2", {"look": UNREAD, "words": ENDED}, ["look", "words"]),
        ("db2", {"look": ALIVE, "info": ALIVE}, ["look", "info"]),
        ("db1", {"words": RUNS, "info": ALIVE}, ["words", "info"]),
        ("db1", {"words": RUNS, "info": UNREAD}, ["words", "info"]),
    ],
)
def test_each_host_is_read_by_the_module_for_what_its_server_is(run, host, answers, asked):
    hosts = Hosts(**answers)
    result = run.step("look", host, on_host=hosts, service="")
    assert hosts.asked == asked
    # Of the module whose facts these are.
    assert (result["look"]["asked_at"], result["look"]["read_at"]) == (len(asked), len(asked) + 0.5)
    for name, value in answers[asked[-1]].items():
        assert result[name] == value or name == "look"


def test_a_source_that_lives_and_has_a_channel_is_read_whole(run):
    whole = {**samples.captured("mysql", "replica"), "calm_since": 7.0, "clock": 50.0}
    hosts = Hosts(words=RUNS, info=whole, look=read_of(clock=60.0, look={"running": False}))
    result = run.step("look", "db1", on_host=hosts, service="")
    assert hosts.asked == ["words", "info", "look"]
    # Its GTIDs are those that were read before it was seen calm.
    assert (result["calm_since"], result["clock"], result["asked_at"]) == (7.0, 50.0, 2)
    assert result["look"] == {"running": False, "asked_at": 2, "read_at": 3.5}
    hosts = Hosts(words=RUNS, info=whole, look={"failed": True, "reason": "silent"})
    assert run.step("look", "db1", on_host=hosts, service="")["reason"] == "silent"


def test_without_a_look_the_source_is_where_the_inventory_has_it(run):
    (run.folder / "default" / "state.json").unlink()
    hosts = Hosts(words=ENDED, look=read_of())
    run.step("look", "db1", on_host=hosts, service="")
    run.step("look", "db2", on_host=hosts, service="")
    assert hosts.asked == ["words", "look"]


def test_the_first_look_asks_a_dead_source_s_host_how_its_server_ended(run):
    kept = '{"host": "db1", "unit": "mysql", "error_log": {"at": 1}}'
    (run.folder / "default" / "state.json").write_text(kept)
    run.values["db1"]["semisync_login_port"] = 3307
    hosts = Hosts(look=read_of(), words=ENDED)
    run.step("look", "db1", on_host=hosts, service="")
    assert hosts.plans["words"] == {"unit": "mysql", "error_log": {"at": 1}, "files": None}
    run.step("look", "db1", on_host=hosts, service="mysql@1")
    assert hosts.plans["words"]["unit"] == "mysql@1"
    run.step("look", "db2", on_host=hosts)
    dead, places = hosts.plans["look"].pop("dead"), hosts.plans["look"].pop("places")
    assert [(one["address"], one["port"]) for one in places] == [("db1", 3307), ("db3", None)]
    # The one of the last look is tried while the replica is read.
    assert [(one["address"], one["port"]) for one in dead] == [("db1", 3307)]
    assert hosts.plans["look"] == {"user": "repl"}


def test_a_replica_that_is_at_work_is_read_again_until_its_speed_is_known(run):
    def at(applied, clock):
        info = read_of(clock=clock)
        info["gtid"] = {"gtid_executed": f"{remnants.SOURCE}:1-{applied}"}
        return info

    hosts = Hosts(look=at(10, 50.0), watch=[at(20, 50.6), at(40, 51.2)])
    found = run.step("look", "db2", on_host=hosts)["backlog"]
    assert hosts.asked == ["look", "watch", "watch"]
    assert found == {
        "unit": "transactions",
        "left": 60,
        "applied": 30,
        "seconds": 1.2,
        "busy": True,
    }
    # One that has nothing to apply is not kept waiting, and one that ends meanwhile has no speed.
    hosts = Hosts(look=read_of())
    assert run.step("look", "db2", on_host=hosts)["backlog"]["left"] == 0
    hosts = Hosts(look=at(10, 50.0), watch=UNREAD)
    assert run.step("look", "db2", on_host=hosts)["backlog"] is None


@pytest.mark.parametrize("name", sorted(task_options.READERS))
def test_a_module_gets_the_options_that_it_has(name):
    module = importlib.import_module(
        f"ansible_collections.dbre.semisync.plugins.modules.{name[14:]}"
    )
    has = set(yaml.safe_load(module.DOCUMENTATION)["options"])
    given = {**dict.fromkeys(task_options.STEP_OPTIONS), "info_from": "x", "login_user": "root"}
    gets = set(step_action.arguments_of(name, given))
    assert gets <= has | {"login_user"} and "login_user" in gets
    # What only another module has is not given, and what this one needs is.
    assert has & set(task_options.STEP_OPTIONS) <= gets


def test_the_source_s_log_is_where_the_last_look_saw_it():
    last = {"files": {"basename": "/var/lib/mysql/binlog"}}
    assert first_look.log_files(samples.settings(failover_salvage=False), last) is None
    own = samples.settings(failover_salvage=True)
    files = first_look.log_files(own, last)
    assert files is not None and files.basename == "/var/lib/mysql/binlog"
    assert first_look.log_files(own, None) is None


def test_a_step_decides_on_the_candidate_once(run, monkeypatch):
    decided = []
    decide = cases.candidate_of
    monkeypatch.setattr(cases, "candidate_of", lambda known: decided.append(1) or decide(known))
    hook = {"hook_fence": "/hooks/power.yml"}
    counts = {}

    def step(name, **more):
        decided.clear()
        for host in run.values:
            run.values[host][STEPS.get(name, "")] = run.step(name, host, **hook, **more)
        counts[name] = len(decided) / len(run.values)

    for name in ("reach", "plan"):
        step(name)
    step("plan", fenced=True)
    run.freeze()
    for name in ("judge", "part", "thaw"):
        step(name)
    assert counts == {"reach": 0, "plan": 1, "judge": 1, "part": 0, "thaw": 0}


def test_who_listens_elsewhere_than_was_thought_is_tried_there(run):
    assert run.step("reach", "db2")["skipped"]
    run.values["db3"]["info"]["variables"]["port"] = "3307"
    assert run.step("reach", "db1")["skipped"]
    assert run.step("reach", "db2") == {"ran": "reach"}
    (place,) = run.given["reach", "db2"]["places"]
    assert (place["address"], place["port"]) == ("db3", 3307)
    # Nothing is known of a login that was not tried.
    run.freeze()
    assert "alone" in run.judge(failover_to="db3")["certificate"]["reason"]
    run.values["db2"][REACHED] = {
        "tried": [{**place, "words": "", "answered": True, "there": True}]
    }
    assert run.judge(failover_to="db3")["certificate"]["to"] == "db3"


def test_a_host_that_ssh_does_not_reach_and_that_responds_to_a_replica_is_read_again(run):
    run.values["db1"]["info"] = {"unreachable": True, "msg": "timed out", "look": {}}
    # Nothing says that it has power.
    assert "unsure" not in run.plan()
    run.said.clear()
    for one_try in run.values["db2"]["info"]["look"]["tried"]:
        one_try["there"] = True
    # Nothing is judged, said or kept before it had more time.
    assert run.plan() == {"changed": False, "unsure": True}
    assert run.said == []
    for host in run.values:
        run.values[host][PLANNED] = {"unsure": True}
    assert run.plan()["certificate"]["verdict"] == "proven"


def test_a_source_that_answers_while_its_replicas_stop_lives(run):
    run.freeze()
    run.values["db3"][FROZEN]["source_answered"] = True
    judged = run.judge()
    assert not judged["go"] and "it answers db3" in judged["certificate"]["reason"]


def test_a_server_that_is_not_the_source_may_answer_while_its_replica_stops(run):
    run.freeze()
    run.values["db3"][FROZEN]["source_answered"] = True
    of_db2 = {"source_host": "db2", "source_uuid": "", "source_server_id": 0}
    run.values["db3"][FROZEN]["channel"].update(of_db2)
    run.values["db3"]["info"]["channel"].update(of_db2)
    assert "source_answers" not in str(run.judge()["certificate"])


def test_the_plan_says_the_verdict_and_every_statement_and_keeps_nothing_in_check_mode(run):
    result = run.step("plan", "db1", check_mode=True)
    kept = result["certificate"]
    assert (kept["verdict"], kept["to"], result["changed"]) == ("proven", "db2", False)
    said = "\n".join(run.said)
    assert "VERDICT proven (so far" in said and "logical fence" in said
    for statement in ("STOP REPLICA IO_THREAD", "SET GLOBAL read_only = 0"):
        assert f"db2: {statement};" in said
    assert not (run.folder / "default" / "latest").exists()
    run.said.clear()
    run.step("plan", "db3")
    assert run.said == []


def test_a_refusal_is_kept_and_can_be_accepted_by_name(run):
    (run.folder / "default" / "state.json").unlink()
    with pytest.raises(refusal.RefusedError, match="semisync_failover_accept=unwatched"):
        run.step("plan", "db1")
    assert (run.certificate()["outcome"], run.certificate()["verdict"]) == (
        "refused",
        "not proven",
    )
    result = run.step("plan", "db1", failover_accept=["unwatched"])
    assert result["certificate"]["accepted"] == ["unwatched"]


def revive(run):
    """Let the source answer us."""
    info = samples.captured("mysql", "source")
    info["variables"]["server_uuid"] = remnants.SOURCE
    info["gtid"]["gtid_executed"] = f"{remnants.SOURCE}:1-100"
    run.values["db1"]["info"] = info
    for host in ("db2", "db3"):
        run.values[host]["info"].update(connection_id=30, asked_at=remnants.NOW)


HOOKED = {"hook_fence": "/hooks/power.yml", "failover_accept": ["source_answers"]}


def test_a_source_that_lives_is_ended_by_consent_and_a_hook_and_then_seen_dead(run):
    revive(run)
    state = run.folder / "default" / "state.json"
    before = state.read_text()
    for settings in ({}, {"failover_accept": ["source_answers"]}, {"hook_fence": "/a"}):
        with pytest.raises(refusal.RefusedError, match=r"Nothing was changed.* source is alive"):
            run.step("plan", "db1", **settings)
    assert run.certificate()["fenced"] is None
    run.plan(check_mode=True, **HOOKED)
    assert state.read_text() == before
    run.said.clear()
    assert run.plan(**HOOKED)["lives"]
    assert "fence: the tasks of semisync_hook_fence run first, and db1 must be" in run.said[-1]
    # What was read of it is the last look at it.
    assert json.loads(state.read_text())["at"] > json.loads(before)["at"]
    with pytest.raises(refusal.RefusedError, match="have run, and nothing else was changed"):
        run.step("plan", "db1", fenced=True, **HOOKED)
    assert run.certificate()["fenced"]["dead_at"] is None
    assert "db1 was not seen dead" in run.said[-1]
    run.values["db1"]["info"] = UNREAD
    assert not run.plan(fenced=True, **HOOKED)["lives"]
    run.freeze()
    kept = run.judge(fenced=True, **HOOKED)["certificate"]
    assert (kept["accepted"], kept["cases"]) == (["source_answers"], [])
    assert kept["fenced"]["case"] == "source_answers" and "it was read" in kept["fenced"]["words"]
    assert kept["fenced"]["dead_at"] == survivors.stamp(remnants.NOW)


@pytest.mark.parametrize("lives,ended", [(False, 0.001), (True, -1.999)])
def test_a_hook_had_ended_before_any_host_was_asked_or_judged_after_it(
    run, monkeypatch, lives, ended
):
    if lives:
        revive(run)
    run.plan(**HOOKED)
    run.values["db1"]["info"] = UNREAD
    for host, asked in (("db2", 4), ("db3", 2)):
        run.values[host]["info"]["look"]["asked_at"] = remnants.NOW - asked
    for number, host in enumerate(run.values):
        # Ansible does not begin a task on every host at once.
        monkeypatch.setattr(time, "time", lambda number=number: remnants.NOW + number)
        run.values[host][PLANNED] = run.step("plan", host, fenced=True, **HOOKED)
    run.freeze()
    run.judge(fenced=True, **HOOKED)
    for host in run.values:
        kept = run.values[host][JUDGED]["certificate"]
        assert kept["fenced"]["ended_at"] == survivors.stamp_of(remnants.NOW + ended)
        assert (kept["source_ended_at"], kept["ended_by"]) == (kept["fenced"]["ended_at"], "fence")


def test_the_clocks_of_a_host_that_is_fenced_are_kept_from_before(run):
    run.plan(**HOOKED)
    clocks = {"boot": "one", "monotonic": 700.0, "wall": remnants.NOW, "asked_at": remnants.NOW}
    run.values["db1"]["info"] = {**UNREAD, "look": {**clocks, "ended": None}}
    assert run.plan(**HOOKED)["host_clock"] == clocks
    run.values["db1"]["info"] = {"unreachable": True, "msg": "no route to host"}
    # Each plan after it has them, too.
    assert run.plan(fenced=True, **HOOKED)["host_clock"] == clocks
    assert run.plan(fenced=True, **HOOKED)["host_clock"] == clocks


def test_a_dead_source_s_hook_runs_and_nobody_looks_once_more(run):
    assert not run.plan(hook_fence="/hooks/power.yml")["lives"]
    assert "fence: the tasks of semisync_hook_fence run first. logical" in run.said[-1]
    run.said.clear()
    run.plan(fenced=True, hook_fence="/hooks/power.yml")
    # It has all been said.
    assert run.said == []
    run.freeze()
    kept = run.judge(fenced=True, hook_fence="/hooks/power.yml")["certificate"]
    assert kept["fenced"] == {
        "case": None,
        "words": "",
        "dead_at": None,
        "failed": [],
        "ended_at": survivors.stamp_of(remnants.NOW + 0.001),
    }


def test_the_word_of_a_fence_that_ended_well_is_enough_for_a_source_of_which_nothing_is_known(run):
    hook = {"hook_fence": "/hooks/power.yml"}
    run.values["db1"]["info"] = {"failed": True, "reason": "silent", "msg": "no answer"}
    with pytest.raises(refusal.RefusedError, match="source_unclear"):
        run.step("plan", "db2", **hook)
    hook["failover_accept"] = ["source_unclear"]
    assert run.plan(**hook)["lives"]
    assert not run.plan(fenced=True, **hook)["lives"]
    assert "db1 was not seen dead" in run.said[-1]
    run.freeze()
    judged = run.judge(fenced=True, **hook)
    kept = judged["certificate"]
    assert judged["go"] and kept["accepted"] == ["source_unclear"]
    assert kept["fenced"]["dead_at"] is None
    # It had ended well, and the source was not seen dead after it.
    assert (kept["source_ended_at"], kept["ended_by"]) == (None, None)
    assert "no answer" in kept["fenced"]["words"]
    assert "was not seen: the tasks" in kept["fenced"]["words"]
    hook["failover_accept"] = []
    assert not run.judge(fenced=True, **hook)["go"]


def test_a_hook_that_failed_has_fenced_nobody_and_that_is_accepted_by_name(run):
    hook = {"hook_fence": "/hooks/power.yml"}
    run.plan(**hook)
    # Ansible leaves a host out that a task has failed on.
    run.lost = ["db1"]
    with pytest.raises(
        refusal.RefusedError, match=r"unfenced: db1: a task .* the source is not known to be"
    ):
        run.step("plan", "db2", fenced=True, **hook)
    hook["failover_accept"] = ["unfenced"]
    run.plan(fenced=True, **hook)
    run.freeze()
    kept = run.judge(fenced=True, **hook)["certificate"]
    assert (kept["accepted"], kept["fenced"]["failed"]) == (["unfenced"], ["db1"])
    assert (kept["source_ended_at"], kept["ended_by"]) == (None, None)


def test_a_replica_that_one_of_the_user_s_tasks_failed_on_was_not_asked_to_stop(run):
    run.freeze()
    del run.values["db3"][FROZEN]
    words = run.judge()["certificate"]["reason"]
    assert "not_stopped:db3" in words and "one of your own tasks failed there" in words


def test_behind_the_stop_each_host_gets_its_part(run):
    run.freeze()
    # What came in between the reading and the stop counts.
    run.values["db3"][FROZEN]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-101"
    judged = run.judge()
    assert judged["go"] and judged["certificate"]["to"] == "db3"
    assert {host: plan["part"] for host, plan in judged["hosts"].items()} == {
        "db3": "target",
        "db2": "replica",
    }
    target = judged["hosts"]["db3"]
    assert target["received"] == f"{remnants.SOURCE}:1-101"
    assert (target["others"], target["wait_count"], target["held"]) == (["db2"], 1, True)
    assert (target["source"], target["source_id"]) == ("db1", remnants.SOURCE)
    assert run.step("part", "db1")["skipped"]
    assert run.step("part", "db2") == {"ran": "part"}
    assert run.step("thaw", "db2")["skipped"]


def test_what_was_stopped_is_started_where_the_judge_refuses(run):
    run.freeze()
    run.values["db3"][FROZEN].update(stopped=False, msg="it hangs")
    judged = run.judge()
    assert not judged["go"] and judged["hosts"] == {}
    assert run.step("part", "db2")["skipped"]
    assert run.step("thaw", "db2") == {"ran": "thaw"}
    assert run.step("thaw", "db1")["skipped"]
    result = run.step("report", "db1")
    # Whether that came about on each host is not known here; a process there sees to it.
    assert result["failed"] and "started again, by this run or within a min" in result["msg"]
    assert "not_stopped:db3" in result["msg"]
    assert run.certificate()["outcome"] == "refused"


def test_what_was_stopped_is_started_where_the_judge_breaks(run):
    run.freeze()
    assert run.step("thaw", "db2") == {"ran": "thaw"}
    assert run.step("report", "db1")["failed"]


def test_a_replica_that_cannot_follow_is_started_again_and_named(run):
    run.answer("db3", "db2", "access denied")
    run.answer("db2", "db3", "access denied")
    run.freeze()
    assert not run.judge()["go"]
    judged = run.judge(failover_accept=["alone"])
    assert (judged["go"], list(judged["hosts"])) == (True, ["db2"])
    assert judged["hosts"]["db2"]["wait_count"] == 0
    assert "access denied" in judged["certificate"]["left_behind"]["db3"]
    assert run.step("thaw", "db3") == {"ran": "thaw"}


def test_the_report_keeps_the_certificate_and_fails_where_nobody_took_over(run):
    run.freeze()
    run.judge()
    point = {"id": "C6", "good": True, "observed": "all", "expected": "all"}
    done = {"outcome": "done", "reason": "", "points": [point], "timeline": [], "statements": []}
    done["settings_row"] = 0
    for host in ("db2", "db3"):
        run.values[host][DONE] = dict(done, points=done["points"] if host == "db2" else [])
    result = run.step("report", "db1")
    assert "failed" not in result
    assert (run.certificate()["verdict"], run.certificate()["outcome"]) == ("proven", "done")
    assert "db1 is held" in "\n".join(run.said)
    run.values["db2"][DONE] = dict(done, outcome="undone", reason="too slow")
    result = run.step("report", "db1")
    assert result["failed"] and "everything was rolled back" in result["msg"]


def test_a_controller_without_space_keeps_no_failover_from_its_end(run, monkeypatch):
    run.freeze()

    def full(path, *_more):
        raise results.ResultsError(28, path, "No space left on device")

    monkeypatch.setattr(results, "write_json", full)
    assert run.judge()["go"]
    for host in ("db2", "db3"):
        run.values[host][DONE] = {
            "outcome": "done",
            "reason": "",
            "points": [],
            "timeline": [],
            "statements": [],
            "settings_row": 0,
        }
    result = run.step("report", "db1")
    assert "failed" not in result and result["path"] is None
    said = "\n".join(run.said)
    assert "NOT RECORDED: the controller cannot write" in said and "db1 is held" in said


def opened(run, by_us=True):
    """What an interrupted run leaves whose target was opened; db3 had not moved yet."""
    run.freeze()
    if by_us:
        run.judge()
    target = run.values["db2"]["info"]
    target["channel"].update(io_running="No", sql_running="No")
    target["variables"]["read_only"] = "OFF"
    target["semisync"]["source"]["variables"]["enabled"] = "ON"
    target["gtid"]["gtid_executed"] = f"{remnants.SOURCE}:1-100,{remnants.uuid('db2')}:1-7"


def test_the_new_source_s_first_look_is_kept_for_the_next_failover(run):
    run.freeze()
    run.judge()
    state = run.folder / "default" / "state.json"
    before = state.read_text()
    # What the preflight of the new roles read.
    info = samples.captured("mysql", "source")
    info["variables"]["server_uuid"] = remnants.uuid("db2")
    run.values["db2"]["info"] = info
    assert run.step("report", "db3", settled=True)["skipped"]
    run.step("report", "db2", settled=True, check_mode=True)
    assert state.read_text() == before
    assert run.step("report", "db2", settled=True) == {"changed": False}
    kept = json.loads(state.read_text())
    assert (kept["server"], kept["status"]) == (remnants.uuid("db2"), "ON")
    run.values["db2"]["info"] = UNREAD
    run.step("report", "db2", settled=True)
    assert json.loads(state.read_text()) == kept


def test_a_rerun_finishes_what_was_opened_with_the_certificate_of_then(run):
    opened(run)
    assert run.step("plan", "db1")["certificate"]["to"] == "db2"
    assert "was interrupted after db2 became writable" in "\n".join(run.said)
    # db3 follows the dead source still, and could acknowledge to it.
    assert run.step("freeze", "db2")["skipped"]
    assert run.step("freeze", "db3") == {"ran": "freeze"}
    judged = run.judge()
    parts = {host: (plan["mode"], plan["part"]) for host, plan in judged["hosts"].items()}
    assert parts == {"db2": ("finish", "target"), "db3": ("finish", "replica")}
    plan = judged["hosts"]["db2"]
    assert (plan["source"], plan["source_id"], plan["wait_count"]) == ("db1", remnants.SOURCE, 1)
    assert run.step("thaw", "db3")["skipped"]
    done = {"outcome": "done", "reason": "", "points": [], "timeline": [], "statements": []}
    done["settings_row"] = 0
    for host in ("db2", "db3"):
        run.values[host][DONE] = done
    assert "failed" not in run.step("report", "db1")
    assert (run.certificate()["verdict"], run.certificate()["outcome"]) == ("proven", "done")
    assert not (run.folder / "default" / "failover_begun.json").exists()


@pytest.mark.parametrize("mode", ["switch", "finish"])
def test_the_target_is_given_the_events_of_the_dead_source_also_by_a_rerun(run, mode):
    state = run.folder / "default" / "state.json"
    events = [{"schema": "app", "name": "nightly", "status": "ENABLED"}]
    state.write_text(json.dumps(dict(json.loads(state.read_text()), events=events)))
    opened(run) if mode == "finish" else run.freeze()
    assert run.judge()["hosts"]["db2"]["mode"] == mode
    for host in ("db2", "db3"):
        run.step("part", host)
    assert run.given["part", "db2"]["event_states"] == events
    assert run.given["part", "db3"]["event_states"] is None


def test_a_target_that_lacks_what_it_had_received_proves_nothing(run):
    opened(run)
    run.values["db2"]["info"]["gtid"]["gtid_executed"] = f"{remnants.SOURCE}:1-99"
    run.values["db3"]["info"]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-99"
    run.values["db3"][FROZEN]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-99"
    run.values["db3"]["info"]["gtid"]["gtid_executed"] = f"{remnants.SOURCE}:1-99"
    run.judge()
    run.values["db2"][DONE] = run.values["db3"][DONE] = {
        "outcome": "done",
        "reason": "",
    }
    run.step("report", "db1")
    assert run.certificate()["verdict"] == "not proven"


def lived_on(run):
    """The source went on, and the target received more of it."""
    own = f"{remnants.SOURCE}:1-90000,{remnants.uuid('db2')}:1-7"
    run.values["db2"]["info"]["gtid"]["gtid_executed"] = own


def seen_later(run):
    state = run.folder / "default" / "state.json"
    last = dict(json.loads(state.read_text()), at=survivors.stamp(remnants.NOW + 60))
    state.write_text(json.dumps(last))


def out_of_sight(run):
    run.values["db3"]["info"] = dict(UNREAD, unreachable=True)


@pytest.mark.parametrize("later", [lived_on, seen_later, out_of_sight])
def test_a_begun_certificate_ends_when_its_source_may_have_gone_on(run, later):
    opened(run)
    later(run)
    kept = run.step("plan", "db1")["certificate"]
    assert kept["verdict"] == "not proven"
    assert "has no record" in kept["reasons"][0]


def test_what_a_follower_acknowledged_after_it_was_first_read_is_compared_once_more(run):
    opened(run)
    run.step("plan", "db1")
    more = dict(run.values["db3"][FROZEN]["channel"], retrieved=f"{remnants.SOURCE}:1-101")
    run.values["db3"][FROZEN]["channel"] = more
    with pytest.raises(refusal.RefusedError, match=f"db3 has received .*{remnants.SOURCE}:101"):
        run.step("judge", "db1")
    run.values["db3"][FROZEN] = {"stopped": False, "msg": "it hangs"}
    with pytest.raises(refusal.RefusedError, match="db3: its IO thread did not stop"):
        run.step("judge", "db1")


def test_a_look_at_a_source_that_lives_ends_a_begun_certificate(run):
    opened(run)
    begun = run.folder / "default" / "failover_begun.json"
    shelf = verdict_store.ResultStore(str(run.folder), "default", None, results.now(), False)
    shelf.keep_state({"host": "db7"})
    assert begun.exists()
    shelf.keep_state({"host": "db1"})
    assert not begun.exists()


def test_what_another_run_opened_is_finished_without_a_proof(run):
    opened(run, by_us=False)
    judged = run.judge()
    assert judged["certificate"]["verdict"] == "not proven"
    assert "has no record" in judged["certificate"]["reasons"][0]
    assert judged["hosts"]["db3"]["mode"] == "finish"


def test_nothing_is_finished_where_a_replica_has_more_or_the_source_answers(run):
    opened(run)
    run.values["db3"]["info"]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-101"
    with pytest.raises(refusal.RefusedError, match=f"db3 has received .*{remnants.SOURCE}:101"):
        run.step("plan", "db1")
    run.values["db3"]["info"]["channel"]["retrieved"] = f"{remnants.SOURCE}:1-100"
    run.answer("db3", "db1", "access denied")
    with pytest.raises(refusal.RefusedError, match="the source is alive"):
        run.step("plan", "db1")


def test_a_run_that_had_done_everything_may_say_so_later(run):
    opened(run)
    row = {"number": 2, "operation": "failover", "run": "feed", "state": "done"}
    row.update(from_host="db1", to_host="db2", happened="2026-11-22T10:00:00Z")
    row.update(from_id=remnants.SOURCE, to_id=remnants.uuid("db2"))
    away = [{"host": "db1", "id": remnants.SOURCE, "to_host": "db2", "happened": "then"}]
    for host in ("db2", "db3"):
        run.values[host]["info"].update(journal=row, held=away)
    # It was restarted, with the option file of a replica.
    run.values["db2"]["info"].update(channel=None)
    run.values["db2"]["info"]["variables"]["read_only"] = "ON"
    run.values["db3"]["info"]["channel"].update(
        source_host="db2", source_uuid=remnants.uuid("db2"), io_running="Yes"
    )
    with pytest.raises(refusal.HeldError):
        run.step("plan", "db1")
    assert run.step("plan", "db2")["certificate"]["token"] == "feed"
    run.values["db2"][JUDGED] = judged = run.step("judge", "db2")
    assert judged["hosts"]["db2"]["source_id"] == remnants.SOURCE
    assert judged["hosts"]["db3"]["target"] == "db2"


def test_each_host_gets_all_that_its_part_asks_for(run):
    run.freeze()
    plans = run.judge()["hosts"].values()
    assert len(plans) == 2
    for plan in plans:
        assert FailoverPlan.from_dict(plan).to_dict() == plan


class Rounds:
    """A module that applies so many transactions in each round."""

    def __init__(self, *lefts, **more):
        self.lefts, self.more, self.given = list(lefts), more, []

    def __call__(self, plan):
        self.given.append(plan)
        if plan["mode"] != "apply":
            return {"ran": "part"}
        left = self.lefts.pop(0)
        if left is None:
            return {"failed": True, "msg": "the connection broke"}
        done = {"left": left, "applied": 300, "seconds": 5.0, "stopped": "", **self.more}
        return {"round": done}


def ahead(run, on_host, to_apply=1000, **settings):
    """What the target's part does, with so much to apply."""
    run.freeze()
    frozen = run.values["db2"][FROZEN]
    applied = {"gtid_executed": f"{remnants.SOURCE}:1-{10000 - to_apply}"}
    frozen["gtid"] = dict(frozen["gtid"], **applied)
    frozen["channel"]["retrieved"] = f"{remnants.SOURCE}:1-10000"
    assert run.judge(**settings)["certificate"]["to"] == "db2"
    run.said.clear()
    return run.step("part", "db2", on_host=on_host, **settings)


def test_a_backlog_is_applied_first_and_its_progress_told(run):
    rounds = Rounds(700, 400, 0)
    result = ahead(run, rounds)
    assert [plan["mode"] for plan in rounds.given] == ["apply"] * 3 + ["switch"]
    assert result["ran"] == "part" and result["ahead"]["transactions"] == 1000
    assert result["ahead"]["relaxed"] == {} and rounds.given[0]["durability"] == {}
    assert "700 of 1000 transactions are left" in run.said[0]
    assert "60 a second; about 12 s left" in run.said[0]


def test_little_to_apply_needs_no_round(run):
    rounds = Rounds()
    result = ahead(run, rounds, failover_plan.FEW - 1, failover_fast_apply=True)
    assert result == {"ran": "part"} and rounds.given[0]["durability"] == {}


@pytest.mark.parametrize(
    "rounds,words",
    [
        (Rounds(700, stopped="its applier has stopped: duplicate key"), "duplicate key"),
        (Rounds(None), "the connection broke"),
    ],
)
def test_what_is_wrong_is_left_to_the_part_to_say(run, rounds, words):
    result = ahead(run, rounds)
    assert [plan["mode"] for plan in rounds.given] == ["apply", "switch"]
    assert result["ran"] == "part" and words in run.said[0]


def test_one_that_applies_nothing_is_given_its_time_and_no_more(run, monkeypatch):
    clock = iter(range(0, 1000, 5))
    monkeypatch.setattr(failover_plan.time, "monotonic", lambda: float(next(clock)))
    rounds = Rounds(*[900] * 50, applied=0)
    ahead(run, rounds, failover_stall=30)
    assert len(rounds.given) == 7


def test_a_disk_that_may_be_less_careful_is_named_with_what_is_put_back(run):
    rounds = Rounds(0)
    run.values["db2"]["info"]["variables"]["sync_binlog"] = "0"
    result = ahead(run, rounds, failover_fast_apply=True)
    assert rounds.given[0]["durability"] == {"innodb_flush_log_at_trx_commit": "1"}
    assert result["ahead"]["relaxed"] == {"innodb_flush_log_at_trx_commit": 2}


def test_a_dead_source_is_asked_for_where_its_replicas_follow_it():
    evidence = remnants.evidence("mariadb")
    source, first, second = evidence.members
    source.address = "admin.example"
    first.channel.update(source_host="10.0.0.1", source_port=3307)
    second.channel.update(source_host=None, source_port=None)

    def where(asking):
        asked = peers_of(evidence.members, asking)
        return next((one.address, one.port) for one in asked if one.host == "db1")

    assert where(first) == ("10.0.0.1", 3307)
    assert where(second) == ("admin.example", 3306)


def test_a_try_without_tls_says_nothing_against_a_server_that_has_it():
    peer = Peer("db3", "10.0.0.3", 3306, tls=True)
    answer = {"words": "", "answered": True, "there": True}
    tried = {"address": "10.0.0.3", "port": 3306, "tls": False, **answer}
    assert untried([peer], [tried]) == []
    tried["words"] = "TLS is required"
    assert untried([peer], [tried]) == [peer]
    assert reached([peer], [tried])["reach"] == {"db3": "it was not tried"}
    assert untried([dataclasses.replace(peer, tls=False)], [tried]) == []
    assert reached([peer], [tried, dict(tried, tls=True)])["answered"] == ["db3"]
