#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_plugin
short_description: Install, remove and configure semi-sync's plugins at run time
version_added: "0.1.0"
description:
  - Installs (C(INSTALL PLUGIN)) or removes (C(UNINSTALL PLUGIN)) the semi-sync plugin of one side
    under its name in the server's version, and sets run-time variables to given values.
  - If semi-sync is built in (MariaDB 10.3.3 and later) there is nothing to install; the
    variables are still set.
  - A plugin installed this way is loaded again at every start, because the server keeps it in
    C(mysql.plugin).
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
  names:
    description:
      - Names of the plugin on MySQL 8.0.26 to 9.4, which have two kinds. V(auto) keeps those that
        the server has, and takes the new ones if it has none.
      - Plugins that the server has are not exchanged.
    version_added: "1.1.0"
    type: str
    choices: [auto, old, new]
    default: auto
  variables:
    description:
      - Global variables, by the server's own names, and their values; set with C(SET GLOBAL) if
        they differ.
      - A plugin's variables can be given together with O(state=present); they are set after it is
        installed.
    type: dict
    default: {}
  restart_io_thread:
    description:
      - Restart the replication IO thread after a change, or if the replica's semi-sync status is
        not ON; without it a replica stays asynchronous (MySQL manual, "Installing Semisynchronous
        Replication"). A stopped thread is left alone.
    type: bool
    default: false
notes:
  - A source that is enabled first gets a timeout of 100 ms, until a commit is acknowledged or no
    client has committed for a second, for at most 10 seconds; then the configured one. So a lagging
    replica delays no writer.
  - With O(state=absent) semi-sync is disabled first. The server refuses while semi-sync replicas
    are connected, and on a replica while its IO thread is semi-sync; the module passes on the
    server's reason.
  - C(super_read_only), if on, is switched off while a plugin is installed or uninstalled.
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
  description: The plugin's name on this server, null if semi-sync is built in.
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
  description: Semi-sync's statuses afterwards, by the collection's keys; empty without the plugin.
  returned: success
  type: dict
"""

import contextlib
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    channels,
    connection,
    login,
    plugin,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        Side,
        Values,
        Variables,
    )

SETTLE_SECONDS = 10
# If no commit waits for so long, the source has no writers that could be delayed.
IDLE_SECONDS = 1


def plan(
    names: Names,
    side: Side,
    wanted_state: str,
    variables: Mapping[str, int | str],
    plugins: dict[str, str],
    current: Variables,
) -> tuple[list[str], list[str]]:
    """The statements to run, in order, and those to run once a source that was switched on waits
    for its replicas.
    """
    if wanted_state == "absent":
        removals = plugin.uninstall_statements(names, side, plugins)
        switch_off = {names.variables(side)["enabled"]: 0} if removals else {}
        return assignments(plugin.variable_changes(switch_off, current)) + removals, []
    changes = plugin.variable_changes(variables, current)
    changes, later = plugin.gentle_start(
        names,
        side,
        changes,
        current,
    )
    statements = plugin.install_statements(names, side, plugins) + assignments(changes)
    return statements, assignments(later)


def assignments(changes: plugin.Changes) -> list[str]:
    return [set_statement(name, changes[name][1]) for name in plugin.in_order(changes)]


def statuses(server: Server, names: Names, side: Side) -> Values:
    return by_key(names.statuses(side), server.semisync_status())


def wait_for_acknowledgement(
    read: Callable[[], Values],
    before: Values,
    seconds: float = SETTLE_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
    pause: float = 0.05,
) -> None:
    """Wait until a source that was switched on has its first acknowledgement, no client commits, or
    time is up.

    Args:
        read: returns the source's statuses by key.
        before: what it returned before the source was switched on.
    """
    quiet_since = time.monotonic()

    def settled() -> bool:
        nonlocal quiet_since
        now = read()
        if plugin.acknowledged(before, now):
            return True
        if plugin.nobody_waits(now):
            return time.monotonic() - quiet_since >= idle_seconds
        quiet_since = time.monotonic()
        return False

    wait_until(settled, seconds, pause)


def restart_io(names: Names) -> list[str]:
    return [f"{word} {names.replica_word} IO_THREAD" for word in ("STOP", "START")]


def plugin_text(
    plugins: dict[str, str], variables: Mapping[str, object], wanted: Mapping[str, int | str]
) -> str:
    """One side of the diff: the plugins and the variables in question."""
    lines = [f"plugin {name}: {status}" for name, status in sorted(plugins.items())]
    lines += [f"{name} = {variables.get(name.lower())}" for name in sorted(wanted)]
    return "\n".join(lines) + "\n"


def predict(
    plugins: dict[str, str],
    variables: Variables,
    wanted: Mapping[str, int | str],
    wanted_plugin: tuple[str, str] | None,
    wanted_state: str,
) -> tuple[dict[str, str], dict[str, object]]:
    """Plugins and variables as they would be after the statements, for the diff of check mode."""
    plugins = dict(plugins)
    if wanted_plugin and wanted_state == "present":
        plugins[wanted_plugin[0]] = "ACTIVE"
    elif wanted_plugin:
        plugins.pop(wanted_plugin[0], None)
    set_to = {name.lower(): value for name, value in wanted.items()}
    return plugins, {**variables, **set_to}


def execute(module: AnsibleModule, server: Server, statements: list[str]) -> None:
    """Run the statements; in check mode none."""
    for statement in [] if module.check_mode else statements:
        # A server that is super_read_only refuses to record it.
        written = re.match(r"(UN)?INSTALL ", statement)
        try:
            with connection.open_to_root(server) if written else contextlib.nullcontext():
                server.rows(statement)
        except ServerError as error:
            module.fail_json(msg=f"the server refuses {statement}: {error}")


def restarts(
    module: AnsibleModule,
    server: Server,
    names: Names,
    channel: Channel | None,
    steps: list[str],
) -> list[str]:
    """The statements that restart the IO thread, if the change needs that to take effect."""
    if not module.params["restart_io_thread"]:
        return []
    status = names.statuses("replica")["status"].lower()
    asleep = server.semisync_status().get(status) != "ON"
    connected = channel is not None and channel["io_running"] != "No"
    return restart_io(names) if connected and (steps or asleep) else []


def set_plugin(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Bring plugin and variables to the wanted state; return what was done."""
    side = module.params["side"]
    wanted = module.params["variables"]
    if module.params["names"] != "auto" and not server.plugins():
        names = names.called(module.params["names"])
    wanted_state = module.params["state"]
    plugins = server.plugins()
    variables = server.variables()
    plugin.check_mix(plugins, server.registered_plugins(), names.generation)
    channel = channels.default_channel(server.channels(names))
    steps, later = plan(
        names,
        side,
        wanted_state,
        wanted,
        plugins,
        variables,
    )
    counted = statuses(server, names, side)
    # INSTALL PLUGIN reads the option files, so a variable may already have its wanted value.
    execute(module, server, steps)
    if later and not module.check_mode:
        wait_for_acknowledgement(lambda: statuses(server, names, side), counted)
    execute(module, server, later)
    again = restarts(
        module,
        server,
        names,
        channel,
        steps,
    )
    execute(module, server, again)
    wanted_plugin = names.plugin(side)
    after = (
        predict(
            plugins,
            variables,
            wanted,
            wanted_plugin,
            wanted_state,
        )
        if module.check_mode
        else (server.plugins(), server.variables())
    )
    done = steps + later + again
    status = statuses(server, names, side)
    return {
        "changed": bool(done),
        "plugin": wanted_plugin[0] if wanted_plugin else None,
        "statements": done,
        "status": {key: value for key, value in status.items() if value is not None},
        "diff": {
            "before": plugin_text(plugins, variables, wanted),
            "after": plugin_text(after[0], after[1], wanted),
        },
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            side={"type": "str", "choices": ["source", "replica"], "required": True},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            names={"type": "str", "choices": ["auto", "old", "new"], "default": "auto"},
            variables={"type": "dict", "default": {}},
            restart_io_thread={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    connection.work(module, set_plugin, "working on the plugin failed")


if __name__ == "__main__":
    main()
