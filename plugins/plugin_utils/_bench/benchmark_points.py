# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoints P8.1 to P8.5 of a benchmark's run. What was not measured is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import resampling
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    Delayed,
    MeasuredCell,
    Restored,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short

# P8.4: as fast as the baseline, within the spread of its own runs, or within this share.
BACK_AT_BASELINE = 0.10
# P8.2: the round trip grew by the delay, within this share of it.
DELAY_TOLERANCE = 0.03


def points(
    result: Benchmark,
    source: str,
    restored: Restored,
) -> list[Check]:
    """The checkpoints of a suite's cells and delays; none if the suite has none.

    Args:
        result: what is kept of the run; its environment has what netem said of each delay.
        source: the source's name.
        restored: how things are after the restore: qdiscs_after (None if the restore did not
            say), status, clients, and how many replicas there are.
    """
    rows = [ratio_point(cell, source) for cell in result["cells"] if cell["checkpoint"]]
    delays = sorted({cell["delay_ms"] for cell in result["cells"] if cell["delay_ms"]})
    if delays:
        rows.append(delay_point(source, delays, result["environment"].get("netem") or {}))
    return [*rows, restored_point(source, restored)] if rows else []


def ratio_point(cell: MeasuredCell, source: str) -> Check:
    """P8.1, P8.3 or P8.4: the time of a cell, compared with its baseline."""
    title = f"mysqlslap, {cell['label']}"
    expected = "runs that count, and their ratio to the baseline"
    point, summary, ratio = cell["checkpoint"] or "", cell["statistics"], cell["ratio"]
    if not summary or not ratio:
        reasons = "; ".join(cell["reasons"]) or "no baseline"
        return check.unseen(point, source, title, expected, reasons)
    median, value = short(summary["median"]), short(ratio["value"])
    observed = f"median {median} s, {ratio['words']} (ratio {value})"
    if point != "P8.4":
        return check.row(point, source, title, expected, observed, True)
    expected = "no slower than the baseline"
    good = ratio["difference"] == "none" or ratio["value"] <= 1 + BACK_AT_BASELINE
    runs = summary["n"]
    if not good and runs < resampling.ENOUGH:
        reason = f"{observed}; too few runs ({runs}) to know how much they vary by themselves"
        return check.unseen(point, source, title, expected, reason)
    return check.row(point, source, title, expected, observed, good)


def delay_point(
    source: str,
    delays: list[float],
    netem: Mapping[str, Delayed],
) -> Check:
    """P8.2: each of the suite's delays was added, and the round trip to every replica grew by it.

    Args:
        delays: in milliseconds.
        netem: delay as a text -> what the module netem returned when it added it.
    """
    seen = [delay_seen(delay, netem.get(f"{delay:g}")) for delay in delays]
    title = "netem delays the path to the replica"
    expected = "round trip " + ", ".join(f"+{delay:g} ms" for delay in delays)
    words = "; ".join(words for _dummy, words in seen)
    if any(good is False for good, _dummy in seen):
        return check.row("P8.2", source, title, expected, words, False)
    known = all(good for good, _dummy in seen)
    return check.if_seen(known, words, "P8.2", source, title, expected, words, True)


def delay_seen(delay_ms: float, netem: Delayed | None) -> tuple[bool | None, str]:
    """(whether a delay was there, or None if it was not measured; what was seen of it)."""
    if not netem:
        return None, f"nothing was recorded of {delay_ms:g} ms"
    before, after = netem.get("rtt_before") or {}, netem.get("rtt_after") or {}
    peers = sorted({*before, *after})
    growths = {peer: growth(before.get(peer), after.get(peer)) for peer in peers}
    measured = [value for value in growths.values() if value is not None]
    right = all(abs(value - delay_ms) <= DELAY_TOLERANCE * delay_ms for value in measured)
    good: bool | None = bool(netem.get("shown")) and right
    if good and (not measured or len(measured) < len(growths)):
        good = None
    trips = [
        f"no answer to ping from {peer}" if value is None else f"{value:+.1f} ms"
        for peer, value in growths.items()
    ]
    shown = "; ".join(netem.get("shown") or []) or "no qdisc"
    return good, f"{', '.join(trips) or 'no answer to ping'}; {shown}"


def growth(before: Trip | None, after: Trip | None) -> float | None:
    """Milliseconds by which a round trip grew; None if one of the two was not measured."""
    first = before and before.get("median")
    second = after and after.get("median")
    return None if first is None or second is None else second - first


def restored_point(source: str, restored: Restored) -> Check:
    """P8.5: the restore left no netem, and semi-sync is on with every replica."""
    qdiscs, status = restored["qdiscs_after"], restored["status"]
    if qdiscs is None:
        network = "the restore did not report whether netem is gone"
    elif any(qdisc["kind"] == "netem" for qdisc in qdiscs):
        network = "netem is left"
    else:
        network = "no netem"
    back = status is None or (status == "ON" and restored["clients"] >= restored["replicas"])
    known = status is not None and qdiscs is not None
    words = f"{network}, status {status or 'not known'}, {restored['clients']} clients"
    return check.if_seen(
        known or network == "netem is left" or not back,
        words,
        "P8.5",
        source,
        "the delay is gone and semi-sync is back",
        f"no netem, status ON, {restored['replicas']} clients",
        words,
        known and network == "no netem" and back,
    )
