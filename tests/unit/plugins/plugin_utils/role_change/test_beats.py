# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which beats of a dead source count, when they were, and what they prove."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    beat_looks,
    beats,
    cases,
    certificate,
    failover_facts,
    failover_outcome,
    failover_steps,
    last_look,
    relay_logs,
    survivors,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    BOOT,
    LOOK,
    MONOTONIC,
    NOW,
    SOURCE,
    beat,
    with_beats,
)

PROVEN, WINDOW, NOT_PROVEN = certificate.VERDICTS
ENGINES = ("mysql", "mariadb")
OTHER = "91c92dd4-e5a0-11f1-9b95-0000000000ff"
KILLED = {
    "how": "killed",
    "status": 9,
    "started_ago": 400000.0,
    "stopping_ago": None,
    "ended_ago": 9.0,
}


def of(engine="mysql", *rows, **changes):
    return with_beats(remnants.evidence(engine), *rows, **changes)


def numbers(signs):
    return [sign.beat["number"] for sign in signs]


def killed(evidence, ago=9.0):
    looks = {
        **evidence.looks,
        "db1": {**evidence.looks["db1"], "ended": {**KILLED, "ended_ago": ago}},
    }
    return evidence._replace(looks=looks)


def judged(evidence, later=(), settings_row=0):
    """The certificate when everything was applied, with the beats that showed only then."""
    evidence = remnants.frozen(evidence)
    for host, stopped in evidence.frozen.items():
        stopped["applier_seconds"] = evidence.looks[host]["applier_seconds"]
    evidence = beat_looks.watched(evidence)
    decision = cases.decide(evidence)
    accepted = [case.name for case in decision.cases]
    kept = certificate.record("shop", "feed", evidence, decision._replace(accepted=accepted))
    if later:
        known = evidence._replace(beats={**evidence.beats, kept["to"]: list(later)})
        kept = certificate.renewed(kept, beat_looks.watched(known))
    points = [{"id": "C6", "good": True, "observed": "12", "expected": "all"}]
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": settings_row}
    return failover_outcome.completed(kept, {kept["to"]: part}, accepted, "")


# Which beats count


@pytest.mark.parametrize(
    "rows,counted",
    [
        ([], []),
        ([beat("mysql", 3, 1), beat("mysql", 2, 2), beat("mysql", 1, 3)], [3, 2, 1]),
        # Numbers may leave some out: one was lost, or numbers grow by two.
        ([beat("mysql", 9, 1), beat("mysql", 5, 2)], [9, 5]),
        # Of another server: a source of before, or of one that the data were copied from.
        ([beat("mysql", 3, 1, server=OTHER), beat("mysql", 2, 2)], []),
        ([beat("mysql", 3, 1), beat("mysql", 2, 2, server=OTHER)], [3]),
        # Of an earlier start of the server, or of its host.
        ([beat("mysql", 3, 1, uptime=5), beat("mysql", 2, 8)], [3]),
        ([beat("mysql", 3, 1), beat("mysql", 2, 2, boot="before")], [3]),
        # Two servers beat: its clock went back, or another's beat is between its own.
        ([beat("mysql", 3, 2), beat("mysql", 2, 1)], []),
        ([beat("mysql", 3, 1), beat("mysql", 2, 2, server=OTHER), beat("mysql", 1, 3)], []),
        # Its start is not known.
        ([beat("mysql", 3, 1, uptime=None), beat("mysql", 2, 2)], [3]),
    ],
)
def test_only_beats_of_the_newest_start_of_the_dead_source_count(rows, counted):
    assert numbers(beats.signs(of("mysql", *rows))) == counted


def test_no_beat_counts_if_replicas_follow_several_servers_or_none_that_is_known():
    evidence = of("mysql", beat("mysql", 3, 1))
    evidence.members[2].link["source_uuid"] = OTHER
    assert beats.signs(evidence) == []
    mariadb = of("mariadb", beat("mariadb", 3, 1))
    for member in mariadb.members[1:]:
        member.link["source_server_id"] = 0
    assert beats.signs(mariadb) == []


