# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The other half: what is not proven although nothing is missing. Either another history that looks
the same to a failover loses a row, and no judge could say more; or none does, and this one could.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate

from model import stories
from model.adapter import Verdict
from model.search import Lie, Search


def reason(verdict: Verdict) -> str:
    """Why not more was said."""
    if verdict.words == "refused":
        return "refused: " + ", ".join(sorted({name.split(":")[0] for name in verdict.reasons}))
    if verdict.words == certificate.WINDOW:
        return "a window"
    return "not proven: " + ", ".join(verdict.reasons)


def table(search: Search) -> dict[str, dict[str, Any]]:
    """reason -> how many moments lose nothing and are not proven, of those how many look like one
    that does (theorem) and how many like none that was met (caution), and a history of each.
    """
    made: dict[str, dict[str, Any]] = {}
    for known in search.classes.values():
        verdict, asked = known.verdict, known.asked
        if verdict.words == certificate.PROVEN or asked.late >= 0 or asked.stuck:
            continue
        if "source_answers" in verdict.reasons:
            # It lives: there is nothing to fail over from.
            continue
        # What is assumed not to have happened is no excuse for saying less.
        lossy = [
            s for truth, s in known.truths.items() if not truth[-1] and search.missing(s, asked)
        ]
        whole = [s for s in known.truths.values() if not search.missing(s, asked)]
        if not whole:
            continue
        one = made.setdefault(
            reason(verdict), {"theorem": 0, "caution": 0, "loses": [], "alike": []}
        )
        kind = "theorem" if lossy else "caution"
        one[kind] += known.times
        name = "loses" if lossy else "alike"
        if not one[name]:
            s = lossy[0] if lossy else whole[0]
            lost: tuple[tuple[int, float], ...] = ()
            one[name] = stories.story(search, Lie("", s, asked, verdict, lost))
    return made
