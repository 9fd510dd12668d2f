# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils import benchmark, statement
from ansible_collections.dbre.semisync.tests.unit import benchmarks


@pytest.mark.parametrize("engine,version,bugs", [
    ("mysql", "5.6.11", ["69341", "80651"]),
    ("percona", "5.6.11", ["69341", "80651"]),
    ("mysql", "5.6.12", ["80651"]),
    ("mysql", "9.7.4", []),
    ("mariadb", "10.11.6", ["10.11.7", "33551"]),
    ("mariadb", "5.6.11", []),
])
def test_a_version_whose_speed_is_a_known_defect_is_named(engine, version, bugs):
    found = benchmark.defects({"engine": engine, "version": version})
    assert all(any(bug in words for words in found) for bug in bugs), found
    assert found == [] if not bugs else all("%s %s has a known defect" % (engine, version) in words for words in found)


def test_a_known_defect_stands_among_what_the_benchmark_says():
    document = benchmarks.b4()
    document["environment"]["defects"] = benchmark.defects({"engine": "mysql", "version": "5.6.11"})
    said = statement.analyse(document)["statement"]
    assert "semi-sync is slow with many clients" in said[1] and said[1].endswith("69341).")


def test_a_run_that_is_spoiled_afterwards_keeps_no_figure():
    document = statement.analyse(benchmarks.b0())
    cell = document["cells"][2]
    runs = len([entry for entry in cell["repetitions"] if not entry["warm_up"]])
    for number, entry in enumerate(cell["repetitions"]):
        entry["number"] = number
    benchmark.spoil(document, cell["id"], number, "netem dropped 3 packets")
    entry = next(one for one in cell["repetitions"] if one["number"] == number)
    assert (entry["valid"], entry["seconds"], entry["rate"]) == (False, None, None)
    assert cell["statistics"]["n"] == runs - 1
    assert cell["reasons"] == ["netem dropped 3 packets (1 of %d repetitions)" % runs]
