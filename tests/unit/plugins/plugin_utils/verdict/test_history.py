# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import history
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


@pytest.mark.parametrize(
    "waiting,change,expected",
    [
        ("0", {}, LATER),
        ("3", {}, EARLIER),
        # What waits now may have begun to wait at any time.
        ("3", {"timeout": "500"}, None),
        ("3", {"wait_no_replica": "OFF"}, None),
        ("3", {"server": "another"}, None),
        ("3", {"yes_tx": 99}, None),
    ],
)
def test_the_last_look_at_which_nobody_waited_is_kept(waiting, change, expected):
    saved = history.look_back(None, source(1000, 500, wait_sessions="0"), EARLIER)[0]
    now = source(1300, 800, wait_sessions=waiting)
    assert history.look_back(dict(saved, **change), now, LATER)[0]["calm_at"] == expected


def test_nobody_knows_since_when_they_wait_where_nobody_has_looked_before():
    assert (
        history.look_back(None, source(1300, 800, wait_sessions="3"), LATER)[0]["calm_at"] is None
    )
