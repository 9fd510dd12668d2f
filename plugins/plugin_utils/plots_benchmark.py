# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's pictures. What a suite varies decides which it gets; a cell that does not count is in none."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.plugin_utils import model, plots, statement
from ansible_collections.dbre.semisync.plugins.plugin_utils.statement import short

INK = plots.INK


def pictures(benchmark):
    """All pictures of a suite, in the order to show them."""
    cells = [cell for cell in benchmark["cells"] if cell["valid"] and cell["statistics"]]
    name = re.sub(r"[^a-z0-9]+", "-", benchmark["suite"]["id"].lower()).strip("-") or "suite"
    if not cells:
        return []
    found = [throughput(name, cells, benchmark)]
    timed = [cell for cell in cells if cell.get("latency_ms")]
    if timed:
        found.append(plots.picture(name + "-latency", "Latency percentiles of a single transaction",
                                   lambda narrow: draw_latency(timed, narrow)))
    return found


def throughput(name, cells, benchmark):
    """The picture of what the suite varies: the distance, the clients, or neither."""
    rates = cells[0]["statistics"]["metric"] == "rate"
    distant = set(cell["delay_ms"] for cell in cells if cell["replication"] == "semisync" and cell["rtt_ms"])
    if rates and len(set(cell["load"]["clients"] for cell in cells)) > 2:
        return plots.picture(name + "-clients", "Throughput against the number of clients",
                             lambda narrow: draw_clients(cells, narrow))
    if rates and len(distant) > 1:
        return plots.picture(name + "-distance", "Throughput against the round trip, with the model's limit",
                             lambda narrow: draw_distance(cells, benchmark, narrow))
    title = "Operations a second in each cell" if rates else "Seconds each phase took"
    return plots.picture(name + ("-rates" if rates else "-phases"), title, lambda narrow: draw_bars(cells, narrow))


def colour(cell):
    """Asynchronous, semi-sync, and semi-sync at a distance keep their colours through the whole page."""
    if cell["replication"] != "semisync":
        return INK["async"]
    return INK["delay"] if cell["delay_ms"] else INK["semisync"]


def figure(cell):
    found = cell["statistics"]
    return "%s%s%s" % (short(found["median"]), "" if found["unit"].startswith("/") else " ", found["unit"])


def wide_enough(text, size):
    """Pixels that a text takes at most."""
    return 0.62 * size * len(text)


def draw_bars(cells, narrow):
    """A bar a cell with its median, interval and ratio; groups by the number of clients where there are several."""
    groups = sorted(set(cell["load"]["clients"] for cell in cells))
    step, gap = (50, 34) if narrow else (36, 34)
    height = step * len(cells) + (gap * len(groups) if len(groups) > 1 else 0) + 12
    canvas = plots.Canvas(narrow, height)
    longest = max(wide_enough(plots.clean(cell["label"], 34), canvas.size) for cell in cells)
    left = 0 if narrow else min(300, int(longest) + 18)
    right = 84 if narrow else 290
    axes = canvas.axes(left, right, 4, 4, grid=None)
    top = max(cell["statistics"]["high"] for cell in cells)
    axes.set(xlim=(0, top), ylim=(height - 8, 0))
    axes.axis("off")
    place = 4
    for clients in groups:
        if len(groups) > 1:
            axes.text(0, place + 12, "one client" if clients == 1 else "%d clients" % clients, fontweight="bold",
                      fontsize=canvas.size, va="center", ha="left")
            place += gap
        for cell in [one for one in cells if one["load"]["clients"] == clients]:
            draw_bar(canvas, axes, cell, place, len(groups) > 1)
            place += step
    return canvas


