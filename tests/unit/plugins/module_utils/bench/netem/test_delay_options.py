# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import delay_options

PARAMS = {
    "peers": ["192.0.2.11"],
    "delay_ms": 90.0,
    "jitter_ms": 0.0,
    "loss": 0.0,
    "rate": None,
    "limit": None,
    "rollback_after": 600,
}
UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n'
ROCKY = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n'
FEDORA = "NAME=Fedora\nID=fedora\n"
DEBIAN = 'NAME="Debian GNU/Linux"\nID=debian\n'


def test_what_is_asked_for():
    assert delay_options.check(dict(PARAMS, jitter_ms=5.0, loss=0.1, rate="100mbit")) == {
        "delay_ms": 90,
        "jitter_ms": 5,
        "loss": 0.1,
        "rate": 10**8,
        "limit": None,
    }


@pytest.mark.parametrize(
    "change,message",
    [
        ({"peers": []}, "peers is empty"),
        ({"delay_ms": -1.0}, "delay_ms is -1.0; it must be from 0 to 10000 milliseconds"),
        ({"delay_ms": 90000.0}, "delay_ms is 90000.0"),
        ({"delay_ms": float("nan")}, "delay_ms is nan"),
        ({"delay_ms": None}, "delay_ms is None"),
        ({"jitter_ms": -1.0}, "jitter_ms is -1.0"),
        ({"jitter_ms": 91.0}, "more than the delay"),
        ({"loss": 101.0}, "loss is 101.0; it must be from 0 to 100 percent"),
        ({"loss": -0.1}, "loss is -0.1"),
        ({"rate": "fast"}, "rate: 'fast' is not a rate"),
        ({"rate": "0mbit"}, "at least 1kbit"),
        ({"limit": 0}, "limit is 0"),
        ({"rollback_after": 0}, "rollback_after is 0; it must be from 5 to 86400 seconds"),
        ({"rollback_after": 10**6}, "rollback_after is 1000000"),
    ],
)
def test_refused(change, message):
    with pytest.raises(delay_options.RefusedError) as refused:
        delay_options.check(dict(PARAMS, **change))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "texts,expected",
    [
        (["192.0.2.11", " 192.0.2.11 "], ["192.0.2.11"]),
        (["2001:DB8:0::11", "2001:db8::11"], ["2001:db8::11"]),
        (["::ffff:192.0.2.11"], ["192.0.2.11"]),
        (None, []),
    ],
)
def test_peers(texts, expected):
    assert delay_options.parse_peers(texts) == expected


@pytest.mark.parametrize(
    "text,message",
    [
        ("db2.example.com", "is not an IPv4 or IPv6 address"),
        ("192.0.2.0/24", "is not an IPv4 or IPv6 address"),
        ("127.0.0.1", "loopback"),
        ("127.1.2.3", "loopback"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("169.254.1.1", "link-local"),
        ("0.0.0.0", "no address of a host"),
        ("::", "no address of a host"),
        ("224.0.0.1", "no address of a host"),
        ("ff02::1", "no address of a host"),
        ("255.255.255.255", "no address of a host"),
    ],
)
def test_no_peers(text, message):
    with pytest.raises(delay_options.RefusedError) as refused:
        delay_options.parse_peers([text])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "change,links,expected",
    [
        # 10^10 / 8 / 1500 x 0.09 x 1.5
        ({}, [(None, 1500)], 112500),
        ({}, [(10**9, 1500)], 11250),
        ({}, [(10**9, 1500), (10**10, 9000)], 18750),
        ({"jitter_ms": 10.0}, [(10**9, 1500)], 12500),
        ({"rate": "100mbit"}, [(10**10, 1500)], 1125),
        ({"rate": "10mbit"}, [(None, 1500)], 1000),
        ({"delay_ms": 0.0}, [(None, 1500)], 1000),
        ({"limit": 3}, [(None, 1500)], 3),
    ],
)
def test_limit(change, links, expected):
    assert delay_options.limit(delay_options.check(dict(PARAMS, **change)), links) == expected


@pytest.mark.parametrize(
    "status,expected",
    [
        # As root; in a container with CAP_NET_ADMIN; in one without.
        ("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n", True),
        ("CapEff:\t00000000a80435fb\n", True),
        ("CapEff:\t00000000a80425fb\n", False),
        ("CapEff:\t0000000000000000\n", False),
        ("", False),
    ],
)
def test_capability(status, expected):
    assert delay_options.has_net_admin(status) is expected


CONFIG = "CONFIG_IFB=y\n# CONFIG_NET_SCH_NETEM is not set\nCONFIG_NET_SCH_HTB=m\n"


