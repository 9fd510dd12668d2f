# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three parts by name."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.role_change.participant import (
    Part,
    try_again,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.replica_part import (
    ReplicaPart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.source_part import (
    SourcePart,
)
from ansible_collections.dbre.semisync.plugins.module_utils.role_change.target_part import (
    TargetPart,
)

PARTS: dict[str, Any] = {"source": SourcePart, "target": TargetPart, "replica": ReplicaPart}
# Seconds until a server that was killed with the part answers again.
RESTART = 60


def patiently(module: Any, kind: Any) -> Part:
    """A part that was begun anew.

    Raises:
        ServerError: its server does not come back.
    """
    made, error = try_again(RESTART, lambda: kind(module))
    if error:
        raise error
    return made
