"""The short form of `make protocol`: whatever dies, some playbook leads out; and a search that
could not find the opposite would be worth nothing.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# A process of its own: it puts another clock into the parts.
PATHS = (".config/collections", "lab", "tests")


def search(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, PYTHONPATH=":".join(str(PROJECT / path) for path in PATHS))
    command = [sys.executable, "-m", "model.protocol_search", "--short", *arguments]
    return subprocess.run(
        command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False
    )


def test_from_every_state_a_playbook_leads_out():
    # `make test` has four times as much, by `make protocol SHORT=1`.
    done = search("--every", "12")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not looked at" not in done.stdout
    assert "led out by failover.yml" in done.stdout, done.stdout
    # What is called proven is: with no such certificate this would say nothing.
    assert re.search(r"[1-9]\d* certificates that said proven", done.stdout), done.stdout


def test_where_no_playbook_leads_out_it_is_found():
    done = search("--every", "12", "--mutant", "by_the_row_alone")
    assert done.returncode == 1 and "DEAD END" in done.stdout, done.stdout + done.stderr
