# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a benchmark: statistics, ratio, model and validity of every cell, and sentences
about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import Latency
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import (
    resampling,
    schedule,
    throughput_limit,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    Benchmark,
    MeasuredCell,
    Model,
    Ratio,
    Repetition,
    Statistics,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import (
    median_of_known,
    short,
)

UNITS = {"seconds": "s", "rate": "/s"}
NO_DIFFERENCE = "no measurable difference"
NOT_MEASURED = "not measured yet"
MODEL_FAILS = "the model does not hold here"


def analyse(benchmark: Benchmark) -> Benchmark:
    """Fill in what follows from a benchmark's repetitions, and replace what was filled in before.

    Args:
        benchmark: its cells need no more than their conditions and repetitions. A cell's error
            says why it could not run. A suite's metric, seconds or rate, says what its cells are
            compared by.

    Returns:
        the same dict, with statistics, ratio, latency_ms, rtt_ms, model, valid and reasons in each
        cell, and statement.
    """
    metric, cells = metric_of(benchmark), benchmark["cells"]
    for cell in cells:
        judge_cell(cell)
        cell["statistics"] = statistics_of(cell, metric)
        cell["latency_ms"] = latency_of(cell)
        trips = [entry.get("rtt_ms") for entry in counting(cell)]
        cell["rtt_ms"] = median_of_known(trips)
    together = waits_together(benchmark)
    for cell in cells:
        cell["ratio"] = ratio_of(cell, cells, metric)
        cell["model"] = model_of(cell, cells, together)
    benchmark["statement"] = sentences(benchmark)
    return benchmark


def metric_of(benchmark: Benchmark) -> str:
    """seconds if every cell is the same amount of work by mysqlslap with as many clients, rate
    otherwise.
    """
    metric = benchmark["suite"].get("metric")
    if metric:
        return metric
    loads = [cell["load"] for cell in benchmark["cells"]]
    phases = all(load["tool"] == "mysqlslap" and load.get("queries") for load in loads)
    alike = len({load["clients"] for load in loads}) == 1
    return "seconds" if phases and alike else "rate"


def measured(cell: MeasuredCell) -> list[Repetition]:
    """The repetitions except the warm-up."""
    return [entry for entry in cell.get("repetitions") or [] if not entry.get("warm_up")]


def counting(cell: MeasuredCell) -> list[Repetition]:
    """The repetitions that count; none of a cell that does not."""
    return [entry for entry in measured(cell) if entry["valid"]] if cell["valid"] else []


def figure(entry: Repetition, metric: str) -> float | None:
    """A repetition's seconds or rate."""
    return entry["seconds"] if metric == "seconds" else entry["rate"]


def figures(cell: MeasuredCell, metric: str) -> list[float]:
    """The seconds or rates of the repetitions that count."""
    values = [figure(entry, metric) for entry in counting(cell)]
    return [value for value in values if value]


def figures_of(cell: MeasuredCell) -> Statistics:
    """The statistics of a cell that counts.

    Raises:
        ValueError: it does not count.
    """
    statistics = cell["statistics"]
    if statistics is None:
        raise ValueError(f"cell {cell['id']} has no figures")
    return statistics


def judge_cell(cell: MeasuredCell) -> None:
    """Set valid and reasons: a cell counts when it could run and at least half of its repetitions
    count.
    """
    every = measured(cell)
    good = [entry for entry in every if entry["valid"]]
    counts: dict[str, int] = {}
    for entry in every:
        if not entry["valid"]:
            words = entry.get("reason") or "no reason was recorded"
            counts[words] = counts.get(words, 0) + 1
    error = cell.get("error")
    cell["valid"] = bool(good) and not error and 2 * len(good) >= len(every)
    reasons = [error] if error else []
    reasons += [f"{words} ({count} of {len(every)} repetitions)" for words, count in counts.items()]
    cell["reasons"] = reasons if every or reasons else [NOT_MEASURED]


def statistics_of(cell: MeasuredCell, metric: str) -> Statistics | None:
    summary = resampling.summary(figures(cell, metric))
    return {"metric": metric, "unit": UNITS[metric], **summary} if summary else None


def latency_of(cell: MeasuredCell) -> Latency | None:
    """Each figure's median over the repetitions, the greatest maximum; None if no transaction was
    timed.
    """
    timed = [latency for entry in counting(cell) for latency in [entry["latency_ms"]] if latency]
    if not timed:
        return None
    return {
        "mean": median([latency["mean"] for latency in timed]),
        "stdev": median([latency["stdev"] for latency in timed]),
        "p50": median_of_known(latency["p50"] for latency in timed),
        "p95": median_of_known(latency["p95"] for latency in timed),
        "p99": median_of_known(latency["p99"] for latency in timed),
        "max": max(latency["max"] for latency in timed),
    }


def ratio_of(
    cell: MeasuredCell,
    cells: Sequence[MeasuredCell],
    metric: str,
) -> Ratio | None:
    """A cell against its baseline; None if one of the two has no figures."""
    base = next((other for other in cells if other["id"] == cell.get("baseline")), None)
    if base is None or base is cell or not (cell["statistics"] and base["statistics"]):
        return None
    own_figures, base_figures = figures(cell, metric), figures(base, metric)
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
    """A ratio in words."""
    share = f"{abs(value - 1) * 100:.0f} %"
    if metric == "seconds":
        if value >= 2:
            return f"{short(value)} times as long"
        return f"{share} {'longer' if value > 1 else 'shorter'}"
    if value >= 2:
        return f"{short(value)} times the rate"
    if value < 0.5:
        return f"{short(value * 100)} % of the rate"
    return f"{share} {'faster' if value > 1 else 'slower'}"


def waits_together(benchmark: Benchmark) -> bool:
    """names.Names.waits_together of the source; True if it is not recorded which server that is."""
    hosts = benchmark["environment"]["hosts"]
    source = next((host for host in hosts if host["role"] == "source"), None)
    try:
        if source is None:
            return True
        return Names(source["engine"], parse_version(source["version"])).waits_together
    except (KeyError, ValueError, TypeError):
        return True


def asynchronous_rate(
    cell: MeasuredCell,
    cells: Sequence[MeasuredCell],
    clients: int,
) -> float | None:
    """Operations a second of as many asynchronous clients with the same load and durability, or
    None.

    If there are several such cells, it is the one with this cell's delay, or else the least
    delayed.
    """
    fitting = [
        other
        for other in cells
        if other["replication"] == "async"
        and other["load"]["clients"] == clients
        and other["statistics"]
        and kind_of(other) == kind_of(cell)
    ]
    fitting.sort(key=lambda other: (other["delay_ms"] != cell["delay_ms"], other["delay_ms"]))
    return median_of_known(rate(entry) for entry in counting(fitting[0])) if fitting else None


def kind_of(cell: MeasuredCell) -> tuple[object, ...]:
    """What two cells must have in common for their rates to be compared."""
    load = cell["load"]
    return cell["durability"], load["tool"], load.get("script"), bool(load.get("same_row"))


def rate(entry: Repetition) -> float | None:
    """A repetition's operations a second; None if it has no figure."""
    seconds, operations = entry.get("seconds"), entry.get("operations")
    if entry.get("rate") is None and seconds and operations:
        return operations / float(seconds)
    return entry.get("rate")


def model_of(
    cell: MeasuredCell,
    cells: Sequence[MeasuredCell],
    together: bool,
) -> Model | None:
    """A semi-sync cell against the model's limit, from its own round trip; None if there is nothing
    to compare. Its share is None if the cell is faster than the model can be.
    """
    reached, trip = median_of_known(rate(entry) for entry in counting(cell)), cell["rtt_ms"]
    if cell["replication"] != "semisync" or not reached or trip is None:
        return None
    clients = cell["load"]["clients"]
    single = asynchronous_rate(cell, cells, 1)
    alike = asynchronous_rate(cell, cells, clients)
    waiting = throughput_limit.waiting_share(counting(cell), schedule.preloaded(cell["load"]))
    same_row = cell["load"].get("same_row")
    turns = throughput_limit.taken_in_turn(same_row, cell.get("wait_point"), together)
    bound = throughput_limit.limit(clients, trip, single, alike, waiting, turns)
    if not bound:
        return None
    share = reached / bound if throughput_limit.holds(reached / bound) else None
    words = bound_in_words(bound, trip, clients, single, bound == alike)
    return {"limit": bound, "share": share, "words": share_in_words(share, reached, words)}


def bound_in_words(
    bound: float,
    rtt_ms: float,
    clients: int,
    single: float | None,
    unbound: bool,
) -> str:
    """A limit and where it comes from; unbound if asynchronous clients are no faster."""
    trip = f"a round trip of {short(rtt_ms)} ms"
    if unbound:
        return f"the {short(bound)}/s of asynchronous replication, which {trip} would allow"
    who = "one client" if clients == 1 else f"{clients} clients"
    text = f"the {short(bound)}/s that {trip} allows {who}"
    if single:
        return text
    return f"{text} (from the round trip only: one asynchronous client was not measured)"


def share_in_words(
    share: float | None,
    reached: float,
    bound: str,
) -> str:
    """The comparison with the limit, as the end of a sentence.

    Args:
        share: of the limit; None if the cell refutes it.
        reached: operations a second.
        bound: of bound_in_words().
    """
    if share is None:
        return f"{MODEL_FAILS}: {short(reached)}/s is more than {bound}"
    return f"{share * 100:.0f} % of {bound}"


def sentences(benchmark: Benchmark) -> list[str]:
    """The whole benchmark, a sentence per cell."""
    cells = benchmark["cells"]
    labels = {cell["id"]: cell["label"] for cell in cells}
    good = len([cell for cell in cells if cell["valid"]])
    first = f"{good} of {len(cells)} cells count."
    if good == len(cells):
        first = f"All {good} cells count."
    if not benchmark.get("complete"):
        first += " The run is not complete; these are its results so far."
    defects = [f"{words}." for words in benchmark["environment"].get("defects") or []]
    return [first, *defects, *(sentence(cell, labels) for cell in cells)]


def sentence(cell: MeasuredCell, labels: dict[str, str]) -> str:
    """One cell: median and interval, ratio, share of the limit; or why it does not count."""
    summary, ratio, model = cell["statistics"], cell["ratio"], cell["model"]
    if cell["reasons"] == [NOT_MEASURED]:
        return f"{cell['label']}: {NOT_MEASURED}."
    if not summary:
        return f"{cell['label']} does not count: {'; '.join(cell['reasons']) or 'no figures'}."
    parts = [f"{cell['label']}: {figure_in_words(summary)}"]
    if ratio:
        interval = f"{short(ratio['low'])} to {short(ratio['high'])}"
        parts.append(f'against "{labels[ratio["to"]]}" {ratio["words"]} (ratio {interval})')
    if model:
        parts.append(model["words"])
    if cell["replication"] == "semisync":
        parts.append(acknowledged_in_words(counting(cell)))
    if cell["reasons"]:
        parts.append("left out: " + ", ".join(cell["reasons"]))
    return "; ".join(part for part in parts if part) + "."


def acknowledged_in_words(entries: list[Repetition]) -> str:
    """How many commits shared an acknowledgement: the medians of the commits and of the counters
    that show it (B4).
    """

    def counter(key: str) -> float | None:
        return median_of_known((entry.get("counters") or {}).get(key) for entry in entries)

    commits = median_of_known(entry.get("commits") for entry in entries)
    parts = [] if commits is None else [f"{short(commits)} commits"]
    for key in ("yes_tx", "net_waits"):
        rise = counter(key)
        if rise is not None:
            parts.append(f"{key} +{short(rise)}")
    return ", ".join(parts)


def with_unit(summary: Statistics) -> str:
    """A cell's median with its unit."""
    space = "" if summary["unit"].startswith("/") else " "
    return f"{short(summary['median'])}{space}{summary['unit']}"


def figure_in_words(summary: Statistics) -> str:
    if summary["n"] == 1:
        return f"{with_unit(summary)}, measured once"
    interval = f"{short(summary['low'])} to {short(summary['high'])}"
    return f"median {with_unit(summary)} (95 % interval {interval}, {summary['n']} repetitions)"
