# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source document's checkpoints P0 to P5, decided from what the servers said.

Every row has the point's identifier, its host, what was expected, what was observed, and an outcome: passed, failed,
or not_applicable with a reason.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import plan, state

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not_applicable"
LAG_SECONDS = 1.0
# Clocks that differ by less than this do not matter to a limit of one second.
CLOCK_TOLERANCE = 0.05
SIDE_POINT = {"source": "P3", "replica": "P4"}


def row(point, host, title, expected, observed, good, reason=""):
    """One checkpoint; good is True, False, or None for not applicable."""
    outcome = NOT_APPLICABLE if good is None else PASSED if good else FAILED
    return {"id": point, "host": host, "title": title, "expected": expected, "observed": observed, "outcome": outcome,
            "reason": reason}


def evaluate(members, canary, arrivals, recorded):
    """All checkpoints of a cluster.

    Args:
        members: plan.Member of every host; one without info could not be read.
        canary: result of semisync_canary on the source, or None where no row was written.
        arrivals: host -> result of the waiting semisync_canary on a replica.
        recorded: rows of points that can be seen only once (P2.1, P3.5), by identifier.

    Returns:
        list of row(), in the document's order.
    """
    source, replicas = plan.source_of(members), plan.replicas_of(members)
    rows = [replicating(member, members) for member in members]
    rows += [inserted(source, canary)]
    rows += [arrived(replica, canary, arrivals.get(replica.host)) for replica in replicas]
    rows += [once("P2.1", source, recorded, "mysqlslap baseline before semi-sync is on",
                  "a run with seconds for every iteration", "no baseline was taken before semi-sync was switched on; "
                  "site.yml takes one with semisync_baseline=true")]
    rows += side(source)
    rows += [once("P3.5", source, recorded, "no semi-sync client before the first replica", "0",
                  "the first replica was configured before, or by another controller")]
    for replica in replicas:
        rows += side(replica)
    return rows + [clients(source, replicas), acknowledged(source, canary)]


def once(point, member, recorded, title, expected, reason):
    """A point that can be seen only once in a cluster's life: what was recorded then, for this very server."""
    seen = recorded.get(point)
    if seen and member.info and seen.get("server") == identity(member.info):
        return row(point, member.host, title, expected, seen["observed"], seen["outcome"] == PASSED,
                   "recorded %s" % seen["at"])
    return row(point, member.host, title, expected, "", None, reason)


def identity(info):
    """What tells this server from any other: MySQL's server_uuid, MariaDB's host and data directory."""
    variables = info["variables"]
    return variables.get("server_uuid") or "%s:%s" % (variables["hostname"], variables["datadir"])


def replicating(member, members):
    """P0: the host has its part in replication."""
    if member.role == "source":
        title, expected = "the source writes a binary log", "log_bin ON, a server_id of its own"
        if member.info is None:
            return row("P0", member.host, title, expected, member.error, False)
        variables = member.info["variables"]
        others = [other.info["variables"]["server_id"] for other in members if other.info and other is not member]
        good = variables["log_bin"] == "ON" and variables["server_id"] not in others
        return row("P0", member.host, title, expected,
                   "log_bin %s, server_id %s" % (variables["log_bin"], variables["server_id"]), good)
    title, expected = "the replica's channel runs", "IO thread Yes, SQL thread Yes"
    if member.info is None:
        return row("P0", member.host, title, expected, member.error, False)
    return row("P0", member.host, title, expected, state.describe_channel(member.channel),
               state.running(member.channel))


def written(canary):
    return (canary or {}).get("written") or []


def inserted(source, canary):
    """P1.1: a row is inserted on the source."""
    title, expected = "a canary row is inserted", "the insert is confirmed"
    if canary is None:
        return row("P1.1", source.host, title, expected, "", None, "no row was written in this run")
    if not written(canary):
        return row("P1.1", source.host, title, expected, canary.get("msg", "no row was written"), False)
    last = written(canary)[-1]
    words = "confirmed after %.1f ms" if last["confirmed"] else "not confirmed within %.0f ms"
    return row("P1.1", source.host, title, expected, words % last["latency_ms"], last["confirmed"])


def arrived(replica, canary, arrival):
    """P1.2: the row is on the replica within one second; the lag is measured."""
    title, expected = "the row arrives", "within %.0f s" % LAG_SECONDS
    if canary is None:
        return row("P1.2", replica.host, title, expected, "", None, "no row was written in this run")
    if not arrival or not arrival.get("arrived") or not canary.get("confirmed_at"):
        return row("P1.2", replica.host, title, expected, (arrival or {}).get("msg") or "the row was not seen", False)
    lag = arrival["arrived_at"] - canary["confirmed_at"]
    # A commit that waits for its acknowledgement is on the replica before it is confirmed, by up to what it took.
    if lag < -CLOCK_TOLERANCE - sum(entry["latency_ms"] for entry in written(canary)[-1:]) / 1000.0:
        return row("P1.2", replica.host, title, expected, "seen %.2f s before it was confirmed" % -lag, False,
                   "the clocks of source and replica differ, the lag cannot be measured; synchronise them")
    return row("P1.2", replica.host, title, expected, "after %.0f ms" % (max(lag, 0) * 1000), lag <= LAG_SECONDS)


