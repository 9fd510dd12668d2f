# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host of a cluster, as the decisions on the controller see it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Channel,
        HeldRow,
        Info,
        Side,
    )

# Why nothing is known of a host that another failure has taken out of the run; never a first cause.
LOST = "failed or became unreachable in this run, which is said above"


class Member:
    """One host of a cluster.

    Args:
        host: inventory name.
        side: source or replica; the inventory's group until its server was read.
        info: result of semisync_info; None if the host could not be read.
        error: why there is no info, or "".
        address: how replicas reach this host.
        explicit_id: semisync_server_id of this host, 0 for automatic.
        settings: what the inventory requires of it, if the caller needs that.

    Attributes:
        group: source or replica by the inventory's groups, which say how the cluster began.
        unread: why there is no info: the kind of failure by semisync_info, or "unreachable"; empty
            if that is not known.
        disk_full: which of its file systems are full, in words; empty if none is known to be.
        renames: old or new: the names that its plugins are to have, and info is as after that;
            empty if they stay.
        replaced: whether all its data will be replaced, as by rejoin.yml's method seed.
        missed: the journal's row of a failover that this replica missed, so that it still follows
            the former source; None if it missed none.
    """

    def __init__(
        self,
        host: str,
        side: Side,
        info: Info | None,
        error: str = "",
        address: str = "",
        explicit_id: int = 0,
        settings: Settings | None = None,
    ) -> None:
        self.host, self.side, self.info, self.error = host, side, info, error
        self.group = side
        self.unread = ""
        self.disk_full = ""
        self.renames = ""
        self.replaced = False
        self.missed: HeldRow | None = None
        self.address, self.explicit_id = address or host, explicit_id
        self.settings = Settings() if settings is None else settings

    def but(self, **changes: Any) -> Member:
        """A copy with other values; this one stays as it is."""
        made = copy.copy(self)
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    @property
    def facts(self) -> Info:
        """What was read of it.

        Raises:
            ValueError: it could not be read.
        """
        if self.info is None:
            raise ValueError(f"{self.host} was not read: {self.error}")
        return self.info

    @property
    def channel(self) -> Channel | None:
        """The default replication channel as semisync_info tells it, or None."""
        return self.facts["channel"]

    @property
    def port(self) -> int:
        """At which its server listens."""
        return int(self.facts["variables"]["port"] or 3306)

    @property
    def link(self) -> Channel:
        """The channel of a replica that is known to have one.

        Raises:
            ValueError: it has none, or could not be read.
        """
        return followed(self.facts)

    @property
    def unread_words(self) -> str:
        """Why there is no info, without what to do."""
        return self.error.partition(". ")[0]


def names_of(info: Info) -> Names:
    """What a server that was read calls things."""
    return Names(info["engine"], parse_version(info["version"]), info["plugins"])


def followed(info: Info) -> Channel:
    """The channel of a replica that is known to have one.

    Raises:
        ValueError: it has none.
    """
    channel = info["channel"]
    if channel is None:
        raise ValueError("a server that was taken for a replica has no replication channel")
    return channel


def source_of(members: list[Member]) -> Member:
    return next(member for member in members if member.side == "source")


def replicas_of(members: list[Member]) -> list[Member]:
    return [member for member in members if member.side == "replica"]


def has_plugins(member: Member) -> bool:
    """Whether a server has plugins of semi-sync, or loads them when it starts."""
    return bool(member.facts["plugins"] or member.facts["plugins_registered"])
