# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who beat when, out of what runs have kept of the heartbeat."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import rows, summary
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
    heartbeat_times,
    page,
    plots,
    plots_writability,
    writability,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.writability import (
    BEATS,
    DEGRADED,
    SILENT,
    UNSEEN,
    WRITES,
    BeatTime,
)
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.report import (
    test_writability,
)

RUN = test_writability.RUN or 0.0
POINTS = {"points": [], "reason": "", "timeline": [], "statements": [], "mode": "switch"}
# What failover_lines() and the checkpoints read.
JUDGED: dict[str, object] = {
    **POINTS,
    "premises": [],
    "cases": [],
    "accepted": [],
    "salvage": None,
    "why": "",
}
JUDGED |= {
    "differences": [],
    "received": {},
    "left_behind": {},
    "fenced": None,
    "window": None,
    "reasons": [],
    "pending": [],
}
HOSTS = {"db1": "u1", "db2": "u2"}


def beat(server, second, status="ON", no_tx=0):
    """A row of so many seconds after 14:00."""
    facts = dict.fromkeys((*rows.TEXTS, *rows.NUMBERS, *rows.LISTS))
    return {
        "number": second,
        "server": server,
        "boot": f"boot of {server}",
        "monotonic": 100.0 + second,
        "wall": RUN + second,
        "uptime": 5000 + second,
        "facts": {**facts, "status": status, "enabled": "ON", "no_tx": no_tx},
        "gtid": "",
    }


def kept(*beats, hosts=None, later=0.4):
    """heartbeat.json of hosts that have these rows."""
    now = (beats[-1]["wall"] if beats else RUN) + later
    made = summary.summarize(rows.Reading(list(reversed(beats)), 0), now, 1)
    return {host: {**made, "identity": own} for host, own in (hosts or HOSTS).items()}


def times(value, **more):
    """(host, begin, end, kind) of each time, in seconds after 14:00."""
    found = heartbeat_times.times({"heartbeat.json": value, **more})
    return [(one.host, one.begin - RUN, one.end - RUN, one.kind) for one in found]


def test_a_server_is_called_by_its_host():
    value = kept(*(beat("u1", second) for second in range(5)), beat("u2", 7), beat("u2", 8))
    assert times(value) == [("db1", 0, 4, BEATS), ("db2", 7, 8, BEATS)]
    (first, _second) = heartbeat_times.times({"heartbeat.json": value})
    assert first.words == "db1 beats: 5 rows"
    # A dead source is not read, and is known by the last look at it; another one is not known.
    value = kept(beat("u9", 1), beat("u8", 2), beat("u2", 9))
    look = {"from": "db9", "last_look": {"server": "u9"}}
    found = times(value, **{"certificate.json": look})
    assert [host for host, *_rest in found] == ["db9", "u8", "db2"]


def test_gaps_and_degraded_times_are_told():
    value = kept(
        beat("u1", 0),
        beat("u1", 1, "OFF", 2),
        beat("u1", 2, no_tx=7),
        beat("u1", 14, no_tx=7),
        beat("u1", 15, "OFF", 8),
    )
    said = {one.kind: one.words for one in heartbeat_times.times({"heartbeat.json": value})[:4]}
    assert times(value) == [
        ("db1", 0, 2, BEATS),
        ("db1", 0, 2, DEGRADED),
        ("db1", 2, 14, SILENT),
        ("db1", 14, 15, BEATS),
        ("db1", 14, 15, DEGRADED),
    ]
    assert said[SILENT] == "db1 does not beat for 12 s"
    assert said[DEGRADED] == "db1 is degraded: 7 commits without an acknowledgement"
    last = heartbeat_times.times({"heartbeat.json": value})[-1]
    assert last.words.endswith(": 1 commit without an acknowledgement; no row is from after it")


def test_the_host_with_the_newest_rows_is_believed():
    late = kept(beat("u1", 0), beat("u1", 1), hosts={"db2": "u2"})
    value = {**kept(beat("u1", 0), beat("u1", 1), beat("u1", 2), hosts={"db1": "u1"}), **late}
    assert times(value) == [("db1", 0, 2, BEATS)]


@pytest.mark.parametrize(
    "value", [None, {}, [], {"db1": {}}, {"db1": {"rows": 1, "wall": 1.0}}, {"db1": None}]
)
def test_what_is_not_known_is_not_told(value):
    assert times(value) == []
    assert heartbeat_times.sentences({"heartbeat.json": value}, []) == []


def test_without_rows_there_is_an_age_of_none():
    files = {"heartbeat.json": kept()}
    assert heartbeat_times.times(files) == []
    assert heartbeat_times.sentences(files, []) == [
        "The newest row, by age (on a replica its lag): db1: none, db2: none."
    ]
    assert heartbeat_times.sentences({}, []) == []


