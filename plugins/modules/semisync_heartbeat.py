#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_heartbeat
short_description: (internal) Set the heartbeat's service up, or remove it
version_added: "1.1.0"
description:
  - Writes the service that records what the source knows of itself, its systemd unit and its
    settings, and gives it an account on the server with a password that is made here and never
    leaves the host. The account is in no binary log.
  - On the source it creates the table, and the view that exporters read; both replicate.
  - With O(state=absent) service, account and view go, and the table stays. The view is dropped
    outside the binary log. What other servers of the host share goes with the last.
options:
  state:
    description: Whether it shall be there.
    type: str
    choices: [present, absent]
    default: present
  interval:
    description: Seconds between two beats. Needed with O(state=present).
    type: int
  schema:
    description: Schema of the journal and of the heartbeat's table.
    type: str
    default: important
  begins:
    description: Whether the cluster began with this server as its source, which counts until the
      journal has a row.
    type: bool
    default: false
  table:
    description: Whether this server creates the table and its view, if they are missing.
    type: bool
    default: false
  programs:
    description: Text of the service as C(program), and of C(answer) and C(places), from which it
      imports. Needed with O(state=present).
    type: dict
notes:
  - On a server with C(super_read_only) it is off for the time of the statements.
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: Beat each second
  dbre.semisync.semisync_heartbeat:
    interval: 1
    programs:
      program: "{{ lookup('ansible.builtin.file', 'heartbeat.py', rstrip=false) }}"
      answer: "{{ lookup('ansible.builtin.file', 'answer.py', rstrip=false) }}"
      places: "{{ lookup('ansible.builtin.file', 'places.py', rstrip=false) }}"
"""

RETURN = r"""
steps:
  description: What was done, or would be in check mode, in words.
  returned: success
  type: list
  elements: str
  sample: ["write /etc/systemd/system/dbre-semisync-heartbeat-3306.service", "make the account"]
shared:
  description: Whether another server of the host has the service too, which needs the same account
    of the system.
  returned: success
  type: bool
active:
  description: Whether the service runs now; null if it was removed, or in check mode.
  returned: success
  type: bool
