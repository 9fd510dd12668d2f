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
    return re.sub(
        rf"^# BEGIN {re.escape(MARKER)}\n.*?^# END {re.escape(MARKER)}\n",
        "",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def stands(ours: str, kind: str) -> bool:
    path = place(ours, kind)
    if not os.path.exists(path):
        return False
    return kind == "drop-in" or without_block(read_text(path)) != read_text(path)
