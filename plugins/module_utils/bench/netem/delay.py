# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module netem does, in order, for each of its states."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem import safeguards, tc_output
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.delay_options import (
    RefusedError,
    check,
    limit,
    parse_peers,
    unfelt,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.netem_host import Host
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.qdisc_state import (
    DEVICE,
    delayed,
    describe,
    equivalents,
    is_clean,
    our_netem,
    predicted_lines,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.tc_plan import (
    Plan,
    plan_absent,
    plan_present,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import utc

# How often the plan is made again because a rollback changed the host meanwhile.
TRIES = 3
# Where there is no delay.
NOTHING = {"delay_ms": 0, "jitter_ms": 0, "loss": 0, "rate": None, "limit": 0}


def present(host: Host, params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Put the delay on, or change it.

    Args:
        host: what reads this host and changes it.
        params: the module's parameters.

    Returns:
        the module's result, with warnings.

    Raises:
        RefusedError: it cannot or must not be done; then nothing of it is left.
    """
    wanted = check(params)
    peers = parse_peers(params["peers"])
    host.require_capability()
    missing = host.missing()
    host.require_timer()
    reason = safeguards.caught(host.clients(), peers)
    if reason:
        raise RefusedError(reason)
    before = host.read()
    targets = host.targets(peers, params["interface"], before["links"])
    devices = sorted({device for _peer, device in targets})
    wanted["limit"] = limit(wanted, host.speeds(devices, before["links"]))
    plan = plan_present(before, targets, wanted, missing)
    result = begin(host, before, peers, params)
    if check_mode:
        end(result, before, plan, plan.state)
        result["shown"] = predicted_lines(plan.state)
    else:
        try:
            plan = armed(
                host,
                plan,
                params["rollback_after"],
                wanted,
                lambda state: plan_present(state, targets, wanted, missing),
            )
            host.execute(plan, wanted)
            after = host.read()
            if delayed(after) != sorted(targets):
                raise RefusedError(
                    f"after {'; '.join(' '.join(words) for words in plan.commands)}, what is"
                    f" delayed is: {delayed(after) or 'nothing'}"
                )
            end(result, before, plan, after)
            if plan.commands or not params["ping_count"]:
                result["rtt_after"] = host.ping(peers, params["ping_count"], wanted)
            else:
                result["rtt_after"] = result["rtt_before"]
            early = unfelt(result["rtt_after"], wanted)
            if early:
                raise RefusedError(early)
        except BaseException as error:
            gone = host.undo(wanted)
            if not isinstance(error, RefusedError):
                raise
            rest = (
                "Everything the module put there is gone again."
                if gone
                else "Its rest goes with the rollback timer."
            )
            raise RefusedError(f"{error}. {rest}") from error
        result.update(host.counters(), shown=host.shown())
        result["warnings"] = too_full(result["dropped"], [wanted]) + unanswered(result["rtt_after"])
    result["limit"] = wanted["limit"]
    result["rollback_at"] = utc(host.armed_at + params["rollback_after"])
    return result


def absent(host: Host, params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Take the delay off; as present()."""
    peers = parse_peers(params["peers"])
    before = host.read()
    plan = plan_absent(before)
    timers = host.timers()
    if plan.commands:
        host.require_capability()
    now = [tc_output.netem_parameters(qdisc) for qdisc in our_netem(before)]
    wanted = now[0] if now else NOTHING
    peers = peers or sorted({peer for peer, _device in delayed(before)})
    result = begin(host, before, peers, params)
    if check_mode:
        end(result, before, plan, plan.state)
    else:
        host.execute(plan, wanted)
        after = host.read()
        if not is_clean(after):
            raise RefusedError(
                f"not everything could be taken off; what is left: {describe(after) or DEVICE}. The"
                " rollback timer stays"
            )
        host.disarm()
        end(result, before, plan, after)
        result["rtt_after"] = (
            host.ping(peers, params["ping_count"], wanted)
            if plan.commands
            else result["rtt_before"]
        )
    result["changed"] = bool(plan.commands or timers)
    result["shown"], result["rollback_at"] = [], None
    return result


def armed(
    host: Host,
    plan: Plan,
    seconds: int,
    wanted: dict[str, Any],
    make_plan: Callable[[dict[str, Any]], Plan],
) -> Plan:
    """Start the timer for this plan and stop older ones.

    Returns:
        the plan to execute: another one, where an older timer's rollback changed the host just now.
    """
    for _try in range(TRIES):
        host.arm(seconds, wanted, [plan.before, plan.state])
        state = host.read()
        if same_state(state, plan.before):
            return plan
        plan = make_plan(state)
    raise RefusedError(
        "what is delayed on this host changes all the time: is another run at work on it?"
    )


def same_state(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(first[key] == second[key] for key in ("qdiscs", "ifb", "egress", "ingress", "tree"))


def begin(
    host: Host, before: dict[str, Any], peers: list[str], params: dict[str, Any]
) -> dict[str, Any]:
    """The result's part that is known before anything is changed."""
    now = [tc_output.netem_parameters(qdisc) for qdisc in our_netem(before)]
    counters = host.counters()
    return {
        "qdiscs_before": before["qdiscs"],
        "dropped": counters["dropped"],
        "backlog": counters["backlog"],
        "rtt_before": host.ping(peers, params["ping_count"], now[0] if now else NOTHING),
        "rtt_after": None,
        "warnings": too_full(counters["dropped"], now),
    }


def too_full(dropped: int, now: list[dict[str, Any]]) -> list[str]:
    """A warning where netem dropped packets that it should not have dropped.

    Args:
        now: parameters of our netem qdiscs.
    """
    if not dropped or any(each["loss"] for each in now):
        return []
    return [
        f"netem dropped {dropped} packets because its queue of {now[0]['limit']} was full; what was"
        " measured meanwhile is not to be trusted. Give a larger limit"
    ]


def end(result: dict[str, Any], before: dict[str, Any], plan: Any, after: dict[str, Any]) -> None:
    """The result's part that tells what was, or would be, changed."""
    targets = delayed(after)
    result.update(
        changed=bool(plan.commands),
        commands=[" ".join(shlex.quote(word) for word in words) for words in plan.commands],
        command=equivalents(after),
        qdiscs_after=after["qdiscs"],
        targets=dict(targets),
        way=("root" if trees(after) else "redirect") if targets else None,
        diff={"before": describe(before), "after": describe(after)},
    )


def unanswered(trips: dict[str, Any]) -> list[str]:
    """A warning for each peer that did not answer to ping: its delay could not be seen."""
    return [
        f"{peer} did not answer to ping, so its delay could not be measured"
        for peer, trip in sorted(trips.items())
        if not trip["received"]
    ]