"""

import glob
import os
import sys
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._answer.set_up import (
    give_login,
    others,
    outcome,
    remove_service,
    systemctl,
    write_file,
)
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import (
    beat_place,
    beat_units,
    rows,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Heartbeat,
        Variables,
    )

# Seconds until a service that was just started has ended, if it does.
STARTING = 3


def goes(name: str, where: dict[str, str]) -> bool:
    """Whether a file goes with this service; the HTTP answer has two of the programs."""
    rest = others(answer_layout.BEATS, where)
    if name == "program":
        return not rest
    return name not in beat_place.SHARED or not (rest or glob.glob(answer_layout.EVERY))


def wanted_files(module: AnsibleModule, names: Names, variables: Variables) -> dict[str, str]:
    params = module.params
    if params["state"] == "absent":
        return {}
    wanted = beat_units.Wanted(
        interval=params["interval"],
        schema=params["schema"],
        begins=params["begins"],
        python=sys.executable,
        names=names,
        variables=variables,
    )
    return beat_units.files(int(variables["port"] or 0), wanted, params["programs"])


def lacks(server: Server, schema: str, name: str) -> bool:
    """Whether there is no such table or view."""
    return not server.rows(
        "SELECT 1 AS there FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND"
        " TABLE_NAME = %s",
        (schema, name),
    )


def to_create(server: Server, schema: str) -> tuple[list[str], list[str]]:
    """(names of the table and the view that are missing, statements that create them)."""
    made: tuple[list[str], list[str]] = ([], [])
    parts = {rows.TABLE: rows.create_statements(schema), rows.VIEW: [rows.view_statement(schema)]}
    for name, statements in parts.items():
        if lacks(server, schema, name):
            made[0].append(rows.table_name(schema, name))
            made[1].extend(statements)
    return made


def make_account(module: AnsibleModule, server: Server, names: Names, variables: Variables) -> None:
    """The account with a new password; one that is there goes first."""
    exists = bool(server.rows(*beat_units.EXISTS))
    where = beat_place.paths(int(variables["port"] or 0))
    threads = beat_units.sees_threads(names, variables)
    schema = module.params["schema"]
    give_login(
        server,
        where["password"],
        beat_place.SYSTEM_USER,
        beat_units.removal() if exists else [],
        lambda password: beat_units.creation(names, schema, password, threads),
    )


def present(
    module: AnsibleModule,
    server: Server,
    names: Names,
    variables: Variables,
    now: Heartbeat | None,
    wanted: dict[str, str],
) -> list[str]:
    """Bring table, files, account and unit to what is wanted; what was done."""
    params, port = module.params, int(variables["port"] or 0)
    lacking = beat_place.differences(now, wanted)
    writing = [path for path in sorted(wanted) if path in lacking]
    missing, creates = to_create(server, params["schema"]) if params["table"] else ([], [])
    # Other settings may ask what its privileges do not reach.
    new_login = not server.rows(*beat_units.EXISTS) or bool(
        {beat_place.LOGIN, beat_place.paths(port)["settings"]} & set(lacking)
    )
    again = bool(lacking) or new_login
    unit = f"{beat_place.unit(port)}.service"
    steps = [f"create {name}" for name in missing]
    steps += [f"write {path}" for path in writing]
    steps += ["make the account, with a new password"] if new_login else []
    steps += [f"start {unit}"] if again else []
    if module.check_mode:
        return steps
    for statement in creates:
        server.rows(statement)
    for path in writing:
        write_file(path, wanted[path], 0o644)
    if new_login:
        make_account(module, server, names, variables)
    if again:
        systemctl(module, "daemon-reload")
        systemctl(module, "enable", unit)
        systemctl(module, "restart", unit)
    return steps


def absent(
    module: AnsibleModule, server: Server, variables: Variables, now: Heartbeat | None
) -> list[str]:
    """Remove unit, account and files; what was done."""
    port = int(variables["port"] or 0)
    where, unit = beat_place.paths(port), f"{beat_place.unit(port)}.service"
    schema = module.params["schema"]
    exists = bool(server.rows(*beat_units.EXISTS))
    seen = not lacks(server, schema, rows.VIEW)
    gone = [path for name, path in where.items() if os.path.lexists(path) and goes(name, where)]
    # The program of an answer that is there is not ours alone.
    gone = gone if now or exists else []
    steps = ([f"stop {unit}"] if now else []) + (["drop the account"] if exists else [])
    steps += [f"drop {rows.table_name(schema, rows.VIEW)}"] if seen else []
    steps += [f"remove {path}" for path in gone]
    # Not in the binary log: such a commit waits for no replica, and each host drops its own.
    drops = [rows.drop_view(schema)] if seen else []
    if module.check_mode:
        return steps
    remove_service(
        module,
        server,
        [unit] if now else [],
        drops + (beat_units.removal() if exists else []),
        gone,
    )
    return steps


def run(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    variables = server.variables()
    port = int(variables["port"] or 0)
    now = beat_place.read_service(module, port)
    wanted, active = wanted_files(module, names, variables), None
    if module.params["state"] == "present":
        steps = present(module, server, names, variables, now, wanted)
        if not module.check_mode:
            # It ends at once if it cannot run at all.
            active = wait_until(
                lambda: beat_place.state_of(module, port)[0],
                STARTING,
                1,
                enough=lambda runs: not runs,
            )
    else:
        steps = absent(module, server, variables, now)
    shared = bool(others(answer_layout.BEATS, beat_place.paths(port)))
    return {**outcome(steps, shared, now["files"] if now else {}, wanted), "active": active}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            interval={"type": "int"},
            schema={"type": "str", "default": "important"},
            begins={"type": "bool", "default": False},
            table={"type": "bool", "default": False},
            programs={"type": "dict"},
        ),
        required_if=[("state", "present", ["interval", "programs"])],
        supports_check_mode=True,
    )
    connection.work(module, run, "the heartbeat could not be set up")


if __name__ == "__main__":
    main()
