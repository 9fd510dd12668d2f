# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a delay harmless: the connection that must not be caught, and the timer that ends it in any case."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import ipaddress
import math
import re
import shlex
import socket
import struct

from ansible_collections.dbre.semisync.plugins.module_utils import netem

UNIT = "semisync-netem-rollback-"
ESTABLISHED = "01"
# A rollback tries this often, a second apart, to get rid of everything.
ATTEMPTS = 60
# The longest wait for packets that are being held, before their qdisc goes.
MAX_DRAIN = 12


def environment(data):
    """The variables in the bytes of /proc/PID/environ."""
    pairs = [item.partition(b"=") for item in data.split(b"\0") if b"=" in item]
    return dict((name.decode("utf-8", "replace"), value.decode("utf-8", "replace")) for name, dummy, value in pairs)


def parent(stat):
    """The parent's process id in the text of /proc/PID/stat; the program's name there may hold any character."""
    return int(stat.rpartition(")")[2].split()[1])


def client(variables):
    """The address of the SSH client in a process's environment, or None."""
    words = (variables.get("SSH_CONNECTION") or variables.get("SSH_CLIENT") or "").split()
    return plain(words[0]) if words else None


def plain(text):
    """An address without zone, and as IPv4 where it is IPv4 in IPv6 clothes; None where it is none."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def connections(text):
    """The established connections in /proc/net/tcp or tcp6: socket inode -> address of the other end."""
    found = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 10 and words[3] == ESTABLISHED:
            digits = words[2].partition(":")[0]
            # 32-bit words in the machine's own byte order.
            data = b"".join(struct.pack("=I", int(digits[at:at + 8], 16)) for at in range(0, len(digits), 8))
            family = socket.AF_INET if len(data) == 4 else socket.AF_INET6
            found[words[9]] = plain(socket.inet_ntop(family, data))
    return found


def is_sshd(name):
    """Whether a process of this name (/proc/PID/comm) serves SSH."""
    return name.startswith("sshd") or name == "dropbear"


def caught(clients, peers):
    """Why these peers must not be delayed, or None.

    Args:
        clients: address -> how it is known.
        peers: addresses.
    """
    for peer in peers:
        if peer in clients:
            return ("%s is where this very SSH connection comes from (%s); delaying it would delay Ansible. Run "
                    "Ansible from another host, or from another address of that one" % (peer, clients[peer]))
    return None


def drain_seconds(wanted):
    """How long netem can hold a packet, with some room."""
    return min(MAX_DRAIN, int(math.ceil((wanted["delay_ms"] + wanted["jitter_ms"]) / 1000.0 + 0.5)))


def rollback_script(states, seconds, programs):
    """Shell lines that take off whatever is ours in any of these states, and try again until it is gone.

    There is no $ and no % in them: systemd would expand those; and no ; which systemd 252 cannot read again after a
    daemon-reload (seen on Debian 12).

    Args:
        states: see netem.py; the state that is, and the one that is planned.
        seconds: to wait between the filters and the device, so that no packet in it is lost.
        programs: paths of tc and ip.
    """
    tc, ip = programs["tc"], programs["ip"]
    # Linux lets an interface have any name without a blank or a slash.
    name = shlex.quote
    filters = unique(
        "%s filter del dev %s egress protocol %s pref %d handle %s flower"
        % (tc, name(device), item["protocol"], item["pref"], netem.HANDLE)
        for state in states for device, item in netem.ours(state))
    # An administrator may have put filters there meanwhile.
    clsacts = unique(
        "{ %s filter show dev %s egress\n%s filter show dev %s ingress\n} | grep -q . || %s qdisc del dev %s clsact"
        % (tc, name(device), tc, name(device), tc, name(device))
        for state in states if state["ifb"] for device in netem.claims(state["ifb"]["alias"]))
    rooted = unique(name(device) for state in states for device in netem.trees(state))
    roots = ["%s qdisc del dev %s root handle %s" % (tc, device, netem.ROOT) for device in rooted]
    left = ["%s qdisc show dev %s | grep -q ' %s '" % (tc, device, netem.ROOT) for device in rooted]
    device = []
    if any(state["ifb"] for state in states):
        shows = ["%s filter show dev %s egress" % (tc, name(each))
                 for each in unique(each for state in states for each in state["egress"])] or ["true"]
        # Never before the filters are gone: what is redirected to no device is dropped.
        device = ["{ %s\n} | grep -q 'device %s)' || %s link del dev %s" % (
            "\n".join(shows), netem.DEVICE, ip, netem.DEVICE)]
        left.append("%s link show dev %s" % (ip, netem.DEVICE))
    lines = ["exec 2>/dev/null", "for attempt in %s\ndo" % " ".join(str(number) for number in range(ATTEMPTS))]
    lines += filters + ["sleep %d" % seconds] + clsacts + roots + device
    lines += ["{ %s\n} >/dev/null || break" % " || ".join(left or ["false"]), "sleep 1", "done",
              "echo semisync netem: rollback done"]
    return "\n".join(lines)


def unique(items):
    """The items, each once, in order."""
    found = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def arm_command(unit, seconds, script):
    """systemd's words for a timer that runs the script; it does not outlive a reboot, as the delay does not.

    systemd's own accuracy for timers is a minute.
    """
    return ["systemd-run", "--unit=" + unit, "--description=Rollback of the delay that dbre.semisync.netem added",
            "--on-active=%ds" % seconds, "--timer-property=AccuracySec=100ms", "--collect",
            "/bin/sh", "-c", script]


def units(text):
    """The names in `systemctl list-units --plain --no-legend`."""
    return [match.group(1) for match in re.finditer(r"^\W*(%s\S+)" % UNIT, text, re.M)]
