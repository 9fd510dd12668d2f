# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for the night name what there is: alerts, findings, playbooks. tests/live/test_night.py
runs their commands.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import kinds

from support import pages

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted((PROJECT / "docs").glob("night-*.md"))
RULES = yaml.safe_load((PROJECT / "monitoring" / "semisync.rules.yml").read_text(encoding="utf-8"))[
    "groups"
][0]["rules"]
ALERTS = {rule["alert"] for rule in RULES if "alert" in rule}
FINDING = re.compile(r"\((\w+)\)$", re.MULTILINE)
SCREEN = 110


def test_there_is_a_page_for_each_night():
    nights = ["degraded", "frozen-writers", "source-back", "source-dead", "two-sources"]
    assert [page.stem for page in PAGES] == [f"night-{name}" for name in nights]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_alerts_findings_and_playbooks_that_there_are(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"`(Semisync\w+)`", text)) <= ALERTS
    made = pages.steps(page.stem)
    said = [line for step in made for line in step.says]
    findings = {name for line in said for name in FINDING.findall(line)}
    assert findings and findings <= set(kinds.TABLE)
    for step in made:
        playbook = re.search(r"dbre\.semisync\.(\w+)", step.command)
        assert step.host or playbook, step.command
        if playbook:
            assert (PROJECT / "playbooks" / f"{playbook[1]}.yml").is_file()
            # A page is for one cluster of many.
            assert "-i inventory" in step.command and "--limit shop" in step.command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_how_to_see_it_and_says_when_to_escalate(page):
    text = page.read_text(encoding="utf-8")
    assert text.split("\n## ")[1].startswith("How you see it")
    assert re.search(r"^## When to escalate$|\*\*[Ww]ake ", text, re.MULTILINE)
    assert len(text.splitlines()) <= SCREEN


def test_an_alert_of_a_night_leads_to_its_page():
    links = {rule["alert"]: rule["annotations"]["runbook_url"] for rule in RULES if "alert" in rule}
    for alert, page in (
        ("SemisyncDegraded", "night-degraded"),
        ("SemisyncWritersFrozen", "night-frozen-writers"),
    ):
        assert links[alert].endswith(f"/docs/{page}.md")
        assert f"`{alert}`" in (PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "output", "there"),
    [
        ("VERDICT proven", "  VERDICT proven", True),
        ("db1  A host … (not_read)", "x db1 A host was not read: stopped (not_read) y", True),
        ("db1 … (held)", "db1 was not read (not_read)", False),
        ("a b", "a  c", False),
    ],
)
def test_what_a_page_leaves_out_is_all_that_may_differ(line, output, there):
    assert pages.is_said(line, " ".join(output.split())) is there


def test_a_block_belongs_to_the_command_before_it():
    first = pages.steps("night-source-dead")[0]
    assert (first.heading, first.host, first.status) == ("Its host is gone", "", 4)
    assert first.says[0].startswith("critical  db1  The source was not read")
