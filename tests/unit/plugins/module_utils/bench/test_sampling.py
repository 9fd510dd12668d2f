# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench import sampling


def session(number: int, command: str, seconds: int = 0, user: str = "shop") -> dict[str, object]:
    return {"Id": number, "User": user, "Command": command, "Time": seconds}


@pytest.mark.parametrize(
    "row,counts,works",
    [
        (session(1, "Query"), True, True),
        (session(1, "Query", 90), True, True),
        (session(1, "Execute"), True, True),
        (session(1, "Sleep"), True, False),
        (session(1, "Sleep", 30), False, False),
        (session(9, "Query"), False, False),  # this session
        (session(1, "Binlog Dump GTID", 900, "repl"), False, False),
        (session(1, "Daemon", 900, "event_scheduler"), False, False),
        (session(1, "Slave_SQL", 0, "system user"), False, False),
        ({"Id": 1, "User": b"shop", "Command": b"Query", "Time": None}, True, True),
    ],
)
def test_the_sessions_that_clients_use(row, counts, works):
    assert sampling.sessions_in([row], mine=9) == ([1] if counts else [], int(works))


@pytest.mark.parametrize(
    "before,after,rose",
    [
        ({"a": 1, "b": 2}, {"a": 4, "b": 2, "c": 5}, {"a": 3, "c": 5}),
        (None, {"a": 4}, {}),
        ({"a": 4}, None, {}),
    ],
)
def test_how_far_the_counters_of_a_table_rose(before, after, rose):
    assert sampling.risen(before, after) == rose


def test_idle_processors_wait_for_a_disk_too():
    assert sampling.cpu_time("cpu  100 5 50 800 40 1 4 0 7 0\ncpu0 1 1 1 1\n") == (840, 1000)


def reading(at: float, commits: int, **changes) -> Any:
    snapshot = {
        "status": {"binlog_commits": commits, "binlog_group_commits": commits // 4},
        "at": at,
        "semisync": {"status": "OFF"},
        "gtid": None,
    }
    tables = {
        "binary_log": None,
        "writers": None,
        "cpu": (int(at), int(2 * at)),
    }
    return {"snapshot": snapshot, **tables, **changes}


def test_what_a_server_does_not_show_is_none():
    seen: Any = [{"sessions": [1, 2], "working": 1, "answer_ms": 0.2}] * 2
    made = sampling.make_sample(reading(100, 0), reading(110, 4000), seen, {})
    assert (made["seconds"], made["commits"], made["groups"]) == (10, 4000, 1000)
    assert (made["sessions"], made["working"], made["idle"]) == (2, 1, 0.5)
    for name in ("bytes", "lock_waits", "writers", "log_busy"):
        assert made[name] is None


def test_performance_schema_tells_who_writes_and_how_long_the_log_takes():
    first = {"binary_log": {"syncs": 10, "busy": 0, "bytes": 0}, "writers": {"7": 5, "8": 5}}
    last = {
        "binary_log": {"syncs": 1010, "busy": 4 * 10**12, "bytes": 800_000},
        "writers": {"7": 50, "8": 5, "9": 1},
    }
    seen: Any = [{"sessions": [1], "working": 1, "answer_ms": 0.2}]
    made = sampling.make_sample(reading(0, 0, **first), reading(10, 40, **last), seen, {})
    assert (made["writers"], made["log_busy"], made["bytes"]) == (2, 0.4, 800_000)
