# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user asks of netem, checked; and what a host needs for it, as text if it lacks
something.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping, Sequence

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    DelayOptions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import Trip

# Longer than any path on Earth or over a satellite, and long enough for TCP to give up.
MAX_DELAY_MS = 10000.0
MAX_ROLLBACK = 86400
MIN_ROLLBACK = 5
MIN_LIMIT = 1000
ASSUMED_RATE = 10 * 10**9
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
# Messages of the kernel and of tc that mean "no such thing here", by the word in the command that
# brings them.
UNKNOWN = re.compile(
    r"qdisc kind is unknown|Specified qdisc not found|TC classifier not found|Unknown device type|"
    r"TC action module|No such file or directory|Operation not supported"
)
NO_CAPABILITY = (
    "changing qdiscs requires CAP_NET_ADMIN, which this process lacks; use become, or grant it to"
    " the container"
)


class RefusedError(ValueError):
    """What is asked for cannot or must not be done; the text says why and what to do."""


def number(
    name: str,
    value: float | None,
    least: int,
    most: float,
    unit: str,
) -> float:
    """The value, if it is in its range.

    Raises:
        RefusedError: it is not, or is no number at all.
    """
    if value is None or math.isnan(value) or not least <= value <= most:
        raise RefusedError(f"{name} is {value}; it must be from {least:g} to {most:g} {unit}")
    return value


def parse_peers(texts: list[str] | None) -> list[str]:
    """The addresses, each in its shortest spelling, each once, in order.

    Raises:
        RefusedError: an address is none, or none that a replica can have.
    """
    peers: list[str] = []
    for text in texts or []:
        try:
            address = ipaddress.ip_address(str(text).strip())
        except ValueError as error:
            raise RefusedError(
                f"peers: {text!r} is not an IPv4 or IPv6 address; give addresses, not names"
            ) from error
        address = getattr(address, "ipv4_mapped", None) or address
        for what, wrong in (
            ("a loopback address, which never leaves this host", address.is_loopback),
            ("a link-local address; give the address that replication uses", address.is_link_local),
            (
                "no address of a host",
                address.is_multicast or address.is_unspecified or str(address) == "255.255.255.255",
            ),
        ):
            if wrong:
                raise RefusedError(f"peers: {text} is {what}")
        if str(address) not in peers:
            peers.append(str(address))
    return peers


def check(params: DelayOptions) -> Delay:
    """The netem parameters that are asked for, without a limit yet.

    Raises:
        RefusedError: one of them is out of its range, or there are no peers.
    """
    if not parse_peers(params["peers"]):
        raise RefusedError("peers is empty; name the address of at least one host")
    number("rollback_after", params["rollback_after"], MIN_ROLLBACK, MAX_ROLLBACK, "seconds")
    delay = number("delay_ms", params["delay_ms"], 0, MAX_DELAY_MS, "milliseconds")
    jitter = number("jitter_ms", params["jitter_ms"], 0, MAX_DELAY_MS, "milliseconds")
    if jitter > delay:
        raise RefusedError(
            f"jitter_ms is {jitter:g}, more than the delay of {delay:g} ms: a packet cannot arrive"
            " before it is sent"
        )
    loss = number("loss", params["loss"], 0, 100, "percent")
    try:
        rate = tc_output.parse_rate(params["rate"]) if params["rate"] else None
    except ValueError as error:
        raise RefusedError(f"rate: {error}") from error
    if rate is not None and rate < 1000:
        raise RefusedError(f"rate is {rate} bit/s; it must be at least 1kbit")
    if params["limit"] is not None:
        number("limit", params["limit"], 1, 2**32 - 1, "packets")
    return {
        "delay_ms": round(delay, 3),
        "jitter_ms": round(jitter, 3),
        "loss": round(loss, 4),
        # tc counts in whole bytes.
        "rate": rate // 8 * 8 if rate else None,
        "limit": params["limit"],
    }


def limit(wanted: Delay, links: Sequence[tuple[int | None, int]]) -> int:
    """Packets that netem must be able to hold: rate / MTU x delay x 1.5, at least netem's own
    default of 1000.

    Args:
        wanted: of check(); its rate counts, if there is one.
        links: (bits per second or None, MTU in bytes) of each interface; 10 Gbit/s where a speed is
            not known.
    """
    if wanted["limit"]:
        return wanted["limit"]
    seconds = (wanted["delay_ms"] + wanted["jitter_ms"]) / 1000
    most = max((wanted["rate"] or speed or ASSUMED_RATE) / 8 / mtu for speed, mtu in links)
    return max(MIN_LIMIT, math.ceil(most * seconds * 1.5))


