# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import subprocess

import pytest
from ansible_collections.dbre.semisync.plugins.action.semisync_restart import ActionModule
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import lifeline
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.actions import runner

GIVEN = {
    "semisync_allow_disruption": True,
    "semisync_restart_back": True,
    "semisync_restart_accept": "unprotected",
}
# Arguments of the task.
KEYS = ("working", "moving", "upgrades", "hooked")


@pytest.fixture(name="step")
def fixture_step(monkeypatch, tmp_path):
    """Runs a step on one host of a captured pair."""
    run = runner(ActionModule, monkeypatch, tmp_path)

    def do(step, me="db1", **named):
        arguments = {
            "step": step,
            "info_from": "info",
            "results_dir": str(tmp_path / "results"),
            **{key: named.pop(key) for key in KEYS if key in named},
        }
        return run(me, arguments, **{**GIVEN, **named})

    return do


def pair():
    members = samples.pair("mysql")
    for member in members:
        member.info.update(unit="mysql", pid=7)
    return members


def kept(tmp_path):
    file = tmp_path / "results" / "default" / "restart_begun.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def test_a_run_keeps_how_far_it_is_and_forgets_it_when_it_is_done(step, tmp_path):
    members = pair()
    planned = step("plan", "db2", members=members)
    assert (planned["mode"], planned["turn"], planned["turns"]) == ("roll", 0, 1)
    assert (planned["target"], planned["back"], planned["restarts"]) == ("db2", "db1", True)
    assert kept(tmp_path) is None
    step("note", "db2", members=members, working="db2", __semisync_restart=planned)
    assert kept(tmp_path)["working"] == "db2"
    assert kept(tmp_path)["hosts"]["db2"]["pid"] == 7
    # The run is not done while a server is as it was.
    assert "db1: its server was not restarted" in step("done", members=members)["msg"]
    members[1].info["pid"] = 8
    assert step("plan", "db2", members=members)["restarts"] is False
    step("note", members=members, moving="db2")
    assert (kept(tmp_path)["working"], kept(tmp_path)["moving"]) == ("", "db2")
    assert step("plan", members=members)["mode"] == "mend"
    step("note", members=members)
    members[0].info["pid"] = 8
    assert step("done", members=members)["changed"]
    assert kept(tmp_path) is None
    file = tmp_path / "results" / "default" / "latest" / "restart.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    assert [one["host"] for one in record["servers"]] == ["db1", "db2"]


@pytest.mark.parametrize(
    "accepted,check_mode,refused",
    [
        ("unprotected", False, True),
        ("unprotected,clusters", False, False),
        ("unprotected", True, False),
    ],
)
def test_one_consent_is_for_one_cluster(step, accepted, check_mode, refused):
    given = {
        "members": pair(),
        "beside": {"other1": {"semisync_cluster": "shop"}},
        "check_mode": check_mode,
        "semisync_restart_accept": accepted,
    }
    # The words are the same on every host, so that they are said once.
    for host in ("db1", "db2"):
        said = step("plan", host, **given)
        assert said.get("failed", False) == refused
        if refused and host == "db1":
            assert said["msg"] == (
                "Nothing was changed. This run would work on 2 clusters at the same time: default,"
                " shop; name one of them with --limit, or accept this with"
                " -e semisync_restart_accept=clusters"
            )


@pytest.fixture(name="upgrading")
def fixture_upgrading(tmp_path):
    """(a pair, what a step of its upgrade is given)."""
    members = pair()
    for one in members:
        one.info["version"] = "8.4.6"
    tasks = tmp_path / "tasks.yml"
    tasks.write_text("- name: Nothing\n  ansible.builtin.debug:\n", encoding="utf-8")
    return members, {
        "upgrades": True,
        "members": members,
        "__semisync_upgrade_look": {"prepared": 0},
        "semisync_restart_accept": "unprotected,untried",
        "semisync_upgrade_to": "9.7",
        "semisync_hook_upgrade": str(tasks),
    }


