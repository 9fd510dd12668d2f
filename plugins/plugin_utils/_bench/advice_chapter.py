# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's chapter about what semi-sync would cost, with its picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.advice import Advice, Prediction
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import duration, short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import Chapter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = plots.INK
STEP = 50


class AdviceChapter(Chapter):
    """What was predicted in a run."""

    folder = os.path.dirname(os.path.abspath(__file__))
    template = "advice.html.j2"
    contents = (("advice", "What semi-sync would cost"),)

    def __init__(self, advice: Advice) -> None:
        self.advice = advice
        self.picture: plots.Picture | None = None
        self.sentences = advice["statement"]
        self.headline = "What semi-sync would cost"
        if advice["now"] is None:
            self.attention = "What semi-sync would cost is not known"

    def summary(self) -> list[tuple[str, list[str]]]:
        unknown = [f"Not known: {words}." for words in self.advice["unknown"]]
        return [(self.headline, [*self.advice["statement"], *unknown])]

    def draw(self) -> None:
        if self.advice["now"] is not None:
            self.picture = plots.picture(
                "advice",
                "Commits a second now, and with semi-sync for each replica and wait point",
                lambda narrow: draw_advice(self.advice, narrow),
            )


def draw_advice(advice: Advice, narrow: bool) -> plots.Canvas:
    """A bar for the rate without semi-sync, and one for each prediction, with its latencies."""
    now, predictions = advice["now"], advice["predictions"]
    rate = now["rate"] if now else 0.0
    height = STEP * (1 + len(predictions)) + 8
    canvas = plots.Canvas(narrow, height)
    axes = canvas.axes(0, 84 if narrow else 110, 4, 4, grid=None)
    top = max([rate, *(each["rate"] or 0.0 for each in predictions)])
    axes.set(xlim=(0, top), ylim=(height - 8, 0))
    axes.axis("off")
    draw_bar(canvas, axes, 0, "asynchronous, as it is now", rate, INK["async"])
    for place, each in enumerate(predictions, 1):
        shade = INK["semisync"] if each["wait_point"] == "AFTER_SYNC" else INK["delay"]
        draw_bar(canvas, axes, place * STEP, label_of(each, narrow), each["rate"], shade)
    return canvas


def label_of(each: Prediction, narrow: bool) -> str:
    """What is written above a prediction's bar."""
    label = f"{plots.clean(each['replica'], 18)}, {each['wait_point']}"
    if each["p50_ms"] is None or each["p99_ms"] is None:
        return label
    percentiles = f"{duration(each['p50_ms'])}, p99 {duration(each['p99_ms'])}"
    if narrow:
        return f"{label}: {percentiles}"
    return f"{label}, round trip {duration(each['rtt_ms'] or 0.0)}: median {percentiles}"


def draw_bar(
    canvas: plots.Canvas, axes: Axes, place: int, label: str, rate: float | None, shade: str
) -> None:
    axes.text(0, place + 10, label, fontsize=canvas.size, va="center")
    axes.barh(place + 31, rate or 0.0, height=18, color=shade, linewidth=0)
    axes.annotate(
        "not known" if rate is None else f"{short(rate)}/s",
        (rate or 0.0, place + 31),
        (8, 0),
        textcoords="offset points",
        va="center",
        fontsize=canvas.size,
        fontweight="bold",
    )
