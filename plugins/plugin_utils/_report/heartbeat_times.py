# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who beat when, from the heartbeat.json of runs: when each server wrote rows of the heartbeat,
when it wrote none, and when it was degraded by its own rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import Files
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text import (
    HeartbeatPart,
    plural,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.writability import (
    BEATS,
    DEGRADED,
    FAILOVER,
    FILES,
    SILENT,
    BeatTime,
    Change,
    WritableRow,
    clock,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import KeptBeats


def times(files: Files) -> list[BeatTime]:
    """What the rows say that a run has kept, in their order; none if it has kept none."""
    kept = files.get(results.HEARTBEAT) or {}
    try:
        return sorted(of_rows(newest(kept), names(files)), key=lambda one: one.begin)
    except (KeyError, TypeError, AttributeError):
        # It has another format, and is left out.
        return []


def of_changes(folder: str, changes: list[Change]) -> list[BeatTime]:
    """The same of all runs of a cluster that have made these role changes.

    Args:
        folder: of one of the runs.
    """
    base, last = os.path.split(os.path.abspath(folder))
    since = min((change.at for change in changes), default=0.0)
    by_begin: dict[tuple[str, str, float], BeatTime] = {}
    for name in sorted(os.listdir(base)):
        begun = results.begun_at(name)
        if begun is None or begun < since or name > last:
            continue
        for one in times(read(os.path.join(base, name))):
            # A later run has more of a time that an earlier one saw begin.
            by_begin[(one.host, one.kind, one.begin)] = one
    return list(by_begin.values())


def read(folder: str) -> Files:
    """What a run has kept of the heartbeat, if it has changed roles."""
    wanted = (results.HEARTBEAT, *FILES.values())
    files = {name: results.read_json(os.path.join(folder, name), None) for name in wanted}
    return files if any(files[name] for name in FILES.values()) else {}


def newest(kept: Mapping[str, KeptBeats]) -> KeptBeats | None:
    """What the host with the newest row has; None if there is no row."""
    with_rows = [beats for beats in kept.values() if beats["rows"]]
    return max(with_rows, key=lambda beats: beats["wall"] or 0.0, default=None)


def names(files: Files) -> dict[str, str]:
    """What beats call a server -> inventory name. A dead source is known by its last look."""
    kept = files.get(FILES[FAILOVER]) or {}
    look = kept.get("last_look") or {}
    known = {look["server"]: kept["from"]} if look.get("server") else {}
    beats = files.get(results.HEARTBEAT) or {}
    return {**known, **{one["identity"]: host for host, one in beats.items()}}


def of_rows(beats: KeptBeats | None, known: Mapping[str, str]) -> Iterable[BeatTime]:
    """Every time that the rows on one host show."""
    if beats is None:
        return
    for span in beats["spans"]:
        host = known.get(span["server"], span["server"])
        words = f"{host} beats: {plural(span['rows'], 'row')}"
        yield BeatTime(host, span["begin"], span["end"], BEATS, words)
    for gap in beats["gaps"]:
        host = known.get(gap["server"], gap["server"])
        words = f"{host} does not beat for {duration(1000 * (gap['end'] - gap['begin']))}"
        yield BeatTime(host, gap["begin"], gap["end"], SILENT, words)
    for time in beats["degraded"]:
        host = known.get(time["server"], time["server"])
        count = time["alone"]
        alone = "an unknown number of commits" if count is None else plural(count, "commit")
        words = f"{host} is degraded: {alone} without an acknowledgement"
        words += "" if time["begin"] else "; no row is from before it"
        words += "" if time["end"] else "; no row is from after it"
        begin, end = time["begin"] or time["first"], time["end"] or time["last"]
        yield BeatTime(host, begin, end, DEGRADED, words)


def seen_by_beats(changes: list[Change], beating: list[BeatTime]) -> list[Change]:
    """The same changes: a row shows that its server took writes, also if no run looked."""
    return [change._replace(seen=seen(change, beating)) for change in changes]


def seen(change: Change, beating: list[BeatTime]) -> float | None:
    """Until when the source before a change was seen, by runs and by its rows."""
    if change.closed is None:
        return change.seen
    rows = [
        min(one.end, change.closed)
        for one in beating
        if one.kind == BEATS and one.host == change.before and one.begin <= change.closed
    ]
    known = [change.seen] if change.seen is not None else []
    return max([*known, *rows], default=None)


def part(files: Files) -> HeartbeatPart:
    """What is shown of the heartbeat of a run."""
    beating = times(files)
    rows: list[WritableRow] = [
        {"from": clock(one.begin), "to": clock(one.end), "words": one.words, "kind": one.kind}
        for one in beating
    ]
    return {"times": beating, "rows": rows, "sentences": sentences(files, beating)}


def sentences(files: Files, beating: list[BeatTime]) -> list[str]:
    """What is seen of the heartbeat of a run, in words; none if it has kept nothing of it."""
    kept: Mapping[str, KeptBeats] = files.get(results.HEARTBEAT) or {}
    try:
        ages = [f"{host}: {age_text(one['age'])}" for host, one in kept.items()]
    except (KeyError, TypeError, AttributeError):
        # It has another format.
        ages = []
    if not ages:
        return []
    said = [f"The newest row, by age (on a replica its lag): {', '.join(ages)}."]
    if not beating:
        return said
    gaps = [one.end - one.begin for one in beating if one.kind == SILENT]
    degraded = [one for one in beating if one.kind == DEGRADED]
    return [
        *said,
        f"The rows that were read begin at {clock(beating[0].begin)}.",
        f"{plural(len(gaps), 'gap')}, the longest of {duration(1000 * max(gaps))}."
        if gaps
        else "They have no gap.",
        f"They say that the source was degraded {plural(len(degraded), 'time')}."
        if degraded
        else "None says that the source was degraded.",
    ]


def age_text(age: float | None) -> str:
    return "none" if age is None else duration(1000 * age)
