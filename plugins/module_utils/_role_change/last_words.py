# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the error log of a server that has ended says since the last look at it: whether it was told
to stop, gave up waiting, or had other replicas. What is found counts against a proof. What is not
found proves nothing: MySQL logs most of it only if log_error_verbosity is 3.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.unit_exit import service_name

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import ErrorLog

SHUTDOWN, OFF, DUMP, STARTING, READY = "shutdown", "off", "dump", "starting", "ready"
# Logged only at the start.
ENABLED = "enabled"


class Words(NamedTuple):
    """One thing that a server logs.

    Attributes:
        kind: what it means.
        pattern: the text of the line after its level.
        whose: engines and versions that log it, and the source file with the text.
    """

    kind: str
    pattern: str
    whose: str


# "captured" were seen on MySQL 9.7.4 and MariaDB 10.11.19 (tests/unit/fixtures/error-log-*.txt);
# the others are taken from the sources.
WORDS = (
    Words(
        SHUTDOWN, r"Received SHUTDOWN from user ", "MySQL 8.0+, ER_SERVER_SHUTDOWN_INFO; captured"
    ),
    Words(SHUTDOWN, r"\S*: Normal shutdown", "MySQL 5.5 to 8.0, ER_NORMAL_SHUTDOWN"),
    Words(
        SHUTDOWN, r"\S* \(initiated by: .*\): Normal shutdown", "MariaDB, sql/mysqld.cc; captured"
    ),
    Words(
        SHUTDOWN,
        r"SEMISYNC: Forced shutdown\.|Forced shutdown\. Some updates might not be replicated",
        "MySQL, semisync_source.cc, ER_SEMISYNC_FORCED_SHUTDOWN",
    ),
    Words(OFF, r"Timeout waiting for reply of binlog ", "MySQL and MariaDB, semisync; captured"),
    Words(OFF, r"Semi-sync replication switched OFF", "MySQL and MariaDB, semisync; captured"),
    Words(OFF, r"Semi-sync replication disabled on the ", "MySQL, MariaDB before 10.3; captured"),
    Words(ENABLED, r"Semi-sync replication enabled on the ", "MySQL and MariaDB; captured"),
    Words(
        DUMP,
        r"Start semi-sync binlog_dump to (?:slave|replica) \(server_id: (\d+)\)",
        "MySQL (replica since 8.0.26) and MariaDB, semisync; captured",
    ),
    Words(STARTING, r"\S+ \(\S+ \S+\) starting as process \d+", "MySQL, sql/mysqld.cc; captured"),
    Words(STARTING, r"Starting MariaDB \S+.* as process \d+", "MariaDB 10.5+; captured"),
    Words(READY, r"\S+: ready for connections", "MySQL and MariaDB, sql/mysqld.cc; captured"),
)
# What systemd itself says in the unit's journal when it is told to stop it (with the unit's name
# since systemd 246); captured. "Stopped" it says of one that was killed, too.
SYSTEMD = re.compile(r"Stopping \S.*\.\.\.\Z")
# A level, and what MySQL 8.0 and later put between it and the text: code and subsystem.
LEVEL = re.compile(r"\[(?:Note|Warning|System|ERROR)\] (?:\[MY-\d+\] \[\w+\] )?")
PATTERNS = [(words.kind, re.compile(words.pattern)) for words in WORDS]

# Of a file, so many bytes after the position are read, from both ends where it is more.
MOST = 8 * 1024 * 1024
# And of a journal so many lines, the last.
LINES = 20000
# How many lines are quoted, and their maximum length.
QUOTED, WIDTH = 5, 240


def read_log(
    module: AnsibleModule, unit: str | None, place: ErrorLog | None
) -> dict[str, object] | None:
    """`look.log` of the RETURN section of semisync_switchover.

    Args:
        unit: of the server; None if it is not known.
        place: where the error log stood at the last look, as semisync_info says it.
    """
    if not place:
        return None
    if place.get("path"):
        said = of_file(str(place["path"]), place.get("inode"), place.get("size"))
    else:
        said = of_journal(module, unit, place.get("at"))
    return None if said is None else dict(heard(said[0]), whole=said[1])


