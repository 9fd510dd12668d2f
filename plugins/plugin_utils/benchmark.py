# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A suite's run as it is kept: benchmark-SUITE.json, begun, resumed, added to, and told about."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import glob
import os
import platform

import yaml
from ansible.release import __version__ as ansible_version
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, known_bad
from ansible_collections.dbre.semisync.plugins.plugin_utils import results, statement

FORMAT = 1
# P8.4: as fast as the baseline, within what its own runs differ by, or by no more than this share.
BACK_AT_BASELINE = 0.10
# P8.2: the round trip grew by the delay, within this share of it.
DELAY_TOLERANCE = 0.03


def file_name(suite_id):
    return "benchmark-%s.json" % suite_id


def begin(cluster, suite_id, suite, profile, expected, environment, moment):
    """The document of a run that has measured nothing yet."""
    return {
        "format": FORMAT, "cluster": cluster,
        "suite": {"id": suite_id, "title": suite["title"], "document": suite["document"], "profile": profile,
                  "expected_seconds": round(expected), "repetitions": suite["repetitions"], "what": suite["what"],
                  **({"metric": suite["metric"]} if suite["metric"] else {})},
        "started": results.stamp(moment), "ended": None, "complete": False, "environment": environment,
        "cells": [dict(cell, repetitions=[]) for cell in suite["cells"]],
        "documented": [{"what": entry.get("what", ""), "figure": entry.get("figure", ""), "found": None}
                       for entry in suite["documented"]],
        "statement": [],
    }


def controller(collection):
    return {"ansible": ansible_version, "python": platform.python_version(), "collection": collection}


