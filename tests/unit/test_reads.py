# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of `make prove` saw is judged: rows that were lost, and time that went back."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from proving.reads import judge, older, parsed

# (begin, connection, server, what it showed) of one reader; an answer takes 0.1 s.
Look = tuple[float, int, str, str]
BEFORE: list[Look] = [(1.0, 1, "source", "0:1,1:1"), (2.0, 1, "source", "0:3,1:1")]
AFTER: list[Look] = [(60.0, 2, "replica1", "0:4,1:2")]
# Two servers that are left, with a row of each number of both writers.
ROWS = frozenset((writer, number) for writer in (0, 1) for number in range(1, 9))
LEFT = {"replica1": ROWS, "replica2": ROWS}
NONE = {"lost": 0, "back": 0, "stale": 0, "ahead": 0}


def reader(port, looks):
    reads = [[begin, begin + 0.1, connection, host, words]
             for begin, connection, host, words in looks]  # fmt: skip
    return {"port": port, "reads": reads, "errors": {}}


def judged(source=(), replicas=(), there=LEFT, confirmed=None):
    known = [reader("source", looks) for looks in source]
    known += [reader("replicas", looks) for looks in replicas]
    return judge({"readers": known}, there, confirmed or {})


def without(*rows):
    """The servers that are left, none of which has these rows."""
    return {host: its - set(rows) for host, its in LEFT.items()}


def told(found, names=NONE):
    return {name: found["source"][name] for name in names}


def test_what_was_read_is_counted():
    found = judged([[*BEFORE, *AFTER], BEFORE], [[(1.5, 1, "replica2", "0:2,1:1")]])
    assert found["source"] == {
        "readers": 2, "reads": 5, "rows": 5, "moved": 1, "without": 58.0, **NONE
    }  # fmt: skip
    assert found["replicas"] == {
        "readers": 1, "reads": 1, "rows": 2, "moved": 0, "without": 0.0,
        "lost": 0, "back": 0, "lagged": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("after", "there", "expected"),
    [
        (AFTER, LEFT, {}),
        # It was shown, and no server has it: by what comes later, and by a higher number as well.
        ([], without((0, 3)), {"lost": 1}),
        (AFTER, without((0, 3)), {"lost": 1, "back": 1}),
        # One server that is left lacks it, and that is the one that answers.
        (AFTER, {**LEFT, "replica1": LEFT["replica1"] - {(0, 3)}}, {"lost": 1, "back": 1}),
        (AFTER, {**LEFT, "replica2": LEFT["replica2"] - {(0, 3)}}, {"lost": 1}),
        # It shows less than before; also if it has no row of a writer at all.
        ([(60.0, 2, "replica1", "0:2,1:1")], LEFT, {"back": 1, "stale": 1}),
        ([(60.0, 2, "replica1", "1:1")], LEFT, {"back": 1, "stale": 1}),
        ([(60.0, 1, "source", "0:2,1:1")], LEFT, {"back": 1, "stale": 1}),
        # A row that was never the newest was not seen.
        (AFTER, without((0, 2)), {}),
    ],
)  # fmt: skip
def test_a_reader_of_the_source_sees_a_lost_row_or_time_go_back(after, there, expected):
    assert told(judged([[*BEFORE, *after]], there=there)) == {**NONE, **expected}


def test_a_row_is_stale_that_was_confirmed_or_shown_before_the_read_began():
    confirmed = {(0, 1): 0.5, (0, 3): 1.9, (1, 1): 0.4}
    assert told(judged([BEFORE], confirmed=confirmed))["stale"] == 0
    # Confirmed while it was read: either is right.
    assert told(judged([BEFORE], confirmed={**confirmed, (1, 2): 2.05}))["stale"] == 0
    assert told(judged([BEFORE], confirmed={**confirmed, (1, 2): 1.95}))["stale"] == 1
    late = [[(2.05, 1, "source", "0:2,1:1")], [(2.15, 1, "source", "0:2,1:1")]]
    assert told(judged([BEFORE, *late]))["stale"] == 1


def test_what_a_replica_has_shown_and_the_source_not_yet_is_no_mistake():
    found = judged([BEFORE], [[(1.7, 1, "replica1", "0:4,1:1")]])
    assert told(found) == {**NONE, "ahead": 1}


