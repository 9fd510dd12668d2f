# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest role changes side by side, each with its own scale: which host took writes when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.plots import Canvas, Picture
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.writability import (
    CLOSED,
    DEGRADED,
    FAILOVER,
    SILENT,
    WRITES,
    BeatTime,
    Change,
    Span,
    clock,
    spans,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK
MOST = 3
# How much is shown before and after the time in which no server took writes, and at most of the
# time that was not watched, as shares of it.
BEFORE, AFTER, LOOKED = 0.5, 0.9, 1.4
# Pixels: a host, its bar, and what is above, below and between the panels.
LANE, BAR, TOP, BOTTOM, SIDE, BETWEEN = 44, 7, 54, 44, 8, 28
# Where a host's bar is in its lane, and how far below it its beats are.
MIDDLE, BELOW = 31, 8
TITLE = "Which server took writes when: each role change, with its own scale"


def timeline(changes: list[Change], beats: list[BeatTime]) -> Picture | None:
    """The picture, with each host's beats; None if one switchover is all there is, which has a
    picture of its own.
    """
    shown = [change for change in changes if change.gap is not None][-MOST:]
    if len(shown) < 2 and not any(change.operation == FAILOVER for change in shown):
        return None
    every = spans(changes)
    return plots.picture("writers", TITLE, lambda narrow: draw(shown, every, beats, narrow))


def window(change: Change) -> tuple[float, float]:
    """The seconds that are shown of a change."""
    if change.closed is None or change.opened is None:
        raise ValueError("it has no such time")
    gap = max(0.001, change.opened - change.closed)
    seen = change.closed if change.seen is None else change.seen
    before = max(BEFORE * gap, min(change.closed - seen + BEFORE * gap, LOOKED * gap))
    return change.closed - before, change.opened + AFTER * gap


def hosts(shown: list[Change]) -> list[str]:
    """The hosts that took writes, in that order."""
    named = [host for change in shown for host in (change.before, change.after)]
    return list(dict.fromkeys(host for host in named if host is not None))


def draw(shown: list[Change], every: list[Span], beats: list[BeatTime], narrow: bool) -> Canvas:
    lanes = hosts(shown)
    panel = TOP + len(lanes) * LANE + BOTTOM
    columns = 1 if narrow else len(shown)
    height = panel * (len(shown) if narrow else 1)
    canvas = Canvas(narrow, height)
    wide = (canvas.width - 2 * SIDE - (columns - 1) * BETWEEN) / columns
    for number, change in enumerate(shown):
        left = int(SIDE + (number % columns) * (wide + BETWEEN))
        above = panel * (number // columns)
        axes = canvas.axes(
            left,
            int(canvas.width - left - wide),
            above + TOP,
            height - above - panel + BOTTOM,
            grid="x",
        )
        axes.set_yticks([])
        axes.set_ylim(len(lanes) * LANE, 0)
        one(canvas, axes, change, every, lanes)
        for number, host in enumerate(lanes):
            mine = [beating for beating in beats if beating.host == host]
            draw_beats(axes, change, mine, number * LANE + MIDDLE + BELOW)
    return canvas


def one(canvas: Canvas, axes: Axes, change: Change, every: list[Span], lanes: list[str]) -> None:
    """One change: a lane for each host, from the moment at which writers were kept out."""
    begin, end = window(change)
    zero, gap = change.closed or 0.0, change.gap or 0.0
    scale, unit = units(change)
    axes.set_xlim((begin - zero) * scale, (end - zero) * scale)
    axes.axvspan(
        0,
        gap * scale,
        color=INK["shade"],
        linewidth=0,
        zorder=0,
    )
    heading(canvas, axes, 28, f"{change.operation}, {clock(change.closed)[:-8]} UTC", "ink")
    heading(canvas, axes, 8, kept_out(change), "bad")
    for number, host in enumerate(lanes):
        middle = number * LANE + MIDDLE
        axes.annotate(
            plots.clean(host, 24),
            ((begin - zero) * scale, number * LANE + 22),
            fontsize=canvas.size,
            color=INK["muted"],
            va="bottom",
        )
        ends = [(begin - zero) * scale, (end - zero) * scale]
        axes.plot(
            ends,
            [middle] * 2,
            color=INK["rule"],
            linewidth=1.5,
        )
        for span in every:
            if span.host == host and span.kind != CLOSED:
                draw_span(axes, change, span, middle, scale)
    axes.set_xlabel(
        f"{unit} from the {'stop' if change.operation == FAILOVER else 'freeze'}",
        fontsize=canvas.size,
        labelpad=6,
    )
    plots.few_ticks(axes, 4)


def units(change: Change) -> tuple[float, str]:
    """(how many of its unit a second is, the unit) of a change's panel."""
    return (1000.0, "ms") if (change.gap or 0.0) < 1 else (1.0, "s")


def kept_out(change: Change) -> str:
    """For how long no server took writes, and the time before that of which nothing is known."""
    words = duration(1000 * (change.gap or 0.0))
    unseen = (change.closed or 0.0) - (change.seen or change.closed or 0.0)
    if not unseen:
        return f"no server takes writes: {words}"
    return f"no server: {words}; not known before: {duration(1000 * unseen)}"


def heading(canvas: Canvas, axes: Axes, above: int, words: str, colour: str) -> None:
    axes.annotate(
        words,
        (0, 1),
        (0, above),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=canvas.size,
        color=INK[colour],
        fontweight="bold",
        va="bottom",
    )


def draw_span(axes: Axes, change: Change, span: Span, middle: int, scale: float) -> None:
    """A host that takes writes; dashed if that was not observed."""
    begin, end = window(change)
    zero = change.closed or 0.0
    left = begin if span.begin is None else max(begin, span.begin)
    right = end if span.end is None else min(end, span.end)
    if left >= right:
        return
    ends = [(left - zero) * scale, (right - zero) * scale]
    if span.kind == WRITES:
        axes.plot(
            ends,
            [middle] * 2,
            color=INK["semisync"],
            linewidth=BAR,
            solid_capstyle="butt",
        )
    else:
        dashes = (0, (2, 1.5))
        axes.plot(
            ends,
            [middle] * 2,
            color=INK["delay"],
            linewidth=3,
            linestyle=dashes,
        )


def draw_beats(axes: Axes, change: Change, beats: list[BeatTime], below: int) -> None:
    """A host's beats as a thin line, thick while they say that the source was degraded."""
    begin, end = window(change)
    zero, scale = change.closed or 0.0, units(change)[0]
    for one in beats:
        left, right = max(begin, one.begin), min(end, one.end)
        if left > right or one.kind == SILENT:
            continue
        axes.plot(
            [(left - zero) * scale, (right - zero) * scale],
            [below] * 2,
            color=INK["bad" if one.kind == DEGRADED else "good"],
            linewidth=4 if one.kind == DEGRADED else 2,
            solid_capstyle="round",
        )
