"""How far what advise.yml predicts is off from what benchmark.yml then measures: a source, a
replica and a client, hosts with kernels of their own, real netem.

advised.py --inventory FILE [--clients 1 4 16 64] [--delays 0 10 30 90]
    [--wait-points AFTER_SYNC AFTER_COMMIT] [--seconds 10] [--records docs/evidence/advise.json]
    [--document docs/evidence/advise.md]
advised.py --again …: only the table, with the predictions of the code as it is now.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names  # noqa: E402
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import (  # noqa: E402
    parse_version,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import advice  # noqa: E402

import measured  # noqa: E402
from support.live_hosts import playbook, playbook_environment  # noqa: E402

SCHEMA, UNIT, TABLE_SIZE = "advised", "advised-load", 1000
SCRIPT = "oltp_insert"
CONFIG = "/root/advised.cnf"
CLIENT = "$(command -v mariadb || command -v mysql)"
# Seconds of a load before it is watched.
WARM = 4
# Of a rate and of a p99, the error that is allowed.
RATE, P99 = 0.15, 0.25
RECORDS = PROJECT / "docs" / "evidence" / "advise.json"
MARK = "<!-- cells -->"


class Lab:
    """The hosts of an inventory: source, replica1 and client."""

    def __init__(self, file: pathlib.Path, folder: pathlib.Path) -> None:
        self.file, self.folder, self.results = file, folder, folder / "results"
        self.version = ""

    def ansible(self, host: str, module: str, arguments: str) -> dict[str, Any]:
        """One module call's result.

        Raises:
            RuntimeError: it failed.
        """
        done = subprocess.run(
            ["ansible", "-i", str(self.file), host, "-b", "-m", module, "-a", arguments],
            env=playbook_environment(
                ANSIBLE_STDOUT_CALLBACK="ansible.builtin.json",
                ANSIBLE_LOAD_CALLBACK_PLUGINS="true",
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{host}: {module}: {done.stdout}{done.stderr}")
        (task,) = json.loads(done.stdout)["plays"][0]["tasks"]
        return task["hosts"][host]

    def shell(self, host: str, command: str) -> str:
        return self.ansible(host, "ansible.builtin.shell", command)["stdout"]

    def sql(self, statement: str) -> str:
        return self.shell("source", f'{CLIENT} -N -e "{statement}"')

    def play(self, name: str, *arguments: str) -> str:
        """Run a playbook.

        Raises:
            RuntimeError: it failed.
        """
        done = playbook(name, self.file, "-e", f"semisync_results_dir={self.results}", *arguments)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout

    def newest(self, name: str) -> dict[str, Any]:
        """The newest file of this name in the results."""
        found = sorted(self.results.glob(f"*/*/{name}"))
        return json.loads(found[-1].read_text(encoding="utf-8"))

    def address(self, host: str) -> str:
        """Where a host is, as the other hosts know it."""
        known = subprocess.run(
            ["ansible-inventory", "-i", str(self.file), "--host", host],
            env=playbook_environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        its = json.loads(known.stdout)
        return its.get("semisync_address") or its["ansible_host"]

    def set_up(self) -> None:
        """The pair by site.yml, and what the load needs."""
        self.play("site")
        self.version = self.sql("SELECT @@version")
        word = secrets.token_hex(12)
        self.sql(
            f"CREATE DATABASE IF NOT EXISTS {SCHEMA}; DROP USER IF EXISTS {SCHEMA}@'%';"
            f" CREATE USER {SCHEMA}@'%' IDENTIFIED BY '{word}';"
            f" GRANT ALL ON {SCHEMA}.* TO {SCHEMA}@'%'"
        )
        words = (
            f"db-driver=mysql\\nmysql-db={SCHEMA}\\nmysql-user={SCHEMA}\\nmysql-password={word}\\n"
            f"mysql-host={self.address('source')}\\n"
        )
        self.shell("client", f"umask 077; printf '{words}' > {CONFIG}")
        self.sysbench("cleanup")
        self.sysbench("prepare")

    def sysbench(self, command: str, clients: int = 1) -> None:
        words = (
            f"sysbench --config-file={CONFIG} --tables=1 --table-size={TABLE_SIZE}"
            f" --threads={clients} --time=3600 --events=0 {SCRIPT} {command}"
        )
        run = f"systemd-run --quiet --collect --unit={UNIT} " if command == "run" else ""
        self.shell("client", run + words)

    def semisync(self, wanted: str) -> None:
        """Switch it on or off on the source."""
        names = ("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")
        is_new = self.sql(f"SHOW GLOBAL VARIABLES LIKE '{names[0]}'")
        self.sql(f"SET GLOBAL {names[0] if is_new else names[1]} = {wanted}")

    def delay(self, peer: str, delay_ms: float) -> None:
        """Delay what the source sends to a replica; 0 for no delay."""
        words = f"delay_ms={delay_ms} peers={peer} rollback_after=120"
        self.ansible("source", "dbre.semisync.netem", words if delay_ms else "state=absent")


def sampled(lab: Lab, opts: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What advise.yml said of each load at each delay, without semi-sync."""
    peer = lab.address("replica1")
    lab.semisync("OFF")
    try:
        for clients in opts.clients:
            lab.sysbench("run", clients)
            time.sleep(WARM)
            for delay_ms in opts.delays:
                lab.delay(peer, delay_ms)
                lab.play("advise", "-e", f"semisync_advise_seconds={opts.seconds}")
                yield {
                    "clients": clients,
                    "delay_ms": delay_ms,
                    "advice": lab.newest("advice.json"),
                }
            lab.shell("client", f"systemctl stop {UNIT}")
    finally:
        lab.delay(peer, 0)
        lab.shell("client", f"systemctl stop {UNIT} || true")
        lab.semisync("ON")
        # It waits until the replica has caught up and acknowledges.
        lab.play("site")


