#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_setting
short_description: Set a source or replica up for a measurement, and be sure that it ends
version_added: "0.1.0"
description:
  - Sets replication mode, durability and semi-sync's variables at run time, and puts back what was there before.
  - Before anything is changed, the first values are kept on the host and a systemd timer is started that puts them back
    after O(rollback_after) seconds, so that a lost controller or a killed run leaves nothing behind. Both are in memory, as
    the settings are; a restarted server has the values of its option files.
  - O(state=present) again changes the settings and starts the timer's time anew; the values to put back stay the first
    ones.
options:
  state:
    description: V(present) sets, V(absent) puts everything back.
    type: str
    choices: [present, absent]
    default: present
  role:
    description: The host's side.
    type: str
    choices: [source, replica]
    required: true
  replication:
    description:
      - V(semisync) switches semi-sync on at the source, V(async) and V(none) switch it off there. With V(none) the replica's IO
        thread is stopped, with the others it is started.
      - The source waits until its replicas are connected (with V(none), until none is) before the module returns.
    type: str
    choices: [none, async, semisync]
  variables:
    description: Values of C(sync_binlog), C(innodb_flush_log_at_trx_commit), C(timeout) in milliseconds, C(wait_point) and
      C(wait_for_replica_count). The last three are set on a source only.
    type: dict
    default: {}
  replicas:
    description: How many replicas the source waits for.
    type: int
    default: 1
  wait_timeout:
    description: Seconds the source waits for them, and seconds that O(state=absent) waits for a server that does not answer.
    type: int
    default: 60
  schema:
    description: A schema that the load will create; it is dropped with everything else where it was left behind. It must not
      exist when it is named for the first time.
    type: str
  account:
    description: An account to be created for the load, dropped with everything else. It may do everything in O(schema).
    type: dict
    suboptions:
      user:
        description: Its name; it must not exist when it is named for the first time.
        type: str
        required: true
      host:
        description: Where it may come from.
        type: str
        default: "%"
      password:
        description: Its password.
        type: str
        required: true
  rollback_after:
    description: Seconds after which the host puts everything back by itself, from 10 to 86400.
    type: int
    default: 900
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
notes:
  - Takes root (use C(become)) and systemd.
  - The login is kept in a file only root can read until everything is put back, because the timer needs it.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_load
  - module: dbre.semisync.netem
"""

EXAMPLES = r"""
- name: Asynchronous and without durability, for a quarter of an hour at most
  dbre.semisync.semisync_setting:
    role: source
    replication: async
    variables:
      sync_binlog: 0
      innodb_flush_log_at_trx_commit: 0

- name: As it was
  dbre.semisync.semisync_setting:
    role: source
    state: absent
"""

RETURN = r"""
statements:
  description: What was run, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["SET GLOBAL rpl_semi_sync_source_enabled = 'OFF'"]
kept:
  description: What will be put back, C(variables), C(io) (whether the IO thread ran), C(schemas) and C(accounts); empty when
    everything is.
  returned: success
  type: dict
rollback_at:
  description: When the host puts everything back by itself, UTC; null when there is nothing to.
  returned: success
  type: str
