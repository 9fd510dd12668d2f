# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source that restarts while its role moves must not take writes in addition to the new one: for
that time a separate option file makes it start read-only, also for accounts that read_only lets in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    file_writing,
    option_files,
    option_reader,
    trust,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import (
    read_text,
    text_if_any,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.dropin_place import (
    MARKER,
    place,
    places,
    text_of,
    without_block,
)

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
        OptionFile,
    )

WORDS = (
    "# Written by dbre.semisync while the source's role moves to another host: a restart must not"
    " let writers in here.\n# switchover.yml removes it."
)
# What is left if nothing else makes the former source start read-only.
OF_A_REPLICA = (
    "# Written by dbre.semisync when the source's role moved to another host: without this line the"
    " server\n# would take writes after a restart. switchover.yml removes it when the role returns."
)
# A line of an option file that sets it.
SETS_IT = re.compile(
    r"^\s*(loose[-_])?((skip|disable|enable)[-_])?read[-_]only\b", re.MULTILINE | re.IGNORECASE
)
# Accounts with SUPER write although a server is read-only, and so do their events; and a channel
# that is left of its time as a replica brings what it has received.
CLOSED = (
    "loose_super_read_only = ON",
    "event_scheduler = OFF",
    "loose_skip_slave_start = ON",
    "loose_skip_replica_start = ON",
)


def lines(group: str, words: str = WORDS, more: Sequence[str] = CLOSED) -> str:
    """The lines of the file.

    Args:
        words: a comment: what wrote the file, and what removes it.
        more: lines besides read_only.
    """
    return "\n".join(
        [
            words,
            f"[{group}]",
            "read_only = ON",
            *more,
            "",
        ]
    )


def block(text: str, group: str) -> str:
    """Our block with its markers."""
    marker = MARKER + group[len("mysqld") :]
    return f"# BEGIN {marker}\n{text}# END {marker}\n"


def put(
    ours: str,
    kind: str,
    group: str,
    words: str = WORDS,
    more: Sequence[str] = CLOSED,
) -> str:
    """Make the server start read-only; return the path of the file. See lines().

    Raises:
        OSError: it cannot be written.
    """
    path = place(ours, kind)
    if kind == "drop-in":
        write_whole(path, lines(group, words, more), 0o644)
        for old in places(ours, kind, group):
            if old != path:
                os.unlink(old)
    else:
        text = without_block(read_text(path) if os.path.exists(path) else "", group)
        end = "" if text.endswith("\n") or not text else "\n"
        write_whole(path, text + end + block(lines(group, words, more), group))
    return path


def take_away(ours: str, kind: str, group: str = "") -> bool:
    """Remove the file or block; return whether there was one.

    Args:
        group: see dropin_place.text_of().

    Raises:
        OSError: it cannot be removed.
    """
    taken = False
    for path in places(ours, kind, group):
        text = read_text(path)
        rest = "" if kind == "drop-in" else without_block(text, group)
        if kind == "drop-in":
            os.unlink(path)
        elif rest != text:
            write_whole(path, rest)
        taken = taken or rest != text
    return taken


def loosen(
    option_file: OptionFile, options: Mapping[str, str] | None, check_mode: bool = False
) -> bool:
    """On a former source that is a replica: remove it if the server starts read-only without it;
    otherwise, or if that is not known, leave the line that makes it start read-only, and nothing
    that keeps its channel from starting. Return whether anything changes.

    It is removed, or replaced as a whole: wherever this ends, the server starts read-only.

    Args:
        options: what the server starts with then; None if that is not known (next_start.py).

    Raises:
        OSError: it cannot be read, removed or replaced.
    """
    path, kind, group = option_file.path, option_file.kind, option_file.group
    now = text_of(path, kind, group)
    if now is None:
        return False
    # A command line that opens it is not relied on to be overridden in its turn.
    given = option_file.command_line.get("read_only", "ON")
    if options and all(map(option_files.is_on, (options.get("read_only", "OFF"), given))):
        return check_mode or take_away(path, kind, group)
    if now == lines(group, OF_A_REPLICA, ()):
        return False
    if not check_mode:
        put(path, kind, group, OF_A_REPLICA, ())
    return True


def overridden(module: AnsibleModule, option_file: OptionFile) -> str:
    """Why a server would start writable although these lines are there, and what to do; empty if it
    starts read-only, or if nothing can tell.
    """
    if not option_file.reader:
        return ""
    path = place(option_file.path, option_file.kind)
    starts = f"it may start writable although {path} has read_only = ON"
    pairs = option_reader.printed_pairs(module, option_file.reader)
    if pairs is None:
        return f"{starts}: {option_file.reader}, which would tell, fails. Run it there to see why"
    if not option_files.is_on(option_file.command_line.get("read_only", "ON")):
        return f"{starts}: its command line overrides that. Remove read_only from its unit"
    options = option_files.effective(pairs)
    if "read_only" not in options:
        return f"{starts}: its server does not read that file. Set semisync_option_file to one"
    if option_files.is_on(options["read_only"]):
        return ""
    later = read_later(path) if option_file.kind == "drop-in" else []
    remedy = f"remove the line from {' and '.join(later) or 'the file that is read later'}"
    return f"{starts}: what is read later overrides that. See {option_file.reader}, and {remedy}"


def read_later(path: str) -> list[str]:
    """The files of its folder that are read after a drop-in file, and set read_only."""
    folder, own = os.path.split(path)
    return [
        os.path.join(folder, name)
        for name in sorted(os.listdir(folder))
        if name > own
        and name.endswith(".cnf")
        and os.path.isfile(os.path.join(folder, name))
        and SETS_IT.search(text_if_any(os.path.join(folder, name)))
    ]


def write_whole(path: str, text: str, mode: int | None = None) -> None:
    """As a whole or not at all; an existing file keeps its owner and mode. Through a link only if
    root alone could have made it: the folder may belong to the server's user.

    Raises:
        OSError: it cannot be written, or such a link is there.
    """
    file_writing.replace(os.path.realpath(path) if trust.trusted(path) else path, text, mode)
