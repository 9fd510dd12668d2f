# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that root runs as another user, so that neither they nor their input can do more than
that user may.
"""

from __future__ import annotations

import os
import sys

# setpriv and runuser are not on every host; Python is.
BECOME = (
    "import os, sys; os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[1]));"
    " os.execv(sys.argv[3], sys.argv[3:])"
)
PYTHON = "/usr/bin/python3"


def command_as_user(command: list[str], uid: int, gid: int) -> list[str]:
    """The command, run with the rights of this user; unchanged if that is the current user, or if
    the current user is not root.

    Args:
        command: its first word is an absolute path.
        uid, gid: numbers of the user and its group; groups beside that are not taken.
    """
    if os.geteuid() != 0 or uid == 0:
        return command
    return [sys.executable or PYTHON, "-I", "-S", "-c", BECOME, str(uid), str(gid), *command]
