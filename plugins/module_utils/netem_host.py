# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""netem's input and output: everything that it reads from a host and runs on it."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import gzip
import os
import time

from ansible_collections.dbre.semisync.plugins.module_utils import netem, netem_guard, netem_plan, netem_wanted, tc
from ansible_collections.dbre.semisync.plugins.module_utils.netem_wanted import Refused

PING_INTERVAL = "0.2"
# There while systemd is the init of this host (sd_booted(3)).
SYSTEMD = "/run/systemd/system"
# Seconds that a rollback which is just running gets to end.
ROLLBACK_SECONDS = 20


def read_bytes(path):
    """A file's bytes; none where it cannot be read."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as handle:
            return handle.read()
    except (OSError, EOFError):
        return b""


def read_text(path):
    return read_bytes(path).decode("utf-8", "replace")


class Host(object):
    """The host that the module runs on."""

    def __init__(self, module):
        self.module = module
        self.programs = {}
        self.armed_at = time.time()

    def program(self, name):
        """The path of a program.

        Raises:
            Refused: it is not there.
        """
        if name not in self.programs:
            path = self.module.get_bin_path(name, opt_dirs=["/sbin", "/usr/sbin"])
            if not path:
                raise Refused(netem_wanted.explain_program(name))
            self.programs[name] = path
        return self.programs[name]

    def run(self, *words):
        """A command's exit status and output."""
        command = [self.program(words[0])] + list(words[1:])
        return self.module.run_command(command, environ_update={"LC_ALL": "C", "LANG": "C"})

    def output(self, *words):
        """A command's output.

        Raises:
            Refused: it fails.
        """
        status, out, err = self.run(*words)
        if status:
            raise Refused(self.explain(words, err or out))
        return out

    def explain(self, words, said):
        return netem_wanted.explain_failure(words, said, read_text("/etc/os-release"), os.uname()[2])

    # What is there.

    def read(self):
        """The state: see netem.py."""
        # All links, because the kind of a device tells ours from another's of the same name.
        links = dict((link["ifname"], link) for link in tc.parse_json(self.output("ip", "-json", "-details", "link")))
        state = {"qdiscs": [tc.settled(qdisc) for qdisc in self.qdiscs()], "ifb": None, "links": links,
                 "egress": {}, "ingress": {}, "tree": {}}
        ours = links.get(netem.DEVICE)
        if ours:
            if ours.get("linkinfo", {}).get("info_kind") != "ifb":
                raise Refused("there is a device %s on this host that is not the module's (no ifb)" % netem.DEVICE)
            state["ifb"] = {"up": "UP" in ours["flags"], "alias": ours.get("ifalias", "")}
        for qdisc in state["qdiscs"]:
            if qdisc["kind"] == "clsact":
                for side in ("egress", "ingress"):
                    state[side][qdisc["dev"]] = tc.parse_filters(
                        self.output("tc", "filter", "show", "dev", qdisc["dev"], side))
        for device in netem.trees(state):
            state["tree"][device] = tc.parse_filters(
                self.output("tc", "filter", "show", "dev", device, "parent", netem.ROOT))
        return state

    def qdiscs(self, *options):
        return tc.parse_json(self.output("tc", "-json", *(options + ("qdisc", "show"))))

    def counters(self):
        """Packets that our netem dropped since it was added, and those it holds."""
        ours = netem.our_netem({"qdiscs": self.qdiscs("-statistics")})
        return {"dropped": sum(qdisc.get("drops", 0) for qdisc in ours),
                "backlog": sum(qdisc.get("qlen", 0) for qdisc in ours)}

    def shown(self):
        """The lines of `tc qdisc show` with our netem."""
        ours = netem.our_netem({"qdiscs": self.qdiscs()})
        places = [("netem", qdisc["handle"], qdisc["dev"]) for qdisc in ours]
        lines = [line.strip() for line in self.output("tc", "qdisc", "show").splitlines()]
        return [line for line in lines if tuple(line.split()[1:3] + line.split()[4:5]) in places]

    def targets(self, peers, interface, links):
        """(address, interface) of each peer: the interface given, or that of the route.

        Raises:
            Refused: no such interface, no route, or the peer is this host.
        """
        if interface and interface not in links:
            raise Refused("there is no interface %s on this host; there is: %s" % (interface, ", ".join(sorted(
                name for name in links if name != netem.DEVICE))))
        if interface in ("lo", netem.DEVICE):
            raise Refused("interface %s leads to no other host" % interface)
        found = []
        for peer in peers:
            status, out, err = self.run("ip", "-json", "route", "get", peer)
            routes = tc.parse_json(out) if not status else []
            if not routes or not routes[0].get("dev"):
                raise Refused("this host has no route to the peer %s: %s" % (peer, " ".join(err.split()) or "none"))
            if routes[0].get("type") in ("local", "broadcast", "multicast"):
                raise Refused("the peer %s is no other host: it is this host's own or a group's address" % peer)
            found.append((peer, interface or routes[0]["dev"]))
        return found

    def speeds(self, devices, links):
        """(bits per second or None, MTU) of each interface."""
        found = []
        for device in devices:
            text = read_text("/sys/class/net/%s/speed" % device).strip()
            # The file says -1, or cannot be read, where the driver does not know.
            found.append((int(text) * 10 ** 6 if text.isdigit() and int(text) else None, links[device]["mtu"]))
        return found

    def missing(self):
        """What the kernel surely lacks besides netem: found out without loading anything.

        Raises:
            Refused: it has no netem.
        """
        kernel = os.uname()[2]
        config = read_text("/proc/config.gz") or read_text("/boot/config-%s" % kernel)
        loaded = os.listdir("/sys/module") if os.path.isdir("/sys/module") else []
        loadable = {}
        modprobe = self.module.get_bin_path("modprobe", opt_dirs=["/sbin", "/usr/sbin"])
        if modprobe and os.path.exists("/lib/modules/%s/modules.dep" % kernel):
            for name, dummy in netem_wanted.KERNEL.values():
                if name not in loaded:
                    loadable[name] = self.module.run_command([modprobe, "-n", "-q", name])[0] == 0
        lacking = netem_wanted.missing(config, loaded, loadable)
        if "netem" in lacking:
            raise Refused(netem_wanted.explain_kernel("netem", read_text("/etc/os-release"), kernel))
        return lacking

    def clients(self):
        """Where the connection that the module was started over comes from: address -> how that is known."""
        address = netem_guard.client(os.environ)
        if address:
            return {address: "SSH_CONNECTION"}
        # sudo takes the variable away, the processes above still have it.
        pid, servers = os.getppid(), []
        while pid > 0:
            address = netem_guard.client(netem_guard.environment(read_bytes("/proc/%d/environ" % pid)))
            if address:
                return {address: "SSH_CONNECTION of process %d" % pid}
            if netem_guard.is_sshd(read_text("/proc/%d/comm" % pid).strip()):
                servers.append(pid)
            stat = read_text("/proc/%d/stat" % pid)
            pid = netem_guard.parent(stat) if stat else 0
        # A task that was put into the background has no parents left to ask: then any connection may be the one.
        servers = servers or [int(name) for name in os.listdir("/proc") if name.isdigit()
                              and netem_guard.is_sshd(read_text("/proc/%s/comm" % name).strip())]
        ends = netem_guard.connections(read_text("/proc/net/tcp"))
        ends.update(netem_guard.connections(read_text("/proc/net/tcp6")))
        return dict((ends[inode], "a connection of sshd, process %d" % server)
                    for server in servers for inode in _sockets(server) if inode in ends)

    def ping(self, peers, count, wanted):
        """The round trip to each peer: address -> tc.parse_ping(). `wanted` is the delay that may be there."""
        wait = str(netem_guard.drain_seconds(wanted) + 1)
        return dict((peer, tc.parse_ping(self.run("ping", "-n", "-c", str(count), "-i", PING_INTERVAL, "-W", wait,
                                                  peer)[1])) for peer in peers if count)

    # What it takes, and the timer.

    def require_timer(self):
        """Refuse where a delay could not be taken off again by itself."""
        # A sleeping process could be killed unseen, and then nothing would ever end the delay.
        if not os.path.isdir(SYSTEMD):
            raise Refused("no systemd runs on this host, and no delay is put on without its timer, which takes it off "
                          "again if this controller is lost")
        self.program("systemd-run")
        try:
            same = os.stat("/proc/self/ns/net").st_ino == os.stat("/proc/1/ns/net").st_ino
        except OSError:
            same = True
        if not same:
            raise Refused("this process is in another network namespace than systemd, whose timer would not find the "
                          "delay there")

    def require_capability(self):
        for name in ("ip", "tc"):
            self.program(name)
        if not netem_wanted.has_net_admin(read_text("/proc/self/status")):
            raise Refused(netem_wanted.NO_CAPABILITY)

    def arm(self, seconds, wanted, states):
        """Start a timer that takes off whatever these states have of ours, then stop older ones."""
        self.armed_at = time.time()
        unit = "%s%d" % (netem_guard.UNIT, self.armed_at * 1000)
        script = netem_guard.rollback_script(states, netem_guard.drain_seconds(wanted), self.programs)
        self.output(*netem_guard.arm_command(unit, seconds, script))
        self.disarm(but=unit)
        self.await_rollback()
        return unit

    def timers(self, kind="timer"):
        """The units of ours that systemd has."""
        if not os.path.isdir(SYSTEMD):
            return []
        status, out, dummy = self.run("systemctl", "list-units", "--plain", "--no-legend", "--no-pager",
                                      "--type=" + kind, netem_guard.UNIT + "*")
        return [] if status else netem_guard.units(out)

    def disarm(self, but=None):
        """Stop our timers, all but one."""
        names = [name for name in self.timers() if name != "%s.timer" % but]
        if names:
            self.output("systemctl", "stop", *names)

    def await_rollback(self):
        """Wait for a rollback that is just running: it would take off what comes now.

        Raises:
            Refused: it does not end.
        """
        until, running = time.time() + ROLLBACK_SECONDS, self.timers("service")
        while running:
            if time.time() >= until:
                raise Refused(netem_wanted.explain_rollback(running, ROLLBACK_SECONDS))
            time.sleep(0.2)
            running = self.timers("service")

    # Changing it.

    def execute(self, plan, wanted):
        """Run a plan's commands. What is to be deleted and is gone already is no error.

        Raises:
            Refused: a command fails.
        """
        for words in plan.commands:
            if words[0] == "modprobe":
                if self.module.get_bin_path("modprobe", opt_dirs=["/sbin", "/usr/sbin"]):
                    self.run(*words)
                continue
            if words[:3] == ["ip", "link", "del"] or "del" in words and words[-1] == netem.ROOT:
                self.drain(wanted)
            status, out, err = self.run(*words)
            if status and "del" not in words:
                raise Refused(self.explain(words, err or out))

    def drain(self, wanted):
        """Wait for the packets that our netem holds, which would be lost with it."""
        until = time.time() + netem_guard.drain_seconds(wanted)
        while self.counters()["backlog"] and time.time() < until:
            time.sleep(0.05)

    def undo(self, wanted):
        """Take off everything that is ours; True when that worked. The timer stays where it did not."""
        try:
            self.execute(netem_plan.absent(self.read()), wanted)
            gone = netem.is_clean(self.read())
            if gone:
                self.disarm()
        except (Refused, tc.Unreadable):
            return False
        return gone


def _sockets(pid):
    """The inodes of a process's sockets."""
    folder, found = "/proc/%d/fd" % pid, []
    try:
        for name in os.listdir(folder):
            target = os.readlink(os.path.join(folder, name))
            if target.startswith("socket:["):
                found.append(target[len("socket:["):-1])
    except OSError:  # it ended, or is not ours to read
        pass
    return found
