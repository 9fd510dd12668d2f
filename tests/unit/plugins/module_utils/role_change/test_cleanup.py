# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a fence when the role has moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import file_writing
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    cleanup,
    dropin_place,
    read_only_dropin,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

MYSQL, MARIADB = Names("mysql", (9, 7, 4)), Names("mariadb", (11, 8))
BEFORE = "[mysqld]\nserver_id = 1\n"
LINES_OF_A_REPLICA = read_only_dropin.lines("mysqld", read_only_dropin.OF_A_REPLICA, ())
# What the fence itself makes the reader print.
FENCE = (
    "--read_only=ON --loose_super_read_only=ON --event_scheduler=OFF --loose_skip_slave_start=ON"
)


class Host:
    """A host whose option files, with the fence, say this."""

    check_mode = False

    def __init__(self, printed: str, status: int = 0, look: Callable[[], object] = str) -> None:
        self.printed, self.status, self.look = printed, status, look

    def run_command(self, *_words: Any, **_keywords: Any) -> tuple[int, str, str]:
        self.look()
        return self.status, self.printed, ""


def taken(
    file: Path,
    part: str,
    host: Host,
    reader: str | None = "true",
    command_line: dict[str, str] | None = None,
    persisted: dict[str, str] | None = None,
) -> tuple[bool, str]:
    """Whether a fence in a file changes, and what the file has then."""
    ours = OptionFile(str(file), "block", "mysqld", reader, command_line=command_line or {})
    return taken_from(ours, part, host, persisted), file.read_text()


def taken_from(
    ours: OptionFile, part: str, host: Host, persisted: dict[str, str] | None = None
) -> bool:
    plan: Any = SimpleNamespace(part=part, mode="switch", option_file=ours)
    module, server = cast(Any, host), cast(Any, Quiet(persisted))
    went, _statements = cleanup.take_fence_away(module, plan, server, MYSQL)
    return went


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> Path:
    file = tmp_path / "my.cnf"
    file.write_text(BEFORE)
    read_only_dropin.put(str(file), "block", "mysqld")
    return file


@pytest.mark.parametrize(
    "part,printed",
    [
        ("source", f"--read_only=1 {FENCE}"),
        ("source", f"--read_only=ON {FENCE}"),
        ("source", f"{FENCE} --read_only=ON"),
        ("source", f"--read-only {FENCE}"),
        ("source", f"--read_only=OFF --read_only=ON {FENCE}"),
        # One that the server does not read.
        ("source", "--read_only=1"),
        ("target", FENCE),
        ("target", f"--read_only=1 {FENCE}"),
    ],
)
def test_a_fence_goes_if_the_server_starts_read_only_without_it_or_is_the_source(
    file, part, printed
):
    assert taken(file, part, Host(printed)) == (True, BEFORE)


@pytest.mark.parametrize(
    "printed",
    [
        FENCE,
        f"--read_only=0 {FENCE}",
        f"{FENCE} --read_only=OFF",
        "--server_id=1",
        f"--read_only=1 --skip-read-only {FENCE}",
        f"--read_only=1 {FENCE} --skip_read_only",
        f"--read_only=1 {FENCE} --disable-read-only",
        # What MySQL does not recognize is OFF.
        f"--read_only=yes {FENCE}",
    ],
)
def test_a_former_source_that_would_start_writable_keeps_that_line_and_its_channel_starts(
    file, printed
):
    changed, text = taken(file, "source", Host(printed))
    assert changed and "\nread_only = ON\n" in text
    assert "skip_replica_start" not in text and "event_scheduler" not in text
    assert "switchover.yml removes it when the role returns" in text
    # And a second run changes nothing.
    assert taken(file, "source", Host("--read_only=ON")) == (False, text)


@pytest.mark.parametrize(
    "overrides", [{"command_line": {"read_only": "0"}}, {"persisted": {"read_only": "OFF"}}]
)
def test_what_overrides_the_option_files_counts(file, overrides):
    host = Host(f"--read_only=1 {FENCE}")
    _changed, text = taken(file, "source", host, **overrides)
    assert "\nread_only = ON\n" in text
    assert taken(file, "source", host) == (True, BEFORE)


@pytest.mark.parametrize(
    "host,reader", [(Host(""), None), (Host(f"--read_only=1 {FENCE}", 1), "x")]
)
def test_where_it_is_not_known_how_it_starts_the_line_stays(file, host, reader):
    assert taken(file, "source", host, reader) == (
        True,
        BEFORE + read_only_dropin.block(LINES_OF_A_REPLICA, "mysqld"),
    )


def test_the_fence_stands_while_the_options_are_read(file):
    seen = []
    printed = f"--server_id=1 {FENCE}"
    host = Host(
        printed, look=lambda: seen.append(dropin_place.stands(str(file), "block", "mysqld"))
    )
    taken(file, "source", host)
    assert seen == [True]


@pytest.fixture(name="drop_in")
def fixture_drop_in(tmp_path: Path) -> tuple[Path, Callable[[Host], bool]]:
    """A fence that is a file of its own, and what takes it away on a former source."""
    ours = OptionFile(str(tmp_path / "zz-dbre-semisync.cnf"), "drop-in", "mysqld", "true")

    def take(host: Any) -> bool:
        return taken_from(ours, "source", host)

    return Path(read_only_dropin.put(ours.path, ours.kind, ours.group)), take


def test_a_full_disk_leaves_the_fence_as_it_is(drop_in, monkeypatch):
    path, take = drop_in
    before = path.read_text()

    def full(*_words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        take(Host(FENCE))
    assert path.read_text() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_its_own_is_replaced_and_at_no_moment_gone(drop_in, monkeypatch):
    path, take = drop_in
    with monkeypatch.context() as patched:
        patched.setattr(read_only_dropin.os, "unlink", lambda *_words, **_more: pytest.fail("gone"))
        assert take(Host(FENCE))
    assert path.read_text() == LINES_OF_A_REPLICA
    # Its own option file has the new role by now.
    assert take(Host("--read_only=ON --read_only=ON")) and not path.exists()


class Quiet:
    """A server on which nothing is left to do."""

    def __init__(self, persisted: dict[str, str] | None = None) -> None:
        self.kept = persisted or {}

    def persisted(self) -> dict[str, str]:
        return self.kept

    def rows(self, _statement: str, _arguments: object = None) -> list[dict[str, object]]:
        return [{"value": "1"}]

    def events(self) -> list[object]:
        return []

    def channels(self, _names: Names) -> list[object]:
        return []


@pytest.mark.parametrize("unfence", [False, True])
@pytest.mark.parametrize("part", ["source", "replica", "target"])
def test_the_fence_stands_until_the_option_files_have_the_new_roles(file, part, unfence):
    ours = OptionFile(str(file), "block", "mysqld", "true")
    plan: Any = SimpleNamespace(
        mode="switch",
        part=part,
        option_file=ours,
        super_read_only=True,
        scheduler_was_on=False,
        event_states=None,
        unfence=unfence,
    )
    before, module, server = file.read_text(), Host(f"--read_only=1 {FENCE}"), Quiet()
    done = cleanup.settle_roles(cast(Any, module), plan, cast(Any, server), MARIADB)
    assert done == {"changed": unfence, "statements": []}
    assert file.read_text() == (BEFORE if unfence else before)


def test_in_check_mode_nothing_is_written(file):
    before, host = file.read_text(), Host(FENCE)
    host.check_mode = True
    assert taken(file, "source", host) == (True, before)
    assert taken(file, "target", host) == (True, before)