def draw_bar(canvas, axes, cell, place, grouped):
    found = cell["statistics"]
    label = plots.clean(series_name(cell) if grouped else cell["label"], 34)
    middle = place + (31 if canvas.narrow else 14)
    thick = 18 if canvas.narrow else 22
    axes.barh(middle, found["median"], height=thick, color=colour(cell), linewidth=0)
    axes.plot([found["low"], found["high"]], [middle] * 2, color=INK["ink"], linewidth=1.5, solid_capstyle="butt")
    value = axes.annotate(figure(cell), (found["high"], middle), (8, 0), textcoords="offset points", va="center",
                          fontsize=canvas.size, fontweight="bold")
    ratio = cell["ratio"]["words"] if cell["ratio"] else ""
    if canvas.narrow:
        axes.text(0, place + 10, label, fontsize=canvas.size, va="center")
        if ratio and wide_enough(label + "  " + ratio, canvas.size) < canvas.width:
            axes.annotate(ratio, (canvas.width / (canvas.width - 84.0), place + 10), xycoords=axes.get_yaxis_transform(),
                          ha="right", va="center", fontsize=canvas.size, color=INK["muted"])
        return
    axes.annotate(label, (0, middle), (-12, 0), textcoords="offset points", ha="right", va="center", fontsize=canvas.size)
    axes.annotate(ratio, (1, 0.5), (12, 0), xycoords=value, textcoords="offset points", va="center",
                  fontsize=canvas.size, color=INK["muted"])


def series_name(cell):
    """A cell's label without its number of clients."""
    return re.sub(r"[,:]?\s*\d+\s+(clients?|threads?)\b", "", cell["label"]) or cell["label"]


