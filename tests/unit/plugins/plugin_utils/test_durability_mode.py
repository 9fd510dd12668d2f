# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems, removal
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
LOSSLESS = durability_mode.with_promise(samples.settings(promise="lossless"))
LINES = {"read_only": "ON", "sync_relay_log": "1"}


def lines(member):
    return option_files.parse_ours(member.info["option_files"]["ours"])


def kept(engine, start=samples.pair, **how):
    """A cluster that was brought to lossless."""
    members = start(engine)
    samples.carry_out(members, LOSSLESS, **how)
    return members


@pytest.mark.parametrize(
    "variable,value,fitting",
    [
        ("semisync_timeout", 10000, 86400000),
        ("semisync_timeout", 86399999, 4294967295),
        ("semisync_wait_no_replica", False, True),
        ("semisync_replica_read_only", False, True),
        ("semisync_sync_binlog", 0, 1),
        ("semisync_innodb_flush_log_at_trx_commit", 2, 1),
    ],
)
def test_what_somebody_has_set_must_fit_the_promise(variable, value, fitting):
    lossless = {"semisync_promise": "lossless"}
    (words,) = durability_mode.promised_settings({**lossless, variable: value}, explicit=True)[1]
    assert words.startswith(f"{variable} is {value}") and "leave it out" in words
    assert (
        durability_mode.promised_settings({**lossless, variable: fitting}, explicit=True)[1] == []
    )
    assert (
        durability_mode.promised_settings(
            {"semisync_promise": "available", variable: value}, explicit=True
        )[1]
        == []
    )


def test_a_timeout_that_nobody_has_set_is_one_of_days():
    given = {"semisync_promise": "lossless", "semisync_timeout": "10000"}
    wanted, wrong = durability_mode.promised_settings(given)
    assert (wanted["timeout_ms"], wrong) == (durability_mode.TIMEOUT_MS, [])
    assert (
        durability_mode.promised_settings({"semisync_promise": "lossless"})[0]["timeout_ms"]
        == durability_mode.TIMEOUT_MS
    )
    longer = durability_mode.promised_settings(
        {**given, "semisync_timeout": durability_mode.LEAST_MS}
    )[0]
    assert longer["timeout_ms"] == durability_mode.LEAST_MS
    assert durability_mode.promised_settings({})[0]["timeout_ms"] == 10000


def test_all_hosts_of_a_cluster_promise_the_same():
    members = samples.pair("mysql")
    assert durability_mode.cluster_problems(members) == []
    members[1].settings = Settings(promise="lossless")
    (words,) = durability_mode.cluster_problems(members)
    assert "available: db1; lossless: db2" in words
    assert words in problems.cluster_problems(members, samples.SETTINGS)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", [samples.pair, samples.bare, samples.replicating])
@pytest.mark.parametrize("apply", ["restart", "online"])
def test_every_member_gets_the_lines_and_the_source_takes_writes(engine, start, apply):
    members = kept(engine, start, apply=apply)
    assert samples.changed(samples.plans(members, LOSSLESS, apply=apply)) == []
    for member in members:
        assert LINES.items() <= lines(member).items()
        assert member.info["variables"]["sync_relay_log"] == "1"
    read_only = [member.info["variables"]["read_only"] for member in members]
    assert read_only == ["OFF", "ON"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_running_pair_becomes_lossless_without_a_restart(engine):
    members = samples.pair(engine)
    plans = samples.plans(members, LOSSLESS)
    assert not any(plan["restart"] for plan in plans.values())
    assert plans["db1"]["set_global"]["sync_relay_log"] == 1
    assert "read_only" not in plans["db1"]["set_global"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_started_by_itself_is_opened_by_the_next_run(engine):
    members = kept(engine)
    samples.restart(members[0].info)
    samples.settle(members)
    assert members[0].info["variables"]["read_only"] == "ON"
    plan = samples.plans(members, LOSSLESS)["db1"]
    assert (plan["set_global"], plan["restart"]) == ({"read_only": "OFF"}, False)
    # No other server is opened, and no source with another promise.
    assert samples.plans(members, LOSSLESS)["db2"]["set_global"] == {}
    assert samples.plans(members)["db1"]["set_global"].get("read_only") is None


def test_a_source_that_follows_somebody_itself_is_not_closed():
    members = kept("mysql")
    members[0].info["channel"] = dict(members[1].channel, source_host="outside", source_uuid="x")
    assert samples.plans(members, LOSSLESS)["db1"]["set_global"] == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_back_to_available_leaves_nothing_of_it(engine):
    members, before = kept(engine), samples.pair(engine)
    samples.carry_out(members, samples.SETTINGS)
    assert samples.changed(samples.plans(members)) == []
    for member, was in zip(members, before, strict=True):
        assert lines(member) == lines(was)
        assert member.info["variables"] == was.info["variables"]
        assert member.info["semisync"] == was.info["semisync"]


def test_what_another_option_file_says_of_the_relay_log_comes_back():
    members = kept("mysql")
    members[1].info["option_files"]["elsewhere"]["sync_relay_log"] = "500"
    assert samples.plans(members)["db2"]["set_global"]["sync_relay_log"] == "500"


def test_a_removal_takes_the_lines_away():
    for member in kept("mysql", samples.bare):
        left = option_files.parse_ours(removal.left_behind(member))
        assert not LINES.keys() & left.keys()
