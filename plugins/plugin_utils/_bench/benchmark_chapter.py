# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's chapter about benchmarks: its sentences, key figures, pictures and sections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.analysis import (
    NOT_MEASURED,
    figures_of,
    with_unit,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    MeasuredCell,
    Ratio,
    SuiteOfRun,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.run_begin import upgraded
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import Chapter, Tile
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text import plural

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.plots_benchmark import (
        Picture,
    )


class BenchmarkChapter(Chapter):
    """The benchmarks of one run.

    Args:
        files: name -> value of the run's JSON files.
    """

    folder = os.path.dirname(os.path.abspath(__file__))
    template = "chapter.html.j2"
    headline = "The benchmark is complete"

    def __init__(self, files: Mapping[str, Any]) -> None:
        self.filters = {"name": name_of}
        self.benchmarks = sorted(
            (upgraded(files[name]) for name in sorted(files) if name.startswith("benchmark-")),
            key=lambda benchmark: benchmark["started"],
        )
        self.pictures: list[list[Picture]] = []
        self.contents = [
            (f"suite-{number}", name_of(benchmark["suite"]))
            for number, benchmark in enumerate(self.benchmarks, 1)
        ]
        if self.benchmarks:
            self.contents.append(("environment", "Environment"))
        self.attention = attention(self.benchmarks)
        self.sentences = [costliest_in_words(benchmark) for benchmark in self.benchmarks]
        compared = [(each, costliest(each)) for each in self.benchmarks]
        self.tiles = [tile_of(each, *pair) for each, pair in compared if pair]

    def summary(self) -> list[tuple[str, list[str]]]:
        return [
            (name_of(benchmark["suite"]), benchmark["statement"]) for benchmark in self.benchmarks
        ]

    def draw(self) -> None:
        from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import plots_benchmark

        self.pictures = [plots_benchmark.pictures(benchmark) for benchmark in self.benchmarks]


def attention(benchmarks: list[Benchmark]) -> str:
    """The headline of what needs attention in them; empty if nothing does."""
    cells = [cell for benchmark in benchmarks for cell in benchmark["cells"]]
    invalid = [cell for cell in cells if not cell["valid"] and cell["reasons"] != [NOT_MEASURED]]
    if invalid:
        return f"{len(invalid)} of {plural(len(cells), 'benchmark cell')} do not count"
    for benchmark in benchmarks:
        if not benchmark.get("complete"):
            return f"The benchmark {benchmark['suite']['id']} is not complete"
    return ""


def name_of(suite: SuiteOfRun) -> str:
    """A suite's title, and the name that it is run by if that is another."""
    title, name = suite["title"], suite["id"]
    return title if title.lower() == name.lower() else f"{title} ({name})"


def costliest(benchmark: Benchmark) -> tuple[MeasuredCell, Ratio] | None:
    """The semi-sync cell with the longest delay that was compared with another; None if there is
    none.
    """
    compared = [
        (cell, ratio)
        for cell in benchmark["cells"]
        for ratio in [cell["ratio"]]
        if ratio and cell["replication"] == "semisync" and cell["valid"]
    ]
    return max(compared, key=lambda pair: pair[0]["delay_ms"]) if compared else None


def label_of(benchmark: Benchmark, name: str) -> str:
    return next((cell["label"] for cell in benchmark["cells"] if cell["id"] == name), name)


def costliest_in_words(benchmark: Benchmark) -> str:
    pair = costliest(benchmark)
    if pair is None:
        return f"{name_of(benchmark['suite'])}."
    cell, ratio = pair
    base = label_of(benchmark, ratio["to"])
    median = with_unit(figures_of(cell))
    name = benchmark["suite"]["id"]
    return f'{name}, {cell["label"]}: {median}; against "{base}" {ratio["words"]}.'


def tile_of(
    benchmark: Benchmark,
    cell: MeasuredCell,
    ratio: Ratio,
) -> Tile:
    """What the costliest cell of a suite costs, in a figure and a few words."""
    summary = figures_of(cell)
    against = f"{cell['label']} against {label_of(benchmark, ratio['to'])}"
    if ratio["difference"] == "none":
        return {"figure": "not measurable", "label": f"difference of {against}", "outcome": ""}
    if ratio["value"] < 0.1 and summary["metric"] == "rate":
        return {"figure": f"{short(summary['median'])}/s", "label": cell["label"], "outcome": ""}
    kind = "the time" if summary["metric"] == "seconds" else "the rate"
    return {
        "figure": f"{short(ratio['value'])} \u00d7",
        "label": f"{kind}, {against}",
        "outcome": "",
    }
