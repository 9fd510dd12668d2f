# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.dbre.semisync.plugins.action.semisync_advise import ActionModule
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.advice_chapter import (
    AdviceChapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import page, plots
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.actions import runner
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.bench.test_advice import (
    sample,
)


@pytest.fixture(name="advise")
def fixture_advise(monkeypatch, tmp_path):
    """Runs the action on one host of a captured pair, whose source returns a sample."""
    asked = []

    def module(self, name, options, task_vars):
        asked.append(options)
        trip = {"median": 30.0}
        return {"sample": sample(trips=dict.fromkeys(options["peers"], trip))}

    monkeypatch.setattr(ActionModule, "_execute_module", module, raising=False)
    monkeypatch.setattr(closing.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    run = runner(ActionModule, monkeypatch, tmp_path)

    def do(me="db1", **named):
        arguments = {"info_from": "info", "results_dir": str(tmp_path / "results"), "seconds": 1}
        return {**run(me, arguments, **named), "asked": asked}

    return do


def test_the_advice_is_written_and_ends_the_run(advise, tmp_path):
    found = advise()
    with open(found["path"]) as stream:
        assert json.load(stream) == found["advice"]
    (left,) = closing.waiting()
    assert left["lines"][0].startswith(
        "semi-sync: cluster default: Without semi-sync 800 commits/s"
    )
    assert "A timeout of" in left["lines"][-1] and len(left["lines"]) == 4


def test_a_login_is_passed_as_it_was_given(advise):
    (options,) = advise()["asked"]
    assert options["peers"] and "config_file" not in options


def test_check_mode_writes_no_file(advise, tmp_path):
    found = advise(check_mode=True)
    assert "path" not in found and not (tmp_path / "results").exists()


def test_only_the_source_is_watched(advise):
    found = advise("db2")
    assert found["skipped"] and found["asked"] == []


def test_a_source_that_was_not_read_is_refused(advise):
    members = samples.pair("mysql")
    members[0].info = {"msg": "no server answered", "failed": True}
    assert advise(members=members)["failed"]


@pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="there is no matplotlib")
@pytest.mark.parametrize("changes", [{}, {"lock_waits": 1600}, {"commits": 0}])
def test_the_report_has_the_advice_and_its_picture(advise, tmp_path, monkeypatch, changes):
    monkeypatch.setitem(sample.__globals__, "sample", lambda **trips: sample(**trips, **changes))
    folder = tmp_path / "run"
    folder.mkdir()
    advice = advise()["advice"]
    (folder / "advice.json").write_text(json.dumps(advice), encoding="utf-8")
    made = page.write_page(
        str(folder), "shop", "now", lambda files: AdviceChapter(files["advice.json"])
    )
    shown = (folder / "report.html").read_text(encoding="utf-8")
    assert all(words.split(" (")[0] in shown for words in advice["statement"])
    assert ('<figure id="advice"' in shown) == (advice["now"] is not None)
    assert made[2].startswith("What semi-sync would cost")
