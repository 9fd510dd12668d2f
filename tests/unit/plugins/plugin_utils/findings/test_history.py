# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import moment_of
from ansible_collections.dbre.semisync.tests.unit import samples

EARLIER, LATER = "2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"


def source(clock, since_reset, **status):
    info = samples.captured("mysql", "source")
    info["semisync"]["source"]["status"].update(
        {"yes_tx": "10", "no_tx": "2", "no_times": "1"}, **status
    )
    info.update(clock=clock, uptime={"seconds": 10**6, "since_reset": since_reset})
    return info


def compared(before, after):
    return history.compare(
        before and history.snapshot(before, EARLIER), history.snapshot(after, LATER)
    )


@pytest.mark.parametrize(
    "before,after,expected",
    [
        # Five minutes later, three more.
        (source(1000, 500), source(1300, 800, no_tx="5", no_times="2"), (3, 1, False)),
        (source(1000, 500), source(1300, 800), (0, 0, False)),
        # FLUSH STATUS or a restart in between: the counters are lower, or younger than the last
        # run.
        (source(1000, 500), source(1300, 100, no_tx="0", no_times="0"), (0, 0, True)),
        (source(1000, 500), source(1300, 100, no_tx="1", no_times="1"), (1, 1, True)),
        (source(1000, 500), source(1300, 100, yes_tx="99", no_tx="7", no_times="3"), (7, 3, True)),
        # A server without Uptime_since_flush_status.
        (source(1000, None), source(1300, None, no_tx="1"), (1, 1, True)),
        (source(1000, None), source(1300, None, no_tx="4"), (2, 0, False)),
    ],
)
def test_counters_are_compared_with_the_last_run(before, after, expected):
    past = compared(before, after)
    assert (past["no_tx"], past["no_times"], past["reset"]) == expected
    assert past["since"] == EARLIER


def test_the_first_run_and_another_server_have_no_past():
    other = source(1300, 800)
    other["variables"]["server_uuid"] = "another"
    assert compared(None, source(1300, 800)) is None
    assert compared(source(1000, 500), other) is None


def test_a_source_without_the_plugin_leaves_nothing_to_compare():
    info = source(1000, 500)
    info["semisync"]["source"]["status"]["no_tx"] = None
    assert history.snapshot(info, EARLIER) is None
    assert history.compare(history.snapshot(source(1, 1), EARLIER), None) is None


def test_when_a_source_was_first_seen_asynchronous_is_kept_until_it_is_mended():
    info = source(1000, 500, status="OFF")
    assert history.degraded_since(None, info, EARLIER) == EARLIER
    saved = dict(history.snapshot(info, EARLIER), degraded_since=EARLIER)
    assert history.degraded_since(saved, info, LATER) == EARLIER
    assert history.degraded_since(dict(saved, server="another"), info, LATER) == LATER
    assert history.degraded_since(saved, source(1300, 800, status="ON"), LATER) is None


def looked(saved, at, ahead=0.0, calm=None, now=None, **status):
    """What is kept of a look; read by a clock that is so far ahead."""
    clock = moment_of(at) + ahead
    info = source(clock, 500, **status)
    info["calm_since"] = None if calm is None else clock - calm
    return history.look_back(saved, [samples.member("db1", "source", info)], now or at)[0]


SEEN = {"connection_id": 20, "asked_at": moment_of(EARLIER)}


def replica(asked, number, up=10**6):
    info = samples.captured("mysql", "replica")
    info.update(asked_at=moment_of(asked), connection_id=number, uptime={"seconds": up})
    return samples.member("db2", "replica", info)


@pytest.mark.parametrize(
    "change,up,before",
    [
        ({}, 10**6, 20),
        # Not all that the look before rests on had been read when the source was asked; it names
        # none that was given before itself.
        ({"read_by": LATER}, 10**6, None),
        ({"read_by": LATER, "replicas": {"db2": {**SEEN, "before": 15}}}, 10**6, 15),
        ({"read_by": LATER, "replicas": {"db2": {**SEEN, "before": 15}}}, 300, None),
        # That look began after this one.
        ({"at": "2026-11-21T10:05:01Z", "read_by": LATER}, 10**6, None),
        # A look of an older version.
        ({"read_by": None}, 10**6, None),
        # Another start of the replica's server, which begins its numbers anew.
        ({}, 300, None),
        ({}, 303, 20),
        ({"replicas": {}}, 10**6, None),
    ],
)
def test_an_earlier_look_s_number_was_given_before_the_source_was_asked(change, up, before):
    first = [samples.member("db1", "source", source(1000, 500)), replica(EARLIER, 20)]
    saved = history.look_back(None, first, EARLIER)[0]
    assert saved["replicas"] == {
        "db2": {"connection_id": 20, "asked_at": moment_of(EARLIER), "before": None}
    }
    # The replica was read when its source had been.
    info = {**source(1300, 800), "asked_at": moment_of(LATER)}
    members = [samples.member("db1", "source", info), replica(LATER, 90, up)]
    seen = history.look_back({**saved, **change}, members, "2026-11-21T10:05:02Z")[0]
    assert seen["replicas"]["db2"]["connection_id"] == 90
    assert seen["replicas"]["db2"]["before"] == before


@pytest.mark.parametrize(
    "calm,change,expected",
    [
        (0, {}, LATER),
        # It was read two seconds before the end of the look.
        (2, {}, "2026-11-21T10:04:58Z"),
        (None, {}, EARLIER),
        # What waits now may have begun to wait at any time.
        (None, {"timeout": "500"}, None),
        (None, {"wait_no_replica": "OFF"}, None),
        (None, {"server": "another"}, None),
        (None, {"yes_tx": 99}, None),
    ],
)
def test_the_last_moment_is_kept_at_which_nobody_waited_who_waits_now(calm, change, expected):
    saved = dict(looked(None, EARLIER, calm=0), counting_since=0)
    assert looked(dict(saved, **change), LATER, calm=calm)["calm_at"] == expected


def test_nobody_knows_since_when_they_wait_where_nobody_has_looked_before():
    assert looked(None, LATER)["calm_at"] is None


def test_a_look_is_of_when_the_server_was_read_and_never_later_than_now():
    assert looked(None, EARLIER, now=LATER)["at"] == EARLIER
    assert looked(None, LATER, ahead=60, calm=0)["at"] == LATER
    assert looked(None, LATER, ahead=60, calm=0)["calm_at"] == LATER


@pytest.mark.parametrize(
    "before,now,kept",
    [
        ([], [], []),
        (["binlog_do_db = app"], [], []),
        # A busy source is not asked: filters stay, and that there were none says nothing of now.
        (["binlog_do_db = app"], None, ["binlog_do_db = app"]),
        ([], None, None),
        (None, None, None),
    ],
)
def test_filters_of_a_binary_log_are_remembered_where_a_look_could_not_ask(before, now, kept):
    def look(saved, filters):
        info = dict(source(1000, 500), binlog_filters=filters)
        return history.look_back(saved, [samples.member("db1", "source", info)], LATER)[0]

    saved = look(None, before)
    assert look(saved, now)["binlog_filters"] == kept
    assert look(dict(saved, server="another"), None)["binlog_filters"] is None
