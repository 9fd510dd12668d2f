# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables with which an applier skips what it cannot apply."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

VARIABLES = ("slave_skip_errors", "replica_skip_errors", "slave_exec_mode", "replica_exec_mode")
COUNTERS = ("sql_slave_skip_counter", "sql_replica_skip_counter")


def passes_over(value: int | str | None) -> bool:
    """Whether a value of one of these variables makes the applier skip; a missing one does not."""
    return value is not None and canonical_value(value) not in ("0", "", "strict")


def that_let_it(variables: Mapping[str, int | str | None]) -> list[str]:
    """The variables that let it. MySQL from 8.0.26 on has each by two names, of which this has the
    new one.
    """
    let = [name for name, value in variables.items() if passes_over(value)]
    return [name for name in let if name.replace("slave", "replica") not in {*let} - {name}]
