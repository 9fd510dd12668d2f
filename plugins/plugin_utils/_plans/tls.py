# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a channel uses TLS and how it knows its source: what is wanted, and how a replica
differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        AuthorityCopy,
        CloneTls,
        WantedTls,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel, Info

MODES = ("auto", "required", "disabled")
# semisync_replication_ssl_ca: the authority that the source made for itself, copied to the replica.
GENERATED = "generated"


def wanted(settings: Settings, source: Info, replica: Info, configuring: bool) -> WantedTls | None:
    """What a replica's channel should have: {'ssl', 'ca', 'verify'}, or None if it stays unchanged.

    Args:
        settings: the wanted values, under short names.
        source: result of semisync_info on the source.
        replica: the same of the replica.
        configuring: whether the channel is set up in this run.

    Returns:
        'ca' and 'verify' are None if the server's default is right.
    """
    mode, silent = settings["replication_ssl"], replica["names"]["verifies_source_by_default"]
    if mode == "auto" and not configuring:
        return None
    if mode == "disabled" or (mode == "auto" and not source["tls"]["on"]):
        return {"ssl": False, "ca": None, "verify": False if silent else None}
    ca: str | None = settings["replication_ssl_ca"]
    name = settings["replication_ssl_verify_name"]
    if ca == GENERATED:
        ca = replica["certificates"]["copy"]["path"]
    # MariaDB 11.4 and later proves itself by the account's password. Set explicitly, because a
    # channel may have another value.
    proves = silent and not ca and source["names"]["proves_itself_by_password"]
    return {"ssl": True, "ca": ca, "verify": bool(name or proves)}


def clone(settings: Settings, source: Info, replica: Info) -> CloneTls:
    """TLS of a clone: {'need', 'ca'}.

    Args:
        settings: the wanted values, under short names.
        source: result of semisync_info on the source.
        replica: the same of the replica.

    Returns:
        need: required; disabled; or any, with which the server itself takes TLS if it can.
        ca: the file on the replica that must have signed the source's certificate, or None.
    """
    want = wanted(settings, source, replica, configuring=True)
    if settings["replication_ssl"] == "disabled":
        return {"need": "disabled", "ca": None}
    if want is None or not want["ssl"]:
        return {"need": "any", "ca": None}
    return {"need": "required", "ca": want["ca"] or None}


def copy_of_authority(
    settings: Settings, source: Info, replica: Info, configuring: bool
) -> AuthorityCopy | None:
    """The file with the source's authority on a replica: {'path', 'content', 'changed'}, or None
    if none is wanted.
    """
    want = wanted(settings, source, replica, configuring)
    if not want or not want["ssl"] or settings["replication_ssl_ca"] != GENERATED:
        return None
    copy, text = replica["certificates"]["copy"], source["certificates"]["ca"]
    # A seeding before this replaces the folder.
    return {"path": copy["path"], "content": text, "changed": configuring or copy["text"] != text}


def differs(want: WantedTls | None, channel: Channel | None) -> bool:
    """Whether a channel's TLS is not what is wanted."""
    if want is None or channel is None:
        return False
    if want["ssl"] != channel["tls"]:
        return True
    return want["ssl"] and (
        want["ca"] != channel["tls_ca"] or want["verify"] not in (None, channel["tls_verify"])
    )


def tls_problems(
    settings: Settings, source: Member, replica: Member, configuring: bool
) -> list[str]:
    """Why a replica's channel cannot have the TLS that is wanted, in words; empty if it can.

    Args:
        source: plan.Member.
        replica: plan.Member.
    """
    want = wanted(settings, source.facts, replica.facts, configuring)
    if not want or not want["ssl"]:
        return []
    if not source.facts["tls"]["on"]:
        return [
            f"{source.host}: semisync_replication_ssl is required, but the server has no TLS: give"
            " it ssl_cert and ssl_key, or set it to disabled"
        ]
    if settings["replication_ssl_ca"] == GENERATED and not source.facts["certificates"]["ca"]:
        remedy = (
            "leave it empty: this server proves itself by the account's password"
            if source.facts["names"]["proves_itself_by_password"]
            else "name a file on the replicas"
        )
        return [
            f"{source.host}: semisync_replication_ssl_ca is generated, but the server has no"
            f" authority of its own (ssl_ca is {source.facts['variables'].get('ssl_ca') or ''!r});"
            f" {remedy}"
        ]
    if (
        want["verify"]
        and not want["ca"]
        and not replica.facts["names"]["verifies_source_by_default"]
    ):
        return [
            f"{replica.host}: semisync_replication_ssl_verify_name needs"
            " semisync_replication_ssl_ca"
        ]
    return []
