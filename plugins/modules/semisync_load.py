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
  - Runs one of three loads a number of times and keeps the figures of every run. V(mysqlslap) is the tool of that name
    (mariadb-slap on MariaDB), V(sysbench) that one, and V(client) a single connection of the module's own that times
    every transaction.
  - A run counts only when the tool was silent, its figures were read, the server's own counters rose by what was asked,
    and what O(replication) says held from the beginning to the end.
  - Works in a schema of its own, which it drops afterwards; a schema that exists is refused.
  - The load is real and disturbs other clients of the server.
  - Runs on the source, or on a separate client host with O(login_host) set to the source.
options:
  tool:
    description: What makes the load. V(sysbench) must be installed; the others come with the server and the module.
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
    type: int
  iterations:
    description: How many runs are kept.
    type: int
    default: 5
  warmup:
    description: Runs before those, which are thrown away.
    type: int
    default: 1
  load_type:
    description: What the SQL does that mysqlslap generates.
    type: str
    choices: [mixed, update, write, key, read]
    default: mixed
  engine:
    description: Storage engine of the table that mysqlslap generates.
    type: str
  create:
    description: Your own SQL that creates tables; several statements are separated by semicolons. Not for V(sysbench).
    type: str
  query:
    description: Your own SQL to run, instead of generated SQL; needed with O(tool=client). Not for V(sysbench).
    type: str
  script:
    description: sysbench's script, one of its own such as V(oltp_insert) or the path of yours on the host.
    type: str
    default: oltp_insert
  table_size:
    description: Rows that sysbench puts into its table beforehand.
    type: int
    default: 10000
  schema:
    description: Name of the schema to work in; it must not exist. Made up when empty.
    type: str
  timeout:
    description: Seconds one run may take.
    type: int
    default: 300
  replication:
    description:
      - What must hold before and after a run, or it does not count. V(semisync), semi-sync is ON, O(replicas) clients are
        connected and every commit is acknowledged; V(async), it is OFF and the replicas are connected; V(none), it is
        OFF and no replica is connected. Nothing is required where this is left out.
    type: str
    choices: [none, async, semisync]
  replicas:
    description: How many replicas O(replication) is about.
    type: int
    default: 1
  peers:
    description: Addresses to which the round trip is measured before every run, from the host the module runs on.
    type: list
    elements: str
    default: []
  delay_ms:
    description: Delay that M(dbre.semisync.netem) has put on the way to O(peers). A run with less does not count, nor does
      one during which netem dropped packets.
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
- name: The document's load, five times
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
    - Every run kept.
    - C(seconds), C(operations) and C(rate) a second; C(rate_stdev) of whole seconds, where the tool tells when each
      operation ended; C(latency_ms) with C(mean), C(stdev), C(p50), C(p95), C(p99) and C(max), null for mysqlslap, which
      does not tell; C(commits) that the binary log took; C(counters), how far semi-sync's rose; C(rtt_ms), the median
      round trip to the nearest of the peers; C(dropped) packets of netem.
    - C(valid), and the C(reason) if it is not; then there is no figure.
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
  description: The command, without credentials; empty with V(client).
  returned: success
  type: str
