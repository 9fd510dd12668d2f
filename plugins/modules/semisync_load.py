#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_load
short_description: Run one load on a server and prove that it was done
version_added: "0.1.0"
description:
  - Runs mysqlslap (mariadb-slap on MariaDB) a number of times and keeps the seconds of every run.
  - A run counts only when the tool was silent, its figures were read, and the server's own counters rose by what was asked.
  - Works in a schema of its own, which it drops afterwards; a schema that exists is refused.
  - The load is real and disturbs other clients of the server.
options:
  clients:
    description: Concurrent clients.
    type: int
    default: 10
  queries:
    description: Queries of one run, all clients together.
    type: int
    default: 1000
  iterations:
    description: How many runs are kept.
    type: int
    default: 5
  warmup:
    description: Runs before those, which are thrown away.
    type: int
    default: 1
  load_type:
    description: What the generated SQL does.
    type: str
    choices: [mixed, update, write, key, read]
    default: mixed
  engine:
    description: Storage engine of the generated table.
    type: str
  create:
    description: Your own SQL that creates tables, instead of generated SQL.
    type: str
  query:
    description: Your own SQL to run, instead of generated SQL.
    type: str
  schema:
    description: Name of the schema to work in; it must not exist. Made up when empty.
    type: str
  timeout:
    description: Seconds one run may take.
    type: int
    default: 300
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
attributes:
  check_mode:
    support: full
    details:
      - Runs nothing in check mode.
  diff_mode:
    support: none
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_canary
"""

EXAMPLES = r"""
- name: The document's load, five times
  dbre.semisync.semisync_load:
    clients: 10
    queries: 1000
  register: load

- name: Say how long it took
  ansible.builtin.debug:
    msg: "{{ load.summary.median }} s"
"""

RETURN = r"""
runs:
  description: Every run kept, with its C(seconds), whether it is C(valid), the C(reason) if not, and the C(statements)
    that the server counted.
  returned: success
  type: list
  elements: dict
valid:
  description: Whether every run counts.
  returned: success
  type: bool
summary:
  description: Median, minimum and maximum of the runs that count, in seconds; empty when none does.
  returned: success
  type: dict
  sample: {"median": 0.91, "min": 0.88, "max": 1.02, "runs": 5}
command:
  description: The command, without credentials.
  returned: success
  type: str
"""

import os
import tempfile
import uuid

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import canary, login, names, slap, state


def option_file(params):
    """Text of a [client] section with the module's login; only ever written to a file with mode 0600."""
    options = [("user", params["login_user"] or "root"), ("password", params["login_password"])]
    if params["login_unix_socket"]:
        options.append(("socket", params["login_unix_socket"]))
    else:
        options += [("host", params["login_host"]), ("port", params["login_port"]), ("protocol", "tcp")]
    lines = ['%s="%s"' % (name, str(value).replace("\\", "\\\\").replace('"', '\\"'))
             for name, value in options if value not in (None, "")]
    return "[client]\n" + "\n".join(lines) + "\n"


def write_option_file(module):
    handle, path = tempfile.mkstemp(prefix="semisync-", suffix=".cnf", dir=module.tmpdir)
    with os.fdopen(handle, "w") as stream:
        stream.write(option_file(module.params))
    return path


def run(module, server, command):
    """One run of the tool: its seconds, and whether it counts."""
    params = module.params
    before = server.pairs("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
    code, output, stderr = module.run_command(["timeout", str(params["timeout"])] + command)
    done = slap.counted(before, server.pairs("SHOW GLOBAL STATUS LIKE 'Com\\_%'"))
    if code == 124:
        reason = "the run took longer than %d s" % params["timeout"]
    else:
        # The statements of one's own query are counted by the caller's knowledge only.
        wanted = 1 if params["query"] else slap.asked(params["clients"], params["queries"])
        reason = slap.invalid(code, stderr, output, done, wanted)
    return {"seconds": None if reason else slap.parse_csv(output), "valid": not reason, "reason": reason,
            "statements": done}


def load(module, server, command, schema):
    """All runs, the warm-up thrown away; the schema is gone afterwards whatever happens."""
    params = module.params
    try:
        runs = [run(module, server, command) for dummy in range(params["warmup"] + params["iterations"])]
    finally:
        server.rows("DROP DATABASE IF EXISTS %s" % canary.quote(schema))
    return runs[params["warmup"]:]


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            clients=dict(type="int", default=10),
            queries=dict(type="int", default=1000),
            iterations=dict(type="int", default=5),
            warmup=dict(type="int", default=1),
            load_type=dict(type="str", choices=["mixed", "update", "write", "key", "read"], default="mixed"),
            engine=dict(type="str"),
            create=dict(type="str"),
            query=dict(type="str"),
            schema=dict(type="str"),
            timeout=dict(type="int", default=300),
        ),
        required_by={"create": "query"},
        supports_check_mode=True,
    )
    params = module.params
    for name in ("clients", "queries", "iterations", "timeout"):
        if params[name] < 1:
            module.fail_json(msg="%s is %d; at least 1 is needed" % (name, params[name]))
    if params["queries"] < params["clients"]:
        module.fail_json(msg="queries is %(queries)d, less than clients (%(clients)d): some would do nothing" % params)
    server = state.Server(login.connect_or_fail(module))
    try:
        server_names = state.identify(server)
    except names.UnknownServer as error:
        module.fail_json(msg=str(error))
    program = module.get_bin_path(server_names.slapper)
    if not program:
        module.fail_json(msg="%s is missing on this host; it comes with the server's client package"
                             % server_names.slapper)
    schema = params["schema"] or "semisync_load_" + uuid.uuid4().hex[:12]
    if schema in server.schemas():
        module.fail_json(msg="the schema %s exists; the load works only in a schema of its own" % schema)
    defaults = write_option_file(module)
    command = slap.argv(program, defaults, schema, params)
    try:
        runs = [] if module.check_mode else load(module, server, command, schema)
    finally:
        os.unlink(defaults)
    good = [entry["seconds"] for entry in runs if entry["valid"]]
    module.exit_json(changed=True, runs=runs, valid=bool(runs) and len(good) == len(runs),
                     summary=slap.summary(good) if good else {},
                     command=" ".join(command[:1] + command[2:]))


if __name__ == "__main__":
    main()
