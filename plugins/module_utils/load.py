# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run of a load counts, from what the server, the network and the tool said; and how its latencies are told.

The rules: a run counts only when the work was done and what was to be measured held from its beginning to its end.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import math
import re

from ansible_collections.dbre.semisync.plugins.module_utils import gtid

# Statements that change rows; each is a transaction of its own under autocommit.
WRITES = ("com_insert", "com_update", "com_delete", "com_replace")
READS = ("com_select",)
SEMISYNC_COUNTERS = ("yes_tx", "no_tx", "no_times", "net_waits", "net_wait_time", "tx_waits", "tx_wait_time",
                     "wait_pos_backtraverse")
# A round trip under netem is measured with this much noise at most (see the module netem).
RTT_TOLERANCE = 0.03


def option_file(params):
    """Text of a [client] section with a module's login; only ever written to a file with mode 0600.

    Args:
        params: login_user, login_password, login_unix_socket, login_host, login_port, and config_file where it exists.
    """
    options = [("user", params["login_user"] or "root"), ("password", params["login_password"])]
    if params["login_unix_socket"]:
        options.append(("socket", params["login_unix_socket"]))
    else:
        options += [("host", params["login_host"]), ("port", params["login_port"]), ("protocol", "tcp")]
    lines = ['%s="%s"' % (name, str(value).replace("\\", "\\\\").replace('"', '\\"'))
             for name, value in options if value not in (None, "")]
    included = ["!include " + params["config_file"]] if params.get("config_file") and not params["login_user"] else []
    return "\n".join(["[client]"] + lines + included) + "\n"


def rises(before, after, names):
    """How far counters have risen together between two readings of the server's statuses."""
    return sum(int(after.get(name) or 0) - int(before.get(name) or 0) for name in names)


def transactions(before, after):
    """Transactions the binary log has taken between two readings of gtid_executed or gtid_binlog_pos.

    Returns:
        their number; None on a server without GTIDs.
    """
    if not after:
        return None
    if re.match(r"\d+-\d+-\d+(,|\Z)", after.strip()):
        return sum(gtid.domains(after).values()) - sum(gtid.domains(before).values())
    rest = gtid.parse_set(gtid.subtract(after, before or ""))
    return sum(last - first + 1 for intervals in rest.values() for first, last in intervals)


def deltas(before, after):
    """How far the source's semi-sync counters rose: only those that the server has."""
    return dict((key, int(after["semisync"][key]) - int(before["semisync"][key])) for key in SEMISYNC_COUNTERS
                if before["semisync"].get(key) is not None and after["semisync"].get(key) is not None)


def unready(wanted, snapshot):
    """Why the server is not in the state that a run is to measure; empty when it is.

    Args:
        wanted: replication (none, async, semisync or None for any) and replicas, how many are wanted.
        snapshot: semisync (statuses by our keys) and senders, the number of binary log dump threads.
    """
    mode, status, replicas = wanted.get("replication"), snapshot["semisync"].get("status"), wanted.get("replicas") or 0
    if mode == "semisync":
        clients = int(snapshot["semisync"].get("clients") or 0)
        if status != "ON":
            return "semi-sync's status is %s" % status
        if clients < max(replicas, 1):
            return "%d semi-sync replicas are connected, %d are wanted" % (clients, max(replicas, 1))
    elif mode in ("async", "none") and status == "ON":
        return "semi-sync's status is ON"
    if mode == "async" and snapshot["senders"] < replicas:
        return "%d replicas are connected, %d are wanted" % (snapshot["senders"], replicas)
    if mode == "none" and snapshot["senders"]:
        return "%d replicas are connected, none is wanted" % snapshot["senders"]
    return ""


def invalid(wanted, before, after, outcome):
    """Why one run does not count, in words; empty when it does.

    Args:
        wanted: replication, replicas, delay_ms, clients.
        before, after: snapshots of the server: status, semisync, gtid, senders, uptime; after is None where the
            server did not answer any more.
        outcome: reason (the tool's own, empty when it was content), asked (statements, None where not known), own_query,
            rtt_ms, dropped.
    """
    if after is None:
        return "the server did not answer after the run" + ("; " + outcome["reason"] if outcome["reason"] else "")
    if after["uptime"] < before["uptime"]:
        return "the server restarted during the run" + ("; " + outcome["reason"] if outcome["reason"] else "")
    if outcome["reason"]:
        return outcome["reason"]
    done = statements(before, after, outcome["own_query"])
    if outcome["asked"] is not None and done < outcome["asked"]:
        return "the server counted %d statements, %d were asked for" % (done, outcome["asked"])
    for when, snapshot in (("before", before), ("after", after)):
        reason = unready(wanted, snapshot)
        if reason:
            return "%s the run %s" % (when, reason)
    return unacknowledged(wanted, before, after) or disturbed(wanted, outcome)


def statements(before, after, own_query):
    """Statements the server has answered: of one's own queries all kinds, of generated ones those that are generated."""
    return rises(before["status"], after["status"], ("questions",) if own_query else WRITES + READS)


def unacknowledged(wanted, before, after):
    """Why a semi-sync run does not count although it was ON before and after: a commit went out unacknowledged."""
    if wanted.get("replication") != "semisync":
        return ""
    rise, commits = deltas(before, after), transactions(before["gtid"], after["gtid"])
    if rise.get("no_tx"):
        return "%d transactions were not acknowledged (no_tx)" % rise["no_tx"]
    if commits is None:
        commits = rises(before["status"], after["status"], WRITES)
    # AFTER_SYNC counts a commit group once (mysql-server sql/binlog.cc, call_after_sync_hook); the clients make a group.
    least = -(-commits // wanted["clients"])
    if rise.get("yes_tx", 0) < least:
        return ("%d transactions of %d clients were committed, but yes_tx rose by %d only (at least %d)"
                % (commits, wanted["clients"], rise.get("yes_tx", 0), least))
    return ""


def disturbed(wanted, outcome):
    """Why the network was not what it was to be: netem's queue was full, or the delay was not there."""
    if outcome["dropped"]:
        return "netem dropped %d packets" % outcome["dropped"]
    delay, trip = wanted.get("delay_ms") or 0, outcome["rtt_ms"]
    if delay and trip is not None and trip < delay * (1 - RTT_TOLERANCE):
        return "the round trip was %.1f ms, with a delay of %g ms" % (trip, delay)
    return ""


def latencies(values):
    """Mean, standard deviation, percentiles and maximum of latencies, in their own unit; None of none.

    Percentiles are of the nearest rank: a value that was measured.
    """
    if not values:
        return None
    ordered = sorted(values)
    mean = math.fsum(ordered) / len(ordered)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / max(len(ordered) - 1, 1))
    found = {"mean": mean, "stdev": spread, "max": ordered[-1]}
    for percent in (50, 95, 99):
        found["p%d" % percent] = ordered[max(int(math.ceil(len(ordered) * percent / 100.0)) - 1, 0)]
    return dict((key, round(value, 4)) for key, value in found.items())


def throughput_stdev(ends, seconds):
    """Standard deviation of the operations in each whole second of a run, as sysbench and bencher report it.

    Args:
        ends: seconds since the run's begin at which each operation ended.
        seconds: the run's length.

    Returns:
        operations per second; None for runs of less than two whole seconds.
    """
    whole = int(seconds)
    if whole < 2:
        return None
    counts = [0] * whole
    for end in ends:
        if end < whole:
            counts[int(end)] += 1
    mean = sum(counts) / float(whole)
    return round(math.sqrt(sum((count - mean) ** 2 for count in counts) / (whole - 1)), 2)
