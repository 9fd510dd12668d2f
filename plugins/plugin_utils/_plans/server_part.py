# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done to one server: its options, what is set while it runs, and whether that needs
a restart or invalidates the last look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import durability_mode
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import Settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines, replication

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        Drift,
        Line,
        OptionFileStep,
        ServerPart,
        Spending,
        StagePart,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

# What a source waits for, under the collection's keys.
WAITS_BY = ("enabled", "timeout", "wait_no_replica", "wait_point", "wait_for_replica_count")


def option_file_step(member: Member, text: str | None) -> OptionFileStep:
    """Where our lines go, and whether they are already there."""
    place = member.facts["option_files"]
    if text is not None and place["kind"] == "drop-in":
        text = option_files.HEADER + text
    return {
        "path": place["path"],
        "kind": place["kind"],
        "marker": place["marker"],
        "before": place["ours"],
        "content": text,
        "changed": place["ours"] != text,
    }


def can_wait(member: Member, apply: str) -> tuple[str, ...]:
    """Variables that need a restart, but can wait for the next one: a working replica needs its
    address for others only when it is promoted, and apply=online restarts it only for what it needs
    now.
    """
    if apply == "online" and member.side == "replica" and channels.running(member.channel):
        return ("bind_address",)
    return ()


def restart_reasons(
    drift: Drift, file_changed: bool, apply: str, waiting: tuple[str, ...] = ()
) -> list[str]:
    """Why the server must restart; an empty list if every difference can be set at run time, or
    nothing differs.

    The procedure enables semi-sync by option file and restart. If semi-sync is on, or the file is
    already right, only a variable that cannot be set at run time justifies a restart; apply=online
    never restarts for a variable that can.
    """
    switching_on = (
        file_changed
        and apply == "restart"
        and any(option_lines.switches_on(name, value) for name, (dummy, value) in drift.items())
    )
    needs = sorted(name for name in drift if switching_on or not option_lines.is_dynamic(name))
    if set(needs) <= set(waiting):
        return []
    return [f"{name} is {drift[name][0]}, {drift[name][1]} is wanted" for name in needs]


def server_part(
    member: Member, members: list[Member], settings: Settings, stage: StagePart
) -> ServerPart:
    """The server's options, what is set at run time, and whether it restarts."""
    info, opens = member.facts, durability_mode.opens_when_running(member, stage["stage"], settings)
    number, fresh = replication.wanted_id(member, members), replication.is_fresh(member, members)
    accompanied = bool(replicas_of(members))
    sections = option_lines.sections(
        member.side, info, settings, number, fresh, stage["stage"], accompanied
    )
    options = [pair for _comment, pairs in sections for pair in pairs]
    group = info["option_files"]["group"]
    text = option_files.render(sections, group) if options else None
    option_file = option_file_step(member, text)
    drift = differing(info, options, opens)
    later = can_wait(member, settings["apply"])
    reasons = restart_reasons(drift, option_file["changed"], settings["apply"], later)
    now = {name: pair[1] for name, pair in drift.items() if name not in later}
    set_global = {} if reasons else now
    restart_io = not reasons and needs_new_connection(member, stage["stage"], set_global)
    return {
        "server_id": number,
        "fresh": fresh,
        "option_file": option_file,
        "restart": bool(reasons),
        "restart_reasons": reasons,
        **spending(member, drift, reasons),
        "opens": opens,
        "set_global": set_global,
        "restart_io": restart_io,
        "server_changes": bool(
            stage["install"]
            or stage["renames"]
            or option_file["changed"]
            or reasons
            or set_global
            or restart_io
        ),
    }


def spending(member: Member, drift: Drift, reasons: list[str]) -> Spending:
    """`spends`, see spends(), and `settles`: whether the journal must record as made such a change
    of this run, or one that an interrupted run began.
    """
    words = spends(member, drift, reasons)
    begun = member.side == "source" and member.facts.get("settings_open")
    return {"spends": words, "settles": bool(words or begun)}


def spends(member: Member, drift: Drift, reasons: list[str]) -> str:
    """Why a plan invalidates the last look at a source, in words: it changes what the source waits
    for, or shuts it down cleanly, which confirms waiting commits. Empty if it does neither.

    Args:
        drift: variable -> (what it is, what is wanted), of what is set on the running server too.
        reasons: of restart_reasons().
    """
    if member.side != "source":
        return ""
    names = member.facts["names"]["source"]["variables"]
    waiting = sorted(names[key] for key in WAITS_BY if key in names and names[key] in drift)
    words = [f"{name} goes from {drift[name][0]} to {drift[name][1]}" for name in waiting]
    return "; ".join(words + (["its server is restarted"] if reasons else []))


def differing(info: Info, options: list[Line], opens: bool) -> Drift:
    """What must change in the running server.

    Args:
        opens: whether it must start to take writes.
    """
    drift = option_lines.drift(options, info) | option_lines.withdrawn(options, info)
    if opens:
        # At run time only: its line keeps writers out at the next start.
        running = info["variables"].get("read_only")
        drift.pop("read_only", None)
        if not values.same_value(running, "OFF"):
            drift["read_only"] = (running, "OFF")
    return drift


def needs_new_connection(member: Member, stage: str, set_global: Mapping[str, object]) -> bool:
    """Whether a replica's IO thread must reconnect, to acknowledge as configured."""
    if member.side != "replica":
        return False
    replica = member.facts["semisync"]["replica"]
    runs = channels.running(member.channel)
    waiting = stage == "full" and runs and replica["status"]["status"] != "ON"
    return waiting or touches_acknowledging(member.facts, set_global)


def touches_acknowledging(info: Info, variables: Iterable[str]) -> bool:
    """Whether a variable belongs to semi-sync's replica side, so that a running IO thread does not
    use its new value.
    """
    return any(name in info["names"]["replica"]["variables"].values() for name in variables)
