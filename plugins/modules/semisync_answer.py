#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_answer
short_description: (internal) Set the HTTP answer for routers up, or take it away
version_added: "1.0.0"
description:
  - Writes the service that reports over HTTP whether this host's server takes writes, with its
    systemd units and settings, and creates its account on the server. The password is made here and
    never leaves the host.
  - Nothing is written to the binary log.
  - With O(state=absent) removes all of it. What the host's servers share is removed with the last
    of them.
options:
  state:
    description: Whether the answer is set up or removed.
    type: str
    choices: [present, absent]
    default: present
  port:
    description: TCP port of the answer. Needed with O(state=present).
    type: int
  address:
    description: Address it listens on; empty for all.
    type: str
    default: ""
  schema:
    description: Schema of the journal.
    type: str
    default: important
  begins:
    description: Whether the cluster began with this server as its source; it counts until the
      journal has a row.
    type: bool
    default: false
  peers:
    description: Where the answers of the cluster's other hosts are, such as V(db2:8008). A server
      that takes writes asks them whether it lost the source's role while it was down.
    type: list
    elements: str
    default: []
  program:
    description: Text of the service. Needed with O(state=present).
    type: str
  places:
    description: Text of the Python module beside the service. Needed with O(state=present).
    version_added: "1.1.0"
    type: str
  allow:
    description: Addresses, networks and names that may ask; no limit if empty.
    version_added: "1.1.0"
    type: list
    elements: str
    default: []
  filter:
    description: Addresses and networks that systemd lets in besides the host itself; all if empty.
    version_added: "1.1.0"
    type: list
    elements: str
    default: []
notes:
  - C(super_read_only), if on, is switched off during the statements.
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: Answer routers at port 8008
  dbre.semisync.semisync_answer:
    port: 8008
    program: "{{ lookup('ansible.builtin.file', 'answer.py') }}"
    places: "{{ lookup('ansible.builtin.file', 'places.py') }}"
"""

RETURN = r"""
steps:
  description: What was done, or would be in check mode, in words.
  returned: success
  type: list
  elements: str
  sample: ["write /etc/systemd/system/dbre-semisync-answer-3306.socket", "make the account"]
shared:
  description: Whether another server of the host has an answer too, which needs the same system
    account.
  returned: success
  type: bool
said:
  description: What GET /source returns now; null if it was removed, or in check mode.
  returned: success
  type: dict
"""

import glob
import os
import sys
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout, units
from ansible_collections.dbre.semisync.plugins.module_utils._answer.set_up import (
    give_login,
    others,
    outcome,
    remove_service,
    systemctl,
    write_file,
)
from ansible_collections.dbre.semisync.plugins.module_utils._answer.units import (
    EXISTS,
    creation,
    removal,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Answer,
        Said,
        Variables,
    )

# Seconds until a service that was just started answers.
STARTING = 10


def goes(name: str, where: dict[str, str]) -> bool:
    """Whether a file goes with this answer; the heartbeat's service needs the program, too."""
    return name not in ("program", "places") or not (
        others(answer_layout.EVERY, where) or glob.glob(answer_layout.BEATS)
    )


def wanted_files(module: AnsibleModule, names: Names, variables: Variables) -> dict[str, str]:
    if module.params["state"] == "absent":
        return {}
    return units.files(
        int(variables["port"] or 0),
        module.params,
        module.params["program"],
        module.params["places"],
        sys.executable,
        variables["socket"] or "",
        names.show_channels,
    )


def present(
    module: AnsibleModule,
    server: Server,
    names: Names,
    variables: Variables,
    now: Answer | None,
    wanted: dict[str, str],
) -> list[str]:
    """Bring files, account and units to the wanted state; return what was done."""
    params = module.params
    port = int(variables["port"] or 0)
    where = answer_layout.paths(port)
    unit = answer_layout.unit(port)
    lacking = answer_layout.lacking(now, wanted)
    writing = [path for path in sorted(wanted) if path in lacking]
    exists = bool(server.rows(*EXISTS))
    new_login = not exists or answer_layout.LOGIN in lacking
    again = bool(lacking) or new_login
    steps = [f"write {path}" for path in writing]
    steps += ["make the account, with a new password"] if new_login else []
    steps += [f"start {unit}.socket"] if again else []
    if module.check_mode:
        return steps
    for path in writing:
        write_file(path, wanted[path], 0o644)
    if new_login:
        give_login(
            server,
            where["password"],
            answer_layout.SYSTEM_USER,
            removal() if exists else [],
            lambda password: creation(names, params["schema"], password),
        )
    if again:
        systemctl(module, "daemon-reload")
        systemctl(module, "enable", f"{unit}.socket")
        systemctl(
            module,
            "stop",
            f"{unit}.socket",
            f"{unit}.service",
        )
        systemctl(module, "start", f"{unit}.socket")
    return steps


def absent(
    module: AnsibleModule,
    server: Server,
    variables: Variables,
    now: Answer | None,
) -> list[str]:
    """Remove units, account and files; return what was done."""
    port = int(variables["port"] or 0)
    where = answer_layout.paths(port)
    unit = answer_layout.unit(port)
    exists = bool(server.rows(*EXISTS))
    gone = [path for name, path in where.items() if os.path.lexists(path) and goes(name, where)]
    steps = ([f"stop {unit}.socket"] if now else []) + (["drop the account"] if exists else [])
    steps += [f"remove {path}" for path in gone]
    if module.check_mode:
        return steps
    remove_service(
        module,
        server,
        [f"{unit}.socket", f"{unit}.service"] if now else [],
        removal() if exists else [],
        gone,
    )
    return steps


def said_now(server_port: int) -> Said | None:
    """What the answer reports now; None if there is none."""
    now = answer_layout.installed_answer(server_port)
    return now["said"] if now else None


def said_in_time(server_port: int) -> Said | None:
    """What an answer says that was just started; the last of it if it has no status in time."""
    return wait_until(
        lambda: said_now(server_port),
        STARTING,
        0.2,
        enough=lambda answer: answer and answer["status"] is not None,
    )


def set_answer(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    variables = server.variables()
    port = int(variables["port"] or 0)
    now = answer_layout.installed_answer(port)
    said = None
    wanted = wanted_files(module, names, variables)
    if module.params["state"] == "present":
        steps = present(module, server, names, variables, now, wanted)
        said = None if module.check_mode else said_in_time(port)
        if said and said["kind"] == "login":
            # An answer that was stopped says only after its start that its password is not right.
            steps += present(
                module, server, names, variables, answer_layout.installed_answer(port), wanted
            )
            said = said_in_time(port)
    else:
        steps = absent(
            module,
            server,
            variables,
            now,
        )
    shared = bool(others(answer_layout.EVERY, answer_layout.paths(port)))
    return {**outcome(steps, shared, now["files"] if now else {}, wanted), "said": said}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            port={"type": "int"},
            address={"type": "str", "default": ""},
            schema={"type": "str", "default": "important"},
            begins={"type": "bool", "default": False},
            peers={"type": "list", "elements": "str", "default": []},
            program={"type": "str"},
            places={"type": "str"},
            allow={"type": "list", "elements": "str", "default": []},
            filter={"type": "list", "elements": "str", "default": []},
        ),
        required_if=[("state", "present", ["port", "program", "places"])],
        supports_check_mode=True,
    )
    connection.work(module, set_answer, "the HTTP answer could not be set up")


if __name__ == "__main__":
    main()
