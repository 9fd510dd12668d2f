#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_load
short_description: Run one load on a server and prove that it ran
version_added: "0.1.0"
description:
  - Runs one of three loads a number of times and keeps the figures of every run. V(mysqlslap) and
    V(sysbench) are the tools of these names (mariadb-slap on MariaDB); V(client) is a single
    connection of the module itself that times every transaction.
  - A run counts only if the tool reported no error, its figures could be read, the server's own
    counters rose as expected, and O(replication) held from beginning to end.
  - Creates a schema to work in, and drops it afterwards; refuses an existing schema.
  - The load is real and disturbs other clients of the server.
  - Runs on the source, or on a separate client host with O(login_host) set to the source.
options:
  tool:
    description: The tool that makes the load. V(sysbench) must be installed; the server has
      mysqlslap, and the module contains V(client).
    version_added: "1.0.0"
    type: str
    choices: [mysqlslap, sysbench, client]
    default: mysqlslap
  clients:
    description: Concurrent clients. One with O(tool=client).
    type: int
    default: 10
  queries:
    description: Queries of one run, all clients together (with V(sysbench), transactions).
    type: int
    default: 1000
  seconds:
    description: Length of one run instead of O(queries); for V(sysbench) and V(client).
    version_added: "1.0.0"
    type: int
  iterations:
    description: How many runs are kept.
    type: int
    default: 5
  warmup:
    description: Runs before those; their figures are discarded.
    type: int
    default: 1
  load_type:
    description: The kind of SQL that mysqlslap generates.
    type: str
    choices: [mixed, update, write, key, read]
    default: mixed
  engine:
    description: Storage engine of the table that mysqlslap generates.
    type: str
  create:
    description: Your own SQL that creates tables; several statements are separated by semicolons.
      Not for V(sysbench).
    type: str
  query:
    description: Your own SQL to run, instead of generated SQL; needed with O(tool=client). Not for
      V(sysbench).
    type: str
  script:
    description: sysbench's script, either a bundled one such as V(oltp_insert) or the path of your
      own on the host.
    version_added: "1.0.0"
    type: str
    default: oltp_insert
  table_size:
    description: Rows that sysbench inserts into its table beforehand.
    version_added: "1.0.0"
    type: int
    default: 10000
  schema:
    description: Name of the schema to work in; it must not exist. A generated name by default.
    type: str
  timeout:
    description: Maximum seconds for one run.
    type: int
    default: 300
  replication:
    description:
      - What must hold before and after a run for it to count. With V(semisync), semi-sync is ON,
        O(replicas) clients are connected and every commit is acknowledged; with V(async), semi-sync
        is OFF and the replicas are connected; with V(none), it is OFF and no replica is connected.
        By default nothing is required.
    version_added: "1.0.0"
    type: str
    choices: [none, async, semisync]
  replicas:
    description: The number of replicas for O(replication).
    version_added: "1.0.0"
    type: int
    default: 1
  peers:
    description: Addresses to which the module measures the round trip before every run, from its
      host.
    version_added: "1.0.0"
    type: list
    elements: str
    default: []
  delay_ms:
    description: Delay that M(dbre.semisync.netem) has added on the way to O(peers). A run with less
      does not count, nor does one during which netem dropped packets.
    version_added: "1.0.0"
    type: float
    default: 0
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Runs nothing in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_canary
  - module: dbre.semisync.netem
"""

EXAMPLES = r"""
- name: The procedure's load, five times
  dbre.semisync.semisync_load:
    clients: 10
    queries: 1000
  register: load

- name: Say how long it took
  ansible.builtin.debug:
    msg: "{{ load.summary.median }} s"

- name: The latency of single inserts that a replica acknowledges
  dbre.semisync.semisync_load:
    tool: client
    clients: 1
    queries: 200
    create: CREATE TABLE foo (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(255))
    query: INSERT INTO foo (text) VALUES ('FKGDLOWD')
    replication: semisync
    peers: ["192.0.2.11"]
