# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of fallback and recovery: whether it may begin, and the checkpoints P6 and P7 from what was seen."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, plan, pulse
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils.checkpoints import row

# "Slightly longer than the timeout" (P6.2): what a disk and a busy host may add to it, in milliseconds and as a share.
LATE_MS, LATE_SHARE = 500, 0.1
# A blocked insert may return this much early by the clock that times it.
EARLY_MS = 2
# How far the clocks of the hosts may differ; verify has seen that they do not differ more.
CLOCK_SECONDS = 1.0
# The timer on the host must not start the server before the fallback could be seen.
LEAST_RESCUE = 30


def refusals(name, members, sources, settings):
    """Why the drill must not begin.

    Args:
        name: of the cluster.
        members: its plan.Members.
        sources: every source this run is about.
        settings: {'replica', 'max_block', 'rescue_after', 'interval', 'rows'}.
    """
    if len(sources) > 1:
        return ["a drill disturbs one cluster at a time, and this run is about %d: those of %s. Name one with --limit"
                % (len(sources), ", ".join(sources))]
    unread = ["%s: %s" % (member.host, member.error) for member in members if member.info is None]
    if unread:
        return unread
    found, source, replicas = [], plan.source_of(members), plan.replicas_of(members)
    if settings["replica"] and settings["replica"] not in [replica.host for replica in replicas]:
        found.append("semisync_drill_replica is %s, which is no replica of this cluster; there is: %s"
                     % (settings["replica"], ", ".join(replica.host for replica in replicas)))
    for key, least, unit in (("interval", 0.01, "seconds"), ("rows", 2, "rows"), ("rescue_after", LEAST_RESCUE, "seconds")):
        if settings[key] < least:
            found.append("semisync_drill_%s is %s; it must be %s %s at least" % (key, settings[key], least, unit))
    timeout = int(source.info["semisync"]["source"]["variables"]["timeout"] or 0)
    if timeout > settings["max_block"] * 1000:
        found.append("%s: the semi-sync timeout is %d ms, so writers could be blocked for %g s, and semisync_drill_max_block"
                     " allows %g s. Lower semisync_timeout, or allow more" % (source.host, timeout, timeout / 1000.0,
                                                                              settings["max_block"]))
    for replica in drilled(members, settings):
        if not unit_of(replica, settings):
            found.append("%s: its server belongs to no systemd unit, by which it could be stopped and started; set "
                         "semisync_service" % replica.host)
        if not starts_its_channel(replica.info):
            found.append("%s: skip_replica_start is set, so its channel would stay stopped after a start of its server; take "
                         "it out of the option file, or rehearse by hand" % replica.host)
    return found


def starts_its_channel(info):
    """Whether a replica follows its source again by itself when its server starts."""
    values = [where[name] for where in (info["option_files"]["options"], info["persisted"])
              for name in ("skip_replica_start", "skip_slave_start") if name in where]
    return not values or optfile.canonical_value(values[-1]) == "0"


def drilled(members, settings):
    return [replica for replica in plan.replicas_of(members) if settings["replica"] in ("", replica.host)]


def unit_of(replica, settings):
    return settings["units"].get(replica.host) or replica.info["unit"]


def make(members, settings):
    """What is done, a drill a replica, in the inventory's order.

    Returns:
        list of {'replica', 'source', 'unit', 'timeout_ms', 'needed', 'clients', 'waits', 'expected_fallback'}: the
        acknowledgements a commit needs, the clients there are now, and whether the source waits at all for replicas that are
        not there.
    """
    source = plan.source_of(members)
    variables, status = (source.info["semisync"]["source"][part] for part in ("variables", "status"))
    needed, clients = int(variables.get("wait_for_replica_count") or 1), int(status["clients"])
    return [{"replica": replica.host, "source": source.host, "unit": unit_of(replica, settings),
             "timeout_ms": int(variables["timeout"]), "needed": needed, "clients": clients,
             "waits": variables.get("wait_no_replica") != "OFF", "expected_fallback": clients - 1 < needed}
            for replica in drilled(members, settings)]


