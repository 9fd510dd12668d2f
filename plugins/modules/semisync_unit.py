#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_unit
short_description: Stop a server so that it is started again in any case
version_added: "0.1.0"
description:
  - Returns whether a systemd unit runs and when it last stopped and started, as systemd knows it.
  - With O(state=stopped), starts a timer on the host and stops the unit. Unless O(state=started) comes before it is due, the
    timer starts the unit again, whatever became of the controller; it tries for two minutes. Both are done in one call, so
    that no server is ever stopped without its timer.
options:
  unit:
    description: The systemd unit of the server. Needed unless O(state=rescued).
    type: str
  state:
    description:
      - V(stopped) starts the timer, in place of older ones of ours, and stops the unit.
      - V(started) starts the unit and then stops the timer, which stays where the unit does not run.
      - V(rescued) does at once what a timer would do later, and nothing where there is none. So a second run restores what an
        interrupted one left.
      - Without it the unit is only read.
    type: str
    choices: [stopped, started, rescued]
  after:
    description: Seconds from the stop until the timer starts the unit.
    type: int
    default: 130
extends_documentation_fragment:
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
  description: The unit's process, 0 where there is none.
  returned: O(unit) is given
  type: int
times:
  description:
    - When the unit last began to stop (C(stopping)), had stopped (C(stopped)), began to start (C(starting)) and had started
      (C(started)), in seconds since 1970 by the host's clock; null where it never did.
  returned: O(unit) is given
  type: dict
timers:
  description: Our timers that are armed now.
  returned: success
  type: list
  elements: str
last_words:
  description: The last lines of the unit's journal.
  returned: O(unit) is given and does not run
  type: list
  elements: str
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import unit as units

# There while systemd is the init of this host (sd_booted(3)).
SYSTEMD = "/run/systemd/system"


class Systemd(object):
    """systemd on this host, through its own commands."""

    def __init__(self, module):
        self.module = module
        if not os.path.isdir(SYSTEMD):
            module.fail_json(msg="no systemd runs on this host; without its timer no server is stopped here, because "
                                 "nobody would start it again if the controller were lost")
        self.systemctl = module.get_bin_path("systemctl", required=True)

    def run(self, *words, **keywords):
        return self.module.run_command(list(words), environ_update={"LC_ALL": "C"}, **keywords)

    def unit(self, name):
        """units.parse_show() of a unit, with its last words where it does not run."""
        dummy, text, dummy = self.run(self.systemctl, *units.show_arguments(units.service_name(name)), check_rc=True)
        found = units.parse_show(text, time.time(), time.clock_gettime(time.CLOCK_MONOTONIC))
        if not found["known"]:
            self.module.fail_json(msg="systemd knows no unit %s on this host; set semisync_service" % name)
        if not found["running"]:
            journal = self.module.get_bin_path("journalctl")
            words = [journal, "--no-pager", "--lines=8", "--output=cat", "--unit", units.service_name(name)]
            found["last_words"] = self.run(*words)[1].splitlines() if journal else []
        return found

    def timers(self, kind="timer"):
        """Our timers that are armed, or rescues that are just running."""
        dummy, text, dummy = self.run(self.systemctl, "list-units", "--plain", "--no-legend", "--no-pager",
                                      "--type=" + kind, units.PREFIX + "*", check_rc=True)
        return units.rescues(text)

    def stop(self, name, seconds):
        """Start a timer, stop older ones, and stop the unit: never the last without the first."""
        timer = units.timer_name(time.time())
        program = self.module.get_bin_path("systemd-run", required=True)
        self.run(*units.arm_command(program, self.systemctl, timer, name, seconds), check_rc=True)
        self.disarm(but=timer)
        self.run(self.systemctl, "stop", units.service_name(name), check_rc=True)

    def start(self, name):
        """Start the unit, then stop the timers; whether either was needed."""
        before, armed = self.unit(name), bool(self.timers())
        status, dummy, err = self.run(self.systemctl, "start", units.service_name(name))
        after = self.unit(name)
        if status or not after["running"]:
            self.module.fail_json(msg="%s does not start: %s" % (name, err.strip() or after["active"]), **after)
        self.disarm()
        return armed or not before["running"]

    def disarm(self, but=None):
        """Stop our timers, all but one, and older rescues that still try."""
        def older():
            return [name + "." + kind for kind in ("timer", "service") for name in self.timers(kind) if name != but]
        names = older()
        if names:
            # One that ends by itself meanwhile is no error.
            dummy, dummy2, err = self.run(self.systemctl, "stop", *names)
            left = older()
            if left:
                self.module.fail_json(msg="%s could not be stopped: %s" % (", ".join(left), err.strip()))

    def rescue(self):
        """Do now what the armed timers would do; whether there was one."""
        names = self.timers()
        for name in names:
            # The service belongs to its timer, and goes with it; it ends when the server runs.
            status, dummy, err = self.run(self.systemctl, "start", name + ".service")
            if status:
                self.module.fail_json(msg="the server that an interrupted drill stopped does not start: %s" % err.strip())
        self.disarm()
        return bool(names)


def main():
    module = AnsibleModule(
        argument_spec=dict(
            unit=dict(type="str"),
            state=dict(type="str", choices=["stopped", "started", "rescued"]),
            after=dict(type="int", default=130),
        ),
        required_if=[("state", "stopped", ["unit"]), ("state", "started", ["unit"])],
        supports_check_mode=True,
    )
    params, systemd = module.params, Systemd(module)
    name, wanted, changed = params["unit"], params["state"], False
    if wanted == "rescued":
        changed = bool(systemd.timers()) if module.check_mode else systemd.rescue()
    elif wanted and module.check_mode:
        changed = systemd.unit(name)["running"] == (wanted == "stopped")
    elif wanted == "stopped":
        changed = systemd.unit(name)["running"]
        systemd.stop(name, params["after"])
    elif wanted == "started":
        changed = systemd.start(name)
    module.exit_json(changed=changed, timers=systemd.timers(), **(systemd.unit(name) if name else {}))


if __name__ == "__main__":
    main()
