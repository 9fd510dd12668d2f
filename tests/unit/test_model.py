# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small world of `make judge`: it knows what servers do, and catches a mistaken judge."""

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import beats

from model import adapter, events, mutants, results, search, state, stories, world, worlds

RULES = state.Rules("mysql", 2, events=worlds.ALL)
MARIADB = state.Rules("mariadb", 1, events=worlds.ALL)
ENGINES = ("mysql", "mariadb")


def after(rules, *happened):
    """The moment that events lead to; a replica's are pairs of a name and its number."""
    s = state.begin(rules)
    for event in happened:
        name, number = event if isinstance(event, tuple) else (event, None)
        if number is None:
            made = events.OF_CLUSTER[name](s, rules)
        else:
            made = events.OF_REPLICA[name](s, rules, state.block(number))
        assert made is not None, f"{event} cannot happen"
        s = bytes(made)
    return s


def told(s, number=0):
    return state.told_at(s[state.TOLD + number])


def test_a_commit_is_confirmed_by_an_acknowledgement_and_not_by_a_receipt():
    assert told(after(RULES, "commit", ("receive", 0))) is None
    assert told(after(RULES, "commit", ("receive", 0), ("acknowledge", 0))) == state.BEGINS
    two = RULES._replace(acks=2)
    assert told(after(two, "commit", ("deliver", 0))) is None
    assert told(after(two, "commit", ("deliver", 0), ("deliver", 1))) is not None


def test_a_short_timeout_confirms_without_a_replica_and_a_long_one_does_not():
    short = RULES._replace(timeout=state.SHORT)
    s = after(short, "commit", "minute")
    assert told(s) == state.BEGINS + state.TIMEOUTS[state.SHORT]
    assert not s[state.STATUS]
    assert told(after(RULES, "commit", "minute")) is None


def test_a_timeout_counts_from_when_a_commit_began_to_wait():
    medium = RULES._replace(timeout=state.MEDIUM)
    s = after(medium, "commit", "minute")
    assert told(s) is None
    assert told(after(medium, "commit", "minute", "minute")) == state.BEGINS + 90


def test_an_orderly_stop_confirms_what_waits_and_a_kill_does_not():
    assert told(after(RULES, "commit", "stop")) is not None
    assert told(after(RULES, "commit", "shut_and_kill")) is not None
    assert told(after(RULES, "commit", "kill")) is None


def test_a_hook_that_ends_well_ends_the_source_and_one_that_fails_does_not():
    begun = ("commit", "hook_begins", "minute")
    medium = RULES._replace(timeout=state.MEDIUM)
    # What waits is told nothing once the host has no power.
    assert told(after(medium, *begun, "fence", "minute", "minute")) is None
    for name, lived in (("fence_fails", 0), ("fence_lies", 1)):
        s = after(medium, *begun, name, "minute")
        assert told(s) == state.BEGINS + 90
        assert (s[state.UNFENCED], s[state.LIVED_ON]) == (1 - lived, lived)
    known = results.Results(medium).fence(after(medium, *begun, "fence", "minute"))
    assert known.ended == state.seconds(1) + 1
    assert results.Results(medium).fence(after(medium, *begun)) == results.readings.NO_FENCE
    assert after(medium, *begun, "fence", "start")[state.LIVED_ON]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_in_a_split_brain_two_replicas_have_one_number_of_different_servers(engine):
    rules = worlds.worlds(engine)["beats, split"][0]
    found = search.Search(rules)
    s = found.beats(found.first())
    for event, number in (("deliver", 0), ("apply", 0), ("twin", 1)):
        s = events.OF_REPLICA[event](s, rules, state.block(number))
    asked = results.Asked(gone=True)
    read = found.adapter.results(bytes(s), asked)
    assert [row["number"] for row in read.frozen["replica2"]["beats"]] == [1]
    members = found.adapter.members(bytes(s), living=False)
    known = results.readings.of_results(members, read, None, None, {}, state.BEGINS).evidence
    assert beats.contradiction(known).startswith("replica1 and replica2 have different beats")


def test_positions_have_all_domains():
    rules = worlds.worlds("mariadb")["beats, domains"][0]
    world_of = results.Results(rules)
    ids = [results.BASE + one for one in range(3)]
    last = [f"{domain}-{results.server_id(-1)}-" for domain in (0, 1)]
    assert world_of.gtids(3) == f"{last[0]}{ids[2]},{last[1]}{ids[1]}"
    assert [world_of.transaction(one) for one in (1, 2, 3)] == [
        f"{last[0]}{ids[1]}",
        f"{last[1]}{ids[1]}",
        f"{last[0]}{ids[2]}",
    ]


