# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The latency of single transactions, a row per cell."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.plots_cells import (
    colour,
    wide_enough,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils.report import plots

INK = plots.INK
COLUMNS = (("p50", "median"), ("p95", "p95"), ("p99", "p99"), ("max", "max"))


def draw_latency(cells: list[dict[str, Any]], narrow: bool) -> Any:
    """A row per cell: median, p95, p99 and maximum on a logarithmic scale, and as figures."""
    step, head = (62, 30) if narrow else (36, 34)
    height = step * len(cells) + head + 46
    canvas = plots.Canvas(narrow, height)
    longest = max(wide_enough(plots.clean(cell["label"], 30), canvas.size) for cell in cells)
    left, right = (6, 12) if narrow else (min(260, int(longest) + 18), 290)
    axes = canvas.axes(left, right, head, 46, grid="x")
    values = [
        cell["latency_ms"][key]
        for cell in cells
        for key, dummy in COLUMNS
        if cell["latency_ms"].get(key)
    ]
    low, high = min(values) / 1.5, max(values) * 1.5
    axes.set_xscale("log")
    axes.set(xlim=(low, high), ylim=(step * len(cells), 0))
    canvas.note(0, 2, "milliseconds a transaction", color=INK["ink"], fontweight="bold")
    for number, cell in enumerate(cells):
        latency_row(canvas, axes, cell, number * step + (40 if narrow else step / 2.0), left)
    if not narrow:
        for number, (_dummy, words) in enumerate(COLUMNS):
            canvas.note(canvas.width - 220 + 70 * number + 4, 8, words, ha="right")
    axes.set_yticks([])
    ticks = [10.0**power for power in range(-3, 7) if low <= 10.0**power <= high]
    axes.set_xticks(ticks, [f"{short(tick)} ms" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(
        "\u25cf median   \u25cf p95   \u25cb p99   | maximum", fontsize=canvas.size, labelpad=6
    )
    return canvas


def latency_row(canvas: Any, axes: Any, cell: dict[str, Any], place: float, left: int) -> None:
    latency, shade = cell["latency_ms"], colour(cell)
    axes.plot([latency["p50"], latency["max"]], [place] * 2, color=shade, linewidth=2, alpha=0.45)
    axes.plot([latency["p50"]], [place], "o", color=shade, markersize=11)
    axes.plot([latency["p95"]], [place], "o", color=shade, markersize=7)
    axes.plot(
        [latency["p99"]],
        [place],
        "o",
        color=shade,
        markersize=7,
        markerfacecolor=INK["paper"],
        markeredgewidth=2,
    )
    axes.plot([latency["max"]], [place], "|", color=shade, markersize=11, markeredgewidth=2)
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
            f"{short(latency['p50'])} · p99 {short(latency['p99'])} ms",
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
    inside = canvas.width - left - 290.0
    for number, (key, _dummy) in enumerate(COLUMNS):
        axes.annotate(
            short(latency[key]),
            (1 + (74 + 70 * number) / inside, place),
            xycoords=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=canvas.size,
            annotation_clip=False,
            fontweight="bold" if key == "p50" else "normal",
        )
