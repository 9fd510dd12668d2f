#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_unit
short_description: (internal) Stop a unit, with a timer that starts it again
version_added: "1.0.0"
description:
  - Returns whether a systemd unit runs and when it last stopped and started, according to systemd.
  - With O(state=stopped), starts a timer on the host and stops the unit. Unless O(state=started)
    comes first, the timer starts the unit again, even if the controller died; it tries for two
    minutes. Both are done in one call, so that no server is ever stopped without its timer.
  - The run that stopped the unit sends its host a sign of life every 20 s, which restarts the
    timer's 60 s. So the unit is started 60 s after the run has died, and after O(after) seconds in
    any case.
options:
  unit:
    description: The systemd unit of the server. Needed unless O(state=rescued).
    type: str
  state:
    description:
      - V(stopped) starts the timer, which replaces the collection's older ones, and stops the unit.
      - V(started) starts the unit and then stops the timer; if the unit does not run, the timer
        stays.
      - V(rescued) does at once what a timer would do later, or nothing without a timer. So a second
        run restores what an interrupted one left.
      - By default the unit is only read.
    type: str
    choices: [stopped, started, rescued]
  after:
    description: The latest time at which the timer starts the unit, in seconds after the stop.
    type: int
    default: 130
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_pulse
  - module: ansible.builtin.systemd_service
"""

EXAMPLES = r"""
- name: Stop a server that comes back in two minutes, come what may
  dbre.semisync.semisync_unit:
    unit: mysql
    state: stopped
    after: 120

- name: Start it before that
  dbre.semisync.semisync_unit:
    unit: mysql
    state: started

- name: Restore what an interrupted run left
  dbre.semisync.semisync_unit:
    state: rescued
"""

RETURN = r"""
known:
  description: Whether systemd knows the unit.
  returned: O(unit) is given
  type: bool
running:
  description: Whether the unit is active and has a process.
  returned: O(unit) is given
  type: bool
active:
  description: systemd's C(ActiveState).
  returned: O(unit) is given
  type: str
  sample: inactive
sub:
  description: systemd's C(SubState).
  returned: O(unit) is given
  type: str
  sample: dead
main_pid:
  description: The unit's main process, 0 if there is none.
  returned: O(unit) is given
  type: int
times:
  description:
    - When the unit last began to stop (C(stopping)), had stopped (C(stopped)), began to start
      (C(starting)) and had started
      (C(started)), in seconds since 1970 by the host's clock; null if it never did.
  returned: O(unit) is given
  type: dict
timers:
  description: The collection's timers that are armed now.
  returned: success
  type: list
  elements: str
last_words:
  description: The last lines of the unit's journal.
  returned: O(unit) is given and does not run
  type: list
  elements: str
"""

import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import (
    RollbackTimer,
    TimerError,
    systemd_runs,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit import (
    TIMER_PREFIX,
    UnitState,
    parse_show,
    show_arguments,
    start_script,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit_exit import service_name


class Unit:
    """The systemd unit of a server on this host, through systemd's own commands.

    Args:
        module: the AnsibleModule, with the option unit.
    """

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.name: str = module.params["unit"]
        if not systemd_runs():
            module.fail_json(
                msg=(
                    "no systemd runs on this host; without its timer no server is stopped here,"
                    " because nothing would start it again if the controller were lost"
                )
            )
        self.systemctl = module.get_bin_path("systemctl", required=True)
        self.timer = RollbackTimer(module, TIMER_PREFIX, stop_running=True)

    def run(self, *words: str, **keywords: Any) -> tuple[int, str, str]:
        return command.run(self.module, list(words), **keywords)

    def state(self) -> UnitState:
        """See parse_show(); with the last lines of the unit's journal if it does not run."""
        service = service_name(self.name)
        shown = self.run(self.systemctl, *show_arguments(service), check_rc=True)[1]
        state = parse_show(shown, time.time(), time.clock_gettime(time.CLOCK_MONOTONIC))
        if not state["known"]:
            self.module.fail_json(
                msg=f"systemd knows no unit {self.name} on this host; set semisync_service"
            )
        if not state["running"]:
            journal = self.module.get_bin_path("journalctl")
            words = [journal, "--no-pager", "--lines=8", "--output=cat", "--unit", service]
            state["last_words"] = self.run(*words)[1].splitlines() if journal else []
        return state

    def stop(self, seconds: int) -> bool:
        """Start a timer, then stop the unit, never the second without the first; return whether it
        ran.
        """
        ran = self.state()["running"]
        script = start_script(self.systemctl, self.name)
        self.timer.arm(
            seconds, script, f"Starts {self.name}, which a drill of dbre.semisync stopped"
        )
        self.run(self.systemctl, "stop", service_name(self.name), check_rc=True)
        return ran

    def start(self) -> bool:
        """Start the unit, then stop the timers; return whether either was needed."""
        before, armed = self.state(), bool(self.timer.units())
        status, _output, errors = self.run(self.systemctl, "start", service_name(self.name))
        after = self.state()
        if status or not after["running"]:
            self.module.fail_json(
                msg=f"{self.name} does not start: {errors.strip() or after['active']}", **after
            )
        self.timer.disarm()
        return armed or not before["running"]

    def rescue(self) -> bool:
        """Do now what the armed timers would do; return whether there was one."""
        timers = self.timer.units()
        for timer in timers:
            # The service belongs to its timer, and is removed with it; it ends when the server
            # runs.
            service = timer.rpartition(".")[0] + ".service"
            status, _output, errors = self.run(self.systemctl, "start", service)
            if status:
                self.module.fail_json(
                    msg=(
                        "the server that an interrupted drill stopped does not start:"
                        f" {errors.strip()}"
                    )
                )
        self.timer.disarm()
        return bool(timers)


def work(
    unit: Unit,
    wanted: str | None,
    after: int,
    check_mode: bool,
) -> bool:
    """Bring the unit to the wanted state; return whether that changed anything."""
    if wanted == "rescued":
        return bool(unit.timer.units()) if check_mode else unit.rescue()
    if wanted and check_mode:
        return unit.state()["running"] == (wanted == "stopped")
    if wanted == "stopped":
        return unit.stop(after)
    return unit.start() if wanted == "started" else False


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str"},
            "state": {"type": "str", "choices": ["stopped", "started", "rescued"]},
            "after": {"type": "int", "default": 130},
        },
        required_if=[("state", "stopped", ["unit"]), ("state", "started", ["unit"])],
        supports_check_mode=True,
    )
    unit, params = Unit(module), module.params
    try:
        changed = work(unit, params["state"], params["after"], module.check_mode)
        timers = [timer.rpartition(".")[0] for timer in unit.timer.units()]
    except TimerError as error:
        module.fail_json(msg=str(error))
    state: Mapping[str, object] = unit.state() if unit.name else {}
    module.exit_json(changed=changed, timers=timers, **state)


if __name__ == "__main__":
    main()
