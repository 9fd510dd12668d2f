# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drill of one replica's outage as a timeline."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils.report import plots

INK = plots.INK
TICKS = (0.1, 1, 10, 100, 1000, 10000, 100000, 1000000)


def timeline(drill: dict[str, Any], number: int) -> dict[str, Any] | None:
    """The picture of a drill, or None where it has no inserts to show."""
    rows = [row for row in drill.get("inserts") or [] if row.get("latency_ms")]
    if not rows:
        return None
    title = (
        f"Latency of each insert on {drill['source']} while {drill['replica']} is stopped and"
        " started again"
    )
    return plots.picture(f"drill-{number}", title, lambda narrow: draw(drill, rows, narrow))


def draw(drill: dict[str, Any], rows: list[dict[str, Any]], narrow: bool) -> Any:
    canvas = plots.Canvas(narrow, 380, 340)
    axes = canvas.axes(62, 16, 56, 46)
    outage(canvas, axes, drill)
    for colour, marker, which in (
        (INK["semisync"], "o", acknowledged),
        (INK["bad"], "D", unprotected),
        (INK["muted"], "x", uncounted),
    ):
        points = [row for row in rows if which(row)]
        axes.plot(
            [row["t"] + row["latency_ms"] / 1000.0 for row in points],
            [row["latency_ms"] for row in points],
            marker,
            color=colour,
            markersize=4 if narrow else 5,
            markeredgewidth=0 if marker != "x" else 1.5,
        )
    waits(canvas, axes, drill, rows)
    scales(canvas, axes, drill, rows)
    legend(canvas, rows)
    return canvas


def acknowledged(row: dict[str, Any]) -> bool:
    return row.get("yes_tx", 0) > 0 and not unprotected(row)


def unprotected(row: dict[str, Any]) -> bool:
    return row.get("no_tx", 0) > 0


def uncounted(row: dict[str, Any]) -> bool:
    return not acknowledged(row) and not unprotected(row)


def outage(canvas: Any, axes: Any, drill: dict[str, Any]) -> None:
    """The time without the replica, and the timeout."""
    begin, end = drill.get("stopped_at"), drill.get("started_at")
    if begin is not None and end is not None:
        axes.axvspan(begin, end, color=INK["shade"], linewidth=0, zorder=0)
        axes.text(
            (begin + end) / 2.0,
            1.02,
            f"{plots.clean(drill['replica'], 16 if canvas.narrow else 40)} stopped",
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=canvas.size,
            color=INK["muted"],
        )
    axes.axhline(
        drill["timeout_ms"], color=INK["muted"], linewidth=1.2, linestyle=(0, (4, 3)), zorder=1
    )
    axes.annotate(
        f"timeout {span(drill['timeout_ms'])}",
        (0, drill["timeout_ms"]),
        (2, -5),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        fontsize=canvas.size,
        color=INK["muted"],
        va="top",
    )


def waits(canvas: Any, axes: Any, drill: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """The longest insert as the time it took, with a word; and the way back."""
    longest = max(rows, key=lambda row: row["latency_ms"])
    if drill.get("expected_fallback") and longest["latency_ms"] >= 0.9 * drill["timeout_ms"]:
        end = longest["t"] + longest["latency_ms"] / 1000.0
        axes.plot(
            [longest["t"], end],
            [longest["latency_ms"]] * 2,
            color=INK["bad"],
            linewidth=4,
            solid_capstyle="butt",
        )
        axes.annotate(
            f"this insert waited {span(longest['latency_ms'])}",
            (longest["t"], longest["latency_ms"]),
            (0, 7),
            textcoords="offset points",
            fontsize=canvas.size,
            color=INK["bad"],
            va="bottom",
            fontweight="bold",
        )
    if drill.get("recovery_seconds") is not None and drill.get("started_at") is not None:
        back, words = drill["started_at"] + drill["recovery_seconds"], "protected again"
        axes.axvline(back, color=INK["good"], linewidth=1.5, zorder=1)
        end = max(row["t"] for row in rows)
        left = back > 0.6 * end
        axes.annotate(
            (
                words
                if canvas.narrow
                else f"{words} {short(drill['recovery_seconds'])} s after the start"
            ),
            (back, 0.6),
            (-8 if left else 8, 0),
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            fontsize=canvas.size,
            color=INK["good"],
            va="center",
            ha="right" if left else "left",
            fontweight="bold",
        )


def scales(canvas: Any, axes: Any, drill: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    values = [row["latency_ms"] for row in rows]
    low, high = min(values) / 2.0, max([*values, drill["timeout_ms"]]) * 4.0
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [span(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    end = max(row["t"] + row["latency_ms"] / 1000.0 for row in rows)
    axes.set_xlim(-0.02 * end, end * 1.02)
    axes.set_xlabel("seconds since the drill began", fontsize=canvas.size, labelpad=8)
    axes.xaxis.get_major_locator().set_params(nbins=5 if canvas.narrow else 9, integer=True)


def legend(canvas: Any, rows: list[dict[str, Any]]) -> None:
    """What the points are, in their colours, above the picture."""
    count = len([row for row in rows if unprotected(row)])
    canvas.note(0, 2, "latency of an insert", color=INK["ink"], fontweight="bold")
    entries = [("\u25cf acknowledged", INK["semisync"]), (f"◆ {count} unprotected", INK["bad"])]
    place = 0 if canvas.narrow else 190
    for text, colour in entries:
        canvas.note(place, 19 if canvas.narrow else 2, text, color=colour)
        place += 130


def span(milliseconds: float) -> str:
    """A time for people, in milliseconds or seconds."""
    return (
        f"{short(milliseconds)} ms" if milliseconds < 1000 else f"{short(milliseconds / 1000.0)} s"
    )
