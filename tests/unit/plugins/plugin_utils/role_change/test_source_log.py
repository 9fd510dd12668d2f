# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the end of a dead source's binary log makes up for what no look saw."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    source_log,
)
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

FILES = {"basename": "/var/lib/mysql/mysql-bin", "datadir": "/var/lib/mysql", "pid_file": "pid"}
POSSIBLE = {"case": "", "words": "2 files"}
READ = {
    "case": "",
    "words": "",
    "count": 7,
    "gtids": [f"{remnants.SOURCE}:{number}" for number in range(101, 108)],
    "seen": 12,
    "files": ["/var/lib/mysql/mysql-bin.000004"],
    "end": 4711,
    "torn": 0,
    "torn_gtid": "",
}
KILLED = {"how": "killed", "status": 9, "started_ago": 86400.0, "ended_ago": 20.0}
KILLED["stopping_ago"] = None


def evidence(engine, salvage, last=None, **strict):
    """A source that was degraded at the last look, and whose host says that it was killed."""
    looked = remnants.look(engine, status="OFF", degraded_since=None)
    looked.update(files=FILES, sync_binlog="1", gtid_strict_mode="ON")
    made = remnants.evidence(
        engine,
        salvage=salvage,
        last=dict(looked, **(last or {})),
        settings=samples.settings(failover_to="", failover_accept=[], failover_salvage=True),
    )
    made.looks["db1"] = {"ended": dict(KILLED)}
    for member in made.members[1:]:
        member.info["variables"].update(gtid_strict_mode=strict.get(member.host, "ON"))
    return made


def names(made):
    return [case.name for case in cases.decide(made).cases]


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_without_salvage_a_degraded_source_has_to_be_accepted(engine):
    made = evidence(engine, None)
    made = made._replace(settings=samples.settings(failover_to="", failover_accept=[]))
    assert names(made) == ["degraded"]
    assert source_log.problem(made) is None and not source_log.covers(made)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("seen", [POSSIBLE, READ], ids=["before", "behind the stop"])
def test_a_log_that_can_be_read_closes_the_window_when_it_is_applied(engine, seen):
    if engine == "mariadb" and "gtids" in seen:
        seen = dict(seen, gtids=[f"0-1-{number}" for number in range(101, 108)])
    made = remnants.frozen(evidence(engine, seen))
    assert names(made) == []
    kept = certificate.record("shop", "feed", made, cases.decide(made))
    assert (kept["verdict"], kept["window"], kept["pending"]) == ("proven", None, ["C6", "C7"])
    assert (kept["salvage"] or {}).get("transactions") == (7 if "gtids" in seen else None)
    points = [
        {"id": point, "good": True, "observed": "seen", "expected": "all"} for point in ("C6", "C7")
    ]
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": 0}
    done = failover_outcome.completed(kept, {"db2": part}, [], "")
    assert (done["verdict"], done["reasons"]) == ("proven", [])
    (row,) = [row for row in done["premises"] if row["id"] == "C7"]
    assert row["outcome"] == "passed"
    # Where the part says nothing of it, nothing is proven.
    done = failover_outcome.completed(kept, {"db2": dict(part, points=points[:1])}, [], "")
    assert (done["verdict"], done["reasons"]) == ("not proven", ["C7, db1: not shown"])


@pytest.mark.parametrize(
    "engine,seen,last,strict,case",
    [
        ("mysql", None, {}, {}, "unreachable"),
        ("mysql", {"case": "encrypted", "words": "it is"}, {}, {}, "encrypted"),
        ("mysql", {"case": "alive", "words": "process 7"}, {}, {}, "alive"),
        ("mysql", READ, {"files": None}, {}, "no_log"),
        ("mysql", READ, {"server": "another"}, {}, "no_log"),
        ("mariadb", READ, {"gtid_strict_mode": "OFF"}, {}, "not_strict"),
        ("mariadb", READ, {}, {"db3": "OFF"}, "not_strict"),
    ],
)
def test_what_is_in_its_way_is_a_case_of_its_own(engine, seen, last, strict, case):
    made = evidence(engine, seen, last, **strict)
    assert f"salvage_{case}" in names(made)
    assert not source_log.covers(made) and source_log.log_summary(made) is None
    # To accept it means to accept the window as well.
    accepted = [f"salvage_{case}"]
    assert cases.decide(made, accepted).refused
    assert not cases.decide(made, [*accepted, "degraded", "unwatched"]).refused


@pytest.mark.parametrize("synced,case", [("1", None), ("0", "unsynced")])
def test_a_host_that_may_have_lost_its_power_must_have_synced_its_log(synced, case):
    made = evidence("mysql", READ, {"sync_binlog": synced})
    made.looks["db1"] = {}
    assert (source_log.problem(made) or [None])[0] == case


def test_a_torn_end_is_named():
    made = evidence("mysql", dict(READ, torn=31, torn_gtid=f"{remnants.SOURCE}:108"))
    assert "31 bytes after that" in source_log.log_text(made)
    assert source_log.log_summary(made)["torn_gtid"] == f"{remnants.SOURCE}:108"
