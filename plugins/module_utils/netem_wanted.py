# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user asks of netem, checked; and what a host must have for it, in words when it has not."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import ipaddress
import math
import re

from ansible_collections.dbre.semisync.plugins.module_utils import tc

# Longer than any path on Earth or over a satellite, and long enough for TCP to give up.
MAX_DELAY_MS = 10000.0
MAX_ROLLBACK = 86400
MIN_ROLLBACK = 5
MIN_LIMIT = 1000
ASSUMED_RATE = 10 * 10 ** 9
CAP_NET_ADMIN = 12

# What is needed of the kernel: our word -> (its module, its build option).
KERNEL = {
    "netem": ("sch_netem", "CONFIG_NET_SCH_NETEM"),
    "ifb": ("ifb", "CONFIG_IFB"),
    "clsact": ("sch_ingress", "CONFIG_NET_SCH_INGRESS"),
    "flower": ("cls_flower", "CONFIG_NET_CLS_FLOWER"),
    "mirred": ("act_mirred", "CONFIG_NET_ACT_MIRRED"),
    "htb": ("sch_htb", "CONFIG_NET_SCH_HTB"),
    "u32": ("cls_u32", "CONFIG_NET_CLS_U32"),
}
# Messages of the kernel and of tc that mean "no such thing here", by the word in the command that brings them.
UNKNOWN = re.compile(r"qdisc kind is unknown|Specified qdisc not found|TC classifier not found|Unknown device type|"
                     r"TC action module|No such file or directory|Operation not supported")
NO_CAPABILITY = ("changing qdiscs takes CAP_NET_ADMIN, which this process lacks: use become, or give it to the "
                 "container")


class Refused(ValueError):
    """What is asked for cannot or must not be done; the text says why and what to do."""


def number(name, value, least, most, unit):
    """The value, where it is in its range.

    Raises:
        Refused: it is not, or is no number at all.
    """
    if value is None or math.isnan(value) or not least <= value <= most:
        raise Refused("%s is %s; it must be from %g to %g %s" % (name, value, least, most, unit))
    return value


def peers(texts):
    """The addresses, each in its shortest spelling, each once, in order.

    Raises:
        Refused: an address is none, or none that a replica can have.
    """
    found = []
    for text in texts or []:
        try:
            address = ipaddress.ip_address(str(text).strip())
        except ValueError:
            raise Refused("peers: %r is not an IPv4 or IPv6 address; give addresses, not names" % text)
        address = getattr(address, "ipv4_mapped", None) or address
        for what, wrong in (("a loopback address, which never leaves this host", address.is_loopback),
                            ("a link-local address; give the address that replication uses", address.is_link_local),
                            ("no address of a host", address.is_multicast or address.is_unspecified
                             or str(address) == "255.255.255.255")):
            if wrong:
                raise Refused("peers: %s is %s" % (text, what))
        if str(address) not in found:
            found.append(str(address))
    return found


