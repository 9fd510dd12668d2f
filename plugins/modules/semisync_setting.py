#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_setting
short_description: (internal) Change settings for a measurement, with an automatic rollback
version_added: "1.0.0"
description:
  - Sets replication mode, durability and semi-sync's variables at run time, and restores the
    previous values.
  - Before any change, the original values are kept on the host and a systemd timer is started that
    restores them after O(rollback_after) seconds, so that a lost controller or a killed run leaves
    nothing behind. Values and timer are in memory, as the settings are; a restarted server has the
    values of its option files. What was created on the server is listed in a file that survives a
    reboot, so that O(state=absent) drops it even then.
  - A repeated O(state=present) changes the settings and restarts the timer; the values to restore
    are still the original ones.
options:
  state:
    description: V(present) changes the settings, V(absent) restores everything.
    type: str
    choices: [present, absent]
    default: present
  side:
    description: The host's side.
    type: str
    choices: [source, replica]
    required: true
  replication:
    description:
      - V(semisync) switches semi-sync on at the source, V(async) and V(none) switch it off there.
        V(none) stops the replica's IO thread, the others start it.
      - On the source, the module returns only when its replicas are connected, or with V(none) when
        none is.
    type: str
    choices: [none, async, semisync]
  variables:
    description: Values of C(sync_binlog), C(innodb_flush_log_at_trx_commit), C(timeout) in
      milliseconds, C(wait_point) and
      C(wait_for_replica_count). The last three are set on a source only.
    type: dict
    default: {}
  replicas:
    description: How many replicas the source waits for.
    type: int
    default: 1
  wait_timeout:
    description: Seconds to wait for the source's replicas, and seconds that O(state=absent) waits
      for a server that does not answer.
    type: int
    default: 60
  schema:
    description: A schema that the load will create; if it is left over, it is dropped with
      everything else. It must not exist when it is first named.
    type: str
  account:
    description: An account to be created for the load, dropped with everything else. It has all
      privileges on O(schema).
    type: dict
    suboptions:
      user:
        description: Its name; the account must not exist when it is first named.
        type: str
        required: true
      host:
        description: The host that it may log in from.
        type: str
        default: "%"
      password:
        description: Its password.
        type: str
        required: true
  rollback_after:
    description: Seconds after which the host restores everything by itself, from 10 to 86400.
    type: int
    default: 900
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
notes:
  - Needs root (use C(become)) and systemd.
  - The login is kept in a file that only root can read until everything is restored, because the
    timer needs it.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_load
  - module: dbre.semisync.netem
"""

EXAMPLES = r"""
- name: Asynchronous and without durability, for a quarter of an hour at most
  dbre.semisync.semisync_setting:
    side: source
    replication: async
    variables:
      sync_binlog: 0
      innodb_flush_log_at_trx_commit: 0

- name: As it was
  dbre.semisync.semisync_setting:
    side: source
    state: absent
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["SET GLOBAL rpl_semi_sync_source_enabled = 'OFF'"]
kept:
  description: What will be restored, C(variables), C(io) (whether the IO thread ran), C(schemas)
    and C(accounts); empty when everything is.
  returned: success
  type: dict
rollback_at:
  description: When the host restores everything by itself, UTC; null if there is nothing to
    restore.
  returned: success
  type: str
