# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of what can happen, and all that can in a moment."""

from __future__ import annotations

from collections.abc import Iterator

from model.runs import (
    CHANGES,
    by_hand,
    first_look,
    open_by_hand,
    ours_begins,
    ours_dies,
    ours_goes_on,
    ours_settles,
    undone,
)
from model.state import PHASE, Moment, Rules, blocks
from model.world import (
    Event,
    EventOf,
    acknowledge,
    apply,
    commit,
    commit_everywhere,
    cut,
    deliver,
    die,
    edit_inventory,
    end_beat,
    fence,
    fence_fails,
    fence_lies,
    heal,
    hold,
    hook_begins,
    jump,
    kill,
    kill_query,
    minute,
    power,
    power_source,
    receive,
    reset_slave,
    restart,
    shut_and_kill,
    start,
    stop,
    stopped,
    stray,
    threads,
    twin,
)

OF_CLUSTER: dict[str, Event] = {
    "commit": commit,
    "commit_everywhere": commit_everywhere,
    "minute": minute,
    "stop": stop,
    "stopped": stopped,
    "kill": kill,
    "shut_and_kill": shut_and_kill,
    "power": power_source,
    "start": start,
    "kill_query": kill_query,
    "end_beat": end_beat,
    "hook_begins": hook_begins,
    "fence": fence,
    "fence_fails": fence_fails,
    "fence_lies": fence_lies,
    **{f"hand_{what}": by_hand(what) for what in CHANGES},
    **{f"ours_{what}": ours_begins(what) for what in CHANGES},
    "ours_goes_on": ours_goes_on,
    "ours_settles": ours_settles,
    "ours_dies": ours_dies,
    "first_look": first_look,
    "undone": undone,
}
OF_REPLICA: dict[str, EventOf] = {
    "receive": receive,
    "acknowledge": acknowledge,
    "deliver": deliver,
    "apply": apply,
    "cut": cut,
    "heal": heal,
    "stop_io": threads(1, None),
    "start_io": threads(0, None),
    "stop_sql": threads(None, 1),
    "start_sql": threads(None, 0),
    "stop_slave": threads(1, 1),
    "start_slave": threads(0, 0),
    "reset_slave": reset_slave,
    "hold": hold,
    "restart": restart,
    "power_replica": power,
    "die": die,
    "edit_inventory": edit_inventory,
    "open": open_by_hand,
    "jump": jump,
    "stray": stray,
    "twin": twin,
}
# By the controllers, see search.py: they need the judge's own code.
LOOKS = {"look": 0, "look_b": 1}
# What may happen between a failover's first look and its freeze.
WHILE_LOOKED = ("minute", "receive", "acknowledge", "restart", "power_replica", "die", "stop_slave",
                "start_slave", "reset_slave", "undone")  # fmt: skip


def flow(s: bytearray, rules: Rules) -> bytearray:
    """Everything that replicas do by themselves where nothing keeps them."""
    for _turn in range(2):
        for at in blocks(rules):
            for event in (receive, acknowledge, apply):
                s = event(s, rules, at) or s
    return s


def steps(s: Moment, rules: Rules) -> Iterator[tuple[str, int, bytearray]]:
    """(event, which replica or -1, the next moment) for all that can happen but looks."""
    for name in rules.events:
        if s[PHASE] and name not in WHILE_LOOKED:
            continue
        of_cluster = OF_CLUSTER.get(name)
        if of_cluster:
            n = of_cluster(s, rules)
            if n is not None:
                yield name, -1, flow(n, rules) if rules.prompt else n
        elif name in OF_REPLICA:
            of_replica = OF_REPLICA[name]
            for number, at in enumerate(blocks(rules)):
                n = of_replica(s, rules, at)
                if n is not None:
                    yield name, number, flow(n, rules) if rules.prompt else n
