# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of pure functions of the judge that are asked for the same few texts a million times over
are kept. They are the judge's own answers: only the second asking is saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    last_look,
    relay_logs,
    source_log,
    survivors,
)

TEXTS = (
    survivors.stamp,
    survivors.stamp_of,
    survivors.moment_of,
    history.at_second,
)
# Of values of GTIDs.
METHODS = ("union", "minus", "beyond", "missing_of", "of_server")
# Of one evidence, asked for by each premise and each case.
OF_EVIDENCE = (
    last_look.elsewhere,
    last_look.look_at_source,
    last_look.unwatched,
    last_look.begin,
    last_look.window,
    relay_logs.missing,
    relay_logs.strangers,
    survivors.is_mariadb,
    survivors.supersets,
    survivors.differences,
    source_log.problem,
    source_log.gone,
)
# Kept in part by themselves.
PARSED = (gtids.read_set, gtids.read_list, gtids.position)


def wholly(function: Any) -> Callable[..., Any]:
    """All that is kept in part."""
    return functools.cache(function.__wrapped__)


def of_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """The kept answer of the evidence that was asked about last."""
    asked: list[Any] = [None, None]

    @functools.wraps(function)
    def kept(evidence: Any, *more: Any) -> Any:
        if more:
            return function(evidence, *more)
        if asked[0] is not evidence:
            asked[:] = [evidence, function(evidence)]
        return asked[1]

    return kept


def remember() -> None:
    """Once for a process; modules that imported a function by name get the cached one too."""
    if hasattr(gtids.MysqlGtids.minus, "cache_info"):
        return
    import sys

    for kind in (gtids.MysqlGtids, gtids.MariadbGtids):
        for name in METHODS:
            setattr(kind, name, functools.cache(getattr(kind, name)))
        # What is equal and not the same is asked twice.
        kind.__hash__ = object.__hash__  # type: ignore[method-assign]
    kinds = ((TEXTS, functools.cache), (PARSED, wholly), (OF_EVIDENCE, of_last))
    for plain, keeper in ((one, keeper) for functions, keeper in kinds for one in functions):
        kept = keeper(plain)
        for other in list(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("ansible_collections.dbre"):
                for known, value in list(vars(other).items()):
                    if value is plain:
                        setattr(other, known, kept)
