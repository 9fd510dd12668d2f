# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A former source in the report: its verdict, what it had alone and by which way it came back, and
nothing of what clients wrote.
"""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import page, plots
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.text import make_overview
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    methods,
    rejoin_record,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import (
    CANNOT_TELL,
    CLEAN,
    PHANTOMS,
    Judged,
)

NOW = "2026-11-22T12:00:00Z"
PHANTOM = "c7a0dd3e-e6ba-11f1-b13f-0242ac1a0003:17"
ONE = {
    "gtid": PHANTOM,
    "at": "2026-11-22T11:58:10Z",
    "tables": {"app.keyed": {"inserted": 1, "updated": 0, "deleted": 0}},
    "statements": ["INSERT a secret"],
    "rows": ["INSERT INTO `app`.`keyed`", "  @2='a secret'"],
    "ddl": False,
    "transactional": True,
}
LOG = {
    "files": ["/data/binlog.000007"],
    "end": 777,
    "torn_bytes": 0,
    "torn_gtid": "",
    "count": 1,
    "lacking": [PHANTOM],
    "shown": {"count": 1, "transactions": [ONE], "tables": ONE["tables"], "lasting": []},
}
OLD = types.SimpleNamespace(host="db1", info=None)
NEW = types.SimpleNamespace(host="db2")


def rejoin(judged, outcome, way="attach", **more):
    look = {"down": True, "version": "9.7.4", "log": LOG}
    ways = methods.ways("db1", "db2", judged, look, False)
    kept = rejoin_record.record_of("shop", OLD, NEW, judged, look, ways, way, None)
    return dict(kept, outcome=outcome, run="x", **more)


ALONE = Judged(PHANTOMS, PHANTOM)


def back(outcome="done"):
    """What was taken over before."""
    first = rejoin(ALONE, "planned", "replay")
    before = {name: first[name] for name in ("verdict", "phantoms", "read_by", "way")}
    kept = rejoin(Judged(CLEAN), outcome, before=before, kept_data="/data-kept-x")
    kept["points"].append(rejoin_record.follows_point("db1", "db2", outcome == "done"))
    return kept


def overview(kept):
    return make_overview({"rejoin.json": kept}, [], "shop", "2026-11-22T120000.000000Z", NOW)


@pytest.mark.parametrize(
    "kept,outcome,headline",
    [
        (back(), "good", "db1 is back and replicates from db2"),
        (back("failed"), "bad", "db1 was brought back, but does not replicate as it should"),
        (rejoin(ALONE, "refused"), "bad", "db1 has transactions that db2 lacks"),
        (
            rejoin(Judged(CANNOT_TELL, why=("reset",)), "refused"),
            "bad",
            "It is not known whether db1 may come back",
        ),
        (
            rejoin(Judged(CLEAN, hindrances=("purged",)), "refused"),
            "attention",
            "db1 cannot rejoin by method attach",
        ),
        (rejoin(Judged(CLEAN), "planned"), "attention", "db1 has not come back yet"),
        (rejoin(Judged(CLEAN), "nothing"), "good", "db1 already replicates from db2"),
    ],
)
def test_the_headline_says_what_became_of_it(kept, outcome, headline):
    found = overview(kept)["verdict"]
    assert (found["outcome"], found["headline"]) == (outcome, headline)


@pytest.mark.parametrize(
    "judged,outcome",
    [(Judged(CLEAN), "passed"), (ALONE, "failed"), (Judged(CANNOT_TELL), "unknown")],
)
def test_the_verdict_is_a_checkpoint_of_a_part_of_its_own(judged, outcome):
    (part,) = overview(rejoin(judged, "refused"))["sections"]
    assert (part["id"], part["title"]) == ("R", "A former source comes back")
    assert (part["rows"][0]["id"], part["rows"][0]["outcome"]) == ("R1", outcome)


def test_the_verdict_before_and_the_way_are_told():
    said = "\n".join(overview(back())["verdict"]["sentences"])
    assert f"before: phantoms: 1 transaction that db2 lacks ({PHANTOM})" in said
    assert "It rejoined by method replay." in said
    assert "Its old data are in /data-kept-x." in said


@pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="there is no matplotlib")
@pytest.mark.parametrize(
    "judged,outcome,beside",
    [
        (ALONE, "failed", f"Seen: {PHANTOM}; expected: nothing"),
        (Judged(CANNOT_TELL, why=("nobody looked",)), "unknown", "nobody looked"),
        (Judged(CLEAN), "passed", None),
    ],
)
def test_what_is_wrong_comes_before_all_that_is_well(tmp_path, judged, outcome, beside):
    results.write_json(str(tmp_path / "rejoin.json"), rejoin(judged, "refused"))
    _summary, html, _headline = page.write_page(str(tmp_path), "shop", NOW)
    with open(html, encoding="utf-8") as stream:
        before_the_table, _table, table = stream.read().partition("<table")
    led = '<a href="#wrong-0">R1 on db1</a>' in before_the_table
    assert led == ('id="wrong-0"' in table) == (outcome != "passed")
    assert beside is None or beside in " ".join(before_the_table.split())


def test_the_tile_counts_what_applies_and_says_so():
    rows = [
        {"id": "P1.1", "host": "db1", "title": "t", "outcome": "passed"},
        {"id": "P2.1", "host": "db1", "title": "t", "outcome": "not_applicable"},
    ]

    def tile(shown):
        made = make_overview({"checkpoints.json": shown}, [], "shop", "2026-11-22T12", NOW)
        return made["tiles"][0]["figure"], made["tiles"][0]["label"]

    assert tile(rows) == ("1 of 1", "checkpoints passed, of those that apply")
    assert tile(rows[:1]) == ("1 of 1", "checkpoints passed")


@pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="there is no matplotlib")
@pytest.mark.parametrize("kept", [back(), rejoin(ALONE, "refused")], ids=["back", "refused"])
def test_the_page_has_what_it_had_alone_and_not_what_clients_wrote(tmp_path, kept):
    results.write_json(str(tmp_path / "rejoin.json"), kept)
    summary, html, _headline = page.write_page(str(tmp_path), "shop", NOW)
    with open(html, encoding="utf-8") as stream:
        text = stream.read()
    for words in ("Rejoin of db1", PHANTOM, "app.keyed", "2026-11-22T11:58:10Z", "method"):
        assert words in text, words
    with open(summary, encoding="utf-8") as stream:
        text += stream.read()
    assert "a secret" not in text + json.dumps(page.gather(str(tmp_path))[0])
    # What is kept beside it has it still.
    assert "a secret" in (tmp_path / "rejoin.json").read_text()
