# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host's HTTP answer for routers has to be set up, changed or taken away."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.answer import place, units
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import ROLES, Settings

FILES = os.path.join(ROLES, "answer", "files")


def program(name: str = "answer.py") -> str:
    with open(os.path.join(FILES, name), encoding="utf-8") as stream:
        return stream.read()


def begins(member: Member) -> bool:
    """Whether the answer may say yes without a journal.

    Who is the source today counts as long as nothing was written down; after that it is a matter of
    the journal, and what was said once stays, so that a change of roles changes no file.
    """
    if member.facts.get("journal") and member.facts.get("answer"):
        return bool(kept(member).get("begins"))
    return member.side == "source"


def kept(member: Member) -> dict[str, Any]:
    """The settings that a host's answer has."""
    now = member.facts.get("answer")
    path = place.paths(member.port)["settings"]
    try:
        settings: dict[str, Any] = json.loads(now["files"].get(path) or "{}") if now else {}
    except ValueError:
        return {}
    return settings


def peers(member: Member, members: Sequence[Member], settings: Settings) -> list[str]:
    """Where the answers of the other hosts are, by which one that was away hears what happened.

    One that is held is no member; that it is told to the others still changes no file.
    """
    wanted = []
    for other in members:
        theirs = other.settings or settings
        if other is not member and theirs["http_port"]:
            address = theirs["http_address"]
            away = address in (*units.EVERYWHERE, "localhost") or address.startswith("127.")
            wanted.append(place.peer(other.address if away else address, theirs["http_port"]))
    known = kept(member).get("peers") or []
    return sorted(known if set(wanted) <= set(known) else wanted)


def allowed(member: Member, settings: Settings) -> list[str]:
    """Addresses and networks that may ask: with the host's own, by which it may ask itself."""
    named = list(settings["http_allow"])
    own = [member.address] if named and units.is_address(member.address) else []
    return named + [address for address in own if address not in named]


def step(member: Member, members: Sequence[Member], settings: Settings) -> dict[str, Any]:
    """What has to be done: {'step': none, present or absent, 'why': list of words, and what the
    module takes}.
    """
    info, port = member.facts, settings["http_port"]
    now = info.get("answer")
    wanted = {
        "port": port,
        "address": settings["http_address"],
        "schema": settings["canary_schema"],
        "begins": begins(member),
        "peers": peers(member, members, settings),
        "allow": allowed(member, settings),
    }
    if not port:
        return dict(wanted, step="absent" if now else "none", why=["it is there"] if now else [])
    why = place.lacking(
        now,
        units.files(
            member.port,
            wanted,
            program(),
            program("places.py"),
            now["python"] if now else "",
            info["variables"]["socket"] or "",
            info["names"]["show_channels"],
        ),
    )
    return dict(wanted, step="present" if why else "none", why=why)


def problems(member: Member, settings: Settings) -> list[str]:
    """Why a host cannot have the answer that is asked for."""
    port, server_port = settings["http_port"], int(member.facts["variables"]["port"] or 0)
    if port and port == server_port:
        return [
            f"{member.host}: semisync_http_port is {port}, at which its server listens; give the"
            " answer another"
        ]
    strange = [one for one in settings["http_allow"] if not units.is_address(one)]
    if port and strange:
        return [
            f"{member.host}: semisync_http_allow has {', '.join(strange)}, which is neither an"
            " address nor a network"
        ]
    return []
