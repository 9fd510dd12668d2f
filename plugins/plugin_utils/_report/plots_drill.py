# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drill of one replica's outage as a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_shapes import (
    Drill,
    Insert,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration, short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.plots import Canvas, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK
TICKS = (0.1, 1, 10, 100, 1000, 10000, 100000, 1000000)


def timeline(drill: Drill, number: int) -> Picture | None:
    """The picture of a drill, or None if it has no inserts to show."""
    rows = [row for row in drill.get("inserts") or [] if row.get("latency_ms")]
    if not rows:
        return None
    title = (
        f"Latency of each insert on {drill['source']} while {drill['replica']} is stopped and"
        " started again"
    )
    return plots.picture(f"drill-{number}", title, lambda narrow: draw(drill, rows, narrow))


def draw(drill: Drill, rows: list[Insert], narrow: bool) -> Canvas:
    canvas = Canvas(narrow, 380, 340)
    axes = canvas.axes(
        62,
        16,
        56,
        46,
    )
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
    longest_wait(canvas, axes, drill, rows)
    protected_again(canvas, axes, drill, rows)
    scales(canvas, axes, drill, rows)
    legend(canvas, rows)
    return canvas


def acknowledged(row: Insert) -> bool:
    return row.get("yes_tx", 0) > 0 and not unprotected(row)


def unprotected(row: Insert) -> bool:
    return row.get("no_tx", 0) > 0


def uncounted(row: Insert) -> bool:
    return not acknowledged(row) and not unprotected(row)


def outage(canvas: Canvas, axes: Axes, drill: Drill) -> None:
    """The time without the replica, and the timeout."""
    begin, end = drill.get("stopped_at"), drill.get("started_at")
    if begin is not None and end is not None:
        axes.axvspan(
            begin,
            end,
            color=INK["shade"],
            linewidth=0,
            zorder=0,
        )
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
        f"timeout {duration(drill['timeout_ms'])}",
        (0, drill["timeout_ms"]),
        (2, -5),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        fontsize=canvas.size,
        color=INK["muted"],
        va="top",
    )


def longest_wait(canvas: Canvas, axes: Axes, drill: Drill, rows: list[Insert]) -> None:
    """The longest insert as the time it took, if it met the fallback."""
    longest = max(rows, key=lambda row: row["latency_ms"])
    took = longest["latency_ms"]
    if not drill.get("expected_fallback") or took < 0.9 * drill["timeout_ms"]:
        return
    axes.plot(
        [longest["t"], longest["t"] + took / 1000.0],
        [took] * 2,
        color=INK["bad"],
        linewidth=4,
        solid_capstyle="butt",
    )
    axes.annotate(
        f"this insert waited {duration(took)}",
        (longest["t"], took),
        (0, 7),
        textcoords="offset points",
        fontsize=canvas.size,
        color=INK["bad"],
        va="bottom",
        fontweight="bold",
    )


def protected_again(canvas: Canvas, axes: Axes, drill: Drill, rows: list[Insert]) -> None:
    """When the first row was acknowledged again."""
    took, started = drill.get("recovery_seconds"), drill.get("started_at")
    if took is None or started is None:
        return
    back, words = started + took, "protected again"
    axes.axvline(
        back,
        color=INK["good"],
        linewidth=1.5,
        zorder=1,
    )
    left = back > 0.6 * max(row["t"] for row in rows)
    axes.annotate(
        words if canvas.narrow else f"{words} {short(took)} s after the start",
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


def scales(canvas: Canvas, axes: Axes, drill: Drill, rows: list[Insert]) -> None:
    values = [row["latency_ms"] for row in rows]
    low, high = min(values) / 2.0, max([*values, drill["timeout_ms"]]) * 4.0
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [duration(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    end = max(row["t"] + row["latency_ms"] / 1000.0 for row in rows)
    axes.set_xlim(-0.02 * end, end * 1.02)
    axes.set_xlabel("seconds since the drill began", fontsize=canvas.size, labelpad=8)
    plots.few_ticks(axes, 5 if canvas.narrow else 9, whole=True)


def legend(canvas: Canvas, rows: list[Insert]) -> None:
    """The legend above the picture, in the colours of the points."""
    count = len([row for row in rows if unprotected(row)])
    canvas.note(0, 2, "latency of an insert", color=INK["ink"], fontweight="bold")
    entries = [("\u25cf acknowledged", INK["semisync"]), (f"◆ {count} unprotected", INK["bad"])]
    place = 0 if canvas.narrow else 190
    for text, colour in entries:
        canvas.note(place, 19 if canvas.narrow else 2, text, color=colour)
        place += 130