"""

RETURN = r"""
runs:
  description:
    - Every run that was kept.
    - C(seconds), C(operations) and C(rate) a second; C(rate_stdev) of whole seconds, if the tool
      reports when each operation ended; C(latency_ms) with C(mean), C(stdev), C(p50), C(p95),
      C(p99) and C(max), null for mysqlslap, which does not report it; C(commits) in the binary log;
      C(counters), how far semi-sync's rose; C(rtt_ms), the median round trip to the nearest of the
      peers; packets that netem C(dropped).
    - C(valid), or else the C(reason) and no figure.
  returned: success
  type: list
  elements: dict
valid:
  description: Whether every run counts.
  returned: success
  type: bool
summary:
  description: Median, minimum and maximum of the runs that count, in seconds; empty if none does.
  returned: success
  type: dict
  sample: {"median": 0.91, "min": 0.88, "max": 1.02, "runs": 5}
command:
  description: The command, without credentials; empty with V(client).
  returned: success
  type: str
"""

import uuid

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import (
    load_runs,
    load_tools,
    mysqlslap,
    sysbench,
    validity,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    LoadOptions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


def check(params: LoadOptions) -> str:
    """What is wrong with the options; empty if nothing is."""
    counts = (
        ("clients", params["clients"]),
        ("queries", params["queries"]),
        ("iterations", params["iterations"]),
        ("timeout", params["timeout"]),
        ("table_size", params["table_size"]),
        ("seconds", params.get("seconds")),
    )
    for name, count in counts:
        if count is not None and count < 1:
            return f"{name} is {count}; it must be at least 1"
    if params["warmup"] < 0:
        return f"warmup is {params['warmup']}; it must be at least 0"
    reason = validity.unfit(params)
    if not reason and params["tool"] == "sysbench":
        reason = sysbench.unusable_password(params["login_password"])
    return reason


def run_load(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Run the load as often as wanted; return the module's result."""
    params = module.params
    schema = params["schema"] or "semisync_load_" + uuid.uuid4().hex[:12]
    if schema in server.schemas():
        raise ValueError(f"the schema {schema} exists; the load works only in a schema of its own")
    tool = load_tools.TOOLS[params["tool"]](module, server, names, schema)
    try:
        runs = [] if module.check_mode else load_runs.all_runs(module, server, names, tool)
    finally:
        tool.close()
    good = [run["seconds"] for run in runs if run["valid"] and run["seconds"] is not None]
    words = [
        word
        for word in tool.command
        if not word.startswith(("--defaults-extra-file", "--config-file"))
    ]
    return {
        "changed": True,
        "runs": runs,
        "valid": bool(runs) and len(good) == len(runs),
        "summary": mysqlslap.spread_of_runs(good) if good else {},
        "command": " ".join(words),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            tool={"type": "str", "choices": list(validity.TOOLS), "default": "mysqlslap"},
            clients={"type": "int", "default": 10},
            queries={"type": "int", "default": 1000},
            seconds={"type": "int"},
            iterations={"type": "int", "default": 5},
            warmup={"type": "int", "default": 1},
            load_type={"type": "str", "choices": list(validity.LOAD_TYPES), "default": "mixed"},
            engine={"type": "str"},
            create={"type": "str"},
            query={"type": "str"},
            script={"type": "str", "default": "oltp_insert"},
            table_size={"type": "int", "default": 10000},
            schema={"type": "str"},
            timeout={"type": "int", "default": 300},
            replication={"type": "str", "choices": list(validity.REPLICATION)},
            replicas={"type": "int", "default": 1},
            peers={"type": "list", "elements": "str", "default": []},
            delay_ms={"type": "float", "default": 0},
        ),
        supports_check_mode=True,
    )
    params = module.params
    wrong = check(params)
    if wrong:
        module.fail_json(msg=wrong)
    connection.work(module, run_load, "the load failed")


if __name__ == "__main__":
    main()