def suite(opts: argparse.Namespace, wait_point: str) -> dict[str, Any]:
    """The suite that measures the same loads with semi-sync."""
    return {
        "title": "What advise.yml predicted",
        "repetitions": opts.repetitions,
        "load": {
            "tool": "sysbench",
            "script": SCRIPT,
            "table_size": TABLE_SIZE,
            "seconds": opts.seconds,
        },
        "wait_point": wait_point,
        "cells": [
            {
                "id": f"c{clients}-{delay_ms:g}ms",
                "replication": "semisync",
                "delay_ms": delay_ms,
                "load": {"clients": clients},
            }
            for clients in opts.clients
            for delay_ms in opts.delays
        ],
    }


def benchmarked(lab: Lab, opts: argparse.Namespace, wait_point: str) -> dict[str, Any]:
    """What benchmark.yml measured: cell -> its record."""
    file = lab.folder / f"advised-{wait_point.lower().replace('_', '-')}.json"
    file.write_text(json.dumps(suite(opts, wait_point)), encoding="utf-8")
    lab.play("benchmark", "-e", f"semisync_suite={file}", "-e", "semisync_allow_disruption=true")
    return {each["id"]: each for each in lab.newest(f"benchmark-{file.stem}.json")["cells"]}


def cells(lab: Lab, opts: argparse.Namespace) -> list[dict[str, Any]]:
    """Each prediction's sample with what was measured, as it is kept."""
    said = list(sampled(lab, opts))
    found = []
    for wait_point in opts.wait_points:
        record = benchmarked(lab, opts, wait_point)
        for one in said:
            cell = record[f"c{one['clients']}-{one['delay_ms']:g}ms"]
            found.append(
                {
                    "version": lab.version,
                    "wait_point": wait_point,
                    "clients": one["clients"],
                    "delay_ms": one["delay_ms"],
                    "at": one["advice"]["at"],
                    "sample": one["advice"]["sample"],
                    "said": next(
                        each
                        for each in one["advice"]["predictions"] or [{"wait_point": wait_point}]
                        if each["wait_point"] == wait_point
                    ),
                    "unknown": one["advice"]["unknown"],
                    "measured": {
                        "valid": cell["valid"],
                        "reasons": cell["reasons"],
                        "rate": (cell["statistics"] or {}).get("median"),
                        "p50_ms": (cell["latency_ms"] or {}).get("p50"),
                        "p99_ms": (cell["latency_ms"] or {}).get("p99"),
                        "rtt_ms": cell["rtt_ms"],
                    },
                    "load": round(os.getloadavg()[0], 1),
                }
            )
            print(json.dumps(found[-1]), flush=True)
    return found