def collection_version():
    """The version of the collection that this file is part of; of a checkout, the one that it will have."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    manifest = results.read_json(os.path.join(top, "MANIFEST.json"), None)
    if manifest:
        return manifest["collection_info"]["version"]
    with open(os.path.join(top, "galaxy.yml")) as stream:
        return yaml.safe_load(stream)["version"]


def settings(document):
    """What makes a run the same as another: the cells without what was measured."""
    return [[cell[key] for key in ("id", "replication", "delay_ms", "durability", "wait_point", "timeout_ms", "load")]
            for cell in document["cells"]]


def unfinished(folder, document):
    """(run's name, document) of the newest run of this suite that was interrupted; (None, None) where there is none.

    Args:
        folder: of the cluster.
        document: begin() of the run that would be started instead.
    """
    for path in sorted(glob.glob(os.path.join(folder, "2*Z", file_name(document["suite"]["id"]))), reverse=True):
        known = results.read_json(path, None)
        if not known or known.get("format") != FORMAT:
            continue
        same = settings(known) == settings(document) and servers(known) == servers(document) and (
            known["suite"]["repetitions"] == document["suite"]["repetitions"])
        return (os.path.basename(os.path.dirname(path)), known) if same and not known["complete"] else (None, None)
    return None, None


def servers(document):
    return [[host.get(key) for key in ("host", "role", "engine", "version")] for host in document["environment"]["hosts"]]


def done(document):
    """(cell's id, repetition) of every run that is kept; those that do not count are tried again."""
    return set((cell["id"], entry["number"]) for cell in document["cells"] for entry in cell["repetitions"]
               if entry["valid"])


def add(document, cell_id, number, run, moment, seconds):
    """Keep one run, in place of an earlier try of the same.

    Args:
        run: an entry of semisync_load's runs.
        seconds: that it took with everything around it.
    """
    cell = next(cell for cell in document["cells"] if cell["id"] == cell_id)
    entry = dict(run, at=results.stamp(moment), warm_up=number == 0, number=number, wall_seconds=round(seconds, 2))
    cell["repetitions"] = [other for other in cell["repetitions"] if other["number"] != number] + [entry]
    return statement.analyse(document)


def spoil(document, cell_id, number, reason):
    """A run that was kept does not count after all: it keeps no figure."""
    cell = next(cell for cell in document["cells"] if cell["id"] == cell_id)
    for entry in cell["repetitions"]:
        if entry["number"] == number and entry["valid"]:
            entry.update(valid=False, reason=reason, seconds=None, operations=None, rate=None, latency_ms=None)
    return statement.analyse(document)


def walls(document):
    """Seconds that the newest run of each cell took with everything around it."""
    return dict((cell["id"], cell["repetitions"][-1]["wall_seconds"]) for cell in document["cells"] if cell["repetitions"])


def defects(info):
    """The known defects of a server's version, in words: a suite's own conditions may bring each of them about.

    Args:
        info: the source's semisync_info.
    """
    version = tuple(int(number) for number in info["version"].split("."))
    return ["%s %s has a known defect, which may be what is measured: %s (%s)" % (
        info["engine"], info["version"], defect.what, defect.source) for defect in known_bad.of_version(info["engine"], version)]


def environment(hosts, rtt_ms, collection):
    """The environment of the run.

    Args:
        hosts: (name, role, semisync_info's result or None, semisync_environment's environment) of each.
        rtt_ms: replica -> round trip in milliseconds.
    """
    found, known = [], []
    for name, role, info, machine in hosts:
        entry = {"host": name, "role": role}
        entry.update(dict((key, machine.get(key)) for key in ("kernel", "cpus", "cpu", "memory_mb", "virtualization", "fsync_us")))
        if info:
            variables, source = info["variables"], info["semisync"]["source"]["variables"]
            entry.update(engine=info["engine"], version=info["version"], sync_binlog=number(variables["sync_binlog"]),
                         innodb_flush_log_at_trx_commit=number(variables["innodb_flush_log_at_trx_commit"]),
                         wait_point=source.get("wait_point"), timeout_ms=number(source.get("timeout")))
            known += defects(info) if role == "source" else []
        found.append(entry)
    return {"controller": controller(collection), "hosts": found, "rtt_ms": rtt_ms, "defects": known}


def number(text):
    return int(text) if str(text or "").isdigit() else None


def line(cell, run, position, count, left):
    """One run in a line for people: what it was, its figure, its share of the limit, and the time left.

    Args:
        cell: the analysed cell that it belongs to.
        left: words for the time left.
    """
    which = "warm-up" if run["warm_up"] else "run %d" % run["number"]
    head = "  [%*d/%d] %s, %s: " % (len(str(count)), position, count, cell["label"], which)
    if not run["valid"]:
        return head + "DOES NOT COUNT: %s; %s left" % (run["reason"], left)
    parts = ["%s s, %s/s" % (statement.short(run["seconds"]), statement.short(run["rate"]))]
    if run.get("latency_ms"):
        parts.append("median %s ms" % statement.short(run["latency_ms"]["p50"]))
    if run.get("rtt_ms") is not None:
        parts.append("round trip %s ms" % statement.short(run["rtt_ms"]))
    if cell.get("model") and not run["warm_up"]:
        parts.append("%.0f %% of the limit" % (cell["model"]["share"] * 100))
    return head + ", ".join(parts) + "; %s left" % left


def finish(document, suite, moment):
    """Close the document: what the source document found gets what was found here beside it."""
    document.update(complete=True, ended=results.stamp(moment))
    statement.analyse(document)
    cells = dict((cell["id"], cell) for cell in document["cells"])
    for entry, asked in zip(document["documented"], suite["documented"]):
        cell = cells.get(asked.get("found"))
        entry["found"] = in_words(cell) if cell else None
    return document


def in_words(cell):
    """A cell's median with its unit; where single transactions were timed, their mean too."""
    found = cell["statistics"]
    if not found:
        return "does not count: %s" % "; ".join(cell["reasons"])
    words = "%s%s%s" % (statement.short(found["median"]), "" if found["unit"].startswith("/") else " ", found["unit"])
    latency = cell.get("latency_ms")
    if latency:
        words += ", mean %s ms, p95 %s ms" % (statement.short(latency["mean"]), statement.short(latency["p95"]))
    return words


def points(document, source, delay, restored):
    """The checkpoints P8.1 to P8.5, of cells that carry them.

    Args:
        source: the source's name.
        delay: netem's result when the delay was put on, or None.
        restored: netem's result when it was taken off, and semi-sync's statuses afterwards, or None.
    """
    cells, rows = [cell for cell in document["cells"] if cell["checkpoint"]], []
    for cell in cells:
        rows.append(ratio_point(cell, source))
    if cells and delay:
        rows.append(delay_point(source, delay, max(cell["delay_ms"] for cell in cells)))
    if cells and restored:
        rows.append(restored_point(source, restored))
    return rows


def ratio_point(cell, source):
    title, expected = "mysqlslap, %s" % cell["label"], "runs that count, and their ratio to the baseline"
    if not cell["statistics"] or not cell["ratio"]:
        return checkpoints.row(cell["checkpoint"], source, title, expected, "; ".join(cell["reasons"]) or "no baseline", False)
    observed = "median %s s, %s (ratio %s)" % (statement.short(cell["statistics"]["median"]), cell["ratio"]["words"],
                                               statement.short(cell["ratio"]["value"]))
    if cell["checkpoint"] != "P8.4":
        return checkpoints.row(cell["checkpoint"], source, title, expected, observed, True)
    good = cell["ratio"]["difference"] == "none" or cell["ratio"]["value"] <= 1 + BACK_AT_BASELINE
    return checkpoints.row("P8.4", source, title, "no slower than the baseline", observed, good)


def delay_point(source, delay, wanted):
    grown = [delay["rtt_after"][peer]["median"] - delay["rtt_before"][peer]["median"] for peer in delay["rtt_before"]
             if delay["rtt_after"][peer]["median"] is not None and delay["rtt_before"][peer]["median"] is not None]
    good = bool(grown and delay["shown"]) and all(abs(each - wanted) <= DELAY_TOLERANCE * wanted for each in grown)
    return checkpoints.row("P8.2", source, "netem delays the way to the replica", "round trip +%g ms" % wanted, "%s; %s" % (
        ", ".join("+%.1f ms" % each for each in grown) or "no answer to ping", "; ".join(delay["shown"]) or "no qdisc"), good)


def restored_point(source, restored):
    kinds = [qdisc["kind"] for qdisc in restored["qdiscs_after"]]
    good = "netem" not in kinds and restored["status"] == "ON" and restored["clients"] >= restored["replicas"]
    return checkpoints.row("P8.5", source, "the delay is gone and semi-sync is back",
                           "no netem, status ON, %d clients" % restored["replicas"],
                           "%s, status %s, %d clients" % ("netem is left" if "netem" in kinds else "no netem",
                                                          restored["status"], restored["clients"]), good)


def summary(document, path):
    """The end of a run for people."""
    lines = ["%s (cluster %s)" % (document["suite"]["title"], document["cluster"])]
    lines += ["  " + each for each in document["statement"]]
    for entry in document["documented"]:
        lines.append("  the document, %s: %s; here: %s" % (entry["what"], entry["figure"], entry["found"]))
    return "\n".join(lines + ["  " + path])
