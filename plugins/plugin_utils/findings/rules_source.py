# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a source: it does not wait, waits for the wrong thing, or would lose what it
confirmed.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.server.names import DURABILITY
from ansible_collections.dbre.semisync.plugins.module_utils.server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import known_bad
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.kinds import finding
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import option_lines
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import CRITICAL, WARNING


def of_source(
    member: Member,
    replicas: list[Member],
    count: int,
    past: dict[str, Any] | None,
    since: str | None,
    settings: Settings,
) -> list[dict[str, Any]]:
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
        of_service(member, past, since)
        + of_clients(member, count)
        + of_journal(member)
        + of_settings(member)
        + of_inventory(member, settings)
        + of_version(member, replicas)
    )


def of_service(
    member: Member, past: dict[str, Any] | None, since: str | None
) -> list[dict[str, Any]]:
    """Does the source wait for acknowledgements, and did it since the last run?"""
    side = member.facts["semisync"]["source"]
    status, words = side["status"], rise(past)
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
        return [finding("was_degraded", member, words, **was_off(past or {}))]
    return []


def was_off(past: dict[str, Any]) -> dict[str, str]:
    """What differs in the finding where semi-sync was off, and no commit is seen to have gone out
    meanwhile.
    """
    if past["no_tx"]:
        return {}
    title = "Semi-sync was off for a time since the last run"
    if past["reset"]:
        return {
            "title": title,
            "why": "Whether anything was confirmed meanwhile without an acknowledgement is not"
            " known: the counters began anew. Had the source died then, that would be lost.",
        }
    return {
        "title": title,
        "why": "Nothing was confirmed meanwhile without an acknowledgement. Had there been a"
        " commit, it would have been on the source alone.",
    }


def rise(past: dict[str, Any] | None) -> str:
    """What went out unacknowledged since the last run, in words; empty where nothing did, or nobody
    knows.
    """
    if not past or not (past["no_tx"] or past["no_times"]):
        return ""
    counted = f"no_tx +{past['no_tx']}, no_times +{past['no_times']} since {past['since']}"
    if not past["reset"]:
        return counted
    return f"at least {counted} (the counters began anew since then: a restart or FLUSH STATUS)"


def of_clients(member: Member, count: int) -> list[dict[str, Any]]:
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


def of_inventory(member: Member, settings: Settings) -> list[dict[str, Any]]:
    if member.facts["semisync"]["source"]["variables"]["enabled"] != "ON":
        # That is the finding then, and site.yml sets the values as it switches semi-sync on.
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
    ]


def of_journal(member: Member) -> list[dict[str, Any]]:
    number = member.facts.get("settings_open")
    if not number:
        return []
    return [finding("settings_unfinished", member, f"row {number} of the journal is begun")]


def of_settings(member: Member) -> list[dict[str, Any]]:
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
            evidence += "; the status of MariaDB stays ON then, whether anybody acknowledges or not"
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


def of_version(member: Member, replicas: list[Member]) -> list[dict[str, Any]]:
    version = parse_version(member.facts["version"])
    entries = []
    for defect in known_bad.of_source(member.facts, [replica.facts for replica in replicas]):
        good = known_bad.first_good(defect, version)
        entries.append(
            finding(
                "known_bad_version",
                member,
                f"{member.facts['engine']} {member.facts['version_full']}: {defect.id}",
                why=defect.what[0].upper() + defect.what[1:] + ".",
                source=defect.source,
                remedy=f"Upgrade to {good} or later." if good else "Do not use the two together.",
            )
        )
    return entries
