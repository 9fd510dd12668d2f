# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that bring a host from its state to a delay, or back to none, and the state they
lead to.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Tuple

from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    Filter,
    Ifb,
    NetState,
    Qdisc,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    DEVICE,
    FIRST,
    HANDLE,
    LEAF,
    PREF,
    ROOT,
    SLOW,
    alias_of,
    arguments,
    choose_way,
    claims,
    delayed,
    options_of,
    our_netem,
    ours,
    protocol,
    same,
    trees,
)

# The address of a peer, and the interface to it.
Target = Tuple[str, str]


def plan_present(
    state: NetState,
    targets: Collection[Target],
    wanted: Delay,
    missing: Collection[str] = (),
) -> Plan:
    """Delay these peers, as wanted, and no others.

    Args:
        state: see state.py.
        targets: (address, interface) of each peer.
        wanted: parameters of netem, with a limit.
        missing: what the kernel lacks.

    Returns:
        Plan.

    Raises:
        RefusedError: it would replace something of an administrator's.
    """
    plan = Plan(state)
    devices = sorted({device for _peer, device in targets})
    if choose_way(state, devices, missing) == "redirect":
        plan.redirect(targets, wanted)
        plan.clear_trees()
    else:
        for device in devices:
            plan.tree(device, [peer for peer, interface in targets if interface == device], wanted)
        plan.clear_trees(keep=devices)
        plan.clear_redirect()
    return plan


def plan_absent(state: NetState) -> Plan:
    """Remove everything that is ours."""
    plan = Plan(state)
    plan.clear_redirect()
    plan.clear_trees()
    return plan