@pytest.mark.parametrize(
    ("looks", "there", "expected"),
    [
        ([(1.0, 1, "replica1", "0:3"), (2.0, 2, "replica2", "0:3")], LEFT, (0, 0, 0)),
        # Another replica has applied less.
        ([(1.0, 1, "replica1", "0:3"), (2.0, 2, "replica2", "0:2")], LEFT, (0, 0, 1)),
        # By the same connection it must not be so, whatever another has shown.
        ([(1.0, 1, "replica1", "0:3"), (2.0, 1, "replica1", "0:2")], LEFT, (0, 1, 0)),
        ([(1.0, 1, "replica1", "0:8"), (2.0, 2, "replica2", "0:3"), (3.0, 2, "replica2", "0:2")],
         LEFT, (0, 1, 1)),
        # A replica has shown it, and it is lost.
        ([(1.0, 1, "replica1", "0:3"), (2.0, 2, "replica2", "0:4")], without((0, 3)), (1, 0, 1)),
    ],
)  # fmt: skip
def test_only_one_connection_by_itself_may_not_go_back_among_replicas(looks, there, expected):
    found = judged([BEFORE], [looks], there)["replicas"]
    assert (found["lost"], found["back"], found["lagged"]) == expected


def test_a_server_without_a_row_shows_none():
    assert parsed([[1.0, 1.1, 1, "source", ""]])[0].newest == {}
    assert older(parsed([[1.0, 1.1, 1, "source", ""]]), [(0.5, 0, 1)]) == 1


# What two readers kept, one of a source that died and of the replica that was promoted, one of that
# replica (test_21 of tests/behaviours).
CAPTURED = json.loads(
    (Path(__file__).parent / "fixtures" / "reads-mariadb-10.11.json").read_text(encoding="utf-8")
)


def captured(point, change=None):
    """The verdict on a captured run, after something was changed in a copy of it."""
    made = copy.deepcopy(CAPTURED[point])
    if change:
        change(made)
    there = {"replica": {tuple(row) for row in made["replica"]}}
    confirmed = {(client, number): moment for client, number, moment in made["confirmed"]}
    return judge(made, there, confirmed)


def of_writer(reads, host):
    """(0, number): the newest row of the first writer in the last answer of a server."""
    words = [read[-1] for read in reads if read[-2] == host][-1]
    return [0, parsed([[0.0, 0.1, 1, host, words]])[0].newest[0]]


def lose(host):
    """No server has a row that a server showed last."""

    def change(made):
        made["replica"].remove(of_writer(made["readers"][0]["reads"], host))

    return change


def turn_round(reader):
    """Two answers to a reader in the wrong order: the same connection goes back."""

    def change(made):
        reads = made["readers"][reader]["reads"]
        place = next(n for n in range(1, len(reads)) if reads[n][-1] != reads[n - 1][-1])
        reads[place][-1], reads[place - 1][-1] = reads[place - 1][-1], reads[place][-1]

    return change


def test_a_captured_run_without_a_mistake_is_judged_so():
    found = captured("AFTER_SYNC")
    assert told(found) == {**NONE, "ahead": found["source"]["ahead"]}
    assert (found["replicas"]["lost"], found["replicas"]["back"]) == (0, 0)
    assert found["source"]["moved"] == 1 and found["source"]["rows"] > 10


def test_a_captured_control_has_rows_that_were_read_and_lost():
    found = captured("AFTER_COMMIT")
    assert found["source"]["lost"] > 0 and found["source"]["back"] >= found["source"]["lost"]
    assert found["replicas"]["lost"] == 0


@pytest.mark.parametrize(
    ("change", "port", "names"),
    [
        # The writer has newer ones on the new source.
        (lose("source"), "source", {"lost", "back"}),
        (lose("replica"), "source", {"lost"}),
        (turn_round(0), "source", {"back", "stale"}),
        (turn_round(1), "replicas", {"back"}),
    ],
)
def test_an_anomaly_that_is_put_into_a_captured_run_is_found(change, port, names):
    before, found = (captured("AFTER_SYNC", each)[port] for each in (None, change))
    kinds = {"lost", "back", "stale"} & set(found)
    assert {name for name in kinds if found[name] > before[name]} == names
