# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that bring a host from its state to a delay, or back to none, and the state they lead to."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import copy

from ansible_collections.dbre.semisync.plugins.module_utils import netem, tc


def present(state, targets, wanted, missing=()):
    """Delay these peers, as wanted, and no others.

    Args:
        state: see netem.py.
        targets: (address, interface) of each peer.
        wanted: parameters of netem, with a limit.
        missing: what the kernel lacks.

    Returns:
        Plan.

    Raises:
        Refused: it would replace something of an administrator's.
    """
    plan = Plan(state)
    devices = sorted(set(device for dummy, device in targets))
    if netem.choose_way(state, devices, missing) == "redirect":
        plan.redirect(targets, wanted)
        plan.clear_trees()
    else:
        for device in devices:
            plan.tree(device, [peer for peer, its in targets if its == device], wanted)
        plan.clear_trees(keep=devices)
        plan.clear_redirect()
    return plan


def absent(state):
    """Take off whatever is ours."""
    plan = Plan(state)
    plan.clear_redirect()
    plan.clear_trees()
    return plan


class Plan(object):
    """Commands, and the state that they lead to, kept in step."""

    def __init__(self, state):
        self.before = state
        self.state = copy.deepcopy(state)
        self.commands = []

    def run(self, *words):
        self.commands.append(list(words))

    # The way "redirect".

    def redirect(self, targets, wanted):
        # Those lead to a device that is gone: they drop packets.
        for device, item in netem.ours(self.state):
            if item["device"] != netem.DEVICE:
                self.delete_filter(device, item)
        if not self.state["ifb"]:
            # Loaded by itself, ifb makes two devices that nobody asked for.
            self.run("modprobe", "-q", "ifb", "numifbs=0")
            self.run("modprobe", "-q", "sch_netem")
            self.run("ip", "link", "add", netem.DEVICE, "type", "ifb")
            self.state["ifb"] = {"up": False, "alias": ""}
        self.set_netem(netem.DEVICE, wanted, ["root"], netem.FIRST)
        if not self.state["ifb"]["up"]:
            self.run("ip", "link", "set", "dev", netem.DEVICE, "up")
            self.state["ifb"]["up"] = True
        new = [device for device in sorted(set(pair[1] for pair in targets)) if device not in self.state["egress"]]
        mine = [device for device in netem.claims(self.state["ifb"]["alias"]) if device in self.state["egress"]]
        if new or not self.state["ifb"]["alias"]:
            # Said before it is done, so that a module that is killed in between leaves nothing that is not known.
            self.set_alias(mine + new)
        for device in new:
            self.run("tc", "qdisc", "add", "dev", device, "clsact")
            self.add_qdisc(device, "clsact", "ffff:", "ffff:fff1")
            self.state["egress"][device], self.state["ingress"][device] = [], []
        there = [(item["peer"], device) for device, item in netem.ours(self.state)]
        for peer, device in targets:
            if (peer, device) not in there:
                self.add_filter(device, peer)
        self.clear_redirect(keep=targets)

    def clear_redirect(self, keep=()):
        """Our filters off, then clsact that is ours and unused, then our device; all but what `keep` needs."""
        kept = []
        for device, item in netem.ours(self.state):
            pair = (item["peer"], device)
            if pair in keep and pair not in kept:
                kept.append(pair)
            else:
                self.delete_filter(device, item)
        if not self.state["ifb"]:
            return
        mine = netem.claims(self.state["ifb"]["alias"])
        for device in mine:
            used = self.state["egress"].get(device) or self.state["ingress"].get(device)
            if device in self.state["egress"] and not used:
                self.delete_clsact(device)
        if keep:
            self.set_alias([device for device in mine if device in self.state["egress"]])
        else:
            self.run("ip", "link", "del", "dev", netem.DEVICE)
            self.state["ifb"] = None
            self.drop_qdiscs(netem.DEVICE)

    def add_filter(self, device, peer):
        taken = [item["pref"] for item in self.state["egress"][device]]
        pref = next(number for number in range(netem.PREF, 65536) if number not in taken)
        self.run("tc", "filter", "add", "dev", device, "egress", "protocol", netem.protocol(peer), "pref", str(pref),
                 "handle", netem.HANDLE, "flower", "dst_ip", peer,
                 "action", "mirred", "egress", "redirect", "dev", netem.DEVICE)
        self.state["egress"][device].append({
            "protocol": netem.protocol(peer), "pref": pref, "kind": "flower", "handle": netem.HANDLE, "peer": peer,
            "device": netem.DEVICE, "flow": None})

    def delete_filter(self, device, item):
        self.run("tc", "filter", "del", "dev", device, "egress", "protocol", item["protocol"],
                 "pref", str(item["pref"]), "handle", netem.HANDLE, "flower")
        # The classifier goes with its last filter.
        others = [other for other in self.state["egress"][device] if other is not item]
        busy = [other["pref"] for other in others if other["handle"]]
        self.state["egress"][device] = [other for other in others if other["handle"] or other["pref"] in busy
                                        or other["pref"] != item["pref"]]

    def set_alias(self, devices):
        text = netem.alias_of(devices)
        if self.state["ifb"]["alias"] != text:
            self.run("ip", "link", "set", "dev", netem.DEVICE, "alias", text)
            self.state["ifb"]["alias"] = text

    def delete_clsact(self, device):
        self.run("tc", "qdisc", "del", "dev", device, "clsact")
        self.state["qdiscs"] = [qdisc for qdisc in self.state["qdiscs"]
                                if (qdisc["dev"], qdisc["kind"]) != (device, "clsact")]
        del self.state["egress"][device], self.state["ingress"][device]

    # The way "root".

    def tree(self, device, peers, wanted):
        if device not in netem.trees(self.state):
            self.run("tc", "qdisc", "add", "dev", device, "root", "handle", netem.ROOT, "htb", "default", "0",
                     "direct_qlen", "1000")
            self.drop_qdiscs(device, but=("clsact", "ingress"))
            self.add_qdisc(device, "htb", netem.ROOT)
            self.state["tree"][device] = []
        if not any(qdisc["dev"] == device for qdisc in netem.our_netem(self.state)):
            self.run("tc", "class", "replace", "dev", device, "parent", netem.ROOT, "classid", netem.SLOW, "htb",
                     "rate", "100gbit", "quantum", "60000")
        self.set_netem(device, wanted, ["parent", netem.SLOW], netem.LEAF)
        there = [pair[0] for pair in netem.delayed(self.state) if pair[1] == device]
        for peer in peers:
            if peer not in there:
                self.add_tree_filter(device, peer)
        self.delete_tree_filters(device, but=peers)

    def add_tree_filter(self, device, peer):
        taken = [item["pref"] for item in self.state["tree"][device]]
        pref = next(number for number in range(netem.PREF, 65536) if number not in taken)
        match = ["ip6", "dst", peer + "/128"] if ":" in peer else ["ip", "dst", peer + "/32"]
        self.run("tc", "filter", "add", "dev", device, "parent", netem.ROOT, "protocol", netem.protocol(peer),
                 "pref", str(pref), "u32", "match", *(match + ["flowid", netem.SLOW]))
        self.state["tree"][device].append({
            "protocol": netem.protocol(peer), "pref": pref, "kind": "u32", "handle": "800::800", "peer": peer,
            "device": None, "flow": netem.SLOW})

    def delete_tree_filters(self, device, but=()):
        for item in [item for item in self.state["tree"][device] if item["flow"] and item["peer"] not in but]:
            self.run("tc", "filter", "del", "dev", device, "parent", netem.ROOT, "protocol", item["protocol"],
                     "pref", str(item["pref"]))
            self.state["tree"][device] = [other for other in self.state["tree"][device]
                                          if other["pref"] != item["pref"]]

    def clear_trees(self, keep=()):
        """Our root qdiscs off; the kernel puts its own default back, which is not known beforehand."""
        for device in netem.trees(self.state):
            if device not in keep:
                self.delete_tree_filters(device)
                self.run("tc", "qdisc", "del", "dev", device, "root", "handle", netem.ROOT)
                self.drop_qdiscs(device, but=("clsact", "ingress"))
                self.state["tree"].pop(device, None)

    # Both.

    def set_netem(self, device, wanted, place, handle):
        """Add netem at this place (tc's words), or change it there; nothing where it is as wanted."""
        there = next((qdisc for qdisc in netem.our_netem(self.state) if qdisc["dev"] == device), None)
        old = tc.netem_parameters(there) if there else None
        if old and netem.same(old, wanted):
            return
        if there:
            self.run("tc", "qdisc", "change", "dev", device, *(place + ["netem"] + netem.arguments(wanted, old)))
        else:
            words = place + ["handle", handle, "netem"] + netem.arguments(wanted)
            self.run("tc", "qdisc", "replace", "dev", device, *words)
            if place == ["root"]:
                self.drop_qdiscs(device)
            there = self.add_qdisc(device, "netem", handle, place[1] if len(place) > 1 else None)
        there["options"] = netem.options_of(wanted)

    def add_qdisc(self, device, kind, handle, parent=None):
        """Enter a qdisc into the state, where tc would list it: clsact is the last one of its device."""
        entry = {"kind": kind, "handle": handle, "dev": device, "options": {}}
        entry.update({"parent": parent} if parent else {"root": True, "refcnt": 2})
        here = [index for index, qdisc in enumerate(self.state["qdiscs"]) if qdisc["dev"] == device]
        before = [index for index in here if self.state["qdiscs"][index]["kind"] in ("clsact", "ingress")]
        place = before[0] if before else here[-1] + 1 if here else len(self.state["qdiscs"])
        self.state["qdiscs"].insert(place, entry)
        return entry

    def drop_qdiscs(self, device, but=()):
        self.state["qdiscs"] = [qdisc for qdisc in self.state["qdiscs"]
                                if qdisc["dev"] != device or qdisc["kind"] in but]
