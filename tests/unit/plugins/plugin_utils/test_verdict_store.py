# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look that proves nothing any more says so, until the next takes its place."""

from __future__ import annotations

import datetime
import json
import os

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.verdict_store import ResultStore

NOON = datetime.datetime(2026, 11, 24, 12, tzinfo=datetime.UTC)
LATER = NOON + datetime.timedelta(hours=1)


def shelf(tmp_path, moment=NOON, check_mode=False):
    return ResultStore(str(tmp_path), "default", None, moment, check_mode)


@pytest.fixture(name="look")
def fixture_look(tmp_path):
    shelf(tmp_path).keep_state({"at": "2026-11-24T11:59:00Z", "gtid": "u:1-7"})
    return tmp_path / "default" / "state.json"


def test_a_look_that_is_spent_keeps_all_it_had_and_the_first_reason(tmp_path, look):
    before = json.loads(look.read_text())
    assert shelf(tmp_path).spend("timeout") == str(look)
    spent = {**before, "spent_at": "2026-11-24T12:00:00Z", "spent_why": "timeout"}
    assert json.loads(look.read_text()) == spent
    shelf(tmp_path, LATER).spend("enabled")
    assert json.loads(look.read_text()) == spent
    assert os.listdir(look.parent) == ["state.json"]


def test_check_mode_spends_nothing(tmp_path, look):
    before = look.read_text()
    assert shelf(tmp_path, check_mode=True).spend("timeout") is None
    assert look.read_text() == before


def test_where_nobody_looked_nothing_is_spent(tmp_path):
    assert shelf(tmp_path).spend("timeout") is None
    assert not list(tmp_path.rglob("*.json"))