def test_an_upgrade_goes_by_versions_and_keeps_a_mark_and_a_record_of_its_own(
    step, upgrading, tmp_path
):
    members, given = upgrading
    planned = step("plan", "db2", **given)
    assert (planned["from"], planned["shutdown"], planned["restarts"]) == ("8.4.6", 0, True)
    assert "seeds it from db1" in planned["way_back"]
    step("note", "db2", working="db2", __semisync_restart=planned, **given)
    assert kept(tmp_path) is None
    assert planned["judges"]
    step("note", "db2", working="db2", hooked=True, **given)
    members[1].info["version"] = "9.7.0"
    planned = step("plan", "db2", **given)
    assert (planned["restarts"], planned["judges"]) == (False, False)
    assert "db1: its server was not upgraded" in step("done", **given)["msg"]
    members[0].info["version"] = "9.7.0"
    assert step("done", **given)["changed"]
    file = tmp_path / "results" / "default" / "latest" / "upgrade.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    assert [one["version_before"] for one in record["servers"]] == ["8.4.6", "8.4.6"]
    given["semisync_upgrade_to"] = ""
    assert "semisync_upgrade_to is empty" in step("plan", **given)["msg"]


def test_only_replicas_that_are_left_are_asked_about_their_tables(step, upgrading):
    members, given = upgrading
    # A source's clients would wait for the locks.
    assert [step("plan", host, **given)["checks"] for host in ("db1", "db2")] == [False, True]
    assert not step("plan", "db2", check_mode=True, **given)["checks"]
    members[1].info["version"] = "9.7.0"
    assert not step("plan", "db2", **given)["checks"]
    assert not step("check", "db2", **given).get("failed")
    said = step("check", "db2", __semisync_upgrade_check={"wrong": ["s.t: no"]}, **given)
    assert said["failed"] and "s.t: no" in said["msg"]


def test_tasks_of_the_user_that_did_not_end_are_included_again(step, upgrading):
    members, given = upgrading
    planned = step("plan", "db2", **given)
    step("note", "db2", working="db2", __semisync_restart=planned, **given)
    # A package started the new version, and a later task failed.
    members[1].info["version"] = "9.7.0"
    assert step("plan", "db2", **given)["restarts"]
    step("note", "db2", working="db2", hooked=True, **given)
    for _run in range(2):
        assert not step("plan", "db2", **given)["restarts"]
        step("note", "db2", working="db2", **given)
    step("note", **given)
    assert not step("plan", "db2", **given)["restarts"]
    assert step("plan", **given)["restarts"]


def test_a_server_that_a_killed_run_left_stopped_is_not_judged_for_a_switchover(step):
    members = pair()
    planned = step("plan", "db2", members=members)
    assert planned["judges"]
    step("note", "db2", members=members, working="db2", __semisync_restart=planned)
    members[1].info = {"failed": True, "msg": "the server is not running", "reason": "stopped"}
    planned = step("plan", "db2", members=members)
    assert (planned["mode"], planned["judges"], planned["restarts"]) == ("roll", False, True)


def test_in_check_mode_nothing_is_kept_and_no_consent_is_needed(step, tmp_path):
    given = {"check_mode": True, "members": pair(), "semisync_allow_disruption": False}
    planned = step("plan", **given)
    assert planned["mode"] == "roll"
    step("note", working="db2", __semisync_restart=planned, **given)
    step("done", **given)
    assert kept(tmp_path) is None
    given["check_mode"] = False
    assert "semisync_allow_disruption" in step("plan", **given)["msg"]


def test_where_nothing_is_pending_nothing_is_done(step):
    planned = step("plan", members=pair(), semisync_restart_only="pending")
    assert (planned["mode"], planned["judges"]) == ("none", False)
    members = pair()
    members[1].info["semisync"]["replica"]["variables"]["trace_level"] = "16"
    planned = step("plan", "db2", members=members, semisync_restart_only="pending")
    assert (planned["mode"], planned["last"], planned["turn"]) == ("roll", False, 0)