@pytest.mark.parametrize(
    "config,loaded,loadable,expected",
    [
        # Nothing can be found out: tc will tell.
        ("", [], {}, set()),
        (CONFIG, [], {}, {"netem"}),
        # The option says module, the package with the modules is not installed.
        ("CONFIG_NET_SCH_NETEM=m\n", [], {"sch_netem": False, "ifb": True}, {"netem"}),
        ("", ["sch_netem"], {"ifb": False}, {"ifb"}),
        ("CONFIG_IFB=y\n", [], {"sch_netem": True, "ifb": False}, set()),
    ],
)
def test_missing(config, loaded, loadable, expected):
    assert delay_options.missing_modules(config, loaded, loadable) == expected


@pytest.mark.parametrize(
    "release,expected",
    [
        (UBUNTU, "apt install linux-modules-extra-6.8.0-1012-aws"),
        (ROCKY, "dnf install kernel-modules-extra-6.8.0-1012-aws"),
        (FEDORA, "dnf install kernel-modules-extra-6.8.0-1012-aws"),
        (DEBIAN, "CONFIG_NET_SCH_NETEM"),
        ("", "CONFIG_NET_SCH_NETEM"),
    ],
)
def test_the_package_with_netem(release, expected):
    text = delay_options.explain_kernel("netem", release, "6.8.0-1012-aws")
    assert "has no netem" in text and expected in text


NETEM = [
    "tc",
    "qdisc",
    "replace",
    "dev",
    "semisync-nm0",
    "root",
    "handle",
    "8001:",
    "netem",
    "limit",
    "1000",
    "delay",
    "90ms",
]
FILTER = [
    "tc",
    "filter",
    "add",
    "dev",
    "eth0",
    "egress",
    "protocol",
    "ip",
    "pref",
    "49500",
    "handle",
    "0x5e51",
    "flower",
    "dst_ip",
    "192.0.2.1",
    "action",
    "mirred",
    "egress",
    "redirect",
    "dev",
    "semisync-nm0",
]


@pytest.mark.parametrize(
    "command,stderr,expected",
    [
        (
            NETEM,
            "Error: Specified qdisc kind is unknown.\n",
            "the kernel 6.1.0 has no netem (module sch_netem)",
        ),
        # Linux before 5.14.
        (NETEM, "Error: Specified qdisc not found.\n", "has no netem"),
        # iproute2 and kernels without extended messages.
        (NETEM, "RTNETLINK answers: No such file or directory\n", "has no netem"),
        (NETEM, "RTNETLINK answers: Operation not permitted\n", "requires CAP_NET_ADMIN"),
        (
            ["ip", "link", "add", "semisync-nm0", "type", "ifb"],
            "Error: Unknown device type.\n",
            "has no ifb",
        ),
        (
            ["tc", "qdisc", "add", "dev", "eth0", "clsact"],
            "Error: Specified qdisc kind is unknown.\n",
            "has no clsact",
        ),
        (
            FILTER,
            "Error: TC classifier not found.\nWe have an error talking to the kernel\n",
            "has no flower",
        ),
        (
            FILTER,
            "Error: Failed to load TC action module.\nWe have an error talking to the kernel\n",
            "has no mirred",
        ),
        (
            ["tc", "qdisc", "add", "dev", "eth0", "root", "handle", "5e51:", "htb", "default", "0"],
            "Error: Specified qdisc kind is unknown.\n",
            "has no htb",
        ),
        (
            ["tc", "qdisc", "add", "dev", "nope", "clsact"],
            'Cannot find device "nope"\n',
            'tc qdisc add dev nope clsact failed: Cannot find device "nope"',
        ),
        (["systemd-run", "--unit=x"], "", "systemd-run --unit=x failed: no message"),
    ],
)
def test_failures(command, stderr, expected):
    assert expected in delay_options.explain_failure(command, stderr, DEBIAN, "6.1.0")


def test_programs():
    assert "iproute-tc" in delay_options.explain_program("tc")


def trip(least):
    return {
        "sent": 5,
        "received": 5 if least else 0,
        "min": least,
        "median": least,
        "avg": least,
        "max": least,
    }


@pytest.mark.parametrize(
    "trips,change,felt",
    [
        ({"192.0.2.11": trip(90.3)}, {}, True),
        ({"192.0.2.11": trip(0.3)}, {}, False),
        ({"192.0.2.11": trip(90.3), "192.0.2.12": trip(0.3)}, {}, False),
        ({"192.0.2.11": trip(86.0)}, {"jitter_ms": 5.0}, True),
        ({"192.0.2.11": trip(None)}, {}, True),
        ({"192.0.2.11": trip(0.3)}, {"delay_ms": 0.0}, True),
        ({}, {}, True),
    ],
)
def test_unfelt(trips, change, felt):
    assert (
        delay_options.unfelt(trips, delay_options.check(dict(PARAMS, **change))) is None
    ) is felt
