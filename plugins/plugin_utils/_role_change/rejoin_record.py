# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is stored and shown of a verdict on a former source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    FAILED,
    PASSED,
    UNKNOWN,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
    PHANTOMS,
    Judged,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.methods import REPLAY, Way
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    Missed,
    Phantoms,
    RejoinRecord,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        ErrantShown,
        ErrantTransaction,
        FormerLook,
        HeldRow,
    )

FILE = "rejoin.json"
# At most so many transactions, and lines of each, are shown; rejoin.json has all.
TOLD, LINES = 10, 12


def phantoms_of(judged: Judged, look: FormerLook) -> Phantoms:
    """The transactions that only the former source has, as far as its log was read."""
    log = look.get("log")
    has_phantoms = judged.verdict == PHANTOMS
    shown: ErrantShown = {"count": 0, "transactions": [], "tables": {}, "lasting": []}
    if has_phantoms and log:
        shown = log["shown"]
    return {
        "gtids": judged.phantoms,
        "lacking": log.get("lacking", []) if has_phantoms and log else [],
        "count": (log.get("count") if log else None) if has_phantoms else 0,
        "transactions": shown["transactions"],
        "tables": shown["tables"],
        "lasting": shown["lasting"],
        "not_shown": "" if log else look.get("why", ""),
    }


def record_of(
    name: str,
    old: Member,
    new: Member,
    judged: Judged,
    look: FormerLook,
    ways: list[Way],
    way: str,
    row: HeldRow | None,
    missed: HeldRow | None = None,
) -> RejoinRecord:
    """What rejoin.json says.

    Args:
        look: what the former source's host said.
        way: the one that is wanted.
        row: what the journal says of the host.
        missed: what it says of the failover that the host missed, if that is a replica.
    """
    log = look.get("log")
    return {
        "cluster": name,
        "host": old.host,
        "source": new.host,
        "verdict": judged.verdict,
        "why": list(judged.why),
        "hindrances": list(judged.hindrances),
        "read_by": "connection" if old.info is not None else "files" if log else None,
        "phantoms": phantoms_of(judged, look),
        "log": {
            "files": log["files"],
            "end": log["end"],
            "torn_bytes": log["torn_bytes"],
            "torn_gtid": log["torn_gtid"],
        }
        if log
        else None,
        "held_since": row["happened"] if row else None,
        "missed": {"from": missed["host"], "happened": missed["happened"]} if missed else None,
        "way": way,
        "ways": [one.row() for one in ways],
        "points": [verdict_point(old.host, new.host, judged)],
    }


def verdict_point(
    host: str,
    source: str,
    judged: Judged,
) -> Check:
    """The verdict as a checkpoint."""
    outcome = {CLEAN: PASSED, PHANTOMS: FAILED}.get(judged.verdict, UNKNOWN)
    return {
        "id": "R1",
        "host": host,
        "title": f"It has nothing that {source} lacks",
        "outcome": outcome,
        "expected": "nothing",
        "observed": judged.phantoms or "nothing",
        "reason": "; ".join(judged.why),
    }


def came_back_words(
    kept: RejoinRecord,
    host: str,
    source: str,
) -> str:
    """The message after a successful rejoin; kept is its record."""
    words = f"{host} follows {source}{', and is no longer held' if kept['held_since'] else ''}"
    if kept["kept_data"]:
        words += (
            f". Its old data are in {kept['kept_data']}: remove them when you no longer need them"
        )
    elif kept["not_kept"]:
        words += f". Its old data were not kept: {kept['not_kept']}"
    return words


def follows_point(
    host: str,
    source: str,
    follows: bool,
) -> Check:
    """The outcome of its method, as a checkpoint."""
    return {
        "id": "R2",
        "host": host,
        "title": f"It follows {source}, and is read-only",
        "outcome": PASSED if follows else FAILED,
        "expected": "it follows",
        "observed": "it follows" if follows else "it does not",
        "reason": "",
    }


def without_rows(kept: RejoinRecord) -> RejoinRecord:
    """The same without client data, for readers who may not see those."""
    less: RejoinRecord = {**kept, "phantoms": phantoms_without_rows(kept["phantoms"])}
    if "before" in kept:
        before = kept["before"]
        less["before"] = {**before, "phantoms": phantoms_without_rows(before["phantoms"])}
    return less


def phantoms_without_rows(lacking: Phantoms) -> Phantoms:
    shown: list[ErrantTransaction] = [
        {
            "gtid": one["gtid"],
            "at": one["at"],
            "tables": one["tables"],
            "ddl": one["ddl"],
            "transactional": one["transactional"],
        }
        for one in lacking["transactions"]
    ]
    return {**lacking, "transactions": shown}


