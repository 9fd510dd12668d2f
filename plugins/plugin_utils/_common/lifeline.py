# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sign of life that a run sends to its hosts: while ansible-playbook lives, a separate process
keeps restarting the rollback timers of a host, however long a step takes. So a timer's length need
not be guessed: it expires LEASE seconds after the last sign.

Only the controller knows whether it lives. A module's process on a host continues when its
controller is killed: over docker exec it does not notice, over SSH only when it writes.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import detached
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import parse_units

# Seconds after the last sign of life until a host's timers expire, and between two signs.
LEASE, EVERY = 60, 20
# Seconds that one sign may take, and that a run waits for the first.
PATIENCE = 15
# Seconds between two checks of the run itself.
LOOK = 1
# Where Linux shows the state of a process.
STAT = "/proc/%s/stat"


def clock() -> float:
    """Seconds that also count while this machine is suspended, if its system can tell."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def run_lives(main: int) -> bool:
    """Whether the run that started this worker still lives.

    Args:
        main: os.getppid() when the worker began its task; a worker outlives a run that is killed.
    """
    return os.getppid() == main


def birth(pid: int) -> str | None:
    """What tells a process from a later one with the same number; None if it has ended or is
    stopped, so that it does nothing for its run.
    """
    try:
        os.kill(pid, 0)
        with open(STAT % pid, encoding="utf-8", errors="replace") as stream:
            words = stream.read().rpartition(")")[2].split()
    except ProcessLookupError:
        return None
    except OSError:  # a system without /proc
        return "" if not os.path.exists(STAT % "self") else None
    return None if words[0] in "ZXT" else words[19]


def command(prefixes: list[str]) -> str:
    """The shell command that begins the time of a host's timers anew, and lists the first kind.

    Args:
        prefixes: what the names of the timers begin with.
    """
    # A timer that is just being replaced may be gone between the two.
    patterns = " ".join(f"'{prefix}*.timer'" for prefix in prefixes)
    return (
        f"systemctl try-restart {patterns} >/dev/null 2>&1;"
        f" systemctl list-units --plain --no-legend --no-pager --type=timer '{prefixes[0]}*'"
    )


class Lifeline:
    """The sign of life of this run for one host.

    Args:
        folder: one of this run's own, which every task of it can write to.
        host: the host's name.
        prefixes: what the names of its timers begin with. Where the host has none of the first
            kind any more, it has put everything back.
    """

    def __init__(
        self,
        folder: str,
        host: str,
        prefixes: list[str],
    ) -> None:
        key = hashlib.sha256(" ".join([host, *prefixes]).encode("utf-8")).hexdigest()[:16]
        self.prefixes = prefixes
        # By our clock: when the run no longer counts as alive, the last sign of life, and when it
        # was seen that none gets through.
        self.until, self.last, self.deaf = (
            os.path.join(folder, f"lifeline-{key}.{word}") for word in ("until", "last", "deaf")
        )

    @staticmethod
    def write(path: str, moment: float) -> None:
        with open(path + ".part", "w", encoding="utf-8") as stream:
            stream.write(str(moment))
        os.replace(path + ".part", path)

    @staticmethod
    def read(path: str) -> float | None:
        try:
            with open(path, encoding="utf-8") as stream:
                return float(stream.read())
        except (OSError, ValueError):
            return None

    # What tasks ask for.

    def hold(self, action: Any, seconds: float) -> bool:
        """Give signs of life from now on, for at most some seconds: a controller that hangs is as
        good as none.

        Args:
            action: an ActionBase, whose connection leads to the host; its process is a worker.

        Returns:
            whether they reach the host; then its timers are for LEASE seconds, else they must be
            for as long as they are needed.
        """
        if self.read(self.deaf) is not None:
            return False
        running = (self.read(self.until) or 0) > clock() and not self.lapsed()
        self.write(self.until, clock() + seconds)
        if running or self.start(action):
            return True
        self.release()
        self.write(self.deaf, clock())
        return False

    def renewed(self, moment: float) -> None:
        """Record a sign of life, if no later one is recorded: the host's timers were started after
        this moment of our clock.
        """
        if self.read(self.until) is not None and moment > (self.read(self.last) or 0):
            self.write(self.last, moment)

    def lapsed(self) -> bool:
        """Whether the host may have put everything back meanwhile: no sign of life reached it for
        so long, or its timers were gone.
        """
        last = self.read(self.last)
        return last is not None and clock() - last > LEASE

    def release(self) -> None:
        """Give no more signs of life."""
        for path in (self.until, self.last):
            if os.path.exists(path):
                os.unlink(path)

    # The process that gives them.

    def start(self, action: Any) -> bool:
        """Start the process; whether its first sign of life has reached the host."""
        main = os.getppid()

        def give(starting: detached.Starting) -> None:
            # Its group ends with it, and so do the commands that it waits for.
            try:
                restore_signals()
                self.live(action, main, birth(main), starting)
            finally:
                os.killpg(0, signal.SIGKILL)

        return detached.start_and_wait(give, None, PATIENCE)

    def live(
        self,
        action: Any,
        main: int,
        born: str | None,
        starting: detached.Starting,
    ) -> None:
        """Give signs of life until the run has ended, or its time is over.

        Args:
            main: the process of ansible-playbook.
            born: birth() of it.
        """

        def watch() -> None:
            while birth(main) == born and clock() < (self.read(self.until) or 0):
                time.sleep(LOOK)
            os.killpg(0, signal.SIGKILL)

        # Nothing of it is for the user, and the queue to the run may be gone.
        action._display.verbosity = 0
        threading.Thread(target=watch, daemon=True).start()
        seen, waiting = False, True
        while True:
            begun = clock()
            timers = self.sign(action)
            if timers is not None and (timers or not seen):
                self.renewed(begun)
                seen = bool(timers)
            if waiting and timers is None:
                return
            starting.ready()
            waiting = False
            time.sleep(max(0.0, begun + EVERY - clock()))

    def sign(self, action: Any) -> list[str] | None:
        """Give one sign of life; the host's timers of the first kind, None if it was not
        reached.
        """
        try:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                done = action._low_level_execute_command(command(self.prefixes))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception:  # whatever a connection raises: the next try may reach the host
            return None
        return None if done["rc"] else parse_units(done["stdout"], self.prefixes[0])


def restore_signals() -> None:
    """End by a signal as a process of its own does: Ansible's workers have other plans with it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, give_up)


def give_up(_number: int, _frame: Any) -> None:
    raise TimeoutError("a sign of life took too long")