def judge(task, rows, stopped, started, reason=""):
    """One drill from what was seen.

    Args:
        task: one of make().
        rows: of the pulse, see module_utils.pulse.
        stopped, started: results of semisync_unit after the stop and after the start, or {}.
        reason: why the drill was broken off, or "".

    Returns:
        a dict for drill.json; its own checkpoints, under 'checkpoints', have no time yet.
    """
    # A call that failed may have said nothing of the unit.
    stopped, started = (seen if "active" in seen else {} for seen in (stopped, started))
    times = moments(rows, stopped, started)
    sorted_rows = phases(rows, times, task["clients"])
    points = evaluate(task, sorted_rows, stopped, started, reason)
    away = [one for one in rows if times["stopping"] is not None and one["at"] + one["latency_ms"] / 1000.0 >= times["stopping"]]
    blocked = first_unprotected(sorted_rows) if task["expected_fallback"] else None
    bad = [point for point in points if point["outcome"] == checkpoints.FAILED]
    begun = rows[0]["at"] if rows else times["stopping"]
    return {
        "replica": task["replica"], "source": task["source"], "timeout_ms": task["timeout_ms"],
        "outcome": "failed" if bad or reason else "passed",
        "reason": reason or "; ".join("%s on %s: %s" % (point["id"], point["host"], point["observed"]) for point in bad),
        "expected_fallback": task["expected_fallback"],
        "blocked_ms": blocked["latency_ms"] if blocked else 0.0,
        "longest_ms": max([one["latency_ms"] for one in away] or [0.0]),
        "unprotected": sum(max(one["no_tx"], 0) for one in away),
        "recovery_seconds": recovery(sorted_rows, times),
        "stopped_at": since(begun, times["stopped"]), "started_at": since(begun, times["starting"]),
        "events": events(task, sorted_rows, times, begun),
        "inserts": [{"t": since(begun, one["at"]), "latency_ms": one["latency_ms"], "yes_tx": one["yes_tx"],
                     "no_tx": one["no_tx"], "phase": one["phase"], "status": one["status"], "clients": one["clients"]}
                    for one in sorted_rows],
        "checkpoints": points,
    }


def moments(rows, stopped, started):
    """When systemd stopped and started the server in this drill; None for what it did not do, or nobody saw.

    Where the stop was not seen to its end, as when a connection broke, systemd's times after the start tell of it.
    """
    times = dict.fromkeys(("stopping", "stopped", "starting", "started"))
    times.update(started.get("times") or {})
    if stopped:
        times.update((word, stopped["times"][word]) for word in ("stopping", "stopped"))
    elif times["stopping"] is None or not rows or times["stopping"] < rows[0]["at"] - CLOCK_SECONDS:
        return dict.fromkeys(times)
    return times


def since(begun, moment):
    return None if moment is None or begun is None else round(moment - begun, 3)


def ended(one):
    """When an insert returned."""
    return one["at"] + one["latency_ms"] / 1000.0


def phases(rows, times, clients):
    """The rows with their phase: before the stop, stopped, recovering, and from the first one acknowledged by all clients on."""
    found, back = [], False
    for one in rows:
        if times["stopping"] is None or ended(one) < times["stopping"]:
            phase = "before"
        elif times["starting"] is None or ended(one) < times["starting"]:
            phase = "stopped"
        else:
            back = back or (recovered(one) and one["clients"] >= clients)
            phase = "after" if back else "recovering"
        found.append(dict(one, phase=phase))
    return found


def recovered(one):
    return pulse.acknowledged(one) and one["status"] == "ON"


def first_unprotected(rows):
    return next((one for one in rows if one["phase"] != "before" and pulse.unprotected(one)), None)


def recovery(rows, times):
    """Seconds from the start of the replica's server to the first acknowledged row, None where there was none."""
    first = next((one for one in rows if one["phase"] == "after"), None)
    return None if first is None else round(ended(first) - times["starting"], 3)