reason:
  description: V(login) if the server refused the login.
  returned: on failure
  type: str
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import temporary_settings
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Kept,
    NewAccount,
    SettingOptions,
    SettingResult,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.settings_rollback import (
    SettingError,
    SettingsRollback,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.snapshot import (
    take_snapshot,
    unready,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import utc, wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import default_channel
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import account_name

# Seconds that a sender thread may take to notice that its replica is gone; then it is ended.
LINGER = 2
# ER_NO_SUCH_THREAD: it has ended already.
NO_SUCH_THREAD = 1094


def io_runs(server: Server, names: Names) -> bool:
    """Whether a replica's IO thread is at work, connected or not."""
    channel = default_channel(server.channels(names))
    return channel is not None and channel["io_running"] in ("Yes", "Connecting", "Preparing")


def wait_for_replicas(module: AnsibleModule, server: Server, names: Names) -> None:
    """Wait until the source's replicas are connected as the replication mode requires.

    Raises:
        SettingError: they are not in time.
    """
    params = module.params
    begin = time.monotonic()

    def look() -> str:
        reason = unready(params, take_snapshot(server, names))
        if reason and params["replication"] == "none" and time.monotonic() - begin > LINGER:
            end_senders(server)
        return reason

    reason = wait_until(
        look,
        params["wait_timeout"],
        0.1,
        enough=lambda reason: not reason,
    )
    if reason:
        raise SettingError(f"{reason} after {int(params['wait_timeout'])} s")


def end_senders(server: Server) -> None:
    """End the sender threads of replicas that are gone: they notice only at the next event."""
    for number in server.senders():
        try:
            server.rows(f"KILL {number}")
        except ServerError as error:
            if error.number != NO_SUCH_THREAD:
                raise


def check_free(server: Server, kept: Kept, params: SettingOptions) -> None:
    """Refuse a schema or an account that already exists and was not created for the load.

    Args:
        kept: what must be restored.
    """
    schema = params["schema"]
    account = params["account"]
    if schema and schema not in kept.get("schemas", []) and schema in server.schemas():
        raise SettingError(f"the schema {schema} exists; name one that does not")
    if (
        account
        and [account["user"], account["host"]] not in kept.get("accounts", [])
        and server.rows("SELECT 1 FROM mysql.user WHERE User = %s", (account["user"],))
    ):
        raise SettingError(f"the account {account['user']} exists; name one that does not")


def create_account(server: Server, account: NewAccount, schema: str) -> None:
    create, *grants = temporary_settings.account_statements(
        account["user"], account["host"], schema
    )
    server.rows(create, (account["password"],))
    for statement in grants:
        server.rows(statement)


def present(module: AnsibleModule, server: Server, names: Names) -> SettingResult:
    """Keep the original values, start the timer, and change the settings."""
    params: SettingOptions = module.params
    rollback = SettingsRollback(module)
    side = params["side"]
    mode = params["replication"]
    account = params["account"]
    kept = rollback.kept()
    now = server.variables()
    wanted = temporary_settings.wanted_variables(
        names,
        side,
        mode,
        params["variables"],
    )
    runs = side == "replica" and io_runs(server, names)
    wants_io = mode != "none" if side == "replica" and mode else None
    check_free(server, kept, params)
    user_host = (account["user"], account["host"]) if account else None
    created = user_host and list(user_host) not in kept.get("accounts", [])
    kept = temporary_settings.remembered(
        kept, now, wanted, runs, wants_io, params["schema"], user_host
    )
    statements = temporary_settings.changes(now, wanted)
    if wants_io is not None and wants_io != runs:
        statements.append(temporary_settings.io_statement(names, wants_io))
    if not module.check_mode:
        back = temporary_settings.restore_statements(names, kept)
        rollback.arm(
            kept,
            back,
            params["rollback_after"],
            now,
        )
        for statement in statements:
            server.rows(statement)
        if account and created:
            create_account(server, account, params["schema"] or "")
        if side == "source" and mode:
            wait_for_replicas(module, server, names)
    if user_host and created:
        statements = [*statements, f"CREATE USER {account_name(*user_host)}"]
    return {
        "statements": statements,
        "kept": kept,
        "changed": bool(statements),
        "rollback_at": utc(time.time() + params["rollback_after"]),
    }


def absent(module: AnsibleModule, server: Server, names: Names) -> SettingResult:
    """Restore everything, and stop the timer."""
    rollback = SettingsRollback(module)
    kept = rollback.kept()
    now = server.variables()
    statements = temporary_settings.restore_statements(names, kept, now)
    if not module.check_mode:
        for statement in statements:
            server.rows(statement)
        rollback.forget()
    return {
        "statements": statements,
        "kept": {},
        "changed": bool(statements),
        "rollback_at": None,
    }


def set_variables(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    result = (present if module.params["state"] == "present" else absent)(module, server, names)
    after = "".join(f"{statement};\n" for statement in result["statements"])
    return dict(result, diff={"before": "", "after": after})


def connect(module: AnsibleModule) -> Any:
    """A cursor. Before a restore, wait for a server that is just starting: a load may have killed
    it.
    """
    login.require_driver(module)

    def attempt() -> tuple[Any, ServerError | None]:
        try:
            return login.connect(module), None
        except ServerError as error:
            return None, error

    def final(seen: tuple[Any, ServerError | None]) -> bool:
        return seen[1] is None or seen[1].number in login.ACCESS_DENIED

    patience = module.params["wait_timeout"] if module.params["state"] == "absent" else 0
    cursor, error = wait_until(
        attempt,
        patience,
        1,
        enough=final,
    )
    if error:
        module.fail_json(msg=login.explain(error, module.params), reason="login")
    return cursor


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
            side={"type": "str", "choices": ["source", "replica"], "required": True},
            replication={"type": "str", "choices": ["none", "async", "semisync"]},
            variables={"type": "dict", "default": {}},
            replicas={"type": "int", "default": 1},
            wait_timeout={"type": "int", "default": 60},
            schema={"type": "str"},
            account={
                "type": "dict",
                "options": {
                    "user": {"type": "str", "required": True},
                    "host": {"type": "str", "default": "%"},
                    "password": {"type": "str", "required": True, "no_log": True},
                },
            },
            rollback_after={"type": "int", "default": 900},
        ),
        required_by={"account": "schema"},
        supports_check_mode=True,
    )
    rollback_after = module.params["rollback_after"]
    if not 10 <= rollback_after <= 86400:
        module.fail_json(
            msg=f"rollback_after is {rollback_after}; it must be from 10 to 86400 seconds"
        )
    connection.work(
        module,
        set_variables,
        "the server refused a setting",
        connect,
    )


if __name__ == "__main__":
    main()
