# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark's pictures. Which ones a suite gets depends on what it varies; a cell that does not
count is in none.
"""

from __future__ import annotations

import re

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.analysis import figures_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    MeasuredCell,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_bars import draw_bars
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_latency import draw_latency
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_lines import (
    draw_clients,
    draw_distance,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots

# Both renderings of a picture, its name and its title: see plots.picture().
Picture = plots.Picture


def pictures(benchmark: Benchmark) -> list[Picture]:
    """All pictures of a suite, in the order to show them."""
    cells = [cell for cell in benchmark["cells"] if cell["valid"] and cell["statistics"]]
    name = re.sub(r"[^a-z0-9]+", "-", benchmark["suite"]["id"].lower()).strip("-") or "suite"
    if not cells:
        return []
    drawn: list[Picture] = [throughput(name, cells, benchmark)]
    timed = [(cell, latency) for cell in cells for latency in [cell["latency_ms"]] if latency]
    if timed:
        drawn.append(
            plots.picture(
                name + "-latency",
                "Latency percentiles of a single transaction",
                lambda narrow: draw_latency(timed, narrow),
            )
        )
    return drawn


def throughput(
    name: str,
    cells: list[MeasuredCell],
    benchmark: Benchmark,
) -> Picture:
    """The picture of what the suite varies: distance, clients, or neither."""
    rates = figures_of(cells[0])["metric"] == "rate"
    distant = {
        cell["delay_ms"] for cell in cells if cell["replication"] == "semisync" and cell["rtt_ms"]
    }
    if rates and len({cell["load"]["clients"] for cell in cells}) > 2:
        return plots.picture(
            name + "-clients",
            "Throughput against the number of clients",
            lambda narrow: draw_clients(cells, narrow),
        )
    if rates and len(distant) > 1:
        return plots.picture(
            name + "-distance",
            "Throughput against the round trip, with the model's limit",
            lambda narrow: draw_distance(cells, benchmark, narrow),
        )
    title = "Operations a second in each cell" if rates else "Seconds each phase took"
    return plots.picture(
        name + ("-rates" if rates else "-phases"), title, lambda narrow: draw_bars(cells, narrow)
    )