class Plan:
    """Commands, and the state that they lead to, kept in step."""

    def __init__(self, state: NetState) -> None:
        self.before = state
        self.state = copy.deepcopy(state)
        self.commands: list[list[str]] = []

    def run(self, *words: str) -> None:
        self.commands.append(list(words))

    # The way "redirect".

    def redirect(
        self,
        targets: Collection[Target],
        wanted: Delay,
    ) -> None:
        # Those lead to a device that is gone: they drop packets.
        for device, item in ours(self.state):
            if item["device"] != DEVICE:
                self.delete_filter(device, item)
        ifb = self.state["ifb"] or self.add_device()
        self.set_netem(DEVICE, wanted, ["root"], FIRST)
        if not ifb["up"]:
            self.run("ip", "link", "set", "dev", DEVICE, "up")
            ifb["up"] = True
        egress = self.state["egress"]
        new = [device for device in sorted({pair[1] for pair in targets}) if device not in egress]
        mine = [device for device in claims(ifb["alias"]) if device in egress]
        if new or not ifb["alias"]:
            # Before clsact is added: a module that is killed in between leaves nothing unnamed.
            self.set_alias(ifb, mine + new)
        for device in new:
            self.run("tc", "qdisc", "add", "dev", device, "clsact")
            self.add_qdisc(device, "clsact", "ffff:", "ffff:fff1")
            self.state["egress"][device], self.state["ingress"][device] = [], []
        filtered = [(item["peer"], device) for device, item in ours(self.state)]
        for peer, device in targets:
            if (peer, device) not in filtered:
                self.add_filter(device, peer)
        self.clear_redirect(keep=targets)

    def add_device(self) -> Ifb:
        """The device whose root qdisc is to be netem."""
        # Loaded by itself, ifb makes two devices that have no use.
        self.run("modprobe", "-q", "ifb", "numifbs=0")
        self.run("modprobe", "-q", "sch_netem")
        self.run("ip", "link", "add", DEVICE, "type", "ifb")
        ifb: Ifb = {"up": False, "alias": ""}
        self.state["ifb"] = ifb
        return ifb

    def clear_redirect(self, keep: Collection[Target] = ()) -> None:
        """Our filters off, then clsact that is ours and unused, then our device; all but what
        `keep` needs.
        """
        kept = []
        for device, item in ours(self.state):
            pair = (item["peer"], device)
            if pair in keep and pair not in kept:
                kept.append(pair)
            else:
                self.delete_filter(device, item)
        ifb = self.state["ifb"]
        if not ifb:
            return
        mine = claims(ifb["alias"])
        for device in mine:
            used = self.state["egress"].get(device) or self.state["ingress"].get(device)
            if device in self.state["egress"] and not used:
                self.delete_clsact(device)
        if keep:
            self.set_alias(ifb, [device for device in mine if device in self.state["egress"]])
        else:
            self.run("ip", "link", "del", "dev", DEVICE)
            self.state["ifb"] = None
            self.drop_qdiscs(DEVICE)

    def add_filter(
        self,
        device: str,
        peer: str,
    ) -> None:
        pref = free_preference(self.state["egress"][device])
        self.run(
            "tc",
            "filter",
            "add",
            "dev",
            device,
            "egress",
            "protocol",
            protocol(peer),
            "pref",
            str(pref),
            "handle",
            HANDLE,
            "flower",
            "dst_ip",
            peer,
            "action",
            "mirred",
            "egress",
            "redirect",
            "dev",
            DEVICE,
        )
        self.state["egress"][device].append(
            {
                "protocol": protocol(peer),
                "pref": pref,
                "kind": "flower",
                "handle": HANDLE,
                "peer": peer,
                "device": DEVICE,
                "flow": None,
            }
        )

    def delete_filter(
        self,
        device: str,
        item: Filter,
    ) -> None:
        self.run(
            "tc",
            "filter",
            "del",
            "dev",
            device,
            "egress",
            "protocol",
            item["protocol"],
            "pref",
            str(item["pref"]),
            "handle",
            HANDLE,
            "flower",
        )
        # The classifier goes with its last filter.
        others = [other for other in self.state["egress"][device] if other is not item]
        busy = [other["pref"] for other in others if other["handle"]]
        self.state["egress"][device] = [
            other
            for other in others
            if other["handle"] or other["pref"] in busy or other["pref"] != item["pref"]
        ]

    def set_alias(
        self,
        ifb: Ifb,
        devices: list[str],
    ) -> None:
        text = alias_of(devices)
        if ifb["alias"] != text:
            self.run("ip", "link", "set", "dev", DEVICE, "alias", text)
            ifb["alias"] = text

    def delete_clsact(self, device: str) -> None:
        self.run("tc", "qdisc", "del", "dev", device, "clsact")
        self.state["qdiscs"] = [
            qdisc
            for qdisc in self.state["qdiscs"]
            if (qdisc["dev"], qdisc["kind"]) != (device, "clsact")
        ]
        del self.state["egress"][device], self.state["ingress"][device]

    # The way "root".

    def tree(
        self,
        device: str,
        peers: list[str],
        wanted: Delay,
    ) -> None:
        if device not in trees(self.state):
            self.replace_root(device)
        if not any(qdisc["dev"] == device for qdisc in our_netem(self.state)):
            words = ["classid", SLOW, "htb", "rate", "100gbit", "quantum", "60000"]
            self.run("tc", "class", "replace", "dev", device, "parent", ROOT, *words)
        self.set_netem(device, wanted, ["parent", SLOW], LEAF)
        slowed = [peer for peer, interface in delayed(self.state) if interface == device]
        for peer in peers:
            if peer not in slowed:
                self.add_tree_filter(device, peer)
        self.delete_tree_filters(device, but=peers)

    def replace_root(self, device: str) -> None:
        """htb in place of the device's default root qdisc."""
        words = ["handle", ROOT, "htb", "default", "0", "direct_qlen", "1000"]
        self.run("tc", "qdisc", "add", "dev", device, "root", *words)
        self.drop_qdiscs(device, but=("clsact", "ingress"))
        self.add_qdisc(device, "htb", ROOT)
        self.state["tree"][device] = []

    def add_tree_filter(
        self,
        device: str,
        peer: str,
    ) -> None:
        pref = free_preference(self.state["tree"][device])
        match = ["ip6", "dst", peer + "/128"] if ":" in peer else ["ip", "dst", peer + "/32"]
        self.run(
            "tc",
            "filter",
            "add",
            "dev",
            device,
            "parent",
            ROOT,
            "protocol",
            protocol(peer),
            "pref",
            str(pref),
            "u32",
            "match",
            *([*match, "flowid", SLOW]),
        )
        self.state["tree"][device].append(
            {
                "protocol": protocol(peer),
                "pref": pref,
                "kind": "u32",
                "handle": "800::800",
                "peer": peer,
                "device": None,
                "flow": SLOW,
            }
        )

    def delete_tree_filters(
        self,
        device: str,
        but: Collection[str] = (),
    ) -> None:
        for item in [
            item for item in self.state["tree"][device] if item["flow"] and item["peer"] not in but
        ]:
            self.run(
                "tc",
                "filter",
                "del",
                "dev",
                device,
                "parent",
                ROOT,
                "protocol",
                item["protocol"],
                "pref",
                str(item["pref"]),
            )
            self.state["tree"][device] = [
                other for other in self.state["tree"][device] if other["pref"] != item["pref"]
            ]

    def clear_trees(self, keep: Collection[str] = ()) -> None:
        """Our root qdiscs off; the kernel puts back its own default, which is not known before."""
        for device in trees(self.state):
            if device not in keep:
                self.delete_tree_filters(device)
                self.run("tc", "qdisc", "del", "dev", device, "root", "handle", ROOT)
                self.drop_qdiscs(device, but=("clsact", "ingress"))
                self.state["tree"].pop(device, None)

    # Both.

    def set_netem(
        self,
        device: str,
        wanted: Delay,
        place: list[str],
        handle: str,
    ) -> None:
        """Add netem at this place (tc's words), or change it; nothing if it is as wanted."""
        netem = next((qdisc for qdisc in our_netem(self.state) if qdisc["dev"] == device), None)
        old = tc_output.netem_parameters(netem) if netem else None
        if old and same(old, wanted):
            return
        if netem:
            self.run(
                "tc",
                "qdisc",
                "change",
                "dev",
                device,
                *([*place, "netem", *arguments(wanted, old)]),
            )
        else:
            words = [*place, "handle", handle, "netem", *arguments(wanted)]
            self.run("tc", "qdisc", "replace", "dev", device, *words)
            if place == ["root"]:
                self.drop_qdiscs(device)
            netem = self.add_qdisc(device, "netem", handle, place[1] if len(place) > 1 else None)
        netem["options"] = options_of(wanted)

    def add_qdisc(
        self,
        device: str,
        kind: str,
        handle: str,
        parent: str | None = None,
    ) -> Qdisc:
        """Enter a qdisc into the state, where tc would list it: clsact is the last one of its
        device.
        """
        entry: Qdisc = {"kind": kind, "handle": handle, "dev": device, "options": {}}
        if parent:
            entry["parent"] = parent
        else:
            entry["root"], entry["refcnt"] = True, 2
        here = [index for index, qdisc in enumerate(self.state["qdiscs"]) if qdisc["dev"] == device]
        before = [
            index for index in here if self.state["qdiscs"][index]["kind"] in ("clsact", "ingress")
        ]
        place = before[0] if before else here[-1] + 1 if here else len(self.state["qdiscs"])
        self.state["qdiscs"].insert(place, entry)
        return entry

    def drop_qdiscs(
        self,
        device: str,
        but: tuple[str, ...] = (),
    ) -> None:
        self.state["qdiscs"] = [
            qdisc
            for qdisc in self.state["qdiscs"]
            if qdisc["dev"] != device or qdisc["kind"] in but
        ]


def free_preference(filters: list[Filter]) -> int:
    """A preference of ours that no filter of a device has."""
    taken = [item["pref"] for item in filters]
    return next(number for number in range(PREF, 65536) if number not in taken)