def events(task, rows, times, begun):
    """What happened when, in words, in the order of time."""
    unit, replica, source = task["unit"], task["replica"], task["source"]
    found = [(begun, "rows are written on %s" % source),
             (times["stopping"], "%s on %s is told to stop" % (unit, replica)),
             (times["stopped"], "%s on %s has stopped" % (unit, replica)),
             (times["starting"], "%s on %s is started" % (unit, replica)),
             (times["started"], "%s on %s runs" % (unit, replica))]
    first = first_unprotected(rows)
    if first:
        found.append((ended(first), "%s goes on without an acknowledgement" % source))
    back = next((one for one in rows if one["phase"] == "after"), None)
    if back and task["expected_fallback"]:
        found.append((ended(back), "the first row is acknowledged again"))
    return [{"t": since(begun, moment), "what": words} for moment, words in sorted(
        (pair for pair in found if pair[0] is not None), key=lambda pair: pair[0])]


def evaluate(task, rows, stopped, started, reason):
    """The checkpoints P6 and P7 of one drill."""
    source, replica, missing = task["source"], task["replica"], reason or "not seen"
    away = [one for one in rows if one["phase"] == "stopped"]
    before = median([one["latency_ms"] for one in rows if one["phase"] == "before"]) or 0.0
    points = [
        row("P6.0", source, "the timeout is read", "milliseconds", "%d" % task["timeout_ms"], True),
        row("P6.1", replica, "%s is stopped" % task["unit"], "no process",
            "%s (%s), process %s" % (stopped["active"], stopped["sub"], stopped["main_pid"] or "none") if stopped else missing,
            bool(stopped) and not stopped["running"] and not stopped["main_pid"]),
    ]
    points += fallback(task, away, before, missing) if task["expected_fallback"] else no_fallback(task, rows, away, missing)
    points.append(row("P7.1", replica, "%s runs again" % task["unit"], "active, a process",
                      "%s (%s), process %s" % (started["active"], started["sub"], started["main_pid"] or "none")
                      if started else missing, bool(started.get("running"))))
    return points + back(task, rows, away, missing)


def fallback(task, away, before, missing):
    """P6.2 to P6.4 where too few replicas are left.

    Args:
        away: the rows while the replica was stopped.
        before: the median latency of those before, in milliseconds.
    """
    source, timeout, clients = task["source"], task["timeout_ms"], task["clients"] - 1
    last = away[-1] if away else None
    first = next((index for index, one in enumerate(away) if pulse.unprotected(one)), None)
    if first is None:
        seen, good = missing if not away else "no insert went out without an acknowledgement", False
    else:
        blocked, next_ones = away[first], away[first + 1:]
        usual = median([one["latency_ms"] for one in next_ones])
        seen = "%.1f ms, then %d inserts with a median of %.1f ms; no_tx +%d, yes_tx +%d" % (
            blocked["latency_ms"], len(next_ones), usual or 0.0, sum(one["no_tx"] for one in away[first:]),
            sum(one["yes_tx"] for one in away[first:]))
        good = (in_time(task, blocked) and usual is not None and usual < max(timeout / 2.0, 2 * before)
                and all(one["no_tx"] >= 1 and one["yes_tx"] == 0 and one["no_times"] == 0 for one in next_ones))
    if task["waits"]:
        title = "the first insert waits for the timeout, the next ones do not"
        expected = "slightly more than %d ms, then fast; each raises no_tx by 1" % timeout
    else:
        title = "no insert waits, because wait_no_replica is OFF"
        expected = "fast; each raises no_tx by 1"
    return [row("P6.2", source, title, expected, seen, good),
            row("P6.3", source, "semi-sync clients while %s is stopped" % task["replica"], str(clients),
                str(last["clients"]) if last else missing, bool(last) and last["clients"] == clients),
            row("P6.4", source, "semi-sync's status while %s is stopped" % task["replica"], "OFF",
                last["status"] if last else missing, bool(last) and last["status"] == "OFF")]


def in_time(task, blocked):
    """Whether the insert that met the fallback took as long as it should."""
    timeout, took = task["timeout_ms"], blocked["latency_ms"]
    if took > timeout + LATE_MS + LATE_SHARE * timeout:
        return False
    # Another session may have waited before: when its time is up, all go on. Then ours waits less, and is not alone.
    return not task["waits"] or took >= timeout - EARLY_MS or blocked["no_tx"] > 1


