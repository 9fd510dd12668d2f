# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host's HTTP answer for routers has to be set up, changed or removed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout, units
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import ROLES, Settings

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import AnswerStep

FILES = os.path.join(ROLES, "answer", "files")


def program(name: str = "answer.py") -> str:
    with open(os.path.join(FILES, name), encoding="utf-8") as stream:
        return stream.read()


def begins(member: Member) -> bool:
    """Whether the answer may say yes without a journal.

    Today's source decides as long as the journal is empty; after that the journal does, and this
    setting stays, so that a role change changes no file.
    """
    if member.facts.get("journal") and member.facts.get("answer"):
        return bool(kept(member).get("begins"))
    return member.side == "source"


class AnswerSettings(TypedDict, total=False):
    """The settings of a host's answer; see module_utils/_answer/answer_layout.py, files()."""

    begins: bool
    peers: list[str]


def kept(member: Member) -> AnswerSettings:
    """The present settings of a host's answer."""
    now = member.facts.get("answer")
    path = answer_layout.paths(member.port)["settings"]
    try:
        return json.loads(now["files"].get(path) or "{}") if now else {}
    except ValueError:
        return {}


def peers(member: Member, members: Sequence[Member], settings: Settings) -> list[str]:
    """Where the other hosts' answers are; a host that was down learns from them what happened.

    A held host is not a member; it stays in the others' list, so that no file changes.
    """
    wanted = []
    for other in members:
        theirs = other.settings or settings
        if other is not member and theirs["http_port"]:
            address = theirs["http_address"]
            away = address in (*units.EVERYWHERE, "localhost") or address.startswith("127.")
            wanted.append(
                answer_layout.peer(other.address if away else address, theirs["http_port"])
            )
    known = kept(member).get("peers") or []
    return sorted(known if set(wanted) <= set(known) else wanted)


def may_ask(member: Member, others: Sequence[str], settings: Settings) -> list[str]:
    """The clients that may ask: the routers' addresses and networks, the host itself by its own
    address, and the other hosts, some by name; no limit if that is empty.

    Args:
        others: of peers().
    """
    routers = settings["http_allow"]
    if not routers:
        return []
    own = [member.address] if units.is_address(member.address) else []
    hosts = [other.rpartition(":")[0].strip("[]") for other in others]
    return list(dict.fromkeys([*routers, *own, *hosts]))


def let_in_by_systemd(allow: Sequence[str], address: str) -> list[str]:
    """The same for systemd, which takes no names: if there is a name, only the program keeps others
    out. The host also connects from the address at which the answer listens.

    Args:
        allow: of may_ask().
        address: at which it listens.
    """
    if not allow or not all(map(units.is_address, allow)):
        return []
    bare = address.strip("[]")
    own = [bare] if units.is_address(bare) and bare not in units.EVERYWHERE else []
    return [*allow, *own]


def step(member: Member, members: Sequence[Member], settings: Settings) -> AnswerStep:
    """What has to be done: {'step': none, present or absent, 'why': list of words, and what the
    module takes}.
    """
    info, port = member.facts, settings["http_port"]
    now = info.get("answer")
    others, address = peers(member, members, settings), settings["http_address"]
    allow = may_ask(member, others, settings)
    wanted: AnswerStep = {
        "port": port,
        "address": address,
        "schema": settings["canary_schema"],
        "begins": begins(member),
        "peers": others,
        "allow": allow,
        "filter": let_in_by_systemd(allow, address),
        "step": "none",
        "why": [],
    }
    if not port:
        gone: AnswerStep = {**wanted, "step": "absent", "why": ["it is there"]}
        return gone if now else wanted
    why = answer_layout.lacking(
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
    return {**wanted, "step": "present" if why else "none", "why": why}


def answer_problems(member: Member, settings: Settings) -> list[str]:
    """Why a host cannot have the requested answer."""
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
