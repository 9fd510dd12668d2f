# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mysqlslap and mariadb-slap: the command, its figures, and whether the work was really done."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Spread,
    Work,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.statistics import median


def argv(
    program: str,
    defaults_file: str,
    schema: str,
    work: Work,
) -> list[str]:
    """The command, without anything secret: credentials are in the option file, which must be the
    first argument.

    Args:
        program: path of mysqlslap or mariadb-slap.
        defaults_file: option file with the credentials.
        schema: a schema of the benchmark's own; the tool drops and creates it.
        work: clients, queries, load_type, engine, create and query are looked at.
    """
    command = [
        program,
        "--defaults-extra-file=" + defaults_file,
        "--csv",
        "--iterations=1",
        "--create-schema=" + schema,
        f"--concurrency={work['clients']}",
        f"--number-of-queries={work['queries']}",
    ]
    query, create, engine = work.get("query"), work.get("create"), work.get("engine")
    if query:
        command += ["--query=" + query, "--delimiter=;"]
        if create:
            command.append("--create=" + create)
    else:
        command += ["--auto-generate-sql", "--auto-generate-sql-load-type=" + work["load_type"]]
    if engine:
        command.append("--engine=" + engine)
    return command


def parse_csv(output: str) -> float:
    """Seconds of the run from the one line of --csv: engine,load type,avg,min,max,clients,queries
    per client.

    Raises:
        ValueError: there is no such line.
    """
    for line in reversed(output.strip().splitlines()):
        fields = line.split(",")
        if len(fields) >= 7:
            return float(fields[2])
    raise ValueError(f"the load tool printed no figures: {output[:200]!r}")


def asked(clients: int, queries: int) -> int:
    """Queries the tool issues: it divides them among its clients as integers."""
    return clients * (queries // clients)


def mysqlslap_failure(
    code: int,
    stderr: str,
    output: str,
) -> str:
    """Why the tool did not do its work, in words; empty when it says that it did.

    It can exit 0 although its clients could not connect, and then claims the full work: the
    server's counters decide.
    """
    if code != 0:
        return f"the load tool failed ({code}): {stderr.strip()[:300]}"
    if stderr.strip():
        return f"the load tool reported: {stderr.strip()[:300]}"
    try:
        parse_csv(output)
    except ValueError as error:
        return str(error)
    return ""


def spread_of_runs(seconds: list[float]) -> Spread:
    """Median, minimum and maximum of the runs that count."""
    return {
        "median": round(median(seconds), 4),
        "min": min(seconds),
        "max": max(seconds),
        "runs": len(seconds),
    }