def median(values):
    """The middle value, None of none."""
    return sorted(values)[len(values) // 2] if values else None


def no_fallback(task, rows, away, missing):
    """P6.2 to P6.4 where enough other replicas acknowledge: they cannot happen, and must not."""
    source = task["source"]
    reason = "%d other replica(s) acknowledge while %s is stopped, and %d is enough: nobody waits for the timeout" % (
        task["clients"] - 1, task["replica"], task["needed"])
    since_stop = [one for one in rows if one["phase"] != "before"]
    longest = max([one["latency_ms"] for one in since_stop] or [0.0])
    lost = sum(one["no_tx"] for one in since_stop)
    seen = "longest insert %.1f ms, no_tx +%d, yes_tx +%d in %d inserts" % (
        longest, lost, sum(one["yes_tx"] for one in since_stop), len(since_stop))
    held = bool(away) and longest < task["timeout_ms"] and lost == 0
    status, clients = sorted(set(one["status"] for one in since_stop)), [one["clients"] for one in away]
    left = task["clients"] - 1
    return [row("P6.2", source, "nobody waits for the timeout", "no insert as long as the timeout, no_tx +0",
                seen if away else missing, None if held else False, "%s; %s" % (reason, seen) if held else ""),
            row("P6.3", source, "semi-sync clients while %s is stopped" % task["replica"], str(left),
                str(clients[-1]) if clients else missing, None if clients and clients[-1] == left else False,
                "%d of %d clients are left" % (left, task["clients"])),
            row("P6.4", source, "semi-sync's status stays ON", "ON", ", ".join(status) or missing,
                None if status == ["ON"] else False, "%s; it stayed ON" % reason if status == ["ON"] else "")]


def back(task, rows, away, missing):
    """P7.2 and P7.3: inserts are acknowledged again, or never ceased to be."""
    source = task["source"]
    if task["expected_fallback"]:
        found = [one for one in rows if one["phase"] == "after"]
    else:
        found = [one for one in rows if one["phase"] != "before"]
    good = [one for one in found if pulse.acknowledged(one)]
    seen = "%d of %d inserts acknowledged: yes_tx +%d, no_tx +%d" % (
        len(good), len(found), sum(one["yes_tx"] for one in found), sum(one["no_tx"] for one in found))
    last = rows[-1] if found else None
    complete = bool(last) and last["clients"] == task["clients"]
    return [row("P7.2", source, "every insert is acknowledged again", "yes_tx +1 a row", seen if found else missing,
                bool(found) and len(good) == len(found)),
            row("P7.3", source, "semi-sync's status with %s back" % task["replica"], "ON, %d client(s)" % task["clients"],
                "%s, %d client(s)" % (last["status"], last["clients"]) if last else missing,
                complete and last["status"] == "ON")]


def merge(drills):
    """The checkpoints of all drills of a run: a point of the source has one row, which names the replicas."""
    found = {}
    for drill in drills:
        for point in drill["checkpoints"]:
            found.setdefault((point["id"], point["host"]), []).append((drill["replica"], point))
    return [one_row(pairs) for dummy, pairs in sorted(found.items())]


def one_row(pairs):
    """Several rows of one point and host as one, the worst outcome first."""
    if len(pairs) == 1:
        return pairs[0][1]
    order = (checkpoints.FAILED, checkpoints.PASSED, checkpoints.NOT_APPLICABLE)
    worst = min(pairs, key=lambda pair: order.index(pair[1]["outcome"]))[1]

    def joined(key):
        return "; ".join("%s: %s" % (replica, point[key]) for replica, point in pairs if point[key])
    return dict(worst, observed=joined("observed"), reason=joined("reason"), expected=joined("expected"))


def summary(drill):
    """One drill in words for people."""
    if drill["expected_fallback"]:
        middle = "writers blocked for %.2f s (timeout %.2f s), %d transaction(s) unprotected" % (
            drill["blocked_ms"] / 1000.0, drill["timeout_ms"] / 1000.0, drill["unprotected"])
    else:
        middle = "nobody blocked, longest insert %.1f ms, %d transaction(s) unprotected" % (
            drill["longest_ms"], drill["unprotected"])
    recovery_words = "no recovery seen" if drill["recovery_seconds"] is None else (
        "recovered %.2f s after its start" % drill["recovery_seconds"])
    return "Drill of %s: %s; %s, %s" % (drill["replica"], drill["outcome"], middle, recovery_words)