def predicted(one: dict[str, Any]) -> advice.Prediction | None:
    """What the code as it is now says of a sample; None if it tells nothing."""
    sample = one["sample"]
    if advice.no_sample(sample):
        return None
    engine = "mariadb" if "MariaDB" in one["version"] else "mysql"
    names = Names(engine, parse_version(one["version"]))
    (trip,) = sample["trips"].values()
    cluster = advice.Cluster(names, 50, {"replica1": trip["median"]})
    model = advice.model_of(sample, names)
    return advice.predict(sample, model, cluster, "replica1", one["wait_point"])


def off(foretold: float | None, seen: float | None) -> float | None:
    """The error of a prediction as a share of what was measured."""
    return None if foretold is None or not seen else foretold / seen - 1


def document(records: list[dict[str, Any]]) -> str:
    """The table, a line for each cell, and how many are within what is allowed."""
    lines = [
        "| server | wait point | clients | delay | round trip | asynchronous, per second | idle |"
        " rate predicted | measured | error | p99 predicted, ms | measured, ms | error |",
        "|---" * 13 + "|",
    ]
    within = {"rate": 0, "p99": 0}
    compared = {"rate": 0, "p99": 0}
    for one in records:
        made, real = predicted(one), one["measured"]
        rate, p99 = (made["rate"], made["p99_ms"]) if made else (None, None)
        errors = {"rate": off(rate, real["rate"]), "p99": off(p99, real["p99_ms"])}
        for name, most in (("rate", RATE), ("p99", P99)):
            error = errors[name]
            compared[name] += error is not None
            within[name] += error is not None and abs(error) <= most
        now = advice.seen_now(one["sample"]) if made else None
        words = [
            one["version"].partition("-0+")[0],
            one["wait_point"],
            one["clients"],
            f"{one['delay_ms']:g} ms",
            f"{made['rtt_ms']:.1f} ms" if made and made["rtt_ms"] is not None else "-",
            f"{now['rate']:.0f}" if now else "-",
            f"{now['idle']:.0%}" if now and now["idle"] is not None else "-",
            *figures(rate, real["rate"], errors["rate"]),
            *figures(p99, real["p99_ms"], errors["p99"]),
        ]
        lines.append("| " + " | ".join(map(str, words)) + " |")
    lines += [
        "",
        f"Of {compared['rate']} rates {within['rate']} are within {RATE:.0%}; of"
        f" {compared['p99']} p99 {within['p99']} are within {P99:.0%}.",
    ]
    return "\n".join(lines) + "\n"


def figures(foretold: float | None, seen: float | None, error: float | None) -> list[str]:
    """A prediction, what was measured, and the error, for the table."""
    return [
        *("-" if each is None else f"{each:.4g}" for each in (foretold, seen)),
        "-" if error is None else f"{error:+.0%}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", type=pathlib.Path)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--delays", type=float, nargs="+", default=[0, 10, 30, 90])
    parser.add_argument("--wait-points", nargs="+", default=list(advice.WAIT_POINTS))
    parser.add_argument("--seconds", type=int, default=10, help="of a sample, and of a load")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="only the table")
    parser.add_argument("--records", type=pathlib.Path, default=RECORDS)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    there = opts.records.exists()
    records = json.loads(opts.records.read_text(encoding="utf-8")) if there else []
    if not opts.again:
        with tempfile.TemporaryDirectory() as folder:
            lab = Lab(opts.inventory.resolve(), pathlib.Path(folder))
            lab.set_up()
            records += cells(lab, opts)
        opts.records.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    measured.publish(document(records), opts.document, MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
