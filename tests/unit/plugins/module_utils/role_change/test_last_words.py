# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server's error log says since the last look. The captured logs are of MySQL 9.7.4 with
log_error_verbosity = 3 and of MariaDB 10.11.19, the latter as its unit's journal has it.
"""

from __future__ import annotations

import os
import re

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import last_words
from ansible_collections.dbre.semisync.tests.unit import samples

NOTHING = {"shutdown": False, "off": False, "dumps": [], "started": False}
DUMP = {"dumps": [616442473]}
AT = 1790000000.5


def part(server, name):
    """The lines that a captured server logged for one thing that was done to it."""
    with open(os.path.join(samples.FIXTURES, f"error-log-{server}.txt")) as stream:
        parts = dict(re.findall(r"^### (\w+)\n((?:(?!###).*\n)*)", stream.read(), re.MULTILINE))
    return parts[name]


def heard(text):
    return {key: value for key, value in last_words.heard(text).items() if key != "lines"}


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
@pytest.mark.parametrize(
    "name,expected",
    [
        ("timeout", {"off": True}),
        ("reconnect", DUMP),
        ("disable", {"off": True}),
        ("enable", {"off": True}),
        ("timeoutset", {}),
        ("killdump", DUMP),
        ("admin", {"shutdown": True}),
        ("sql", {"shutdown": True}),
        ("term", {"shutdown": True}),
    ],
)
def test_what_was_done_to_a_server_is_heard(server, name, expected):
    assert heard(part(server, name)) == {**NOTHING, **expected}


def test_a_stop_in_order_is_heard_and_a_start_that_switches_semisync_on_is_only_a_start():
    for server in ("mysql-9.7", "mariadb-10.11"):
        assert heard(part(server, "systemctl_stop"))["shutdown"]
        begun = heard(part(server, "start"))
        assert (begun["started"], begun["shutdown"], begun["off"]) == (True, False, False)
    assert heard(part("mariadb-10.11", "start"))["dumps"] == [616442473]
    # Killed, and started by its unit, whose "Stopped" is no order.
    assert heard(part("mariadb-10.11", "kill")) == {**NOTHING, **DUMP, "started": True}
    assert heard(part("mysql-9.7", "kill")) == {**NOTHING, "started": True}


@pytest.mark.parametrize(
    "line,expected",
    [
        ("2026-11-24 10:00:00 140 [Note] /usr/sbin/mysqld: Normal shutdown", {"shutdown": True}),
        ("261124 10:00:00 [Note] /usr/local/mysql/bin/mysqld: Normal shutdown", {"shutdown": True}),
        (
            "2026-11-24T10:00:00.000000Z 0 [Note] Start semi-sync binlog_dump to slave (server_id:"
            " 7), pos(b.1, 4)",
            {"dumps": [7]},
        ),
        (
            "2026-11-24T10:00:00.000000Z 0 [Warning] [MY-011162] [Repl] SEMISYNC: Forced shutdown."
            " Some updates might not be replicated.",
            {"shutdown": True},
        ),
        (
            "2026-11-24T10:00:00Z 0 [Note] mysqld (mysqld 5.7.23-log) starting as process 12 ...",
            {"started": True},
        ),
        ("Stopping MariaDB 10.5.29 database server...", {"shutdown": True}),
        # A user's name or text is not the server's message.
        (
            "2026-11-24 10:00:00 7 [Warning] Access denied for user 'Semi-sync replication switched"
            " OFF'@'localhost'",
            {},
        ),
        ("Semi-sync replication switched OFF.", {}),
        ("", {}),
    ],
)
def test_words_count_as_other_versions_say_them_and_only_where_the_server_says_them(line, expected):
    assert heard(line) == {**NOTHING, **expected}


def test_the_weightiest_lines_are_quoted_and_harmless():
    dump = "[Note] Start semi-sync binlog_dump to replica (server_id: %d), pos(, 4)"
    lines = [dump % number for number in range(9)]
    lines.append("[System] Received SHUTDOWN from user \x1b[31m" + "x" * 900)
    found = last_words.heard("\n".join(lines))
    assert len(found["lines"]) == last_words.QUOTED
    assert found["lines"][0].startswith("[System] Received SHUTDOWN from user ?[31mx")
    assert max(map(len, found["lines"])) == last_words.WIDTH
    assert found["dumps"] == list(range(9))


OLD, NEW = "[Note] x: Normal shutdown\n", "[Note] Semi-sync replication switched OFF.\n"


def place(path):
    seen = os.stat(path)
    return {"path": str(path), "inode": seen.st_ino, "size": seen.st_size, "at": AT}


def append(path, text):
    with open(path, "a") as stream:
        stream.write(text)


def renamed(path):
    append(path, NEW)
    path.rename(str(path) + ".1")
    append(path, NEW.replace("switched OFF", "enabled on the master"))


def copied(path):
    append(path, NEW)
    (path.parent / (path.name + ".1")).write_text(path.read_text())
    with open(path, "w"):
        pass


def rotated_twice(path):
    path.rename(str(path) + ".2")
    append(str(path) + ".1", "lost\n")
    append(path, NEW)


def gone(path):
    path.unlink()


def pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "happens,expected",
    [
        (lambda path: None, (False, True)),
        (lambda path: append(path, NEW), (True, True)),
        (renamed, (True, True)),
        (copied, (True, True)),
        (rotated_twice, (True, False)),
        (gone, None),
        # It neither hangs nor reads what is no file.
        (pipe, None),
    ],
)
def test_a_file_is_read_from_where_the_last_look_left_it(tmp_path, happens, expected):
    path = tmp_path / "error.log"
    path.write_text(OLD)
    left = place(path)
    happens(path)
    found = last_words.read_log(None, None, left)
    assert (found and (found["off"], found["whole"])) == expected
    assert not (found and found["shutdown"])


def test_a_long_file_is_read_at_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(last_words, "MOST", 400)
    path = tmp_path / "error.log"
    path.write_text(OLD)
    left = place(path)
    append(path, NEW + "\xff" * 5000 + "\n[Note] x: Normal shutdown\n")
    found = last_words.read_log(None, None, left)
    assert (found["off"], found["shutdown"], found["whole"]) == (True, True, False)


class Module:
    """A host whose journal says this, and reaches back so far."""

    def __init__(self, said, older="1789999999.0 db1 kernel: x\n", status=0):
        self.said, self.older, self.status, self.asked = said, older, status, []

    def get_bin_path(self, name):
        return f"/usr/bin/{name}"

    def run_command(self, words, **_keywords):
        self.asked.append(words)
        return self.status, self.older if "--lines=1" in words else self.said, ""


@pytest.mark.parametrize(
    "module,expected",
    [
        (Module(NEW), (True, True)),
        (Module(NEW, older=""), (True, False)),
        (Module(NEW * last_words.LINES), (True, False)),
        (Module("", status=1), None),
    ],
)
def test_what_goes_to_standard_error_is_read_in_the_units_journal(module, expected):
    found = last_words.read_log(
        module, "mariadb", {"path": "", "inode": None, "size": None, "at": AT}
    )
    assert (found and (found["off"], found["whole"])) == expected
    assert "--unit=mariadb.service" in module.asked[0] and "--since=@1790000000" in module.asked[0]


def test_without_a_place_nothing_is_known():
    assert last_words.read_log(Module(NEW), "mariadb", None) is None
    assert (
        last_words.read_log(Module(NEW), "mariadb", {"path": "", "inode": None, "size": None})
        is None
    )
    assert last_words.read_log(None, None, {"path": "/x", "inode": None, "size": None}) is None
