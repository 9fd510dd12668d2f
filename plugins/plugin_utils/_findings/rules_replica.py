# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a replica: it does not acknowledge, apply, keep or verify what it receives."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import skipped_errors, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import INFO, WARNING
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kinds import finding


def off(value: str | None) -> bool:
    """Whether a server says that it is off; one that does not say is not taken for it."""
    return value is not None and values.canonical_value(value) == "0"


def skipping_findings(member: Member) -> list[Finding]:
    known = member.facts["variables"]
    asked = {name: known.get(name) for name in skipped_errors.VARIABLES}
    said = [f"{name} is {known[name]}" for name in skipped_errors.that_let_it(asked)]
    return [finding("applier_skips", member, ", ".join(said))] if said else []


def replica_findings(member: Member) -> list[Finding]:
    info, variables, entries = member.facts, member.facts["variables"], []
    enabled = info["semisync"]["replica"]["variables"]["enabled"]
    if enabled != "ON":
        entries.append(
            finding(
                "semisync_off",
                member,
                f"{info['names']['replica']['variables']['enabled']} is {enabled or 'not there'}",
                WARNING,
                variant="replica",
            )
        )
    if variables.get("sync_relay_log") not in (None, "1"):
        entries.append(
            finding(
                "relay_log_not_synced", member, f"sync_relay_log is {variables['sync_relay_log']}"
            )
        )
    if member.channel and not member.channel["gtid"] and off(variables.get("relay_log_recovery")):
        entries.append(
            finding(
                "relay_log_not_recovered",
                member,
                "relay_log_recovery is OFF, and the channel follows by file and position",
            )
        )
    if off(variables.get("read_only")):
        # Our option file makes it read-only unless that was undone by hand; whether applications
        # write to another replica is not for us to judge.
        ours = "read_only" in option_files.parse_ours(info["option_files"]["ours"])
        entries.append(
            finding("replica_writable", member, "read_only is OFF", WARNING if ours else INFO)
        )
    return entries


def verification_findings(member: Member) -> list[Finding]:
    """Whether a replica can verify that it is connected to its source: by an authority, or from
    MariaDB 11.4 on by the account's password.
    """
    channel = member.channel
    if channel is None or (channel["tls"] and (channel["tls_ca"] or channel["tls_verify"])):
        return []
    seen = "TLS without an authority" if channel["tls"] else "no TLS"
    return [
        finding(
            "replication_unverified",
            member,
            f"the channel to {channel['source_host']} has {seen}",
        )
    ]


def applier_findings(member: Member, lag_limit: int) -> list[Finding]:
    """A replica whose IO thread acknowledges what its SQL thread does not apply."""
    channel = member.channel
    if not channel or channel["io_running"] != "Yes":
        return []
    if channel["sql_running"] != "Yes":
        return [
            finding(
                "applier_stopped",
                member,
                f"SQL thread {channel['sql_running']}"
                + (f": {channel['last_sql_error']}" if channel["last_sql_error"] else ""),
            )
        ]
    behind = channel["seconds_behind"]
    if behind is not None and int(behind) > lag_limit:
        return [
            finding(
                "applier_behind",
                member,
                f"{int(behind)} seconds behind its source (more than {lag_limit})"
                + (f", of which {channel['delay']} are configured" if channel["delay"] else ""),
            )
        ]
    return []
