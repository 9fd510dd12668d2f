#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_account
short_description: Create the replication account, or rotate its password without locking out its
  replicas
version_added: "1.0.0"
description:
  - With O(state=present) creates an account with REPLICATION SLAVE only; it replicates. An existing
    account keeps its password and gets the privilege if it lacks it.
  - With the other states changes the password of every account of this name that has REPLICATION
    SLAVE, on this server only. Nothing is written to the binary log, so that no replica stops at a
    statement for an account that it does not have.
  - With O(state=both) the account accepts the new password and its present one (MySQL 8.0.14 and
    later, MariaDB 10.4.3 and later), until O(state=only) drops the old one. Older servers accept
    only one password at a time; sessions that are connected stay connected.
  - What the server stores of the password is compared first, so that a second run changes nothing.
options:
  user:
    description: The account's name.
    type: str
    required: true
  password:
    description: The password, with any character.
    type: str
    required: true
  state:
    description:
      - V(present) creates the account.
      - V(both) lets the account accept both passwords, V(only) the new one only.
      - V(both) fails if an account already accepts two other passwords.
    type: str
    choices: [present, both, only]
    default: present
  host:
    description: Host part of the account that O(state=present) creates.
    type: str
    default: "%"
  require_ssl:
    description: Whether the account that O(state=present) creates may log in with TLS only.
    type: bool
    default: false
  sessions:
    description:
      - How many sessions may read the binary log with this account. If there are more, a replica
        would not get the new password, so the old one is kept. Needed unless O(state=present).
    type: int
  missing_ok:
    description: Whether a server without such an account is skipped; otherwise the module fails.
    type: bool
    default: false
notes:
  - C(super_read_only), if on, is switched off during the statement.
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_channel
"""

EXAMPLES = r"""
- name: Create the account
  dbre.semisync.semisync_account:
    user: repl
    password: "{{ vault_replication_password }}"

- name: The source accepts both passwords
  dbre.semisync.semisync_account:
    user: repl
    password: "{{ vault_replication_password }}"
    state: both
    sessions: 2
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be in check mode, without the password.
  returned: success
  type: list
  elements: str
  sample: ["ALTER USER 'repl'@'%' IDENTIFIED WITH caching_sha2_password BY ******** RETAIN CURRENT
    PASSWORD"]
accounts:
  description: Host parts of the accounts.
  returned: success
  type: list
  elements: str
"""

import contextlib
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import account
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server, Step
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import text

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict


def refuse_strangers(module: AnsibleModule, server: Server, takes_away: bool) -> None:
    """Fail if a replica outside the inventory would be locked out when it next connects."""
    strangers = account.strangers(
        server.readers(), module.params["user"], module.params["sessions"]
    )
    if strangers and takes_away:
        module.fail_json(
            msg=(
                f"{len(strangers)} sessions read the binary log as {module.params['user']}, from"
                f" {', '.join(strangers)}; the inventory has {module.params['sessions']}. The old"
                " password stays until the others have the new one: put them into the inventory,"
                " or give it to them yourself, and run again"
            )
        )


class Wanted(TypedDict):
    """The account that is asked for; state is present, both or only."""

    user: str
    host: str
    password: str
    require_ssl: bool
    state: str


def creation(server: Server, names: Names, params: Wanted) -> list[Step]:
    """The statements that make the account."""
    user = params["user"]
    host = params["host"]
    exists = account.by_grant(names) and bool(
        server.rows("SELECT 1 AS one FROM mysql.user WHERE User = %s AND Host = %s", (user, host))
    )
    return account.creation(
        names, user, host, params["password"], params["require_ssl"], exists=exists
    )


def wanted_steps(
    params: Wanted,
    server: Server,
    names: Names,
    accounts: list[account.Known],
) -> list[Step]:
    """The statements to run, of the whole account or of its password."""
    user = params["user"]
    new = params["password"]
    if params["state"] == "present":
        there = params["host"] in [existing["host"] for existing in accounts]
        return [] if there else creation(server, names, params)
    return [
        step
        for existing in accounts
        for step in account.password_steps(
            names,
            user,
            existing,
            new,
            params["state"] == "both",
        )
    ]


def execute(server: Server, steps: list[Step], alone: bool) -> None:
    """Run the statements, outside the binary log; also on a server that is super_read_only."""
    server.rows(f"SET SESSION sql_log_bin = {int(not alone)}")
    try:
        with connection.open_to_root(server) if alone else contextlib.nullcontext():
            connection.run_steps(server, steps)
    finally:
        server.rows("SET SESSION sql_log_bin = 1")


def accounts_of(server: Server, names: Names, user: str) -> list[account.Known]:
    """The user's accounts."""
    rows = server.rows(account.accounts_query(names), (user,))
    return [
        account.parse_row(
            {key: None if value is None else text(value) for key, value in row.items()}
        )
        for row in rows
    ]


def set_account(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Create the account, or change its password on every host part it has."""
    params = module.params
    user, of_password, keep_old = (
        params["user"],
        params["state"] != "present",
        params["state"] == "both",
    )
    accounts = accounts_of(server, names, user)
    if of_password and (accounts or not params["missing_ok"]):
        account.check(names, user, accounts)
    steps = wanted_steps(
        params,
        server,
        names,
        accounts,
    )
    kept = keep_old and names.dual_passwords
    if steps and of_password:
        refuse_strangers(module, server, not kept)
    if steps and not module.check_mode:
        execute(server, steps, alone=of_password)
    before = account.accounts_text(user, accounts, params["password"])
    hosts = [existing["host"] for existing in accounts] or [params["host"]]
    after = account.predict(user, hosts, kept) if steps else before
    return {
        "changed": bool(steps),
        "accounts": [existing["host"] for existing in accounts],
        "statements": [account.show(statement, arguments or ()) for statement, arguments in steps],
        "diff": {"before": before, "after": after},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            user={"type": "str", "required": True},
            password={"type": "str", "required": True, "no_log": True},
            state={"type": "str", "choices": ["present", "both", "only"], "default": "present"},
            host={"type": "str", "default": "%"},
            require_ssl={"type": "bool", "default": False},
            sessions={"type": "int"},
            missing_ok={"type": "bool", "default": False},
        ),
        required_if=[("state", "both", ["sessions"]), ("state", "only", ["sessions"])],
        supports_check_mode=True,
    )
    connection.work(
        module, set_account, f"the server refuses account or password of {module.params['user']}"
    )


if __name__ == "__main__":
    main()
