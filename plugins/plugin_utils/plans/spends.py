# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a plan changes what a source waits for, so that the last look at it no longer proves
anything.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans.plan_shapes import Drift, Spending

# What decides for which replicas, how and how long a source's commits wait, by our keys.
WAITS_BY = ("enabled", "timeout", "wait_no_replica", "wait_point", "wait_for_replica_count")


def of_plan(member: Member, drift: Drift, reasons: list[str]) -> Spending:
    """`spends`, see spends(), and `settles`: whether the journal must record such a change as made,
    one of this run or one that an interrupted run began.
    """
    words = spends(member, drift, reasons)
    begun = member.side == "source" and member.facts.get("settings_open")
    return {"spends": words, "settles": bool(words or begun)}


def spends(member: Member, drift: Drift, reasons: list[str]) -> str:
    """Why a plan invalidates the last look at a source, in words: it changes what the source waits
    for, or shuts it down cleanly, which confirms waiting commits. Empty if it does neither.

    Args:
        drift: variable -> (what it is, what is wanted), of what is set on the running server too.
        reasons: of restart_reasons().
    """
    if member.side != "source":
        return ""
    names = member.facts["names"]["source"]["variables"]
    waiting = sorted(names[key] for key in WAITS_BY if key in names and names[key] in drift)
    words = [f"{name} goes from {drift[name][0]} to {drift[name][1]}" for name in waiting]
    return "; ".join(words + (["its server is restarted"] if reasons else []))
