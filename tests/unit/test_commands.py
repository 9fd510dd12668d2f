# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command on every page can be typed: what it names is there."""

from __future__ import annotations

import shutil

import pytest
from ansible_collections.dbre.semisync.tests.unit import commands
from ansible_collections.dbre.semisync.tests.unit.test_docs import PAGES, PROJECT

pytestmark = pytest.mark.skipif(
    not shutil.which("ansible-playbook"), reason="there is no ansible-playbook"
)
# The evidence has what was typed then.
CURRENT = [page for page in PAGES if "evidence" not in page.parts]


@pytest.mark.parametrize("page", CURRENT, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page_shows_no_command_that_names_what_is_not_there(page):
    listed = commands.shown(page.read_text(encoding="utf-8"))
    wrong = {command: commands.wrong_with(command) for command in listed}
    assert {command: words for command, words in wrong.items() if words} == {}


def test_the_commands_of_the_pages_are_found():
    listed = [one for page in CURRENT for one in commands.shown(page.read_text(encoding="utf-8"))]
    count = {name: sum(one.startswith(name + " ") for one in listed) for name in commands.JUDGES}
    assert count["ansible-playbook"] > 70 and count["make"] > 120
    assert min(count.values()) > 0


@pytest.mark.parametrize("target", sorted(commands.makefile()[0]))
def test_a_target_uses_each_variable_that_its_help_offers(target):
    assert commands.offered(target) - commands.used_by(target) == set()


def test_a_variable_that_is_offered_and_not_used_would_be_found(monkeypatch):
    rules = {"cut": " ## stop a host (HOST, LAB)\n\t@python lab $(LAB) ## $(HOST)"}
    monkeypatch.setattr(commands, "makefile", lambda: (rules, {"exported": ""}))
    assert commands.offered("cut") == {"HOST", "LAB"}
    rules = {"cut": " ## stop a host (HOST, LAB)\n\t@python lab $(LAB)"}
    assert commands.offered("cut") - commands.used_by("cut") == {"HOST"}


@pytest.mark.parametrize(
    "command,words",
    [
        ("ansible-playbook -i inventory dbre.semisync.sight", "no playbook dbre.semisync.sight"),
        ("ansible-playbook -i inventory playbooks/sight.yml", "no playbook playbooks/sight.yml"),
        ("ansible-playbook -i inventory --check", "no playbook is named"),
        ("ansible-playbook -i inventory dbre.semisync.site --chek", "no option --chek"),
        ("ansible-playbook dbre.semisync.site --tags preflite", "site.yml has no tag preflite"),
        ("ansible-playbook dbre.semisync.site -e semisync_timout=5", "no variable semisync_timout"),
        ("ansible-playbook dbre.semisync.site -e semisync_apply=offline", "restart or online"),
        ("ansible-playbook dbre.semisync.site -e semisync_apply", "gives no value"),
        ("ansible-playbook dbre.semisync.drill -e semisync_rejoin=db1", "drill.yml does not read"),
        ("-e semisync_failover_fast_aply=true", "no variable semisync_failover_fast_aply"),
        ("ansible-navigator run dbre.semisync.sight", "no playbook dbre.semisync.sight"),
        ("make lab-upp", "no target lab-upp"),
        ("make lab-up REPLICA=2", "does not use REPLICA"),
        ("make lab-cut SERVER=mysql", "does not use SERVER"),
        ("pytest -q tests/unit/test_comands.py", "there is no tests/unit/test_comands.py"),
        ("ansible-doc dbre.semisync.semisync_inf", "nothing is called semisync_inf"),
        ("ansible-galaxy collection install dbre.semisynk", "dbre.semisynk"),
        ("molecule test -s maria", "no scenario maria"),
        ("nox -e doc-check", "no session doc-check"),
        ("mysqldumpslow -s t", "no check knows mysqldumpslow"),
    ],
)
def test_a_command_that_cannot_work_is_found(command, words):
    page = f"Text.\n\n```console\n$ {command}\n```\n"
    (found,) = commands.shown(page)
    assert words in "; ".join(commands.wrong_with(found))
