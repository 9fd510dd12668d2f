"""A server that dies in the middle of a playbook: which one, and that it died, is what the run
says; no other host is blamed; and with the server back the same command ends well.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, forbid_restart
from support.killed import listening, places
from support.live_hosts import Host, hosts, inventory, playbook
from support.runs import Run

pytestmark = pytest.mark.long

CONSENT = {"semisync_allow_disruption": True}
SUITE = """
title: One cell
repetitions: 1
warm_up: false
time_limit: 60
load: {tool: client, seconds: 6, create: CREATE TABLE t (v INT), query: INSERT INTO t VALUES (1)}
cells:
  - {id: async, replication: async}
  - {id: semisync, replication: semisync, baseline: async}
"""
PLAYBOOKS = ("site", "verify", "rotate", "benchmark", "drill", "remove")
# How many of a playbook's tasks a server dies after, spread over all of them.
COUNT = 4
# Tasks behind which no server is asked any more.
OWN = (
    "Close the run",
    "Report",
    "Decide P6 and P7",
    "Make the report",
    "Read the server back",
    "Assert that nothing of ours is left and replication goes on",
)
# site.yml gives them something to do again.
UNDONE_BY_SITE = ("remove",)
DIED = re.compile(
    r"the server is not running|was not running|Can't connect|Lost connection|gone away"
)


class Pair:
    """Two hosts whose servers stay dead, and what each playbook is asked to do."""

    def __init__(self, made: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder = dict(zip(("source", "replica"), made, strict=True)), folder
        for host in made:
            forbid_restart(host)
        self.turn = 0
        (folder / "one.yml").write_text(SUITE)
        self.file = inventory(folder, {made[0]: {}}, {made[1]: {}})
        self.play("site")

    def wanted(self, name: str) -> dict[str, Any]:
        """What gives a playbook something to do that it has not done yet."""
        self.turn += 1
        asked: dict[str, dict[str, Any]] = {
            "site": {"semisync_timeout": 11000 + self.turn},
            "rotate": {"semisync_replication_password": f"the {self.turn}. one"},
            "drill": CONSENT,
            "benchmark": {**CONSENT, "semisync_suite": str(self.folder / "one.yml")},
        }
        return asked.get(name, {})

    def start(self, name: str, wanted: dict[str, Any], **environment: str) -> Run:
        return Run(playbook(name, self.file, "-e", json.dumps(wanted), **environment))

    def play(self, name: str, wanted: dict[str, Any] | None = None) -> Run:
        run = self.start(name, wanted or {})
        assert run.status == 0, run.text
        return run


def asked(tasks: list[Any]) -> list[Any]:
    """Tasks of a drill behind which its replica's server has to run, and is looked at."""
    stop, start, last = (
        next(turn for turn, task in enumerate(tasks) if task[1].endswith(name))
        for name in (
            "Stop the replica's server",
            "Start the replica's server",
            "Start it, and stop the timer",
        )
    )
    return tasks[:stop] + tasks[start:last]


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def pair(request, tmp_path_factory):
    wanted = ((side, request.param, RELEASES[request.param]) for side in ("source", "replica"))
    for made in hosts(*wanted, turn=f"live-died-{request.param}"):
        yield Pair(made, tmp_path_factory.mktemp("died"))


@pytest.mark.parametrize("side", ["source", "replica"])
@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_server_that_dies_is_named_and_nobody_else(pair, name, side, tmp_path):
    dead = pair.hosts[side]
    other = next(host for host in pair.hosts.values() if host is not dead)
    whole = pair.start(name, pair.wanted(name), **listening(0, tmp_path / "tasks"))
    assert whole.status == 0, whole.text
    if name in UNDONE_BY_SITE:
        pair.play("site")
    found = places(tmp_path / "tasks", 0, 1)
    needed = [task for task in found if not task[1].endswith(OWN)]
    if (name, side) == ("drill", "replica"):
        needed = asked(needed)
    for number, task in needed[1 :: len(needed) // COUNT]:
        wanted = pair.wanted(name)
        try:
            run = pair.start(
                name,
                wanted,
                **listening(number),
                SEMISYNC_KILL_COMMAND=f"docker exec {dead.name} systemctl kill --signal=KILL"
                f" {UNITS[dead.server]}.service",
            )
        finally:
            # Whatever comes of this one, the next finds both.
            dead.shell(f"systemctl start {UNITS[dead.server]}")
            dead.wait()
        where = f"after {number} ({task})"
        assert run.status != 0, f"{where}: {run.text}"
        about = [line for line in run.lines if dead.name in line and DIED.search(line)]
        assert about, f"{where}: {run.text}"
        # A drill breaks off with what it saw, and says why when it has started the replica again.
        for text in run.said.get(other.name, [])[-1 if name == "drill" else 0 :]:
            assert dead.name in text, f"{where}: {text}"
        pair.play(name, wanted)
        if name in UNDONE_BY_SITE:
            pair.play("site")
    # As the inventory has it.
    if name == "rotate":
        pair.play("rotate")
    pair.play("site")
    pair.play("verify")
