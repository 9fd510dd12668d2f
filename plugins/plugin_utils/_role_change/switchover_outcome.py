# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of a switchover, from the results of its parts: one timeline of all hosts, and the
checkpoints S1 and following.
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.module_utils._replication.journal import (
    DONE,
    REFUSED,
    UNDONE,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import SEE_ITS_RESULT
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check, checkpoints
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    interrupted_switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    PartResult,
    Parts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Changes,
    Line,
    Span,
    Statement,
    SwitchoverRecord,
    SwitchoverRun,
)

# Of switchover.json; schema.json beside this file describes it.
FORMAT = 1
# The mode of a run that only settles a switchover that has moved the role.
SETTLE = "settle"
SILENT = "its process ended without reporting"
# Smaller clock differences are not corrected: a host sees another's flag within this time.
SEEN_SECONDS = 0.05
TITLES = {
    "S1": "The target has caught up before writers are kept out",
    "S2": "No long transaction is left",
    "S3": "The replicas acknowledge when writers are kept out",
    "S4": "No commit waits, and the position does not move",
    "S5": "The target has applied everything",
    "S6": "Enough replicas acknowledge before it opens",
    "S7": "The first commit is acknowledged",
    "S8": "All other servers follow, the former source too",
    "S9": "The option files have the roles",
}


def outcome(plan: SwitchoverRun, parts: Parts) -> tuple[str, str]:
    """(what became of it, why in words).

    Args:
        parts: host -> result of its part; one that failed without one has a msg alone.
    """
    if plan["mode"] == SETTLE:
        # No part has run, but the journal says that the role moved.
        return DONE, ""
    source, target = part_result(parts, plan["from"]), part_result(parts, plan["to"])
    reasons = [
        f"{host}: {reason}"
        for host, reason in ((host, reason_of(result)) for host, result in parts.items())
        if reason
    ]
    telling = [words for words in reasons if SEE_ITS_RESULT not in words] or reasons
    why = "; ".join(telling)
    if DONE in (target.get("outcome"), source.get("outcome")):
        return DONE, why
    if source.get("outcome") in (UNDONE, REFUSED):
        return source["outcome"], why
    return UNKNOWN, why


def part_result(parts: Parts, host: str) -> PartResult:
    """What a host's part returned; empty if it has none."""
    return parts.get(host) or {}


def reason_of(result: PartResult | None) -> str:
    if not result or "outcome" not in result:
        words = " ".join(str((result or {}).get("msg") or "").split())
        return f"{SILENT}{': ' + words[:300] if words else ''}"
    return str(result.get("reason", ""))


def left_over(parts: Parts) -> list[str]:
    """Hosts whose part is not done although the role has moved."""
    return [host for host, result in parts.items() if (result or {}).get("outcome") != DONE]


def timeline(plan: SwitchoverRun, parts: Parts) -> list[Line]:
    """The events of all parts in one order, in milliseconds from the moment at which writers were
    kept out.
    """
    events = {
        host: {event["event"]: event["at"] for event in (result or {}).get("timeline", [])}
        for host, result in parts.items()
    }
    here, there = events.get(plan["from"], {}), events.get(plan["to"], {})
    begin = here.get("freeze")
    shifts = {plan["from"]: 0.0}
    shifts[plan["to"]] = shift(here.get("frozen"), there.get("frozen_seen"))
    for host, seen in events.items():
        if host not in shifts:
            ready = there.get("ready")
            there_is = None if ready is None else ready + shifts[plan["to"]]
            shifts[host] = shift(there_is, seen.get("attach"))
    every = [
        (event["at"] + shifts[host], host, event)
        for host, result in parts.items()
        for event in (result or {}).get("timeline", [])
    ]
    every.sort(key=lambda entry: entry[0])
    return [
        {
            "at_ms": None if begin is None else round(1000 * (at - begin), 1),
            "host": host,
            "event": event["event"],
            "words": event["words"],
        }
        for at, host, event in every
    ]


def shift(said: float | None, seen: float | None) -> float:
    """The error of a clock that saw a flag before it was set, or long after."""
    if said is None or seen is None or 0 <= seen - said <= SEEN_SECONDS:
        return 0.0
    return said - seen


