# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run ends with, seen from outside: real runs of ansible-playbook that judge captured
servers, without a configuration of ours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    closing_lines,
    kinds,
    listing,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    context,
    failover_outcome,
    switchover_outcome,
)
from ansible_collections.dbre.semisync.tests.unit import samples

PROJECT = Path(__file__).resolve().parents[2]
PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Judge
      dbre.semisync.semisync_verdict:
        info_from: info
        results_dir: {{ playbook_dir }}/results
"""
needed = pytest.mark.skipif(
    not shutil.which("ansible-playbook"), reason="there is no ansible-playbook"
)


def inventory(*clusters: str) -> dict[str, Any]:
    """Pairs of captured servers; one whose name begins with bad has a replica that is not read."""
    groups: dict[str, Any] = {"semisync_source": {"hosts": {}}, "semisync_replica": {"hosts": {}}}
    for name in clusters:
        for member, group in zip(samples.pair("mysql"), groups.values(), strict=True):
            unread = name.startswith("bad") and member.side == "replica"
            group["hosts"][f"{name}-{member.side}"] = {
                "semisync_cluster": name,
                "semisync_address": member.address,
                "info": {"msg": "no server answered", "failed": True} if unread else member.info,
            }
    return {"all": {"children": groups}}


def run(folder: Path, *clusters: str, check: bool = False, **environment: str) -> tuple[int, list]:
    """(exit status, the lines that were printed) of a playbook that judges these clusters."""
    (folder / "ansible_collections" / "dbre").mkdir(parents=True)
    (folder / "ansible_collections" / "dbre" / "semisync").symlink_to(PROJECT)
    (folder / "ansible.cfg").touch()
    (folder / "hosts.json").write_text(json.dumps(inventory(*clusters)))
    (folder / "play.yml").write_text(PLAY.replace("{{ playbook_dir }}", str(folder)))
    ended = subprocess.run(
        ["ansible-playbook", "-i", "hosts.json", "play.yml", *(["--check"] if check else [])],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(folder),
            "ANSIBLE_PYTHON_INTERPRETER": "auto_silent",
            **environment,
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in ended.stderr and "Exception" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stdout.splitlines()


@needed
def test_the_verdict_of_each_cluster_is_said_last_and_once(tmp_path):
    status, lines = run(
        tmp_path,
        "shop",
        "bad",
        ANSIBLE_CALLBACKS_ENABLED="dbre.semisync.semisync_health",
        NO_COLOR="1",
    )
    assert status == 2
    last = lines[next(n for n, line in enumerate(lines) if line.startswith("PLAY RECAP")) :]
    verdicts = [line for line in last if line.startswith("semi-sync: cluster")]
    assert [line.split(":")[1:3] for line in verdicts] == [
        [" cluster bad", " UNKNOWN"],
        [" cluster shop", " healthy"],
    ]
    assert lines[-1] == verdicts[-1] and lines[-2].startswith("  next: ")
    assert len([line for line in lines if line.startswith("semi-sync: cluster")]) == 2
    # One reason, and no JSON of what was judged.
    assert len([line for line in lines if "no server answered" in line]) <= 2
    assert max(map(len, lines)) < 1000


@needed
def test_a_run_that_only_looks_ends_with_its_verdict_too(tmp_path):
    status, lines = run(tmp_path, "shop", check=True)
    assert status == 0 and lines[-1].startswith("semi-sync: cluster shop: healthy: ")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(closing.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return tmp_path


def said(**verdicts: str) -> str:
    """The line of each cluster, as a run ends with it."""
    return "".join(f"semi-sync: cluster {name}: {it}\n" for name, it in verdicts.items())


def test_a_later_verdict_takes_the_place_of_an_earlier_one_about_the_same(folder):
    closing.leave("shop", "health", ["unknown"], False)
    closing.leave("shop", "drill", ["the drill passed"])
    closing.leave("shop", "health", ["healthy"])
    assert closing.text(closing.waiting()) == said(shop="the drill passed") + said(shop="healthy")


def test_the_next_command_is_said_once(folder):
    closing.leave("shop", "switchover", ["moved", "next: verify"])
    closing.leave("shop", "restart", ["restarted", "next: verify"])
    closing.leave("till", "restart", ["restarted", "next: site"])
    assert closing.text(closing.waiting()) == (
        said(shop="moved")
        + said(shop="restarted")
        + "  next: verify\n"
        + said(till="restarted")
        + "  next: site\n"
    )


def test_of_many_clusters_those_without_anything_to_do_are_counted(folder):
    for number in range(closing.MANY + 1):
        closing.leave(f"c{number}", "health", [f"c{number}"], number != 3)
    assert closing.text(closing.waiting()) == (said(c3="c3") + "semi-sync: 10 clusters: healthy\n")


def test_what_cannot_be_printed_changes_nothing(folder, monkeypatch):
    closing.leave("shop", "health", ["healthy"])
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as broken:
        monkeypatch.setattr(closing.sys, "stdout", broken)
        closing.close(os.getpid())
    # A stream that is closed.
    closing.close(os.getpid())


def test_a_worker_prints_nothing(folder, capfd):
    closing.leave("shop", "health", ["healthy"])
    closing.close(os.getpid() + 1)
    assert capfd.readouterr().out == ""
    closing.close(os.getpid())
    assert capfd.readouterr().out == said(shop="healthy")


def finding(name: str, host: str = "db1", severity: str = "critical") -> Any:
    """A finding as results have it."""
    texts = {"title": name, "evidence": "it was seen", "why": "", "source": "", "remedy": "repair"}
    return {"id": name, "host": host, "severity": severity, **texts}


PASSED = check.row("P0", "db1", "it runs", "Yes", "Yes", True)
FAILED = check.row("P3.4", "db1", "status is ON", "ON", "OFF", False)
UNSEEN = [
    check.unseen(point, "db2", "it runs", "Yes", "no server answered") for point in ("P0", "P4.1")
]


@pytest.mark.parametrize(
    "groups,playbook,words",
    [
        ({"shop": []}, "site", "ansible-playbook -i 'my hosts' dbre.semisync.site --limit shop"),
        ({}, "failover --check", "ansible-playbook -i 'my hosts' dbre.semisync.failover --check"),
    ],
)
def test_a_command_has_the_run_s_inventory_and_is_for_the_cluster_if_it_has_a_group(
    groups, playbook, words, monkeypatch
):
    monkeypatch.setattr(closing.context, "CLIARGS", {"inventory": ["my hosts"]})
    assert closing.command(groups, "shop", playbook) == words


@pytest.mark.parametrize(
    "rows,entries,step",
    [
        ([PASSED], [finding("no_tls", severity="warning")], ""),
        ([FAILED], [], "run site --check --diff"),
        ([FAILED], [finding("semisync_off")], "run site"),
        (
            [PASSED],
            [finding("held_takes_writes", "db1")],
            "run rejoin -e semisync_rejoin=db1 --check",
        ),
        (
            UNSEEN,
            [finding("source_not_read")],
            "run failover --check",
        ),
        ([FAILED], [finding("two_sources")], "docs/findings.md#two_sources"),
        ([PASSED, *UNSEEN], [], "have db2 read"),
    ],
)
def test_the_last_line_says_what_to_run_next(rows, entries, step):
    said = closing_lines.next_step(rows, entries, "run {}".format)
    assert step in said and bool(step) == bool(said)


def test_playbooks_are_named_for_findings_that_there_are():
    assert set(closing_lines.PLAYBOOKS) <= set(kinds.TABLE)
    playbooks = {name.partition(" ")[0] for name in closing_lines.PLAYBOOKS.values()}
    assert all((PROJECT / "playbooks" / f"{name}.yml").is_file() for name in playbooks)


def test_checkpoints_that_passed_are_counted_and_one_reason_is_said_once():
    lines = check.short_table([PASSED, FAILED, *UNSEEN], "shop", "/results/checkpoints.json")
    head, failed, unseen = lines.splitlines()
    assert head.endswith(
        "1 passed, 1 failed, 0 not applicable, 2 unknown; all of them: -v, or "
        "/results/checkpoints.json"
    )
    assert "P3.4" in failed and "P0, P4.1" in unseen and unseen.count("no server answered") == 1
    assert len(check.table([PASSED, FAILED], "shop").splitlines()) == 3


def test_a_finding_of_several_hosts_has_one_line():
    alike = [finding("not_read", host, "info") for host in ("db1", "db2")]
    _head, line = listing.table(alike, "shop").splitlines()
    assert "db1, db2" in line


def test_a_role_change_ends_with_what_became_of_it():
    record = {"from": "db1", "to": "db2", "reason": "", "writers_waited_ms": 112.4}
    lines, playbook = switchover_outcome.last_lines({**record, "outcome": "done"})
    assert lines == ["switchover from db1 to db2: done", "no server took writes for 112 ms"]
    assert playbook == "verify"
    assert switchover_outcome.last_lines({**record, "outcome": "unknown"})[1] == "switchover"


def test_a_failover_ends_with_its_verdict_or_with_why_it_was_refused():
    verdict = {"verdict": "proven", "window": None, "reasons": [], "pending": [], "assumes": []}
    kept = {"from": "db1", "to": "db2", "reason": "", "outcome": "done", **verdict}
    lines, playbook = failover_outcome.last_lines(kept)
    assert lines[1].startswith("VERDICT proven") and "db1 is held" in lines[2]
    assert playbook == "verify"
    alive = check.Case("source_answers", "the source is alive", "use switchover.yml")
    lines, playbook = failover_outcome.first_lines(kept, [alive])
    assert "the source is alive" in lines[0] and lines[1] == "do: use switchover.yml"
    assert playbook == "failover --check"
    assert failover_outcome.first_lines(kept, [])[1] == "failover"


@pytest.mark.parametrize(
    "playbook,given,words",
    [
        ("failover", {}, "failover"),
        ("failover", {"failover_salvage": True}, "failover -e semisync_failover_salvage=True"),
        (
            "failover --check",
            {"failover_to": "db3", "failover_accept": ["alone", "unread:db2"]},
            "failover --check -e semisync_failover_to=db3"
            " -e semisync_failover_accept=alone,unread:db2",
        ),
        (
            "rejoin",
            {"rejoin": "db1", "rejoin_way": "seed"},
            "rejoin -e semisync_rejoin=db1 -e semisync_rejoin_way=seed",
        ),
        (
            "rejoin",
            {"rejoin": "a host", "rejoin_way": "attach"},
            "rejoin -e 'semisync_rejoin=a host'",
        ),
        ("verify", {"failover_to": "db3"}, "verify"),
    ],
)
def test_the_next_run_has_the_options_of_this_one(playbook, given, words):
    assert context.again(playbook, settings.Settings(given)) == words
