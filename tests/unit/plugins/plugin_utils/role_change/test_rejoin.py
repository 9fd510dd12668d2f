# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of rejoin.yml from Ansible's variables: the verdict, what it refuses, what is kept."""

from __future__ import annotations

import copy
import json
import types

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster, refusal
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    context,
    quarantine,
    registered,
    step_action,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.plans import (
    test_quarantined_hosts,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

LOOKED = registered.REJOIN_LOOK.name
JUDGED, READY = registered.REJOIN_JUDGE.name, registered.REJOIN_READY.name
RUN = "2026-11-22T120000.000000Z"
UNREAD = {"failed": True, "reason": "stopped", "msg": "no server listens"}


class Run:
    """A cluster of three whose source has died, and is asked for."""

    def __init__(self, monkeypatch, folder, engine, old=None):
        monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(folder / "tmp"))
        (folder / "tmp").mkdir()
        self.said, self.given, self.folder = [], {}, folder / "results"
        self.answers = None
        monkeypatch.setattr(context.display, "display", self.said.append)
        members = test_quarantined_hosts.after_failover(engine, old)
        self.values = {
            member.host: {"info": member.info or UNREAD, LOOKED: {}} for member in members
        }
        self.new = members[1].info
        self.mariadb = engine == "mariadb"
        self.values["db2"][LOOKED] = {"first_gtids": "", "exposed": []}

    @property
    def has(self):
        return self.new["gtid"]["gtid_binlog_state" if self.mariadb else "gtid_executed"]

    def down(self, gtids, **more):
        """What the files of the former source say."""
        log = {
            "files": ["/data/binlog.000007"],
            "end": 777,
            "torn_bytes": 0,
            "torn_gtid": "",
            "gtids": gtids,
            "anonymous": 0,
            "disorder": "",
            "count": 0,
            "lacking": [],
            "shown": {"count": 0, "transactions": [], "tables": {}, "lasting": []},
        }
        self.values["db1"][LOOKED] = {
            "down": True,
            "version": "10.11.19-MariaDB",
            "identity": "1" if self.mariadb else samples.uuid("db1"),
            "by_gtid": True,
            "strict": True,
            "unit": "mysql",
            "datadir": "/data",
            "option_file": {"path": "/etc/x.cnf", "kind": "drop-in", "group": "mysqld"},
            "sync_binlog": "1",
            "lost_power": False,
            "log": log | more,
            "reach": "",
        }

    def context(self, step, host, again=False, **settings):
        arguments = {
            "step": step,
            "again": again,
            "info_from": "info",
            "results_dir": str(self.folder),
            "run": RUN,
        }
        task_vars = {
            **self.values[host],
            "hostvars": self.values,
            "groups": {"semisync_source": ["db1"], "semisync_replica": list(self.values)[1:]},
            "inventory_hostname": host,
            "ansible_play_hosts": list(self.values),
            "ansible_play_hosts_all": list(self.values),
        }
        own = samples.settings(**{"rejoin": "db1", "replication_user": "repl", **settings})

        def on_host(plan, **secret):
            self.given[step, host] = {**plan, **secret}
            return dict(self.answers or {"ran": step})

        task = types.SimpleNamespace(args=arguments, check_mode=False, _uuid=f"{step}{again}")
        return context.RunContext(task, context.REJOIN, task_vars, own, on_host)

    def step(self, step, host="db1", again=False, **settings):
        return step_action.do(self.context(step, host, again, **settings))

    def kept(self):
        return json.loads((self.folder / "default/latest/rejoin.json").read_text())


@pytest.fixture(name="run", params=["mysql", "mariadb"])
def fixture_run(request, monkeypatch, tmp_path):
    return Run(monkeypatch, tmp_path, request.param)


def beyond(run):
    """What db1 would have with one transaction more."""
    return f"{run.has},0-1-999" if run.mariadb else f"{run.has},{samples.uuid('db9')}:1"


def test_a_host_that_does_not_run_is_looked_at_by_its_files(run):
    assert run.step("look") == {"ran": "look"}
    plan = run.given["look", "db1"]
    assert plan["files"] is None
    assert plan["known"] == run.has
    assert plan["units"][-3:] == list(quarantine.UNITS) or set(quarantine.UNITS) <= set(
        plan["units"]
    )
    assert run.step("look", "db2") == {"ran": "look"}
    with pytest.raises(context.NotMeantError):
        run.step("look", "db3")


