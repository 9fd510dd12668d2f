#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_names
short_description: (internal) Exchange semi-sync's plugins for those with the other names
version_added: "1.1.0"
description:
  - From C(rpl_semi_sync_master) and C(rpl_semi_sync_slave) to C(rpl_semi_sync_source) and
    C(rpl_semi_sync_replica), or back, while a replica runs. The values of their variables stay.
  - The IO thread stops meanwhile, which takes a fraction of a second. A server that acts as a
    source is refused.
  - A process stays on the host until the exchange is complete or taken back. It finishes the
    exchange, or rolls it back, if the module is killed or loses its connection.
options:
  names:
    description: The names that the server is to have; it must be of a version with both.
    type: str
    choices: [old, new]
    required: true
  timeout:
    description: Seconds for each wait.
    type: int
    default: 10
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_plugin
"""

EXAMPLES = r"""
- name: The new names on a replica
  dbre.semisync.semisync_names:
    names: new
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["UNINSTALL PLUGIN rpl_semi_sync_slave"]
"""

import json

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    plugin_names,
    watchdog,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

# Seconds until a server that was killed with the module answers again.
RESTART = 60
PAUSE = 0.2
OTHER = {"old": "new", "new": "old"}


def exchange_of(module: AnsibleModule, server: Server, names: Names) -> plugin_names.Exchange:
    """This host's exchange."""
    wanted = module.params["names"]
    return plugin_names.Exchange(
        server, names.called(OTHER[wanted]), names.called(wanted), module.params["timeout"]
    )


def recover(module: AnsibleModule, begun: str) -> None:
    """Finish what a module has begun that was killed, or lost its server.

    Raises:
        ServerError, ExchangeError: it cannot be finished.
    """
    servers: list[Server] = []
    errors: list[ServerError] = []

    def reached() -> bool:
        try:
            servers.append(Server(login.connect(module)))
        except ServerError as error:
            errors.append(error)
        return bool(servers)

    if not clock.wait_until(reached, RESTART, PAUSE):
        raise errors[-1]
    exchange_of(module, servers[0], connection.identify(servers[0])).finish(json.loads(begun))
    connection.close(servers[0])


def set_names(
    module: AnsibleModule, server: Server, names: Names, dog: watchdog.Watchdog | None
) -> dict[str, object]:
    """Bring the server to the wanted names; return what was done."""
    exchange = exchange_of(module, server, names)
    if names.generation == exchange.after.generation:
        done: list[str] = []
    else:
        begun = exchange.begun()
        planned = plugin_names.steps(
            exchange.before, exchange.after, server.plugins(), begun["values"]
        )
        done = planned.all
        if dog:
            dog.report_stage(json.dumps(begun, separators=(",", ":")))
            perform(exchange, begun, dog)
            done = exchange.done
    if dog:
        dog.end()
    return {"changed": bool(done), "statements": done}


def perform(
    exchange: plugin_names.Exchange, begun: plugin_names.Begun, dog: watchdog.Watchdog
) -> None:
    """Exchange the plugins. The watchdog is left to finish what fails, unless the server is as it
    was.

    Raises:
        ServerError, ValueError: it failed.
    """
    try:
        exchange.perform(begun)
    except plugin_names.ExchangeError:
        dog.end()
        raise


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            names={"type": "str", "choices": ["old", "new"], "required": True},
            timeout={"type": "int", "default": 10},
        ),
        supports_check_mode=True,
    )
    dog = None
    if not module.check_mode:
        # Before there is any connection.
        longest = watchdog.seconds(module.params["timeout"])
        dog = watchdog.Watchdog(lambda begun: recover(module, begun), longest)
        dog.let_part_explain(module)
    connection.work(
        module,
        lambda module, server, names: set_names(module, server, names, dog),
        "exchanging the plugins failed; a process on the host goes on trying for a minute",
    )


if __name__ == "__main__":
    main()
