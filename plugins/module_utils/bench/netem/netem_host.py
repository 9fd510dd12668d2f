# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of the module netem: everything that is read from it and run on it."""

from __future__ import annotations

import contextlib
import operator
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem import safeguards, tc_output
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.delay_options import (
    KERNEL,
    NO_CAPABILITY,
    UNKNOWN,
    RefusedError,
    explain_failure,
    explain_kernel,
    explain_program,
    explain_rollback,
    has_net_admin,
    missing_modules,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.netem_shapes import (
    Counters,
    Delay,
    Filter,
    Link,
    NetState,
    Qdisc,
    Route,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.qdisc_state import (
    DEVICE,
    ROOT,
    is_clean,
    our_netem,
    trees,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.tc_plan import (
    Plan,
    plan_absent,
)
from ansible_collections.dbre.semisync.plugins.module_utils.bench.ping import (
    PingError,
    Trip,
    round_trips,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host import command
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.host.files import (
    bytes_if_any,
    text_if_any,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host.timer import (
    RollbackTimer,
    TimerError,
    systemd_runs,
)

# What systemd shows of a timer.
DESCRIPTION = "Rollback of the delay that dbre.semisync.netem added"
# How long a rollback that is already running may take.
ROLLBACK_SECONDS = 20


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Turn the errors of the timer and of ping into refusals of the module."""
    try:
        yield
    except (PingError, TimerError) as error:
        raise RefusedError(str(error)) from error


class NetemHost:
    """The host that the module runs on."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.programs: dict[str, str] = {}
        self.timer = RollbackTimer(module, safeguards.TIMER_PREFIX)
        self.armed_at = time.time()

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

    def why_no_delay(self) -> str:
        """Why this host's kernel or programs cannot delay packets; empty if they can, or if that is
        not known. It is tried in a network namespace of its own, which ends with the command.
        """
        enter = self.module.get_bin_path("unshare")
        if not enter:
            return ""
        try:
            words = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
            command_line = [enter, "--net", self.program("tc"), *words[1:]]
            status, output, errors = command.run(self.module, command_line)
        except RefusedError as error:
            return str(error)
        lacks = status and UNKNOWN.search(errors)
        return self.explain(words, errors or output) if lacks else ""

    # Reading the network.

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

    def clients(self) -> dict[str | None, str]:
        """Where the connection that the module was started over comes from: address -> how that is
        known. Several, if it can be any of them.
        """
        address = safeguards.client(os.environ)
        if address:
            return {address: "SSH_CONNECTION"}
        # sudo removes the variable; the parent processes still have it.
        pid, servers = os.getppid(), []
        while pid > 0:
            address = safeguards.client(
                safeguards.environment(bytes_if_any(f"/proc/{pid}/environ"))
            )
            if address:
                return {address: f"SSH_CONNECTION of process {pid}"}
            if safeguards.is_sshd(text_if_any(f"/proc/{pid}/comm").strip()):
                servers.append(pid)
            stat = text_if_any(f"/proc/{pid}/stat")
            pid = safeguards.parent(stat) if stat else 0
        # A task in the background has lost its parents: it may be any connection of sshd.
        servers = servers or [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and safeguards.is_sshd(text_if_any(f"/proc/{name}/comm").strip())
        ]
        ends = safeguards.connections(text_if_any("/proc/net/tcp"))
        ends.update(safeguards.connections(text_if_any("/proc/net/tcp6")))
        return {
            ends[inode]: f"a connection of sshd, process {server}"
            for server in servers
            for inode in _sockets(server)
            if inode in ends
        }

    def ping(
        self,
        peers: list[str],
        count: int,
        wanted: Delay,
    ) -> dict[str, Trip]:
        """Each peer's round trips: see round_trips(). `wanted` is the delay that may be active."""
        with refusals():
            return round_trips(
                self.module,
                peers,
                count,
                safeguards.drain_seconds(wanted["delay_ms"], wanted["jitter_ms"]) + 1,
            )

    # Requirements, and the timer that removes a delay.

    def require_timer(self) -> None:
        """Refuse if a delay could not be removed automatically."""
        # A sleeping process could be killed unnoticed, and then nothing would remove the delay.
        if not systemd_runs():
            raise RefusedError(
                "systemd does not run on this host; without its timer, a delay would stay if this"
                " controller were lost"
            )
        self.program("systemd-run")
        try:
            same = os.stat("/proc/self/ns/net").st_ino == os.stat("/proc/1/ns/net").st_ino
        except OSError:
            same = True
        if not same:
            raise RefusedError(
                "this process runs in another network namespace than systemd, whose timer could not"
                " remove the delay there"
            )

    def require_capability(self) -> None:
        for name in ("ip", "tc"):
            self.program(name)
        if not has_net_admin(text_if_any("/proc/self/status")):
            raise RefusedError(NO_CAPABILITY)

    def arm(
        self,
        seconds: int,
        wanted: Delay,
        states: list[NetState],
    ) -> str:
        """Start a timer that removes what these states have of this module, then stop older ones.

        Returns:
            the timer's name, without suffix.
        """
        self.armed_at = time.time()
        script = safeguards.rollback_script(
            states, safeguards.drain_seconds(wanted["delay_ms"], wanted["jitter_ms"]), self.programs
        )
        with refusals():
            unit = self.timer.arm(seconds, script, DESCRIPTION)
            self.await_rollback()
        return unit

    def timers(self) -> list[str]:
        """Our timers that are armed."""
        with refusals():
            return self.timer.units()

    def disarm(self) -> None:
        """Stop our timers."""
        with refusals():
            self.timer.disarm()

    def await_rollback(self) -> None:
        """Wait until a running rollback has ended: it would remove what is added now.

        Raises:
            RefusedError: it does not end.
        """
        running = wait_until(
            lambda: self.timer.units("service"), ROLLBACK_SECONDS, 0.2, enough=operator.not_
        )
        if running:
            raise RefusedError(explain_rollback(running, ROLLBACK_SECONDS))

    # Changing the network.

    def execute(
        self,
        plan: Plan,
        wanted: Delay,
    ) -> None:
        """Run a plan's commands. A deletion may fail: its object is gone already.

        Raises:
            RefusedError: a command fails.
        """
        for words in plan.commands:
            if words[0] == "modprobe":
                if self.module.get_bin_path("modprobe", opt_dirs=["/sbin", "/usr/sbin"]):
                    self.run(*words)
                continue
            if words[:3] == ["ip", "link", "del"] or ("del" in words and words[-1] == ROOT):
                self.drain(wanted)
            status, output, errors = self.run(*words)
            if status and "del" not in words:
                raise RefusedError(self.explain(words, errors or output))

    def drain(self, wanted: Delay) -> None:
        """Wait until our netem has sent the packets that it holds, which would be lost with it."""
        wait_until(
            lambda: self.counters()["backlog"],
            safeguards.drain_seconds(wanted["delay_ms"], wanted["jitter_ms"]),
            0.05,
            enough=operator.not_,
        )

    def undo(self, wanted: Delay) -> bool:
        """Remove everything that is ours; True if that worked. The timer stays if it did not."""
        try:
            self.execute(plan_absent(self.read()), wanted)
            gone = is_clean(self.read())
            if gone:
                self.disarm()
        except (RefusedError, tc_output.UnreadableError):
            return False
        return gone


def _sockets(pid: int) -> list[str]:
    """The inodes of a process's sockets."""
    folder, inodes = f"/proc/{pid}/fd", []
    try:
        for name in os.listdir(folder):
            target = os.readlink(os.path.join(folder, name))
            if target.startswith("socket:["):
                inodes.append(target[len("socket:[") : -1])
    except OSError:  # it ended, or is not ours to read
        pass
    return inodes
