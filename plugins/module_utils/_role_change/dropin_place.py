# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of the option file that makes a server start read-only while its role moves, and whether
it exists; read_only_dropin.py writes it.
"""

from __future__ import annotations

import os
import re

from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text

# The stem of the collection's own option file (host/option_files.py), and of this one.
OWN, STEM = "zz-dbre-semisync", "zz-dbre-semisync-switchover"
DROP_IN = STEM + ".cnf"
MARKER = "dbre.semisync switchover"
# With the suffix of a server's option groups, if it has one; older versions wrote none. An editor
# may have taken the last line's end.
BLOCK = re.compile(
    rf"^# BEGIN ({re.escape(MARKER)}[^\n]*)\n(.*?)^# END \1(?:\n|\Z)", re.MULTILINE | re.DOTALL
)


def place(ours: str, kind: str, stem: str = STEM) -> str:
    """The file's path.

    Args:
        ours: where the collection's own lines are.
        kind: whether that is a separate drop-in file or a block in another file.
        stem: of its name.
    """
    if kind != "drop-in":
        return ours
    folder, name = os.path.split(ours)
    if OWN in name:
        return os.path.join(folder, name.replace(OWN, stem))
    # A file that the user chose; servers that share the folder have one each.
    return os.path.join(folder, f"{stem}-{name}")


def places(ours: str, kind: str, group: str) -> list[str]:
    """The files that are there: the one of place(), and the one that an older version wrote for a
    file that the user chose. See text_of().
    """
    path, old = place(ours, kind), os.path.join(os.path.dirname(ours), DROP_IN)
    there = [path] if os.path.exists(path) else []
    if kind == "drop-in" and OWN not in os.path.basename(ours) and os.path.exists(old):
        there += [old] if of_group(read_text(old), group) else []
    return there


def of_group(text: str, group: str) -> bool:
    """Whether lines are those of the server that reads a group of options; see text_of()."""
    return not group or f"[{group}]" in map(str.strip, text.splitlines())


def without_block(text: str, group: str) -> str:
    return BLOCK.sub(lambda one: "" if of_group(one.group(2), group) else one.group(), text)


def text_of(ours: str, kind: str, group: str) -> str | None:
    """Our lines there; None if there are none.

    Args:
        group: of options, such as mysqld@1: several servers may have lines in one file. Empty for
            those of any.
    """
    for path in places(ours, kind, group):
        text = read_text(path)
        if kind == "drop-in":
            return text
        for block in BLOCK.finditer(text):
            if of_group(block.group(2), group):
                return block.group(2)
    return None


def stands(ours: str, kind: str, group: str) -> bool:
    return text_of(ours, kind, group) is not None


def closes(ours: str, kind: str, group: str) -> bool:
    """Whether the whole file stands, and not only the line that is left on a replica if nothing
    else makes it start read-only.
    """
    options = re.findall(r"^\s*(\w+)\s*=", text_of(ours, kind, group) or "", re.MULTILINE)
    return bool(set(options) - {"read_only"})