def test_one_without_phantoms_may_follow(run):
    run.down(run.has)
    judged = run.step("judge")
    assert (judged["go"], judged["way"], judged["host"]) == (True, "attach", "db1")
    assert set(judged["hosts"]) == {"db1", "db2"}
    assert judged["hosts"]["db1"]["down"]
    assert judged["hosts"]["db2"]["entry"]["from_host"] == "db1"
    assert "VERDICT clean" in "\n".join(run.said)
    file = run.folder / "default/latest/rejoin.json"
    assert file.stat().st_mode & 0o777 == 0o600, "it has rows of clients"
    assert run.kept()["verdict"] == "clean"


@pytest.mark.parametrize(
    "sync,lost,version,clean",
    [
        ("1", True, "5.7.44", True),
        ("0", False, "5.7.44", True),
        ("0", True, "5.7.44", False),
        ("100", None, "5.7.44", False),
        (None, True, "5.7.44", False),
        # There a commit's GTID is in the engine with its rows.
        ("0", True, "8.0.17", True),
        ("0", True, "8.0.16", False),
    ],
)
def test_rows_of_which_the_log_may_have_lost_its_end_are_no_clean_host(
    run, sync, lost, version, clean
):
    run.down(run.has)
    if run.mariadb:
        version, clean = "10.11.19-MariaDB", clean and version != "8.0.17"
    run.values["db1"][LOOKED].update(sync_binlog=sync, lost_power=lost, version=version)
    if clean:
        assert run.step("judge")["record"]["verdict"] == "clean"
        return
    with pytest.raises(refusal.RefusedError):
        run.step("judge")
    assert run.kept()["verdict"] == "cannot tell"
    assert "the end of its binary log may be lost" in " ".join(run.kept()["why"])


def test_phantoms_are_refused_with_the_ways_out_and_the_verdict_is_kept(run):
    run.down(beyond(run), count=1)
    with pytest.raises(refusal.RefusedError, match="semisync_rejoin_way=seed") as error:
        run.step("judge")
    assert ("way=truncate" in str(error.value)) is run.mariadb
    assert (run.kept()["verdict"], run.kept()["outcome"]) == ("phantoms", "refused")


def test_consent_by_name_opens_a_way(run):
    run.down(beyond(run), count=1)
    judged = run.step("judge", rejoin_way="seed")
    mine = judged["hosts"]["db1"]
    assert (judged["way"], mine["keep"], mine["truncate"]) == ("seed", True, False)
    assert mine["open_to_root"], "a clone installs its plugin"
    if run.mariadb:
        assert run.step("judge", rejoin_way="truncate")["hosts"]["db1"]["truncate"]
    else:
        with pytest.raises(refusal.RefusedError, match="MySQL does not support this"):
            run.step("judge", rejoin_way="truncate")


def test_what_is_taken_over_was_named_as_it_was_shown(monkeypatch, tmp_path):
    run = Run(monkeypatch, tmp_path, "mysql")
    run.down(beyond(run), count=1)
    phantom = f"{samples.uuid('db9')}:1"
    for named in ("", f"{samples.uuid('db9')}:2", "all"):
        with pytest.raises(refusal.RefusedError, match="semisync_rejoin_phantoms") as error:
            run.step("judge", rejoin_way="replay", rejoin_phantoms=named)
        assert named == "all" or f"semisync_rejoin_phantoms={phantom}" in str(error.value)
    # What was taken over before the run was interrupted is named too.
    judged = run.step("judge", rejoin_way="replay", rejoin_phantoms=f"{samples.uuid('db9')}:1-3")
    assert (judged["go"], judged["way"]) == (True, "replay")


def test_what_is_taken_over_is_in_a_file_of_the_run_and_in_no_result(monkeypatch, tmp_path):
    run = Run(monkeypatch, tmp_path, "mysql")
    run.down(beyond(run), count=1)
    phantom = f"{samples.uuid('db9')}:1"
    consent = {"rejoin_way": "replay", "rejoin_phantoms": phantom}
    run.values["db1"][JUDGED] = run.values["db2"][JUDGED] = run.step("judge", **consent)
    run.answers = {"count": 1, "payload": "rows of clients"}
    assert run.step("carry", **consent) == {"count": 1}
    assert run.given["carry", "db1"]["wanted"] == phantom
    (file,) = (tmp_path / "tmp").glob("semisync-replay-*")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("rows of clients", 0o600)
    run.step("replay", "db2", **consent)
    given = run.given["replay", "db2"]
    assert given["tail"] == "rows of clients"
    assert MysqlGtids.parse(given["known"]) == MysqlGtids.parse(beyond(run))
    for step, host in (("carry", "db2"), ("replay", "db1"), ("replay", "db3")):
        with pytest.raises(context.NotMeantError):
            run.step(step, host, **consent)