def test_a_killed_commit_is_confirmed_on_mariadb_only():
    s = after(MARIADB, "commit", "kill_query")
    assert told(s) is not None
    assert s[state.STATUS]
    assert world.kill_query(after(RULES, "commit"), RULES) is None


@pytest.mark.parametrize(
    "rules,names,left",
    [
        (MARIADB, ["restart"], 0),
        (RULES, ["restart"], 1),
        (RULES._replace(recovery=True), ["restart"], 0),
        (MARIADB, ["stop_slave", "start_slave"], 0),
        (MARIADB, ["stop_io", "start_io"], 1),
        (RULES, ["stop_slave", "start_slave"], 1),
        (RULES, ["reset_slave"], 0),
        (RULES._replace(sync_relay_log=False), ["power_replica"], 0),
        (RULES, ["power_replica"], 1),
    ],
)
def test_what_takes_a_relay_log(rules, names, left):
    s = after(rules, "commit", ("deliver", 0), "kill", *((name, 0) for name in names))
    assert s[state.block(0) + state.GOT] == left
    applied = after(rules, "commit", ("deliver", 0), ("apply", 0), *((name, 0) for name in names))
    assert applied[state.block(0) + state.GOT] == 1


def test_moments_that_differ_only_in_which_replica_is_which_are_one():
    one = search.Search(RULES)
    first, second = (after(RULES, "commit", ("receive", number)) for number in (0, 1))
    assert first != second
    assert one.canonical(first)[0] == one.canonical(second)[0]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_no_verdict_is_false_and_a_mistaken_judge_is_caught(engine):
    rules = state.Rules(
        engine, 1, timeout=state.SHORT, events=("commit", "minute", "look", "kill", "cut")
    )
    assert not search.Search(rules).run(250).lies
    wrong = next(one for one in mutants.MUTANTS if one.name == "C7")
    with mutants.mistaken(wrong):
        caught = search.Search(rules).run(250)
    assert caught.lies
    lie = caught.lies[0]
    assert lie.kind == search.FALSE_PROOF
    assert any("is not on replica1" in line for line in stories.story(caught, lie))
    assert not search.Search(rules).run(250).lies


def test_each_event_has_words_and_is_in_a_world():
    known = {name for rules, _share in worlds.worlds("mysql").values() for name in rules.events}
    assert known == set(worlds.ALL) == set(stories.WORDS) | {"interrupted"}


def test_the_judge_sees_nothing_of_what_clients_were_told():
    rules = MARIADB
    told_ok, not_told = (
        bytearray(after(rules, "commit", "kill")),
        bytearray(after(rules, "commit", "kill")),
    )
    told_ok[state.TOLD] = state.mark(0, state.OK)
    asked = results.Asked()
    assert adapter.key_of(told_ok, rules, asked) == adapter.key_of(not_told, rules, asked)
    judge = adapter.Adapter(rules)
    assert judge.judge(bytes(told_ok), asked) == judge.judge(bytes(not_told), asked)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_moments_that_look_alike_are_judged_alike(engine):
    rules = state.Rules(engine, 2, events=worlds.ALL)
    known = search.Search(rules)
    known.run(300)
    for s in known.seen:
        for asked in known.ways(s):
            kept = known.classes[adapter.key_of(s, rules, asked)].verdict
            assert known.adapter.judge(s, asked) == kept, stories.story(
                known, search.Lie("", s, asked, kept, ())
            )


def test_replays_are_ten_of_each_engine():
    path = pathlib.Path(adapter.__file__).with_name("replays.json")
    replays = json.loads(path.read_text())
    servers = [one["server"] for one in replays]
    assert servers.count("mysql") == servers.count("mariadb") == 10
    assert all(one["steps"][-1] == "failover" and len(one["steps"]) <= 12 for one in replays)


def test_each_mistake_is_looked_for_in_a_world_that_is_searched():
    makers = (worlds.worlds, worlds.with_beats, worlds.on_hosts)
    searched = {name for make in makers for engine in ENGINES for name in make(engine)}
    searched = {name.removeprefix("hosts: ") for name in searched}
    assert sorted(mutants.WORLDS) == sorted(one.name for one in mutants.MUTANTS)
    assert {name for names in mutants.WORLDS.values() for name in names} <= searched