def writable(plan: SwitchoverRun, lines: list[Line]) -> list[Span]:
    """Which host accepted writes when, in milliseconds of the timeline; None for what began before
    it, or has not ended.
    """
    when: dict[str, float] = {}
    for line in lines:
        if line["at_ms"] is not None:
            when.setdefault(line["event"], line["at_ms"])
    if "freeze" not in when:
        return []
    spans: list[Span] = [{"host": plan["from"], "from_ms": None, "to_ms": when["freeze"]}]
    # The target's part may have died before it reported; the source saw it open.
    opened = when.get("open", when.get("open_seen"))
    for host, begin in ((plan["from"], when.get("reopened")), (plan["to"], opened)):
        if begin is not None:
            spans.append({"host": host, "from_ms": begin, "to_ms": None})
    return spans


def froze_at(plan: SwitchoverRun, parts: Parts) -> str | None:
    """When writers were blocked, by the source's clock; None if they were not."""
    events = (parts.get(plan["from"]) or {}).get("timeline", [])
    for event in events:
        if event["event"] == "freeze":
            return clock.utc_milliseconds(event["at"])
    return None


def points(parts: Parts, titles: Mapping[str, str]) -> list[Check]:
    """The checkpoints that the parts saw, as rows.

    Args:
        titles: of those that are wanted.
    """
    return [
        check.row(one["id"], host, titles[one["id"]], one["expected"], one["observed"], one["good"])
        for host, result in parts.items()
        for one in (result or {}).get("points", [])
        if one["id"] in titles
    ]


def settled(
    plan: SwitchoverRun,
    members: list[Member],
    plans: Mapping[str, Changes | None],
) -> list[Check]:
    """S8 and S9, from what the servers report at the end.

    Args:
        plans: host -> semisync_plan's result, after the last change.
    """
    rows: list[Check] = []
    for member in members:
        if member.host != plan["to"]:
            rows.append(follower(plan, member, is_older(plan, member, members)))
        fenced = member.host == plan["from"] and interrupted_switchover.is_fenced(member)
        rows.append(roles_in_files(member.host, plans.get(member.host) or {}, fenced))
    return rows


def roles_in_files(host: str, plan: Changes, fenced: bool) -> Check:
    """S9 of one host.

    Args:
        plan: semisync_plan's result, after the last change.
        fenced: whether the former source still has its fence.
    """
    changes = plan.get("server_changes")
    observed = "it was not read" if changes is None else "changes are left" if changes else "so"
    if fenced:
        observed = (
            "the option file that keeps its channel from starting while its role moves is still"
            " there: run switchover.yml again with the same host"
        )
    good = changes is False and not fenced
    return check.row("S9", host, TITLES["S9"], "nothing is left to change", observed, good)


def is_older(plan: SwitchoverRun, member: Member, members: list[Member]) -> bool:
    """Whether a server is of an older series than the new source, as in an upgrade."""
    series = {one.host: parse_version(one.facts["version"])[:2] for one in members if one.info}
    here, there = series.get(member.host), series.get(plan["to"])
    return bool(here and there and here < there)


def follower(plan: SwitchoverRun, member: Member, older: bool) -> Check:
    """S8 of one host. The former source must acknowledge too, as the target did before; the applier
    of an older version may stop at what it does not know.
    """
    channel = None if member.info is None else member.channel
    peer = next(one for one in plan["hosts"][member.host]["members"] if one["host"] == plan["to"])
    there = channel is not None and (channel["source_host"], str(channel["source_port"])) == (
        peer["address"],
        str(peer["port"]),
    )
    observed = member.error if member.info is None else channels.describe_channel(channel)
    if channel is not None and not there:
        observed += f", from {channel['source_host']}:{channel['source_port']}"
    receives = channel is not None and channel["io_running"] == "Yes"
    runs = receives if older else channels.running(channel)
    good, expected = there and runs, f"it follows {plan['to']}"
    if member.host == plan["from"]:
        status = member.facts["semisync"]["replica"]["status"]["status"] if good else "OFF"
        good, expected = good and status == "ON", f"{expected}, semi-sync status ON"
        observed += f", semi-sync status {status}"
    return check.row("S8", member.host, TITLES["S8"], expected, observed, good)


def table(lines: list[Line]) -> list[str]:
    """The timeline as text."""
    return [
        f"  {'' if line['at_ms'] is None else format(line['at_ms'], '.0f'):>8} ms  {line['host']}:"
        f" {line['event']}{' ' + line['words'] if line['words'] else ''}"
        for line in lines
    ]


