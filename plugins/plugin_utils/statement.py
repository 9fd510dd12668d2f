# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark says: statistics, ratio, model and validity of every cell, and sentences for people."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import names
from ansible_collections.dbre.semisync.plugins.plugin_utils import model, statistics

UNITS = {"seconds": "s", "rate": "/s"}
NO_DIFFERENCE = "no measurable difference"
NOT_MEASURED = "not measured yet"
LATENCY = ("mean", "stdev", "p50", "p95", "p99", "max")


def analyse(benchmark):
    """Fill in what follows from a benchmark's repetitions; what was filled in before is replaced.

    Args:
        benchmark: benchmark-SUITE.json, whose cells need no more than their settings and repetitions. A cell's error
            says why it could not run. A suite's metric, seconds or rate, says what its cells are compared by.

    Returns:
        the same dict, with statistics, ratio, latency_ms, rtt_ms, model, valid and reasons in each cell, and statement.
    """
    metric, cells = metric_of(benchmark), benchmark["cells"]
    for cell in cells:
        judge(cell)
        cell["statistics"] = statistics_of(cell, metric)
        cell["latency_ms"] = latency_of(cell)
        cell["rtt_ms"] = median_of(entry.get("rtt_ms") for entry in counting(cell))
    together = waits_together(benchmark)
    for cell in cells:
        cell["ratio"] = ratio_of(cell, cells, metric)
        cell["model"] = model_of(cell, cells, together)
    benchmark["statement"] = sentences(benchmark)
    return benchmark


def metric_of(benchmark):
    """seconds where every cell is the same amount of work by mysqlslap with as many clients, rate otherwise."""
    loads = [cell["load"] for cell in benchmark["cells"]]
    phases = all(load["tool"] == "mysqlslap" and load.get("queries") for load in loads)
    phases = phases and len(set(load["clients"] for load in loads)) == 1
    return benchmark["suite"].get("metric") or ("seconds" if phases else "rate")


def measured(cell):
    """The repetitions that were meant to count: all but the warm-up."""
    return [entry for entry in cell.get("repetitions") or [] if not entry.get("warm_up")]


def counting(cell):
    """The repetitions that count; none of a cell that does not."""
    return [entry for entry in measured(cell) if entry["valid"]] if cell["valid"] else []