def test_one_number_by_two_servers_is_a_split_brain_and_proves_nothing():
    evidence = of("mysql", beat("mysql", 3, 1))
    rows = {"db2": [beat("mysql", 3, 1)], "db3": [beat("mysql", 3, 1, server=OTHER)]}
    evidence = evidence._replace(beats=rows)
    assert "db2 and db3 have different beats 3" in beats.contradiction(evidence)
    assert beats.signs(evidence) == []


def test_a_replica_s_rows_count_for_all():
    evidence = of("mysql")._replace(
        beats={"db2": [beat("mysql", 3, 2)], "db3": [beat("mysql", 4, 1)]}
    )
    assert numbers(beats.signs(evidence)) == [4, 3]


def test_a_row_that_was_edited_by_hand_is_passed_over():
    rows = [beat("mysql", 4, 1, gtid="all of it"), beat("mysql", 3, 2)]
    assert judged(killed(of("mysql", *rows)))["last_look"]["beat"]["number"] == 3


# When they were


@pytest.mark.parametrize(
    "source,row,ago,exact",
    [
        ({}, {}, 5, False),
        ({"boot": BOOT, "monotonic": MONOTONIC}, {}, 7, True),
        # Its host was started again since, or says less than before.
        ({"boot": "after", "monotonic": MONOTONIC}, {}, 5, False),
        ({"boot": BOOT, "monotonic": 3.0}, {}, 5, False),
        # A wall clock that is wrong by itself says nothing; one that went on while the host slept
        # does.
        ({"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW + 500}, {"wall": NOW + 495}, 7, True),
        ({"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW}, {"wall": NOW - 65}, 67, True),
        # A virtual machine that was paused for a minute: neither of its clocks knows yet. Or its
        # clock was late at the beat, and is set forward later, which ends waits before their time.
        ({"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW - 60}, {"wall": NOW - 65}, 65, True),
        ({"boot": BOOT, "monotonic": MONOTONIC}, {"wall": NOW - 65}, 65, True),
    ],
)
def test_when_a_beat_was(source, row, ago, exact):
    evidence = of("mysql", beat("mysql", 3, 5, **row), exact=False)
    evidence.looks["db1"].update(source, asked_at=NOW - 2, read_at=NOW)
    sign = beats.signs(evidence)[0]
    assert (NOW - sign.at, sign.exact) == (ago, exact)


@pytest.mark.parametrize("ahead,counted", [(-600, [3]), (0, [3]), (5.9, [3]), (6.1, [])])
def test_a_clock_that_is_known_to_be_ahead_says_nothing(ahead, counted):
    evidence = of("mysql", beat("mysql", 3, 5, wall=NOW - 5 + ahead), exact=False)
    assert numbers(beats.signs(evidence)) == counted


@pytest.mark.parametrize("known", ["read", "frozen", "fence"])
def test_a_clock_is_known_to_be_ahead_from_when_a_row_was_there_first(known):
    # The row names a time 7 s ago, and had been there, or the source was dead, for longer.
    evidence = of("mysql", beat("mysql", 3, 20, wall=NOW - 7), exact=False)
    assert numbers(beats.signs(evidence)) == [3]
    if known == "read":
        rows = evidence.beats["db2"]
        looks = {
            **evidence.looks,
            "db2": {**evidence.looks["db2"], "beats": rows, "read_at": NOW - 9},
        }
        evidence = evidence._replace(looks=looks)
    elif known == "frozen":
        evidence = evidence._replace(frozen={"db3": {"stopped": True, "answered_at": NOW - 9}})
    else:
        evidence = fenced(evidence, 9)
    assert numbers(beats.signs(evidence)) == []


# What they prove


@pytest.mark.parametrize(
    "gtid,there",
    [
        (f"{SOURCE}:1-100", True),
        (f"{SOURCE}:1-101", False),
        (f"{SOURCE}:1-90,{OTHER}:1", False),
        (f"{SOURCE}:1-90:tag:1-3", False),
        ("", False),
    ],
)
def test_a_beat_proves_only_if_the_candidate_has_all_that_it_says(gtid, there):
    evidence = of("mysql", beat("mysql", 3, 1, gtid=gtid), beat("mysql", 2, 2))
    assert numbers([beats.had(evidence)]) == ([3] if there else [2])


@pytest.mark.parametrize(
    "gtid,there",
    [("0-1-100", True), ("0-1-101", False), ("0-1-90,7-1-5", False), ("0-2-100", False)],
)
def test_mariadb_s_domains_are_compared(gtid, there):
    evidence = of("mariadb", beat("mariadb", 3, 1, gtid=gtid))
    assert bool(beats.had(evidence)) is there


def test_a_hole_in_what_was_received_is_no_proof():
    evidence = of("mysql", beat("mysql", 100, 1), beat("mysql", 50, 2))
    for member in evidence.members[1:]:
        member.facts["gtid"]["gtid_executed"] = f"{SOURCE}:1-60:62-100"
        member.link["retrieved"] = ""
    assert numbers([beats.had(evidence)]) == [50]


@pytest.mark.parametrize(
    "newest,before,there",
    [([], [], True), (None, [], True), (None, ["binlog_do_db = shop"], False), (None, None, True)],
)
def test_no_beat_proves_of_what_is_not_logged(newest, before, there):
    rows = [beat("mysql", 3, 1, binlog_filters=newest), beat("mysql", 2, 2, binlog_filters=before)]
    seen = killed(of("mysql", *rows))
    assert bool(beats.had(seen)) is there
    words = "the binary log of db1 left no rows out, though its filters were not read"
    assert (words in judged(seen)["assumes"]) is (newest is before is None)


def test_filters_that_a_look_has_seen_count_if_no_beat_could_ask():
    kept = remnants.look("mysql", binlog_filters=["binlog_ignore_db = scratch"])
    seen = killed(of("mysql", beat("mysql", 99, 10, binlog_filters=None), kept=kept))
    assert beats.had(seen) is None
    done = judged(seen)
    assert done["verdict"] == NOT_PROVEN and "scratch" in done["reasons"][0]
    # Of another server they say nothing, and without any a later start may have some.
    other = {**kept, "server": OTHER}
    assert beats.had(seen._replace(kept=other))
    assert beats.had(seen._replace(kept={**kept, "binlog_filters": []}))


@pytest.mark.parametrize("unread", [False, True])
def test_a_power_cut_before_a_start_may_have_taken_what_was_not_synced(unread):
    # Its host lost its power between the two; then sync_binlog was 1.
    rows = [beat("mysql", 99, 10), beat("mysql", 90, 300, boot="before", sync_binlog="100")]
    seen = killed(of("mysql", *rows))
    if unread:
        seen.members[2].info = None
    words = "lost no transaction to a power cut before"
    assert any(words in one for one in judged(seen)["assumes"])
    assert not any(words in one for one in judged(killed(of("mysql", rows[0])))["assumes"])


def test_no_beat_proves_if_a_replica_has_transactions_of_its_own():
    evidence = of("mysql", beat("mysql", 3, 1))
    assert beats.had(evidence)
    facts = evidence.members[1].facts
    facts["gtid"]["gtid_executed"] += f",{facts['variables']['server_uuid']}:1"
    assert beats.had(evidence) is None


# Since when no commit waits


@pytest.mark.parametrize(
    "newest,before,since",
    [
        ({}, {}, 1),
        # What waited then had as many acknowledgements since.
        ({"wait_sessions": 4, "yes_tx": 1010}, {"wait_sessions": 3, "yes_tx": 1007}, 2),
        ({"wait_sessions": 4, "yes_tx": 1009}, {"wait_sessions": 3, "yes_tx": 1007}, None),
        ({"wait_sessions": 4}, {}, 2),
        # It gave some up, or fell back.
        ({"wait_sessions": 4, "yes_tx": 1010, "no_tx": 1},
         {"wait_sessions": 3, "yes_tx": 1007}, None),
        ({"wait_sessions": 4}, {"status": "OFF"}, None),
        # The writer ended a beat that waited, which counts as acknowledged on MariaDB; or it was
        # started again.
        ({"wait_sessions": 4, "yes_tx": 1010, "killed": 1},
         {"wait_sessions": 3, "yes_tx": 1007}, None),
        ({"wait_sessions": 4, "yes_tx": 1010, "killed": 0},
         {"wait_sessions": 3, "yes_tx": 1007, "killed": 2}, None),
        ({"wait_sessions": 4, "yes_tx": 1010, "killed": None},
         {"wait_sessions": 3, "yes_tx": 1007, "killed": None}, None),
        # Under AFTER_COMMIT a commit may come to its wait later than one that stands after it.
        ({"wait_sessions": 4, "yes_tx": 1010, "wait_point": "AFTER_COMMIT"},
         {"wait_sessions": 3, "yes_tx": 1007, "wait_point": "AFTER_COMMIT"}, None),
        # Something that ends a wait was changed.
        ({"wait_sessions": 4}, {"timeout": 500}, None),
        ({"wait_sessions": 4}, {"wait_no_replica": "OFF"}, None),
        ({"wait_sessions": 4, "settings_row": 9}, {}, None),
    ],
)  # fmt: skip
def test_since_when_no_commit_waits(newest, before, since):
    evidence = of("mysql", beat("mysql", 8, 1, **newest), beat("mysql", 7, 2, **before))
    found = beat_looks.calm(beats.signs(evidence))
    assert found == (None if since is None else NOW - since)


# Beat and look


@pytest.mark.parametrize("engine", ENGINES)
def test_the_newer_of_look_and_beat_counts_by_what_the_source_had(engine):
    kept = remnants.look(engine)
    older, newer = beat(engine, 94, 700), beat(engine, 95, 500)
    assert beat_looks.watched(of(engine, older, kept=kept)).last is kept
    last = beat_looks.watched(of(engine, newer, kept=kept)).last
    assert (last["at"], last["beat"]) == (
        survivors.stamp(NOW - 500),
        {"number": 95, "exact": True, "named": True},
    )
    assert last["past"] == [{"at": survivors.stamp(LOOK), "gtid": kept["gtid"]}]
    assert beat_looks.watched(of(engine, kept=kept)).last is kept
    assert beat_looks.watched(of(engine)).last is None


@pytest.mark.parametrize("ago,counts", [(20, "look"), (60, "beat")])
def test_a_look_at_which_the_source_had_no_more_than_at_a_beat_counts_if_it_was_later(ago, counts):
    # The beat's own row waited when verify.yml looked, and saw another timeout and a stranger.
    row = beat("mysql", 95, 40)
    at = survivors.stamp(NOW - ago)
    kept = remnants.look("mysql", at=at, gtid=row["gtid"], timeout="500", strangers=1)
    last = beat_looks.watched(of("mysql", row, kept=kept)).last
    assert ("beat" if "beat" in last else "look") == counts


@pytest.mark.parametrize("key", ["status", "timeout", "clients", "settings_row", "wait_count"])
def test_a_beat_that_does_not_say_all_is_no_look(key):
    kept = remnants.look("mysql")
    seen = of("mysql", beat("mysql", 96, 5, **{key: None}), kept=kept)
    assert beat_looks.watched(seen).last is kept
    # It was there all the same.
    assert beats.had(seen)


def test_a_look_at_another_server_gives_way():
    kept = remnants.look("mysql", server=OTHER, gtid=f"{OTHER}:1-5000")
    last = beat_looks.watched(of("mysql", beat("mysql", 5, 5), kept=kept)).last
    assert last["server"] == SOURCE
    assert last["past"] == []


@pytest.mark.parametrize(
    "changes,known,strangers",
    [
        ({}, ["db2", "db3"], 0),
        ({"clients": 3}, ["db2", "db3"], 1),
        ({"acknowledgers": [remnants.uuid("db2"), OTHER]}, ["db2"], 1),
        ({"acknowledgers": [], "clients": 1}, [], 1),
        # One that connects is named before it is counted: it must not stand for another.
        ({"acknowledgers": [remnants.uuid("db2"), remnants.uuid("db3"), OTHER]}, ["db2", "db3"], 1),
        # It does not say who: those that have all that it had then are taken for them.
        ({"acknowledgers": None}, ["db2", "db3"], 0),
        ({"acknowledgers": None, "clients": 3}, ["db2", "db3"], 1),
        ({"acknowledgers": None, "gtid": f"{SOURCE}:1-101"}, [], 2),
    ],
)
def test_who_could_acknowledge_is_known_by_name(changes, known, strangers):
    evidence = of("mysql", beat("mysql", 5, 5, **changes))
    found = beat_looks.clients(evidence, beats.signs(evidence))
    assert (sorted(found.known), found.strangers) == (known, strangers)


@pytest.mark.parametrize(
    "counted,strangers",
    [
        # Of the newest beat, and of those before it; the replicas have all only at the oldest.
        ((2, 2), 0),
        ((2, 2, 2), 0),
        ((3, 3), 1),
        # One has gone since, and a stranger has come.
        ((2, 1, 2), 2),
        ((2, 3, 2), 2),
        ((2, 3), 2),
        ((2, None, 2), 2),
    ],
)
def test_a_replica_that_lags_is_no_stranger_while_the_source_counts_as_many(counted, strangers):
    nameless = {"acknowledgers": None}
    *later, oldest = counted
    rows = [
        beat("mysql", 9 - ago, 1 + ago, gtid=f"{SOURCE}:1-{120 - ago}", clients=number, **nameless)
        for ago, number in enumerate(later)
    ]
    rows.append(beat("mysql", 9 - len(later), 1 + len(later), clients=oldest, **nameless))
    evidence = of("mysql", *rows)
    assert beat_looks.clients(evidence, beats.signs(evidence)).strangers == strangers


def test_what_is_taken_for_granted_of_replicas_without_a_name_is_said():
    words = "no other replica acknowledged to db1 before, in place of one of the inventory"
    for names, said in ((None, True), ([remnants.uuid("db2"), remnants.uuid("db3")], False)):
        done = judged(killed(of("mysql", beat("mysql", 99, 10, acknowledgers=names))))
        assert done["verdict"] == PROVEN
        assert any(words in one for one in done["assumes"]) is said


@pytest.mark.parametrize(
    "changes,enough,strangers",
    [
        # Which of them was not read is not known from the beat, and counts once.
        ({}, False, 0),
        ({"wait_count": 2}, True, 0),
        ({"clients": 3, "wait_count": 2}, False, 1),
        ({"acknowledgers": None, "wait_count": 2}, True, 0),
    ],
)
def test_a_replica_that_was_not_read_is_no_stranger_as_well(changes, enough, strangers):
    names = {"acknowledgers": [remnants.uuid("db2"), remnants.uuid("db3")], **changes}
    evidence = of("mysql", beat("mysql", 5, 5, **names))
    evidence.members[2].info = None
    evidence = beat_looks.watched(evidence)
    assert beat_looks.clients(evidence, beats.signs(evidence)).strangers == strangers
    assert relay_logs.enough(evidence) is enough
    assert any(case.name == "unread:others" for case in cases.of_reading(evidence)) is (
        not enough and strangers > 0
    )


def test_that_an_unread_replica_is_the_one_without_a_name_is_assumed_aloud():
    # A commit waits for two. If the second name is a stranger's, both may have acknowledged.
    words = "no other replica acknowledged to db1 before, in place of one of the inventory"
    names = [remnants.uuid("db2"), OTHER]
    seen = killed(of("mysql", beat("mysql", 99, 10, wait_count=2, acknowledgers=names)))
    seen.members[2].info = None
    done = judged(seen)
    assert done["verdict"] == PROVEN
    assert any(words in one for one in done["assumes"])


def test_a_replica_without_semi_sync_hides_no_stranger():
    evidence = of("mysql", beat("mysql", 5, 5))
    evidence.members[1].facts["semisync"]["replica"]["variables"]["enabled"] = "OFF"
    assert beat_looks.clients(evidence, beats.signs(evidence)).strangers == 1


@pytest.mark.parametrize(
    "exact,ago,spent",
    [(True, 100, None), (True, 400, LOOK + 300), (False, 100, LOOK + 300)],
)
def test_a_look_that_was_spent_spends_a_beat_that_is_not_seen_to_be_later(exact, ago, spent):
    kept = remnants.look("mysql", spent_at=survivors.stamp(LOOK + 300), spent_why="site.yml")
    last = beat_looks.watched(of("mysql", beat("mysql", 99, ago), kept=kept, exact=exact)).last
    assert last.get("spent_at") == (survivors.stamp(spent) if spent else None)


# The certificate


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kept", [False, True])
def test_a_server_that_is_killed_is_proven_with_the_default_timeout(engine, kept):
    rows = [beat(engine, 99, 10), beat(engine, 98, 11)]
    seen = of(engine, *rows, kept=remnants.look(engine, timeout="10000") if kept else None)
    done = judged(killed(seen))
    assert done["verdict"] == PROVEN, done["reasons"]
    assert not any("clock" in words for words in done["assumes"])
    first = "Nothing that the source confirmed before its end, at 2026-11-18T11:06:31Z, is missing"
    assert failover_outcome.failover_lines(done)[0] == first
    # The look alone is too old for that.
    if kept:
        assert judged(killed(seen._replace(beats={})))["verdict"] == WINDOW


@pytest.mark.parametrize("engine", ENGINES)
def test_a_host_that_is_gone_is_proven_until_its_last_beat(engine):
    done = judged(of(engine, beat(engine, 99, 60), exact=False))
    assert done["verdict"] == WINDOW
    assert done["proven_until"] == done["window"]["from"] == survivors.stamp(NOW - 50)
    assert any("clock of the host of db1 is not ahead" in words for words in done["assumes"])
    busy = judged(of(engine, beat(engine, 99, 60, wait_sessions=4), exact=False))
    assert busy["proven_until"] == "2026-11-18T11:05:40.000Z"
    assert busy["proven_by_beat"] == {"number": 99, "at": busy["proven_until"], "exact": False}
    assert busy["seconds_before_end"] is None


def fenced(evidence, ago, **changes):
    """A hook had ended so many seconds ago, and its host is gone."""
    source = {"unreachable": True, "msg": "no route to host"}
    return evidence._replace(source=source, fence_ended=NOW - ago, **changes)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_end_of_a_hook_bounds_the_end_of_a_host_that_is_gone(engine):
    # The power was cut 19 s ago, the hook ended 9 or 11 s after the last beat.
    seen = of(engine, beat(engine, 99, 20), beat(engine, 98, 21), exact=False)
    done = judged(fenced(seen, 11))
    assert done["verdict"] == PROVEN, done["reasons"]
    assert (done["ended_by"], done["seconds_before_end"]) == ("fence", 0.0)
    assert failover_outcome.failover_lines(done)[0] == (
        "Nothing that the source confirmed before its end, at 2026-11-18T11:06:29Z at the latest,"
        " is missing"
    )
    fence = "the tasks of semisync_hook_fence had ended db1 at 2026-11-18T11:06:29.000Z, and it"
    assert any(words.startswith(fence) for words in done["assumes"])
    clock = "the clock of the host of db1 is not more than 1 s ahead of the controller's"
    assert clock in done["assumes"]
    late = judged(fenced(seen, 9))
    assert (late["verdict"], late["window"]["ended"]) == (WINDOW, True)
    assert late["window"]["from"] == survivors.stamp(NOW - 10)
    assert late["window"]["to"] == survivors.stamp(NOW - 9)
    assert late["seconds_before_end"] == 1.0
    assert "The source ended at most 1.0 s later" in failover_outcome.failover_lines(late)[0]


def test_a_part_of_a_second_is_not_lost_between_beat_and_hook():
    seen = of("mysql", beat("mysql", 99, 19.1), exact=False)
    assert judged(fenced(seen, 9.2))["verdict"] == PROVEN
    assert judged(fenced(seen, 9.0))["verdict"] == WINDOW


def test_a_hook_that_did_not_end_the_source_bounds_nothing():
    seen = of("mysql", beat("mysql", 99, 20), exact=False)
    failed = judged(fenced(seen, 11, unfenced=["db1"]))
    assert (failed["verdict"], failed["ended_by"]) == (WINDOW, None)
    assert not any("semisync_hook_fence" in words for words in failed["assumes"])
    assert last_look.fenced_at(fenced(seen, 11)) == NOW - 11
    silent = fenced(seen, 11)._replace(source={"failed": True, "reason": "silent"})
    assert last_look.fenced_at(silent) is None
    looks = {**seen.looks, "db2": {**seen.looks["db2"], "answered": ["db1", "db3"]}}
    assert last_look.fenced_at(fenced(seen, 11)._replace(looks=looks)) is None


def test_a_host_that_says_when_its_server_ended_counts_before_the_hook():
    seen = killed(fenced(of("mysql", beat("mysql", 99, 20)), 11), ago=5.0)
    assert last_look.end_of(seen) == (NOW - 5, "host")
    assert judged(seen)["verdict"] == WINDOW
    assert judged(killed(seen, ago=12.0))["verdict"] == PROVEN


def test_that_nothing_started_it_while_the_hook_ran_is_assumed_aloud():
    # Its host was asked before the hook, which took a minute.
    words = "the server of db1 was not started again after its host was asked at"
    seen = killed(of("mysql", beat("mysql", 99, 80)), ago=75.0)
    assert not any(one.startswith(words) for one in judged(seen)["assumes"])
    done = judged(seen._replace(fence_ended=NOW - 1))
    assert done["verdict"] == PROVEN
    assert any(one.startswith(words) for one in done["assumes"])


@pytest.mark.parametrize(
    "monotonic,wall,ago",
    [
        # A beat before the host was asked, and one after it.
        (MONOTONIC - 15, NOW - 15, 20),
        (MONOTONIC - 30, NOW - 30, 20),
        # Its wall clock is wrong, which does not matter.
        (MONOTONIC - 30, NOW + 500, 20),
        # It slept between beat and question.
        (MONOTONIC - 15, NOW + 45, 80),
    ],
)
def test_clocks_that_a_host_named_before_it_was_fenced_say_when_a_beat_was(monotonic, wall, ago):
    asked = NOW - (MONOTONIC - monotonic)
    clocks = {"boot": BOOT, "monotonic": monotonic, "wall": wall, "asked_at": asked}
    evidence = of("mysql", beat("mysql", 99, 20), exact=False)._replace(host_clock=clocks)
    sign = beats.signs(evidence)[0]
    assert (NOW - sign.at, sign.exact) == (ago, True)
    other = evidence._replace(host_clock={**clocks, "boot": "before"})
    assert not beats.signs(other)[0].exact


@pytest.mark.parametrize("engine", ENGINES)
def test_a_machine_that_was_paused_proves_nothing_of_the_time_before(engine):
    # It was degraded. Paused for 60 s after its last beat, then it confirmed a commit and died 1 s
    # ago; its monotonic clock says that the beat was 5 s before.
    row = beat(engine, 99, 5, status="OFF", wall=NOW - 65)
    seen = killed(of(engine, row, exact=False), ago=1.0)
    clocks = {"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW - 60}
    seen = seen._replace(looks={**seen.looks, "db1": {**seen.looks["db1"], **clocks}})
    done = judged(seen)
    assert (done["verdict"], done["window"]["from"]) == (WINDOW, survivors.stamp(NOW - 65))
    assert survivors.moment_of(done["proven_until"]) == NOW - 65


def test_only_a_proof_says_that_nothing_is_missing_before_the_end():
    # The host's clock is half a second ahead, so the beat is taken for as late as the end.
    row = beat("mysql", 99, 11.5, wall=NOW - 11 + 0.2, status="OFF")
    done = judged(fenced(of("mysql", row, exact=False), 11))
    assert (done["verdict"], done["seconds_before_end"]) == (WINDOW, 0.0)
    first = failover_outcome.failover_lines(done)[0]
    assert "before its end" not in first and "The source ended at most 0.0 s later" in first


def test_a_clock_that_ends_waits_when_it_is_set_forward_is_said():
    # A wait for an acknowledgement is timed by the wall clock.
    words = "the clock of the host of db1 was not set forward by more than 3540 s after 2026-11-18"
    row = beat("mysql", 99, 60, timeout=3600000)
    clocks = {"boot": BOOT, "monotonic": MONOTONIC, "wall": NOW, "asked_at": NOW}
    before = of("mysql", row, exact=False)._replace(host_clock=clocks)
    assert any(one.startswith(words) for one in judged(before)["assumes"])
    kept = remnants.look("mysql", timeout="3600000", at=survivors.stamp(NOW - 60))
    kept["calm_at"] = kept["at"]
    assert any(one.startswith(words) for one in judged(of("mysql", kept=kept))["assumes"])
    # Its host was asked after its end, and showed no such jump; or only that clock is there, and it
    # is said that it is not ahead; or the timeout is days.
    for seen in (
        killed(of("mysql", row)),
        of("mysql", row, exact=False),
        of("mysql", kept={**kept, "timeout": "604800000"}),
    ):
        assert not any("set forward" in one for one in judged(seen)["assumes"])


def test_how_far_a_clock_may_be_ahead_is_said():
    seen = of("mysql", beat("mysql", 99, 60, timeout=3600000), exact=False)
    done = judged(seen)
    assert done["verdict"] == PROVEN
    words = "the clock of the host of db1 is not more than 3540 s ahead of the controller's"
    assert words in done["assumes"]


@pytest.mark.parametrize(
    "changes,verdict",
    [
        ({"status": "OFF"}, WINDOW),
        ({"enabled": "OFF"}, WINDOW),
        ({"timeout": 500}, WINDOW),
        ({"wait_no_replica": "OFF"}, WINDOW),
        ({"clients": 3}, NOT_PROVEN),
        ({"binlog_filters": ["binlog_do_db = shop"]}, NOT_PROVEN),
        ({"gtid": f"{SOURCE}:1-200"}, NOT_PROVEN),
    ],
)
def test_what_a_beat_says_against_a_proof_is_heard(changes, verdict):
    rows = [beat("mysql", 99, 12, **changes), beat("mysql", 98, 13)]
    kept = remnants.look("mysql")
    done = judged(killed(of("mysql", *rows, kept=kept)))
    assert done["verdict"] == verdict


def test_a_change_by_another_controller_after_the_beat_is_seen():
    seen = killed(of("mysql", beat("mysql", 99, 10)))
    assert judged(seen, settings_row=7)["verdict"] == WINDOW
    assert (
        judged(killed(of("mysql", beat("mysql", 99, 10, settings_row=7))), settings_row=7)[
            "verdict"
        ]
        == PROVEN
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relay_log_may_be_lost_after_the_last_beat_only(engine):
    seen = killed(of(engine, beat(engine, 99, 12)))
    assert judged(seen)["verdict"] == PROVEN
    for seconds in (11.0, None):
        looks = {
            host: {**look, "applier_seconds": seconds} if host == "db2" else look
            for host, look in seen.looks.items()
        }
        done = judged(seen._replace(looks=looks))
        assert done["verdict"] == NOT_PROVEN
        assert done["proven_by_beat"]["number"] == 99


def test_an_unread_replica_leaves_what_is_proven_until_the_beat():
    seen = killed(with_beats(remnants.evidence("mysql", 1), beat("mysql", 99, 12)))
    done = judged(seen)
    assert done["verdict"] == NOT_PROVEN
    assert done["seconds_before_end"] == 3.0
    first = failover_outcome.failover_lines(done)[0]
    assert first == (
        "Nothing that was confirmed before 2026-11-18T11:06:28.000Z is missing (beat 99)."
        " The source ended 3.0 s later"
    )


def test_beats_that_show_only_when_all_is_applied_make_the_certificate():
    old, new = beat("mysql", 90, 120), beat("mysql", 99, 10)
    seen = killed(of("mysql", old))
    assert judged(seen)["verdict"] == WINDOW
    done = judged(seen, later=[new, old])
    assert done["verdict"] == PROVEN
    assert done["last_look"]["beat"]["number"] == 99
    # What they say against it counts as well.
    bad = judged(seen, later=[beat("mysql", 99, 12, gtid=f"{SOURCE}:1-200"), old])
    assert bad["verdict"] == NOT_PROVEN


def test_without_beats_nothing_differs():
    kept = remnants.look("mysql")
    plain = judged(of("mysql", kept=kept))
    assert plain["proven_by_beat"] is None
    assert last_look.unwatched(beat_looks.watched(of("mysql"))) != ""


def test_a_report_judges_by_the_moment_of_the_judgement():
    old, new = beat("mysql", 90, 120), beat("mysql", 99, 6)
    seen = remnants.frozen(of("mysql", old, exact=False))
    for host, stopped in seen.frozen.items():
        stopped["applier_seconds"] = seen.looks[host]["applier_seconds"]
    seen = beat_looks.watched(seen)
    kept = certificate.record("shop", "feed", seen, cases.decide(seen))
    # The report is a minute later, and the source's host is gone.
    facts = failover_facts.Facts(seen._replace(now=NOW + 60), None, None)
    done = failover_steps.with_last_beats(kept, facts, {kept["to"]: {"beats": [new, old]}})
    assert (kept["verdict"], done["verdict"]) == (WINDOW, PROVEN)
    assert done["last_look"]["beat"] == {"number": 99, "exact": False, "named": True}
    for told in ({}, {"beats": None}, {"beats": []}):
        assert failover_steps.with_last_beats(kept, facts, {kept["to"]: told}) is kept
