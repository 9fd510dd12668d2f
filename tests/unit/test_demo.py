# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make demo` would do, as make itself says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PROCEDURE, STORY = "playbooks/procedure.yml", "tests/tools/story.py --kind docker --rate 50"
STEPS = re.compile(
    r"lab (?:up|down) --kind \w+|--replicas \d|--limit \S+|"
    rf"{re.escape(PROCEDURE)}|{re.escape(STORY)}"
)

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


def steps(*choice: str) -> list[str]:
    """The commands of a demo on Docker, in their order; nothing is run."""
    # A make that runs the tests would hand its own choices down.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "STORY", "RATE")
    }
    said = subprocess.run(
        ["make", "--dry-run", "demo", "LAB=docker", *choice],
        cwd=PROJECT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    commands = [line for line in said.splitlines() if "$(MAKE)" not in line and "kind=" not in line]
    return STEPS.findall("\n".join(commands))


def test_the_demo_ends_with_the_night_that_it_is_for():
    assert steps() == [
        "lab down --kind docker",
        "lab up --kind docker",
        "--replicas 2",
        "--limit source:replica1",
        PROCEDURE,
        STORY,
    ]


def test_the_procedure_alone_keeps_the_hosts_that_are_there():
    assert steps("STORY=0") == ["lab up --kind docker", "--replicas 1", PROCEDURE]
