#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_info
short_description: Read everything about a server's semi-synchronous replication at once
version_added: "0.1.0"
description:
  - Reads engine, version, plugins, variables, statuses, the replication channel, GTID sets,
    replication accounts and the option files as the server itself reads them, in one call and
    through one connection.
  - Can wait, within bounds, until given conditions hold; it checks every condition on the server
    and never just sleeps.
  - Uses the names of the server's own version, and returns them; a playbook need not know them.
  - Changes nothing on the server. With O(watcher) it ends the process that an earlier call of
    M(dbre.semisync.semisync_canary) started on the host.
  - Without O(wait_for), waits at most five minutes for a server that does not respond because a
    seeding is in progress on its host; any other fails at once.
options:
  option_file:
    description:
      - Option file that holds the collection's lines.
      - By default the last include directory that the server reads gets a file
        V(zz-dbre-semisync.cnf); if no option file includes a directory, the last option file
        gets a marked block.
    type: path
  wait_for:
    description: Conditions to wait for before the state is returned; without it, read once.
    type: dict
    suboptions:
      answering:
        description: The server accepts the login.
        type: bool
        default: true
      channel:
        description: Both threads of the default replication channel run.
        type: bool
        default: false
      clients:
        description: At least this many semi-sync replicas are connected to this source.
        type: int
      no_clients:
        description: No semi-sync replica is connected to this source any more.
        version_added: "1.0.0"
        type: bool
        default: false
      source_status:
        description: Semi-sync's status on this source is ON.
        type: bool
        default: false
      replica_status:
        description: Semi-sync's status on this replica is ON.
        type: bool
        default: false
      max_lag:
        description: This replica lags by at most this many seconds, as the server counts them.
        version_added: "1.1.0"
        type: int
      tls_only:
        description: No visible session reads the binary log as this account without TLS.
        version_added: "1.0.0"
        type: str
  wait_timeout:
    description: Seconds to wait for O(wait_for).
    type: int
    default: 60
  watcher:
    description:
      - Token of a M(dbre.semisync.semisync_canary) call with
        O(dbre.semisync.semisync_canary#module:mode=watch) on this host. The module fetches that
        result before it reads the server, and waits for it for at most three seconds; then the
        process ends.
    version_added: "1.0.0"
    type: str
  journal_schema:
    description: Schema that has the cluster's journal, the table C(semisync_journal).
    version_added: "1.0.0"
    type: str
    default: important
  heartbeat_seconds:
    description: Seconds between two rows of the heartbeat. If it is not 0, RV(beats) says what the
      newest rows are.
    version_added: "1.1.0"
    type: int
    default: 0
  asked_at:
    description: The controller's clock, in seconds since 1970, when the task begins; the server's
      clock is compared with it.
    version_added: "1.0.0"
    type: float
  measure_backlog:
    description: Whether to watch a replica that has transactions to apply for a second, or for up
      to three if it applies none, so that RV(backlog) says how fast it applies. The watch ends
      early when the replica has applied everything.
    type: bool
    default: false
    version_added: "1.0.0"
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.info
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_plugin
  - module: dbre.semisync.semisync_canary
"""

EXAMPLES = r"""
- name: Read a server as root through its unix socket
  dbre.semisync.semisync_info:
  register: state

- name: Say what the server calls its timeout
  ansible.builtin.debug:
    msg: "{{ state.names.source.variables.timeout }} is {{ state.semisync.source.variables.timeout
      }} ms"

- name: Wait until two semi-sync replicas are connected
  dbre.semisync.semisync_info:
    wait_for:
      clients: 2
    wait_timeout: 30
"""

RETURN = r"""
engine:
  description: V(mysql), V(percona) or V(mariadb).
  returned: success
  type: str
  sample: mysql
version:
  description: The version as three numbers.
  returned: success
  type: str
  sample: 9.7.4
version_full:
  description: The version as the server reports it.
  returned: success
  type: str
  sample: 10.11.14-MariaDB-0+deb12u2-log
version_comment:
  description: The server's variable version_comment.
  returned: success
  type: str
  sample: (Debian)
names:
  description: What this server calls plugins, libraries, variables and statuses, by side V(source)
    and V(replica).
  returned: success
  type: dict
plugins:
  description: Loaded semi-sync plugins and their status.
  returned: success
  type: dict
  sample: {rpl_semi_sync_source: ACTIVE}
plugins_registered:
  description: Semi-sync plugins in mysql.plugin, which the next start loads, and their libraries.
  returned: success
  type: dict
variables:
  description: Global variables that the roles compare; null if the server has none of that name.
  returned: success
  type: dict