def unfelt(trips: Mapping[str, Trip], wanted: Delay) -> str | None:
    """Peers that answer sooner than the delay allows, in words, or None: then their packets take
    another way.

    Args:
        trips: address -> parse_ping() with the delay in place.
    """
    # 3 % and half a millisecond for clocks.
    least = (wanted["delay_ms"] - wanted["jitter_ms"]) * 0.97 - 0.5
    early = [
        f"{peer} answers after {trip['min']:g} ms"
        for peer, trip in sorted(trips.items())
        if trip["received"] and trip["min"] is not None and trip["min"] < least
    ]
    if not early:
        return None
    return (
        f"{', '.join(early)} although its packets should be delayed by {wanted['delay_ms']:g} ms."
        " They leave by another interface or inside a tunnel or VLAN (see the option interface),"
        " or another filter of this host handles them first"
    )


def has_net_admin(status: str) -> bool:
    """Whether /proc/self/status lists CAP_NET_ADMIN among the effective capabilities."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return match is not None and bool(int(match.group(1), 16) >> CAP_NET_ADMIN & 1)


def missing_modules(
    config: str,
    loaded: list[str],
    loadable: Mapping[str, bool],
) -> set[str]:
    """What the kernel surely lacks, of the words of KERNEL.

    Args:
        config: text of the kernel's build options, or "" if it cannot be had.
        loaded: names in /sys/module.
        loadable: module -> whether modprobe would find it; empty if there are no module files to
            ask about.
    """
    lacking = set()
    for word, (module, option) in KERNEL.items():
        if re.search(rf"^# {option} is not set", config, re.MULTILINE) or (
            module not in loaded
            and loadable.get(module) is False
            and not re.search(rf"^{option}=y", config, re.MULTILINE)
        ):
            lacking.add(word)
    return lacking


def explain_kernel(
    word: str,
    os_release: str,
    kernel: str,
) -> str:
    """Why there is no such thing in the kernel and which package has it.

    Args:
        word: of KERNEL.
        os_release: text of /etc/os-release.
        kernel: its version, `uname -r`.
    """
    module, option = KERNEL[word]
    family = " ".join(
        re.findall(r"^(?:ID|ID_LIKE)=\"?([^\"\n]*)", os_release, re.MULTILINE)
    ).split()
    text = f"the kernel {kernel} has no {word} (module {module})"
    if "ubuntu" in family:
        return (
            f"{text}. On Ubuntu it is in a package that cloud images lack: apt install"
            f" linux-modules-extra-{kernel}"
        )
    if set(family) & {"rhel", "fedora", "centos"}:
        return f"{text}. Install it with: dnf install kernel-modules-extra-{kernel}"
    return (
        f"{text}. It requires a kernel built with {option}; a container uses the kernel of its host"
    )


def explain_failure(
    command: list[str],
    stderr: str,
    os_release: str,
    kernel: str,
) -> str:
    """A failed command of ours, in words.

    Args:
        command: its words.
        stderr: what it printed.
    """
    said = " ".join(stderr.split())
    if "Operation not permitted" in said or "Permission denied" in said:
        return NO_CAPABILITY
    if UNKNOWN.search(said):
        words = (
            ["mirred"]
            if "action module" in said
            else [
                word
                for word in ("netem", "ifb", "clsact", "flower", "htb", "u32")
                if word in command
            ]
        )
        if words:
            return f"{explain_kernel(words[0], os_release, kernel)} ({command[0]} said: {said})"
    return f"{' '.join(command)} failed: {said or 'no message'}"


def explain_program(program: str) -> str:
    """Which package has a program that is not there."""
    package = {
        "tc": "iproute2 (Debian, Ubuntu, SUSE) or iproute-tc (RHEL and derivatives)",
        "ip": "iproute2 (Debian, Ubuntu, SUSE) or iproute (RHEL and derivatives)",
        "systemd-run": "systemd",
        "systemctl": "systemd",
    }
    return f"the program {program} is missing on this host; install the package {package[program]}"


def explain_rollback(units: list[str], seconds: int) -> str:
    """That a rollback of an older delay does not end, and what to do."""
    return (
        f"a rollback of an older delay has been running on this host for {int(seconds)} s:"
        f" {', '.join(units)}. It would remove a new delay, too. See `journalctl --unit"
        f" {units[0]}`, and run this again when it has ended"
    )
