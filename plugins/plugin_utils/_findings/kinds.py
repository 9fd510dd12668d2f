# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of findings, by name, and how one is made.

A new kind goes into the file of its subject (kinds_*.py), and its rule into the file of rules with
the same ending.
"""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import (
    kinds_heartbeat,
    kinds_lossless,
    kinds_promotion,
    kinds_replica,
    kinds_server,
    kinds_source,
    kinds_topology,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding, Kind

TABLE: dict[str, Kind] = {
    **kinds_topology.TABLE,
    **kinds_source.TABLE,
    **kinds_lossless.TABLE,
    **kinds_heartbeat.TABLE,
    **kinds_replica.TABLE,
    **kinds_promotion.TABLE,
    **kinds_server.TABLE,
}


def finding(
    name: str,
    member: Member,
    evidence: str,
    severity: str | None = None,
    variant: str | None = None,
) -> Finding:
    """One finding.

    Args:
        name: of its kind.
        member: the host that it is about.
        evidence: what was seen.
        severity: instead of the kind's.
        variant: the name of the kind's variant that applies.
    """
    kind = TABLE[name]
    instead = kind.variants[variant] if variant else None
    # A host that was not read has no engine; its kinds have one source.
    engine = member.info["engine"] if member.info else ""
    return {
        "id": name,
        "severity": severity or kind.severity,
        "host": member.host,
        "title": (instead and instead.title) or kind.title,
        "evidence": evidence,
        "why": (instead and instead.why) or kind.why,
        "source": kind.source_of(engine),
        "remedy": (instead and instead.remedy) or kind.remedy,
    }
