#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_upgrade
short_description: (internal) Check and prepare a server for another version, and finish its upgrade
version_added: "1.1.0"
description:
  - What the manuals ask for before a server's program is replaced, and after the new one runs.
options:
  state:
    description:
      - V(looked) asks a server of MySQL for XA transactions that stay prepared. MariaDB has nothing
        to be asked.
      - V(checked) asks a server of MySQL for tables that an older version left, with
        C(CHECK TABLE ... FOR UPGRADE), until one of them is in use. This locks each table that was
        not checked before, for a second at most, and notes that in the server's dictionary. Of
        MariaDB nothing is asked, because C(mariadb-upgrade) repairs such tables.
      - V(prepared) sets C(innodb_fast_shutdown) of a server that is stopped next. On MySQL it waits
        for a moment without a prepared XA transaction, and stops a replica's applier in it.
      - V(upgraded) runs C(mariadb-upgrade) on MariaDB, outside the binary log. MySQL from 8.0.16 on
        has upgraded its system tables when it started. Before that it fails if the server has
        another version than O(version), or takes writes although O(closed) says that it must not.
    type: str
    choices: [looked, checked, prepared, upgraded]
    required: true
  fast_shutdown:
    description: With O(state=prepared), the value. V(0) is a slow shutdown.
    type: int
    choices: [0, 1]
    default: 0
  timeout:
    description:
      - With O(state=checked), seconds for all tables together; with O(state=prepared), for XA
        transactions to end.
    type: int
    default: 60
  version:
    description:
      - The version that the server must have, or its series. Required with O(state=upgraded).
    type: str
  closed:
    description: With O(state=upgraded), whether C(read_only) must not be C(OFF).
    type: bool
    default: false
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_restart
"""

EXAMPLES = r"""
- name: Bring the system tables up to date
  dbre.semisync.semisync_upgrade:
    state: upgraded
    version: "11.8"
"""

RETURN = r"""
tables:
  description: How many tables were checked.
  returned: O(state=checked)
  type: int
of:
  description: How many there are.
  returned: O(state=checked)
  type: int
wrong:
  description: What the server says against tables; each names one.
  returned: O(state=checked)
  type: list
  elements: str
unchecked:
  description: Why not all were checked; empty if all were.
  returned: O(state=checked)
  type: str
prepared:
  description: How many XA transactions are prepared, and stay so.
  returned: O(state=looked)
  type: int
output:
  description: What C(mariadb-upgrade) said.
  returned: O(state=upgraded) on MariaDB
  type: str
"""

import time
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import command, process
from ansible_collections.dbre.semisync.plugins.module_utils._server import (
    client_login,
    connection,
    login,
    upgrade_check,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.channels import default_channel
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import TableCheck

PROGRAMS = ("mariadb-upgrade", "mysql_upgrade")
# A service that starts the server may run the program as well, which lets only one run.
TRIES = 30
PAUSE = 4
DONE_BEFORE = "already upgraded"


def prepare(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Choose how the server stops, in a moment without prepared XA transactions.

    Raises:
        ValueError: there is no such moment.
    """
    if not names.mariadb and not module.check_mode:
        let_none_be_prepared(server, names, module.params["timeout"])
    wanted = str(module.params["fast_shutdown"])
    changed = server.variables()["innodb_fast_shutdown"] != wanted
    if changed and not module.check_mode:
        server.rows(f"SET GLOBAL innodb_fast_shutdown = {wanted}")
    return {"changed": changed}


def let_none_be_prepared(server: Server, names: Names, seconds: int) -> None:
    """Stop a replica's applier in a moment without prepared XA transactions.

    Raises:
        ValueError: there is no such moment.
    """
    channel = default_channel(server.channels(names))
    applies = bool(channel and channel["sql_running"] == "Yes")
    left = upgrade_check.stop_without_prepared(server, names, applies, seconds)
    if left:
        raise ValueError(
            f"XA transactions were prepared for {seconds} s ({left} now), with which MySQL must not"
            " be upgraded; pause their transaction manager, or end on the source those that XA"
            " RECOVER lists there, and run this again. One that the source does not have is errant"
            " here"
        )


def check_tables(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Ask the server for tables that a newer version could not use."""
    asked: TableCheck = {"tables": 0, "of": 0, "wrong": [], "unchecked": ""}
    if not names.mariadb and not module.check_mode:
        asked = upgrade_check.tables(server, module.params["timeout"])
    return {"changed": False, **asked}


def upgrade_tables(module: AnsibleModule, server: Server) -> dict[str, object]:
    """Run mariadb-upgrade, which does nothing if it has run for this version.

    Raises:
        ValueError: it is not there, or failed.
    """
    folders = process.running(server.variables()).folders
    program = process.find_tool(module, PROGRAMS, folders, for_root=True)
    if program is None:
        raise ValueError(f"{PROGRAMS[0]} is not on this host; install the package that has it")
    if module.check_mode:
        return {"changed": True, "output": ""}
    with client_login.client_file(module.params) as path:
        words = [program, f"--defaults-extra-file={path}"]
        for left in reversed(range(TRIES)):
            status, out, err = command.run(module, words)
            if status == 0:
                return {"changed": DONE_BEFORE not in out, "output": out}
            if "lock" not in err.lower() or not left:
                break
            time.sleep(PAUSE)
    raise ValueError(f"{program} failed with status {status}: {(err or out).strip()[-1000:]}")


def wrong_after(version: str, read_only: str, wanted: str, closed: bool) -> str:
    """What is wrong with a server that has its new program; empty if nothing.

    Args:
        version: the server's; read_only: the variable's value.
        wanted: the version that it must have, or its series.
        closed: whether it must take no writes.
    """
    if not f"{version}.".startswith(f"{wanted}."):
        return (
            f"the server has version {version} after the tasks of semisync_hook_upgrade, and not"
            f" {wanted}. Correct those tasks"
        )
    if closed and canonical_value(read_only) == "0":
        # Its line may be in a group of options that only the old version reads.
        return (
            "the server takes writes since it has the new version: its read_only was ON, and is"
            " OFF. Run SET GLOBAL read_only = 1 there, and write read_only to a group of its option"
            " files that each version reads, [mysqld] and not [mariadb-10.11]"
        )
    return ""


def set_upgrade(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    state = module.params["state"]
    if state == "looked":
        return {"changed": False, "prepared": 0 if names.mariadb else upgrade_check.stuck(server)}
    if state == "checked":
        return check_tables(module, server, names)
    if state == "prepared":
        return prepare(module, server, names)
    version = ".".join(map(str, names.version))
    read_only = server.variables()["read_only"] or ""
    wrong = wrong_after(version, read_only, module.params["version"], module.params["closed"])
    if wrong:
        raise ValueError(wrong)
    return upgrade_tables(module, server) if names.mariadb else {"changed": False}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state={
                "type": "str",
                "choices": ["looked", "checked", "prepared", "upgraded"],
                "required": True,
            },
            timeout={"type": "int", "default": 60},
            fast_shutdown={"type": "int", "choices": [0, 1], "default": 0},
            version={"type": "str"},
            closed={"type": "bool", "default": False},
        ),
        required_if=[("state", "upgraded", ["version"])],
        supports_check_mode=True,
    )
    connection.work(module, set_upgrade, "the upgrade failed")


if __name__ == "__main__":
    main()
