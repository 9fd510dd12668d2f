# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a failover by name."""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.failover.replica import FailoverReplica
from ansible_collections.dbre.semisync.plugins.module_utils.failover.target import FailoverTarget

FAILOVER_PARTS: dict[str, Any] = {"target": FailoverTarget, "replica": FailoverReplica}
