# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is the source, by tables: what each server says, and what follows from it."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import current_source


def channel(of, running="Yes", known=True, uuids=True):
    """A channel that follows the server db<of>."""
    return {
        "source_host": f"db{of}",
        "source_port": 3306,
        "source_uuid": f"uuid{of}" if uuids and known else None,
        "source_server_id": 100 + of if known else 0,
        "io_running": running,
        "sql_running": running,
    }


def follows_channel(words, uuids):
    """The channel of a server whose word is >N, >N! or >N?; None for one without."""
    if not words:
        return None
    return channel(int(words[0]), "No" if words[1:] else "Yes", words[1:] != "?", uuids)


def row(number, to, before, state="done", operation="switchover", run="r"):
    """A row of the journal: from db<before> to db<to>."""
    return {
        "number": number,
        "operation": operation,
        "run": run,
        "state": state,
        "from_host": f"db{before}",
        "to_host": f"db{to}",
        "from_id": f"uuid{before}",
        "to_id": f"uuid{to}",
        "happened": "2026-11-22T10:00:00Z",
    }


def cluster(*said, uuids=True):
    """Members db1, db2, …; the first is the inventory's source.

    Args:
        said: of each: None (unread), or a text of words: ro (read-only), >N follows dbN, >N! with a
            channel that stands still, >N? with one that never ran; or such a text and its row of
            the journal.
    """
    members = []
    for number, words in enumerate(said, start=1):
        words, journal = words if isinstance(words, tuple) else (words, None)
        info = None
        if words is not None:
            follows = next((word[1:] for word in words.split() if word.startswith(">")), "")
            info = {
                "variables": {
                    "server_uuid": f"uuid{number}" if uuids else None,
                    "server_id": str(100 + number),
                    "port": "3306",
                    "read_only": "ON" if "ro" in words.split() else "OFF",
                },
                "channel": follows_channel(follows, uuids),
                "journal": journal,
            }
        members.append(Member(f"db{number}", "source" if number == 1 else "replica", info))
    return members


@pytest.mark.parametrize("uuids", [True, False], ids=["server_uuid", "server_id"])
@pytest.mark.parametrize(
    "said,source",
    [
        pytest.param(("", ""), "db1", id="nothing replicates: the groups"),
        pytest.param(("", "", None), "db1", id="one could not be read"),
        pytest.param(("", "ro >1"), "db1", id="a pair"),
        pytest.param(("", ">1"), "db1", id="a replica that applications write to"),
        pytest.param(("", "ro >1!"), "db1", id="a pair whose channel stands still"),
        pytest.param(("", "ro >1?"), "db1", id="a channel that never ran"),
        pytest.param(("", "ro >1", ""), "db1", id="a replica that is new"),
        pytest.param(("ro", "ro >1"), "db1", id="a source that waits to be opened"),
        pytest.param(("ro >2", ""), "db2", id="a pair after a change of roles"),
        pytest.param(("ro >2", "", "ro >2"), "db2", id="three after a change of roles"),
        pytest.param(("ro >3", "ro >3", ""), "db3", id="the third is the source"),
        pytest.param(("ro >2", ">1!"), "db2", id="what is left of the channel of a promoted"),
        pytest.param((">9", "ro >1"), "db1", id="a source that follows somebody outside"),
        pytest.param(("", "ro >9"), "db1", id="a replica that follows somebody outside"),
        pytest.param(("", "ro >1", "ro >2"), "db1", id="a replica of a replica"),
        pytest.param((None, "ro >1"), "db1", id="the source is dead"),
        pytest.param((None, "ro >1", "ro >1"), "db1", id="the source of two is dead"),
        pytest.param(("ro >2", None, "ro >2"), "db2", id="the source after a change is dead"),
        pytest.param(("ro >2", None), "db2", id="of a pair, too"),
        pytest.param(("", None), "db1", id="the replica is dead"),
        pytest.param((None, None), "db1", id="all are dead"),
    ],
)
def test_the_source_is_whom_the_others_follow(said, source, uuids):
    decided = current_source.decide(cluster(*said, uuids=uuids))
    assert decided == current_source.CurrentSource(source, source != "db1", [])


MOVED = row(2, 2, 1)


