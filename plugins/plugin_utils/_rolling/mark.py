# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of restart.yml or upgrade.yml keeps of its cluster until it is done, so that
the next run finishes one that was interrupted: how each server was before, and what the run was
doing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import lifeline
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import upgrade_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# The files in the cluster's folder of results.
RESTART_FILE, UPGRADE_FILE = "restart_begun.json", "upgrade_begun.json"


class Before(TypedDict):
    """A server before the run.

    Attributes:
        pid: of its process; None if it is not on its host.
        uptime: seconds since it started.
        version: as three numbers.
        read_only: the variable's value.
        unit: its systemd unit.
        log: the path of its error log; empty if that is its unit's journal.
    """

    pid: int | None
    uptime: int
    version: str
    read_only: str
    unit: str
    log: str


class Mark(TypedDict):
    """A run that is not done.

    Attributes:
        began: when, as UTC.
        source: the host that was the source.
        target: the replica that becomes the source meanwhile; empty if the role does not move.
        back: whether the role returns.
        hosts: those to restart, as they were.
        working: the host whose server the run was restarting; empty if none.
        moving: the host to which the run was moving the role; empty if none.
        by: the process of the run that wrote this: its number, and what tells it from a later one.
        hooked: the working host if the user's tasks have changed its program; else empty.
        to: the version that the servers shall have; empty if they are only restarted.
    """

    began: str
    source: str
    target: str
    back: bool
    hosts: dict[str, Before]
    working: str
    moving: str
    by: str
    hooked: str
    to: str


class Wish(NamedTuple):
    """What the run is asked for.

    Attributes:
        target: the replica that becomes the source meanwhile; empty for the first.
        back: whether the role returns.
        accepted: names of cases that are accepted.
        consent: whether clients may be disturbed.
        units: host -> its semisync_service, if that is set.
        to: the version that the servers shall have; empty if they are only restarted.
    """

    target: str
    back: bool
    accepted: list[str]
    consent: bool
    units: Mapping[str, str]
    to: str = ""


def before(info: Info, unit: str) -> Before:
    """How a server is now."""
    log = info["variables"].get("log_error") or ""
    return {
        "pid": info["pid"],
        "uptime": info["uptime"]["seconds"],
        "version": info["version"],
        "read_only": info["variables"].get("read_only") or "",
        "unit": unit,
        "log": log if log.startswith("/") else "",
    }


def is_done(known: Mark, host: str, info: Info) -> bool:
    """Whether a server is as the run wants it: it has the version, or was restarted."""
    if known["to"]:
        return upgrade_path.reached(info["version"], known["to"])
    return was_restarted(known["hosts"][host], info)


def is_left(known: Mark, host: str, info: Info | None) -> bool:
    """Whether a server of the run is still to be restarted or upgraded: it is not as the run wants
    it, or the user's tasks for its upgrade did not end. A package may start the new version before
    the next task fails.
    """
    if info is None or not is_done(known, host, info):
        return True
    return bool(known["to"]) and known["working"] == host != known["hooked"]


def was_restarted(known: Before, info: Info) -> bool:
    """Whether a server was started since then. No clock is compared: that of a host may be set."""
    if known["pid"] and info["pid"] and known["pid"] != info["pid"]:
        return True
    return info["uptime"]["seconds"] < known["uptime"]


def made(
    began: str, source: str, target: str, wish: Wish, members: list[Member], hosts: list[str]
) -> Mark:
    """The mark of a run that begins.

    Args:
        hosts: those to restart.
    """
    return {
        "began": began,
        "source": source,
        "target": target,
        "back": bool(target) and wish.back,
        "hosts": {
            member.host: before(member.facts, unit_of(member, wish))
            for member in members
            if member.host in hosts
        },
        "working": "",
        "moving": "",
        "by": "",
        "hooked": "",
        "to": wish.to,
    }


def this_run() -> str:
    """What this run's ansible-playbook is known by; each task runs in a child of it."""
    return f"{os.getppid()} {lifeline.birth(os.getppid()) or ''}"


def at_work(known: Mark) -> str:
    """The process of another run that wrote this and lives; empty if there is none, or if that is
    not known, as on a system without /proc.
    """
    number, _blank, born = known["by"].partition(" ")
    if not born or known["by"] == this_run() or not number.isdigit():
        return ""
    return number if lifeline.birth(int(number)) == born else ""


def with_others(known: Mark, members: list[Member], wish: Wish) -> Mark:
    """The mark of an upgrade with hosts that had the version when it began, or were not there, and
    lack it now: new ones, and those that were seeded with the old version.
    """
    others = {
        member.host: before(member.info, unit_of(member, wish))
        for member in members
        if member.host not in known["hosts"]
        and member.info is not None
        and not is_done(known, member.host, member.info)
    }
    return {**known, "hosts": {**known["hosts"], **others}}


def unit_of(member: Member, wish: Wish) -> str:
    """The systemd unit of a member's server; empty if unknown."""
    return wish.units.get(member.host) or (member.info and member.info["unit"]) or ""


def is_down(member: Member) -> bool:
    """Whether a member was reached, and its server does not run or is about to start or stop."""
    return member.info is None and member.unread in ("stopped", "silent")


def pending(mark: Mark, members: list[Member]) -> list[str]:
    """The hosts that the run has left to do, or to bring back, in the members' order."""
    return [
        member.host
        for member in members
        if member.host in mark["hosts"]
        and (member.host == mark["working"] or is_left(mark, member.host, member.info))
    ]


def understood(kept: Mapping[str, object] | None) -> Mark | None:
    """The mark in a file's content; None if there is none."""
    return cast(Mark, kept) if kept and set(Mark.__annotations__) <= set(kept) else None
