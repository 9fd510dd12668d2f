# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the failover of a pair: a source without replicas takes writes, and does not wait."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import problems
from ansible_collections.dbre.semisync.tests.unit import samples


def heir(engine):
    """The replica of a pair when it has taken over alone."""
    (_source, one) = samples.pair(engine)
    one.side = one.group = "source"
    one.info["channel"] = None
    names = one.info["names"]
    off = {names[side]["variables"]["enabled"]: "OFF" for side in ("source", "replica")}
    samples.set_global(one.info, dict(off, read_only="OFF"))
    return one


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_its_option_file_lets_it_take_writes_and_wait_for_nobody(engine):
    one = heir(engine)
    (planned,) = samples.plans([one], apply="online").values()
    lines = option_files.parse_ours(planned["option_file"]["content"])
    enabled = one.info["names"]["source"]["variables"]["enabled"]
    assert (lines[enabled], "read_only" in lines) == ("0", False)
    assert planned["option_file"]["changed"] and not planned["restart"]
    assert planned["set_global"] == {}
    before = samples.clone(one.info["semisync"]["source"]["variables"])
    samples.write_option_file(one.info, planned["option_file"]["content"])
    samples.restart(one.info)
    assert one.info["semisync"]["source"]["variables"] == before
    assert one.info["variables"]["read_only"] == "OFF"
    assert samples.changed(samples.plans([one], apply="online")) == []


def test_only_who_says_so_plans_a_source_alone():
    one = heir("mysql")
    assert "has no replica" in problems.inventory_problems("shop", [one])[0]
    assert problems.inventory_problems("shop", [one], alone=True) == []
    assert problems.cluster_problems([one], Settings(samples.SETTINGS)) == []


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_it_waits_again_as_soon_as_a_replica_is_there(engine):
    one = heir(engine)
    (planned,) = samples.plans([one], apply="online").values()
    samples.write_option_file(one.info, planned["option_file"]["content"])
    (former, _replica) = samples.pair(engine)
    former.side = former.group = "replica"
    members = [one, former]
    samples.connect(former, one)
    samples.settle(members)
    samples.carry_out(members, samples.SETTINGS, apply="online")
    assert one.info["semisync"]["source"]["variables"]["enabled"] == "ON"
    assert samples.changed(samples.plans(members, apply="online")) == []
