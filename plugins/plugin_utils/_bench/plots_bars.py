# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's cells as bars: the time of each, or its operations per second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    MeasuredCell,
    Statistics,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_cells import (
    colour,
    series_name,
    wide_enough,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK


def draw_bars(cells: list[MeasuredCell], narrow: bool) -> plots.Canvas:
    """A bar per cell with its median, interval and ratio, grouped by the number of clients if there
    are several.
    """
    groups = sorted({cell["load"]["clients"] for cell in cells})
    step, gap = (50, 34) if narrow else (36, 34)
    headings = gap * len(groups) if len(groups) > 1 else 0
    height = step * len(cells) + headings + 12
    canvas = plots.Canvas(narrow, height)
    longest = max(wide_enough(plots.clean(cell["label"], 34), canvas.size) for cell in cells)
    left = 0 if narrow else min(300, int(longest) + 18)
    right = 84 if narrow else 290
    axes = canvas.axes(left, right, 4, 4, grid=None)
    top = max(analysis.figures_of(cell)["high"] for cell in cells)
    axes.set(xlim=(0, top), ylim=(height - 8, 0))
    axes.axis("off")
    place = 4
    for clients in groups:
        if len(groups) > 1:
            axes.text(
                0,
                place + 12,
                "one client" if clients == 1 else f"{clients} clients",
                fontweight="bold",
                fontsize=canvas.size,
                va="center",
                ha="left",
            )
            place += gap
        for cell in [other for other in cells if other["load"]["clients"] == clients]:
            draw_bar(canvas, axes, cell, place, len(groups) > 1)
            place += step
    return canvas


def draw_bar(
    canvas: plots.Canvas,
    axes: Axes,
    cell: MeasuredCell,
    place: int,
    grouped: bool,
) -> None:
    summary = analysis.figures_of(cell)
    label = plots.clean(series_name(cell) if grouped else cell["label"], 34)
    middle = place + (31 if canvas.narrow else 14)
    thick = 18 if canvas.narrow else 22
    axes.barh(middle, summary["median"], height=thick, color=colour(cell), linewidth=0)
    draw_interval(axes, summary, middle)
    value = axes.annotate(
        analysis.with_unit(summary),
        (summary["high"], middle),
        (8, 0),
        textcoords="offset points",
        va="center",
        fontsize=canvas.size,
        fontweight="bold",
    )
    ratio = cell["ratio"]["words"] if cell["ratio"] else ""
    if canvas.narrow:
        axes.text(0, place + 10, label, fontsize=canvas.size, va="center")
        if ratio and wide_enough(f"{label}  {ratio}", canvas.size) < canvas.width:
            ratio_above(canvas, axes, ratio, place + 10)
        return
    write_beside(canvas, axes, label, middle)
    axes.annotate(
        ratio,
        (1, 0.5),
        (12, 0),
        xycoords=value,
        textcoords="offset points",
        va="center",
        fontsize=canvas.size,
        color=INK["muted"],
    )


def draw_interval(axes: Axes, summary: Statistics, place: float) -> None:
    """The median's interval as a line over its bar."""
    axes.plot(
        [summary["low"], summary["high"]],
        [place] * 2,
        color=INK["ink"],
        linewidth=1.5,
        solid_capstyle="butt",
    )


def write_beside(
    canvas: plots.Canvas,
    axes: Axes,
    label: str,
    place: float,
) -> None:
    """A bar's label, left of it."""
    axes.annotate(
        label,
        (0, place),
        (-12, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=canvas.size,
    )


def ratio_above(
    canvas: plots.Canvas,
    axes: Axes,
    ratio: str,
    place: float,
) -> None:
    """A ratio at the right end of a narrow picture, above its bar."""
    axes.annotate(
        ratio,
        (canvas.width / (canvas.width - 84.0), place),
        xycoords=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=canvas.size,
        color=INK["muted"],
    )
