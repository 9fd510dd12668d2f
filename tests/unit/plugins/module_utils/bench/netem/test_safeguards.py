# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess
import sys

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import safeguards
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.tc_plan import plan_present
from ansible_collections.dbre.semisync.plugins.module_utils._host import timer
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.bench.netem import (
    test_qdisc_state,
)

# /proc/net/tcp of a test host, cut at the inode, with an SSH connection from 10.99.0.1.
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:8124 00000000:0000 0A 00000000:00000000 00:00000000 00000000   996        0 906
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 830
   3: 0A00630A:0016 0100630A:9D9C 01 00000000:00000000 02:000AFA07 00000000     0        0 3747
"""
# The same for IPv6: a listening socket, an IPv4 connection to it, an IPv6 connection.
HEAD = (
    "  sl  local_address  remote_address  st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout"
    " inode\n"
)
TCP6 = HEAD + "".join(
    f"   0: {local}:0016 {remote}:{state} 00000000:00000000 00:00000000 00000000 0 0 {inode}\n"
    for local, remote, state, inode in (
        ("0" * 32, "0" * 32, "0000 0A", 832),
        ("0000000000000000FFFF00000A00630A", "0000000000000000FFFF00000B00630A", "9D9C 01", 833),
        ("000099FD000000000000000010000000", "000099FD000000000000000012000000", "9D9C 01", 834),
    )
)


@pytest.mark.parametrize(
    "variables,expected",
    [
        ({"SSH_CONNECTION": "10.99.0.1 39828 10.99.0.10 22"}, "10.99.0.1"),
        ({"SSH_CLIENT": "10.99.0.1 39828 22"}, "10.99.0.1"),
        ({"SSH_CONNECTION": "::ffff:10.99.0.1 39828 ::ffff:10.99.0.10 22"}, "10.99.0.1"),
        ({"SSH_CONNECTION": "fe80::1%eth0 39828 fe80::2%eth0 22"}, "fe80::1"),
        ({"SSH_CONNECTION": "FD99::1 39828 fd99::10 22"}, "fd99::1"),
        ({"SSH_CONNECTION": ""}, None),
        ({"SSH_CONNECTION": "UNKNOWN 65535 UNKNOWN 65535"}, None),
        ({"HOME": "/root"}, None),
    ],
)
def test_client(variables, expected):
    assert safeguards.client(variables) == expected


def test_environment():
    assert safeguards.environment(b"A=1\0SSH_CONNECTION=a=b c\0junk\0B=\xff\0") == {
        "A": "1",
        "SSH_CONNECTION": "a=b c",
        "B": "\ufffd",
    }


def test_parent():
    assert safeguards.parent("892 (a) S 1 (b)) S 885 892 892 0 -1 4194560") == 885


@pytest.mark.skipif(sys.byteorder == "big", reason="captured on a little-endian machine")
@pytest.mark.parametrize(
    "text,expected",
    [
        (TCP, {"3747": "10.99.0.1"}),
        (TCP6, {"833": "10.99.0.11", "834": "fd99::12"}),
        ("", {}),
    ],
)
def test_connections(text, expected):
    assert safeguards.connections(text) == expected


@pytest.mark.parametrize(
    "name,expected",
    [
        ("sshd", True),
        ("sshd-session", True),
        ("sshd-auth", True),
        ("dropbear", True),
        ("ssh", False),
        ("bash", False),
    ],
)
def test_is_sshd(name, expected):
    assert safeguards.is_sshd(name) is expected


def test_caught():
    clients = {"10.99.0.1": "SSH_CONNECTION"}
    assert safeguards.caught(clients, ["10.99.0.11", "fd99::1"]) is None
    assert (
        "Ansible's own SSH connection comes from 10.99.0.1 (SSH_CONNECTION)"
        in safeguards.caught(clients, ["10.99.0.11", "10.99.0.1"])
    )


@pytest.mark.parametrize(
    "delay,jitter,expected", [(0, 0, 1), (90, 0, 1), (900, 100, 2), (10000, 10000, 12)]
)
def test_drain(delay, jitter, expected):
    assert safeguards.drain_seconds(delay, jitter) == expected


PROGRAMS = {"tc": "/sbin/tc", "ip": "/sbin/ip"}


def script_for(state, targets=None, missing=()):
    plan = plan_present(
        state, targets or test_qdisc_state.TARGETS, test_qdisc_state.WANTED, missing
    )
    return safeguards.rollback_script([plan.before, plan.state], 1, PROGRAMS)


def test_rollback_takes_off_what_will_be_there():
    assert script_for(test_qdisc_state.PFIFO_FAST).splitlines()[3:12] == [
        "/sbin/tc filter del dev vec0 egress protocol ip pref 49500 handle 0x5e51 flower",
        "/sbin/tc filter del dev vec0 egress protocol ipv6 pref 49501 handle 0x5e51 flower",
        "sleep 1",
        "{ /sbin/tc filter show dev vec0 egress",
        "/sbin/tc filter show dev vec0 ingress",
        "} | grep -q . || /sbin/tc qdisc del dev vec0 clsact",
        "{ /sbin/tc filter show dev vec0 egress",
        "} | grep -q 'device semisync-nm0)' || /sbin/ip link del dev semisync-nm0",
        "{ /sbin/ip link show dev semisync-nm0",
    ]


def test_rollback_takes_off_what_is_there_and_what_will_be():
    script = script_for(test_qdisc_state.OURS, [("192.0.2.1", "eth9")])
    assert (
        "dev vec0 egress protocol ip pref 49500" in script
        and "dev eth9 egress protocol ip pref 49500" in script
    )


def test_rollback_leaves_an_administrators_clsact():
    assert "clsact" not in script_for(test_qdisc_state.ADMIN_CLSACT)


def test_rollback_of_a_root_qdisc_names_it():
    script = script_for(test_qdisc_state.PFIFO_FAST, missing=["ifb"])
    assert "/sbin/tc qdisc del dev vec0 root handle 5e51:" in script
    assert "link del" not in script


@pytest.mark.parametrize("state", test_qdisc_state.STATES.values(), ids=test_qdisc_state.STATES)
def test_rollback_is_a_shell_script_that_systemd_takes_as_it_is(state):
    if state is not test_qdisc_state.ADMIN_INGRESS:
        script = script_for(state)
        assert timer.checked(script) == script
        assert subprocess.call(["sh", "-n", "-c", script]) == 0
