"""Break each checkpoint on the running pair: verify.yml must name exactly it, and site.yml must
mend it. A case breaks one thing, or one on each host whose checkpoints have nothing in common.
"""

from typing import NamedTuple

import pytest

from support.eventually import eventually
from support.scenario import FAILED_BEFORE, checkpoints, playbook


class Break(NamedTuple):
    """What is done, and the identifiers that must fail then."""

    title: str
    steps: tuple
    failed: tuple
    # Points that fail or not, as the moment has it; each with its reason below.
    either: tuple = ()
    plugins_only: bool = False


def on(host, statement):
    """A step: a statement in this host's own client."""
    return (host, lambda server: server.sql(statement.format(**server.words)))


def without(host, option):
    """A step: this host's option file loses a line."""

    def remove(server):
        pattern = option.format(**server.words)
        files = server.host.check_output("grep -rl %s /etc/mysql", pattern).split()
        server.host.check_output("sed -i /%s/d %s", pattern, files[0])

    return (host, remove)


def until_nobody_listens(host):
    """A step: a source that notices, by sending, that its replica has left."""

    def send(server):
        server.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")
        return server.status("clients") == "0"

    return (host, lambda server: eventually(lambda: send(server), "the source counts no client"))


BREAKS = [
    Break(
        "semi-sync off on the source, option line gone on the replica",
        (
            on("source", "SET GLOBAL rpl_semi_sync_{source}_enabled = OFF"),
            without("replica", "rpl_semi_sync_{replica}_enabled"),
        ),
        ("P3.3", "P3.4", "P5.2", "P4.2"),
    ),
    Break(
        "semi-sync off on the replica",
        (
            on("replica", "SET GLOBAL rpl_semi_sync_{replica}_enabled = OFF"),
            on("replica", "STOP {channel} IO_THREAD"),
            on("replica", "START {channel} IO_THREAD"),
        ),
        ("P3.4", "P4.3", "P4.4", "P5.1", "P5.2"),
    ),
    Break(
        "plugin gone on the source",
        # The server keeps it as long as a semi-sync replica is connected.
        (
            on("replica", "STOP {channel} IO_THREAD"),
            until_nobody_listens("source"),
            on("source", "UNINSTALL PLUGIN rpl_semi_sync_{source}"),
            on("replica", "START {channel} IO_THREAD"),
        ),
        ("P3.1", "P3.3", "P3.4", "P4.4", "P5.1", "P5.2"),
        plugins_only=True,
    ),
    Break(
        "plugin gone on the replica",
        (
            on("replica", "STOP {channel} IO_THREAD"),
            on("replica", "UNINSTALL PLUGIN rpl_semi_sync_{replica}"),
            on("replica", "START {channel} IO_THREAD"),
        ),
        ("P3.4", "P4.1", "P4.3", "P4.4", "P5.1", "P5.2"),
        plugins_only=True,
    ),
    Break(
        "option line gone on the source, SQL thread stopped on the replica",
        (
            without("source", "rpl_semi_sync_{source}_enabled"),
            on("replica", "STOP {channel} SQL_THREAD"),
        ),
        ("P0", "P1.2", "P3.2"),
    ),
    Break(
        "IO thread stopped",
        (on("replica", "STOP {channel} IO_THREAD"),),
        ("P0", "P1.2", "P3.4", "P4.4", "P5.2"),
        # A source notices only when it sends that nobody listens any more, and may count the
        # replica until then.
        either=("P5.1",),
    ),
]
# P0 and P1.2 are points of the replica here, the others of the side they are named for.
HOST_OF = {"P0": "replica", "P1": "replica", "P3": "source", "P4": "replica", "P5": "source"}


@pytest.fixture
def whole(request):
    """A pair that works, also where a test before left it broken."""
    if request.session.stash.get(FAILED_BEFORE, False):
        playbook("site")
        request.session.stash[FAILED_BEFORE] = False


@pytest.mark.parametrize("case", BREAKS, ids=[case.title.replace(" ", "_") for case in BREAKS])
def test_break_and_mend(case, source, replica, words, whole):
    if case.plugins_only and not words["plugins"]:
        pytest.skip("semi-sync is built in")
    hosts = {"source": source, "replica": replica}
    for host, step in case.steps:
        step(hosts[host])

    assert playbook("verify") != 0
    failed = [row for row in checkpoints() if row["outcome"] == "failed"]
    assert sorted({row["id"] for row in failed} - set(case.either)) == sorted(case.failed)
    for row in failed:
        assert row["host"] == hosts[HOST_OF[row["id"].partition(".")[0]]].name
        assert row["expected"] and row["observed"]

    # It changed something, so it ends with a canary row and all checkpoints.
    assert playbook("site") == 0
    assert [row for row in checkpoints() if row["outcome"] == "failed"] == []
