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
from ansible_collections.dbre.semisync.plugins.plugin_utils import closing
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


def test_a_later_verdict_takes_the_place_of_an_earlier_one_about_the_same(folder):
    closing.leave("shop", "health", ["unknown"], False)
    closing.leave("shop", "drill", ["the drill passed"])
    closing.leave("shop", "health", ["healthy"])
    assert closing.text(closing.waiting()) == "the drill passed\nhealthy\n"


def test_of_many_clusters_those_without_anything_to_do_are_counted(folder):
    for number in range(closing.MANY + 1):
        closing.leave(f"c{number}", "health", [f"c{number}"], number != 3)
    assert closing.text(closing.waiting()) == "c3\nsemi-sync: 10 clusters: healthy\n"


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
    assert capfd.readouterr().out == "healthy\n"
