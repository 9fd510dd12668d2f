#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_plugin
short_description: Install, remove and set semi-sync's plugins at run time
version_added: "0.1.0"
description:
  - Installs (C(INSTALL PLUGIN)) or removes (C(UNINSTALL PLUGIN)) the semi-sync plugin of one side under the name that the
    server's version has for it, and brings run-time variables to given values.
  - Where semi-sync is built in (MariaDB 10.3.3 and later) there is nothing to install; the variables are still set.
  - A plugin installed this way is loaded again at every start, because the server keeps it in C(mysql.plugin).
options:
  side:
    description: Which of the two plugins.
    type: str
    choices: [source, replica]
    required: true
  state:
    description: V(present) installs the plugin, V(absent) removes it.
    type: str
    choices: [present, absent]
    default: present
  variables:
    description:
      - Global variables, under the server's own names, and their values; set with C(SET GLOBAL) where they differ.
      - A plugin's variables can be given together with O(state=present), they are set after it is installed.
    type: dict
    default: {}
  restart_io_thread:
    description:
      - Restart the replication IO thread after a change, or where the replica's semi-sync status is not ON; without it a
        replica stays asynchronous (MySQL manual, "Installing Semisynchronous Replication"). A thread that does not run
        is left alone.
    type: bool
    default: false
notes:
  - A source that is switched on has a timeout of 100 ms until a commit is acknowledged, or nobody has committed for a
    second, for 10 seconds at most, and then the wanted one. So a replica that is behind holds no writer up.
  - With O(state=absent) semi-sync is switched off first. The server refuses while semi-sync replicas are connected, and
    on a replica while its IO thread is semi-sync; the module passes the server's reason on.
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_info
"""

EXAMPLES = r"""
- name: Install the source's plugin and switch it on until the next restart
  dbre.semisync.semisync_plugin:
    side: source
    variables:
      rpl_semi_sync_source_enabled: 1

- name: Make a running replica semi-synchronous
  dbre.semisync.semisync_plugin:
    side: replica
    variables:
      rpl_semi_sync_replica_enabled: 1
    restart_io_thread: true

- name: Remove the source's plugin
  dbre.semisync.semisync_plugin:
    side: source
    state: absent
"""

RETURN = r"""
plugin:
  description: The plugin's name on this server, null where semi-sync is built in.
  returned: success
  type: str
  sample: rpl_semi_sync_source
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"]
status:
  description: Semi-sync's statuses afterwards, under the collection's keys; empty without the plugin.
  returned: success
  type: dict
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import login, on_server, plugin, state

SETTLE_SECONDS = 10
# A source on which nobody waits for so long has no writers that could be held up.
IDLE_SECONDS = 1


def plan(server_names, side, wanted_state, variables, plugins, current):
    """The statements to run, in order, and those that follow once a source that is switched on waits for its replicas:
    two lists of (statement, arguments).
    """
    if wanted_state == "absent":
        removals = plugin.uninstall_statements(server_names, side, plugins)
        enabled = server_names.variables(side)["enabled"]
        switch_off = {enabled: 0} if removals else {}
        changes = plugin.variable_changes(switch_off, current)
        return [plugin.set_statement(name, change[1]) for name, change in sorted(changes.items())] + \
            [(statement, None) for statement in removals], []
    statements = [(statement, None) for statement in plugin.install_statements(server_names, side, plugins)]
    changes = plugin.variable_changes(variables, current)
    changes, later = plugin.gentle_start(server_names, side, changes, current)
    return statements + assignments(changes), assignments(later)


def assignments(changes):
    return [plugin.set_statement(name, changes[name][1]) for name in plugin.in_order(changes)]


def statuses(server, server_names, side):
    return state.by_key(server_names.statuses(side), server.semisync_status())


