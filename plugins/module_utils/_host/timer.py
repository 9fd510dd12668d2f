# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollback timer: systemd undoes on a host what was not undone in time, even if the controller
died.

It is a transient unit, in memory like what it undoes: neither survives a reboot.
"""

from __future__ import annotations

import os
import re
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import command

# Exists while systemd is the init of this host (sd_booted(3)).
SYSTEMD = "/run/systemd/system"
# systemd expands the first two; 252 cannot read the third again after a daemon-reload (seen on
# Debian 12).
UNSAFE = "$%;"


class TimerError(ValueError):
    """systemd failed, or must not be asked; the text says why."""


def systemd_runs() -> bool:
    """Whether systemd is the init of this host."""
    return os.path.isdir(SYSTEMD)


def checked(script: str) -> str:
    """A script that systemd runs unchanged.

    Raises:
        TimerError: it has a character that systemd would interpret.
    """
    unsafe = [character for character in UNSAFE if character in script]
    if unsafe:
        raise TimerError(
            f"the rollback timer cannot be set: its script has {' and '.join(unsafe)}, which"
            " systemd would change"
        )
    return script


def repeated(lines: list[str], attempts: int, pause: int) -> str:
    """A script that runs its lines up to `attempts` times, `pause` seconds apart; they exit when
    they have succeeded.
    """
    numbers = " ".join(str(number) for number in range(attempts))
    return "\n".join([f"for attempt in {numbers}", "do", *lines, f"sleep {pause}", "done"])


def arm_command(
    unit: str,
    description: str,
    seconds: float,
    script: str,
) -> list[str]:
    """The command that starts a timer which runs a script.

    Args:
        unit: name of the timer and of its service, without suffix.
        seconds: until the script runs.

    Raises:
        TimerError: see checked().
    """
    return [
        "systemd-run",
        "--unit=" + unit,
        "--description=" + description,
        f"--on-active={int(seconds)}s",
        # systemd's own accuracy is a minute.
        "--timer-property=AccuracySec=100ms",
        # A start by hand waits until the script has ended.
        "--property=Type=oneshot",
        "--collect",
        "/bin/sh",
        "-c",
        checked(script),
    ]


def parse_units(text: str, prefix: str) -> list[str]:
    """The names, with suffix, of the units with this prefix and a number in
    `systemctl list-units --plain --no-legend`.
    """
    pattern = rf"^\W*({re.escape(prefix)}\d+\.(?:timer|service))\s"
    return [match.group(1) for match in re.finditer(pattern, text, re.MULTILINE)]


class RollbackTimer:
    """The timers of one kind of rollback on this host.

    Args:
        module: the AnsibleModule.
        prefix: what the names of its units begin with.
        stop_running: whether a rollback that is just running is stopped with the timers.
    """

    def __init__(
        self,
        module: AnsibleModule,
        prefix: str,
        stop_running: bool = False,
    ) -> None:
        self.module = module
        self.prefix = prefix
        self.kinds = ("timer", "service") if stop_running else ("timer",)

    def run(self, program: str, *words: str) -> tuple[int, str, str]:
        """Exit status, output and error output of one of systemd's programs.

        Raises:
            TimerError: there is no such program.
        """
        path = self.module.get_bin_path(program)
        if not path:
            raise TimerError(
                f"there is no program {program} on this host; it is in the package systemd"
            )
        return command.run(self.module, [path, *words])

    def arm(
        self,
        seconds: float,
        script: str,
        description: str,
    ) -> str:
        """Start a timer that runs the script after some seconds, then stop older ones.

        Returns:
            the unit's name, without suffix.

        Raises:
            TimerError: systemd refuses, or the script is not one for it.
        """
        unit = f"{self.prefix}{int(time.time() * 1000)}"
        words = arm_command(unit, description, seconds, script)
        status, output, errors = self.run(*words)
        if status:
            raise TimerError(f"{words[0]} {words[1]} failed: {(errors or output).strip()}")
        self.disarm(but=unit)
        return unit

    def units(self, kind: str = "timer") -> list[str]:
        """Names with suffix: of the timers that are armed, or with kind service of the rollbacks
        that are just running.

        Raises:
            TimerError: systemd does not say.
        """
        if not systemd_runs():
            return []
        status, output, errors = self.run(
            "systemctl",
            "list-units",
            "--plain",
            "--no-legend",
            "--no-pager",
            "--type=" + kind,
            self.prefix + "*",
        )
        if status:
            raise TimerError(f"systemctl list-units failed: {errors.strip()}")
        return parse_units(output, self.prefix)

    def disarm(self, but: str | None = None) -> None:
        """Stop the timers, all but one.

        Args:
            but: a unit's name, without suffix.

        Raises:
            TimerError: they cannot be stopped.
        """

        def others() -> list[str]:
            return [
                unit
                for kind in self.kinds
                for unit in self.units(kind)
                if unit.rpartition(".")[0] != but
            ]

        units = others()
        if units:
            # One that ends by itself meanwhile is no error.
            errors = self.run("systemctl", "stop", *units)[2]
            left = others()
            if left:
                raise TimerError(f"{', '.join(left)} could not be stopped: {errors.strip()}")
