# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's rates as lines: against the round trip, or against the number of clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis, throughput_limit
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    MeasuredCell,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_cells import (
    colour,
    rate_unit,
    series_name,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

INK = plots.INK


class Series(NamedTuple):
    """A line of a picture.

    Attributes:
        name: beside it.
        cells: in the order of its points.
        shade: its colour.
        dashed: whether another line has that colour.
        drawn: it, as matplotlib has it.
    """

    name: str
    cells: list[MeasuredCell]
    shade: str
    dashed: bool
    drawn: Line2D


def round_trip(cell: MeasuredCell) -> float:
    return cell["rtt_ms"] or 0.0


def draw_distance(
    cells: list[MeasuredCell],
    benchmark: Benchmark,
    narrow: bool,
) -> plots.Canvas:
    """Rate against measured round trip on a logarithmic scale; the model's limit as a line."""
    canvas = plots.Canvas(narrow, 380, 330)
    axes = canvas.axes(58, 16 if narrow else 170, 34, 48)
    known = [cell for cell in cells if cell["rtt_ms"] is not None]
    end = max(round_trip(cell) for cell in known) * 1.04
    canvas.note(0, 2, f"{rate_unit(cells)}, logarithmic scale", color=INK["ink"], fontweight="bold")
    for clients in sorted({cell["load"]["clients"] for cell in known}):
        modelled = limit_line(axes, known, clients, end, benchmark)
        for kind, words in (("async", "asynchronous"), ("semisync", "semi-sync")):
            group = sorted(of_kind(known, kind, clients), key=round_trip)
            if group:
                places = [round_trip(cell) for cell in group]
                joined = not (modelled and kind == "semisync")
                draw_line(axes, group, INK[kind], places, joined=joined)
                name = words if clients == 1 else f"{words}, {clients}"
                name_line(canvas, axes, group[-1], name, INK[kind])
    axes.set_yscale("log")
    low = min(analysis.figures_of(cell)["low"] for cell in known)
    high = max(analysis.figures_of(cell)["high"] for cell in known)
    low, high = low / (3.2 if narrow else 1.8), high * 1.9
    axes.set(xlim=(-0.015 * end, end), ylim=(low, high))
    ticks = [10.0**power for power in range(-2, 8) if low <= 10.0**power <= high]
    axes.set_yticks(ticks, [short(value) for value in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("measured round trip to the replica in ms", fontsize=canvas.size, labelpad=8)
    return canvas


def of_kind(
    cells: Sequence[MeasuredCell],
    kind: str,
    clients: int,
) -> list[MeasuredCell]:
    """The cells of one kind of replication with as many clients."""
    return [
        cell for cell in cells if cell["replication"] == kind and cell["load"]["clients"] == clients
    ]


def limit_line(
    axes: Axes,
    cells: list[MeasuredCell],
    clients: int,
    end: float,
    benchmark: Benchmark,
) -> bool:
    """What the model allows that many clients at every round trip; whether it is known."""
    far = of_kind(cells, "semisync", clients)
    single = analysis.asynchronous_rate(far[0], cells, 1) if far else None
    alike = analysis.asynchronous_rate(far[0], cells, clients) if far else None
    if not single:
        return False
    turns = throughput_limit.taken_in_turn(
        far[0]["load"].get("same_row"),
        far[0].get("wait_point"),
        analysis.waits_together(benchmark),
    )

    def limit(place: float) -> float:
        bound = throughput_limit.limit(clients, place, single, alike, turns=turns)
        return bound or 0.0

    places = [end * (step / 120.0) ** 2 for step in range(121)]
    axes.plot(
        places,
        [limit(place) for place in places],
        color=INK["muted"],
        linewidth=1.5,
        linestyle=(0, (4, 3)),
        zorder=1,
    )
    label = limit_label(clients, turns, far)
    axes.annotate(
        label,
        (end * 0.3, limit(end * 0.3)),
        (6, 12),
        textcoords="offset points",
        fontsize=plots.NARROW[1],
        color=INK["muted"],
    )
    return True


def limit_label(clients: int, turns: str, cells: Sequence[MeasuredCell]) -> str:
    """What is written at a limit's line; the cells are those that it bounds."""
    in_turn = clients == 1 or turns != throughput_limit.NOTHING
    label = "limit: one commit a round trip" if in_turn else f"limit of {clients} clients"
    if any(cell["model"] and cell["model"]["share"] is None for cell in cells):
        label += f"; {analysis.MODEL_FAILS}"
    return label


def draw_line(
    axes: Axes,
    group: list[MeasuredCell],
    shade: str,
    places: list[float],
    dashed: bool = False,
    joined: bool = True,
) -> Line2D:
    """Medians with their intervals, joined if nothing else shows what lies between them."""
    summaries = [analysis.figures_of(cell) for cell in group]
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


def name_line(
    canvas: plots.Canvas,
    axes: Axes,
    cell: MeasuredCell,
    words: str,
    shade: str,
) -> None:
    """A line's name at its end: beside it if there is room, above it on a telephone."""
    summary = analysis.figures_of(cell)
    median = analysis.with_unit(summary)
    place = (round_trip(cell), summary["median"])
    if canvas.narrow:
        below = cell["replication"] == "semisync"
        axes.annotate(
            f"{words} {median}",
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
            f"{words}\n{median}",
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


def draw_clients(cells: list[MeasuredCell], narrow: bool) -> plots.Canvas:
    """Rate against clients, a line for each configuration."""
    groups: dict[str, list[MeasuredCell]] = {}
    for cell in cells:
        groups.setdefault(series_name(cell), []).append(cell)
    legend = 18 * len(groups)
    canvas = plots.Canvas(narrow, 380, 330 + legend)
    axes = canvas.axes(58, 16 if narrow else 210, 40 + (legend if narrow else 0), 48)
    canvas.note(0, 2, rate_unit(cells), color=INK["ink"], fontweight="bold")
    shades: set[str] = set()
    lines: list[Series] = []
    for name, group in groups.items():
        group.sort(key=lambda cell: cell["load"]["clients"])
        shade = colour(group[0])
        dashed = shade in shades
        places = [float(cell["load"]["clients"]) for cell in group]
        drawn = draw_line(axes, group, shade, places, dashed)
        lines.append(Series(plots.clean(name, 40), group, shade, dashed, drawn))
        shades.add(shade)
    every = sorted({cell["load"]["clients"] for cell in cells})
    axes.set_xscale("log")
    axes.set_xticks(every, [str(number) for number in every])
    axes.set_xticks([], minor=True)
    top = max(analysis.figures_of(cell)["high"] for cell in cells) * 1.08
    axes.set(ylim=(0, top), xlim=(every[0] / 1.15, every[-1] * 1.15))
    axes.yaxis.set_major_formatter(lambda value, dummy: short(value))
    axes.set_xlabel("clients at once, logarithmic scale", fontsize=canvas.size, labelpad=8)
    if narrow:
        draw_legend(canvas, lines)
    else:
        name_lines(canvas, axes, lines, top)
    return canvas


def draw_legend(canvas: plots.Canvas, lines: list[Series]) -> None:
    """The names of all lines, above them."""
    canvas.figure.legend(
        [line.drawn for line in lines],
        [line.name for line in lines],
        loc="upper left",
        frameon=False,
        fontsize=canvas.size,
        bbox_to_anchor=(0, 1 - 18.0 / canvas.height),
        borderaxespad=0,
        borderpad=0,
        labelspacing=0.35,
        handlelength=2.4,
    )


def name_lines(
    canvas: plots.Canvas,
    axes: Axes,
    lines: list[Series],
    top: float,
) -> None:
    """Names at the right end of each line, moved apart where the lines are not."""
    inside = canvas.height - 40 - 48.0
    apart = 20 / inside * top
    ends = sorted(
        (
            (analysis.figures_of(line.cells[-1])["median"], line.name, line.shade, line.dashed)
            for line in lines
        ),
        reverse=True,
    )
    last: float | None = None
    for value, name, shade, dashed in ends:
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
