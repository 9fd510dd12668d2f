# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.bench.netem import captures


@pytest.mark.parametrize(
    "text,device,kind,default",
    [
        (captures.NO_QDISC, "eth0", None, True),
        ("", "eth0", None, True),
        (captures.NOQUEUE, "v0", "noqueue", True),
        (captures.PFIFO_FAST, "vec0", "pfifo_fast", True),
        (captures.MQ_FQ_CODEL, "eth9", "mq", True),
        (captures.ADMIN_HTB, "vec0", "htb", False),
        (captures.ADMIN_CLSACT, "vec0", "pfifo_fast", True),
        (captures.OURS, "semisync-nm0", "netem", False),
        (captures.TREE, "vec0", "htb", False),
    ],
)
def test_root_qdisc(text, device, kind, default):
    root = tc_output.root_of(tc_output.parse_json(text), device)
    assert (root and root["kind"], tc_output.is_default(root)) == (kind, default)


def test_broken_json():
    with pytest.raises(tc_output.UnreadableError, match=r"iproute2 4\.17"):
        tc_output.parse_json(captures.TREE_FILTERS_JSON_5_9)


def test_a_counter_among_the_options_is_no_state():
    assert tc_output.settled(tc_output.root_of(tc_output.parse_json(captures.ADMIN_HTB), "vec0"))[
        "options"
    ] == {
        "r2q": 10,
        "default": "0x10",
        "direct_qlen": 1000,
    }


@pytest.mark.parametrize(
    "text,device,expected",
    [
        (
            captures.OURS,
            "semisync-nm0",
            {
                "limit": 5000,
                "delay_ms": 1234.57,
                "jitter_ms": 5.5,
                "loss": 0.1234,
                "rate": 100000000,
            },
        ),
        (
            captures.OURS_5_9,
            "semisync-nm0",
            {
                "limit": 5000,
                "delay_ms": 1234.57,
                "jitter_ms": 5.499,
                "loss": 0.1234,
                "rate": 100000000,
            },
        ),
        (
            captures.TREE,
            "vec0",
            {"limit": 112500, "delay_ms": 90, "jitter_ms": 0, "loss": 0, "rate": None},
        ),
    ],
)
def test_netem_parameters(text, device, expected):
    netem = [
        qdisc
        for qdisc in tc_output.parse_json(text)
        if qdisc["kind"] == "netem" and qdisc["dev"] == device
    ]
    assert [tc_output.netem_parameters(qdisc) for qdisc in netem] == [expected]


def told(text):
    return [
        (
            item["protocol"],
            item["pref"],
            item["kind"],
            item["handle"],
            item["peer"],
            item["device"],
            item["flow"],
        )
        for item in tc_output.parse_filters(text)
        if item["handle"]
    ]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("", []),
        (
            captures.ADMIN_CLSACT_EGRESS,
            [
                ("ip", 5, "u32", "800:", None, None, None),
                ("ip", 5, "u32", "800::800", None, None, None),
                ("all", 7, "matchall", "0x1", None, None, None),
            ],
        ),
        (captures.ADMIN_CLSACT_INGRESS, [("ip", 1, "flower", "0x1", None, None, None)]),
        (
            captures.OURS_EGRESS,
            [
                ("ip", 49500, "flower", "0x5e51", "10.99.0.11", "semisync-nm0", None),
                ("ipv6", 49501, "flower", "0x5e51", "fd99::11", "semisync-nm0", None),
            ],
        ),
        (
            captures.ORPHANS_EGRESS,
            [
                ("ip", 49500, "flower", "0x5e51", "10.99.0.11", "*", None),
                ("ipv6", 49501, "flower", "0x5e51", "fd99::11", "*", None),
            ],
        ),
        (
            captures.TREE_FILTERS,
            [
                ("ip", 49500, "u32", "800:", None, None, None),
                ("ip", 49500, "u32", "800::800", "10.99.0.12", None, "5e51:10"),
                ("ipv6", 49501, "u32", "801:", None, None, None),
                ("ipv6", 49501, "u32", "801::800", "fd99::12", None, "5e51:10"),
            ],
        ),
    ],
)
def test_filters(text, expected):
    assert told(text) == expected


def test_filters_of_other_versions():
    assert told(captures.TREE_FILTERS_6_1) == told(captures.TREE_FILTERS)


def test_classifiers_are_listed_without_a_handle():
    assert [
        item["pref"] for item in tc_output.parse_filters(captures.OURS_EGRESS) if not item["handle"]
    ] == [49500, 49501]


@pytest.mark.parametrize(
    "text,bits",
    [
        ("100mbit", 10**8),
        ("1gbit", 10**9),
        ("1.5Mbit", 1500000),
        ("64kibit", 65536),
        ("10mbps", 8 * 10**7),
        ("8000", 8000),
        ("8000bit", 8000),
        (" 1Gbit ", 10**9),
        (1000000, 1000000),
    ],
)
def test_rate(text, bits):
    assert tc_output.parse_rate(text) == bits


@pytest.mark.parametrize(
    "text", ["", "fast", "-1mbit", "10 mbit", "1e9", "10mb", "10%", "1gbit; reboot"]
)
def test_no_rate(text):
    with pytest.raises(ValueError, match="is not a rate"):
        tc_output.parse_rate(text)
