# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a former source is now is what its next start makes of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    cleanup,
    next_start,
    read_only_dropin,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    plan as plans,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, MARIADB = Names("mysql", (9, 7, 4)), Names("mariadb", (11, 8))
# What a fence itself makes the reader print.
FENCE = (
    "--read_only=ON --loose_super_read_only=ON --event_scheduler=OFF --loose_skip_slave_start=ON"
    " --loose_skip_replica_start=ON"
)
OPEN = "SET GLOBAL super_read_only = 0"
SCHEDULER = "SET GLOBAL event_scheduler = 1"


class Server:
    """A server with two variables, and with what SET PERSIST wrote there."""

    def __init__(
        self, strict: int = 1, scheduler: str = "OFF", persisted: dict[str, str] | None = None
    ) -> None:
        self.strict, self.scheduler, self.kept = strict, scheduler, persisted or {}
        self.told: list[str] = []
        self.failing = ""

    def rows(self, statement: str, _arguments: object = None) -> list[dict[str, object]]:
        if self.failing and self.failing in statement:
            raise KeyboardInterrupt
        if "SELECT" not in statement:
            self.told.append(statement)
            return []
        value: object = self.scheduler if "event_scheduler" in statement else self.strict
        return [{"value": value}]

    def persisted(self) -> dict[str, str]:
        return self.kept

    def events(self) -> list[object]:
        return []

    def channels(self, _names: Names) -> list[object]:
        return []


class Host:
    """A host whose option files say this."""

    check_mode = False

    def __init__(self, printed: str, status: int = 0) -> None:
        self.printed, self.status = f"--port=3306 {printed}", status

    def run_command(self, *_words: object, **_keywords: object) -> tuple[int, str, str]:
        return self.status, self.printed, ""


def options_of(host: Host, server: Server, names: Names, ours: OptionFile | None = None) -> Any:
    ours = ours or OptionFile("/nonexistent/my.cnf", "block", "mysqld", "mysqld --print-defaults")
    return next_start.start_options(cast(Any, host), ours, cast(Any, server), names)


@pytest.mark.parametrize(
    "printed,persisted,running,ends",
    [
        ("", {}, 1, True),
        ("", {}, 0, False),
        ("--super_read_only=ON", {}, 1, False),
        ("--loose-super-read-only", {}, 1, False),
        ("--super_read_only=ON --skip-super-read-only", {}, 1, True),
        ("--super_read_only=ON", {"super_read_only": "OFF"}, 1, True),
        ("", {"super_read_only": "ON"}, 1, False),
    ],
)
def test_a_former_source_is_as_strict_as_its_next_start_makes_it(printed, persisted, running, ends):
    server: Any = Server(running, persisted=persisted)
    options = options_of(Host(printed), server, MYSQL)
    steps = next_start.strict_steps(options, server, MYSQL)
    assert steps == ([(OPEN, None)] if ends else [])
    assert next_start.strict_steps(options, server, MARIADB) == []


@pytest.mark.parametrize(
    "names,printed,running,starts",
    [
        (MYSQL, "", "OFF", True),
        (MYSQL, "--event_scheduler=OFF", "OFF", False),
        (MYSQL, "", "ON", False),
        (MYSQL, "", "DISABLED", False),
        (MARIADB, "", "OFF", False),
        (MARIADB, "--event-scheduler=ON", "OFF", True),
        (MARIADB, "--event_scheduler", "OFF", True),
    ],
)
def test_behind_a_fence_the_scheduler_is_as_the_option_files_want_it(
    names, printed, running, starts
):
    server: Any = Server(scheduler=running)
    options = options_of(Host(printed), server, names)
    steps = next_start.scheduler_steps(options, server, names)
    assert steps == ([(SCHEDULER, None)] if starts else [])


def test_nothing_is_changed_where_the_next_start_is_not_known():
    server: Any = Server()
    unread = OptionFile("/nonexistent/my.cnf", "block", "mysqld")
    for options in (
        options_of(Host("", 1), server, MYSQL),
        options_of(Host(""), server, MYSQL, unread),
    ):
        assert options is None
        assert next_start.strict_steps(options, server, MYSQL) == []
        assert next_start.scheduler_steps(options, server, MYSQL) == []


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> Path:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\n")
    read_only_dropin.put(str(file), "block", "mysqld")
    return file


def settle(file: Path, server: Server, printed: str, mode: str, unfence: bool = True) -> Any:
    """What is run on a former source."""
    plan: Any = SimpleNamespace(
        mode=mode,
        part=plans.SOURCE,
        option_file=OptionFile(str(file), "block", "mysqld", "mysqld --print-defaults"),
        # The target is open.
        super_read_only=False,
        scheduler_was_on=False,
        event_states=None,
        unfence=unfence,
    )
    host = Host(f"{printed} {FENCE}")
    done = cleanup.settle_roles(cast(Any, host), plan, cast(Any, server), MYSQL)
    return done["statements"]


@pytest.mark.parametrize("mode", ["settle", "finish"])
def test_a_run_that_settles_leaves_super_read_only_as_the_option_files_have_it(file, mode):
    strict = "--read_only=ON --super_read_only=ON"
    assert OPEN not in settle(file, Server(), strict, mode, unfence=False)
    assert OPEN not in settle(file, Server(), strict, mode)


@pytest.mark.parametrize("mode", ["settle", "finish"])
def test_a_run_that_settles_ends_the_fence_s_own_super_read_only(file, mode):
    assert OPEN in settle(file, Server(), "--read_only=ON", mode)


def test_a_run_that_switches_gives_what_the_target_had(file):
    assert OPEN in settle(file, Server(), "--super_read_only=ON", "switch", unfence=False)


def test_a_run_that_is_killed_leaves_the_fence_until_the_scheduler_runs(file):
    server = Server()
    server.failing = SCHEDULER
    with pytest.raises(KeyboardInterrupt):
        settle(file, server, "--read_only=ON", "switch")
    assert "skip_replica_start" in file.read_text()
    server.failing = ""
    assert SCHEDULER in settle(file, server, "--read_only=ON", "settle")
    assert file.read_text() == "[mysqld]\n"
