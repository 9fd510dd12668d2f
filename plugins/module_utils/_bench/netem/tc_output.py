# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tc and ip print, as data. Pure functions: text in, data out."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
from typing import Any, cast

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    Filter,
    Qdisc,
    QdiscOptions,
)

# Bits per second; tc's "bps" are bytes (tc(8), "Parameters", rates).
PREFIXES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


class UnreadableError(ValueError):
    """A program printed what is not understood."""


def parse_json(text: str) -> Any:
    """The list that `tc -json` or `ip -json` prints; nothing at all is an empty list.

    Raises:
        UnreadableError: it is no JSON.
    """
    if not text.strip():
        return []
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnreadableError(
            f"tc or ip printed no JSON; iproute2 4.17 or later is required: {text.strip()[:200]}"
        ) from error


def settled(qdisc: Qdisc) -> Qdisc:
    """A qdisc of `tc -json qdisc show` without the counter that htb lists among its options."""
    kept, options = qdisc.copy(), dict(qdisc.get("options", {}))
    lasting = {key: options[key] for key in options if not key.endswith("_stat")}
    kept["options"] = cast(QdiscOptions, lasting)
    return kept


def root_of(qdiscs: list[Qdisc], device: str) -> Qdisc | None:
    """The root qdisc of a device, or None."""
    return next(
        (qdisc for qdisc in qdiscs if qdisc.get("dev") == device and qdisc.get("root")), None
    )


def is_default(qdisc: Qdisc | None) -> bool:
    """True for a qdisc that the kernel attached by itself: only those have the handle 0."""
    return qdisc is None or qdisc.get("handle") == "0:"


def netem_parameters(qdisc: Qdisc) -> Delay:
    """What a netem qdisc does, in the units of this collection.

    Args:
        qdisc: one element of `tc -json qdisc show`; seconds, fractions and bytes per second.
    """
    options = qdisc.get("options", {})
    delay, rate, loss = options.get("delay"), options.get("rate"), options.get("loss-random")
    held = delay.get("delay", 0.0) if delay else 0.0
    jitter = delay.get("jitter", 0.0) if delay else 0.0
    bits = rate["rate"] * 8 if rate else 0
    return {
        "limit": options.get("limit"),
        "delay_ms": round(held * 1000, 3),
        "jitter_ms": round(jitter * 1000, 3),
        "loss": round(loss["loss"] * 100, 4) if loss else 0.0,
        "rate": bits or None,
    }


def parse_filters(text: str) -> list[Filter]:
    """The filters that `tc filter show` lists.

    The text form, because iproute2 5.9 prints broken JSON for u32, an administrator's among them.
    """
    filters: list[Filter] = []
    words: list[dict[int, int]] = []
    for line in text.splitlines():
        head = re.match(r"filter\s+(?:parent \S+\s+)?protocol (\S+) pref (\d+) (\S+)(.*)", line)
        if head:
            handle = re.search(r"\b(?:handle|fh) (\S+)", head.group(4))
            flow = re.search(r"\bflowid ([0-9a-f]*:[0-9a-f]+)", head.group(4))
            filters.append(
                {
                    "protocol": head.group(1),
                    "pref": int(head.group(2)),
                    "kind": head.group(3),
                    "handle": handle.group(1) if handle else None,
                    "peer": None,
                    "device": None,
                    "flow": flow.group(1) if flow else None,
                }
            )
            words.append({})
        elif filters:
            _add_line(filters[-1], words[-1], line.strip())
    for item, compared in zip(filters, words):
        item["peer"] = item["peer"] or _u32_peer(compared)
    return filters


def _add_line(
    item: Filter,
    words: dict[int, int],
    line: str,
) -> None:
    """What one indented line says about its filter."""
    match = re.match(r"dst_ip (\S+)$", line)
    if match and "/" not in match.group(1):
        item["peer"] = str(ipaddress.ip_address(match.group(1)))
    match = re.match(r"match ([0-9a-f]{8})/ffffffff at (\d+)$", line)
    if match:
        words[int(match.group(2))] = int(match.group(1), 16)
    match = re.search(r"\(Egress Redirect to device (\S+)\)", line)
    if match:
        item["device"] = match.group(1)


def _u32_peer(words: dict[int, int]) -> str | None:
    """The destination address that u32's 32-bit comparisons make, by their offset in the IP header,
    or None.
    """
    for offsets, kind in (
        ((16,), ipaddress.IPv4Address),
        ((24, 28, 32, 36), ipaddress.IPv6Address),
    ):
        if sorted(words) == list(offsets):
            return str(kind(b"".join(struct.pack(">I", words[offset]) for offset in offsets)))
    return None


def parse_rate(text: int | str) -> int:
    """Bits per second of a rate in tc's words: 100mbit, 1gbit, 10mbps (bytes), or a number of bits.

    Raises:
        ValueError: it is none.
    """
    match = re.match(r"^(\d+(?:\.\d+)?)(?:([kmgt]i?)?(bit|bps))?$", str(text).strip().lower())
    if not match:
        raise ValueError(
            f"{text!r} is not a rate; use a number with a unit, such as 100mbit or 1gbit"
        )
    return int(
        float(match.group(1))
        * PREFIXES[match.group(2) or ""]
        * (8 if match.group(3) == "bps" else 1)
    )
