# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which way, which commands, and what they lead to, from each captured state of a host."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    RefusedError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    choose_way,
    delay_text,
    delayed,
    equivalents,
    is_clean,
    predicted_lines,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.tc_plan import (
    plan_absent,
    plan_present,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.bench.netem import captures


def state(qdiscs, egress="", ingress="", tree="", link=""):
    """As Host.read() makes it of these texts."""
    listed = [tc_output.settled(qdisc) for qdisc in tc_output.parse_json(qdiscs)]
    found = {"qdiscs": listed, "ifb": None, "egress": {}, "ingress": {}, "tree": {}}
    for each in tc_output.parse_json(link):
        found["ifb"] = {"up": "UP" in each["flags"], "alias": each.get("ifalias", "")}
    for qdisc in listed:
        if qdisc["kind"] == "clsact":
            found["egress"][qdisc["dev"]] = tc_output.parse_filters(egress)
            found["ingress"][qdisc["dev"]] = tc_output.parse_filters(ingress)
    for device in trees(found):
        found["tree"][device] = tc_output.parse_filters(tree)
    return found


NO_QDISC = state(captures.NO_QDISC)
NOQUEUE = state(captures.NOQUEUE)
PFIFO_FAST = state(captures.PFIFO_FAST)
MQ_FQ_CODEL = state(captures.MQ_FQ_CODEL)
ADMIN_HTB = state(captures.ADMIN_HTB)
ADMIN_CLSACT = state(
    captures.ADMIN_CLSACT, captures.ADMIN_CLSACT_EGRESS, captures.ADMIN_CLSACT_INGRESS
)
ADMIN_SAME_PREF = state(captures.ADMIN_SAME_PREF, captures.ADMIN_SAME_PREF_EGRESS)
ADMIN_INGRESS = state(captures.ADMIN_INGRESS)
OURS = state(captures.OURS, captures.OURS_EGRESS, link=captures.OURS_LINK)
OURS_5_9 = state(captures.OURS_5_9, captures.OURS_EGRESS, link=captures.OURS_LINK)
ORPHANS = state(captures.ADMIN_CLSACT, captures.ORPHANS_EGRESS)
TREE = state(captures.TREE, tree=captures.TREE_FILTERS)
STATES = {
    "no_qdisc": NO_QDISC,
    "noqueue": NOQUEUE,
    "pfifo_fast": PFIFO_FAST,
    "mq_fq_codel": MQ_FQ_CODEL,
    "admin_htb": ADMIN_HTB,
    "admin_clsact": ADMIN_CLSACT,
    "admin_same_pref": ADMIN_SAME_PREF,
    "admin_ingress": ADMIN_INGRESS,
    "ours": OURS,
    "ours_5_9": OURS_5_9,
    "orphans": ORPHANS,
    "tree": TREE,
}
CLEAN = [
    "no_qdisc",
    "noqueue",
    "pfifo_fast",
    "mq_fq_codel",
    "admin_htb",
    "admin_clsact",
    "admin_same_pref",
    "admin_ingress",
]

# What OURS does.
WANTED = {"limit": 5000, "delay_ms": 1234.567, "jitter_ms": 5.5, "loss": 0.1234, "rate": 10**8}
WANTED_90 = {"limit": 112500, "delay_ms": 90.0, "jitter_ms": 0.0, "loss": 0.0, "rate": None}
TARGETS = [("10.99.0.11", "vec0"), ("fd99::11", "vec0")]
DEVICE_ADDED = [
    "modprobe -q ifb numifbs=0",
    "modprobe -q sch_netem",
    "ip link add semisync-nm0 type ifb",
    "tc qdisc replace dev semisync-nm0 root handle 8001: netem limit 112500 delay 90ms",
    "ip link set dev semisync-nm0 up",
]
ALIAS = "ip link set dev semisync-nm0 alias dbre.semisync netem; clsact is ours on:"
REDIRECT = (
    "tc filter add dev %s egress protocol %s pref %d handle 0x5e51 flower dst_ip %s "
    "action mirred egress redirect dev semisync-nm0"
)
UNREDIRECT = "tc filter del dev vec0 egress protocol %s pref %d handle 0x5e51 flower"


def commands(plan):
    return [" ".join(words) for words in plan.commands]


@pytest.mark.parametrize("name", STATES)
def test_nothing_of_ours_is_seen_where_there_is_none(name):
    assert is_clean(STATES[name]) is (name in CLEAN)


@pytest.mark.parametrize(
    "found,peers",
    [
        (OURS, TARGETS),
        (OURS_5_9, TARGETS),
        (ORPHANS, []),
        (TREE, [("10.99.0.12", "vec0"), ("fd99::12", "vec0")]),
        (PFIFO_FAST, []),
        (ADMIN_SAME_PREF, []),
    ],
)
def test_who_is_delayed(found, peers):
    assert delayed(found) == peers


def test_nobody_is_delayed_without_netem():
    found = copy.deepcopy(OURS)
    found["qdiscs"] = [qdisc for qdisc in found["qdiscs"] if qdisc["kind"] != "netem"]
    assert delayed(found) == [] and not is_clean(found)


def test_description():
    assert (
        delay_text(OURS)
        == "10.99.0.11 via vec0\nfd99::11 via vec0\nqdisc on semisync-nm0: netem limit 5000 delay"
        " 1234.57ms 5.5ms loss 0.1234% rate 100000000bit\nclsact on vec0\n"
    )
    assert delay_text(ADMIN_CLSACT) == ""


@pytest.mark.parametrize("name", ["no_qdisc", "noqueue", "pfifo_fast", "mq_fq_codel", "admin_htb"])
@pytest.mark.parametrize("device", ["vec0", "eth9"])
def test_from_nothing(name, device):
    plan = plan_present(STATES[name], [("10.99.0.11", device), ("fd99::11", device)], WANTED_90)
    assert commands(plan) == [
        *DEVICE_ADDED,
        f"{ALIAS} {device}",
        f"tc qdisc add dev {device} clsact",
        REDIRECT % (device, "ip", 49500, "10.99.0.11"),
        REDIRECT % (device, "ipv6", 49501, "fd99::11"),
    ]
    assert delayed(plan.state) == [("10.99.0.11", device), ("fd99::11", device)]


@pytest.mark.parametrize(
    "name",
    [
        "no_qdisc",
        "noqueue",
        "pfifo_fast",
        "mq_fq_codel",
        "admin_htb",
        "admin_clsact",
        "admin_same_pref",
    ],
)
def test_there_and_back(name):
    """What is put on is all taken off, and nothing else."""
    put_on = plan_present(STATES[name], TARGETS, WANTED_90)
    back = plan_absent(put_on.state)
    assert is_clean(back.state)
    assert back.state == STATES[name]
    assert plan_absent(back.state).commands == []


def test_an_administrators_clsact_is_used_and_stays():
    plan = plan_present(ADMIN_CLSACT, TARGETS, WANTED_90)
    assert commands(plan) == [
        *DEVICE_ADDED,
        ALIAS,
        REDIRECT % ("vec0", "ip", 49500, "10.99.0.11"),
        REDIRECT % ("vec0", "ipv6", 49501, "fd99::11"),
    ]
    assert commands(plan_absent(plan.state)) == [
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
        "ip link del dev semisync-nm0",
    ]


def test_a_preference_that_is_taken_is_left_alone():
    added = [
        words
        for words in plan_present(ADMIN_SAME_PREF, TARGETS, WANTED_90).commands
        if "filter" in words
    ]
    assert [words[words.index("pref") + 1] for words in added] == ["49501", "49502"]


def test_an_administrators_filters_on_our_clsact_keep_it():
    found = copy.deepcopy(OURS)
    found["ingress"]["vec0"] = tc_output.parse_filters(captures.ADMIN_CLSACT_INGRESS)
    assert commands(plan_absent(found)) == [
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
        "ip link del dev semisync-nm0",
    ]


def test_the_device_goes_last():
    assert commands(plan_absent(OURS)) == [
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
        "tc qdisc del dev vec0 clsact",
        "ip link del dev semisync-nm0",
    ]


@pytest.mark.parametrize("found", [OURS, OURS_5_9], ids=["7.3", "5.9"])
def test_a_repeated_call_does_nothing(found):
    assert plan_present(found, TARGETS, WANTED).commands == []


@pytest.mark.parametrize(
    "change,words",
    [
        (WANTED_90, "limit 112500 delay 90ms rate 0bit"),
        (
            dict(WANTED, delay_ms=1234.0),
            "limit 5000 delay 1234ms 5.5ms loss 0.1234% rate 100000000bit",
        ),
        (
            dict(WANTED, limit=5001),
            "limit 5001 delay 1234.567ms 5.5ms loss 0.1234% rate 100000000bit",
        ),
        (dict(WANTED, loss=0.0), "limit 5000 delay 1234.567ms 5.5ms rate 100000000bit"),
        (dict(WANTED, jitter_ms=0.0), "limit 5000 delay 1234.567ms loss 0.1234% rate 100000000bit"),
    ],
)
def test_a_change_is_made_in_place(change, words):
    plan = plan_present(OURS, TARGETS, change)
    assert commands(plan) == ["tc qdisc change dev semisync-nm0 root netem " + words]
    assert plan_present(plan.state, TARGETS, change).commands == []


def test_other_peers():
    plan = plan_present(OURS, [("fd99::11", "vec0"), ("10.99.0.12", "vec0")], WANTED)
    assert commands(plan) == [
        REDIRECT % ("vec0", "ip", 49502, "10.99.0.12"),
        UNREDIRECT % ("ip", 49500),
    ]


def test_another_interface():
    plan = plan_present(OURS, [("10.99.0.11", "eth9")], WANTED)
    assert commands(plan) == [
        ALIAS + " eth9 vec0",
        "tc qdisc add dev eth9 clsact",
        REDIRECT % ("eth9", "ip", 49500, "10.99.0.11"),
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
        "tc qdisc del dev vec0 clsact",
        ALIAS + " eth9",
    ]
    assert delayed(plan.state) == [("10.99.0.11", "eth9")]


def test_filters_that_lost_their_device_are_replaced():
    plan = plan_present(ORPHANS, TARGETS, WANTED_90)
    assert commands(plan) == [
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
        *DEVICE_ADDED,
        ALIAS,
        REDIRECT % ("vec0", "ip", 49500, "10.99.0.11"),
        REDIRECT % ("vec0", "ipv6", 49501, "fd99::11"),
    ]
    assert commands(plan_absent(ORPHANS)) == [
        UNREDIRECT % ("ip", 49500),
        UNREDIRECT % ("ipv6", 49501),
    ]


def half_done(found, done):
    """The state after the first commands of a plan for TARGETS: what a module that was killed there
    leaves.
    """
    left = copy.deepcopy(found)
    whole = plan_present(found, TARGETS, WANTED_90).state
    left["ifb"] = dict(whole["ifb"])
    if done == "device":
        left["ifb"] = {"up": False, "alias": ""}
    if done in ("clsact", "filter"):
        left["qdiscs"] = copy.deepcopy(whole["qdiscs"])
        left["egress"] = {
            "vec0": copy.deepcopy(whole["egress"]["vec0"][: 1 if done == "filter" else 0])
        }
        left["ingress"] = {"vec0": []}
    return left


@pytest.mark.parametrize("done", ["device", "alias", "clsact", "filter"])
def test_what_is_half_done_is_completed_or_removed(done):
    left = half_done(PFIFO_FAST, done)
    assert plan_absent(left).state == PFIFO_FAST
    plan = plan_present(left, TARGETS, WANTED_90)
    assert delayed(plan.state) == TARGETS
    assert plan_absent(plan.state).state == PFIFO_FAST


@pytest.mark.parametrize(
    "name,missing,way",
    [
        ("pfifo_fast", (), "redirect"),
        ("admin_htb", (), "redirect"),
        ("admin_clsact", (), "redirect"),
        ("pfifo_fast", ("ifb",), "root"),
        ("mq_fq_codel", ("flower",), "root"),
        ("noqueue", ("mirred",), "root"),
        ("no_qdisc", ("clsact",), "root"),
        ("admin_ingress", (), "root"),
        ("tree", ("ifb",), "root"),
        ("tree", (), "redirect"),
        ("ours", ("htb", "u32"), "redirect"),
    ],
)
def test_way(name, missing, way):
    assert choose_way(STATES[name], ["vec0"], missing) == way


@pytest.mark.parametrize(
    "name,missing,message",
    [
        (
            "admin_htb",
            ("ifb",),
            "the root qdisc htb 1: of vec0 was set by an administrator and is not replaced",
        ),
        ("pfifo_fast", ("ifb", "u32"), "the kernel has no ifb; and the kernel has no u32"),
        (
            "admin_ingress",
            ("htb",),
            "vec0 has an ingress qdisc where clsact would go; and the kernel has no htb",
        ),
    ],
)
def test_no_way(name, missing, message):
    with pytest.raises(RefusedError) as refused:
        plan_present(STATES[name], TARGETS, WANTED_90, missing)
    assert message in str(refused.value)


def test_from_nothing_by_the_root():
    plan = plan_present(PFIFO_FAST, TARGETS, WANTED_90, ["ifb"])
    assert commands(plan) == [
        "tc qdisc add dev vec0 root handle 5e51: htb default 0 direct_qlen 1000",
        "tc class replace dev vec0 parent 5e51: classid 5e51:10 htb rate 100gbit quantum 60000",
        "tc qdisc replace dev vec0 parent 5e51:10 handle 5e52: netem limit 112500 delay 90ms",
        (
            "tc filter add dev vec0 parent 5e51: protocol ip pref 49500 u32 match ip dst"
            " 10.99.0.11/32 flowid 5e51:10"
        ),
        (
            "tc filter add dev vec0 parent 5e51: protocol ipv6 pref 49501 u32 match ip6 dst"
            " fd99::11/128 flowid 5e51:10"
        ),
    ]
    assert delayed(plan.state) == TARGETS
    assert plan_present(plan.state, TARGETS, WANTED_90, ["ifb"]).commands == []
    assert is_clean(plan_absent(plan.state).state)


def test_the_root_is_changed_in_place():
    there = [("10.99.0.12", "vec0"), ("fd99::12", "vec0")]
    assert plan_present(TREE, there, WANTED_90, ["ifb"]).commands == []
    assert commands(plan_present(TREE, there[1:], dict(WANTED_90, delay_ms=40), ["ifb"])) == [
        "tc qdisc change dev vec0 parent 5e51:10 netem limit 112500 delay 40ms",
        "tc filter del dev vec0 parent 5e51: protocol ip pref 49500",
    ]


def test_our_root_goes_with_its_filters_first():
    assert commands(plan_absent(TREE)) == [
        "tc filter del dev vec0 parent 5e51: protocol ip pref 49500",
        "tc filter del dev vec0 parent 5e51: protocol ipv6 pref 49501",
        "tc qdisc del dev vec0 root handle 5e51:",
    ]


def test_our_root_gives_way_to_the_better_way():
    plan = plan_present(TREE, TARGETS, WANTED_90)
    assert commands(plan)[-1] == "tc qdisc del dev vec0 root handle 5e51:"
    assert delayed(plan.state) == TARGETS


def test_what_tc_will_show():
    plan = plan_present(PFIFO_FAST, TARGETS, dict(WANTED_90, limit=1000))
    assert predicted_lines(plan.state) == [
        "qdisc netem 8001: dev semisync-nm0 root refcnt 2 limit 1000 delay 90ms"
    ]
    assert equivalents(plan.state) == [
        "tc qdisc add dev semisync-nm0 root netem limit 1000 delay 90ms"
    ]
