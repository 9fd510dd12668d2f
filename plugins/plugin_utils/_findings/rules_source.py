# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a source: it does not wait, waits for the wrong thing, or would lose what it
confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import (
    CRITICAL,
    WARNING,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import known_bad
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Rise


def source_findings(
    member: Member,
    replicas: list[Member],
    count: int,
    past: Rise | None,
    since: str | None,
    settings: Settings,
) -> list[Finding]:
    """The findings of a source.

    Args:
        member: the source.
        replicas: those of its replicas that could be read.
        count: replicas that the cluster has.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        settings: what the inventory wants of the source.
    """
    return (
        waiting_findings(member, past, since)
        + client_findings(member, count)
        + unfinished_findings(member)
        + setting_findings(member)
        + inventory_findings(member, settings)
        + version_findings(member, replicas)
    )


def waiting_findings(member: Member, past: Rise | None, since: str | None) -> list[Finding]:
    """Does the source wait for acknowledgements, and did it since the last run?"""
    side = member.facts["semisync"]["source"]
    status, words = side["status"], rise_text(past)
    if side["variables"]["enabled"] != "ON":
        return [
            finding(
                "semisync_off",
                member,
                f"{member.facts['names']['source']['variables']['enabled']} is"
                f" {side['variables']['enabled'] or 'not there'}",
            )
        ]
    if status["status"] != "ON":
        return [
            finding(
                "degraded",
                member,
                f"{member.facts['names']['source']['statuses']['status']} is {status['status']},"
                f" {status['clients']} client(s); first seen"
                f" {since}{'; ' + words if words else ''}",
            )
        ]
    if words:
        return [finding("was_degraded", member, words, variant=variant_of(past))]
    return []


def variant_of(past: Rise | None) -> str | None:
    """The variant of was_degraded if semi-sync was off, and no commit is known to have been
    confirmed meanwhile.
    """
    if past is None or past["no_tx"]:
        return None
    return "not known" if past["reset"] else "nothing confirmed"


def rise_text(past: Rise | None) -> str:
    """What was confirmed unacknowledged since the last run, as text; empty if nothing was, or if it
    is not known.
    """
    if not past or not (past["no_tx"] or past["no_times"]):
        return ""
    counted = f"no_tx +{past['no_tx']}, no_times +{past['no_times']} since {past['since']}"
    if not past["reset"]:
        return counted
    return f"at least {counted} (the counters were reset since then: a restart or FLUSH STATUS)"


def client_findings(member: Member, count: int) -> list[Finding]:
    side = member.facts["semisync"]["source"]
    if side["status"]["clients"] is None or side["variables"]["enabled"] != "ON":
        return []
    connected, enough = (
        int(side["status"]["clients"]),
        int(side["variables"].get("wait_for_replica_count") or 1),
    )
    if connected >= count:
        return []
    return [
        finding(
            "clients_missing",
            member,
            f"{member.facts['names']['source']['statuses']['clients']} is {connected}, the cluster"
            f" has {count} replica(s), a commit waits for {enough}",
            CRITICAL if connected < enough else WARNING,
        )
    ]


def inventory_findings(member: Member, settings: Settings) -> list[Finding]:
    if member.facts["semisync"]["source"]["variables"]["enabled"] != "ON":
        # That is a finding of its own, and site.yml sets the values when it enables semi-sync.
        return []
    return [
        finding(
            "differs_from_inventory",
            member,
            f"{name} is {running}, {variable} is {wanted} (from the inventory, or the"
            " collection's default)",
        )
        for variable, name, running, wanted in option_lines.differing_from_inventory(
            member.facts, settings
        )
    ] + names_findings(member, settings)


def names_findings(member: Member, settings: Settings) -> list[Finding]:
    """A source whose plugins have other names than the inventory asks for."""
    asked = settings.get("plugin_names", "auto")
    if asked == "auto":
        return []
    # Not at the top: Ansible would compile it in every run, and most have nothing to exchange.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import naming

    names = naming.kept(member, settings)
    evidence = f"its plugins have the {names} names, semisync_plugin_names is {asked}"
    return [finding("differs_from_inventory", member, evidence)] if names else []


def unfinished_findings(member: Member) -> list[Finding]:
    number = member.facts.get("settings_open")
    if not number:
        return []
    return [finding("settings_unfinished", member, f"row {number} of the journal is still begun")]


def setting_findings(member: Member) -> list[Finding]:
    variables, entries = member.facts["variables"], []
    semisync, names = (
        member.facts["semisync"]["source"]["variables"],
        member.facts["names"]["source"]["variables"],
    )
    if semisync.get("wait_point") == "AFTER_COMMIT":
        entries.append(finding("after_commit", member, f"{names['wait_point']} is AFTER_COMMIT"))
    if semisync.get("wait_no_replica") == "OFF":
        evidence = f"{names['wait_no_replica']} is OFF"
        if member.facts["engine"] == "mariadb":
            evidence += "; MariaDB's status then stays ON, even if no replica acknowledges"
        entries.append(finding("no_wait_without_replica", member, evidence))
    if int(semisync.get("timeout") or 0) >= known_bad.VERY_LONG:
        milliseconds = int(semisync["timeout"] or 0)
        entries.append(
            finding(
                "timeout_freezes_writers",
                member,
                f"{names['timeout']} is {int(milliseconds)} ms: {milliseconds / 3600000.0:.1f}"
                " hours",
            )
        )
    loose = [
        f"{name} is {variables[name]}"
        for name in DURABILITY
        if variables.get(name) not in (None, "1")
    ]
    if loose:
        entries.append(finding("source_not_durable", member, ", ".join(loose)))
    return entries


def version_findings(member: Member, replicas: list[Member]) -> list[Finding]:
    version = parse_version(member.facts["version"])
    entries = []
    for defect in known_bad.of_source(member.facts, [replica.facts for replica in replicas]):
        good = known_bad.first_good(defect, version)
        entry = finding(
            "known_bad_version",
            member,
            f"{member.facts['engine']} {member.facts['version_full']}: {defect.id}",
        )
        entry["why"] = defect.what[0].upper() + defect.what[1:] + "."
        entry["source"] = defect.source
        entry["remedy"] = f"Upgrade to {good} or later." if good else "Do not use the two together."
        entries.append(entry)
    return entries