def side(member):
    """P3.1 to P3.4 on the source, P4.1 to P4.4 on a replica."""
    point, role = SIDE_POINT[member.role], member.role
    if member.info is None:
        titles = ("the plugin is active", "the option files enable it", "the variable is ON", "the status is ON")
        return [row("%s.%d" % (point, number), member.host, title, "ON", member.error, False)
                for number, title in enumerate(titles, 1)]
    return [plugin_active(point + ".1", member, role), in_option_files(point + ".2", member, role),
            variable_on(point + ".3", member, role), status_on(point + ".4", member, role)]


def plugin_active(point, member, role):
    name = member.info["names"][role]["plugin"]
    if name is None:
        return row(point, member.host, "SHOW PLUGINS has the plugin", "", "", None,
                   "semi-sync is built into %s %s" % (member.info["engine"], member.info["version"]))
    status = member.info["plugins"].get(name)
    return row(point, member.host, "SHOW PLUGINS has %s" % name, "ACTIVE", status or "not installed",
               status == "ACTIVE")


def in_option_files(point, member, role):
    name = member.info["names"][role]["variables"]["enabled"]
    value = member.info["option_files"]["options"].get(name)
    return row(point, member.host, "the option files set %s" % name, "1",
               "not set" if value is None else value or "set without a value",
               value is not None and optfile.canonical_value(value) in ("1", ""))


def variable_on(point, member, role):
    names, values = member.info["names"][role]["variables"], member.info["semisync"][role]["variables"]
    enabled = values["enabled"]
    rest = ", ".join("%s %s" % (re.sub(r"^rpl_semi_sync_[a-z]+_", "", names[key]), values[key])
                     for key in sorted(values) if key != "enabled" and values[key] is not None)
    return row(point, member.host, "%s is ON" % names["enabled"], "ON",
               "no such variable" if enabled is None else "%s; %s" % (enabled, rest), enabled == "ON")


def status_on(point, member, role):
    name = member.info["names"][role]["statuses"]["status"]
    status = member.info["semisync"][role]["status"]["status"]
    return row(point, member.host, "%s is ON" % name, "ON", status or "no such status", status == "ON")


def clients(source, replicas):
    """P5.1: the source counts as many semi-sync clients as the cluster has replicas."""
    title, expected = "semi-sync clients", str(len(replicas))
    if source.info is None:
        return row("P5.1", source.host, title, expected, source.error, False)
    names = source.info["names"]["source"]["statuses"]
    count = source.info["semisync"]["source"]["status"]["clients"]
    return row("P5.1", source.host, names["clients"], expected, "no such status" if count is None else str(count),
               count is not None and int(count) == len(replicas))


def acknowledged(source, canary):
    """P5.2: each row raises yes_tx by 1. Other sessions' commits raise it too, so more is no failure; no_tx is."""
    title = "every row is acknowledged"
    if canary is None:
        return row("P5.2", source.host, title, "yes_tx +1 a row", "", None, "no row was written in this run")
    rows = written(canary)
    counted = [entry["counters"] for entry in rows if "yes_tx" in entry["counters"]]
    if not counted:
        return row("P5.2", source.host, title, "yes_tx +1 a row", canary.get("msg", "no such status"), False)
    yes, no = sum(entry["yes_tx"] for entry in counted), sum(entry["no_tx"] for entry in counted)
    good = len(counted) == len(rows) and all(entry["yes_tx"] >= 1 for entry in counted) and no == 0
    return row("P5.2", source.host, title, "yes_tx +%d, no_tx +0" % len(rows), "yes_tx +%d, no_tx +%d" % (yes, no), good)


def observation(point, host, observed, good, info, at):
    """What once() finds again: a point seen at the only time it can be seen, and on which server."""
    return {"id": point, "host": host, "observed": observed, "outcome": PASSED if good else FAILED,
            "server": identity(info), "at": at}


def table(rows, name):
    """The checkpoints as text for people: a line a row, the expected value only where it was missed."""
    widths = [max([len(entry[key]) for entry in rows] + [4]) for key in ("id", "host")]
    words = {PASSED: "passed", FAILED: "FAILED", NOT_APPLICABLE: "n/a"}
    lines = ["Checkpoints of cluster %s" % name]
    for entry in rows:
        what = entry["observed"] if entry["outcome"] != NOT_APPLICABLE else entry["reason"]
        line = "  %-*s  %-6s  %-*s  %s: %s" % (widths[0], entry["id"], words[entry["outcome"]], widths[1],
                                               entry["host"], entry["title"], what)
        if entry["outcome"] == FAILED:
            line += " (expected: %s)" % entry["expected"] + (" - " + entry["reason"] if entry["reason"] else "")
        lines.append(line)
    return "\n".join(lines)


def failed(rows):
    return [entry for entry in rows if entry["outcome"] == FAILED]


def verdict(rows):
    """One line: how many of each, and the identifiers that failed."""
    count = dict((outcome, len([entry for entry in rows if entry["outcome"] == outcome]))
                 for outcome in (PASSED, FAILED, NOT_APPLICABLE))
    line = "%(passed)d passed, %(failed)d failed, %(not_applicable)d not applicable" % count
    if count[FAILED]:
        line += ": " + ", ".join("%s on %s" % (entry["id"], entry["host"]) for entry in failed(rows))
    return line
