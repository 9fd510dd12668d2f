# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What semi-sync would cost, from what a source did for some seconds without it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip
from ansible_collections.dbre.semisync.plugins.module_utils._bench.sampling import Sample
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import SOURCE, Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import amount
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import commit_model
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.throughput_limit import (
    COMMITS,
    NOTHING,
    limit,
    taken_in_turn,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration, short
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member

FILE = "advice.json"
WAIT_POINTS = (commit_model.AFTER_SYNC, commit_model.AFTER_COMMIT)
# Fewer commits than these say nothing about the next ones.
FEWEST = 50
# An acknowledgement takes the time of so many answers to a trivial query, for its group the work
# of so many, and for each commit in it; and a slow commit meets this share of the stalls that a
# trivial query does. docs/evidence/advise.md has what these were fitted to.
DELAY, WORK, WAKE, STALL = 0.75, 0.25, 0.2, 0.5
# A session that is idle for less between two commits is on its way, and does not pause.
LEAST_PAUSE = 0.02
# Above the first share of commits that wait for a row, one row is taken to hold up all of them;
# below the second one, none.
HOT, COLD = 0.5, 0.05
# With less of its processors idle, threads that are woken wait for one, and how long is not known.
LEAST_IDLE = 0.1
# Of larger transactions, the time on the line counts, and the line's speed is not known.
LARGE = 64 * 1024
# A timeout that fits is as many times the slowest commit in a hundred, and one of these.
MARGIN = 20
TIMEOUTS = (1000, 2000, 5000, 10000, 20000, 30000, 60000)
# A second acknowledgement fits if it leaves this share of the rate.
AFFORDABLE = 0.9


class Now(TypedDict):
    """What the source does without semi-sync."""

    rate: float
    sessions: int
    commit_ms: float
    bytes: float | None
    group: float | None
    answer_ms: float
    idle: float | None
    waiting_for_rows: float | None


class Prediction(TypedDict):
    """What semi-sync would give if this replica acknowledged: the figures are None if `unknown`
    says why they cannot be known.
    """

    replica: str
    rtt_ms: float | None
    wait_point: str
    rate: float | None
    share: float | None
    p50_ms: float | None
    p99_ms: float | None
    unknown: str


class Fits(TypedDict):
    """What fits, None if it cannot be known.

    Attributes:
        least_ms: below it, ordinary commits would make semi-sync fall back.
        most_ms: from it on, a stall makes waits for rows fail.
    """

    timeout_ms: int | None
    least_ms: int | None
    most_ms: int
    wait_count: int


class Advice(TypedDict):
    """advice.json."""

    cluster: str
    source: str
    at: str
    now: Now | None
    predictions: list[Prediction]
    fits: Fits
    unknown: list[str]
    statement: list[str]
    sample: Sample


class Cluster(NamedTuple):
    """What is known of a cluster's servers.

    Attributes:
        names: the source's.
        lock_wait_s: its innodb_lock_wait_timeout.
        trips: replica -> round trip in milliseconds, None if it did not answer; the nearest first.
    """

    names: Names
    lock_wait_s: int
    trips: Mapping[str, float | None]


def known_cluster(source: Member, replicas: list[Member], trips: Mapping[str, Trip]) -> Cluster:
    """What a prediction needs of the servers.

    Args:
        trips: by the replicas' addresses.
    """
    facts = source.facts
    by_host = {member.host: trips[member.address]["median"] for member in replicas}

    def far(host: str) -> tuple[bool, float]:
        trip = by_host[host]
        return trip is None, trip or 0.0

    nearest = sorted(by_host, key=far)
    return Cluster(
        names=Names(facts["engine"], parse_version(facts["version"])),
        lock_wait_s=int(facts["variables"].get("innodb_lock_wait_timeout") or 50),
        trips={host: by_host[host] for host in nearest},
    )


def no_sample(sample: Sample) -> str:
    """Why a sample tells nothing; empty if it does."""
    if sample["semisync"] == "ON":
        return (
            "semi-sync is on, so the source shows what it costs already; benchmark.yml compares it"
            " with asynchronous replication"
        )
    if sample["commits"] < FEWEST:
        return (
            f"{sample['commits']} commits in {sample['seconds']:.0f} s are too few; run it while"
            " clients write"
        )
    if not sessions_of(sample):
        return "no session of a client was seen; the login needs the privilege PROCESS"
    return ""


def sessions_of(sample: Sample) -> int:
    """How many sessions commit; without performance_schema all that were seen count."""
    return sample["writers"] or sample["sessions"]


def seen_now(sample: Sample) -> Now:
    sessions, seconds, commits = sessions_of(sample), sample["seconds"], sample["commits"]
    groups, waits = sample["groups"], sample["lock_waits"]
    return {
        "rate": round(commits / seconds, 1),
        "sessions": sessions,
        "commit_ms": round(sessions * seconds / commits * 1000, 3),
        "bytes": round(sample["bytes"] / commits) if sample["bytes"] is not None else None,
        "group": round(commits / groups, 2) if groups else None,
        "answer_ms": sample["answer_ms"]["p50"],
        "idle": sample["idle"],
        "waiting_for_rows": round(waits / commits, 3) if waits is not None else None,
    }


def model_of(sample: Sample, names: Names) -> commit_model.Source:
    """The source as the model has it, fitted to what it did."""
    now, sessions = seen_now(sample), sessions_of(sample)
    resting = max(0.0, 1 - sample["working"] / sessions) * sessions / now["rate"]
    source = commit_model.Source(
        sessions=sessions,
        pause=resting if resting >= LEAST_PAUSE else 0.0,
        work=0.0,
        # Fitted to the groups: log_busy has the writing only, not what a group waits for meanwhile.
        log=0.0,
        cpus=sample["cpus"],
        keeps_log=names.mariadb,
    )
    return commit_model.fitted(source, now["rate"], now["group"])


def hot(sample: Sample) -> bool:
    """Whether one row holds up all sessions."""
    return (seen_now(sample)["waiting_for_rows"] or 0.0) >= HOT


def unknowable(sample: Sample, wait_point: str, trip: float | None) -> str:
    """Why nothing can be said of one prediction; empty if something can."""
    now = seen_now(sample)
    waiting = now["waiting_for_rows"] or 0.0
    if trip is None:
        return "it does not answer ping from the source, so its round trip is not known"
    if wait_point == commit_model.AFTER_SYNC and COLD < waiting < HOT:
        return (
            f"{waiting:.0%} of the commits wait for a row that another one has locked, and"
            " AFTER_SYNC keeps it locked for the round trip; how many follow each other is not"
            " known"
        )
    if (now["bytes"] or 0) > LARGE:
        return (
            f"a transaction has {amount(now['bytes'] or 0)}, and the speed of the line is not known"
        )
    return ""


def predict(
    sample: Sample,
    source: commit_model.Source,
    cluster: Cluster,
    replica: str,
    wait_point: str,
) -> Prediction:
    """What semi-sync would give if this replica acknowledged."""
    now, trip_ms = seen_now(sample), cluster.trips[replica]
    made: Prediction = {
        "replica": replica,
        "rtt_ms": trip_ms,
        "wait_point": wait_point,
        "rate": None,
        "share": None,
        "p50_ms": None,
        "p99_ms": None,
        "unknown": unknowable(sample, wait_point, trip_ms),
    }
    if trip_ms is None or made["unknown"]:
        return made
    answer = now["answer_ms"]
    waits = trip_ms + DELAY * answer
    reply = commit_model.Reply(waits / 1000, WORK * answer / 1000, WAKE * answer / 1000)
    reached = commit_model.simulate(source, wait_point, reply)
    turns = taken_in_turn(hot(sample), wait_point, cluster.names.waits_together)
    slower = 1.0
    if turns != NOTHING:
        # The model has no commits and no acknowledgements that are taken in turn.
        single = now["rate"] if turns == COMMITS else None
        bound = limit(source.sessions, waits, single, now["rate"], turns=turns)
        slower = max(1.0, reached.rate / (bound or now["rate"]))
    rate = reached.rate / slower
    made["rate"] = round(rate, 1)
    made["share"] = round(rate / now["rate"], 3)
    made["p50_ms"] = round(reached.p50 * slower * 1000, 2)
    made["p99_ms"] = round(reached.p99 * slower * 1000 + stall(sample), 2)
    return made


def stall(sample: Sample) -> float:
    """Milliseconds for which the source holds up one statement in a hundred: the simulation has no
    stalls, and a commit meets a part of those that a trivial query does.
    """
    answers = sample["answer_ms"]
    return STALL * max(0.0, answers["p99"] - answers["p50"])


def fits(cluster: Cluster, predictions: Sequence[Prediction]) -> Fits:
    """The timeout and the wait count that fit."""
    most = cluster.lock_wait_s * 1000
    slowest = max((each["p99_ms"] or 0.0 for each in predictions), default=0.0)
    known = all(each["p99_ms"] is not None for each in predictions) and slowest
    enough = [one for one in TIMEOUTS if MARGIN * slowest <= one < most]
    by_nearest = [
        each["rate"] or 0.0 for each in predictions if each["wait_point"] == WAIT_POINTS[0]
    ]
    # One of those that acknowledge may fail: as many are needed as wait, and one more.
    counts = "wait_for_replica_count" in cluster.names.variables(SOURCE)
    two = counts and len(by_nearest) > 2 and by_nearest[1] >= AFFORDABLE * by_nearest[0] > 0
    return {
        "timeout_ms": enough[0] if known and enough else None,
        "least_ms": math.ceil(slowest) if known else None,
        "most_ms": most,
        "wait_count": 2 if two else 1,
    }


def advise(cluster_name: str, source: str, at: str, sample: Sample, cluster: Cluster) -> Advice:
    """What a sample of a source says about semi-sync."""
    advice: Advice = {
        "cluster": cluster_name,
        "source": source,
        "at": at,
        "now": None,
        "predictions": [],
        "fits": fits(cluster, []),
        "unknown": [no_sample(sample)],
        "statement": [],
        "sample": sample,
    }
    if not advice["unknown"][0]:
        model = model_of(sample, cluster.names)
        predictions = [
            predict(sample, model, cluster, replica, wait_point)
            for replica in cluster.trips
            for wait_point in WAIT_POINTS
        ]
        advice["now"], advice["predictions"] = seen_now(sample), predictions
        advice["fits"] = fits(cluster, predictions)
        advice["unknown"] = doubts(sample, predictions)
    advice["statement"] = statement(advice)
    return advice


def doubts(sample: Sample, predictions: Sequence[Prediction]) -> list[str]:
    """What cannot be known, in sentences."""
    lines: list[str] = []
    for each in predictions:
        words = f"{each['replica']}, {each['wait_point']}: {each['unknown']}"
        lines += [words] if each["unknown"] else []
    if not sample["writers"]:
        lines.append(
            "which sessions commit: performance_schema does not say, so all that were at work count"
        )
    if predictions:
        lines.append(
            "how the slowest commits are distributed: the p99 is the model's, from a usual spread"
        )
    return lines


def statement(advice: Advice) -> list[str]:
    """The advice in sentences."""
    now = advice["now"]
    if now is None:
        return [f"semi-sync's cost is not known: {advice['unknown'][0]}."]
    lines = [
        f"Without semi-sync {short(now['rate'])} commits/s of {now['sessions']} sessions,"
        f" {duration(now['commit_ms'])} each."
    ]
    for each in advice["predictions"]:
        where = f"{each['replica']}, {each['wait_point']}"
        if each["rate"] is None or each["p50_ms"] is None or each["p99_ms"] is None:
            lines.append(f"{where}: not known.")
            continue
        lines.append(
            f"{where}, round trip {duration(each['rtt_ms'] or 0.0)}: {short(each['rate'])}"
            f" commits/s ({each['share'] or 0.0:.0%}), median {duration(each['p50_ms'])}, p99"
            f" {duration(each['p99_ms'])}."
        )
    if now["idle"] is not None and now["idle"] < LEAST_IDLE:
        lines.append(
            f"The source's processors are only {now['idle']:.0%} idle, so acknowledgements wait for"
            " one too: the rates may be far too high."
        )
    return [*lines, fits_in_words(advice["fits"])]


def fits_in_words(fit: Fits) -> str:
    count = f"wait count {fit['wait_count']}"
    if fit["least_ms"] is None:
        return f"Which timeout fits is not known; {count} fits."
    if fit["timeout_ms"] is None:
        return (
            f"No timeout fits: below {duration(fit['least_ms'])} commits would time out, from"
            f" {duration(fit['most_ms'])} on waits for rows would (innodb_lock_wait_timeout);"
            f" {count} fits."
        )
    return (
        f"A timeout of {duration(fit['timeout_ms'])} and {count} fit; a timeout costs nothing"
        f" unless it is below {duration(fit['least_ms'])}, where semi-sync would fall back."
    )