def of_file(path: str, inode: int | None, size: int | None) -> tuple[str, bool] | None:
    """(what a log says after a position, whether that is all of it); None if it cannot be read.

    A rotated file has another inode, or is shorter; then NAME.1 may be the old one. Otherwise only
    the present content is left.
    """
    with Open(path) as now:
        if now.size is None or size is None:
            return None
        if now.inode == inode and now.size >= size:
            return now.since(size)
        with Open(path + ".1") as before:
            # A renamed file keeps its inode; if it was copied and truncated, the file itself keeps
            # it.
            same = before.inode == inode or now.inode == inode
            if before.size is None or not same or before.size < size:
                return now.since(0)[0], False
            parts = [before.since(size), now.since(0)]
    return "".join(text for text, _whole in parts), all(whole for _text, whole in parts)


class Open:
    """A regular file, open for reading; if it is not one, or cannot be read, it has no size.

    The path comes from the server: neither a pipe nor a device may block the reader.
    """

    def __init__(self, path: str) -> None:
        self.size: int | None = None
        self.inode: int | None = None
        self.handle = -1
        try:
            self.handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            seen = os.fstat(self.handle)
        except OSError:
            return
        if stat.S_ISREG(seen.st_mode):
            self.size, self.inode = seen.st_size, seen.st_ino

    def __enter__(self) -> Open:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.handle >= 0:
            os.close(self.handle)

    def since(self, place: int) -> tuple[str, bool]:
        """(its text after a position, whether that is all of it)."""
        left = (self.size or 0) - place
        if left <= MOST:
            return self.piece(place, left), True
        ends = [self.piece(place, MOST // 2), self.piece(place + left - MOST // 2, MOST // 2)]
        return "\n".join(ends), False

    def piece(self, place: int, length: int) -> str:
        try:
            return os.pread(self.handle, length, place).decode("utf-8", "replace")
        except OSError:
            return ""


def of_journal(
    module: AnsibleModule, unit: str | None, since: float | str | None
) -> tuple[str, bool] | None:
    """The same for a unit's journal, if the server logs to its standard error."""
    journalctl = module.get_bin_path("journalctl")
    if not journalctl or not unit or since is None:
        return None
    begin = f"@{int(float(since))}"
    words = [journalctl, "--no-pager", "--quiet"]
    own = [f"--unit={service_name(str(unit))}", "--output=cat", f"--lines={LINES}"]
    status, printed, _errors = command.run(module, [*words, *own, f"--since={begin}"])
    if status:
        return None
    # Is there an older entry of any unit? If not, the journal may begin later. (Not in reverse,
    # systemd 252 finds nothing there.)
    _status, older, _errors = command.run(
        module,
        [
            *words,
            "--output=short-unix",
            "--reverse",
            "--lines=1",
            f"--until={begin}",
        ],
    )
    return printed, bool(older.strip()) and len(printed.splitlines()) < LINES


def heard(text: str) -> dict[str, object]:
    """What a log says: whether a shutdown was asked for, semi-sync was switched off or on, the
    server was started, and to whom its semi-sync sessions were; with the last line of each.
    """
    lines: dict[tuple[str, str], str] = {}
    starting = False
    for line in text.splitlines():
        kind, number = meaning(line)
        starting = kind == STARTING or (starting and kind != READY)
        if kind == ENABLED:
            kind = "" if starting else OFF
        if kind in (SHUTDOWN, OFF, DUMP, STARTING):
            lines[kind, number] = quoted(line)
    kinds = [kind for kind, _number in lines]
    # The weightiest first: others may be many.
    ranked = sorted(
        lines.items(), key=lambda item: [SHUTDOWN, OFF, STARTING, DUMP].index(item[0][0])
    )
    return {
        "shutdown": SHUTDOWN in kinds,
        "off": OFF in kinds,
        "dumps": sorted(int(number) for kind, number in lines if kind == DUMP),
        "started": STARTING in kinds,
        "lines": [line for _kind, line in ranked][:QUOTED],
    }


def meaning(line: str) -> tuple[str, str]:
    """(what a line means, its server_id); empty if it means nothing."""
    if SYSTEMD.match(line):
        return SHUTDOWN, ""
    level = LEVEL.search(line)
    if level:
        for kind, pattern in PATTERNS:
            match = pattern.match(line, level.end())
            if match:
                return kind, match.group(1) if pattern.groups else ""
    return "", ""


def quoted(line: str) -> str:
    """A line made safe to show: it may contain anything that a client sent."""
    return "".join(sign if sign.isprintable() else "?" for sign in line.strip())[:WIDTH]
