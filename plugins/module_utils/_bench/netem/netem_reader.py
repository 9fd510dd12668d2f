# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a host's network, and whether its kernel can delay packets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import tc_output
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    KERNEL,
    UNKNOWN,
    RefusedError,
    explain_failure,
    explain_kernel,
    explain_program,
    missing_modules,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Counters,
    Filter,
    Link,
    NetState,
    Qdisc,
    Route,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    DEVICE,
    ROOT,
    our_netem,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any


class NetReader:
    """A host whose network is read; netem_host.py changes it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.programs: dict[str, str] = {}

    def program(self, name: str) -> str:
        """The path of a program.

        Raises:
            RefusedError: it is not there.
        """
        if name not in self.programs:
            path = self.module.get_bin_path(name, opt_dirs=["/sbin", "/usr/sbin"])
            if not path:
                raise RefusedError(explain_program(name))
            self.programs[name] = path
        return self.programs[name]

    def run(self, *words: str) -> tuple[int, str, str]:
        """A command's exit status and output."""
        return command.run(self.module, [self.program(words[0]), *words[1:]])

    def output(self, *words: str) -> str:
        """A command's output.

        Raises:
            RefusedError: it fails.
        """
        status, output, errors = self.run(*words)
        if status:
            raise RefusedError(self.explain(words, errors or output))
        return output

    def explain(
        self,
        words: Sequence[str],
        said: str,
    ) -> str:
        """Why a command failed, as text."""
        return explain_failure(list(words), said, text_if_any("/etc/os-release"), os.uname()[2])

    def read(self) -> NetState:
        """The devices, qdiscs and filters of the host."""
        state: NetState = {
            "qdiscs": [tc_output.settled(qdisc) for qdisc in self.qdiscs()],
            "ifb": None,
            "links": self.links(),
            "egress": {},
            "ingress": {},
            "tree": {},
        }
        ours = state["links"].get(DEVICE)
        if ours:
            if ours.get("linkinfo", {}).get("info_kind") != "ifb":
                raise RefusedError(
                    f"this host has a device {DEVICE} that is not an ifb, so it is not this"
                    " module's; rename or remove it"
                )
            state["ifb"] = {"up": "UP" in ours["flags"], "alias": ours.get("ifalias", "")}
        for qdisc in state["qdiscs"]:
            device = qdisc["dev"]
            if qdisc["kind"] == "clsact":
                state["egress"][device] = self.filters(device, "egress")
                state["ingress"][device] = self.filters(device, "ingress")
        for device in trees(state):
            state["tree"][device] = self.filters(device, "parent", ROOT)
        return state

    def links(self) -> dict[str, Link]:
        """All devices by name. The kind shows whether a device of the module's name is its own."""
        output = self.output("ip", "-json", "-details", "link")
        listed: list[Link] = tc_output.parse_json(output)
        return {link["ifname"]: link for link in listed}

    def filters(self, device: str, *place: str) -> list[Filter]:
        """The filters of a device at a place, as tc prints them."""
        return tc_output.parse_filters(self.output("tc", "filter", "show", "dev", device, *place))

    def qdiscs(self, *options: str) -> list[Qdisc]:
        """All qdiscs, as tc prints them."""
        return tc_output.parse_json(self.output("tc", "-json", *options, "qdisc", "show"))

    def counters(self) -> Counters:
        """How many packets our netem has dropped since it was added, and how many it holds."""
        ours = our_netem({"qdiscs": self.qdiscs("-statistics")})
        return {
            "dropped": sum(qdisc.get("drops", 0) for qdisc in ours),
            "backlog": sum(qdisc.get("qlen", 0) for qdisc in ours),
        }

    def shown(self) -> list[str]:
        """The lines of `tc qdisc show` with our netem."""
        ours = our_netem({"qdiscs": self.qdiscs()})
        places = [("netem", qdisc["handle"], qdisc["dev"]) for qdisc in ours]
        lines = [line.strip() for line in self.output("tc", "qdisc", "show").splitlines()]
        return [line for line in lines if tuple(line.split()[1:3] + line.split()[4:5]) in places]

    def targets(
        self,
        peers: list[str],
        interface: str | None,
        links: Mapping[str, Link],
    ) -> list[tuple[str, str]]:
        """(address, interface) of each peer: the interface given, or that of the route.

        Raises:
            RefusedError: no such interface, no route, or the peer is this host.
        """
        if interface and interface not in links:
            raise RefusedError(
                f"there is no interface {interface} on this host; its interfaces are:"
                f" {', '.join(sorted(name for name in links if name != DEVICE))}"
            )
        if interface in ("lo", DEVICE):
            raise RefusedError(f"interface {interface} does not lead to another host")
        targets = []
        for peer in peers:
            status, output, errors = self.run("ip", "-json", "route", "get", peer)
            routes: list[Route] = tc_output.parse_json(output) if not status else []
            if not routes or not routes[0].get("dev"):
                reason = " ".join(errors.split()) or "none"
                raise RefusedError(f"this host has no route to the peer {peer}: {reason}")
            if routes[0].get("type") in ("local", "broadcast", "multicast"):
                raise RefusedError(
                    f"the peer {peer} is not another host: it is this host's own, a broadcast or a"
                    " multicast address"
                )
            targets.append((peer, interface or routes[0]["dev"]))
        return targets

    def speeds(
        self,
        devices: list[str],
        links: Mapping[str, Link],
    ) -> list[tuple[int | None, int]]:
        """(bits per second or None, MTU) of each interface."""
        speeds = []
        for device in devices:
            text = text_if_any(f"/sys/class/net/{device}/speed").strip()
            # The file has -1, or cannot be read, if the driver does not know the speed.
            speeds.append(
                (int(text) * 10**6 if text.isdigit() and int(text) else None, links[device]["mtu"])
            )
        return speeds

    def missing(self) -> set[str]:
        """What the kernel certainly lacks besides netem; nothing is loaded to find out.

        Raises:
            RefusedError: it has no netem.
        """
        kernel = os.uname()[2]
        config = text_if_any("/proc/config.gz") or text_if_any(f"/boot/config-{kernel}")
        loaded = os.listdir("/sys/module") if os.path.isdir("/sys/module") else []
        loadable = {}
        modprobe = self.module.get_bin_path("modprobe", opt_dirs=["/sbin", "/usr/sbin"])
        if modprobe and os.path.exists(f"/lib/modules/{kernel}/modules.dep"):
            for name, _option in KERNEL.values():
                if name not in loaded:
                    loadable[name] = (
                        command.run(
                            self.module,
                            [
                                modprobe,
                                "-n",
                                "-q",
                                name,
                            ],
                        )[0]
                        == 0
                    )
        lacking = missing_modules(config, loaded, loadable)
        if "netem" in lacking:
            raise RefusedError(explain_kernel("netem", text_if_any("/etc/os-release"), kernel))
        return lacking

    def why_no_delay(self) -> str:
        """Why this host cannot delay packets; empty if it can, or if that is not known.

        If nothing else tells, it is tried in a network namespace of its own, which ends with the
        command. That may load the kernel's module, so not in check mode.
        """
        try:
            self.missing()
            enter = self.module.get_bin_path("unshare")
            if not enter or self.module.check_mode:
                return ""
            words = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
            line = [enter, "--net", self.program("tc"), *words[1:]]
        except RefusedError as error:
            return str(error)
        status, output, errors = command.run(self.module, line)
        lacks = status and UNKNOWN.search(errors)
        return self.explain(words, errors or output) if lacks else ""
