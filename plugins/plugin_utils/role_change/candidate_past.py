# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the last look at a source says of its replicas: who was started since, and what it may have
confirmed alone.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    last_look,
    relay_logs,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings


def sentences(members: list[Member], last: dict[str, Any] | None, now: float) -> list[str]:
    """What it says, in words, where any replica was read.

    Args:
        last: what verify.yml kept of its last look at the source, or None.
        now: the controller's clock.
    """
    evidence = survivors.Evidence(members, {}, {}, None, last, Settings(), now)
    read = survivors.readable(members)
    if not read:
        return []
    lines = []
    for member in read:
        words = relay_logs.lost(evidence, member)
        if words:
            lines.append(f"{member.host} may lack what it acknowledged: {words}.")
    return [*lines, of_source(evidence)]


def of_source(evidence: survivors.Evidence) -> str:
    """Whether the source may have confirmed anything alone."""
    host = source_of(evidence.members).host
    blind, lapse = last_look.unwatched(evidence), last_look.window(evidence)
    if blind:
        return f"Whether {host} confirmed commits alone is not known: {blind}."
    unknown = last_look.since_unknown(evidence)
    if unknown:
        return f"{host} may have confirmed commits alone: {unknown}."
    if not lapse:
        return f"{host} has confirmed nothing alone: its timeout is not over since the last look."
    begin = survivors.stamp(lapse.begin)
    if lapse.known:
        return (
            f"{host} was degraded at the last look: what it confirmed from {begin} on may be on no"
            " replica."
        )
    return (
        f"{host} has confirmed nothing alone before {begin}; from then on its timeout may have been"
        " over."
    )
