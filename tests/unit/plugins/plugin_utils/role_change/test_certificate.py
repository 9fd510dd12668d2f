# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a certificate says is proven, and that it never says more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    last_look,
    relay_logs,
    survivors,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    LOOK,
    NOW,
    uuid,
)

PROVEN, WINDOW, NOT_PROVEN = certificate.VERDICTS
RUN = "2026-11-18T130640.000000Z"


def record(evidence, accepted=()):
    return certificate.record("shop", "feed", evidence, cases.decide(evidence, list(accepted)))


def part(**changes):
    """What the new source's part returns."""
    points = [
        {"id": "C6", "good": True, "observed": "12 transactions", "expected": "all"},
        {"id": "S6", "good": True, "observed": "1 client", "expected": "at least 1"},
        {"id": "S7", "good": True, "observed": "yes_tx rose by 1", "expected": "acknowledged"},
    ]
    timeline = [{"event": name, "words": "", "at": NOW} for name in ("open", "first_commit")]
    done = {"outcome": "done", "reason": "", "settings_row": 0, "statements": ["STOP REPLICA"]}
    return dict(done, points=points, **{"timeline": timeline, **changes})


def finished(evidence, accepted=(), **changes):
    """The certificate at the end."""
    kept = record(remnants.frozen(evidence), accepted)
    parts = {kept["to"]: part(**changes), "other": {"outcome": "done", "reason": ""}}
    return failover_outcome.completed(kept, parts, list(accepted), RUN)


def outcome(kept, point):
    return {row["outcome"] for row in kept["premises"] if row["id"] == point}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_everything_shown_is_proven_and_nothing_before(engine):
    kept = record(remnants.evidence(engine))
    assert (kept["verdict"], kept["pending"]) == (PROVEN, ["C2", "C6"])
    assert "so far" in certificate.verdict_line(kept)
    assert {row["id"] for row in kept["premises"]} == {f"C{number}" for number in range(1, 8)}
    assert all(row["statement"] for row in kept["premises"])
    kept = finished(remnants.evidence(engine))
    assert certificate.verdict_line(kept).startswith(
        "proven; assumes semi-sync on db1 was not changed"
    )
    assert {row["outcome"] for row in kept["premises"]} == {"passed"}


def without(evidence, **changes):
    return evidence._replace(**changes)


def last(**changes):
    return lambda evidence: without(evidence, last=remnants.look("mysql", **changes))


def lost_host(evidence):
    evidence.members[2].info, evidence.members[2].error = None, "unreachable"
    return evidence


def restarted(evidence):
    evidence.members[2].info["uptime"]["seconds"] = 60
    evidence.looks["db3"]["kernel_seconds"] = 60.0
    return evidence


def errant(evidence):
    evidence.members[2].info["gtid"]["gtid_executed"] += f",{uuid('db3')}:1"
    return evidence


TABLE = [
    (last(), PROVEN, ""),
    (last(timeout="10000"), WINDOW, ""),
    (last(wait_no_replica="OFF"), WINDOW, ""),
    (last(wait_sessions="3", calm_at=None, timeout="900000"), WINDOW, ""),
    (last(status="OFF"), WINDOW, ""),
    (lambda evidence: without(evidence, last=None), NOT_PROVEN, "C7"),
    (last(server=uuid("db9")), NOT_PROVEN, "C7"),
    (lost_host, NOT_PROVEN, "C1"),
    (last(strangers=1), NOT_PROVEN, "C1"),
    (last(strangers=None, clients="3"), NOT_PROVEN, "C1"),
    (restarted, NOT_PROVEN, "C5"),
    (errant, NOT_PROVEN, "C4"),
]


@pytest.mark.parametrize("changed,verdict,because", TABLE)
def test_a_verdict_says_no_more_than_what_was_shown(changed, verdict, because):
    kept = finished(changed(remnants.evidence("mysql")), ["alone"])
    assert kept["verdict"] == verdict
    assert any(words.startswith(because + ",") for words in kept["reasons"]) == bool(because)
    assert (kept["window"] is not None) == (verdict == WINDOW)


@pytest.mark.parametrize(
    "changes,begin,known",
    [
        ({"timeout": "10000"}, LOOK + 10, False),
        ({"wait_no_replica": "OFF"}, LOOK, False),
        # A commit waited already: for how long is not known.
        ({"wait_sessions": "1", "calm_at": None, "timeout": "10000"}, LOOK, False),
        # But not earlier than the look at which no commit waited.
        (
            {"wait_sessions": "1", "timeout": "310000", "calm_at": survivors.stamp(LOOK - 300)},
            LOOK + 10,
            False,
        ),
        (
            {"wait_sessions": "1", "timeout": "10000", "calm_at": survivors.stamp(LOOK - 300)},
            LOOK,
            False,
        ),
        ({"status": "OFF"}, LOOK, True),
        # What the source had then is on the replicas, however long it was degraded before.
        ({"status": "OFF", "degraded_since": survivors.stamp(LOOK - 60)}, LOOK, True),
    ],
)
def test_a_window_begins_where_the_source_may_first_have_confirmed_alone(changes, begin, known):
    evidence = remnants.evidence("mysql", last=remnants.look("mysql", **changes))
    assert last_look.window(evidence) == (begin, NOW, known, False)
    words = certificate.verdict_line(record(evidence))
    assert f"from {survivors.stamp(begin)} to {survivors.stamp(NOW)}" in words
    assert "how many commits is not known" in words
    # It was not seen dead.
    assert "and longer if its server was not dead by then" in words


