# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replicas are taken for those that a beat counts and does not name."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import beat_looks, beats
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change.remnants import (
    beat,
    with_beats,
)

ENGINES = ("mysql", "mariadb")
OTHER = "91c92dd4-e5a0-11f1-9b95-0000000000ff"


def of(engine, *rows):
    return with_beats(remnants.evidence(engine), *rows)


def strangers_of(*rows):
    """How many there are at MariaDB's beats, given as (seconds ago, clients, sequence number)."""
    made = [
        beat("mariadb", 99 - number, ago, gtid=f"0-1-{has}", clients=count, acknowledgers=None)
        for number, (ago, count, has) in enumerate(rows)
    ]
    evidence = of("mariadb", *made)
    return beat_looks.clients(evidence, beats.signs(evidence)).strangers


@pytest.mark.parametrize(
    "rows,strangers",
    [
        # The replicas have 100, which may be the row of the beat that saw 99; or not yet.
        ([(1, 2, 99), (2, 2, 98)], 0),
        ([(1, 2, 100), (2, 2, 99)], 0),
        ([(1, 2, 101), (2, 2, 100), (3, 2, 99)], 0),
        # The source was quiet, and they left before the first beat that counts two of others.
        ([(1, 2, 101), (2, 2, 100), (3, 4, 99)], 2),
        ([(1, 2, 100), (2, 4, 99)], 2),
        # Nothing was written after its start, and they have not come back.
        ([(1, 2, 102), (2, 2, 101), (3, 2, 100)], 2),
        # It was silent for a while, in which they may have been replaced.
        ([(1, 2, 101), (181, 2, 99)], 0),
        ([(1, 2, 101), (182, 2, 99)], 2),
    ],
)
def test_who_has_only_what_was_there_before_a_beat_may_have_left_before_it(rows, strangers):
    assert strangers_of(*rows) == strangers


@pytest.mark.parametrize("engine", ENGINES)
def test_what_another_server_wrote_and_a_deleted_domain_do_not_show_that_one_was_attached(engine):
    evidence = of(engine, beat(engine, 99, 1, acknowledgers=None))
    sign = beats.signs(evidence)[0]
    member = evidence.members[1]
    for more in ("", "7-1-5", "0-9-200") if engine == "mariadb" else ("", f"{OTHER}:1-5"):
        had = sign.beat["gtid"]
        has = more if more.startswith("0-") else f"{had},{more}".strip(",")
        member.link["retrieved"] = has
        applied = "gtid_slave_pos" if engine == "mariadb" else "gtid_executed"
        member.facts["gtid"][applied] = has
        assert not beat_looks.has_more_than(member, sign)


@pytest.mark.parametrize(
    "status,runs,counts",
    [
        ("ON", "Yes", True),
        # Semi-sync was switched on again, and the thread has not been started since.
        ("OFF", "Yes", False),
        ("OFF", "Connecting", True),
        ("OFF", "No", True),
        (None, "Yes", True),
    ],
)
def test_a_replica_that_is_connected_without_semi_sync_hides_no_stranger(status, runs, counts):
    evidence = of("mariadb", beat("mariadb", 99, 5, acknowledgers=None))
    member = evidence.members[1]
    member.facts["semisync"]["replica"]["status"] = {"status": status}
    first = {"db2": {"gtid": member.facts["gtid"], "channel": dict(member.link, io_running=runs)}}
    evidence = remnants.frozen(evidence._replace(first=first))
    found = beat_looks.clients(evidence, beats.signs(evidence))
    assert found.strangers == (0 if counts else 1)