@pytest.mark.parametrize(
    "beats,said",
    [
        (
            [beat("u1", 0), beat("u1", 1)],
            ["They have no gap.", "None says that the source was degraded."],
        ),
        (
            [beat("u1", 0), beat("u1", 8), beat("u1", 20, "OFF")],
            [
                "2 gaps, the longest of 12 s.",
                "They say that the source was degraded 1 time.",
            ],
        ),
    ],
)
def test_what_is_seen_is_said_in_words(beats, said):
    files = {"heartbeat.json": kept(*beats)}
    made = heartbeat_times.sentences(files, heartbeat_times.times(files))
    assert made == [
        "The newest row, by age (on a replica its lag): db1: 400 ms, db2: 400 ms.",
        "The rows that were read begin at 2026-11-22 14:00:00.000 UTC.",
        *said,
    ]


def failed_over(tmp_path):
    """The runs of a switchover and a failover, of which the second has rows of both sources."""
    moved = {**test_writability.switchover(10), **POINTS}
    test_writability.run(tmp_path, "2026-11-22T140000.000000Z", switchover=moved)
    # A run that changed no role is not asked.
    other = kept(beat("u1", 30), beat("u1", 31))
    test_writability.run(tmp_path, "2026-11-22T140030.000000Z", heartbeat=other)
    end = test_writability.certificate(60, 62.5, source="db2", target="db3", seen=20)
    end |= JUDGED | {"last_look": {"server": "u2"}}
    beats = [beat("u2", second) for second in range(11, 59)]
    beats += [beat("u3", second) for second in range(63, 70)]
    value = kept(*beats, hosts={"db1": "u1", "db3": "u3"})
    name = "2026-11-22T140100.000000Z"
    return test_writability.run(tmp_path, name, certificate=end, heartbeat=value)


def test_a_row_shows_that_its_server_took_writes(tmp_path):
    folder = str(failed_over(tmp_path))
    changes = writability.up_to(folder)
    beating = heartbeat_times.of_changes(folder, changes)
    assert {one.host for one in beating} == {"db2", "db3"}
    seen = writability.spans(heartbeat_times.seen_by_beats(changes, beating))
    shown = [(one.kind, one.host, round((one.end or RUN) - RUN, 3)) for one in seen]
    assert shown == [
        (WRITES, "db1", 10),
        ("closed", None, 10.3),
        # The last look was at 20, its last row of 58.
        (WRITES, "db2", 58),
        (UNSEEN, "db2", 60),
        ("closed", None, 62.5),
        (WRITES, "db3", 0),
    ]


@pytest.mark.parametrize(
    ("before", "beats", "expected"),
    [
        ("db1", [(50, 58)], 58),
        # By a clock that is ahead, and of a time after it.
        ("db1", [(50, 61)], 60),
        ("db1", [(63, 70)], 20),
        ("db2", [(50, 58)], 20),
        ("db1", [], 20),
    ],
)
def test_until_when_a_source_was_seen(before, beats, expected):
    change = writability.Change("failover", before, "db3", RUN + 20, RUN + 60, RUN + 62, RUN)
    beating = [BeatTime("db1", RUN + begin, RUN + end, BEATS, "") for begin, end in beats]
    (made,) = heartbeat_times.seen_by_beats([change], beating)
    assert made.seen == RUN + expected
    bare = change._replace(closed=None, seen=None)
    assert heartbeat_times.seen_by_beats([bare], beating) == [bare]


def test_the_report_has_the_heartbeat_of_its_run(tmp_path):
    folder = failed_over(tmp_path)
    page.write_page(str(folder), "shop", "2026-11-22T15:00:00Z")
    text = (folder / "summary.md").read_text(encoding="utf-8")
    assert "## Heartbeat\n\n- The newest row, by age (on a replica its lag): db1: 400 ms," in text
    assert "| 2026-11-22 14:00:58.000 UTC | 2026-11-22 14:01:00.000 UTC | it is not known" in text
    if plots.HAS_MATPLOTLIB:
        made = (folder / "report.html").read_text(encoding="utf-8")
        assert '<section id="heartbeat">' in made and "db2 beats: 48 rows" in made
        assert 'download="heartbeat.json"' in made
    (folder / "heartbeat.json").unlink()
    page.write_page(str(folder), "shop", "2026-11-22T15:00:00Z")
    assert "Heartbeat" not in (folder / "summary.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="matplotlib is not installed")
def test_the_picture_draws_beats_and_degraded_times(tmp_path):
    folder = str(failed_over(tmp_path))
    changes = writability.up_to(folder)
    beating = heartbeat_times.of_changes(folder, changes)

    def strokes(beats):
        made = plots_writability.timeline(changes, beats)
        # Colours are the page's: good and bad.
        return made["wide"].count("var(--good)"), made["wide"].count("stroke-width: 4")

    assert strokes([])[0] == 0
    assert strokes(beating)[0] == 2
    degraded = [one._replace(kind=DEGRADED) for one in beating]
    assert strokes(degraded) == (0, 2)
    assert strokes([one._replace(kind=SILENT) for one in beating]) == (0, 0)
