# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a delay harmless: the connection that must not be caught, and the timer that ends it
in any case.
"""

from __future__ import annotations

import ipaddress
import math
import shlex
import socket
import struct
from collections.abc import Iterable, Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    NetState,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    DEVICE,
    HANDLE,
    ROOT,
    claims,
    ours,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import repeated

TIMER_PREFIX = "semisync-netem-rollback-"
ESTABLISHED = "01"
# A rollback tries this often, a second apart, to get rid of everything.
ATTEMPTS = 60
# The longest wait for packets that are being held, before their qdisc goes.
MAX_DRAIN = 12


def environment(data: bytes) -> dict[str, str]:
    """The variables in the bytes of /proc/PID/environ."""
    pairs = [item.partition(b"=") for item in data.split(b"\0") if b"=" in item]
    return {
        name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
        for name, _equals, value in pairs
    }


def parent(stat: str) -> int:
    """The parent's process id in the text of /proc/PID/stat; the program's name there may hold any
    character.
    """
    return int(stat.rpartition(")")[2].split()[1])


def client(variables: Mapping[str, str]) -> str | None:
    """The address of the SSH client in a process's environment, or None."""
    words = (variables.get("SSH_CONNECTION") or variables.get("SSH_CLIENT") or "").split()
    return plain(words[0]) if words else None


def plain(text: str) -> str | None:
    """An address without its zone, IPv4-mapped IPv6 as IPv4; None if it is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def connections(text: str) -> dict[str, str | None]:
    """The established connections in /proc/net/tcp or tcp6: socket inode -> address of the other
    end.
    """
    peers = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 10 and words[3] == ESTABLISHED:
            digits = words[2].partition(":")[0]
            # 32-bit words in the machine's own byte order.
            data = b"".join(
                struct.pack("=I", int(digits[at : at + 8], 16)) for at in range(0, len(digits), 8)
            )
            family = socket.AF_INET if len(data) == 4 else socket.AF_INET6
            peers[words[9]] = plain(socket.inet_ntop(family, data))
    return peers


def is_sshd(name: str) -> bool:
    """Whether a process of this name (/proc/PID/comm) serves SSH."""
    return name.startswith("sshd") or name == "dropbear"


def caught(clients: Mapping[str | None, str], peers: list[str]) -> str | None:
    """Why these peers must not be delayed, or None.

    Args:
        clients: address -> how it is known.
        peers: addresses.
    """
    for peer in peers:
        if peer in clients:
            return (
                f"Ansible's own SSH connection comes from {peer} ({clients[peer]}), so a delay"
                " would slow Ansible down. Run Ansible from another host, or from another of its"
                " addresses"
            )
    return None


def drain_seconds(delay_ms: float, jitter_ms: float = 0.0) -> int:
    """How long netem can hold a packet, with some room."""
    return min(MAX_DRAIN, math.ceil((delay_ms + jitter_ms) / 1000.0 + 0.5))


def rollback_script(
    states: list[NetState],
    seconds: int,
    programs: dict[str, str],
) -> str:
    """Shell lines that remove whatever is the module's in any of these states, and try again until
    it is gone.

    Args:
        states: the state that is, and the one that is planned.
        seconds: to wait between the filters and the device, so that no packet in it is lost.
        programs: paths of tc and ip.
    """
    tc, ip = programs["tc"], programs["ip"]
    rooted = unique(name(device) for state in states for device in trees(state))
    roots = [f"{tc} qdisc del dev {device} root handle {ROOT}" for device in rooted]
    left = [f"{tc} qdisc show dev {device} | grep -q ' {ROOT} '" for device in rooted]
    device_lines = []
    if any(state["ifb"] for state in states):
        devices = unique(each for state in states for each in state["egress"])
        shows = [f"{tc} filter show dev {name(each)} egress" for each in devices] or ["true"]
        # Never before the filters are gone: what is redirected to no device is dropped.
        uses = "\n".join(shows)
        device_lines = [f"{{ {uses}\n}} | grep -q 'device {DEVICE})' || {ip} link del dev {DEVICE}"]
        left.append(f"{ip} link show dev {DEVICE}")
    lines = [
        *filter_lines(states, tc),
        f"sleep {int(seconds)}",
        *clsact_lines(states, tc),
        *roots,
        *device_lines,
        f"{{ {' || '.join(left or ['false'])}\n}} >/dev/null || break",
    ]
    loop = repeated(lines, ATTEMPTS, 1)
    return "\n".join(["exec 2>/dev/null", loop, "echo semisync netem: rollback done"])


def name(device: str) -> str:
    """A device's name for a shell: Linux allows any that has no blank and no slash."""
    return shlex.quote(device)


def filter_lines(states: list[NetState], tc: str) -> list[str]:
    """Lines that remove the module's filters."""
    return unique(
        f"{tc} filter del dev {name(device)} egress protocol {item['protocol']} pref {item['pref']}"
        f" handle {HANDLE} flower"
        for state in states
        for device, item in ours(state)
    )


def clsact_lines(states: list[NetState], tc: str) -> list[str]:
    """Lines that remove the module's clsact, unless an administrator put filters there."""
    return unique(
        f"{{ {tc} filter show dev {name(device)} egress\n{tc} filter show dev {name(device)}"
        f" ingress\n}} | grep -q . || {tc} qdisc del dev {name(device)} clsact"
        for state in states
        if state["ifb"]
        for device in claims(state["ifb"]["alias"])
    )


def unique(items: Iterable[str]) -> list[str]:
    """The items, each once, in order."""
    once: list[str] = []
    for item in items:
        if item not in once:
            once.append(item)
    return once