"""

import json
import os
import shutil
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import load, login, names, setting, state

KEPT = os.path.join(setting.FOLDER, "kept.json")
# Seconds that a sender may take to see that its replica is gone; then it is ended.
LINGER = 2


class Failed(Exception):
    """It cannot or must not be done; the text says why."""


class Guard(object):
    """What the host keeps to put everything back, and the timer that does it."""

    def __init__(self, module):
        self.module = module

    def kept(self):
        try:
            with open(KEPT) as stream:
                return json.load(stream)
        except (IOError, OSError, ValueError):
            return {}

    def arm(self, kept, statements, seconds):
        """Keep everything that a rollback needs and start its timer, then stop older ones."""
        client = self.module.get_bin_path("mariadb") or self.module.get_bin_path("mysql")
        if not client or not os.path.isdir("/run/systemd/system"):
            raise Failed("nothing was changed: without %s nothing would put the settings back if this controller were lost"
                         % ("systemd" if client else "the mysql client"))
        if not os.path.isdir(setting.FOLDER):
            os.mkdir(setting.FOLDER, 0o700)
        for name, text in (("login.cnf", load.option_file(login.tool_params(self.module.params))),
                           ("restore.sql", ";\n".join(statements) + ";\n"), ("kept.json", json.dumps(kept))):
            self.write(os.path.join(setting.FOLDER, name), text)
        unit = "%s%d" % (setting.UNIT, time.time() * 1000)
        self.run(*setting.arm_command(unit, seconds, setting.restore_script(client)))
        self.disarm(but=unit)

    @staticmethod
    def write(path, text):
        handle = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        os.rename(path + ".part", path)

    def run(self, *words):
        code, output, stderr = self.module.run_command(list(words))
        if code:
            raise Failed("%s failed: %s" % (" ".join(words[:2]), (stderr or output).strip()))
        return output

    def disarm(self, but=None):
        listed = self.run("systemctl", "list-units", "--plain", "--no-legend", "--no-pager", "--all", "--type=timer",
                          setting.UNIT + "*")
        timers = [line.split()[0] for line in listed.splitlines() if line.startswith(setting.UNIT)]
        old = [timer for timer in timers if timer != "%s.timer" % but]
        if old:
            self.run("systemctl", "stop", *old)

    def forget(self):
        self.disarm()
        shutil.rmtree(setting.FOLDER, ignore_errors=True)


def io_runs(server, server_names):
    channel = state.default_channel(server.channels(server_names))
    return bool(channel) and channel["io_running"] in ("Yes", "Connecting", "Preparing")


def settle(module, server, server_names):
    """Wait until the source's replicas are connected as the replication mode wants them.

    Raises:
        Failed: they are not in time.
    """
    params, begin = module.params, time.time()
    while True:
        reason = load.unready(params, state.pulse(server, server_names))
        if not reason:
            return
        if time.time() - begin > params["wait_timeout"]:
            raise Failed("%s after %d s" % (reason, params["wait_timeout"]))
        if params["replication"] == "none" and time.time() - begin > LINGER:
            end_senders(server)
        time.sleep(0.1)


def end_senders(server):
    """End senders to replicas that are gone: until the next event they do not see it."""
    for number in server.senders():
        try:
            server.rows("KILL %d" % number)
        except Exception as error:  # the drivers share no exception class
            if not error.args or error.args[0] != 1094:  # no such thread any more
                raise


def present(module, server, server_names, guard):
    params, kept = module.params, guard.kept()
    replica, mode, account = params["role"] == "replica", params["replication"], params["account"]
    wanted = setting.wanted_variables(server_names, params["role"], mode, params["variables"])
    now = server.variables()
    runs = replica and io_runs(server, server_names)
    wants_io = mode != "none" if replica and mode else None
    if params["schema"] and params["schema"] not in kept.get("schemas", []) and params["schema"] in server.schemas():
        raise Failed("the schema %s exists; name one that does not" % params["schema"])
    who = (account["user"], account["host"]) if account else None
    new_account = who and list(who) not in kept.get("accounts", [])
    if new_account and server.rows("SELECT 1 FROM mysql.user WHERE User = %s", (who[0],)):
        raise Failed("the account %s exists; name one that does not" % who[0])
    kept = setting.remembered(kept, now, wanted, runs, wants_io, params["schema"], who)
    statements = setting.changes(now, wanted)
    if wants_io is not None and wants_io != runs:
        statements.append(setting.io_statement(server_names, wants_io))
    result = {"statements": list(statements), "kept": kept, "changed": bool(statements or new_account)}
    if new_account:
        result["statements"].append("CREATE USER %s" % setting.account_name(*who))
    if not module.check_mode:
        guard.arm(kept, setting.restore_statements(server_names, kept), params["rollback_after"])
        for statement in statements:
            server.rows(statement)
        if new_account:
            for statement in setting.account_statements(who[0], who[1], params["schema"]):
                server.rows(statement, (account["password"],) if statement.startswith("CREATE") else None)
        if not replica and mode:
            settle(module, server, server_names)
    result["rollback_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + params["rollback_after"]))
    return result


def absent(module, server, server_names, guard):
    kept = guard.kept()
    statements = setting.restore_statements(server_names, kept, server.variables())
    if not module.check_mode:
        for statement in statements:
            server.rows(statement)
        guard.forget()
    return {"statements": statements, "kept": {}, "changed": bool(statements), "rollback_at": None}


def connect(module):
    """A cursor. To put settings back, a server that is just starting is waited for: it may have been killed by a load."""
    login.require_driver(module)
    until = time.time() + (module.params["wait_timeout"] if module.params["state"] == "absent" else 0)
    while True:
        try:
            return login.connect(module)
        except Exception as error:  # the drivers share no exception class
            if time.time() > until or error.args[:1] and error.args[0] in login.ACCESS_DENIED:
                module.fail_json(msg=login.explain(error, module.params), reason="login")
        time.sleep(1)


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state=dict(type="str", choices=["present", "absent"], default="present"),
            role=dict(type="str", choices=["source", "replica"], required=True),
            replication=dict(type="str", choices=["none", "async", "semisync"]),
            variables=dict(type="dict", default={}),
            replicas=dict(type="int", default=1),
            wait_timeout=dict(type="int", default=60),
            schema=dict(type="str"),
            account=dict(type="dict", options=dict(
                user=dict(type="str", required=True), host=dict(type="str", default="%"),
                password=dict(type="str", required=True, no_log=True))),
            rollback_after=dict(type="int", default=900),
        ),
        required_by={"account": "schema"},
        supports_check_mode=True,
    )
    if not 10 <= module.params["rollback_after"] <= 86400:
        module.fail_json(msg="rollback_after is %(rollback_after)d; from 10 to 86400 seconds are possible" % module.params)
    server = state.Server(connect(module))
    try:
        task = present if module.params["state"] == "present" else absent
        result = task(module, server, state.identify(server), Guard(module))
    except (Failed, ValueError, names.UnknownServer) as error:
        module.fail_json(msg=str(error))
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg="the server refused a setting: %s" % error)
    before = "".join("%s;\n" % statement for statement in result["statements"])
    module.exit_json(diff={"before": "", "after": before}, **result)


if __name__ == "__main__":
    main()
