# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mysqlbinlog printed of logs as they were, made into what it prints of our copy of them: each
statement of a client is a number. For texts that a test knows, and which have no delimiter within.
"""

from __future__ import annotations

import re

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.disguise import (
    Disguise,
    Lines,
    Text,
)

SERVERS_OWN = re.compile(
    rb"(/\*M?!\d{5,6} )?SET (?!PASSWORD)|BINLOG|(BEGIN|START TRANSACTION|COMMIT|ROLLBACK)\b|/\*!\\C"
)


def lines(printed, problem=""):
    """What Reader, History, Phantoms and Meeting read.

    Args:
        problem: of every client's statement.
    """
    hidden = Disguise()
    end, made, parts = b";", [], []
    for line in printed:
        bare = line.rstrip(b"\n")
        if not parts and bare.startswith(b"DELIMITER "):
            end = bare[len(b"DELIMITER ") :].strip()
        elif parts or (bare and not bare.startswith(b"#")):
            parts.append(line)
            if not bare.endswith(end):
                continue
            text = b"".join(parts).strip()[: -len(end)].strip()
            if not SERVERS_OWN.match(text):
                number = hidden.take(Text(text, [], problem))
                parts = [b"DO %d%s\n" % (number, end)]
            made += parts
            parts = []
            continue
        made.append(line)
    return Lines([*made, *parts], hidden)