def draw_distance(cells, benchmark, narrow):
    """Rate against measured round trip on a logarithmic scale; the model's limit as a line."""
    canvas = plots.Canvas(narrow, 380, 330)
    axes = canvas.axes(58, 16 if narrow else 170, 34, 48)
    known = [cell for cell in cells if cell["rtt_ms"] is not None]
    end = max(cell["rtt_ms"] for cell in known) * 1.04
    canvas.note(0, 2, rate_unit(cells) + ", logarithmic scale", color=INK["ink"], fontweight="bold")
    for clients in sorted(set(cell["load"]["clients"] for cell in known)):
        modelled = limit_line(axes, known, clients, end, benchmark)
        for kind, words in (("none", ""), ("async", "asynchronous"), ("semisync", "semi-sync")):
            group = [cell for cell in known if cell["replication"] == kind and cell["load"]["clients"] == clients]
            group.sort(key=lambda cell: cell["rtt_ms"])
            if group and kind != "none":
                line(axes, group, INK[kind], [cell["rtt_ms"] for cell in group], joined=not (modelled and kind == "semisync"))
                name_line(canvas, axes, group[-1], words if clients == 1 else "%s, %d" % (words, clients), INK[kind])
    axes.set_yscale("log")
    low = min(cell["statistics"]["low"] for cell in known)
    high = max(cell["statistics"]["high"] for cell in known)
    low, high = low / (3.2 if narrow else 1.8), high * 1.9
    axes.set(xlim=(-0.015 * end, end), ylim=(low, high))
    ticks = [10.0 ** power for power in range(-2, 8) if low <= 10.0 ** power <= high]
    axes.set_yticks(ticks, [short(value) for value in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("measured round trip to the replica in ms", fontsize=canvas.size, labelpad=8)
    return canvas


def limit_line(axes, cells, clients, end, benchmark):
    """What the model allows that many clients at every round trip; whether it is known."""
    far = [cell for cell in cells if cell["replication"] == "semisync" and cell["load"]["clients"] == clients]
    single = statement.asynchronous_rate(far[0], cells, 1) if far else None
    alike = statement.asynchronous_rate(far[0], cells, clients) if far else None
    if not single:
        return False
    turn = model.in_turn(far[0]["load"], far[0].get("wait_point"), statement.waits_together(benchmark))
    places = [end * (step / 120.0) ** 2 for step in range(121)]
    axes.plot(places, [model.limit(clients, place, single, alike, in_turn=turn) for place in places],
              color=INK["muted"], linewidth=1.5, linestyle=(0, (4, 3)), zorder=1)
    place = end * 0.3
    axes.annotate("limit: one commit a round trip" if clients == 1 or turn else "limit of %d clients" % clients,
                  (place, model.limit(clients, place, single, alike, in_turn=turn)), (6, 12), textcoords="offset points",
                  fontsize=plots.NARROW[1], color=INK["muted"])
    return True


def line(axes, group, shade, places, dashed=False, joined=True):
    """Medians with their intervals, joined where nothing else shows what lies between them."""
    found = [cell["statistics"] for cell in group]
    axes.vlines(places, [one["low"] for one in found], [one["high"] for one in found], color=shade, linewidth=1.5)
    return axes.plot(places, [one["median"] for one in found], marker="o", color=shade, markersize=7,
                     markerfacecolor=INK["paper"] if dashed else shade, markeredgewidth=2 if dashed else 0,
                     markeredgecolor=shade, linestyle=(0, (2, 2)) if dashed else "-" if joined else "none", linewidth=2)[0]


def name_line(canvas, axes, cell, words, shade):
    """A line's name at its end: beside it where there is room, above it on a telephone."""
    text = "%s\n%s" % (words, figure(cell))
    place = (cell["rtt_ms"], cell["statistics"]["median"])
    if canvas.narrow:
        below = cell["replication"] == "semisync"
        axes.annotate("%s %s" % (words, figure(cell)), place, (6, -10 if below else 10), textcoords="offset points",
                      ha="right", va="top" if below else "bottom", fontsize=canvas.size, color=shade, fontweight="bold")
    else:
        axes.annotate(text, place, (14, 0), textcoords="offset points", va="center", fontsize=canvas.size, color=shade,
                      fontweight="bold", linespacing=1.4, annotation_clip=False)


def rate_unit(cells):
    """What a rate counts."""
    tools = set(cell["load"]["tool"] for cell in cells)
    return "inserts per second" if tools == set(["client"]) else "operations per second"


def draw_clients(cells, narrow):
    """Rate against clients, a line for each configuration."""
    series = {}
    for cell in cells:
        series.setdefault(series_name(cell), []).append(cell)
    canvas = plots.Canvas(narrow, 380, 330 + 18 * len(series))
    axes = canvas.axes(58, 16 if narrow else 210, 40 + (18 * len(series) if narrow else 0), 48)
    canvas.note(0, 2, rate_unit(cells), color=INK["ink"], fontweight="bold")
    seen, lines = set(), []
    for name, group in series.items():
        group.sort(key=lambda cell: cell["load"]["clients"])
        shade = colour(group[0])
        lines.append((plots.clean(name, 40), group, shade, shade in seen,
                      line(axes, group, shade, [cell["load"]["clients"] for cell in group], shade in seen)))
        seen.add(shade)
    every = sorted(set(cell["load"]["clients"] for cell in cells))
    axes.set_xscale("log")
    axes.set_xticks(every, [str(number) for number in every])
    axes.set_xticks([], minor=True)
    top = max(cell["statistics"]["high"] for cell in cells) * 1.08
    axes.set(ylim=(0, top), xlim=(every[0] / 1.15, every[-1] * 1.15))
    axes.yaxis.set_major_formatter(lambda value, dummy: short(value))
    axes.set_xlabel("clients at once, logarithmic scale", fontsize=canvas.size, labelpad=8)
    if narrow:
        canvas.figure.legend([one[-1] for one in lines], [one[0] for one in lines], loc="upper left", frameon=False,
                             fontsize=canvas.size, bbox_to_anchor=(0, 1 - 18.0 / canvas.height), borderaxespad=0,
                             borderpad=0, labelspacing=0.35, handlelength=2.4)
    else:
        name_lines(canvas, axes, lines, top)
    return canvas


def name_lines(canvas, axes, lines, top):
    """Names at the right end of each line, moved apart where the lines are not."""
    inside = canvas.height - 40 - 48.0
    apart = 20 / inside * top
    places = sorted(((group[-1]["statistics"]["median"], name, shade, dashed) for name, group, shade, dashed, dummy in lines),
                    reverse=True)
    last = None
    for value, name, shade, dashed in places:
        last = value if last is None else min(value, last - apart)
        axes.annotate(("\u25cb " if dashed else "\u25cf ") + name, (1, last), (10, 0), xycoords=axes.get_yaxis_transform(),
                      textcoords="offset points", va="center", fontsize=canvas.size, color=shade, annotation_clip=False,
                      fontweight="bold")


COLUMNS = (("p50", "median"), ("p95", "p95"), ("p99", "p99"), ("max", "max"))


def draw_latency(cells, narrow):
    """A row a cell: median, p95, p99 and maximum on a logarithmic scale, and as figures."""
    step, head = (62, 30) if narrow else (36, 34)
    height = step * len(cells) + head + 46
    canvas = plots.Canvas(narrow, height)
    longest = max(wide_enough(plots.clean(cell["label"], 30), canvas.size) for cell in cells)
    left, right = (6, 12) if narrow else (min(260, int(longest) + 18), 290)
    axes = canvas.axes(left, right, head, 46, grid="x")
    values = [cell["latency_ms"][key] for cell in cells for key, dummy in COLUMNS if cell["latency_ms"].get(key)]
    low, high = min(values) / 1.5, max(values) * 1.5
    axes.set_xscale("log")
    axes.set(xlim=(low, high), ylim=(step * len(cells), 0))
    canvas.note(0, 2, "milliseconds a transaction", color=INK["ink"], fontweight="bold")
    for number, cell in enumerate(cells):
        latency_row(canvas, axes, cell, number * step + (40 if narrow else step / 2.0), left)
    if not narrow:
        for number, (dummy, words) in enumerate(COLUMNS):
            canvas.note(canvas.width - 220 + 70 * number + 4, 8, words, ha="right")
    axes.set_yticks([])
    ticks = [10.0 ** power for power in range(-3, 7) if low <= 10.0 ** power <= high]
    axes.set_xticks(ticks, ["%s ms" % short(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("\u25cf median   \u25cf p95   \u25cb p99   | maximum", fontsize=canvas.size, labelpad=6)
    return canvas


def latency_row(canvas, axes, cell, place, left):
    found, shade = cell["latency_ms"], colour(cell)
    axes.plot([found["p50"], found["max"]], [place] * 2, color=shade, linewidth=2, alpha=0.45)
    axes.plot([found["p50"]], [place], "o", color=shade, markersize=11)
    axes.plot([found["p95"]], [place], "o", color=shade, markersize=7)
    axes.plot([found["p99"]], [place], "o", color=shade, markersize=7, markerfacecolor=INK["paper"], markeredgewidth=2)
    axes.plot([found["max"]], [place], "|", color=shade, markersize=11, markeredgewidth=2)
    label = plots.clean(cell["label"], 30)
    if canvas.narrow:
        axes.annotate(label, (0, place - 24), xycoords=axes.get_yaxis_transform(), fontsize=canvas.size, va="center")
        axes.annotate("%s \u00b7 p99 %s ms" % (short(found["p50"]), short(found["p99"])), (1, place - 24),
                      xycoords=axes.get_yaxis_transform(), fontsize=canvas.size, va="center", ha="right", color=INK["muted"])
        return
    axes.annotate(label, (0, place), (-12, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                  ha="right", va="center", fontsize=canvas.size)
    inside = canvas.width - left - 290.0
    for number, (key, dummy) in enumerate(COLUMNS):
        axes.annotate(short(found[key]), (1 + (74 + 70 * number) / inside, place), xycoords=axes.get_yaxis_transform(),
                      ha="right", va="center", fontsize=canvas.size, annotation_clip=False,
                      fontweight="bold" if key == "p50" else "normal")
