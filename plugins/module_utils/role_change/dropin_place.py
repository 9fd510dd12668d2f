# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of the option file that makes a server start read-only while its role moves, and whether
it exists; read_only_dropin.py writes it.
"""

from __future__ import annotations

import os
import re

from ansible_collections.dbre.semisync.plugins.module_utils.host.files import read_text

# The stem of the collection's own option file (host/option_files.py), and of this one.
OWN, STEM = "zz-dbre-semisync", "zz-dbre-semisync-switchover"
DROP_IN = STEM + ".cnf"
MARKER = "dbre.semisync switchover"
# An editor may have taken the last line's end.
BLOCK = re.compile(
    rf"^# BEGIN {re.escape(MARKER)}\n(.*?)^# END {re.escape(MARKER)}(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


def place(ours: str, kind: str) -> str:
    """The file's path.

    Args:
        ours: where the collection's own lines are.
        kind: whether that is a separate drop-in file or a block in another file.
    """
    if kind != "drop-in":
        return ours
    name = os.path.basename(ours).replace(OWN, STEM)
    if name == os.path.basename(ours):
        name = DROP_IN
    return os.path.join(os.path.dirname(ours), name)


def without_block(text: str) -> str:
    return BLOCK.sub("", text)


def text_of(ours: str, kind: str) -> str | None:
    """Our lines there; None if there are none."""
    path = place(ours, kind)
    if not os.path.exists(path):
        return None
    text = read_text(path)
    block = BLOCK.search(text)
    return text if kind == "drop-in" else block.group(1) if block else None


def stands(ours: str, kind: str) -> bool:
    return text_of(ours, kind) is not None


def closes(ours: str, kind: str) -> bool:
    """Whether the whole file stands, and not only the line that is left on a replica if nothing
    else makes it start read-only.
    """
    options = re.findall(r"^\s*(\w+)\s*=", text_of(ours, kind) or "", re.MULTILINE)
    return bool(set(options) - {"read_only"})
