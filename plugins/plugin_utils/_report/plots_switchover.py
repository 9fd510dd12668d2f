# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A switchover as a timeline: which host took writes when, and below it what each host did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.plots import Canvas, Picture
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import (
    Event,
    Switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text_switchover import meaning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK
# How much is shown before and after the time without a writable server, as a share of it.
BEFORE, AFTER = 0.5, 0.9
# Pixels from one host to the next, and from one event to the next; the bar of a host.
LANE, ROW, BAR = 46, 21, 7
TOP, BOTTOM, SIDE = 34, 46, 12


def timeline(record: Switchover) -> Picture | None:
    """The picture, or None if writers were never kept out."""
    if not record["writable"]:
        return None
    title = f"Which server took writes, and what happened, from {record['from']} to {record['to']}"
    return plots.picture("switchover", title, lambda narrow: draw(record, narrow))


def window(record: Switchover) -> tuple[float, float]:
    """The milliseconds that are shown: the time without a writable server, and some around it."""
    ends = [span["from_ms"] for span in record["writable"] if span["from_ms"] is not None]
    times = [line["at_ms"] for line in record["timeline"] if line["at_ms"] is not None]
    gap = max(1.0, min(ends) if ends else max(times))
    return -BEFORE * gap, (1 + AFTER) * gap


def shown(record: Switchover) -> list[Event]:
    """The events within the window; the table below the picture has all."""
    begin, end = window(record)
    return [
        line
        for line in record["timeline"]
        if line["at_ms"] is not None and begin <= line["at_ms"] <= end
    ]


def hosts(record: Switchover) -> list[str]:
    """The old source, the target, then the other hosts that did something."""
    others = sorted({line["host"] for line in record["timeline"]})
    return list(dict.fromkeys([record["from"], record["to"], *others]))


def colour(record: Switchover, host: str) -> str:
    return {record["from"]: INK["delay"], record["to"]: INK["semisync"]}.get(host, INK["async"])


def draw(record: Switchover, narrow: bool) -> Canvas:
    lines, lanes = shown(record), hosts(record)
    upper = len(lanes) * LANE
    height = TOP + upper + len(lines) * ROW + 16 + BOTTOM
    canvas = Canvas(narrow, height)
    axes = canvas.axes(
        SIDE,
        SIDE,
        TOP,
        BOTTOM,
        grid="x",
    )
    axes.set(xlim=window(record), ylim=(height - TOP - BOTTOM, 0))
    axes.set_yticks([])
    closed_time(canvas, axes, record)
    for number, host in enumerate(lanes):
        lane(canvas, axes, record, host, number * LANE)
    for number, line in enumerate(lines):
        event(canvas, axes, record, line, upper + 16 + number * ROW)
    axes.set_xlabel(
        "ms from the freeze"
        if narrow
        else "milliseconds from the moment at which writers were kept out",
        fontsize=canvas.size,
        labelpad=8,
    )
    plots.few_ticks(axes, 5 if narrow else 9)
    return canvas


def closed_time(canvas: Canvas, axes: Axes, record: Switchover) -> None:
    """The time in which no server took writes."""
    ends = [span["from_ms"] for span in record["writable"] if span["from_ms"] is not None]
    end = min(ends) if ends else window(record)[1]
    axes.axvspan(
        0,
        end,
        color=INK["shade"],
        linewidth=0,
        zorder=0,
    )
    waited = record["writers_waited_ms"]
    words = "no server takes writes" + ("" if waited is None else f": {duration(waited)}")
    axes.annotate(
        words,
        (0, 1),
        (0, 8),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        fontsize=canvas.size,
        color=INK["bad"],
        fontweight="bold",
        va="bottom",
    )


def lane(canvas: Canvas, axes: Axes, record: Switchover, host: str, top: int) -> None:
    """One host: its name, and a bar while it takes writes."""
    begin, end = window(record)
    shade, middle = colour(record, host), top + 33
    side = {record["from"]: " (old source)", record["to"]: " (target)"}.get(host, "")
    axes.annotate(
        plots.clean(host, 32 if canvas.narrow else 80) + side,
        (begin, top + 24),
        fontsize=canvas.size,
        color=shade,
        fontweight="bold",
        va="bottom",
    )
    axes.plot(
        [begin, end],
        [middle] * 2,
        color=INK["rule"],
        linewidth=1.5,
    )
    for span in record["writable"]:
        from_ms, to_ms = span["from_ms"], span["to_ms"]
        if span["host"] == host:
            left = begin if from_ms is None else max(begin, from_ms)
            right = end if to_ms is None else min(end, to_ms)
            axes.plot(
                [left, right],
                [middle] * 2,
                color=shade,
                linewidth=BAR,
                solid_capstyle="butt",
            )


def event(canvas: Canvas, axes: Axes, record: Switchover, line: Event, top: int) -> None:
    """One event: a point in its host's colour, and its words if there is room for them."""
    begin, end = window(record)
    shade, at = colour(record, line["host"]), line["at_ms"] or 0.0
    axes.plot(
        [at],
        [top],
        "o",
        color=shade,
        markersize=6,
        markeredgewidth=0,
    )
    left = at > (begin + end) / 2.0
    axes.annotate(
        plots.clean(meaning(line["event"])),
        (at, top),
        (-9 if left else 9, 0),
        textcoords="offset points",
        fontsize=canvas.size,
        color=shade,
        va="center",
        ha="right" if left else "left",
    )
