# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import inventory

HOSTS = ["db1", "db2", "db3"]
OURS = {"semisync_source": ["db1"], "semisync_replica": ["db2", "db3"]}


@pytest.mark.parametrize(
    "groups,playing,words",
    [
        (
            {"all": []},
            ["localhost"],
            "semisync_replica of this inventory. Nothing was done. It has",
        ),
        ({"all": HOSTS, "ungrouped": HOSTS}, HOSTS, "Its hosts are in no group: db1, db2, db3."),
        ({"all": HOSTS, "shop": HOSTS}, HOSTS, "Its groups are shop (db1, db2, db3)."),
        (
            {"semisync_sorce": ["db1"], "semisync_replica": ["db2"]},
            ["db2"],
            "no host in group semisync_source, but db1 in semisync_sorce; call that group",
        ),
        (
            {"semisync-source": ["db1"], "semisync_replicas": ["db2"]},
            ["db2"],
            "semisync_source; there is no host in group semisync_replica, but db2 in",
        ),
        ({**OURS, "web": ["web1"]}, ["web1"], "--limit takes web1, and leaves no host of groups"),
        ({**OURS, "web": ["web1"]}, ["localhost"], "--limit takes localhost"),
        ({**OURS, "shop": [f"h{n}" for n in range(9)]}, ["h1"], "(db1, db2, db3)"),
    ],
)
def test_a_run_that_would_read_nothing_says_what_is_missing_and_what_is_there(
    groups, playing, words
):
    assert words in inventory.problem(groups, playing)


@pytest.mark.parametrize(
    "groups,playing",
    [
        (OURS, ["localhost", *HOSTS]),
        ({**OURS, "semisync_sorce": ["db1"]}, ["db2"]),
        # Whether a cluster lacks a source is said where its hosts are compared.
        ({"semisync_replica": ["db2"], "shop": ["db1"]}, ["db2"]),
    ],
)
def test_a_run_with_hosts_goes_on(groups, playing):
    assert inventory.problem(groups, playing) == ""


def test_a_run_has_read_a_host_when_one_server_said_what_it_is():
    unreachable = {"unreachable": True}
    assert inventory.unread([None, unreachable, {"variables": {}}], ["all"]) == ""
    assert "see what was skipped" in inventory.unread([None, {}, unreachable], ["all"])
    assert "with the tags a, b, so" in inventory.unread([], ["a", "b"])
