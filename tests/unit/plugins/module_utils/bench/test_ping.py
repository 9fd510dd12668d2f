# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench import ping

PING = """PING 10.99.0.11 (10.99.0.11) 56(84) bytes of data.
64 bytes from 10.99.0.11: icmp_seq=1 ttl=64 time=91.3 ms
64 bytes from 10.99.0.11: icmp_seq=2 ttl=64 time=90.3 ms
64 bytes from 10.99.0.11: icmp_seq=3 ttl=64 time=90.4 ms
64 bytes from 10.99.0.11: icmp_seq=4 ttl=64 time=90.4 ms
64 bytes from 10.99.0.11: icmp_seq=5 ttl=64 time=90.3 ms

--- 10.99.0.11 ping statistics ---
5 packets transmitted, 5 received, 0% packet loss, time 803ms
rtt min/avg/max/mdev = 90.311/90.535/91.283/0.374 ms
"""
PING6 = """PING fd99::11 (fd99::11) 56 data bytes
64 bytes from fd99::11: icmp_seq=1 ttl=64 time=0.326 ms
64 bytes from fd99::11: icmp_seq=2 ttl=64 time=0.312 ms

--- fd99::11 ping statistics ---
2 packets transmitted, 2 received, 0% packet loss, time 406ms
rtt min/avg/max/mdev = 0.312/0.319/0.326/0.007 ms
"""
NO_ANSWER = """PING 10.99.0.99 (10.99.0.99) 56(84) bytes of data.

--- 10.99.0.99 ping statistics ---
2 packets transmitted, 0 received, 100% packet loss, time 209ms

"""


@pytest.mark.parametrize(
    "text,expected",
    [
        (PING, {"sent": 5, "received": 5, "min": 90.3, "median": 90.4, "avg": 90.54, "max": 91.3}),
        (
            PING6,
            {"sent": 2, "received": 2, "min": 0.312, "median": 0.319, "avg": 0.319, "max": 0.326},
        ),
        (
            NO_ANSWER,
            {"sent": 2, "received": 0, "min": None, "median": None, "avg": None, "max": None},
        ),
        (
            "ping: connect: Network is unreachable\n",
            {"sent": 0, "received": 0, "min": None, "median": None, "avg": None, "max": None},
        ),
    ],
)
def test_what_ping_prints(text, expected):
    assert ping.parse_ping(text) == expected


class Module:
    """Stands for the module on a host with or without ping; keeps what was run."""

    def __init__(self, program):
        self.program, self.commands = program, []

    def get_bin_path(self, name, opt_dirs):
        return self.program

    def run_command(self, words, **dummy):
        self.commands.append(words)
        return 0, PING, ""


def test_each_peer_is_asked():
    module = Module("/bin/ping")
    trips = ping.round_trips(module, ["10.99.0.11", "fd99::11"], 5, wait=4)
    assert [trips[peer]["median"] for peer in ("10.99.0.11", "fd99::11")] == [90.4, 90.4]
    assert module.commands[1] == [
        "/bin/ping",
        "-n",
        "-c",
        "5",
        "-i",
        "0.2",
        "-W",
        "4",
        "--",
        "fd99::11",
    ]


@pytest.mark.parametrize("peers,count", [([], 5), (["10.99.0.11"], 0)])
def test_nobody_is_asked_where_nothing_is_to_be_measured(peers, count):
    assert ping.round_trips(Module(None), peers, count) == {}


def test_a_host_without_ping_is_told_the_package():
    with pytest.raises(ping.PingError, match="iputils-ping"):
        ping.round_trips(Module(None), ["10.99.0.11"], 5)
