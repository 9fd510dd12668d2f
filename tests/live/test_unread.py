"""What every playbook says of a server that it could not read: which host, why, and nothing is
changed. Each trouble, on the source and on the replica, is a cluster of its own, and a playbook's
run takes all of them.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.acknowledged import RELEASES
from support.live_hosts import Host, hosts, inventory, playbook
from support.runs import Run
from support.troubles import BROUGHT, GIVEN, NOWHERE_TO_READ, POOR, READER, TROUBLES, look, position

SIDES = ("source", "replica")
CONSENT = ("-e", "semisync_allow_disruption=true")
# A pair of hosts for each, and each side; some of them where all are too many for a machine.
CHOSEN = os.environ.get("SEMISYNC_TROUBLES", " ".join(BROUGHT)).split()
# How each is called: as a user would, failover only as far as it looks.
PLAYBOOKS: dict[str, tuple[str, ...]] = {
    "site": (),
    "verify": (),
    "rotate": (),
    "gtid": (),
    "remove": (),
    "candidate": (),
    "switchover": (),
    "failover": ("--check",),
    "procedure": CONSENT,
    "benchmark": CONSENT,
    "drill": CONSENT,
}
# What make live has; the others decide by the same reading.
SHORT = ("site", "verify", "candidate", "failover")
SOME = [
    pytest.param(name, marks=[] if name in SHORT else pytest.mark.long, id=name)
    for name in PLAYBOOKS
]
# Refuse more than one cluster.
ONE_BY_ONE = ("drill",)
# Write a row to see it acknowledged.
WRITE_A_ROW = ("verify", "drill")
# No trouble of the source's for candidate.yml, nor what no option file says.
FINE = {("candidate", "source"), ("candidate", "no-option-files")}
# A source in any other trouble answers its replica, for whose failover it lives.
OF_A_SOURCE = {"stopped": "alone: 0 replicas could acknowledge", "silent": "source_unclear"}
# A replica whose option files are not known may be compared; then its source lives.
UNASKED = ("failover", "no-option-files", "replica")
NUMBERS = re.compile(r"^[0-9 ]+\n", re.MULTILINE)
MANY = {"ANSIBLE_FORKS": "20", "ANSIBLE_CALLBACKS_ENABLED": "dbre.semisync.semisync_health"}


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A pair, one host of which is in trouble."""

    trouble: str
    side: str
    servers: dict[str, Host]

    @property
    def name(self) -> str:
        return f"{self.trouble}-{self.side}"

    def host(self, side: str) -> str:
        return f"{self.name}-{side}"

    def variables(self, side: str) -> dict[str, Any]:
        mine = TROUBLES[self.trouble].variables if side == self.side else {}
        return {
            "ansible_host": self.servers[side].name,
            "semisync_address": self.servers[side].name,
            "semisync_cluster": self.name,
            "semisync_switchover_to": self.host("replica"),
            **mine,
        }


@dataclasses.dataclass(frozen=True)
class Alias:
    """A name of a server in the inventory."""

    name: str


class Ground:
    """Pairs in trouble, and the runs on them, each done once."""

    def __init__(self, clusters: list[Cluster], folder: pathlib.Path) -> None:
        self.clusters, self.folder = clusters, folder
        self.runs: dict[str, dict[str, Run]] = {}
        self.changed: dict[str, dict[str, tuple[Any, Any]]] = {}
        self.checkpoints: dict[str, Any] = {}
        self.well: dict[str, str] = {}
        self.file = inventory(
            folder,
            *({Alias(one.host(side)): one.variables(side) for one in clusters} for side in SIDES),
        )

    def state(self) -> dict[str, tuple[str, str]]:
        servers = {host.name: host for one in self.clusters for host in one.servers.values()}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            found = pool.map(lambda host: (look(host), position(host)), servers.values())
            return dict(zip(servers, found, strict=True))

    def run(self, name: str) -> dict[str, Run]:
        """cluster -> the run that it was in."""
        if name not in self.runs:
            before = self.state()
            if name in ONE_BY_ONE:
                with concurrent.futures.ThreadPoolExecutor(3) as pool:
                    made = pool.map(lambda one: self.play(name, f"*{one.name}-*"), self.clusters)
                    self.runs[name] = {
                        one.name: run for one, run in zip(self.clusters, made, strict=True)
                    }
            else:
                self.runs[name] = dict.fromkeys(
                    [one.name for one in self.clusters], self.play(name)
                )
            if name == "verify":
                for one in self.clusters:
                    kept = self.folder / "results" / one.name / "latest" / "checkpoints.json"
                    self.checkpoints[one.name] = json.loads(kept.read_text())
            after = self.state()
            self.changed[name] = {host: (before[host], after[host]) for host in before}
        return self.runs[name]

    def play(self, name: str, limit: str = "all") -> Run:
        arguments = (
            [*PLAYBOOKS[name], "--limit", f"{limit},localhost"]
            if limit != "all"
            else PLAYBOOKS[name]
        )
        run = Run(playbook(name, self.file, *arguments, **MANY))
        (self.folder / f"{name}-{limit.strip('*-')}.log").write_text(run.text)
        return run

    def bring(self) -> None:
        self.well = {name: found[0] for name, found in self.state().items()}
        for one in self.clusters:
            TROUBLES[one.trouble].bring(one.servers[one.side])

    def mend(self) -> None:
        for one in self.clusters:
            TROUBLES[one.trouble].mend(one.servers[one.side])


