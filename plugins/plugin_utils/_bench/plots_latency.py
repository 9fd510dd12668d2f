# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The latency of single transactions, a row per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import Latency
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    MeasuredCell,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_cells import (
    colour,
    wide_enough,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK


def columns(latency: Latency) -> list[tuple[str, float | None]]:
    """The figures that are written beside a row, and their names."""
    return [
        ("median", latency["p50"]),
        ("p95", latency["p95"]),
        ("p99", latency["p99"]),
        ("max", latency["max"]),
    ]


def draw_latency(cells: list[tuple[MeasuredCell, Latency]], narrow: bool) -> plots.Canvas:
    """A row per cell: median, p95, p99 and maximum on a logarithmic scale, and as figures."""
    step, head = (62, 30) if narrow else (36, 34)
    height = step * len(cells) + head + 46
    canvas = plots.Canvas(narrow, height)
    labels = [plots.clean(cell["label"], 30) for cell, _latency in cells]
    longest = max(wide_enough(label, canvas.size) for label in labels)
    left, right = (6, 12) if narrow else (min(260, int(longest) + 18), 290)
    axes = canvas.axes(left, right, head, 46, grid="x")
    values = [value for _cell, latency in cells for _name, value in columns(latency) if value]
    low, high = min(values) / 1.5, max(values) * 1.5
    axes.set_xscale("log")
    axes.set(xlim=(low, high), ylim=(step * len(cells), 0))
    canvas.note(0, 2, "milliseconds a transaction", color=INK["ink"], fontweight="bold")
    for number, (cell, latency) in enumerate(cells):
        place = number * step + (40 if narrow else step / 2.0)
        draw_markers(axes, latency, colour(cell), place)
        write_row(canvas, axes, cell, latency, place, left)
    if not narrow:
        for number, (name, _value) in enumerate(columns(cells[0][1])):
            canvas.note(canvas.width - 220 + 70 * number + 4, 8, name, ha="right")
    axes.set_yticks([])
    ticks = [10.0**power for power in range(-3, 7) if low <= 10.0**power <= high]
    axes.set_xticks(ticks, [f"{short(tick)} ms" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(
        "\u25cf median   \u25cf p95   \u25cb p99   | maximum", fontsize=canvas.size, labelpad=6
    )
    return canvas


def draw_markers(
    axes: Axes,
    latency: Latency,
    shade: str,
    place: float,
) -> None:
    """One row's figures as marks on the scale."""
    median, longest = latency["p50"] or 0.0, latency["max"]
    axes.plot([median, longest], [place] * 2, color=shade, linewidth=2, alpha=0.45)
    axes.plot([median], [place], "o", color=shade, markersize=11)
    axes.plot([latency["p95"] or 0.0], [place], "o", color=shade, markersize=7)
    axes.plot(
        [latency["p99"] or 0.0],
        [place],
        "o",
        color=shade,
        markersize=7,
        markerfacecolor=INK["paper"],
        markeredgewidth=2,
    )
    axes.plot([longest], [place], "|", color=shade, markersize=11, markeredgewidth=2)


def write_row(
    canvas: plots.Canvas,
    axes: Axes,
    cell: MeasuredCell,
    latency: Latency,
    place: float,
    left: int,
) -> None:
    """One row's label and figures as text."""
    label = plots.clean(cell["label"], 30)
    if canvas.narrow:
        axes.annotate(
            label,
            (0, place - 24),
            xycoords=axes.get_yaxis_transform(),
            fontsize=canvas.size,
            va="center",
        )
        axes.annotate(
            f"{short(latency['p50'] or 0.0)} · p99 {short(latency['p99'] or 0.0)} ms",
            (1, place - 24),
            xycoords=axes.get_yaxis_transform(),
            fontsize=canvas.size,
            va="center",
            ha="right",
            color=INK["muted"],
        )
        return
    axes.annotate(
        label,
        (0, place),
        (-12, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=canvas.size,
    )
    write_figures(canvas, axes, latency, place, canvas.width - left - 290.0)


def write_figures(
    canvas: plots.Canvas,
    axes: Axes,
    latency: Latency,
    place: float,
    inside: float,
) -> None:
    """One row's figures in columns beside the scale, which is so many pixels wide."""
    for number, (name, value) in enumerate(columns(latency)):
        axes.annotate(
            short(value or 0.0),
            (1 + (74 + 70 * number) / inside, place),
            xycoords=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=canvas.size,
            annotation_clip=False,
            fontweight="bold" if name == "median" else "normal",
        )
