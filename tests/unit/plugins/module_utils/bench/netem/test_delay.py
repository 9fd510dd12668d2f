# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of things, on a host that is only a state."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import delay
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    RefusedError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    delayed,
    is_clean,
    our_netem,
    predicted_lines,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.tc_plan import plan_absent
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.bench.netem import (
    test_qdisc_state,
)

PARAMS = {
    "state": "present",
    "peers": ["10.99.0.11", "fd99::11"],
    "interface": None,
    "delay_ms": 90.0,
    "jitter_ms": 0.0,
    "loss": 0.0,
    "rate": None,
    "limit": None,
    "rollback_after": 600,
    "ping_count": 5,
}


class Host:
    """Has a state in place of a kernel, and keeps what was done in order."""

    armed_at = 0

    def __init__(self, state, fail_after=None, trips=None, meanwhile=None):
        self.state = dict(copy.deepcopy(state), links={"vec0": {}})
        self.fail_after, self.meanwhile, self.trips = fail_after, meanwhile, trips
        self.done, self.scripts, self.running = [], [], []

    def require_capability(self):
        pass

    require_timer = require_capability

    def missing(self):
        return set()

    def clients(self):
        return {"10.99.0.1": "SSH_CONNECTION"}

    def read(self):
        return copy.deepcopy(self.state)

    def targets(self, peers, interface, dummy_links):
        return [(peer, interface or "vec0") for peer in peers]

    def speeds(self, devices, dummy_links):
        return [(None, 1500) for dummy in devices]

    def ping(self, peers, count, dummy_wanted):
        now = [qdisc["options"]["delay"]["delay"] * 1000 for qdisc in our_netem(self.state)] or [
            0.3
        ]
        least = now[0] if self.trips is None else self.trips
        return {
            peer: {
                "sent": count,
                "received": count if least else 0,
                "min": least,
                "median": least,
                "avg": least,
                "max": least,
            }
            for peer in peers
            if count
        }

    def counters(self):
        return {"dropped": 0, "backlog": 0}

    def shown(self):
        return predicted_lines(self.state)

    def arm(self, seconds, dummy_wanted, states):
        self.done.append(f"arm {int(seconds)}")
        self.running = ["timer"]
        if self.meanwhile:
            self.state, self.meanwhile = self.meanwhile, None
        self.scripts.append([delayed(state) for state in states])

    def timers(self):
        return self.running

    def disarm(self):
        self.done.append("disarm")
        self.running = []

    def execute(self, plan, dummy_wanted):
        self.done += ["run" for dummy in plan.commands[:1]]
        if self.fail_after is not None:
            # So far it came.
            self.state, self.fail_after = (
                test_qdisc_state.half_done(self.state, self.fail_after),
                None,
            )
            raise RefusedError("tc said no")
        self.state = dict(copy.deepcopy(plan.state), links=self.state["links"])

    def undo(self, wanted):
        self.execute(plan_absent(self.read()), wanted)
        self.disarm()
        return is_clean(self.state)


def same(one, other):
    return delay.same_state(one, other)


def test_the_timer_comes_before_the_delay():
    host = Host(test_qdisc_state.PFIFO_FAST)
    result = delay.present(host, PARAMS, False)
    assert host.done == ["arm 600", "run"]
    assert host.scripts == [[[], test_qdisc_state.TARGETS]]
    assert (
        result["changed"]
        and result["way"] == "redirect"
        and result["targets"] == dict(test_qdisc_state.TARGETS)
    )
    assert result["rollback_at"] == "1970-01-01T00:10:00Z"
    assert result["shown"] == [
        "qdisc netem 8001: dev semisync-nm0 root refcnt 2 limit 112500 delay 90ms"
    ]
    assert (
        result["rtt_before"]["fd99::11"]["min"] == 0.3
        and result["rtt_after"]["fd99::11"]["min"] == 90
    )


