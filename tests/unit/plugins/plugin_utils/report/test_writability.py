# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who could write when, out of the records of several runs."""

from __future__ import annotations

import json

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
    page,
    plots,
    plots_writability,
    writability,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.writability import (
    CLOSED,
    UNSEEN,
    WRITES,
    Change,
)

# 14:00:00 and seconds.
RUN = writability.moment("2026-11-22T14:00:00Z")


def at(seconds: float) -> str:
    return f"2026-11-22T14:{int(seconds // 60):02d}:{seconds % 60:06.3f}Z"


def switchover(begin, source="db1", target="db2", outcome="done", waited=300.0, **more):
    """A switchover.json that froze so many seconds after 14:00."""
    opens = {"done": target, "undone": source}.get(outcome)
    spans = [{"host": source, "from_ms": None, "to_ms": 0.0}]
    spans += [{"host": opens, "from_ms": waited, "to_ms": None}] if opens else []
    return {
        "from": source,
        "to": target,
        "outcome": outcome,
        "froze_at": at(begin),
        "writers_waited_ms": waited if opens else None,
        "writable": spans,
        **more,
    }


def certificate(frozen, opened, source="db2", target="db3", seen=None, **more):
    return {
        "from": source,
        "to": target,
        "outcome": "done",
        "verdict": "proven",
        "at": at(frozen),
        "source_seen_at": None if seen is None else at(seen),
        "source_ended_at": None,
        "frozen_at": at(frozen),
        "opened_at": at(opened),
        **more,
    }


def changes(*records):
    found = []
    for record in records:
        if "verdict" in record:
            found.append(writability.of_failover(record, RUN))
        else:
            found += writability.of_switchovers(record, RUN)
    return writability.chain(change for change in found if change)


def shown(*records):
    """(from, to, kind, host) of each span, in seconds after 14:00."""
    return [
        (
            None if one.begin is None else round(one.begin - RUN, 3),
            None if one.end is None else round(one.end - RUN, 3),
            one.kind,
            one.host,
        )
        for one in writability.spans(changes(*records))
    ]


def test_a_switchover_and_a_failover_make_one_timeline():
    assert shown(switchover(10), certificate(60, 62.5, seen=50)) == [
        (None, 10, WRITES, "db1"),
        (10, 10.3, CLOSED, None),
        (10.3, 50, WRITES, "db2"),
        (50, 60, UNSEEN, "db2"),
        (60, 62.5, CLOSED, None),
        (62.5, None, WRITES, "db3"),
    ]


@pytest.mark.parametrize(
    "record,expected",
    [
        # No run has looked at it since it opened.
        (
            certificate(60, 62),
            [(10.3, 60, UNSEEN, "db2"), (60, 62, CLOSED, None), (62, None, WRITES, "db3")],
        ),
        # Its host says when it ended.
        (
            certificate(60, 62, seen=20, source_ended_at=at(55)),
            [(10.3, 55, WRITES, "db2"), (55, 62, CLOSED, None), (62, None, WRITES, "db3")],
        ),
        # A look whose second is rounded cannot be behind the stop.
        (
            certificate(60, 62, seen=61),
            [(10.3, 60, WRITES, "db2"), (60, 62, CLOSED, None), (62, None, WRITES, "db3")],
        ),
        # It is not known whether it took over.
        (
            certificate(60, 62, seen=50, outcome="unknown", opened_at=None),
            [(10.3, 50, WRITES, "db2"), (50, 60, UNSEEN, "db2"), (60, None, UNSEEN, None)],
        ),
        (certificate(60, 62, outcome="undone"), [(10.3, None, WRITES, "db2")]),
        (certificate(60, 62, outcome="refused"), [(10.3, None, WRITES, "db2")]),
    ],
)
def test_what_nobody_saw_of_a_dead_source_is_not_known(record, expected):
    assert shown(switchover(10), record)[2:] == expected