def end(how, ended_ago, started_ago=86400.0, stopping_ago=None):
    return {
        "how": how,
        "status": 9 if how == "killed" else 0,
        "ended_ago": ended_ago,
        "started_ago": started_ago,
        "stopping_ago": stopping_ago,
    }


@pytest.mark.parametrize(
    "seen,timeout,expected",
    [
        (None, 700, None),
        (None, 10, (LOOK + 10, NOW)),
        # Killed before its timeout was over, as its host says.
        (end("killed", 595), 10, None),
        (end("killed", 300), 10, (LOOK + 10, NOW - 300)),
        # Stopped in order it confirms what waits, whatever its timeout is.
        (end("exited", 299, stopping_ago=300), 3600, (NOW - 300, NOW - 299)),
        (end("exited", 300), 3600, (NOW - 300, NOW - 300)),
        # Started since the last look: how it ended before that is unknown.
        (end("killed", 100, started_ago=400), 3600, (LOOK, NOW - 100)),
    ],
)
def test_how_the_source_ended_counts_where_its_host_says(seen, timeout, expected):
    evidence = remnants.evidence("mysql", last=remnants.look("mysql", timeout=str(timeout * 1000)))
    evidence.looks["db1"] = {"ended": seen}
    lapse = last_look.window(evidence)
    assert lapse == (None if expected is None else (*expected, False, seen is not None))
    assert finished(evidence)["verdict"] == (PROVEN if expected is None else WINDOW)


def test_a_source_that_was_seen_within_its_timeout_cannot_have_fallen_back():
    evidence = remnants.evidence("mysql", last=remnants.look("mysql", timeout="600000"))
    assert last_look.window(evidence) is None
    assert last_look.window(evidence._replace(now=NOW + 1)) is not None


@pytest.mark.parametrize(
    "broken",
    [
        {"stopped": False, "msg": "it hangs"},
        {},
    ],
)
def test_an_io_thread_that_runs_is_no_proof_and_no_failover(broken):
    evidence = remnants.frozen(remnants.evidence("mysql"))
    evidence.frozen["db3"] = broken
    assert [case.name for case in failover_outcome.not_frozen(evidence)] == ["not_stopped:db3"]
    kept = record(evidence)
    assert kept["verdict"] == NOT_PROVEN
    assert outcome(kept, "C2") == {"passed", "failed"}


def test_what_was_not_applied_is_not_proven():
    points = [{"id": "C6", "good": False, "observed": "it stands still", "expected": "all"}]
    for changes in ({"points": points}, {"points": []}):
        kept = record(remnants.frozen(remnants.evidence("mysql")))
        parts = {kept["to"]: dict(part(), **changes)}
        kept = failover_outcome.completed(kept, parts, [], RUN)
        assert kept["verdict"] == NOT_PROVEN
        assert kept["reasons"][0].startswith("C6")


def test_filters_and_skips_are_not_everything():
    evidence = remnants.evidence("mysql")
    for host in ("db2", "db3"):
        evidence.looks[host]["filters"] = ["replica_skip_errors = 1062"]
    chosen = evidence.members[1]
    decision = cases.Decision(chosen, cases.cases(evidence, chosen))
    kept = certificate.record("shop", "feed", evidence, decision)
    assert outcome(kept, "C6") == {"failed"}
    assert kept["verdict"] == NOT_PROVEN
    # A plan, which ends here, promises no moment either.
    assert kept["proven_until"] is None


def test_only_what_was_accepted_and_is_there_is_kept():
    evidence = lost_host(remnants.evidence("mysql"))
    kept = record(evidence, ["unread:db3", "unread:db9", "degraded"])
    assert kept["accepted"] == ["unread:db3"]


def test_a_refusal_names_the_cases_and_what_to_say():
    evidence = lost_host(remnants.evidence("mysql"))
    refused = cases.decide(evidence, []).refused
    words = certificate.refusal_message("shop", refused)
    assert "semisync_failover_accept=unread:db3,alone" in words
    told = "\n".join(certificate.certificate_lines(record(evidence), refused))
    assert "REFUSED unread:db3" in told and "VERDICT not proven" in told
    lives = evidence._replace(source={})
    assert "accept" not in certificate.refusal_message("shop", cases.decide(lives, []).refused)


