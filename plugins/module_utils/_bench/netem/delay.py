# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module netem does, in order, for each of its states."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import (
    safeguards,
    tc_output,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    RefusedError,
    check,
    limit,
    parse_peers,
    unfelt,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_host import NetemHost
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    DelayOptions,
    DelayResult,
    NetState,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    DEVICE,
    delay_text,
    delayed,
    equivalents,
    is_clean,
    our_netem,
    predicted_lines,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.tc_plan import (
    Plan,
    Target,
    plan_absent,
    plan_present,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import utc

# How often the plan is made again because a rollback changed the host meanwhile.
TRIES = 3
# Where there is no delay.
NOTHING: Delay = {"delay_ms": 0, "jitter_ms": 0, "loss": 0, "rate": None, "limit": 0}
# What becomes of a delay that was refused.
GONE = "Everything that the module added was removed again"
LEFT = "The rollback timer removes what the module could not remove"


def present(
    host: NetemHost,
    params: DelayOptions,
    check_mode: bool,
) -> DelayResult:
    """Add the delay, or change it; the module's result, with warnings.

    Args:
        host: reads this host and changes it.
        params: the module's options.

    Raises:
        RefusedError: it cannot or must not be done; then nothing of it is left.
    """
    wanted = check(params)
    peers = parse_peers(params["peers"])
    missing = check_host(host, peers)
    before = host.read()
    targets = host.targets(peers, params["interface"], before["links"])
    devices = sorted({device for _peer, device in targets})
    packets = limit(wanted, host.speeds(devices, before["links"]))
    wanted["limit"] = packets

    def plan_from(state: NetState) -> Plan:
        return plan_present(state, targets, wanted, missing)

    plan = plan_from(before)
    result = begin(host, before, peers, params)
    if check_mode:
        end(result, before, plan, plan.state)
        result["shown"] = predicted_lines(plan.state)
    else:
        with undone_if_refused(host, wanted):
            plan = armed(host, plan, params["rollback_after"], wanted, plan_from)
            trips = add_delay(host, plan, targets, wanted, result, params["ping_count"])
        tell(host, result, wanted, trips)
    result["limit"] = packets
    result["rollback_at"] = utc(host.armed_at + params["rollback_after"])
    return result


def tell(
    host: NetemHost,
    result: DelayResult,
    wanted: Delay,
    trips: dict[str, Trip],
) -> None:
    """The result's part that is read with the delay in place."""
    counters = host.counters()
    result["dropped"], result["backlog"] = counters["dropped"], counters["backlog"]
    result["shown"] = host.shown()
    result["warnings"] = too_full(result["dropped"], [wanted]) + unanswered(trips)


@contextlib.contextmanager
def undone_if_refused(host: NetemHost, wanted: Delay) -> Iterator[None]:
    """Remove the delay if it is refused meanwhile, or anything else happens."""
    try:
        yield
    except BaseException as error:
        gone = host.undo(wanted)
        if not isinstance(error, RefusedError):
            raise
        raise RefusedError(f"{error}. {GONE if gone else LEFT}") from error


def check_host(host: NetemHost, peers: list[str]) -> set[str]:
    """What the kernel lacks besides netem.

    Raises:
        RefusedError: the host cannot delay these peers, or must not.
    """
    host.require_capability()
    missing = host.missing()
    host.require_timer()
    reason = safeguards.caught(host.clients(), peers)
    if reason:
        raise RefusedError(reason)
    return missing


def add_delay(
    host: NetemHost,
    plan: Plan,
    targets: list[Target],
    wanted: Delay,
    result: DelayResult,
    pings: int,
) -> dict[str, Trip]:
    """Execute a plan, and see that the peers are delayed.

    Args:
        result: gets what was changed, and the round trips afterwards.
        pings: for each peer; 0 to measure nothing.

    Returns:
        the round trips with the delay.

    Raises:
        RefusedError: a command failed, other peers are delayed than the plan says, or a peer
            answers too soon.
    """
    host.execute(plan, wanted)
    after = host.read()
    if delayed(after) != sorted(targets):
        commands = "; ".join(" ".join(words) for words in plan.commands)
        now = ", ".join(f"{peer} via {device}" for peer, device in delayed(after))
        raise RefusedError(f"after these commands: {commands}, netem delays: {now or 'nothing'}")
    end(result, plan.before, plan, after)
    trips = result["rtt_before"]
    if plan.commands or not pings:
        trips = host.ping([peer for peer, _device in targets], pings, wanted)
    result["rtt_after"] = trips
    early = unfelt(trips, wanted)
    if early:
        raise RefusedError(early)
    return trips


def absent(
    host: NetemHost,
    params: DelayOptions,
    check_mode: bool,
) -> DelayResult:
    """Remove the delay; as present()."""
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
                f"the delay could not be removed completely; what is left:"
                f" {delay_text(after) or DEVICE}. The rollback timer stays"
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
    host: NetemHost,
    plan: Plan,
    seconds: int,
    wanted: Delay,
    make_plan: Callable[[NetState], Plan],
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
        "the delays on this host keep changing; check whether another run is changing them"
    )


def same_state(first: NetState, second: NetState) -> bool:
    """Whether two readings differ in nothing but the links."""
    return all(
        one == other
        for one, other in (
            (first["qdiscs"], second["qdiscs"]),
            (first["ifb"], second["ifb"]),
            (first["egress"], second["egress"]),
            (first["ingress"], second["ingress"]),
            (first["tree"], second["tree"]),
        )
    )


def begin(
    host: NetemHost,
    before: NetState,
    peers: list[str],
    params: DelayOptions,
) -> DelayResult:
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


def too_full(dropped: int, now: list[Delay]) -> list[str]:
    """A warning where netem dropped packets that it should not have dropped.

    Args:
        now: parameters of our netem qdiscs.
    """
    if not dropped or any(each["loss"] for each in now):
        return []
    return [
        f"netem dropped {dropped} packets because its queue of {now[0]['limit']} was full, so"
        " measurements during that time are unreliable. Set a larger limit"
    ]


def end(
    result: DelayResult,
    before: NetState,
    plan: Plan,
    after: NetState,
) -> None:
    """The result's part that tells what was, or would be, changed."""
    targets = delayed(after)
    result["changed"] = bool(plan.commands)
    result["commands"] = [" ".join(shlex.quote(word) for word in words) for words in plan.commands]
    result["command"] = equivalents(after)
    result["qdiscs_after"] = after["qdiscs"]
    result["targets"] = dict(targets)
    result["way"] = ("root" if trees(after) else "redirect") if targets else None
    result["diff"] = {"before": delay_text(before), "after": delay_text(after)}


def unanswered(trips: Mapping[str, Trip]) -> list[str]:
    """A warning for each peer that did not answer to ping: its delay could not be seen."""
    return [
        f"{peer} did not answer to ping, so its delay could not be measured"
        for peer, trip in sorted(trips.items())
        if not trip["received"]
    ]
