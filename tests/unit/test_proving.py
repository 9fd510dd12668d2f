# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make prove` without hosts: its mutants fit the playbook as it is, and its tables say no more
than was seen.
"""

from __future__ import annotations

import json
import subprocess
from xml.etree import ElementTree

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate
from jsonschema import Draft202012Validator

from proving import evidence, picture, readers, short, table
from proving.cycle import REFUSED, early, lies, outside, wrong
from proving.faults import FAULTS
from proving.mutants import MUTANTS, PROJECT, Patch, broken, patched
from proving.proxy import configuration
from support.consents import by_consent, consents
from support.proxy import CONFIGURATION

PATCHES = [
    pytest.param(patch, id=f"{name}-{number}")
    for name, mutant in MUTANTS.items()
    for number, patch in enumerate(mutant.patches)
]


def record(**other):
    return {
        "case": "cut",
        "server": "mariadb",
        "version": "10.11-MariaDB",
        "commit": "abc1234",
        "at": "2026-11-22T20:56:03Z",
        "seed": 1,
        "delay": {"replica1": 80, "replica2": 80},
        "judged": True,
        "why": "",
        "verdict": "proven",
        "outcome": "done",
        "reasons": [],
        "cases": [],
        "certificate": "proven",
        "attempted": 410,
        "confirmed": 400,
        "unknown": 3,
        "lost": 0,
        "unexpected": 0,
        "twice": 0,
        "outside": 0,
        "without": 12.0,
        "to_first": 9.0,
        **other,
    }


@pytest.mark.parametrize("patch", PATCHES)
def test_a_mutant_fits_the_playbook_as_it_is(patch):
    text = (PROJECT / patch.file).read_text(encoding="utf-8")
    made = patched(text, patch)
    assert made != text
    if patch.file.endswith(".py"):
        compile(made, patch.file, "exec")


def test_a_mutant_whose_text_is_gone_is_an_error():
    with pytest.raises(ValueError, match="0 times"):
        patched("what it was\n", Patch("file.py", "what it is", "what it shall be"))


def test_a_mutant_is_a_copy(tmp_path):
    path = broken(MUTANTS["no-wait"], tmp_path)
    copy = path / "ansible_collections/dbre/semisync"
    (patch,) = MUTANTS["no-wait"].patches
    assert patch.replacement in (copy / patch.file).read_text(encoding="utf-8")
    assert patch.anchor in (PROJECT / patch.file).read_text(encoding="utf-8")
    assert (copy / "playbooks/failover.yml").exists()


def test_every_mutant_has_its_fault():
    assert {mutant.fault for mutant in MUTANTS.values()} <= set(FAULTS)


def test_a_certificate_lies_that_answers_for_the_time_of_a_lost_row():
    assert lies(record(lost=1, outside=1))
    assert lies(record(lost=1, outside=1, verdict=certificate.WINDOW))
    assert not lies(record(lost=1, outside=0, verdict=certificate.WINDOW))
    assert not lies(record())
    assert not lies(record(lost=1, outside=1, verdict="not proven"))
    assert not lies({"verdict": REFUSED})


def test_a_lost_row_counts_where_the_certificate_answers_for_its_time():
    known = {"confirmed": [[1, 2], [7]], "moments": [[100.0, 160.0], [170.9]]}
    window = {"from": "1970-01-01T00:02:30Z", "to": "1970-01-01T00:02:50Z", "ended": True}
    lost = [(0, 1), (0, 2), (1, 7)]
    assert outside(lost, known, window) == 1
    # Behind a broken line it may have gone on confirming, and the certificate says so.
    late = dict(window, to="1970-01-01T00:02:35Z")
    assert outside(lost, known, late) == 3
    assert outside(lost, known, dict(late, ended=False)) == 1
    assert outside(lost, known, None) == 3
    assert outside([], known, None) == 0


def test_a_lost_row_is_early_that_was_confirmed_before_the_moment_of_the_certificate():
    known = {"confirmed": [[1, 2], [7]], "moments": [[100.0, 160.0], [170.9]]}
    lost = [(0, 2), (1, 7)]
    assert early(lost, known, "1970-01-01T00:02:30.000Z") == 0
    assert early(lost, known, "1970-01-01T00:02:50.800Z") == 1
    assert early(lost, known, None) == 0
    assert wrong(record(case="usual-cut", lost=1, early=1, verdict="not proven"))
    assert not wrong(record(case="usual-off", lost=1, early=0, verdict="not proven"))
    assert wrong(record(case="usual-off", verdict="proven"))


def test_what_the_usual_settings_have_to_show_has_a_table_of_its_own():
    close = record(case="usual-cut", verdict=certificate.WINDOW, until=1.2, early=0)
    text = table.document([close, dict(close, until=9.0), record(case="usual-killed", until=0.1)])
    assert "MariaDB 10.11 | 2 | until 2 s before the end | 1 of 2 | 800 | 0 | 0 | 5.1, 9.0" in text
    assert "| MariaDB 10.11 | 1 | proven | 1 of 1 | 400 | 0 | 0 | 0.1, 0.1 | proven: 1" in text


def test_a_power_switch_that_came_too_late_is_counted_apart():
    fenced = record(case="usual-fenced", fenced=7.5)
    late = dict(fenced, fenced=8.5, verdict=certificate.WINDOW)
    text = table.document([fenced, late, dict(fenced, verdict=certificate.WINDOW)])
    assert "| 3 | proven if fenced within 8 s | 1 of 2; fenced later: 1 |" in text


SWITCHED = {"verdict": "no failover", "again": True, "writable": 1, "ways": []}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"lost": 1}, True),
        ({"unexpected": 1}, True),
        ({"twice": 1}, True),
        ({"lost": 1, "outside": 1, "judged": False}, False),
        ({"case": "async", "lost": 5}, False),
        ({"case": "async", "lost": 5, "outside": 5}, True),
        ({"case": "async", "unexpected": 1}, True),
        # MySQL keeps a relay log that was on the disk, and MariaDB does not.
        ({"case": "synced", "lost": 1, "verdict": "not proven"}, False),
        ({"case": "synced", "lost": 1, "verdict": "not proven", "server": "mysql"}, True),
        ({"case": "no-wait", "lost": 9, "outside": 9}, False),
        ({"case": "look-restarted", "lost": 5, "verdict": "not proven"}, False),
        ({"case": "look-restarted", "verdict": "not proven"}, False),
        ({"case": "look-restarted", "verdict": "proven"}, True),
        ({"case": "look-degraded", "lost": 5, "verdict": certificate.WINDOW}, False),
        ({"case": "look-degraded", "lost": 5, "outside": 1, "verdict": certificate.WINDOW}, True),
        ({"case": "switching", **SWITCHED}, False),
        ({"case": "switching", **SWITCHED, "lost": 1, "outside": 1}, True),
        ({"case": "switching", **SWITCHED, "again": False}, True),
        ({"case": "switching", **SWITCHED, "writable": 2}, True),
        ({"case": "switching", **SWITCHED, "verdict": REFUSED, "writable": 0}, True),
    ],
)
def test_what_a_playbook_as_it_is_may_not_do(changes, expected):
    assert wrong(record(**changes)) is expected


def test_hosts_that_were_lost_in_a_switchover_have_a_table_of_their_own():
    one = record(case="switching", **SWITCHED, lost_host="source", struck=["Hand the role over", 0])
    led = dict(one, ways=["failover.yml failed", "failover.yml ended well"])
    text = table.document([record(), one, led])
    assert (
        "| the source's host | MariaDB 10.11 | 2 | Hand the role over: 2 | nothing had to: 1,"
        " failover.yml failed, then failover.yml ended well: 1 | 2 | 0 | 0 |"
    ) in text


def test_a_refusal_names_what_can_be_accepted():
    words = "to accept this, pass -e semisync_failover_accept=unread:db-4,degraded; the rest"
    done = subprocess.CompletedProcess([], 2, words, "")
    assert consents(done) == {"semisync_failover_accept": "unread:db-4,degraded"}
    assert consents(subprocess.CompletedProcess([], 2, "no_replica: nobody was read", "")) == {}


def test_what_was_refused_by_name_or_undone_is_made_again(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    said = [
        (2, "pass -e semisync_failover_accept=degraded; the certificate records it"),
        (2, "pass -e semisync_failover_accept=alone; the certificate records it"),
        (2, "Cluster 'default': everything was rolled back, no replica took over"),
        (0, "done"),
    ]
    heard = []

    def attempt(*arguments):
        heard.append(arguments)
        status, words = said[len(heard) - 1]
        return subprocess.CompletedProcess([], status, words, "")

    assert by_consent(attempt).returncode == 0
    both = ("-e", "semisync_failover_accept=degraded,alone")
    assert heard == [(), ("-e", "semisync_failover_accept=degraded"), both, both]
    heard.clear()
    said[0] = (2, "no_replica: nobody was read")
    assert by_consent(attempt).returncode == 2 and len(heard) == 1


def test_where_nobody_wrote_again_there_are_no_seconds():
    stopped_before = record(case="two", without=0.1, to_first=-0.2)
    assert table.spread([stopped_before], "without") == ""
    assert table.spread([stopped_before, record(case="two")], "without") == "12.0, 12.0"
    lived = record(case="apart-long", without=2.0, to_first=-5.9)
    assert table.spread([lived, record(case="two", to_first=None)], "to_first") == "-5.9, -5.9"


def test_a_cycle_that_was_not_judged_counts_as_none_and_is_listed():
    broken_off = {"case": "cut", "server": "mysql", "version": "9.7", "seed": 7, "judged": False}
    text = table.document([record(), dict(broken_off, why="no answer within 300 s")])
    cells = "1 | 80 | 410 | 400 | 0 | 0 | 0 | 3 | proven: 1 | 12.0, 12.0 | 9.0, 9.0 |"
    assert f"| MariaDB 10.11 | {cells}" in text
    assert "9.7 |" not in text
    assert "count as none: 1.\n- cut, mysql, seed 7: no answer within 300 s" in text


def test_missing_proofs_are_counted_with_their_reasons():
    poor = record(verdict="not proven", reasons=["C5, replica1: its server started"])
    text = table.document([poor, poor, record(verdict="not proven", lost=2, reasons=["C1, x: y"])])
    assert "where nothing was lost: 2.\n- 2 times cut, mariadb: not proven (C5, replica1)" in text


def test_a_liar_is_named():
    mutant = record(case="no-wait", lost=9, outside=9)
    text = table.document([record(lost=1, outside=1, seed=42), mutant])
    assert "in which a lost row was confirmed: 1 (cut 42 (mariadb))." in text
    assert "unexpected or twice: 1 cycles (cut 42 (mariadb))." in text
    assert "| backlog | MariaDB 10.11 | 1 | 1 | 400 | 9 | 0 | 1 | proven: 1 |" in text


def back(**other):
    return {
        "down": False, "asked": 20, "yes": 0, "rows": 0, "verdict": "phantoms", "phantoms": 3,
        "way": "seed", "equal": True, "wrong": "", **other,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"yes": 1}, True),
        ({"rows": 1}, True),
        ({"equal": False}, True),
        ({"wrong": "rejoin.yml: x", "equal": False}, True),
    ],
)
def test_a_former_source_that_does_not_come_back_as_a_replica_is_wrong(changes, expected):
    assert wrong(record(back=back(**changes))) is expected
    assert wrong(record(case="async", back=back(**changes))) is expected
    # A mutant may do it, and is seen by the rows alone.
    mutant = record(case="phantom", back=back(**changes))
    assert not wrong(mutant)
    assert table.seen(mutant) is (changes == {"equal": False})


def test_former_sources_that_came_back_are_told_with_their_verdicts_and_ways():
    made = [
        record(back=back()),
        record(back=back(verdict="clean", way="attach", phantoms=0)),
        record(back=back(down=True, way="truncate", replica="seed", equal=False), seed=42),
        record(case="phantom", back=back(equal=False)),
    ]
    text = table.document(made)
    first = "phantoms: 1, clean: 1 | 3 | seed: 1, attach: 1 |  | 40 | 0 | 0 | 0 |"
    assert f"| power cut of the source | MariaDB 10.11 | runs | 2 | {first}" in text
    second = "phantoms: 1 | 3 | truncate: 1 | seed: 1 | 20 | 0 | 0 | 1 |"
    assert f"| not started before the verdict | 1 | {second}" in text
    assert "Amiss:\n- cut 42 (mariadb): rows differ" in text
    assert "| cut | MariaDB 10.11 | 1 | 1 | 400 | 0 |" in text


def test_the_picture_tells_what_must_not_be_from_what_was_to_be_expected():
    def kinds(one):
        lines = ElementTree.fromstring(picture.picture([one])).iter()  # noqa: S314
        return [(line.text, line.get("class")) for line in lines if line.tag.endswith("text")]

    assert ("0", "good") in kinds(record()) and ("1 proven", "ink") in kinds(record())
    assert ("7", "fair") in kinds(record(case="async", lost=7))
    assert ("7", "bad") in kinds(record(lost=7, verdict="not proven"))
    assert ("1 proven, 1 of them lie", "bad") in kinds(record(lost=7, outside=7))
    assert ("3", "bad") in kinds(record(case="async", unexpected=3))
    # A mutant is in no row of it.
    assert ("7", "bad") not in kinds(record(case="phantom", lost=7))


def test_faults_with_the_usual_settings_have_a_picture_of_their_own():
    one = record(case="usual-cut", lost=7, early=1, until=1.5, verdict=certificate.WINDOW)
    assert "usual" not in picture.picture([one]) and "1.5, 1.5" not in picture.picture([one])
    made = picture.picture([record(), one], usual=True)
    assert "1.5, 1.5" in made and ">1 but for a window<" in made and ">12.0, 12.0<" not in made


UNJUDGED = {"judged": False, "why": "no answer", "seconds": 9.0}


@pytest.mark.parametrize(
    ("changes", "words", "more"),
    [
        ({}, "", False),
        ({"lost": 1}, "rows or certificate are wrong", False),
        ({"verdict": REFUSED}, "no replica took over", True),
        (UNJUDGED, "it could not be judged: no answer", True),
        ({"case": "phantom", "back": back(equal=False)}, "", False),
        ({"case": "phantom", "back": back()}, "the mistake was not seen", True),
        ({"case": "both-threads", "lost": 9, "outside": 9}, "", False),
        ({"case": "both-threads"}, "the mistake was not seen", True),
        ({"case": "both-threads", **UNJUDGED}, "it could not be judged: no answer", True),
    ],
)
def test_what_the_short_form_lets_pass_and_what_it_makes_again(changes, words, more):
    assert short.amiss(record(**changes)) == words
    assert short.again(record(**changes)) is more


def test_the_short_form_gives_a_cycle_two_more_turns_and_no_more():
    made = []

    def cycle(case):
        made.append(case)
        bad = case == "cut" or made.count(case) < 3
        changes = UNJUDGED if bad else {"lost": 1}
        return record(case=case, **{"seconds": 9.0, **changes})

    found = short.run("mariadb", cycle)
    assert made == [case for case in short.CASES["mariadb"] for _turn in range(3)]
    assert len(found) == 2
    for words in found:
        assert words.startswith("cut, seed 1: it could not be judged: no answer: {'")
    assert all({*cases} <= {*FAULTS, *MUTANTS} for cases in short.CASES.values())


def test_clients_go_through_the_configuration_of_the_documentation():
    text = CONFIGURATION.read_text(encoding="utf-8")
    made = configuration(text, {"source": "10.99.0.10", "replica1": "10.99.0.11"}, "10.99.0.1")
    assert "bind 10.99.0.1:3306\n" in made and "bind 10.99.0.1:3307\n" in made
    assert "db1" not in made and "inter 1s" in made
    writers, readers = made.partition("\nlisten readers\n")[::2]
    for part, asked in ((writers, "GET /source"), (readers, "GET /replica?max_lag=10")):
        assert part.count("    server ") == 2 and f"option httpchk {asked}\n" in part
        assert "    server source 10.99.0.10:3306 check port 8008\n" in part
    with pytest.raises(ValueError, match="lacks"):
        configuration(text.replace("200ms", "300ms"), {}, "10.99.0.1")


def test_a_mutant_that_was_refused_was_not_seen():
    text = table.document([record(case="no-wait", verdict=REFUSED)])
    assert "| backlog | MariaDB 10.11 | 1 | 0 | 400 |" in text


def test_the_tables_are_put_between_the_marks(tmp_path):
    page = tmp_path / "failover.md"
    page.write_text(f"before\n{table.MARK}old\n{table.END}after\n", encoding="utf-8")
    table.write(page, "new\n")
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and text.startswith("before\n") and text.endswith("after\n")
    page.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks"):
        table.write(page, "new\n")


def port(**other):
    return {"readers": 13, "reads": 90, "rows": 70, "lost": 0, "back": 0, "moved": 13,
            "without": 20.0, **other}  # fmt: skip


def seen_by_readers(source=None, replicas=None):
    of_source = port(**{"stale": 0, "ahead": 2, **(source or {})})
    return {"source": of_source, "replicas": port(**{"lagged": 0, **(replicas or {})})}


@pytest.mark.parametrize(
    ("case", "source", "replicas", "expected"),
    [
        ("cut", {}, {"lagged": 9}, False),
        ("cut", {"lost": 1}, {}, True),
        ("cut", {"back": 1}, {}, True),
        ("cut", {"stale": 1}, {}, True),
        ("cut", {}, {"lost": 1}, True),
        ("cut", {}, {"back": 1}, True),
        # It lives, and has readers beside the new source: they may be late, and see nothing lost.
        ("apart", {"back": 1, "stale": 1}, {}, False),
        ("apart", {"lost": 1}, {}, True),
        # Confirmed rows may be lost, or rows may be shown before a replica has them.
        ("async", {"lost": 1, "back": 1}, {"lost": 1}, False),
        ("after-commit", {"lost": 1, "back": 1}, {}, False),
        ("after-commit", {}, {"back": 1}, True),
        ("phantom", {"lost": 1}, {}, False),
    ],
)
def test_what_readers_may_not_see(case, source, replicas, expected):
    one = record(case=case, read=seen_by_readers(source, replicas))
    assert wrong(one) is expected
    schema().validate([evidence.kept(one)])


def test_a_cycle_of_before_there_were_readers_is_whole():
    assert not wrong(record())
    schema().validate([evidence.kept(record())])
    assert not schema().is_valid([evidence.kept(record(read={**seen_by_readers(), "more": 1}))])
    strange = seen_by_readers({"more": 1})
    assert not schema().is_valid([evidence.kept(record(read=strange))])


def test_what_readers_saw_has_tables_of_its_own():
    control = record(case="after-commit", read=seen_by_readers({"lost": 4, "back": 30}))
    made = [
        record(read=seen_by_readers()),
        record(read=seen_by_readers(replicas={"lagged": 7, "without": 5.0})),
        control,
        record(verdict=REFUSED),
        {**record(case="after-commit"), **UNJUDGED},
    ]
    text = readers.document(made)
    cells = "2 | 0 | 180 | 140 | 0 | 0 | 0 | 0 | 26 of 26 | 4 | 20.0, 20.0 |"
    assert f"| power cut of the source | MariaDB 10.11 | {cells}" in text
    assert "| MariaDB 10.11 | 1 | 0 | 90 | 70 | 4 | 1 | 30 | 0 | 13 of 13 | 2 | 20.0" in text
    assert "| 2 | 180 | 140 | 0 | 0 | 7 | 1 | 26 of 26 | 12.5, 20.0 |" in text
    assert "saw what it may not: 0.\n\nCycles without a takeover, of which no reads" in text
    assert "are judged: 1.\n" in text and "count as none: 1.\n" in text
    amiss = readers.document([record(read=seen_by_readers({"lost": 2, "back": 3}), seed=42)])
    assert "may not: 1 (cut 42 (mariadb): lost 2 by the port of the source, back 3 by" in amiss


def test_the_committed_reads_are_whole_and_the_tables_are_theirs():
    schema().validate(evidence.read(readers.RECORDS))
    assert readers.document(readers.every()) in readers.DOCUMENT.read_text(encoding="utf-8")


def schema():
    return Draft202012Validator(json.loads(evidence.SCHEMA.read_text(encoding="utf-8")))


def test_the_committed_cycles_are_whole_and_the_tables_are_theirs():
    records = evidence.read()
    schema().validate(records)
    assert {one["case"] for one in records} <= {*FAULTS, *MUTANTS}
    assert evidence.RECORDS.read_text(encoding="utf-8") == evidence.text_of(records)
    assert table.document(records) in evidence.DOCUMENT.read_text(encoding="utf-8")
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.picture(records)
    assert picture.WITH_BEATS.read_text(encoding="utf-8") == picture.picture(records, usual=True)


def test_cycles_are_added_to_those_that_are_there(tmp_path):
    path = tmp_path / "cycles.json"
    first = record(reasons=["C5, replica1: its server started"], complaint="/a/path")
    later = record(at="2026-11-23T00:00:00Z", judged=False, why="ssh -i=/a/key /a/b " * 99, seed=2)
    for name in ("verdict", "certificate", "confirmed"):
        later.pop(name)
    evidence.add([later], path)
    records = evidence.add([first, later], path)
    assert [one["seed"] for one in records] == [1, 2]
    assert records == evidence.read(path)
    assert records[0]["reasons"] == ["C5, replica1"]
    assert "complaint" not in records[0]
    assert records[1]["why"].startswith("ssh -i=PATH PATH ssh")
    schema().validate(records)


@pytest.mark.parametrize(
    "changes",
    [{"commit": "main"}, {"case": None}, {"verdict": "fine"}, {"why": "why"}, {"lost": None}],
)
def test_a_cycle_that_is_not_whole_is_seen(changes):
    one = evidence.kept(record())
    schema().validate([one])
    assert not schema().is_valid([{**one, **changes}])
