# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What leads out of a failover from db1 to db2 whose target was started again: states that `make
protocol` has found.
"""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import clock
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    interrupted_failover,
    premises,
    relay_logs,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import (
    remnants,
    test_interrupted_switchover,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    SOURCE,
)

follow, lost_source = test_interrupted_switchover.follow, test_interrupted_switchover.lost_source
ENGINES = ["mysql", "mariadb"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_replica_that_an_interrupted_failover_moved_is_accepted_by_name_and_proves_nothing(
    engine,
):
    evidence = remnants.frozen(remnants.evidence(engine))
    follow(evidence.members[2], "db2")
    words = relay_logs.pointed_elsewhere(evidence, evidence.members[2])
    assert words.startswith("it follows db2")
    assert not relay_logs.pointed_elsewhere(evidence, evidence.members[1])
    (case,) = [one for one in cases.decide(evidence).cases if one.name == "chain:db3"]
    assert case.acceptable
    accepted = [one.name for one in cases.decide(evidence).cases]
    kept = certificate.record("c", "feed", evidence, cases.decide(evidence, accepted))
    assert kept["verdict"] == certificate.NOT_PROVEN
    assert any("db3: counts as unread: it follows db2" in reason for reason in kept["reasons"])
    assert premises.rows(evidence, None)


def done(engine, **more):
    """The failover is done; db1 is lost, db2 was started again and takes no writes."""
    evidence = lost_source(engine, operation="failover", state="done", **more)
    follow(evidence.members[2], "db2")
    return evidence


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failover_whose_target_started_read_only_is_finished(engine):
    evidence = done(engine)
    found = interrupted_failover.find(evidence.members, None)
    assert (found.target.host, found.source, found.kept) == ("db2", "db1", None)
    # db1 is held: it is none of the members.
    found = interrupted_failover.find(evidence.members[1:], None)
    assert (found.target.host, found.source) == ("db2", "db1")


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_not_opened_beside_a_writer_nor_if_somebody_closed_it(engine):
    evidence = done(engine)
    evidence.members[2].info["variables"]["read_only"] = "OFF"
    assert interrupted_failover.find(evidence.members, None) is None
    # Its channel stands still, or is gone: it is the source, and was closed by hand. Unless its
    # server was started after the row.
    evidence = done(engine)
    target = evidence.members[1].info
    target["channel"].update(io_running="No", sql_running="No")
    started = clock.moment_of(target["journal"]["happened"]) + 60
    target["clock"] = started + int(target["uptime"]["seconds"]) - 120
    assert interrupted_failover.find(evidence.members, None) is None
    target["clock"] += 120
    assert interrupted_failover.find(evidence.members, None).target.host == "db2"
    target["channel"] = None
    assert interrupted_failover.find(evidence.members, None).target.host == "db2"
    # It follows a member: roles were moved by hand after that.
    evidence = done(engine)
    follow(evidence.members[1], "db3")
    follow(evidence.members[2], "db1")
    assert interrupted_failover.find(evidence.members, None) is None
    # db1 lives.
    evidence = done(engine)
    old = dict(evidence.members[2].info)
    identity = (
        {"server_uuid": SOURCE, "server_id": "1"} if engine == "mysql" else {"server_id": "1"}
    )
    evidence.members[0].info = dict(old, variables=dict(old["variables"], **identity))
    assert interrupted_failover.find(evidence.members, None) is None