@pytest.mark.parametrize(
    "changes,said",
    [
        ({}, ""),
        ({"outcome": "undone", "reason": "too slow"}, "everything was rolled back"),
        ({"outcome": "refused", "reason": "another run"}, "everything was rolled back"),
        ({"outcome": "unknown", "reason": "it is gone"}, "not known whether db2 took over"),
        ({"reason": "its first commit was not acknowledged"}, "took over, but"),
    ],
)
def test_a_run_fails_where_somebody_must_look(changes, said):
    kept = record(remnants.frozen(remnants.evidence("mysql")))
    parts = {kept["to"]: part(**changes), "db3": {"outcome": "done", "reason": ""}}
    kept = failover_outcome.completed(kept, parts, [], RUN)
    words = failover_outcome.failover_failure(kept, parts)
    assert (said in words) if said else not words
    parts["db3"] = {"outcome": "refused", "reason": "no login"}
    kept = failover_outcome.completed(
        record(remnants.frozen(remnants.evidence("mysql"))), parts, [], RUN
    )
    assert failover_outcome.failover_failure(kept, parts)


@pytest.mark.parametrize(
    "relaxed,event,words",
    [
        ({}, "", "db2 applied 9000 transactions in 61.2 s"),
        ({"sync_binlog": 1000}, "careful_again", "sync_binlog = 1000"),
        ({"sync_binlog": 1000}, "careful_again", "restored before it accepted writes"),
        ({"sync_binlog": 1000}, "", "NOT CONFIRMED AS RESTORED"),
    ],
)
def test_a_certificate_says_how_a_backlog_was_applied(relaxed, event, words):
    ahead = {"transactions": 9000, "seconds": 61.2, "relaxed": relaxed}
    timeline = [{"event": name, "words": "", "at": NOW} for name in (event, "open") if name]
    kept = finished(remnants.evidence("mysql"), ahead=ahead, timeline=timeline)
    assert words in "\n".join(failover_outcome.failover_lines(kept))
    assert kept["applied_ahead"]["careful_again"] is (bool(event) if relaxed else None)
    assert finished(remnants.evidence("mysql"))["applied_ahead"] is None


def test_the_times_count_from_the_run_s_beginning():
    kept = finished(remnants.evidence("mysql"))
    begun = results.begun_at(RUN)
    assert kept["opened_after_ms"] == round(1000 * (NOW - begun))
    assert results.begun_at("") is None


def test_writers_that_were_frozen_for_days_are_proven():
    days = {"timeout": "604800000", "wait_sessions": "9"}
    calm = survivors.stamp(LOOK - 86400)
    kept = remnants.look("mysql", **days, calm_at=calm)
    assert last_look.window(remnants.evidence("mysql", last=kept)) is None
    assert last_look.window(
        remnants.evidence("mysql", last=remnants.look("mysql", **days, calm_at=None))
    )


def test_the_fence_of_a_lossless_source_has_days():
    kept = remnants.look("mysql", timeout="604800000")
    words = certificate.fence_words(remnants.evidence("mysql", last=kept))
    assert "7.0 days" in words and "confirms nothing" in words
    kept["wait_no_replica"] = "OFF"
    words = certificate.fence_words(remnants.evidence("mysql", last=kept))
    assert "confirms commits without a replica" in words


def test_the_fence_is_named_with_its_deadline():
    words = certificate.fence_words(
        remnants.evidence("mysql", last=remnants.look("mysql", timeout="10000"))
    )
    assert "10 s after" in words and "logical fence" in words
    another = remnants.look("mariadb", timeout="10000", server_id="7")
    for server, look in (("mysql", None), ("mariadb", another)):
        words = certificate.fence_words(remnants.evidence(server, last=look))
        assert "make sure that it is dead" in words


def test_a_look_at_another_server_does_not_say_for_whom_a_commit_waited():
    kept = remnants.look("mariadb", wait_for_replica_count="2")
    assert relay_logs.waited_for(remnants.evidence("mariadb", last=kept)) == 2
    kept["server_id"] = "7"
    assert relay_logs.waited_for(remnants.evidence("mariadb", last=kept)) == 1


def test_a_certificate_is_of_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        Path(certificate.__file__).with_name("certificate_schema.json").read_text(encoding="utf-8")
    )
    for kept in (
        record(remnants.evidence("mysql")),
        record(remnants.evidence("mariadb", last=remnants.look("mariadb", status="OFF"))),
        record(lost_host(remnants.evidence("mysql")), ["unread:db3"]),
        finished(remnants.evidence("mysql")),
    ):
        jsonschema.validate(json.loads(json.dumps(kept)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(dict(record(remnants.evidence("mysql")), verdict="fine"), schema)
