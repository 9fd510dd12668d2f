# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions about delayed traffic: what of ours is on a host, and which commands bring it to what
is wanted.

Two ways to delay some peers only. "redirect" leaves the interface's root qdisc alone: a clsact
filter sends packets to the peers through a device of our own (ifb), whose root qdisc is netem;
after the delay they pass the interface's root qdisc as ever. "root" is for kernels without that:
htb takes the place of the root qdisc that the kernel chose by itself, never of an administrator's,
with netem under one class; all other packets go by htb's unshaped direct queue.

Both are recognised by names that no one else has, so nothing has to be remembered on the host, and
a reboot ends them. Filters go before the device: packets redirected to a device that is gone are
dropped (tried on Linux 6.1).
"""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    RefusedError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    Filter,
    NetState,
    Qdisc,
    QdiscOptions,
    Qdiscs,
)

DEVICE = "semisync-nm0"
# Our filters' handle, and our qdiscs' handles in the way "root".
HANDLE = "0x5e51"
ROOT, SLOW, LEAF = "5e51:", "5e51:10", "5e52:"
# The first handle that the kernel gives: what a plain "tc qdisc add … netem" would show.
FIRST = "8001:"
# The kernel gives out priorities from 49152 downwards: ours come after all others.
PREF = 49500
ALIAS = "dbre.semisync netem; clsact is ours on:"
REDIRECT_NEEDS, ROOT_NEEDS = ("ifb", "clsact", "flower", "mirred"), ("htb", "u32")
# tc prints six digits and, in iproute2 5.9 and 6.1, whole microseconds, rounded down.
WHOLE_MICROSECONDS, SIX_DIGITS = 2e-3, 5e-5


def alias_of(devices: list[str]) -> str:
    """The description of our device: it says on which interfaces clsact is ours."""
    return " ".join([ALIAS, *sorted(devices)])


def claims(alias: str) -> list[str]:
    """The interfaces whose clsact is ours, by that description."""
    return alias[len(ALIAS) :].split() if alias.startswith(ALIAS) else []


def protocol(peer: str) -> str:
    return "ipv6" if ":" in peer else "ip"


def is_ours(item: Filter) -> bool:
    """Whether a filter on egress is ours; '*' stands for a device that is gone."""
    return (
        item["kind"] == "flower"
        and item["handle"] == HANDLE
        and (item["device"] == DEVICE or (item["device"] == "*" and item["pref"] >= PREF))
    )


def ours(state: NetState) -> list[tuple[str, Filter]]:
    """Our filters on egress: [(interface, filter)]."""
    return [
        (device, item)
        for device in sorted(state["egress"])
        for item in state["egress"][device]
        if is_ours(item)
    ]


def trees(state: Qdiscs) -> list[str]:
    """The interfaces whose root qdisc is ours."""
    return [
        qdisc["dev"]
        for qdisc in state["qdiscs"]
        if qdisc.get("root") and qdisc["kind"] == "htb" and qdisc["handle"] == ROOT
    ]


def our_netem(state: Qdiscs) -> list[Qdisc]:
    """Our netem qdiscs."""
    rooted = trees(state)
    return [
        qdisc
        for qdisc in state["qdiscs"]
        if qdisc["kind"] == "netem"
        and (
            (qdisc["dev"] == DEVICE and qdisc.get("root"))
            or (qdisc["dev"] in rooted and qdisc.get("parent") == SLOW)
        )
    ]


def delayed(state: NetState) -> list[tuple[str, str]]:
    """The peers that are delayed now: [(address, interface)]."""
    filters: list[tuple[str, Filter]] = []
    if state["ifb"] and any(qdisc["dev"] == DEVICE for qdisc in our_netem(state)):
        filters += [pair for pair in ours(state) if pair[1]["device"] == DEVICE]
    for device in trees(state):
        below = state["tree"].get(device, [])
        filters += [(device, item) for item in below if item["flow"] == SLOW]
    return sorted({(item["peer"], device) for device, item in filters if item["peer"]})


def is_clean(state: NetState) -> bool:
    """Whether nothing of ours is on the host."""
    return state["ifb"] is None and not ours(state) and not trees(state)


def interfaces(state: NetState) -> list[str]:
    """The interfaces that have something of ours."""
    return sorted(
        set(
            [device for device, _filter in ours(state)]
            + trees(state)
            + (claims(state["ifb"]["alias"]) if state["ifb"] else [])
        )
    )


def delay_text(state: NetState) -> str:
    """The host's delay as a person reads it, for a diff."""
    lines = [f"{peer} via {device}" for peer, device in delayed(state)]
    for qdisc in our_netem(state):
        words = arguments(tc_output.netem_parameters(qdisc))
        lines.append(f"qdisc on {qdisc['dev']}: netem {' '.join(words)}")
    lines += [
        f"clsact on {device}"
        for device in interfaces(state)
        if any(qdisc["kind"] == "clsact" and qdisc["dev"] == device for qdisc in state["qdiscs"])
    ]
    return "".join(line + "\n" for line in lines)