def test_where_no_way_is_open_each_says_why(run):
    run.down(beyond(run), count=1)
    run.values["db2"][LOOKED]["exposed"] = ["app.log"]
    if not run.mariadb:
        with pytest.raises(refusal.RefusedError, match=r"No other method is.*convert them"):
            run.step("judge")


def test_what_started_it_never_lets_writers_in_or_acknowledges_by_itself(run):
    run.down(run.has)
    lines = run.step("judge")["hosts"]["db1"]["lines"]
    assert any("source_enabled = OFF" in one or "master_enabled = OFF" in one for one in lines)
    assert {"loose_skip_slave_start = ON", "loose_skip_replica_start = ON"} <= set(lines)
    assert ("loose_super_read_only = ON" in lines) is not run.mariadb
    # An old MariaDB that starts with it cuts its log's end.
    assert not any("replica_enabled" in one or "slave_enabled" in one for one in lines)


def test_tables_without_transactions_close_the_ways_that_keep_its_data(run):
    run.down(run.has)
    run.values["db2"][LOOKED]["exposed"] = ["app.log"]
    with pytest.raises(refusal.RefusedError, match=r"rejoin_accept=app\.log"):
        run.step("judge")
    assert run.step("judge", rejoin_accept=["app.log"])["go"]
    run.values["db2"][LOOKED] = {"failed": True}
    with pytest.raises(refusal.RefusedError, match="not known"):
        run.step("judge", rejoin_accept=["app.log"])


def test_what_could_not_be_read_is_no_verdict(run):
    run.values["db1"][LOOKED] = {"down": True, "log": None, "why": "its log is encrypted"}
    with pytest.raises(refusal.RefusedError, match="it is not known whether"):
        run.step("judge")
    assert run.kept()["verdict"] == "cannot tell"
    assert "its log is encrypted" in run.kept()["why"][0]
    assert "SIGKILL" not in run.kept()["why"][0]
    run.values["db1"]["info"] = {"failed": True, "reason": "silent", "msg": "no answer within 60 s"}
    run.values["db1"][LOOKED] = {"skipped": True}
    with pytest.raises(refusal.RefusedError, match="it is not known whether"):
        run.step("judge")
    assert "no answer within 60 s; if it hangs, kill its server" in " ".join(run.kept()["why"])
    run.values["db1"]["info"] = {"unreachable": True, "msg": "no route"}
    run.values["db1"][LOOKED] = {"skipped": True}
    with pytest.raises(refusal.RefusedError, match="was not read"):
        run.step("judge", rejoin_way="seed")


@pytest.mark.parametrize(
    "by,words",
    [
        ("/etc/mysql/zz.cnf", "(systemctl start mysql; /etc/mysql/zz.cnf keeps it read-only)"),
        ("", "(systemctl start mysql; with read_only = ON in an option file of yours)"),
    ],
)
def test_a_log_that_only_the_server_reads_names_how_a_verdict_is_had(run, by, words):
    run.down(run.has)
    look = {"log": None, "why": "binlog.7: it is encrypted", "encrypted": True, "read_only_by": by}
    run.values["db1"][LOOKED].update(look)
    with pytest.raises(refusal.RefusedError, match="it is not known whether"):
        run.step("judge")
    kept = run.kept()
    assert (kept["verdict"], kept["read_by"]) == ("cannot tell", None)
    assert "binlog.7: it is encrypted" in kept["why"][0] and words in kept["why"][0]
    # Its data may be replaced without a verdict, by consent.
    assert [way["name"] for way in kept["ways"] if not way["closed"]] == ["seed"]


def test_transactions_without_a_gtid_in_the_log_are_no_verdict(monkeypatch, tmp_path):
    run = Run(monkeypatch, tmp_path, "mysql")
    run.down(run.has, anonymous=1)
    with pytest.raises(refusal.RefusedError, match="it is not known whether"):
        run.step("judge")


def test_the_way_to_the_new_source_is_tried_before_anything_is_touched(run):
    run.down(run.has)
    run.values["db1"][LOOKED]["reach"] = "Access denied"
    with pytest.raises(refusal.RefusedError, match=r"log in to db2 as repl: Access"):
        run.step("judge")


