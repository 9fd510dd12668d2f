# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""sysbench 1.0: its option file, its command, and its report.

Source of the report's form: sysbench 1.0.20 src/sysbench.c, src/sb_histogram.c and src/db_driver.c.
"""

from __future__ import annotations

import math
import re
from typing import Any

SCRIPTS = (
    "oltp_insert",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "oltp_delete",
)


def config(login: Any, schema: str) -> Any:
    """Text of --config-file: whom to be, where, and in which schema; only ever written to a file
    with mode 0600.

    Args:
        login: user, password, host, port, socket; empty ones are left out.
    """
    options = [
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


def unusable_password(password: str) -> str:
    """Why a password cannot be written to sysbench's option file; empty when it can: it knows no
    quoting.
    """
    if re.search(r"[\s#\"']", password or ""):
        return (
            "sysbench's option file cannot hold a password with spaces, quotes or #; give the load"
            " an account with another one"
        )
    return ""


def argv(program: str, config_file: Any, params: dict[str, Any], command: Any) -> list[Any]:
    """One of sysbench's commands: prepare, run or cleanup.

    Args:
        params: clients, script, table_size, queries or seconds.
    """
    words = [
        program,
        "--config-file=" + config_file,
        f"--threads={params['clients'] if command == 'run' else 1}",
    ]
    if command == "run":
        words += [
            "--histogram=on",
            "--percentile=95",
            f"--time={int(params['seconds'] or 0)}",
            f"--events={int(0 if params['seconds'] else params['queries'])}",
        ]
    if params["script"] in SCRIPTS:
        words += ["--tables=1", f"--table-size={params['table_size']}"]
    return [*words, params["script"], command]


def parse(output: str) -> dict[str, Any]:
    """What a run's report says.

    Returns:
        seconds, operations (transactions), rate, errors (ignored), latency_ms.

    Raises:
        ValueError: it is no report.
    """
    figures = {}
    for key, pattern in (
        ("operations", r"transactions:\s+(\d+)"),
        ("seconds", r"total time:\s+([\d.]+)s"),
        ("errors", r"ignored errors:\s+(\d+)"),
        ("mean", r"^\s+avg:\s+([\d.]+)"),
        ("max", r"^\s+max:\s+([\d.]+)"),
    ):
        match = re.search(pattern, output, re.MULTILINE)
        if not match:
            raise ValueError(f"sysbench printed no report: {output[-300:]!r}")
        figures[key] = float(match.group(1))
    if not figures["seconds"] or not figures["operations"]:
        raise ValueError(f"sysbench did nothing: {figures['operations']} transactions")
    latency = spread(histogram(output), figures["mean"])
    latency.update(mean=figures["mean"], max=figures["max"])
    return {
        "seconds": figures["seconds"],
        "operations": int(figures["operations"]),
        "errors": int(figures["errors"]),
        "rate": round(figures["operations"] / figures["seconds"], 2),
        "latency_ms": latency,
    }


def histogram(output: str) -> list[tuple[float, int]]:
    """(upper bound of the latency in milliseconds, count) of each line of the histogram."""
    return [
        (float(value), int(count))
        for value, count in re.findall(r"^\s*([\d.]+) \|\**\s+(\d+)\s*$", output, re.MULTILINE)
    ]


def spread(buckets: list[tuple[float, int]], mean: float) -> dict[str, float | None]:
    """Percentiles and standard deviation from a histogram; its buckets are 1.8 % wide."""
    total = sum(count for _dummy, count in buckets)
    latency: dict[str, float | None] = {}
    for percent in (50, 95, 99):
        seen, latency[f"p{percent}"] = 0, None
        for value, count in buckets:
            seen += count
            if seen >= total * percent / 100.0:
                latency[f"p{percent}"] = value
                break
    squares = math.fsum(count * (value - mean) ** 2 for value, count in buckets)
    latency["stdev"] = round(math.sqrt(squares / max(total - 1, 1)), 4)
    return latency


def complaint(code: int, stderr: str, output: str) -> str:
    """Why sysbench's command did not do its work, in words; empty when it did."""
    fatal = re.findall(r"^FATAL: .*", output + "\n" + stderr, re.MULTILINE)
    if fatal:
        return f"sysbench failed: {fatal[0][:300]}"
    if code != 0:
        return f"sysbench failed ({code}): {(stderr or output).strip()[-300:]}"
    if stderr.strip():
        return f"sysbench complained: {stderr.strip()[:300]}"
    return ""