def plain(value: float, digits: int) -> str:
    """A number without an exponent or needless zeros: 90.0 gives '90'."""
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def arguments(wanted: Delay, old: Delay | None = None) -> list[str]:
    """netem's words for tc; `old` is what it does now, when it is changed: a rate stays unless it
    is set to 0.
    """
    words = ["limit", str(wanted["limit"]), "delay", plain(wanted["delay_ms"], 3) + "ms"]
    if wanted["jitter_ms"]:
        words.append(plain(wanted["jitter_ms"], 3) + "ms")
    if wanted["loss"]:
        words += ["loss", plain(wanted["loss"], 4) + "%"]
    if wanted["rate"] or (old and old["rate"]):
        words += ["rate", f"{wanted['rate'] or 0}bit"]
    return words


def choose_way(
    state: NetState,
    devices: list[str],
    missing: Collection[str],
) -> str:
    """'redirect' or 'root' for these interfaces.

    Args:
        missing: what the kernel lacks, of missing_modules().

    Raises:
        RefusedError: neither can be had without replacing what an administrator put there.
    """
    reasons = [f"the kernel has no {word}" for word in REDIRECT_NEEDS if word in missing]
    reasons += [
        f"{qdisc['dev']} has an ingress qdisc where clsact would go"
        for qdisc in state["qdiscs"]
        if qdisc["kind"] == "ingress" and qdisc["dev"] in devices
    ]
    if not reasons:
        return "redirect"
    against = [f"the kernel has no {word}" for word in ROOT_NEEDS if word in missing]
    for device in devices:
        root = tc_output.root_of(state["qdiscs"], device)
        if root and device not in trees(state) and not tc_output.is_default(root):
            against.append(
                f"the root qdisc {root['kind']} {root['handle']} of {device} was set by an"
                " administrator and is not replaced"
            )
    if against:
        raise RefusedError(
            f"a delay for the peers only is not possible: {', '.join(reasons)};"
            f" and {', '.join(against)}"
        )
    return "root"


def options_of(wanted: Delay) -> QdiscOptions:
    """netem's options as `tc -json` prints them."""
    options: QdiscOptions = {
        "limit": wanted["limit"],
        "delay": {
            "delay": wanted["delay_ms"] / 1000,
            "jitter": wanted["jitter_ms"] / 1000,
            "correlation": 0,
        },
    }
    if wanted["loss"]:
        options["loss-random"] = {"loss": wanted["loss"] / 100, "correlation": 0}
    if wanted["rate"]:
        options["rate"] = {"rate": wanted["rate"] // 8}
    return options


def same(now: Delay, wanted: Delay) -> bool:
    """Whether a netem does what is wanted, as far as tc tells."""
    pairs = (
        (now["delay_ms"], wanted["delay_ms"], WHOLE_MICROSECONDS),
        (now["jitter_ms"], wanted["jitter_ms"], WHOLE_MICROSECONDS),
        (now["loss"], wanted["loss"], SIX_DIGITS),
    )
    return (
        now["limit"] == wanted["limit"]
        and now["rate"] == wanted["rate"]
        and all(abs(told - asked) <= max(least, 1e-5 * asked) for told, asked, least in pairs)
    )


def predicted_lines(state: NetState) -> list[str]:
    """The lines of `tc qdisc show` with our netem, before there are any."""
    return [
        f"qdisc netem {qdisc['handle']} dev {qdisc['dev']}"
        f" {'root refcnt 2' if qdisc.get('root') else 'parent ' + qdisc['parent']}"
        f" {' '.join(arguments(tc_output.netem_parameters(qdisc)))}"
        for qdisc in our_netem(state)
    ]


def equivalents(state: NetState) -> list[str]:
    """The one command for each of our netem qdiscs that has the same effect on the traffic that
    reaches it.
    """
    return [
        f"tc qdisc add dev {qdisc['dev']}"
        f" {'root' if qdisc.get('root') else 'parent ' + qdisc['parent']} netem"
        f" {' '.join(arguments(tc_output.netem_parameters(qdisc)))}"
        for qdisc in our_netem(state)
    ]