def record(
    plan: SwitchoverRun,
    parts: Parts,
    outcome_word: str,
    reason: str,
    rows: list[Check],
) -> SwitchoverRecord:
    """The content of switchover.json."""
    source = parts.get(plan["from"]) or {}
    lines = timeline(plan, parts)
    return {
        "format": FORMAT,
        "cluster": plan["cluster"],
        "mode": plan["mode"],
        "from": plan["from"],
        "to": plan["to"],
        "token": plan["token"],
        "outcome": outcome_word,
        "reason": reason,
        "froze_at": froze_at(plan, parts),
        "writers_waited_ms": source.get("writers_waited_ms"),
        "writable": writable(plan, lines),
        "position": source.get("position") or "",
        "premises": plan["premises"],
        "points": sorted(rows, key=lambda row: row["id"]),
        "timeline": lines,
        "statements": statements_run(parts),
    }


def statements_run(parts: Parts) -> list[Statement]:
    """The statements that were run, each with its host."""
    return [
        {"host": host, "statement": statement}
        for host, result in parts.items()
        for statement in (result or {}).get("statements", [])
    ]


def with_mended(new: SwitchoverRecord, before: SwitchoverRecord | None) -> SwitchoverRecord:
    """A record with the outcome of an interrupted switchover that the same run completed or rolled
    back first.

    Args:
        before: the run's switchover.json so far.
    """
    if not before:
        return new
    mended = list(before.get("mended", []))
    if identity(before) != identity(new):
        mended.append(
            {
                "mode": before["mode"],
                "from": before["from"],
                "to": before["to"],
                "token": before["token"],
                "outcome": before["outcome"],
                "reason": before["reason"],
                "froze_at": before["froze_at"],
                "writers_waited_ms": before["writers_waited_ms"],
            }
        )
    return {**new, "mended": mended} if mended else new


def identity(of_one: SwitchoverRecord) -> tuple[str, str, str, str]:
    """What distinguishes the switchovers of one run."""
    return of_one["mode"], of_one["from"], of_one["to"], of_one["token"]


def switchover_lines(record_of: SwitchoverRecord) -> list[str]:
    """A record as text."""
    waited = record_of["writers_waited_ms"]
    lines = [
        f"Switchover of cluster {record_of['cluster']} from {record_of['from']} to"
        f" {record_of['to']}: {record_of['outcome']}"
        + (f" ({record_of['reason']})" if record_of["reason"] else "")
    ]
    if waited is not None:
        lines.append(f"  no server took writes for {waited:.0f} ms")
    lines += table(record_of["timeline"])
    return lines + [
        f"  {row['id']}  {row['outcome']}  {row['host']}  {row['title']}: {row['observed']}"
        for row in record_of["points"]
    ]


def last_lines(record_of: SwitchoverRecord) -> tuple[list[str], str]:
    """A record in one or two lines, and the playbook to run next."""
    way = f"switchover from {record_of['from']} to {record_of['to']}"
    reason = f" ({record_of['reason']})" if record_of["reason"] else ""
    lines = [f"{way}: {record_of['outcome']}{reason}"]
    if record_of["writers_waited_ms"] is not None:
        lines.append(f"no server took writes for {record_of['writers_waited_ms']:.0f} ms")
    return lines, "switchover" if record_of["outcome"] == UNKNOWN else "verify"


def switchover_failure(record_of: SwitchoverRecord, parts: Parts, settled_too: bool) -> str:
    """Why the run fails; empty if the role moved and everything else is done."""
    source, target, reason = record_of["from"], record_of["to"], record_of["reason"]
    where = f"Cluster {record_of['cluster']!r}"
    if record_of["mode"] == "undo":
        if record_of["outcome"] == UNDONE:
            return ""
        return f"{where}: the interrupted switchover could not be rolled back: {reason}"
    if record_of["outcome"] == REFUSED:
        return f"{where}: nothing was changed, {source} is the source: {reason}"
    if record_of["outcome"] == UNDONE:
        return f"{where}: everything was rolled back, {source} is the source: {reason}"
    if record_of["outcome"] == UNKNOWN:
        return (
            f"{where}: it is not known which server is the source: {reason}. Run switchover.yml"
            f" again when {source} and {target} respond: it completes the switchover or rolls it"
            " back, and says what to do if one of them is lost for good"
        )
    left = left_over(parts)
    if left and not settled_too:
        return (
            f"{where}: {target} is the source, but {', '.join(left)} did not finish:"
            f" {reason}. Run switchover.yml again"
        )
    failed = [row for row in record_of["points"] if row["outcome"] == checkpoints.FAILED]
    if settled_too and failed:
        return f"{where}: {target} is the source, but " + "; ".join(
            f"{row['id']} {row['host']}: {row['observed']}" for row in failed
        )
    return ""
