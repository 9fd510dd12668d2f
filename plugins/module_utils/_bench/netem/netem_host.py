# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of the module netem: what is changed on it, and what keeps it reachable meanwhile."""

from __future__ import annotations

import contextlib
import operator
import os
import time
from collections.abc import Iterator

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import (
    safeguards,
    tc_output,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    NO_CAPABILITY,
    RefusedError,
    explain_rollback,
    has_net_admin,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_reader import (
    NetReader,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_shapes import (
    Delay,
    NetState,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.qdisc_state import (
    ROOT,
    is_clean,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.tc_plan import (
    Plan,
    plan_absent,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import (
    PingError,
    Trip,
    round_trips,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import (
    bytes_if_any,
    text_if_any,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import (
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


class NetemHost(NetReader):
    """The host that the module runs on."""

    def __init__(self, module: AnsibleModule) -> None:
        super().__init__(module)
        self.timer = RollbackTimer(module, safeguards.TIMER_PREFIX)
        self.armed_at = time.time()

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
