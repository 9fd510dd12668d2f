# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark says: statistics, ratio, model and validity of every cell, and sentences for
people.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils.server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils.bench import (
    resampling,
    schedule,
    throughput_limit,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.figures import median_of_known, short

UNITS = {"seconds": "s", "rate": "/s"}
NO_DIFFERENCE = "no measurable difference"
NOT_MEASURED = "not measured yet"
MODEL_FAILS = "the model does not hold here"
LATENCY = ("mean", "stdev", "p50", "p95", "p99", "max")


def analyse(benchmark: dict[str, Any]) -> dict[str, Any]:
    """Fill in what follows from a benchmark's repetitions; what was filled in before is replaced.

    Args:
        benchmark: benchmark-SUITE.json, whose cells need no more than their settings and
            repetitions. A cell's error says why it could not run. A suite's metric, seconds or
            rate, says what its cells are compared by.

    Returns:
        the same dict, with statistics, ratio, latency_ms, rtt_ms, model, valid and reasons in each
        cell, and statement.
    """
    metric, cells = metric_of(benchmark), benchmark["cells"]
    for cell in cells:
        judge(cell)
        cell["statistics"] = statistics_of(cell, metric)
        cell["latency_ms"] = latency_of(cell)
        cell["rtt_ms"] = median_of_known(entry.get("rtt_ms") for entry in counting(cell))
    together = waits_together(benchmark)
    for cell in cells:
        cell["ratio"] = ratio_of(cell, cells, metric)
        cell["model"] = model_of(cell, cells, together)
    benchmark["statement"] = sentences(benchmark)
    return benchmark


def metric_of(benchmark: dict[str, Any]) -> str:
    """seconds where every cell is the same amount of work by mysqlslap with as many clients, rate
    otherwise.
    """
    loads = [cell["load"] for cell in benchmark["cells"]]
    phases = all(load["tool"] == "mysqlslap" and load.get("queries") for load in loads)
    phases = phases and len({load["clients"] for load in loads}) == 1
    return benchmark["suite"].get("metric") or ("seconds" if phases else "rate")


def measured(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The repetitions that were meant to count: all but the warm-up."""
    return [entry for entry in cell.get("repetitions") or [] if not entry.get("warm_up")]


def counting(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The repetitions that count; none of a cell that does not."""
    return [entry for entry in measured(cell) if entry["valid"]] if cell["valid"] else []


def judge(cell: dict[str, Any]) -> None:
    """Set valid and reasons: a cell counts when it could run and at least half of its repetitions
    count.
    """
    every = measured(cell)
    good = [entry for entry in every if entry["valid"]]
    reasons: dict[str, int] = {}
    for entry in every:
        if not entry["valid"]:
            words = entry.get("reason") or "no reason was recorded"
            reasons[words] = reasons.get(words, 0) + 1
    cell["valid"] = bool(good) and not cell.get("error") and 2 * len(good) >= len(every)
    cell["reasons"] = [cell["error"]] if cell.get("error") else []
    cell["reasons"] += [
        f"{words} ({count} of {len(every)} repetitions)" for words, count in reasons.items()
    ]
    if not every and not cell["reasons"]:
        cell["reasons"] = [NOT_MEASURED]


def statistics_of(cell: dict[str, Any], metric: str) -> dict[str, Any] | None:
    summary = resampling.summary([entry[metric] for entry in counting(cell) if entry.get(metric)])
    return dict(metric=metric, unit=UNITS[metric], **summary) if summary else None


def latency_of(cell: dict[str, Any]) -> dict[str, Any] | None:
    """Each figure's median over the repetitions, the greatest maximum; None where no transaction
    was timed.
    """
    timed = [entry["latency_ms"] for entry in counting(cell) if entry.get("latency_ms")]
    if not timed:
        return None
    figures = {key: median_of_known(entry.get(key) for entry in timed) for key in LATENCY}
    return dict(figures, max=max(entry["max"] for entry in timed))


def ratio_of(
    cell: dict[str, Any], cells: list[dict[str, Any]], metric: str
) -> dict[str, Any] | None:
    base = next((other for other in cells if other["id"] == cell.get("baseline")), None)
    if base is None or base is cell or not (cell["statistics"] and base["statistics"]):
        return None
    own_figures, base_figures = (
        [entry[metric] for entry in counting(each) if entry.get(metric)] for each in (cell, base)
    )
    value, low, high = resampling.ratio(own_figures, base_figures)
    difference = resampling.difference(own_figures, base_figures)
    return {
        "to": base["id"],
        "value": value,
        "low": low,
        "high": high,
        "difference": difference,
        "words": NO_DIFFERENCE if difference == "none" else comparison(metric, value),
    }


def comparison(metric: str, value: float) -> str:
    """A ratio as people say it."""
    if metric == "seconds":
        if value >= 2:
            return f"{short(value)} times as long"
        return f"{abs(value - 1) * 100:.0f} % {'longer' if value > 1 else 'shorter'}"
    if value >= 2:
        return f"{short(value)} times the rate"
    if value < 0.5:
        return f"{short(value * 100)} % of the rate"
    return f"{abs(value - 1) * 100:.0f} % {'faster' if value > 1 else 'slower'}"


def waits_together(benchmark: dict[str, Any]) -> bool:
    """names.Names.waits_together of the source; True where nothing says which server that is."""
    source: dict[str, Any] = next(
        (host for host in benchmark["environment"]["hosts"] if host["role"] == "source"), {}
    )
    try:
        return Names(source["engine"], parse_version(source["version"])).waits_together
    except (KeyError, ValueError, TypeError):
        return True


def asynchronous_rate(
    cell: dict[str, Any], cells: list[dict[str, Any]], clients: int
) -> float | None:
    """Operations a second of as many asynchronous clients with the same load and durability, or
    None.

    Where there are several such cells, the one with this cell's delay, else the least delayed.
    """

    def kind(other: dict[str, Any]) -> tuple[dict[str, Any], str, str | None, bool]:
        load = other["load"]
        return other["durability"], load["tool"], load.get("script"), bool(load.get("same_row"))

    fitting = [
        other
        for other in cells
        if other["replication"] == "async"
        and other["load"]["clients"] == clients
        and other["statistics"]
        and kind(other) == kind(cell)
    ]
    fitting.sort(key=lambda other: (other["delay_ms"] != cell["delay_ms"], other["delay_ms"]))
    return median_of_known(rate(entry) for entry in counting(fitting[0])) if fitting else None


def rate(entry: dict[str, Any]) -> float | None:
    """A repetition's operations a second; None where it has no figure."""
    if entry.get("rate") is None and entry.get("seconds") and entry.get("operations"):
        return entry["operations"] / float(entry["seconds"])
    return entry.get("rate")


def model_of(
    cell: dict[str, Any], cells: list[dict[str, Any]], together: bool
) -> dict[str, Any] | None:
    """A semi-sync cell against the model's limit, from its own round trip; None where there is
    nothing to compare. Its share is None where the cell is faster than the model can be.
    """
    reached = median_of_known(rate(entry) for entry in counting(cell))
    if cell["replication"] != "semisync" or not reached or cell["rtt_ms"] is None:
        return None
    clients = cell["load"]["clients"]
    single, alike = asynchronous_rate(cell, cells, 1), asynchronous_rate(cell, cells, clients)
    figure = throughput_limit.limit(
        clients,
        cell["rtt_ms"],
        single,
        alike,
        throughput_limit.waiting_share(counting(cell), schedule.preloaded(cell["load"])),
        throughput_limit.taken_in_turn(cell["load"], cell.get("wait_point"), together),
    )
    if not figure:
        return None
    share = reached / figure if throughput_limit.holds(reached / figure) else None
    bound = bound_in_words(figure, cell["rtt_ms"], clients, single, figure == alike)
    return {"limit": figure, "share": share, "words": share_in_words(share, reached, bound)}


def bound_in_words(
    figure: float, rtt_ms: float, clients: int, single: float | None, unbound: bool
) -> str:
    """A limit and where it comes from; unbound where asynchronous clients are no faster."""
    if unbound:
        return (
            f"the {short(figure)}/s of asynchronous replication, which a round trip of"
            f" {short(rtt_ms)} ms would allow"
        )
    text = (
        f"the {short(figure)}/s that a round trip of {short(rtt_ms)} ms allows"
        f" {'one client' if clients == 1 else f'{clients} clients'}"
    )
    return (
        text
        if single
        else text + " (the round trip alone: one asynchronous client was not measured)"
    )


def share_in_words(share: float | None, reached: float, bound: str) -> str:
    """The comparison with the limit as the end of a sentence.

    Args:
        share: of the limit; None where the cell refutes it.
        reached: operations a second.
        bound: of bound_in_words().
    """
    if share is None:
        return f"{MODEL_FAILS}: {short(reached)}/s is more than {bound}"
    return f"{share * 100:.0f} % of {bound}"


def sentences(benchmark: dict[str, Any]) -> list[str]:
    """The whole benchmark, a sentence per cell."""
    cells = benchmark["cells"]
    labels = {cell["id"]: cell["label"] for cell in cells}
    good = len([cell for cell in cells if cell["valid"]])
    first = (
        f"All {good} cells count." if good == len(cells) else f"{good} of {len(cells)} cells count."
    )
    if not benchmark.get("complete"):
        first += " The run has not ended: what follows is what there is so far."
    defects = [words + "." for words in benchmark["environment"].get("defects") or []]
    return [first] + defects + [sentence(cell, labels) for cell in cells]


def sentence(cell: dict[str, Any], labels: dict[str, Any]) -> str:
    """One cell: median and interval, ratio, share of the limit; or why it does not count."""
    summary = cell["statistics"]
    if cell["reasons"] == [NOT_MEASURED]:
        return f"{cell['label']}: {NOT_MEASURED}."
    if not summary:
        return f"{cell['label']} does not count: {'; '.join(cell['reasons']) or 'no figures'}."
    parts = [f"{cell['label']}: {figure_in_words(summary)}"]
    if cell["ratio"]:
        parts.append(
            f'against "{labels[cell["ratio"]["to"]]}" {cell["ratio"]["words"]} (ratio'
            f" {short(cell['ratio']['low'])} to {short(cell['ratio']['high'])})"
        )
    if cell["model"]:
        parts.append(cell["model"]["words"])
    acknowledged = (
        acknowledged_in_words(counting(cell)) if cell["replication"] == "semisync" else ""
    )
    if acknowledged:
        parts.append(acknowledged)
    if cell["reasons"]:
        parts.append("left out: " + ", ".join(cell["reasons"]))
    return "; ".join(parts) + "."


def acknowledged_in_words(entries: list[dict[str, Any]]) -> str:
    """How many commits shared an acknowledgement: the medians of the commits and of the counters
    that show it (B4).
    """
    figures = [("%s commits", [entry.get("commits") for entry in entries])]
    figures += [
        (key + " +%s", [(entry.get("counters") or {}).get(key) for entry in entries])
        for key in ("yes_tx", "net_waits")
    ]
    medians = [(words, median_of_known(values)) for words, values in figures]
    return ", ".join(words % short(median) for words, median in medians if median is not None)


def with_unit(summary: dict[str, Any]) -> str:
    """A cell's median with its unit."""
    space = "" if summary["unit"].startswith("/") else " "
    return f"{short(summary['median'])}{space}{summary['unit']}"


def figure_in_words(summary: dict[str, Any]) -> str:
    if summary["n"] == 1:
        return f"{with_unit(summary)}, measured once"
    return (
        f"median {with_unit(summary)} (95 % interval {short(summary['low'])} to"
        f" {short(summary['high'])}, {summary['n']} repetitions)"
    )
