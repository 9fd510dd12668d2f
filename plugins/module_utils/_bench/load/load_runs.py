# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of a load: what is read before and after each, and the schema that is dropped."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import load_tools, validity
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.disk_watch import DiskWatch
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    LoadOptions,
    LoadRun,
    Outcome,
    Snapshot,
    ToolRun,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.snapshot import (
    take_snapshot,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_reader import (
    NetReader,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.safeguards import (
    drain_seconds,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import round_trips
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import login, sql
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

PINGS = 5
# Seconds in which a restarted server must accept connections again, or a schema be gone.
PATIENCE = 30


def snapshot_after(
    module: AnsibleModule, server: Server, names: Names
) -> tuple[Snapshot | None, Server]:
    """A snapshot after a run, and the connection; None if the server no longer answers, not even on
    a new connection.
    """

    def look() -> Snapshot | None:
        nonlocal server
        try:
            return take_snapshot(server, names)
        except ServerError:  # the connection may be an old one
            pass
        try:
            server = Server(login.connect(module))
            return take_snapshot(server, names)
        except ServerError:
            return None

    return wait_until(look, PATIENCE, 1), server


def one_run(
    module: AnsibleModule,
    server: Server,
    names: Names,
    tool: load_tools.Load,
) -> tuple[LoadRun, Server]:
    """One run: its figures, or why it does not count; and the connection, maybe a new one."""
    params: LoadOptions = module.params
    host = NetReader(module)
    trips = round_trips(module, params["peers"], PINGS, drain_seconds(params["delay_ms"]) + 1)
    answers = [trip["median"] for trip in trips.values() if trip["median"] is not None]
    reason = tool.prepare()
    delayed = bool(params["delay_ms"] and params["peers"])
    dropped = host.counters()["dropped"] if delayed else 0
    before = take_snapshot(server, names)
    with DiskWatch(server) as disk:
        done: ToolRun = {"reason": reason, "asked": None, "own_query": True}
        if not reason:
            done = tool.run()
        after, server = snapshot_after(module, server, names)
    outcome: Outcome = {
        **done,
        "rtt_ms": min(answers) if answers else None,
        "dropped": host.counters()["dropped"] - dropped if delayed else 0,
    }
    reason = validity.invalid(params, before, after, outcome)
    reason += disk.words() if reason else ""
    run = measured(outcome, reason)
    if after:
        run["commits"] = validity.committed(before, after)
        run["counters"] = validity.semisync_rises(before, after)
    return run, server


def measured(outcome: Outcome, reason: str) -> LoadRun:
    """A run as it is returned: without figures if there is a reason why it does not count."""
    run: LoadRun = {
        "valid": not reason,
        "reason": reason,
        "rtt_ms": outcome["rtt_ms"],
        "dropped": outcome["dropped"],
        "commits": None,
        "counters": {},
        "seconds": None,
        "operations": None,
        "rate": None,
        "rate_stdev": None,
        "latency_ms": None,
    }
    if not reason:
        run["seconds"] = outcome.get("seconds")
        run["operations"] = outcome.get("operations")
        run["rate"] = outcome.get("rate")
        run["rate_stdev"] = outcome.get("rate_stdev")
        run["latency_ms"] = outcome.get("latency_ms")
    return run


def drop(module: AnsibleModule, server: Server, schema: str) -> tuple[str, Server]:
    """Drop the schema, even if the server has only just restarted; (why it is still there or "",
    the connection, which may be a new one).
    """
    until, said = time.monotonic() + PATIENCE, ""
    while True:
        errors: list[str] = []
        worker = threading.Thread(target=drop_once, args=(server, schema, errors), daemon=True)
        worker.start()
        worker.join(max(0.0, until - time.monotonic()))
        if worker.is_alive():
            # This happens when no replica acknowledges.
            return said or "the server did not answer in time", server
        if not errors:
            return "", server
        said = errors[0]
        if time.monotonic() > until:
            return said, server
        time.sleep(1)
        with contextlib.suppress(ServerError):
            server = Server(login.connect(module))


def drop_once(server: Server, schema: str, errors: list[str]) -> None:
    try:
        server.rows(f"DROP DATABASE IF EXISTS {sql.quote(schema)}")
    except ServerError as error:
        errors.append(str(error))


def all_runs(
    module: AnsibleModule,
    server: Server,
    names: Names,
    tool: load_tools.Load,
) -> list[LoadRun]:
    """All runs without the warm-up; the schema is dropped after each, whatever happens."""
    runs: list[LoadRun] = []
    for _run in range(module.params["warmup"] + module.params["iterations"]):
        try:
            run, server = one_run(module, server, names, tool)
        finally:
            there, server = drop(module, server, tool.schema)
        if there:
            run["valid"] = False
            run["reason"] = (
                f"{run['reason'] or 'the run ended'}; the schema {tool.schema} could not be"
                f" dropped within {PATIENCE} s: {there}"
            )
            return [*runs, run]
        runs.append(run)
    return runs[module.params["warmup"] :]