"""

import os
import threading
import time
import uuid

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import (
    canary,
    load,
    load_tools,
    login,
    names,
    netem_host,
    netem_wanted,
    slap,
    state,
    sysbench,
)

PINGS = 5
# Seconds in which a server that was restarted must answer again, or a schema be gone.
PATIENCE = 30
# A disk with less left, in bytes, is full: InnoDB extends a file by up to 4 MB at a time.
FULL = 8 * 2 ** 20


def snapshot_after(module, server, server_names):
    """The same after a run; None where the server does not answer any more, also through a new connection."""
    until = time.time() + PATIENCE
    while True:
        try:
            return state.pulse(server, server_names), server
        except Exception:  # the drivers share no exception class
            if time.time() > until:
                return None, server
        try:
            server = state.Server(login.connect(module))
        except Exception:  # likewise
            time.sleep(1)


def full_disk(server):
    """Says that the server's disk is full, where the server is on this host; a server may wait for space without a word."""
    try:
        folder = server.rows("SELECT @@datadir AS folder")[0]["folder"]
        found = os.statvfs(folder)
    except Exception:  # the drivers share no exception class; or the server is on another host
        return ""
    left = found.f_bavail * found.f_frsize
    return "; the disk of %s is full (%d MB left)" % (folder, left // 2 ** 20) if left < FULL else ""


def one_run(module, server, server_names, tool):
    """One run: its figures, or why it does not count; and the server's connection, which may be a new one."""
    params, host = module.params, netem_host.Host(module)
    trips = host.ping(params["peers"], PINGS, {"delay_ms": params["delay_ms"], "jitter_ms": 0, "loss": 0, "rate": None,
                                               "limit": 0})
    answers = [trip["median"] for trip in trips.values() if trip["median"] is not None]
    reason = tool.prepare()
    dropped = host.counters()["dropped"] if params["delay_ms"] and params["peers"] else 0
    before = state.pulse(server, server_names)
    outcome = {"reason": reason, "asked": None, "own_query": True} if reason else tool.run()
    after, server = snapshot_after(module, server, server_names)
    outcome["rtt_ms"] = min(answers) if answers else None
    outcome["dropped"] = host.counters()["dropped"] - dropped if params["delay_ms"] and params["peers"] else 0
    reason = load.invalid(params, before, after, outcome)
    reason += full_disk(server) if reason and after else ""
    run = {"valid": not reason, "reason": reason, "rtt_ms": outcome["rtt_ms"], "dropped": outcome["dropped"],
           "commits": load.transactions(before["gtid"], after["gtid"]) if after else None,
           "counters": load.deltas(before, after) if after else {}}
    for key in ("seconds", "operations", "rate", "rate_stdev", "latency_ms"):
        run[key] = None if reason else outcome.get(key)
    return run, server


def drop(server, schema):
    """Drop the schema; False where that takes too long, as when nobody acknowledges."""
    worker = threading.Thread(target=server.rows, args=("DROP DATABASE IF EXISTS %s" % canary.quote(schema),))
    worker.daemon = True
    worker.start()
    worker.join(PATIENCE)
    return not worker.is_alive()


def all_runs(module, server, server_names, tool):
    """All runs, the warm-up thrown away; the schema is gone after each whatever happens."""
    runs = []
    for dummy in range(module.params["warmup"] + module.params["iterations"]):
        try:
            run, server = one_run(module, server, server_names, tool)
        finally:
            gone = drop(server, tool.schema)
        if not gone:
            run.update(valid=False, reason="%s; the schema %s could not be dropped within %d s"
                       % (run["reason"] or "the run ended", tool.schema, PATIENCE))
            return runs + [run]
        runs.append(run)
    return runs[module.params["warmup"]:]


def check(params):
    """What is wrong with the parameters, in words; empty when nothing is."""
    for name in ("clients", "queries", "iterations", "timeout", "table_size"):
        if params[name] < 1:
            return "%s is %d; at least 1 is needed" % (name, params[name])
    if params["warmup"] < 0:
        return "warmup is %(warmup)d; at least 0 is needed" % params
    if params["seconds"] is not None and params["seconds"] < 1:
        return "seconds is %(seconds)d; at least 1 is needed" % params
    if params["queries"] < params["clients"]:
        return "queries is %(queries)d, less than clients (%(clients)d): some would do nothing" % params
    if params["tool"] == "client" and params["clients"] != 1:
        return "clients is %(clients)d; the tool client is one connection" % params
    if params["tool"] == "mysqlslap" and params["seconds"]:
        return "mysqlslap runs a number of queries, not seconds; set queries, or another tool"
    if params["tool"] == "sysbench":
        return ("sysbench takes a script, not a query or create" if params["query"] or params["create"] else
                sysbench.unusable_password(params["login_password"]))
    return ""


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            tool=dict(type="str", choices=sorted(load_tools.TOOLS), default="mysqlslap"),
            clients=dict(type="int", default=10),
            queries=dict(type="int", default=1000),
            seconds=dict(type="int"),
            iterations=dict(type="int", default=5),
            warmup=dict(type="int", default=1),
            load_type=dict(type="str", choices=["mixed", "update", "write", "key", "read"], default="mixed"),
            engine=dict(type="str"),
            create=dict(type="str"),
            query=dict(type="str"),
            script=dict(type="str", default="oltp_insert"),
            table_size=dict(type="int", default=10000),
            schema=dict(type="str"),
            timeout=dict(type="int", default=300),
            replication=dict(type="str", choices=["none", "async", "semisync"]),
            replicas=dict(type="int", default=1),
            peers=dict(type="list", elements="str", default=[]),
            delay_ms=dict(type="float", default=0),
        ),
        required_by={"create": "query"},
        required_if=[("tool", "client", ["query"])],
        supports_check_mode=True,
    )
    params = module.params
    wrong = check(params)
    if wrong:
        module.fail_json(msg=wrong)
    server = state.Server(login.connect_or_fail(module))
    try:
        server_names = state.identify(server)
    except names.UnknownServer as error:
        module.fail_json(msg=str(error))
    schema = params["schema"] or "semisync_load_" + uuid.uuid4().hex[:12]
    if schema in server.schemas():
        module.fail_json(msg="the schema %s exists; the load works only in a schema of its own" % schema)
    tool = load_tools.TOOLS[params["tool"]](module, server, server_names, schema)
    try:
        runs = [] if module.check_mode else all_runs(module, server, server_names, tool)
    except netem_wanted.Refused as error:
        module.fail_json(msg=str(error))
    finally:
        tool.close()
    good = [run["seconds"] for run in runs if run["valid"]]
    words = [word for word in tool.command if not word.startswith(("--defaults-extra-file", "--config-file"))]
    module.exit_json(changed=True, runs=runs, valid=bool(runs) and len(good) == len(runs),
                     summary=slap.summary(good) if good else {}, command=" ".join(words))


if __name__ == "__main__":
    main()
