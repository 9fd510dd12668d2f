# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's rates as lines: against the round trip, or against the number of clients."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import analysis, throughput_limit
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench.plots_cells import (
    colour,
    rate_unit,
    series_name,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils.report import plots

INK = plots.INK


def draw_distance(cells: list[dict[str, Any]], benchmark: dict[str, Any], narrow: bool) -> Any:
    """Rate against measured round trip on a logarithmic scale; the model's limit as a line."""
    canvas = plots.Canvas(narrow, 380, 330)
    axes = canvas.axes(58, 16 if narrow else 170, 34, 48)
    known = [cell for cell in cells if cell["rtt_ms"] is not None]
    end = max(cell["rtt_ms"] for cell in known) * 1.04
    canvas.note(0, 2, rate_unit(cells) + ", logarithmic scale", color=INK["ink"], fontweight="bold")
    for clients in sorted({cell["load"]["clients"] for cell in known}):
        modelled = limit_line(axes, known, clients, end, benchmark)
        for kind, words in (("none", ""), ("async", "asynchronous"), ("semisync", "semi-sync")):
            group = [
                cell
                for cell in known
                if cell["replication"] == kind and cell["load"]["clients"] == clients
            ]
            group.sort(key=lambda cell: cell["rtt_ms"])
            if group and kind != "none":
                line(
                    axes,
                    group,
                    INK[kind],
                    [cell["rtt_ms"] for cell in group],
                    joined=not (modelled and kind == "semisync"),
                )
                name_line(
                    canvas,
                    axes,
                    group[-1],
                    words if clients == 1 else f"{words}, {clients}",
                    INK[kind],
                )
    axes.set_yscale("log")
    low = min(cell["statistics"]["low"] for cell in known)
    high = max(cell["statistics"]["high"] for cell in known)
    low, high = low / (3.2 if narrow else 1.8), high * 1.9
    axes.set(xlim=(-0.015 * end, end), ylim=(low, high))
    ticks = [10.0**power for power in range(-2, 8) if low <= 10.0**power <= high]
    axes.set_yticks(ticks, [short(value) for value in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("measured round trip to the replica in ms", fontsize=canvas.size, labelpad=8)
    return canvas


def limit_line(
    axes: Any, cells: list[dict[str, Any]], clients: int, end: float, benchmark: dict[str, Any]
) -> bool:
    """What the model allows that many clients at every round trip; whether it is known."""
    far = [
        cell
        for cell in cells
        if cell["replication"] == "semisync" and cell["load"]["clients"] == clients
    ]
    single = analysis.asynchronous_rate(far[0], cells, 1) if far else None
    alike = analysis.asynchronous_rate(far[0], cells, clients) if far else None
    if not single:
        return False
    turns = throughput_limit.taken_in_turn(
        far[0]["load"], far[0].get("wait_point"), analysis.waits_together(benchmark)
    )
    places = [end * (step / 120.0) ** 2 for step in range(121)]
    axes.plot(
        places,
        [throughput_limit.limit(clients, place, single, alike, turns=turns) for place in places],
        color=INK["muted"],
        linewidth=1.5,
        linestyle=(0, (4, 3)),
        zorder=1,
    )
    place = end * 0.3
    in_turn = clients == 1 or turns != throughput_limit.NOTHING
    label = "limit: one commit a round trip" if in_turn else f"limit of {clients} clients"
    if any(cell["model"] and cell["model"]["share"] is None for cell in far):
        label += f"; {analysis.MODEL_FAILS}"
    axes.annotate(
        label,
        (place, throughput_limit.limit(clients, place, single, alike, turns=turns)),
        (6, 12),
        textcoords="offset points",
        fontsize=plots.NARROW[1],
        color=INK["muted"],
    )
    return True


def line(
    axes: Any,
    group: list[dict[str, Any]],
    shade: str,
    places: list[Any],
    dashed: bool = False,
    joined: bool = True,
) -> Any:
    """Medians with their intervals, joined where nothing else shows what lies between them."""
    summaries = [cell["statistics"] for cell in group]
    axes.vlines(
        places,
        [summary["low"] for summary in summaries],
        [summary["high"] for summary in summaries],
        color=shade,
        linewidth=1.5,
    )
    return axes.plot(
        places,
        [summary["median"] for summary in summaries],
        marker="o",
        color=shade,
        markersize=7,
        markerfacecolor=INK["paper"] if dashed else shade,
        markeredgewidth=2 if dashed else 0,
        markeredgecolor=shade,
        linestyle=(0, (2, 2)) if dashed else "-" if joined else "none",
        linewidth=2,
    )[0]


def name_line(canvas: Any, axes: Any, cell: dict[str, Any], words: str, shade: str) -> None:
    """A line's name at its end: beside it where there is room, above it on a telephone."""
    text = f"{words}\n{analysis.with_unit(cell['statistics'])}"
    place = (cell["rtt_ms"], cell["statistics"]["median"])
    if canvas.narrow:
        below = cell["replication"] == "semisync"
        axes.annotate(
            f"{words} {analysis.with_unit(cell['statistics'])}",
            place,
            (6, -10 if below else 10),
            textcoords="offset points",
            ha="right",
            va="top" if below else "bottom",
            fontsize=canvas.size,
            color=shade,
            fontweight="bold",
        )
    else:
        axes.annotate(
            text,
            place,
            (14, 0),
            textcoords="offset points",
            va="center",
            fontsize=canvas.size,
            color=shade,
            fontweight="bold",
            linespacing=1.4,
            annotation_clip=False,
        )


def draw_clients(cells: list[dict[str, Any]], narrow: bool) -> Any:
    """Rate against clients, a line for each configuration."""
    series: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        series.setdefault(series_name(cell), []).append(cell)
    canvas = plots.Canvas(narrow, 380, 330 + 18 * len(series))
    axes = canvas.axes(58, 16 if narrow else 210, 40 + (18 * len(series) if narrow else 0), 48)
    canvas.note(0, 2, rate_unit(cells), color=INK["ink"], fontweight="bold")
    seen, lines = set(), []
    for name, group in series.items():
        group.sort(key=lambda cell: cell["load"]["clients"])
        shade = colour(group[0])
        lines.append(
            (
                plots.clean(name, 40),
                group,
                shade,
                shade in seen,
                line(
                    axes, group, shade, [cell["load"]["clients"] for cell in group], shade in seen
                ),
            )
        )
        seen.add(shade)
    every = sorted({cell["load"]["clients"] for cell in cells})
    axes.set_xscale("log")
    axes.set_xticks(every, [str(number) for number in every])
    axes.set_xticks([], minor=True)
    top = max(cell["statistics"]["high"] for cell in cells) * 1.08
    axes.set(ylim=(0, top), xlim=(every[0] / 1.15, every[-1] * 1.15))
    axes.yaxis.set_major_formatter(lambda value, dummy: short(value))
    axes.set_xlabel("clients at once, logarithmic scale", fontsize=canvas.size, labelpad=8)
    if narrow:
        canvas.figure.legend(
            [entry[-1] for entry in lines],
            [entry[0] for entry in lines],
            loc="upper left",
            frameon=False,
            fontsize=canvas.size,
            bbox_to_anchor=(0, 1 - 18.0 / canvas.height),
            borderaxespad=0,
            borderpad=0,
            labelspacing=0.35,
            handlelength=2.4,
        )
    else:
        name_lines(canvas, axes, lines, top)
    return canvas


def name_lines(
    canvas: Any,
    axes: Any,
    lines: list[tuple[str, list[dict[str, Any]], str, bool, Any]],
    top: float,
) -> None:
    """Names at the right end of each line, moved apart where the lines are not."""
    inside = canvas.height - 40 - 48.0
    apart = 20 / inside * top
    places = sorted(
        (
            (group[-1]["statistics"]["median"], name, shade, dashed)
            for name, group, shade, dashed, dummy in lines
        ),
        reverse=True,
    )
    last = None
    for value, name, shade, dashed in places:
        last = value if last is None else min(value, last - apart)
        axes.annotate(
            ("\u25cb " if dashed else "\u25cf ") + name,
            (1, last),
            (10, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=canvas.size,
            color=shade,
            annotation_clip=False,
            fontweight="bold",
        )
