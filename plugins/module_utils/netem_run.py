# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module netem does, in order, for each of its states."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import shlex
import time

from ansible_collections.dbre.semisync.plugins.module_utils import netem, netem_guard, netem_plan, netem_wanted, tc
from ansible_collections.dbre.semisync.plugins.module_utils.netem_wanted import Refused

# How often the plan is made again because a rollback changed the host meanwhile.
TRIES = 3
# Where there is no delay.
NOTHING = {"delay_ms": 0, "jitter_ms": 0, "loss": 0, "rate": None, "limit": 0}


def present(host, params, check_mode):
    """Put the delay on, or change it.

    Args:
        host: netem_host.Host.
        params: the module's parameters.

    Returns:
        the module's result, with warnings.

    Raises:
        Refused: it cannot or must not be done; then nothing of it is left.
    """
    wanted = netem_wanted.check(params)
    peers = netem_wanted.peers(params["peers"])
    host.require_capability()
    missing = host.missing()
    host.require_timer()
    reason = netem_guard.caught(host.clients(), peers)
    if reason:
        raise Refused(reason)
    before = host.read()
    targets = host.targets(peers, params["interface"], before["links"])
    devices = sorted(set(device for dummy, device in targets))
    wanted["limit"] = netem_wanted.limit(wanted, host.speeds(devices, before["links"]))
    plan = netem_plan.present(before, targets, wanted, missing)
    result = begin(host, before, peers, params)
    if check_mode:
        end(result, before, plan, plan.state)
        result["shown"] = netem.predicted_lines(plan.state)
    else:
        try:
            plan = armed(host, plan, params["rollback_after"], wanted,
                         lambda state: netem_plan.present(state, targets, wanted, missing))
            host.execute(plan, wanted)
            after = host.read()
            if netem.delayed(after) != sorted(targets):
                raise Refused("after %s, what is delayed is: %s" % (
                    "; ".join(" ".join(words) for words in plan.commands), netem.delayed(after) or "nothing"))
            end(result, before, plan, after)
            if plan.commands or not params["ping_count"]:
                result["rtt_after"] = host.ping(peers, params["ping_count"], wanted)
            else:
                result["rtt_after"] = result["rtt_before"]
            early = netem_wanted.unfelt(result["rtt_after"], wanted)
            if early:
                raise Refused(early)
        except BaseException as error:
            gone = host.undo(wanted)
            if not isinstance(error, Refused):
                raise
            raise Refused("%s. %s" % (error, "Everything the module put there is gone again." if gone else
                                      "Its rest goes with the rollback timer."))
        result.update(host.counters(), shown=host.shown())
        result["warnings"] = too_full(result["dropped"], [wanted]) + unanswered(result["rtt_after"])
    result["limit"] = wanted["limit"]
    result["rollback_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(host.armed_at + params["rollback_after"]))
    return result


def absent(host, params, check_mode):
    """Take the delay off; as present()."""
    peers = netem_wanted.peers(params["peers"])
    before = host.read()
    plan = netem_plan.absent(before)
    timers = host.timers()
    if plan.commands:
        host.require_capability()
    now = [tc.netem_parameters(qdisc) for qdisc in netem.our_netem(before)]
    wanted = now[0] if now else NOTHING
    peers = peers or sorted(set(peer for peer, dummy in netem.delayed(before)))
    result = begin(host, before, peers, params)
    if check_mode:
        end(result, before, plan, plan.state)
    else:
        host.execute(plan, wanted)
        after = host.read()
        if not netem.is_clean(after):
            raise Refused("not everything could be taken off; what is left: %s. The rollback timer stays"
                          % (netem.describe(after) or netem.DEVICE))
        host.disarm()
        end(result, before, plan, after)
        result["rtt_after"] = host.ping(peers, params["ping_count"], wanted) if plan.commands else result["rtt_before"]
    result["changed"] = bool(plan.commands or timers)
    result["shown"], result["rollback_at"] = [], None
    return result


def armed(host, plan, seconds, wanted, make_plan):
    """Start the timer for this plan and stop older ones.

    Returns:
        the plan to execute: another one, where an older timer's rollback changed the host just now.
    """
    for dummy in range(TRIES):
        host.arm(seconds, wanted, [plan.before, plan.state])
        state = host.read()
        if same_state(state, plan.before):
            return plan
        plan = make_plan(state)
    raise Refused("what is delayed on this host changes all the time: is another run at work on it?")


def same_state(one, other):
    return all(one[key] == other[key] for key in ("qdiscs", "ifb", "egress", "ingress", "tree"))


def begin(host, before, peers, params):
    """The result's part that is known before anything is changed."""
    now = [tc.netem_parameters(qdisc) for qdisc in netem.our_netem(before)]
    counters = host.counters()
    return {"qdiscs_before": before["qdiscs"], "dropped": counters["dropped"], "backlog": counters["backlog"],
            "rtt_before": host.ping(peers, params["ping_count"], now[0] if now else NOTHING), "rtt_after": None,
            "warnings": too_full(counters["dropped"], now)}


def too_full(dropped, now):
    """A warning where netem dropped packets that it should not have dropped.

    Args:
        now: parameters of our netem qdiscs.
    """
    if not dropped or any(each["loss"] for each in now):
        return []
    return ["netem dropped %d packets because its queue of %d was full; what was measured meanwhile is not to be "
            "trusted. Give a larger limit" % (dropped, now[0]["limit"])]


def end(result, before, plan, after):
    """The result's part that tells what was, or would be, changed."""
    targets = netem.delayed(after)
    result.update(
        changed=bool(plan.commands),
        commands=[" ".join(shlex.quote(word) for word in words) for words in plan.commands],
        command=netem.equivalents(after),
        qdiscs_after=after["qdiscs"],
        targets=dict(targets),
        way=("root" if netem.trees(after) else "redirect") if targets else None,
        diff={"before": netem.describe(before), "after": netem.describe(after)},
    )


def unanswered(trips):
    """A warning for each peer that did not answer to ping: its delay could not be seen."""
    return ["%s did not answer to ping, so its delay could not be measured" % peer
            for peer, trip in sorted(trips.items()) if not trip["received"]]
