# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A premise of a switchover, and the premises about connections between servers: addresses, the
account, and trusted certificates.
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines, tls
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    SwitchoverLooks,
)

# Of every premise: the checkpoints of the switchover itself begin with S1.
POINT = "S0"


def premise(title: str, host: str, good: bool, observed: str, remedy: str) -> Check:
    """One condition that must hold before anything is changed.

    Args:
        title: says what must hold.
        remedy: what to do if it does not.
    """
    return check.condition(POINT, host, title, observed, good, remedy)


def connection_premises(
    source: Member,
    target: Member,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
) -> Iterator[Check]:
    """Whether all members can log in to the target, with their account and TLS."""
    yield premise(
        "the replication account's password is known",
        target.host,
        bool(settings["replication_password"]),
        "yes" if settings["replication_password"] else "semisync_replication_password is empty",
        "set it: the old source logs in with it",
    )
    for member in replicas_of(members):
        user = member.channel["source_user"] if member.channel else None
        yield premise(
            "its channel's account is the one of the inventory",
            member.host,
            user == settings["replication_user"],
            f"it logs in as {user}",
            "set semisync_replication_user",
        )
    yield from authority_premises(target, members, settings)
    yield premise(
        "other hosts can reach it",
        target.host,
        not option_lines.listens_on_loopback_only(target.facts),
        f"bind_address is {target.facts['variables'].get('bind_address')}",
        "run site.yml, which lets every member listen (semisync_bind_address)",
    )
    yield from login_premises(source, target, members, looks, settings)


def login_premises(
    source: Member,
    target: Member,
    members: list[Member],
    looks: SwitchoverLooks,
    settings: Settings,
) -> Iterator[Check]:
    """Whether each member can log in to the target, and the target to the source."""
    for member in members:
        other = source if member is target else target
        error = ((looks.get(member.host) or {}).get("reach") or {}).get(
            other.host, "it was not tried"
        )
        yield premise(
            f"it can log in to {other.host}",
            member.host,
            not error,
            error or f"as {settings['replication_user']} at {other.address}",
            "run site.yml; check bind_address, firewalls and the account there",
        )


def authority_premises(
    target: Member,
    members: list[Member],
    settings: Settings,
) -> Iterator[Check]:
    """Whether the servers that will follow the target trust its certificate.

    The authorities that MySQL generates have the same name on every host and no key identifiers. So
    one file cannot hold several: TLS uses the first of that name, and rejects what another signed.
    """
    generated = settings["replication_ssl_ca"] == tls.GENERATED
    generated = generated and settings["replication_ssl"] != "disabled"
    yield premise(
        "the certificate's authority holds for every source",
        target.host,
        not generated,
        "generated: each replica has the copy of one source's own" if generated else "yes",
        "set semisync_replication_ssl_ca to an authority that signed all certificates, or empty,"
        " and run site.yml",
    )
    for member in replicas_of(members):
        copy = member.facts["certificates"]["copy"]["path"]
        trusted = member.channel["tls_ca"] if member.channel else ""
        if member is not target and trusted:
            yield premise(
                "its channel's authority holds for every source",
                member.host,
                trusted != copy,
                f"{trusted}, the copy of one source's own" if trusted == copy else trusted,
                "run site.yml, which gives its channel semisync_replication_ssl_ca",
            )
