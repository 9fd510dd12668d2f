# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One registry of premises: whatever shows, judges or documents them takes them from there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    premises,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.role_change import remnants

ROOT = Path(__file__).resolve().parents[5]
PLUGINS = ROOT / "plugins"
TABLE = re.compile(r"^\| (C\d+) \| (.*) \|$", re.MULTILINE)


def moon(good):
    def rows(evidence, chosen):
        host = chosen.host if chosen else evidence.members[0].host
        yield premises.premise("C8", host, "full", "new", good, "look up")

    return premises.Premise("C8", "The moon is full", "the moon is full", rows)


@pytest.fixture
def eight(monkeypatch):
    """A premise more, as one who adds it would: by the registry alone."""

    def add(good):
        registry = (*premises.REGISTRY, moon(good))
        monkeypatch.setattr(premises, "REGISTRY", registry)
        monkeypatch.setattr(premises, "BY_ID", {one.id: one for one in registry})

    return add


def record():
    evidence = remnants.frozen(remnants.evidence("mysql"))
    kept = certificate.record("shop", "feed", evidence, cases.decide(evidence))
    points = [{"id": "C6", "good": True, "observed": "12", "expected": "all"}]
    part = {"outcome": "done", "reason": "", "points": points, "settings_row": 0}
    return failover_outcome.completed(kept, {kept["to"]: part}, [], "")


@pytest.mark.parametrize(
    "good,verdict",
    [
        (True, certificate.PROVEN),
        (False, certificate.NOT_PROVEN),
        (None, certificate.NOT_PROVEN),
    ],
)
def test_a_premise_that_is_added_counts_everywhere_by_its_line_in_the_registry(
    eight, good, verdict
):
    jsonschema = pytest.importorskip("jsonschema")
    assert record()["verdict"] == certificate.PROVEN
    eight(good)
    kept = record()
    assert kept["verdict"] == verdict
    assert [row["title"] for row in kept["premises"] if row["id"] == "C8"] == ["The moon is full"]
    assert any(
        "C8" in line and "The moon is full" in line
        for line in failover_outcome.failover_lines(kept)
    )
    schema = json.loads(
        Path(certificate.__file__).with_name("certificate_schema.json").read_text(encoding="utf-8")
    )
    jsonschema.validate(json.loads(json.dumps(kept)), schema)
    if not good:
        assert any(words.startswith("C8") for words in kept["reasons"])


def test_the_documentation_has_every_premise_in_the_registry_s_words():
    page = (ROOT / "docs" / "failover.md").read_text(encoding="utf-8")
    assert TABLE.findall(page) == [(one.id, one.seen) for one in premises.REGISTRY]


def test_no_premise_is_known_by_its_id_outside_the_registry():
    """But by what a host shows: the points of the target's part."""
    found = []
    for path in PLUGINS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\.point\(\s*\"C\d\"", "", text)
        if path.name != "premises.py" and re.search(r"[\"']C[1-9][\"']", text):
            found.append(path.name)
    assert found == []
