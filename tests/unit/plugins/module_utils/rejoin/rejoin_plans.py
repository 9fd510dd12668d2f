# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan of a former source's way back, which tests change."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (
    RejoinPlan,
)

PLAN = RejoinPlan(
    down=False,
    missed=False,
    leaves=False,
    unit="mysql",
    datadir=None,
    option_file=None,
    lines=[],
    open_to_root=False,
    truncate=False,
    keep=True,
    timeout=30,
    run="2026-11-22T212901.605831Z",
    since="2026-11-22T212700",
)