@pytest.mark.parametrize(
    "named,words",
    [("", "semisync_rejoin=HOST"), ("db7", "not a host of"), ("db2", "is the source")],
)
def test_who_comes_back_is_named(run, named, words):
    run.down(run.has)
    with pytest.raises(refusal.RefusedError, match=words):
        run.step("judge", rejoin=named)


def test_one_that_no_failover_left_behind_is_site_ymls(run):
    run.down(run.has)
    for host in ("db2", "db3"):
        run.values[host]["info"].update(held=[])
    with pytest.raises(refusal.RefusedError, match="by the journal no failover took"):
        run.step("judge")
    # One that follows has nothing to come back from.
    judged = run.step("judge", rejoin="db3")
    assert (judged["go"], judged["way"]) == (False, "none")


def test_a_replica_that_follows_nobody_is_no_one_to_overwrite_by_the_way(run):
    run.down(beyond(run), count=1)
    run.values["db3"]["info"]["channel"] = None
    with pytest.raises(refusal.RefusedError):
        run.step("judge", rejoin_way="seed")


def test_one_that_follows_already_is_finished(run):
    engine = "mariadb" if run.mariadb else "mysql"
    info = test_quarantined_hosts.came_up(engine, read_only="ON")
    info["channel"] = dict(run.values["db3"]["info"]["channel"])
    info["gtid"] = dict(run.new["gtid"])
    info["variables"]["gtid_strict_mode"] = "ON"
    run.values["db1"]["info"] = info
    run.values["db1"][LOOKED] = {"down": False, "log": None, "why": "x", "reach": ""}
    run.values["db2"]["info"]["variables"]["gtid_strict_mode"] = "ON"
    judged = run.step("judge")
    assert (judged["go"], judged["way"]) == (True, "finish")
    if run.mariadb:
        # Nothing has come since its data were copied.
        info["gtid"].update(gtid_binlog_state="", gtid_slave_pos=run.has)
        assert run.step("judge", again=False)["way"] == "finish"
        info["gtid"]["gtid_slave_pos"] = beyond(run)
        with pytest.raises(refusal.RefusedError):
            run.step("judge")


def test_one_that_somebody_attached_with_what_it_has_alone_may_be_replaced(run):
    info = test_quarantined_hosts.came_up("mariadb" if run.mariadb else "mysql", read_only="ON")
    info["channel"] = dict(run.values["db3"]["info"]["channel"])
    info["gtid"] = {
        **run.new["gtid"],
        "gtid_binlog_state" if run.mariadb else "gtid_executed": beyond(run),
    }
    info["variables"]["gtid_strict_mode"] = "ON"
    run.values["db1"]["info"] = info
    run.values["db1"][LOOKED] = {"down": False, "log": None, "why": "x", "reach": ""}
    run.values["db2"]["info"]["variables"]["gtid_strict_mode"] = "ON"
    with pytest.raises(refusal.RefusedError, match="it follows, but it has errant"):
        run.step("judge")
    assert run.step("judge", rejoin_way="seed")["way"] == "seed"
    with pytest.raises(refusal.RefusedError, match="semisync_seed_method is none"):
        run.step("judge", rejoin_way="seed", seed_method="none")


def test_commits_that_wait_are_in_no_set_and_close_every_way(run):
    info = test_quarantined_hosts.came_up("mariadb" if run.mariadb else "mysql", read_only="OFF")
    info["gtid"] = dict(run.new["gtid"])
    info["semisync"]["source"]["status"]["wait_sessions"] = "3"
    info["variables"]["gtid_strict_mode"] = "ON"
    run.values["db1"]["info"] = info
    run.values["db1"][LOOKED] = {"down": False, "log": None, "why": "x", "reach": ""}
    run.values["db2"]["info"]["variables"]["gtid_strict_mode"] = "ON"
    for way in ("attach", "seed"):
        with pytest.raises(refusal.RefusedError, match="kill --signal=KILL"):
            run.step("judge", rejoin_way=way)
        assert run.kept()["verdict"] == "cannot tell"
        assert "3 commit(s) wait" in run.kept()["why"][0]
    info["semisync"]["source"]["status"]["wait_sessions"] = "0"
    assert run.step("judge")["way"] == "attach"


