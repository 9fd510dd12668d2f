# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import subprocess
import sys

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils import netem_guard, netem_plan
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils import test_netem

# /proc/net/tcp of a test host, cut at the inode, with an SSH connection from 10.99.0.1.
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:8124 00000000:0000 0A 00000000:00000000 00:00000000 00000000   996        0 906
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 830
   3: 0A00630A:0016 0100630A:9D9C 01 00000000:00000000 02:000AFA07 00000000     0        0 3747
"""
# The same for IPv6: a listening socket, an IPv4 connection to it, an IPv6 connection.
HEAD = "  sl  local_address  remote_address  st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
TCP6 = HEAD + "".join("   0: %s:0016 %s:%s 00000000:00000000 00:00000000 00000000 0 0 %d\n" % line for line in (
    ("0" * 32, "0" * 32, "0000 0A", 832),
    ("0000000000000000FFFF00000A00630A", "0000000000000000FFFF00000B00630A", "9D9C 01", 833),
    ("000099FD000000000000000010000000", "000099FD000000000000000012000000", "9D9C 01", 834)))


@pytest.mark.parametrize("variables,expected", [
    ({"SSH_CONNECTION": "10.99.0.1 39828 10.99.0.10 22"}, "10.99.0.1"),
    ({"SSH_CLIENT": "10.99.0.1 39828 22"}, "10.99.0.1"),
    ({"SSH_CONNECTION": "::ffff:10.99.0.1 39828 ::ffff:10.99.0.10 22"}, "10.99.0.1"),
    ({"SSH_CONNECTION": "fe80::1%eth0 39828 fe80::2%eth0 22"}, "fe80::1"),
    ({"SSH_CONNECTION": "FD99::1 39828 fd99::10 22"}, "fd99::1"),
    ({"SSH_CONNECTION": ""}, None),
    ({"SSH_CONNECTION": "UNKNOWN 65535 UNKNOWN 65535"}, None),
    ({"HOME": "/root"}, None),
])
def test_client(variables, expected):
    assert netem_guard.client(variables) == expected


def test_environment():
    assert netem_guard.environment(b"A=1\0SSH_CONNECTION=a=b c\0junk\0B=\xff\0") == {
        "A": "1", "SSH_CONNECTION": "a=b c", "B": u"\ufffd"}


def test_parent():
    assert netem_guard.parent("892 (a) S 1 (b)) S 885 892 892 0 -1 4194560") == 885


@pytest.mark.skipif(sys.byteorder == "big", reason="captured on a little-endian machine")
@pytest.mark.parametrize("text,expected", [
    (TCP, {"3747": "10.99.0.1"}),
    (TCP6, {"833": "10.99.0.11", "834": "fd99::12"}),
    ("", {}),
])
def test_connections(text, expected):
    assert netem_guard.connections(text) == expected


@pytest.mark.parametrize("name,expected", [
    ("sshd", True), ("sshd-session", True), ("sshd-auth", True), ("dropbear", True), ("ssh", False), ("bash", False)])
def test_is_sshd(name, expected):
    assert netem_guard.is_sshd(name) is expected


def test_caught():
    clients = {"10.99.0.1": "SSH_CONNECTION"}
    assert netem_guard.caught(clients, ["10.99.0.11", "fd99::1"]) is None
    assert "10.99.0.1 is where this very SSH connection comes from (SSH_CONNECTION)" in netem_guard.caught(
        clients, ["10.99.0.11", "10.99.0.1"])


@pytest.mark.parametrize("delay,jitter,expected", [(0, 0, 1), (90, 0, 1), (900, 100, 2), (10000, 10000, 12)])
def test_drain(delay, jitter, expected):
    assert netem_guard.drain_seconds({"delay_ms": delay, "jitter_ms": jitter}) == expected


PROGRAMS = {"tc": "/sbin/tc", "ip": "/sbin/ip"}


def script_for(state, targets=None, missing=()):
    plan = netem_plan.present(state, targets or test_netem.TARGETS, test_netem.WANTED, missing)
    return netem_guard.rollback_script([plan.before, plan.state], 1, PROGRAMS)


def test_rollback_takes_off_what_will_be_there():
    assert script_for(test_netem.PFIFO_FAST).splitlines()[3:12] == [
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
    script = script_for(test_netem.OURS, [("192.0.2.1", "eth9")])
    assert "dev vec0 egress protocol ip pref 49500" in script and "dev eth9 egress protocol ip pref 49500" in script


def test_rollback_leaves_an_administrators_clsact():
    assert "clsact" not in script_for(test_netem.ADMIN_CLSACT)


def test_rollback_of_a_root_qdisc_names_it():
    script = script_for(test_netem.PFIFO_FAST, missing=["ifb"])
    assert "/sbin/tc qdisc del dev vec0 root handle 5e51:" in script
    assert "link del" not in script


@pytest.mark.parametrize("state", test_netem.STATES.values(), ids=test_netem.STATES)
def test_rollback_is_a_shell_script_that_systemd_takes_as_it_is(state):
    if state is not test_netem.ADMIN_INGRESS:
        script = script_for(state)
        assert not set("$%;") & set(script)
        assert subprocess.call(["sh", "-n", "-c", script]) == 0


def test_the_timer_fires_on_time():
    command = netem_guard.arm_command("semisync-netem-rollback-1", 600, "true")
    assert command[0] == "systemd-run" and command[-3:] == ["/bin/sh", "-c", "true"]
    assert {"--on-active=600s", "--timer-property=AccuracySec=100ms", "--collect"} < set(command)


@pytest.mark.parametrize("text,expected", [
    ("", []),
    ("semisync-netem-rollback-1795263.timer loaded active waiting Rollback of the delay\n",
     ["semisync-netem-rollback-1795263.timer"]),
    ("* semisync-netem-rollback-1.service loaded active running x\nother.service loaded\n",
     ["semisync-netem-rollback-1.service"]),
])
def test_units(text, expected):
    assert netem_guard.units(text) == expected