def pairs(server: str, troubles: list[str], shared: bool, folder: pathlib.Path) -> Iterator[Ground]:
    """Pairs that replicate, each then brought into its trouble; one for all if it is not the
    servers that are in trouble.
    """
    wanted = ["well"] if shared else [f"{trouble}-{side}" for trouble in troubles for side in SIDES]
    names = [f"{pair}-{side}" for pair in wanted for side in SIDES]
    wanted_hosts = ((name, server, RELEASES[server]) for name in names)
    for made in hosts(*wanted_hosts, turn=f"live-unread-{server if shared else 'more'}"):
        by_name = dict(zip(names, made, strict=True))
        served = {pair: {side: by_name[f"{pair}-{side}"] for side in SIDES} for pair in wanted}
        clusters = [
            Cluster(trouble, side, served["well" if shared else f"{trouble}-{side}"])
            for trouble in troubles
            for side in SIDES
        ]
        (folder / "made").mkdir()
        first = inventory(
            folder / "made",
            *(
                {served[pair][side]: {"semisync_cluster": pair} for pair in wanted}
                for side in SIDES
            ),
            semisync_results_dir=str(folder / "results"),
        )
        # A failover is judged by the last look at its source.
        for name in ("site", "verify"):
            done = playbook(name, first, **MANY)
            assert done.returncode == 0, done.stdout + done.stderr
        for pair in served.values():
            pair["source"].sql(
                f"CREATE USER {READER}@localhost IDENTIFIED BY '{POOR['semisync_login_password']}'"
            )
        ground = Ground(clusters, folder)
        ground.bring()
        yield ground


BOTH = ["mariadb", pytest.param("mysql", marks=pytest.mark.long)]


@pytest.fixture(scope="module", params=BOTH)
def given(request, tmp_path_factory):
    yield from pairs(request.param, list(GIVEN), True, tmp_path_factory.mktemp("given"))


@pytest.fixture(scope="module")
def brought(tmp_path_factory):
    yield from pairs("mariadb", CHOSEN, False, tmp_path_factory.mktemp("brought"))


def words_of(name: str, trouble: str, side: str) -> str:
    """How a playbook tells of a trouble."""
    if name == "failover" and side == "source":
        return OF_A_SOURCE.get(trouble, "source_answers")
    if (name, trouble) == ("failover", "stopped"):
        # It does not say to start it, as the others do.
        return "its server does not run"
    if (name in WRITE_A_ROW, trouble) == (True, "no-option-files"):
        # They judge nothing by it, and say what the server's own program said.
        return f"Can't read dir of '{NOWHERE_TO_READ}'"
    return TROUBLES[trouble].cause


def judge(ground: Ground, name: str, trouble: str, side: str) -> None:
    """What a run said of one cluster, and what became of its hosts."""
    (one,) = [made for made in ground.clusters if made.name == f"{trouble}-{side}"]
    run, cause, troubled = ground.run(name)[one.name], words_of(name, trouble, side), one.host(side)
    its = [one.host(other) for other in SIDES]
    said = {host: run.said.get(host, []) for host in its}
    refused = any(run.counted[host]["failed"] for host in its)
    assert refused is ((name, side) not in FINE and (name, trouble) not in FINE), said
    assert f"semi-sync: cluster {one.name}: healthy" not in run.text
    assert trouble not in GIVEN or "VERDICT proven" not in run.text
    if not refused or (name, trouble, side) == UNASKED:
        cause = troubled = ""
    else:
        assert run.status != 0
        about = [line for line in run.lines if troubled in line and cause in line]
        assert about, (cause, said)
    for text in said[one.host(other_side(side))]:
        # No other host is blamed.
        assert troubled in text or "Refused with the rest of its cluster" in text, text
    if name not in WRITE_A_ROW:
        assert [run.counted[host]["changed"] for host in its] == [0, 0]
    for host in one.servers.values():
        (before, at), (after, then) = ground.changed[name][host.name]
        assert after == before and (at == then or name in WRITE_A_ROW)


def other_side(side: str) -> str:
    return SIDES[1 - SIDES.index(side)]


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("trouble", GIVEN)
def test_what_the_inventory_has_wrong(given, name, trouble, side):
    judge(given, name, trouble, side)


@pytest.mark.long
@pytest.mark.parametrize("name", PLAYBOOKS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("trouble", CHOSEN)
def test_a_server_in_trouble(brought, name, trouble, side):
    judge(brought, name, trouble, side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("trouble", GIVEN)
def test_nothing_of_a_host_that_was_not_read_has_passed(given, trouble, side):
    nothing_passed(given, trouble, side)


@pytest.mark.long
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("trouble", CHOSEN)
def test_nothing_of_a_server_in_trouble_has_passed(brought, trouble, side):
    nothing_passed(brought, trouble, side)


def nothing_passed(ground: Ground, trouble: str, side: str) -> None:
    """What verify.yml kept of a host in trouble, and of the other one, which is well."""
    name = f"{trouble}-{side}"
    ground.run("verify")
    rows = ground.checkpoints[name]
    mine = {row["id"]: row["outcome"] for row in rows if row["host"] == f"{name}-{side}"}
    others = [row["outcome"] for row in rows if row["host"] != f"{name}-{side}"]
    # These were recorded in their time, or were not.
    for once in ("P2.1", "P3.5"):
        kept = mine.pop(once, "unknown")
        assert kept in ("unknown", "not_applicable") or trouble == "no-option-files"
    if trouble == "no-option-files":
        point = "P3.2" if side == "source" else "P4.2"
        assert [point] == [key for key, outcome in mine.items() if outcome == "unknown"]
    else:
        assert mine == dict.fromkeys(mine, "unknown")
    assert "passed" in others


@pytest.mark.long
def test_the_servers_are_as_they_were_once_they_are_mended(brought):
    """After all the tests above; the one that was stopped has a process of another number."""
    brought.mend()
    after = brought.state()
    for name, before in brought.well.items():
        assert NUMBERS.sub("", after[name][0]).split() == NUMBERS.sub("", before).split(), name