semisync:
  description: Semi-sync's C(variables) and C(status) by side, by the collection's keys.
  returned: success
  type: dict
gtid:
  description: GTID sets, as far as the server has them.
  returned: success
  type: dict
persisted:
  description: Variables written by SET PERSIST, which override the option files.
  returned: success
  type: dict
channel:
  description: The default replication channel, or null.
  returned: success
  type: dict
backlog:
  description:
    - What the replica has received and not applied, C(left) in C(unit) (transactions, or bytes of
      the source's binary log without GTIDs; null if they are in several files), and what it
      C(applied) in how many C(seconds), null if it was not watched.
    - C(busy) says whether it had something to apply all that time. Null on a server that is not a
      replica.
  returned: success, with O(measure_backlog=true)
  type: dict
  sample: {unit: transactions, left: 9000, applied: 62, seconds: 1.03, busy: true}
other_channels:
  description: Names of further replication channels.
  returned: success
  type: list
  elements: str
accounts:
  description: Accounts with the privilege REPLICATION SLAVE and without SUPER, each with its
    privileges, and whether it C(needs_ssl) to log in.
  returned: success
  type: list
  elements: dict
native_accounts:
  description: Accounts that log in by C(mysql_native_password), each as user@host, without locked
    ones. MySQL 8.4 lets them in only if its option files have C(mysql_native_password=ON), and
    MySQL 9.0 not at all.
  returned: success
  type: list
  elements: str
readers:
  description: Sessions that read the binary log, each with its C(user), C(host), and whether it
    uses C(tls), null if the server does not report it.
  returned: success
  type: list
  elements: dict
tls:
  description: Whether TLS is C(on) for this server's clients.
  returned: success
  type: dict
disk_full:
  description: Which file systems with the server's data and logs have less than 8 MB left, in
    words; empty if none has, or the server's process is not seen on this host.
  returned: success, and if the server cannot be read
  type: str
certificates:
  description: The certificate authority that the server has (C(ca)), and the C(copy) of its
    source's that the collection keeps on a replica.
  returned: success
  type: dict
login:
  description: The address at which it found the server, as O(login_host), O(login_port),
    O(login_unix_socket).
  returned: success
  type: dict
journal:
  description:
    - The newest row of the cluster's journal of role changes; null if there is none.
    - C(to_host) is the source since C(happened), C(from_host) the one before, C(to_id) and
      C(from_id) their C(server_uuid), or else C(server_id).
  returned: success
  type: dict
  sample: {number: 2, operation: switchover, state: done, from_host: db1, to_host: db2}
held:
  description: Servers that lost the source's role in a failover and have not rejoined.
  returned: success
  type: list
  elements: dict
  sample: [{host: db1, id: "1", to_host: db2, happened: "2026-01-31T12:00:00Z"}]
settings_row:
  description: The number of the journal's newest row with operation V(settings), or 0.
  returned: success
  type: int
settings_open:
  description: The number of the oldest such row that was begun and is not done, or 0.
  returned: success
  type: int
schemas:
  description: Schemas without the server's own ones.
  returned: success
  type: list
  elements: str
empty_schemas:
  description: Those of C(schemas) that are empty, as far as the login can see.
  returned: success
  type: list
  elements: str
events:
  description: C(schema), C(name), C(status) of each scheduled event; null if they cannot be seen.
  returned: success
  type: list
  elements: dict
  sample: [{schema: shop, name: purge, status: ENABLED}]
uptime:
  description: C(seconds) since the server started, C(since_reset) of its counters by FLUSH STATUS.
  returned: success
  type: dict
clock:
  description: The server's clock in seconds since 1970.
  returned: success
  type: float
connection_id:
  description: The number of the connection that read the server; the numbers grow until the server
    restarts.
  returned: success
  type: int
applier_ids:
  description: Connection numbers of the thread that applies the default channel's relay log, or
    coordinates its workers; empty if none runs, null if unknown.
  returned: success
  type: list
  elements: int
registered:
  description: C(server_id) and C(uuid) of each replica that has registered; null if unknown.
  returned: success
  type: list
  elements: dict
binlog_filters:
  description: Filters that keep changes out of the server's binary log; null if the login may not
    read them.
  returned: success
  type: list
  elements: str
error_log:
  description: C(path) (empty if it is the unit's journal), C(inode), C(size), C(at) by the host's
    clock.
  returned: success
  type: dict
calm_since:
  description: On a source, a moment, by RV(clock), at which no commit waited for its
    acknowledgement, or since which all that did have received it; C(null) if unknown.
  returned: success
  type: float
asked_at:
  description: The controller's clock, in seconds since 1970, before the module was sent.
  returned: always
  type: float
clock_ahead:
  description: Seconds by which the server's clock is ahead of O(asked_at), including the module's
    start.
  returned: O(asked_at) is given
  type: float
arrival:
  description: The result of the process that watched for the canary row, as
    M(dbre.semisync.semisync_canary) returns it with V(mode=wait).
  returned: O(watcher) is given
  type: dict
pid:
  description: The server's process, null if it is not on this host.
  returned: success
  type: int
unit:
  description: The systemd unit that the server's process belongs to.
  returned: success
  type: str
  sample: mysql
program:
  description: The server's program; null if unknown.
  returned: success
  type: str
  sample: /usr/sbin/mysqld
tools:
  description: Programs on the host that can seed a replica, and the clone plugin's library.
  returned: success
  type: dict
seed:
  description: What the last seeding of this server recorded, or null.
  returned: success
  type: dict
answer:
  description: The HTTP answer for routers on this host and its files, or null if there is none.
  returned: success
  type: dict
heartbeat:
  description: The heartbeat's service on this host and its files, or null if there is none.
  returned: success
  type: dict
received:
  description: The service that applies what a MariaDB replica had received before its server
    stopped, and its files; null on MySQL.
  returned: success
  type: dict
beats:
  description:
    - What the newest rows of the heartbeat on this server say, or null if they could not be read.
    - C(server), C(number) and C(wall) are of the newest row, C(age) are the seconds from then to
      the server's clock. On a replica that is its lag and up to one interval.
    - C(spans) are times in which one start of a server beat without a gap.
    - C(gaps) are times without a beat of a server that beat before and after. C(degraded) are times
      in which semi-sync was on and its status OFF, with the commits that were confirmed C(alone).
    - C(rows) is how many rows were read, and C(unreadable) how many were left out.
  returned: O(heartbeat_seconds) is not 0
  type: dict
option_files:
  description:
    - What the option files set according to C(mysqld --print-defaults), and the file and text of
      the collection's lines in them.
    - C(elsewhere) is what they would set without those lines, and C(command_line) what the server
      was started with besides.
    - C(unknown) says why the option files could not be read, and is empty if they were.
  returned: success
  type: dict
fence:
  description: Whether the option file stands that makes a source start read-only, and without its
    channel, while its role moves.
  returned: success
  type: bool
waited:
  description: Seconds until O(wait_for) held.
  returned: O(wait_for) is given
  type: float
reason:
  description: V(driver), V(stopped), V(silent), V(login), V(server) or V(wait), so that a playbook
    can distinguish the kinds of failure.
  returned: failure
  type: str
python_of_system:
  description: Whether the Python that lacks PyMySQL is the system's, so that a package can install
    it.
  returned: when PyMySQL is missing
  type: bool
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._canary import watcher
from ansible_collections.dbre.semisync.plugins.module_utils._facts import host_facts
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_place, summary
from ansible_collections.dbre.semisync.plugins.module_utils._replication import state
from ansible_collections.dbre.semisync.plugins.module_utils._replication.state_wait import (
    WAIT_FOR,
    read_when,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import login

# A confirmed row has arrived by now, or is too late for the checkpoint.
WATCHER_SECONDS = 3


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            option_file={"type": "path"},
            wait_for={"type": "dict", "options": WAIT_FOR},
            wait_timeout={"type": "int", "default": 60},
            watcher={"type": "str"},
            journal_schema={"type": "str", "default": "important"},
            heartbeat_seconds={"type": "int", "default": 0},
            asked_at={"type": "float"},
            measure_backlog={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    login.require_driver(module)
    params, begin = module.params, time.monotonic()
    result: dict[str, Any] = {}
    if params["watcher"]:
        result["arrival"] = watcher.ask(watcher.address(params["watcher"], params), WATCHER_SECONDS)
    try:
        if params["wait_for"]:
            info, result["waited"] = read_when(module, params["wait_for"], params["wait_timeout"])
        else:
            info = host_facts.state(module)
    except state.UNREADABLE as error:
        module.fail_json(**state.unreadable(error, params))
    if params["asked_at"] is not None:
        asked = time.monotonic() - begin
        result["clock_ahead"] = round(info["clock"] - asked - params["asked_at"], 3)
    result.update(host_facts.with_host_facts(module, info, params["measure_backlog"]))
    result["heartbeat"] = beat_place.read_service(module, int(info["variables"]["port"] or 0))
    if params["heartbeat_seconds"]:
        schema, interval = params["journal_schema"], params["heartbeat_seconds"]
        result["beats"] = summary.read_summary(module, schema, interval)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
