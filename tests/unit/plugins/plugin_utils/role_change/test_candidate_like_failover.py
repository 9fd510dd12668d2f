# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""candidate.yml and failover.yml answer one question, so they choose the same replicas."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import ranking, survivors
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

UUID, OWN = remnants.SOURCE, "91c92dd4-e5a0-11f1-9b95-0242ac130003"

# What each of db2, db3 … has received and what of it is applied, and who may be chosen.
HISTORIES = {
    "mariadb": [
        ([("0-1-101", "0-1-101"), ("0-1-101", "0-1-101")], ["db2", "db3"]),
        ([("0-1-101", "0-1-101"), ("0-1-102", "0-1-90")], ["db3"]),
        # The same number by two servers: two histories.
        ([("0-1-101", "0-1-101"), ("0-2-101", "0-2-101")], []),
        ([("", "0-1-101"), ("", "0-2-101")], []),
        # Both were left behind by a third one, and nothing tells that they are split.
        ([("0-1-101", "0-1-101"), ("0-2-101", "0-2-101"), ("0-1-102", "0-1-102")], ["db4"]),
        # The split is of what was received and not applied.
        ([("0-1-101", "0-1-100"), ("0-2-101", "0-1-100")], []),
        # Two domains, one of them split.
        ([("0-1-101,1-1-7", "0-1-101,1-1-7"), ("0-2-101,1-1-5", "0-2-101,1-1-5")], []),
        ([("0-1-101,1-1-7", "0-1-101,1-1-7"), ("0-1-101,1-2-7", "0-1-101,1-2-7")], []),
        ([("0-1-101,1-1-7", "0-1-101,1-1-7"), ("0-1-101,1-2-8", "0-1-101,1-2-8")], ["db3"]),
        # Each is ahead in one domain.
        ([("0-1-101,1-1-7", "0-1-101,1-1-7"), ("0-1-102,1-1-6", "0-1-102,1-1-6")], []),
        # A domain that the other has never heard of.
        ([("0-1-101", "0-1-101"), ("0-1-101,5-3-1", "0-1-101,5-3-1")], ["db3"]),
        # Two of three agree: the third may have what was confirmed all the same.
        ([("0-1-101", "0-1-101"), ("0-1-101", "0-1-99"), ("0-2-101", "0-2-101")], []),
    ],
    "mysql": [
        ([(f"{UUID}:1-101", f"{UUID}:1-101"), (f"{UUID}:1-99", f"{UUID}:1-99")], ["db2"]),
        ([(f"{UUID}:1-101", f"{UUID}:1-90"), (f"{UUID}:1-101", f"{UUID}:1-99")], ["db3", "db2"]),
        ([("", f"{UUID}:1-101"), ("", f"{UUID}:1-100,{OWN}:1")], []),
        ([("", f"{UUID}:1-101"), ("", f"{UUID}:1-101:tag:1")], ["db3"]),
    ],
}
TABLE = [(engine, *row) for engine, rows in HISTORIES.items() for row in rows]


def cluster(engine, histories):
    evidence = remnants.evidence(engine, len(histories))
    replicas = survivors.readable(evidence.members)
    for member, (received, applied) in zip(replicas, histories, strict=True):
        member.channel["retrieved"] = received
        if engine == "mysql":
            member.info["gtid"]["gtid_executed"] = applied
        else:
            member.info["gtid"]["gtid_slave_pos"] = applied
    return evidence


@pytest.mark.parametrize("engine,histories,best", TABLE)
def test_candidate_and_failover_choose_alike(engine, histories, best):
    evidence = cluster(engine, histories)
    assert [member.host for member in survivors.supersets(evidence)] == best
    assert ranking.rank(evidence.members, 1)["candidates"] == best


def test_two_histories_are_named():
    evidence = cluster("mariadb", [("0-1-101", "0-1-101"), ("0-2-101", "0-2-101")])
    ranked = ranking.rank(evidence.members, 1)
    assert ranked["statement"][0].startswith("db2: lacks 1 transaction(s) (0-2-101)")
    assert ranked["statement"][1].startswith("db3: lacks 1 transaction(s) (0-1-101)")
    assert "no replica has everything" in ranking.why_none(ranked)
