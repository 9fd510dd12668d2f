# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host's heartbeat has to be set up, changed or removed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, TypedDict, cast

from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_place
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, names_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import ROLES, Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import answer

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        HeartbeatStep,
    )

PROGRAM = os.path.join(ROLES, "heartbeat", "files", "heartbeat.py")


class Kept(TypedDict, total=False):
    """What a host's service is set to, as far as a plan reads it."""

    begins: bool


def programs() -> dict[str, str]:
    """The text of the service, and of what it imports."""
    with open(PROGRAM, encoding="utf-8") as stream:
        own = stream.read()
    return {"program": own, "answer": answer.program(), "places": answer.program("places.py")}


def kept(member: Member) -> Kept:
    """The settings that a host's service has."""
    now = member.facts.get("heartbeat")
    path = beat_place.paths(member.port)["settings"]
    try:
        return cast("Kept", json.loads(now["files"].get(path) or "{}")) if now else {}
    except ValueError:
        return {}


def begins(member: Member) -> bool:
    """Whether it may beat without a journal: see answer.begins()."""
    if member.facts.get("journal") and member.facts.get("heartbeat"):
        return bool(kept(member).get("begins"))
    return member.side == "source"


def step(member: Member, settings: Settings) -> HeartbeatStep:
    """What has to be done: {'step': none, present or absent, 'why': list of words, and what the
    module takes}.
    """
    info, interval = member.facts, settings["heartbeat_seconds"]
    now = info.get("heartbeat")
    wanted: HeartbeatStep = {
        "interval": interval,
        "schema": settings["canary_schema"],
        "begins": begins(member),
        "table": member.side == "source",
        "step": "none",
        "why": [],
    }
    if not interval:
        gone: HeartbeatStep = {**wanted, "step": "absent", "why": ["it is there"]}
        return gone if now else wanted
    # Not at the top: Ansible would compile it in every run, and most clusters have no heartbeat.
    from ansible_collections.dbre.semisync.plugins.module_utils._heartbeat import beat_units

    files = beat_units.files(
        member.port,
        beat_units.Wanted(
            interval=interval,
            schema=settings["canary_schema"],
            begins=wanted["begins"],
            python=now["python"] if now else "",
            names=names_of(info),
            variables=info["variables"],
        ),
        programs(),
    )
    why = beat_place.differences(now, files)
    return {**wanted, "step": "present" if why else "none", "why": why}