def rejoin_lines(kept: RejoinRecord) -> list[str]:
    """The same for people."""
    lacking, source = kept["phantoms"], kept["source"]
    lines = [
        f"Rejoin of {kept['host']} to cluster {kept['cluster']}, whose source is {source}",
        f"  VERDICT {kept['verdict']}{verdict_words(kept)}",
        f"  {read_words(kept)}",
    ]
    if kept["missed"]:
        lines.append(f"  {away_words(kept, kept['missed'])}")
    for one in lacking["transactions"][:TOLD]:
        lines += transaction_words(one)
    more = (lacking["count"] or 0) - min(TOLD, len(lacking["transactions"]))
    if lacking["transactions"] and more > 0:
        lines.append(f"    and {more} more")
    if kept["verdict"] == PHANTOMS and lacking["not_shown"]:
        lines.append(f"  Their content cannot be shown: {lacking['not_shown']}")
    if kept["way"] not in [one["name"] for one in kept["ways"]]:
        return [*lines, f"  It follows {source} already"]
    for method in kept["ways"]:
        state = f"not possible: {method['closed']}" if method["closed"] else method["does"]
        mark = ">" if method["name"] == kept["way"] else " "
        lines.append(f"  {mark} method {method['name']}: {state}")
    return lines


def last_lines(kept: RejoinRecord) -> list[str]:
    """What was judged before a rejoin, in two lines."""
    return [
        f"rejoin of {kept['host']} to {kept['source']}: {kept['outcome']}",
        f"VERDICT {kept['verdict']}{verdict_words(kept)}",
    ]


def verdict_words(kept: RejoinRecord) -> str:
    if kept["verdict"] == CANNOT_TELL:
        return ": " + "; ".join(kept["why"])
    if kept["verdict"] != PHANTOMS:
        return f": {kept['host']} has nothing that {kept['source']} lacks"
    lacking = kept["phantoms"]
    count = f"{lacking['count']} " if lacking["count"] else ""
    unit = "transaction" if lacking["count"] == 1 else "transactions"
    return f": {count}{unit} that {kept['source']} lacks ({lacking['gtids']})"


def away_words(kept: RejoinRecord, missed: Missed) -> str:
    """What only a replica that was away may have."""
    old, happened = missed["from"], missed["happened"]
    words = f"it was away when {old} lost the source's role, at {happened}"
    if kept["verdict"] != PHANTOMS:
        return words
    return (
        f"{words}: {old} may have confirmed these transactions before, or written them since (by"
        " crash recovery, or for clients that still write there)"
    )


def read_words(kept: RejoinRecord) -> str:
    if kept["read_by"] == "connection":
        return f"the server of {kept['host']} is running, and was queried"
    log = kept["log"]
    if kept["read_by"] == "files" and log:
        words = (
            f"the server of {kept['host']} is not running, and was not started: its binary log was"
            f" read to its end ({log['files'][-1]}, {log['end']})"
        )
        if log["torn_gtid"] or log["torn_bytes"]:
            words += f"; {log['torn_bytes']} bytes after that are an incomplete transaction"
        return words
    return f"{kept['host']} was not read"


def transaction_words(one: ErrantTransaction) -> list[str]:
    tables = "; ".join(
        f"{name}: " + ", ".join(f"{number} {verb}" for verb, number in counts.items() if number)
        for name, counts in one["tables"].items()
    )
    kind = "" if one["transactional"] else " (cannot be rolled back)"
    lines = [f"    {one['gtid']}  {one['at']}{kind}  {tables}".rstrip()]
    body = [*one["statements"], *one["rows"]]
    lines += [f"      {line}" for line in body[:LINES]]
    return lines + ([f"      … {len(body) - LINES} lines more"] if len(body) > LINES else [])


def why_not(kept: RejoinRecord, closed: str) -> str:
    """Why it is refused, and which other methods there are."""
    host, source = kept["host"], kept["source"]
    others = [one for one in kept["ways"] if one["name"] != kept["way"]]
    opened = [asked(kept, one["name"]) for one in others if not one["closed"]]
    words = f"{host} cannot rejoin by method {kept['way']}: {closed}"
    if kept["way"] not in [one["name"] for one in kept["ways"]]:
        # It is attached already, and has to be replaced or replayed.
        words = f"{host}: {closed}"
    if kept["verdict"] == CANNOT_TELL and not kept["read_by"]:
        # Its transactions may become readable later: do not suggest discarding them.
        return f"{words} ({kept['points'][0]['reason']})"
    if not opened:
        return f"{words}. No other method is possible: " + "; ".join(
            f"{one['name']}, because {one['closed']}" for one in others
        )
    words += f". To consent to another method, pass {' or '.join(opened)}"
    lost = [one["name"] for one in others if not one["closed"] and one["name"] != REPLAY]
    if lost:
        words += f"; with {' and '.join(lost)} {source} never gets what only {host} has"
    return words


def asked(kept: RejoinRecord, way: str) -> str:
    """The options that select a method on the command line."""
    words = f"-e semisync_rejoin_way={way}"
    if way == REPLAY:
        words += f" -e semisync_rejoin_phantoms={kept['phantoms']['gtids']}"
    return words
