# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""sysbench 1.0: its option file, its command, and its report.

Source of the report's form: sysbench 1.0.20 src/sysbench.c, src/sb_histogram.c and src/db_driver.c.
"""

from __future__ import annotations

import math
import re

from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Latency,
    Login,
    ToolRun,
    Work,
)

SCRIPTS = (
    "oltp_insert",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "oltp_delete",
)


def config(login: Login, schema: str) -> str:
    """Text of --config-file: user, server and schema; it is written only to a file with mode 0600.

    Args:
        login: empty values are left out.
    """
    options: list[tuple[str, str | int | None]] = [
        ("db-driver", "mysql"),
        ("mysql-db", schema),
        ("mysql-user", login["user"]),
        ("mysql-password", login["password"]),
    ]
    if login["socket"]:
        options.append(("mysql-socket", login["socket"]))
    else:
        options += [("mysql-host", login["host"]), ("mysql-port", login["port"])]
    return "".join(f"{name}={value}\n" for name, value in options if value not in (None, ""))


def unusable_password(password: str | None) -> str:
    """Why a password cannot be written to sysbench's option file; empty when it can: it knows no
    quoting.
    """
    if re.search(r"[\s#\"']", password or ""):
        return (
            "sysbench's option file cannot hold a password with spaces, quotes or #; give the load"
            " an account with another password"
        )
    return ""


def argv(
    program: str,
    config_file: str,
    work: Work,
    command: str,
) -> list[str]:
    """One of sysbench's commands: prepare, run or cleanup.

    Args:
        work: clients, script, table_size, and queries or seconds are looked at.
    """
    script = work.get("script") or ""
    words = [
        program,
        "--config-file=" + config_file,
        f"--threads={work['clients'] if command == 'run' else 1}",
    ]
    if command == "run":
        seconds = work.get("seconds")
        words += [
            "--histogram=on",
            "--percentile=95",
            f"--time={int(seconds or 0)}",
            f"--events={0 if seconds else int(work['queries'] or 0)}",
        ]
    if script in SCRIPTS:
        words += ["--tables=1", f"--table-size={work['table_size']}"]
    return [*words, script, command]


def parse(output: str) -> ToolRun:
    """The figures of a run's report; its transactions are the operations.

    Raises:
        ValueError: it is no report.
    """
    operations = int(figure(output, r"transactions:\s+(\d+)"))
    seconds = figure(output, r"total time:\s+([\d.]+)s")
    mean = figure(output, r"^\s+avg:\s+([\d.]+)")
    longest = figure(output, r"^\s+max:\s+([\d.]+)")
    if not seconds or not operations:
        raise ValueError(f"sysbench did nothing: it reports {operations} transactions")
    return {
        "reason": "",
        "asked": operations,
        "own_query": True,
        "seconds": seconds,
        "operations": operations,
        "rate": round(operations / seconds, 2),
        "latency_ms": spread(histogram(output), mean, longest),
    }


def figure(output: str, pattern: str) -> float:
    """A figure of the report.

    Raises:
        ValueError: it is not there.
    """
    match = re.search(pattern, output, re.MULTILINE)
    if not match:
        raise ValueError(f"sysbench printed no report, but: {output[-300:]!r}")
    return float(match.group(1))


def histogram(output: str) -> list[tuple[float, int]]:
    """(upper bound of the latency in milliseconds, count) of each line of the histogram."""
    return [
        (float(value), int(count))
        for value, count in re.findall(r"^\s*([\d.]+) \|\**\s+(\d+)\s*$", output, re.MULTILINE)
    ]


def spread(
    buckets: list[tuple[float, int]],
    mean: float,
    longest: float,
) -> Latency:
    """Latencies from a histogram, whose buckets are 1.8 % wide."""
    total = sum(count for _dummy, count in buckets)
    squares = math.fsum(count * (value - mean) ** 2 for value, count in buckets)
    return {
        "mean": mean,
        "stdev": round(math.sqrt(squares / max(total - 1, 1)), 4),
        "p50": percentile_of(buckets, 50),
        "p95": percentile_of(buckets, 95),
        "p99": percentile_of(buckets, 99),
        "max": longest,
    }


def percentile_of(buckets: list[tuple[float, int]], percent: int) -> float | None:
    """The upper bound of the bucket in which a percentile lies; None of no buckets."""
    total, seen = sum(count for _dummy, count in buckets), 0
    for value, count in buckets:
        seen += count
        if seen >= total * percent / 100.0:
            return value
    return None


def sysbench_failure(
    code: int,
    stderr: str,
    output: str,
) -> str:
    """Why sysbench's command did not do its work, in words; empty when it did."""
    fatal = re.findall(r"^FATAL: .*", output + "\n" + stderr, re.MULTILINE)
    if fatal:
        return f"sysbench failed: {fatal[0][:300]}"
    if code != 0:
        return f"sysbench failed ({code}): {(stderr or output).strip()[-300:]}"
    if stderr.strip():
        return f"sysbench reported: {stderr.strip()[:300]}"
    return ""