def test_behind_the_start_it_is_judged_again_and_the_first_verdict_is_kept(run):
    run.down(beyond(run), count=1)
    way = "truncate" if run.mariadb else "seed"
    run.values["db1"][JUDGED] = run.step("judge", rejoin_way=way)
    info = test_quarantined_hosts.came_up("mariadb" if run.mariadb else "mysql", read_only="ON")
    info["gtid"] = dict(run.new["gtid"])
    run.values["db1"]["info"] = info
    run.values["db1"][LOOKED].update(down=False)
    judged = run.step("judge", rejoin_way=way, again=True)
    assert judged["record"]["before"]["verdict"] == "phantoms"
    assert judged["way"] == ("attach" if run.mariadb else "seed")
    if run.mariadb:
        # The server did not take all of it back.
        info["gtid"]["gtid_binlog_state"] += ",0-1-999"
        with pytest.raises(refusal.RefusedError, match="runs read-only, and it stays held"):
            run.step("judge", rejoin_way=way, again=True)


def who_was_away(run):
    """Let db3 follow the former source, as before the failover."""
    info = run.values["db3"]["info"]
    old = {"source_server_id": 1} if run.mariadb else {"source_uuid": remnants.SOURCE}
    info["channel"].update(source_host="db1", **old)
    for host in ("db2", "db3"):
        run.values[host]["info"]["variables"]["gtid_strict_mode"] = "ON"
    info["gtid"] = dict(run.new["gtid"])
    run.values["db3"][LOOKED] = {"down": False, "log": None, "why": "x", "reach": ""}
    return info


def test_a_replica_that_missed_the_failover_is_judged_and_brought_over(run):
    info = who_was_away(run)
    assert run.step("look", "db3", rejoin="db3") == {"ran": "look"}
    judged = run.step("judge", rejoin="db3")
    assert (judged["go"], judged["way"], judged["host"]) == (True, "attach", "db3")
    own = judged["hosts"]["db3"]
    assert (judged["away"], own["missed"], own["leaves"]) == (["db1"], True, True)
    # The former source is held as before: the journal's row is about the replica.
    own = info["variables"]["server_id" if run.mariadb else "server_uuid"]
    assert judged["hosts"]["db2"]["entry"]["from_id"] == own
    assert judged["record"]["held_since"] is None


def test_what_a_replica_that_missed_the_failover_has_alone_is_not_thrown_away(run):
    info = who_was_away(run)
    key = "gtid_binlog_state" if run.mariadb else "gtid_executed"
    info["gtid"][key] = beyond(run)
    with pytest.raises(refusal.RefusedError, match="semisync_rejoin_way=seed"):
        run.step("judge", "db2", rejoin="db3")
    assert run.kept()["verdict"] == "phantoms"
    assert "db1 may have confirmed these transactions before" in "\n".join(run.said)
    assert run.step("judge", "db2", rejoin="db3", rejoin_way="seed")["way"] == "seed"


def test_what_a_replica_of_mysql_received_and_has_not_applied_counts(monkeypatch, tmp_path):
    run = Run(monkeypatch, tmp_path, "mysql")
    who_was_away(run)["channel"]["retrieved"] = beyond(run)
    with pytest.raises(refusal.RefusedError, match="it has errant transactions"):
        run.step("judge", "db2", rejoin="db3")


def test_behind_the_stop_of_its_io_thread_nothing_may_be_left_to_apply(run):
    info = who_was_away(run)
    run.values["db2"][JUDGED] = run.step("judge", "db2", rejoin="db3")
    info["channel"]["retrieved"] = run.has
    applied = "gtid_slave_pos" if run.mariadb else "gtid_executed"
    info["gtid"][applied] = "0-1-1" if run.mariadb else f"{remnants.SOURCE}:1"
    with pytest.raises(refusal.RefusedError, match="check its applier"):
        run.step("judge", "db2", rejoin="db3", again=True)


def test_whose_data_are_replaced_has_no_channel_behind_the_stop(run):
    info = who_was_away(run)
    key = "gtid_binlog_state" if run.mariadb else "gtid_executed"
    info["gtid"][key] = beyond(run)
    for host in run.values:
        run.values[host][JUDGED] = run.step("judge", host, rejoin="db3", rejoin_way="seed")
    info["channel"] = None
    judged = run.step("judge", "db2", rejoin="db3", rejoin_way="seed", again=True)
    assert (judged["way"], judged["hosts"]["db3"]["missed"]) == ("seed", True)