def median_of(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def judge(cell):
    """Set valid and reasons: a cell counts when it could run and at least half of its repetitions count."""
    every = measured(cell)
    good = [entry for entry in every if entry["valid"]]
    reasons = {}
    for entry in every:
        if not entry["valid"]:
            words = entry.get("reason") or "no reason was recorded"
            reasons[words] = reasons.get(words, 0) + 1
    cell["valid"] = bool(good) and not cell.get("error") and 2 * len(good) >= len(every)
    cell["reasons"] = [cell["error"]] if cell.get("error") else []
    cell["reasons"] += ["%s (%d of %d repetitions)" % (words, count, len(every)) for words, count in reasons.items()]
    if not every and not cell["reasons"]:
        cell["reasons"] = [NOT_MEASURED]


def statistics_of(cell, metric):
    found = statistics.summary([entry[metric] for entry in counting(cell) if entry.get(metric)])
    return dict(metric=metric, unit=UNITS[metric], **found) if found else None


def latency_of(cell):
    """Each figure's median over the repetitions, the greatest maximum; None where no transaction was timed."""
    timed = [entry["latency_ms"] for entry in counting(cell) if entry.get("latency_ms")]
    if not timed:
        return None
    found = dict((key, median_of(entry.get(key) for entry in timed)) for key in LATENCY)
    return dict(found, max=max(entry["max"] for entry in timed))


def ratio_of(cell, cells, metric):
    base = next((other for other in cells if other["id"] == cell.get("baseline")), None)
    if base is None or base is cell or not (cell["statistics"] and base["statistics"]):
        return None
    mine, theirs = ([entry[metric] for entry in counting(one) if entry.get(metric)] for one in (cell, base))
    value, low, high = statistics.ratio(mine, theirs)
    found = statistics.difference(mine, theirs)
    return {"to": base["id"], "value": value, "low": low, "high": high, "difference": found,
            "words": NO_DIFFERENCE if found == "none" else comparison(metric, value)}


def comparison(metric, value):
    """A ratio as people say it."""
    if metric == "seconds":
        if value >= 2:
            return "%s times as long" % short(value)
        return "%.0f %% %s" % (abs(value - 1) * 100, "longer" if value > 1 else "shorter")
    if value >= 2:
        return "%s times the rate" % short(value)
    if value < 0.5:
        return "%s %% of the rate" % short(value * 100)
    return "%.0f %% %s" % (abs(value - 1) * 100, "faster" if value > 1 else "slower")


def waits_together(benchmark):
    """names.Names.waits_together of the source; True where the benchmark does not say what it is."""
    source = next((host for host in benchmark["environment"]["hosts"] if host["role"] == "source"), {})
    try:
        return names.Names(source["engine"], names.parse_version(source["version"])).waits_together
    except (KeyError, ValueError, TypeError):
        return True


def asynchronous_rate(cell, cells, clients):
    """Operations a second of as many asynchronous clients with the same load and durability, or None.

    Where there are several such cells, the one with this cell's delay, else the least delayed.
    """
    def kind(one):
        load = one["load"]
        return one["durability"], load["tool"], load.get("script"), bool(load.get("same_row"))

    fitting = [one for one in cells if one["replication"] == "async" and one["load"]["clients"] == clients and
               one["statistics"] and kind(one) == kind(cell)]
    fitting.sort(key=lambda one: (one["delay_ms"] != cell["delay_ms"], one["delay_ms"]))
    return median_of(rate(entry) for entry in counting(fitting[0])) if fitting else None


def rate(entry):
    """A repetition's operations a second."""
    if entry.get("rate") is None and entry.get("seconds") and entry.get("operations"):
        return entry["operations"] / float(entry["seconds"])
    return entry.get("rate")


def model_of(cell, cells, together):
    """A semi-sync cell against the model's limit, from its own round trip; None where there is nothing to compare."""
    reached = median_of(rate(entry) for entry in counting(cell))
    if cell["replication"] != "semisync" or not reached or cell["rtt_ms"] is None:
        return None
    clients = cell["load"]["clients"]
    single, alike = asynchronous_rate(cell, cells, 1), asynchronous_rate(cell, cells, clients)
    figure = model.limit(clients, cell["rtt_ms"], single, alike, model.waiting_share(counting(cell)),
                         model.in_turn(cell["load"], cell.get("wait_point"), together))
    if not figure:
        return None
    share = reached / figure
    return {"limit": figure, "share": share,
            "words": share_in_words(share, figure, cell["rtt_ms"], clients, single, figure == alike)}


def share_in_words(share, figure, rtt_ms, clients, single, unbound):
    """The comparison with the limit as the end of a sentence; unbound where asynchronous clients are no faster."""
    if unbound:
        return "%.0f %% of the %s/s of asynchronous replication, which a round trip of %s ms would allow" % (
            share * 100, short(figure), short(rtt_ms))
    text = "%.0f %% of the %s/s that a round trip of %s ms allows %s" % (
        share * 100, short(figure), short(rtt_ms), "one client" if clients == 1 else "%d clients" % clients)
    return text if single else text + " (the round trip alone: one asynchronous client was not measured)"


def sentences(benchmark):
    """The whole benchmark, a sentence a cell."""
    cells = benchmark["cells"]
    labels = dict((cell["id"], cell["label"]) for cell in cells)
    good = len([cell for cell in cells if cell["valid"]])
    first = "All %d cells count." % good if good == len(cells) else "%d of %d cells count." % (good, len(cells))
    if not benchmark.get("complete"):
        first += " The run has not ended: what follows is what there is so far."
    known = [words + "." for words in benchmark["environment"].get("defects") or []]
    return [first] + known + [sentence(cell, labels) for cell in cells]


def sentence(cell, labels):
    """One cell: median and interval, ratio, share of the limit; or why it does not count."""
    found = cell["statistics"]
    if cell["reasons"] == [NOT_MEASURED]:
        return "%s: %s." % (cell["label"], NOT_MEASURED)
    if not found:
        return "%s does not count: %s." % (cell["label"], "; ".join(cell["reasons"]) or "no figures")
    parts = ["%s: %s" % (cell["label"], figure_in_words(found))]
    if cell["ratio"]:
        parts.append('against "%s" %s (ratio %s to %s)' % (
            labels[cell["ratio"]["to"]], cell["ratio"]["words"], short(cell["ratio"]["low"]), short(cell["ratio"]["high"])))
    if cell["model"]:
        parts.append(cell["model"]["words"])
    acknowledged = acknowledged_in_words(counting(cell)) if cell["replication"] == "semisync" else ""
    if acknowledged:
        parts.append(acknowledged)
    if cell["reasons"]:
        parts.append("left out: " + ", ".join(cell["reasons"]))
    return "; ".join(parts) + "."


def acknowledged_in_words(entries):
    """How many commits shared an acknowledgement: the medians of the commits and of the counters that show it (B4)."""
    figures = [("%s commits", [entry.get("commits") for entry in entries])]
    figures += [(key + " +%s", [(entry.get("counters") or {}).get(key) for entry in entries]) for key in ("yes_tx", "net_waits")]
    return ", ".join(words % short(median_of(values)) for words, values in figures if median_of(values) is not None)


def figure_in_words(found):
    space = "" if found["unit"].startswith("/") else " "
    if found["n"] == 1:
        return "%s%s%s, measured once" % (short(found["median"]), space, found["unit"])
    return "median %s%s%s (95 %% interval %s to %s, %d repetitions)" % (
        short(found["median"]), space, found["unit"], short(found["low"]), short(found["high"]), found["n"])


def short(number):
    """A number for people: three significant digits, thousands with a comma, never an exponent."""
    if abs(number) >= 99.95:
        return "{0:,.0f}".format(number)
    decimals = 0
    while number and abs(number) * 10 ** decimals < 99.95 and decimals < 6:
        decimals += 1
    text = "%.*f" % (max(0, decimals), number)
    return text.rstrip("0").rstrip(".") if "." in text else text