def check(params):
    """The netem parameters that are asked for, without a limit yet.

    Args:
        params: the module's parameters.

    Returns:
        dict of delay_ms, jitter_ms, loss (percent), rate (bits per second, or None), limit (packets, or None).

    Raises:
        Refused: one of them is out of its range, or there are no peers.
    """
    if not peers(params["peers"]):
        raise Refused("peers is empty: give the address of at least one host")
    number("rollback_after", params["rollback_after"], MIN_ROLLBACK, MAX_ROLLBACK, "seconds")
    delay = number("delay_ms", params["delay_ms"], 0, MAX_DELAY_MS, "milliseconds")
    jitter = number("jitter_ms", params["jitter_ms"], 0, MAX_DELAY_MS, "milliseconds")
    if jitter > delay:
        raise Refused("jitter_ms is %g, more than the delay of %g ms: a packet cannot arrive before it is sent"
                      % (jitter, delay))
    loss = number("loss", params["loss"], 0, 100, "percent")
    try:
        rate = tc.parse_rate(params["rate"]) if params["rate"] else None
    except ValueError as error:
        raise Refused("rate: %s" % error)
    if rate is not None and rate < 1000:
        raise Refused("rate is %d bit/s; it must be at least 1kbit" % rate)
    if params["limit"] is not None:
        number("limit", params["limit"], 1, 2 ** 32 - 1, "packets")
    return {"delay_ms": round(delay, 3), "jitter_ms": round(jitter, 3), "loss": round(loss, 4),
            # tc counts in whole bytes.
            "rate": rate // 8 * 8 if rate else None, "limit": params["limit"]}


def limit(wanted, links):
    """Packets that netem must be able to hold: rate / MTU x delay x 1.5, at least netem's own default of 1000.

    Args:
        wanted: of check(); its rate counts, where there is one.
        links: (bits per second or None, MTU in bytes) of each interface; 10 Gbit/s where a speed is not known.
    """
    if wanted["limit"]:
        return wanted["limit"]
    seconds = (wanted["delay_ms"] + wanted["jitter_ms"]) / 1000
    most = max((wanted["rate"] or speed or ASSUMED_RATE) / 8 / mtu for speed, mtu in links)
    return max(MIN_LIMIT, int(math.ceil(most * seconds * 1.5)))


def unfelt(trips, wanted):
    """Peers that answer sooner than the delay allows, in words, or None: then their packets take another way.

    Args:
        trips: address -> tc.parse_ping() with the delay in place.
    """
    # 3 % and half a millisecond for clocks.
    least = (wanted["delay_ms"] - wanted["jitter_ms"]) * 0.97 - 0.5
    early = ["%s answers after %g ms" % (peer, trip["min"]) for peer, trip in sorted(trips.items())
             if trip["received"] and trip["min"] < least]
    if not early:
        return None
    return ("%s although its packets should be delayed by %g ms. They leave by another interface or inside a tunnel or "
            "VLAN (see the option interface), or a filter of somebody else's takes them first"
            % (", ".join(early), wanted["delay_ms"]))


def has_net_admin(status):
    """Whether /proc/self/status lists CAP_NET_ADMIN among the effective capabilities."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.M)
    return bool(match) and bool(int(match.group(1), 16) >> CAP_NET_ADMIN & 1)


def missing(config, loaded, loadable):
    """What the kernel surely lacks, of the words of KERNEL.

    Args:
        config: text of the kernel's build options, or "" where it cannot be had.
        loaded: names in /sys/module.
        loadable: module -> whether modprobe would find it; empty where there are no module files to ask about.
    """
    lacking = set()
    for word, (module, option) in KERNEL.items():
        if re.search(r"^# %s is not set" % option, config, re.M):
            lacking.add(word)
        elif module not in loaded and loadable.get(module) is False and not re.search(r"^%s=y" % option, config, re.M):
            lacking.add(word)
    return lacking


def explain_kernel(word, os_release, kernel):
    """Why there is no such thing in the kernel and which package has it.

    Args:
        word: of KERNEL.
        os_release: text of /etc/os-release.
        kernel: its version, `uname -r`.
    """
    module, option = KERNEL[word]
    family = " ".join(re.findall(r"^(?:ID|ID_LIKE)=\"?([^\"\n]*)", os_release, re.M)).split()
    text = "the kernel %s has no %s (module %s)" % (kernel, word, module)
    if "ubuntu" in family:
        return "%s. On Ubuntu it is in a package that cloud images lack: apt install linux-modules-extra-%s" % (
            text, kernel)
    if set(family) & set(["rhel", "fedora", "centos"]):
        return "%s. Install it with: dnf install kernel-modules-extra-%s" % (text, kernel)
    return "%s. It takes a kernel built with %s; a container has the kernel of its machine" % (text, option)


def explain_failure(command, stderr, os_release, kernel):
    """A failed command of ours, in words.

    Args:
        command: its words.
        stderr: what it printed.
    """
    said = " ".join(stderr.split())
    if "Operation not permitted" in said or "Permission denied" in said:
        return NO_CAPABILITY
    if UNKNOWN.search(said):
        words = ["mirred"] if "action module" in said else [word for word in ("netem", "ifb", "clsact", "flower",
                                                                              "htb", "u32") if word in command]
        if words:
            return "%s (%s said: %s)" % (explain_kernel(words[0], os_release, kernel), command[0], said)
    return "%s failed: %s" % (" ".join(command), said or "no message")


def explain_program(program):
    """Which package has a program that is not there."""
    package = {"tc": "iproute2 (Debian, Ubuntu, SUSE) or iproute-tc (RHEL and its like)",
               "ip": "iproute2 (Debian, Ubuntu, SUSE) or iproute (RHEL and its like)",
               "ping": "iputils-ping (Debian, Ubuntu) or iputils",
               "systemd-run": "systemd", "systemctl": "systemd"}
    return "there is no program %s on this host; it is in the package %s" % (program, package[program])


def explain_rollback(units, seconds):
    """That a rollback of an older delay does not end, and what to do."""
    return ("a rollback of an older delay has been at work on this host for %d s and does not end: %s. It would take off "
            "what comes now. Look at `journalctl --unit %s`, and run this again when it has ended"
            % (seconds, ", ".join(units), units[0]))