def test_the_timer_goes_after_the_delay():
    host = Host(test_qdisc_state.OURS)
    host.running = ["timer"]
    result = delay.absent(host, dict(PARAMS, peers=[]), False)
    assert host.done == ["run", "disarm"] and is_clean(host.state)
    assert result["changed"] and sorted(result["rtt_after"]) == ["10.99.0.11", "fd99::11"]
    again = delay.absent(host, dict(PARAMS, peers=[]), False)
    assert not again["changed"] and again["commands"] == []


def test_a_timer_without_a_delay_is_stopped():
    host = Host(test_qdisc_state.PFIFO_FAST)
    host.running = ["timer"]
    assert delay.absent(host, PARAMS, False)["changed"] and host.running == []


def test_a_repeated_call_starts_the_time_anew_and_changes_nothing():
    host = Host(test_qdisc_state.PFIFO_FAST)
    delay.present(host, PARAMS, False)
    again = delay.present(host, PARAMS, False)
    assert not again["changed"] and host.done == ["arm 600", "run", "arm 600"]


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("name", ["pfifo_fast", "ours", "admin_clsact"])
def test_check_mode_does_nothing(name, state):
    host = Host(test_qdisc_state.STATES[name])
    before = host.read()
    told = getattr(delay, state)(host, dict(PARAMS, state=state), True)
    assert host.done == [] and host.state == before
    done = getattr(delay, state)(
        Host(test_qdisc_state.STATES[name]), dict(PARAMS, state=state), False
    )
    assert told["rtt_after"] is None
    for key in (
        "changed",
        "commands",
        "command",
        "diff",
        "qdiscs_after",
        "shown",
        "targets",
        "way",
        "rollback_at",
    ):
        assert told[key] == done[key], key


@pytest.mark.parametrize("done", ["device", "alias", "clsact", "filter"])
def test_what_fails_half_way_leaves_nothing(done):
    host = Host(test_qdisc_state.PFIFO_FAST, fail_after=done)
    with pytest.raises(RefusedError) as refused:
        delay.present(host, PARAMS, False)
    assert str(refused.value) == "tc said no. Everything that the module added was removed again"
    assert same(host.state, test_qdisc_state.PFIFO_FAST) and host.running == []


def test_a_delay_that_is_not_felt_leaves_nothing():
    host = Host(test_qdisc_state.PFIFO_FAST, trips=0.3)
    with pytest.raises(RefusedError) as refused:
        delay.present(host, PARAMS, False)
    assert "answers after 0.3 ms although its packets should be delayed by 90 ms" in str(
        refused.value
    )
    assert same(host.state, test_qdisc_state.PFIFO_FAST) and host.running == []


def test_an_older_rollback_that_comes_in_between_is_noticed():
    host = Host(
        test_qdisc_state.OURS,
        meanwhile=dict(copy.deepcopy(test_qdisc_state.PFIFO_FAST), links={"vec0": {}}),
    )
    result = delay.present(host, PARAMS, False)
    assert host.done == ["arm 600", "arm 600", "run"]
    assert (
        delayed(host.state) == test_qdisc_state.TARGETS
        and "ip link add semisync-nm0 type ifb" in result["commands"]
    )


def test_no_answer_is_a_warning():
    host = Host(test_qdisc_state.PFIFO_FAST, trips=0)
    assert [text.split()[0] for text in delay.present(host, PARAMS, False)["warnings"]] == [
        "10.99.0.11",
        "fd99::11",
    ]


@pytest.mark.parametrize(
    "dropped,losses,warned", [(0, [0.0], False), (3, [0.0], True), (3, [0.1], False)]
)
def test_dropped_packets(dropped, losses, warned):
    now = [dict(test_qdisc_state.WANTED_90, loss=loss) for loss in losses]
    assert bool(delay.too_full(dropped, now)) is warned


def test_ansibles_own_connection_is_left_alone():
    host = Host(test_qdisc_state.PFIFO_FAST)
    with pytest.raises(RefusedError):
        delay.present(host, dict(PARAMS, peers=["10.99.0.11", "10.99.0.1"]), False)
    assert host.done == []