def test_of_several_that_missed_the_failover_one_run_brings_one_over(run):
    info = who_was_away(run)
    fourth = copy.deepcopy(info)
    fourth["variables"].update(server_id="4", server_uuid=remnants.uuid("db4"))
    run.values["db4"] = {"info": fourth, LOOKED: {}}
    judged = run.step("judge", rejoin="db3")
    assert (judged["go"], judged["behind"], judged["away"]) == (True, ["db4"], ["db1", "db4"])
    # The rest of that run does not count it.
    run.values["db4"][cluster.LEFT_BEHIND] = True
    variables = {"hostvars": run.values, "inventory_hostname": "db2"}
    groups = {"semisync_source": ["db1"], "semisync_replica": ["db2", "db3", "db4"]}
    variables.update(groups=groups, ansible_play_hosts=[], ansible_play_hosts_all=[])
    assert [one.host for one in cluster.members(variables, "info")[1]] == ["db2", "db3"]
    # Once it follows, the next run has one left.
    info["channel"].update(run.values["db2"]["info"]["channel"] or {}, source_host="db2")
    info["channel"].update(source_uuid=None, source_server_id=None)
    del run.values["db4"][cluster.LEFT_BEHIND]
    assert run.step("judge", rejoin="db4")["behind"] == []


def test_who_lost_its_role_after_another_leaves_what_is_left_of_its_channel_to_that(run):
    """db3 took over from db1, and db2 from db3, whose channel to db1 tries again."""
    info = who_was_away(run)
    number = info["variables"]["server_id" if run.mariadb else "server_uuid"]
    row = dict(run.new["held"][0], host="db3", to_host="db2", id=number)
    run.new["held"] = [*run.new["held"], row]
    run.new["journal"] = dict(run.new["journal"], number=4, from_host="db3")
    info["channel"]["io_running"] = "Connecting"
    judged = run.step("judge", "db2", rejoin="db3")
    own = judged["hosts"]["db3"]
    assert (judged["way"], own["missed"], own["leaves"]) == ("attach", False, True)
    assert judged["hosts"]["db2"]["entry"]["from_id"] == number
    # A channel to any other server is not ours.
    info["channel"].update(source_host="10.9.9.9", source_uuid="elsewhere", source_server_id=99)
    assert not run.step("judge", "db2", rejoin="db3")["hosts"]["db3"]["leaves"]


def test_a_replica_that_does_not_run_is_to_be_started(run):
    run.values["db3"]["info"] = dict(UNREAD)
    with pytest.raises(
        refusal.RefusedError, match="could not be read, so it is not known whether it missed"
    ):
        run.step("judge", rejoin="db3")


def test_a_former_source_waits_for_the_replicas_that_missed_the_failover(run):
    run.down(run.has)
    who_was_away(run)
    with pytest.raises(refusal.RefusedError, match=r"db3 missed the .*semisync_rejoin=db3"):
        run.step("judge")


def hold_it(run, host):
    return quarantine.hold(run.context("hold", host))


def test_a_dead_source_is_fenced_where_its_host_is_reached_and_nobody_else_is(run):
    assert hold_it(run, "db1").units
    with pytest.raises(context.NotMeantError, match="not held"):
        hold_it(run, "db3")
    # The new source may have been a dead one once.
    assert hold_it(run, "db2").opened
    # It runs, or its host is gone: nothing is written there.
    for info in (
        {"unreachable": True},
        test_quarantined_hosts.came_up("mariadb" if run.mariadb else "mysql"),
    ):
        run.values["db1"]["info"] = info
        with pytest.raises(context.NotMeantError, match="nothing is written"):
            hold_it(run, "db1")


def test_what_an_old_log_had_counts_no_more_once_the_data_are_a_copy(run):
    run.down(run.has, disorder="0-1-5 follows 0-1-9", anonymous=3)
    run.values["db1"][LOOKED].update(down=False)
    run.values["db1"][JUDGED] = run.values["db2"][JUDGED] = run.step("judge", rejoin_way="seed")
    info = test_quarantined_hosts.came_up("mariadb" if run.mariadb else "mysql", read_only="ON")
    info["channel"] = dict(run.values["db3"]["info"]["channel"])
    info["gtid"] = dict(run.new["gtid"])
    run.values["db1"]["info"] = info
    record = run.step("report", "db2")["record"]
    assert record["outcome"] == "done"
    assert [point["outcome"] for point in record["points"]] == ["passed", "passed"]
    # A way on which it keeps its data answers for them.
    run.values["db2"][JUDGED]["way"] = "attach"
    with pytest.raises(refusal.RefusedError, match="does not follow db2, or has transactions"):
        run.step("report", "db2")