@pytest.mark.parametrize(
    "record,expected",
    [
        (
            switchover(10, outcome="undone", waited=900.0),
            [(None, 10, WRITES, "db1"), (10, 10.9, CLOSED, None), (10.9, None, WRITES, "db1")],
        ),
        (
            switchover(10, outcome="unknown"),
            [(None, 10, WRITES, "db1"), (10, None, UNSEEN, None)],
        ),
        (switchover(10, outcome="refused", froze_at=None, writers_waited_ms=None), []),
        # The rest of an interrupted one: it was not seen when it opened.
        (
            switchover(10, froze_at=None, writers_waited_ms=None, writable=[]),
            [(None, 0, UNSEEN, None), (0, None, WRITES, "db2")],
        ),
        # The same run undid another first.
        (
            switchover(10, mended=[switchover(4, outcome="undone", writable=[])]),
            [
                (None, 4, WRITES, "db1"),
                (4, 4.3, CLOSED, None),
                (4.3, 10, WRITES, "db1"),
                (10, 10.3, CLOSED, None),
                (10.3, None, WRITES, "db2"),
            ],
        ),
    ],
)
def test_a_switchover_that_did_not_go_straight_on(record, expected):
    assert shown(record) == expected


def test_what_was_unknown_is_known_again_from_the_next_change_on():
    assert shown(switchover(10, outcome="unknown"), switchover(40, "db2", "db1"))[1:3] == [
        (10, 40, UNSEEN, None),
        (40, 40.3, CLOSED, None),
    ]


def test_a_change_that_nobody_recorded_ends_the_timeline():
    assert [one.before for one in changes(switchover(10), switchover(90, "db3", "db1"))] == ["db3"]
    linked = changes(switchover(90, "db2", "db1"), switchover(10))
    assert [one.before for one in linked] == ["db1", "db2"]


def test_a_certificate_of_before_counts_from_its_run():
    kept = certificate(60, 62, opened_after_ms=64000)
    for name in ("source_seen_at", "source_ended_at", "frozen_at", "opened_at"):
        del kept[name]
    change = writability.of_failover(kept, RUN)
    assert change and (change.closed, change.opened) == (RUN + 60, RUN + 64)


def run(base, name, **files):
    folder = base / name
    folder.mkdir(parents=True)
    for file, value in files.items():
        (folder / f"{file}.json").write_text(json.dumps(value), encoding="utf-8")
    return folder


POINTS = {"points": [], "reason": "", "timeline": [], "statements": [], "mode": "switch"}


def test_the_records_of_a_clusters_runs_are_found_up_to_the_one_that_is_reported(tmp_path):
    run(tmp_path, "2026-11-22T140000.000000Z", switchover=switchover(10))
    run(tmp_path, "2026-11-22T140100.000000Z", checkpoints=[])
    run(tmp_path, "2026-11-22T140130.000000Z", certificate={"outcome": "done"})
    failed = run(tmp_path, "2026-11-22T140200.000000Z", certificate=certificate(130, 140))
    run(tmp_path, "2026-11-22T140300.000000Z", switchover=switchover(200, "db3", "db1"))
    (tmp_path / "latest").symlink_to("2026-11-22T140300.000000Z")
    assert [one.operation for one in writability.up_to(str(failed))] == ["switchover", "failover"]
    # Under the name latest it is the same run.
    assert len(writability.up_to(str(tmp_path / "2026-11-22T140300.000000Z"))) == 3


def test_a_report_of_a_change_says_who_wrote_when_and_no_other_does(tmp_path):
    first = run(tmp_path, "2026-11-22T140000.000000Z", switchover={**switchover(10), **POINTS})
    later = run(tmp_path, "2026-11-22T150000.000000Z", checkpoints=[])
    for folder, told in ((first, True), (later, False)):
        summary, _html, _verdict = page.write_page(str(folder), "shop", at(0))
        with open(summary, encoding="utf-8") as stream:
            text = stream.read()
        assert ("## Which server took writes when" in text) is told
    assert "no server takes writes for 300 ms; switchover from db1 to db2" in (
        (first / "summary.md").read_text(encoding="utf-8")
    )


@pytest.mark.skipif(not plots.HAS_MATPLOTLIB, reason="matplotlib is not installed")
def test_the_picture_is_for_more_than_one_switchover():
    both = changes(switchover(10), certificate(60, 62.5, seen=50))
    assert plots_writability.timeline(both[:1], []) is None
    assert plots_writability.timeline(both[1:], []) is not None
    made = plots_writability.timeline(both, [])
    assert made and "no server takes writes: 300 ms" in made["wide"]
    assert "no server: 2.5 s; not known before: 10 s" in made["narrow"] and ">db3<" in made["wide"]
    # Of a move without moments there is nothing to draw.
    bare = Change("switchover", "db1", "db2", None, None, None, RUN)
    assert plots_writability.timeline([bare], []) is None
