# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all pictures of a benchmark's cells share: colours, names and units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    MeasuredCell,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.plots import INK


def colour(cell: MeasuredCell) -> str:
    """Asynchronous, semi-sync, and semi-sync at a distance keep their colours through the whole
    page.
    """
    if cell["replication"] != "semisync":
        return INK["async"]
    return INK["delay"] if cell["delay_ms"] else INK["semisync"]


def wide_enough(text: str, size: float) -> float:
    """Pixels that a text takes at most."""
    return 0.62 * size * len(text)


def series_name(cell: MeasuredCell) -> str:
    """A cell's label without its number of clients."""
    return re.sub(r"[,:]?\s*\d+\s+(clients?|threads?)\b", "", cell["label"]) or cell["label"]


def rate_unit(cells: Sequence[MeasuredCell]) -> str:
    """The unit of a rate."""
    tools = {cell["load"]["tool"] for cell in cells}
    return "inserts per second" if tools == {"client"} else "operations per second"
