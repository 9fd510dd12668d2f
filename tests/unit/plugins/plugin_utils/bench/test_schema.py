# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis
from ansible_collections.dbre.semisync.tests.unit import benchmarks

jsonschema = pytest.importorskip("jsonschema")

PATH = os.path.join(os.path.dirname(os.path.abspath(analysis.__file__)), "schema.json")


@pytest.fixture(name="validator", scope="module")
def fixture_validator():
    with open(PATH) as stream:
        schema = json.load(stream)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "name", ["four_phases", "one_client", "row_latency", "durability", "clients"]
)
def test_what_analyse_makes_is_valid(validator, name):
    validator.validate(analysis.analyse(getattr(benchmarks, name)()))


def test_a_run_that_goes_on_is_valid(validator):
    benchmark = benchmarks.four_phases()
    benchmark.update(complete=False, ended=None)
    benchmark["cells"][2]["repetitions"] = []
    benchmark["cells"][3]["error"] = "the replica is gone"
    validator.validate(analysis.analyse(benchmark))


def test_a_cell_that_refutes_the_model_has_no_share_and_is_valid(validator):
    benchmark = benchmarks.one_client()
    for entry in benchmark["cells"][-1]["repetitions"]:
        entry["rate"] *= 2
    analysis.analyse(benchmark)
    assert benchmark["cells"][-1]["model"]["share"] is None
    validator.validate(benchmark)


def invalid_without_reason(benchmark):
    benchmark["cells"][0]["repetitions"][1]["valid"] = False


def figures_of_an_invalid_cell(benchmark):
    benchmark["cells"][0].update(valid=False, reasons=["it fell back"])


def unknown_replication(benchmark):
    benchmark["cells"][0]["replication"] = "sync"


def work_not_counted(benchmark):
    benchmark["cells"][0]["repetitions"][1]["operations"] = 0


def negative_round_trip(benchmark):
    benchmark["cells"][0]["repetitions"][1]["rtt_ms"] = -1


def no_cells(benchmark):
    del benchmark["cells"]


def local_time(benchmark):
    benchmark["started"] = "2026-11-21 14:30"


@pytest.mark.parametrize(
    "break_it",
    [
        invalid_without_reason,
        figures_of_an_invalid_cell,
        unknown_replication,
        work_not_counted,
        negative_round_trip,
        no_cells,
        local_time,
    ],
)
def test_what_is_wrong_is_refused(validator, break_it):
    benchmark = analysis.analyse(benchmarks.four_phases())
    break_it(benchmark)
    assert not validator.is_valid(benchmark)
