# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role upgrade looks at when the server responds again, before the next one's turn."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

jinja2 = pytest.importorskip("jinja2")

PATH = Path(__file__).resolve().parents[3] / "roles" / "upgrade" / "tasks" / "host.yml"
TASKS = {task["name"]: task for task in yaml.safe_load(PATH.read_text(encoding="utf-8"))}


def holds(name, **variables):
    """Whether a task's condition does."""
    condition = TASKS[name]["ansible.builtin.assert"]["that"]
    return jinja2.Environment(autoescape=True).compile_expression(condition)(**variables)


def read(version="11.8.6", **variables):
    return {"version": version, "variables": variables}


@pytest.mark.parametrize(
    "version,to,there",
    [("11.8.6", "11.8", True), ("11.80.1", "11.8", False), ("8.4.6", "8.4.6", True)],
)
def test_the_version_is_seen(version, to, there):
    found = holds("See its version", __semisync_upgrade_info=read(version), semisync_upgrade_to=to)
    assert found is there


@pytest.mark.parametrize(
    "begin,before,after,good",
    [
        ("ON", read(read_only="ON"), "ON", True),
        # Its line was in the group [mariadb-10.11], which 11.8 does not read.
        ("ON", read(read_only="ON"), "OFF", False),
        ("NO_LOCK", read(read_only="NO_LOCK"), "OFF", False),
        # A run that goes on finds it so.
        ("ON", read(read_only="OFF"), "OFF", False),
        ("ON", {"failed": True}, "OFF", False),
        # A former source has been read-only since the role moved.
        ("OFF", read(read_only="ON"), "OFF", False),
        # A replica that took writes before.
        ("OFF", read(read_only="OFF"), "OFF", True),
        ("OFF", {"failed": True}, "OFF", True),
    ],
)
def test_a_replica_takes_no_writes_with_the_new_version_either(begin, before, after, good):
    found = holds(
        "See that it takes no writes",
        __semisync_upgrade_info=read(read_only=after),
        __semisync_info=before,
        __semisync_restart={"read_only": begin},
    )
    assert bool(found) is good
