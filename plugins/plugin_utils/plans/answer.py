# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host's HTTP answer for routers has to be set up, changed or taken away."""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.answer import place
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils.settings import ROLES, Settings

PROGRAM = os.path.join(ROLES, "answer", "files", "answer.py")


def program() -> str:
    with open(PROGRAM, encoding="utf-8") as stream:
        return stream.read()


def begins(member: Member) -> bool:
    """Whether the answer may say yes without a journal.

    Who is the source today counts as long as nothing was written down; after that it is a matter of
    the journal, and what was said once stays, so that a change of roles changes no file.
    """
    now = member.info.get("answer")
    if member.info.get("journal") and now:
        settings = now["files"].get(place.paths(int(member.info["variables"]["port"]))["settings"])
        return '"begins": true' in (settings or "")
    return member.side == "source"


def step(member: Member, settings: Settings) -> dict[str, Any]:
    """What has to be done: {'step': none, present or absent, 'why': list of words, and what the
    module takes}.
    """
    info, port = member.info, settings["http_port"]
    now = info.get("answer")
    wanted = {
        "port": port,
        "address": settings["http_address"],
        "schema": settings["canary_schema"],
        "begins": begins(member),
    }
    if not port:
        return dict(wanted, step="absent" if now else "none", why=["it is there"] if now else [])
    why = place.lacking(
        now,
        place.files(
            int(info["variables"]["port"]),
            wanted,
            program(),
            now["python"] if now else "",
            info["variables"]["socket"],
            info["names"]["show_channels"],
        ),
    )
    return dict(wanted, step="present" if why else "none", why=why)


def problems(member: Member, settings: Settings) -> list[str]:
    """Why a host cannot have the answer that is asked for."""
    port, server_port = settings["http_port"], int(member.info["variables"]["port"] or 0)
    if port and port == server_port:
        return [
            f"{member.host}: semisync_http_port is {port}, at which its server listens; give the"
            " answer another"
        ]
    return []