def settle(read, before, seconds=SETTLE_SECONDS, idle_seconds=IDLE_SECONDS, pause=0.05):
    """Wait until a source that was switched on has its first acknowledgement, or nobody commits, or time is up.

    Args:
        read: returns the source's statuses by key.
        before: what it returned before the source was switched on.
    """
    began = quiet_since = time.monotonic()
    while time.monotonic() - began < seconds:
        now = read()
        if plugin.acknowledged(before, now):
            return
        if not plugin.nobody_waits(now):
            quiet_since = time.monotonic()
        elif time.monotonic() - quiet_since >= idle_seconds:
            return
        time.sleep(pause)


def restart_io(server_names):
    return [("%s %s IO_THREAD" % (word, server_names.replica_word), None) for word in ("STOP", "START")]


def show(statement, arguments):
    return statement % tuple(repr(a) if isinstance(a, str) else a for a in arguments) if arguments else statement


def describe(plugins, variables, wanted):
    """One side of the diff: the plugins and the variables in question."""
    lines = ["plugin %s: %s" % item for item in sorted(plugins.items())]
    lines += ["%s = %s" % (name, variables.get(name.lower())) for name in sorted(wanted)]
    return "\n".join(lines) + "\n"


def predict(plugins, variables, wanted, wanted_plugin, wanted_state):
    """Plugins and variables as they would be after the statements, for the diff of check mode."""
    plugins, variables = dict(plugins), dict(variables)
    if wanted_plugin and wanted_state == "present":
        plugins[wanted_plugin[0]] = "ACTIVE"
    elif wanted_plugin:
        plugins.pop(wanted_plugin[0], None)
    variables.update((name.lower(), value) for name, value in wanted.items())
    return plugins, variables


def execute(module, server, steps):
    """Run the statements; in check mode none."""
    for statement, arguments in [] if module.check_mode else steps:
        try:
            server.rows(statement, arguments)
        except Exception as error:  # the drivers share no exception class
            module.fail_json(msg="the server refuses %s: %s" % (show(statement, arguments), error))


def run(module, server, server_names):
    """Bring plugin and variables to what is wanted; what was done."""
    side, wanted, wanted_state = module.params["side"], module.params["variables"], module.params["state"]
    plugins, variables = server.plugins(), server.variables()
    plugin.check_mix(plugins, server.registered_plugins(), server_names.generation)
    channel = state.default_channel(server.channels(server_names))
    steps, later = plan(server_names, side, wanted_state, wanted, plugins, variables)
    counted = statuses(server, server_names, side)
    # INSTALL PLUGIN reads the option files, so a variable may have its wanted value by then.
    execute(module, server, steps)
    if later and not module.check_mode:
        settle(lambda: statuses(server, server_names, side), counted)
    execute(module, server, later)
    asleep = server.semisync_status().get(server_names.statuses("replica")["status"].lower()) != "ON"
    connected = bool(channel) and channel["io_running"] != "No"
    again = restart_io(server_names) if module.params["restart_io_thread"] and connected and (steps or asleep) else []
    execute(module, server, again)
    wanted_plugin = server_names.plugin(side)
    after = predict(plugins, variables, wanted, wanted_plugin, wanted_state) if module.check_mode else \
        (server.plugins(), server.variables())
    return dict(
        changed=bool(steps + later + again), plugin=wanted_plugin[0] if wanted_plugin else None,
        statements=[show(*step) for step in steps + later + again],
        status=dict((key, value) for key, value in statuses(server, server_names, side).items() if value is not None),
        diff={"before": describe(plugins, variables, wanted), "after": describe(*after, wanted=wanted)})


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            side=dict(type="str", choices=["source", "replica"], required=True),
            state=dict(type="str", choices=["present", "absent"], default="present"),
            variables=dict(type="dict", default={}),
            restart_io_thread=dict(type="bool", default=False),
        ),
        supports_check_mode=True,
    )
    on_server.work(module, run, "working on the plugin failed")


if __name__ == "__main__":
    main()