def moving(step, members, tmp_path, **given):
    """A run that was killed when it had noted that the role moves next."""
    planned = step("plan", "db2", members=members, **given)
    step("note", "db2", members=members, moving="db2", __semisync_restart=planned, **given)


def test_what_an_earlier_run_was_about_to_do_needs_consent_again(step, tmp_path):
    members = pair()
    moving(step, members, tmp_path)
    assert step("plan", members=members)["mode"] == "mend"
    said = step("plan", members=members, semisync_allow_disruption=False)
    assert "semisync_allow_disruption" in said.get("msg", "")


def test_the_role_does_not_move_for_another_version(step, upgrading, tmp_path):
    _members, given = upgrading
    moving(step, tmp_path=tmp_path, **given)
    assert step("plan", **given)["mode"] == "mend"
    said = step("plan", **{**given, "semisync_upgrade_to": "9.8"})
    assert "upgrades to 9.7, and is not done" in said.get("msg", "")


def test_a_switchover_that_had_not_begun_is_planned_with_all_premises(step, tmp_path):
    members = pair()
    moving(step, members, tmp_path)
    decided = step("mend", members=members)
    assert decided["mends"] is False
    # In check mode nothing is noted, and the plan is shown all the same.
    planned = step("plan", members=members, check_mode=True, __semisync_restart_mend=decided)
    assert planned["mode"] == "roll"


def test_a_server_that_got_the_old_version_since_the_run_began_is_upgraded_too(step, upgrading):
    members, given = upgrading
    members[1].info["version"] = "9.7.0"
    planned = step("plan", **given)
    assert list(planned["mark"]["hosts"]) == ["db1"]
    step("note", working="", __semisync_restart=planned, **given)
    # It was seeded with the old version, or is another host of this name.
    members[1].info["version"] = "8.4.6"
    planned = step("plan", "db2", **given)
    assert (planned["turns"], planned["restarts"], planned["from"]) == (1, True, "8.4.6")
    members[0].info["version"] = "9.7.0"
    assert "db2: its server was not upgraded" in step("done", **given).get("msg", "")


@pytest.mark.parametrize("step_name", ["plan", "note"])
def test_two_runs_for_one_cluster_are_not_at_work_at_the_same_time(
    step, upgrading, tmp_path, step_name
):
    members = upgrading[1].pop("members")
    planned = step("plan", "db2", members=members)
    step("note", "db2", members=members, working="db2", __semisync_restart=planned)
    given = {"members": members, "__semisync_restart": planned}
    assert "msg" not in step(step_name, "db2", **given)
    file = tmp_path / "results" / "default" / "restart_begun.json"
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            content = {**kept(tmp_path), "by": f"{other.pid} {lifeline.birth(other.pid)}"}
            file.write_text(json.dumps(content), encoding="utf-8")
            said = step(step_name, "db2", **given).get("msg", "")
            assert f"in progress on this controller (process {other.pid}" in said
            # A run of the other kind moves the role too.
            assert "in progress" in step(step_name, "db2", **given, **upgrading[1])["msg"]
            assert "msg" not in step("plan", "db2", check_mode=True, **given)
        finally:
            other.kill()
    # Its number may be another process's now.
    assert "msg" not in step(step_name, "db2", **given)


def test_the_replica_that_is_named_later_takes_the_role_over(step):
    members = samples.bare("mysql", 2)
    for _round in range(2):
        samples.carry_out(members, samples.SETTINGS)
    for member in members:
        member.info.update(unit="mysql", pid=7)
    planned = step("plan", "db2", members=members)
    assert planned["target"] == "db2"
    step("note", "db2", members=members, working="db2", __semisync_restart=planned)
    assert step("plan", members=members)["target"] == "db2"
    assert step("plan", members=members, semisync_restart_to="db3")["target"] == "db3"