@pytest.mark.parametrize(
    "said,source",
    [
        pytest.param((("ro >2", MOVED), ("", MOVED)), "db2", id="a pair after a switchover"),
        pytest.param((("ro >2", None), ("", MOVED)), "db2", id="its row has not arrived yet"),
        pytest.param((None, ("", MOVED)), "db2", id="the former source is dead"),
        pytest.param((("ro >2", MOVED), None), "db2", id="the new source is dead"),
        pytest.param((None, ("", MOVED), ""), "db2", id="nobody follows it yet"),
        pytest.param(
            (("", row(4, 1, 2)), ("ro >1", row(4, 1, 2))), "db1", id="and back where it began"
        ),
        pytest.param(
            (("", row(3, 2, 1, "undone")), ("ro >1", row(2, 2, 1, "begun"))),
            "db1",
            id="one that was taken back",
        ),
        pytest.param(
            (("ro >2", row(3, 2, 1, operation="rejoin")), ("", row(3, 2, 1, operation="rejoin"))),
            "db2",
            id="a former source came back",
        ),
        pytest.param((("", row(2, 8, 9)), "ro >1"), "db1", id="another cluster's journal"),
        pytest.param(
            (("", dict(MOVED, to_id="theirs")), "ro >1"), "db1", id="another cluster's, same names"
        ),
        pytest.param((None, ("", MOVED), "ro >1"), "db2", id="one follows the dead source still"),
    ],
)
def test_the_journal_names_the_source(said, source):
    decided = current_source.decide(cluster(*said))
    # The last one is a contradiction, which the next test is about.
    assert (decided.source, decided.outdated, decided.interrupted) == (source, source != "db1", "")


@pytest.mark.parametrize(
    "said,source,words",
    [
        pytest.param(
            ("", "", "ro >2"),
            "db2",
            ["db1 and db2 take writes", "db3 follows it", "db1: the inventory's group"],
            id="the old source came back and takes writes",
        ),
        pytest.param(
            ("ro", "", "ro >2"),
            "db2",
            ["not clear", "db1: the inventory's group", "read-only, it follows no source"],
            id="the old source came back and follows nobody",
        ),
        pytest.param(
            ("", ("", MOVED)),
            "db2",
            ["db1 and db2 take writes", "the journal names it (switchover from db1 to db2 done"],
            id="a pair after a failover, both take writes",
        ),
        pytest.param(
            (("", MOVED), ("ro >1", MOVED)),
            "db1",
            ["not clear", "db2 follows it", "the journal names it"],
            id="roles were moved back by hand",
        ),
        pytest.param(
            ("", "ro >1", "ro >4", ""),
            "db1",
            ["db1 and db4 take writes", "db2 follows it", "db3 follows it"],
            id="replicas of two sources",
        ),
        pytest.param(("ro >2", "ro >1"), "db1", ["db1 and db2 follow each other"], id="a ring"),
        pytest.param(
            ("ro >2", "ro >3", "ro >1"),
            "db1",
            ["db1 and db2 and db3 follow each other"],
            id="a ring of three",
        ),
        pytest.param(
            (("", row(3, 1, 2, run="a")), ("", row(3, 2, 1, run="b"))),
            "db1",
            ["journals differ in row 3", "take writes"],
            id="each side has its own journal",
        ),
        pytest.param(
            (None, ("", MOVED), "ro >1"),
            "db2",
            ["not clear", "db1: db3 follows it", "could not be read"],
            id="one follows the dead source still",
        ),
        pytest.param(
            ("", (None), ("", row(4, 3, 2))),
            "db3",
            ["db1 and db3 take writes"],
            id="the journal is about others",
        ),
    ],
)
def test_contradictions_name_who_claims_what(said, source, words):
    decided = current_source.decide(cluster(*said))
    assert decided.source == source
    assert decided.problems
    for part in words:
        assert part in "; ".join(decided.problems)


@pytest.mark.parametrize(
    "said,source",
    [
        pytest.param((("", row(2, 2, 1, "begun")), "ro >1"), "db1", id="nothing has moved"),
        pytest.param((("ro", row(2, 2, 1, "begun")), "ro >1"), "db1", id="frozen"),
        pytest.param(
            (("ro", row(2, 2, 1, "begun")), (">1!", row(2, 2, 1, "begun"))),
            "db2",
            id="the target is open",
        ),
        pytest.param(
            (("ro >2", row(2, 2, 1, "begun")), (">1!", row(2, 2, 1, "begun"))),
            "db2",
            id="the target is open and followed",
        ),
        pytest.param(
            (("ro >2", row(2, 2, 1, "begun")), ("ro >1!", row(2, 2, 1, "begun"))),
            "db1",
            id="attached and not open",
        ),
    ],
)
def test_an_interrupted_operation_is_said(said, source):
    decided = current_source.decide(cluster(*said))
    assert decided.source == source
    assert decided.interrupted == (
        "a switchover from db1 to db2 began at 2026-11-22T10:00:00Z and is neither done nor undone"
    )


@pytest.mark.parametrize(
    "said,line",
    [
        (("", "ro >1"), ""),
        (
            ("ro >2", ""),
            "The inventory's groups are out of date: db2 is the source of cluster shop",
        ),
        (
            (("ro >2", MOVED), ("", MOVED)),
            "The inventory's groups are out of date: db2 is the source of cluster shop since"
            " 2026-11-22T10:00:00Z (switchover)",
        ),
        (("", ("", MOVED)), ""),
    ],
)
def test_the_groups_are_said_to_be_out_of_date(said, line):
    assert current_source.announcement("shop", current_source.decide(cluster(*said))) == line


def test_a_host_in_both_groups_is_decided_once():
    members = cluster("", "ro >1")
    members.append(Member("db1", "replica", members[0].info))
    assert current_source.decide(members).source == "db1"
