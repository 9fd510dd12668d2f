# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cluster returns to asynchronous replication: what the collection set up, and what has to be
undone on each host.

Our lines in the option file prove that the collection set up semi-sync on a host. They are removed
last, so that the next run finishes an interrupted removal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, values
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    REPLICA,
    SOURCE,
    SWITCHES,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        ReceivedGone,
    )
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Side

LEFT_BEHIND_HEADER = (
    "# Replication needs these. The Ansible collection dbre.semisync wrote them once; they are"
    " yours now.\n"
)


def is_semisync(name: str) -> bool:
    return name.startswith("rpl_semi_sync")


def sides(member: Member) -> list[Side]:
    """The sides of semi-sync that our lines configure on this host, on or off."""
    lines = option_files.parse_ours(member.facts["option_files"]["ours"])
    return sorted({side for name, side in SWITCHES.items() if name in lines})


def enabled(member: Member, side: Side) -> bool:
    return member.facts["semisync"][side]["variables"]["enabled"] == "ON"


def left_behind(member: Member) -> str | None:
    """The text of the lines that replication needs after the next restart too; None if our text has
    none.

    A replica's address for others was only for its promotion: it is removed.
    """
    goes = (*option_lines.DYNAMIC, *(("bind_address",) if member.side == "replica" else ()))
    lines = [
        (name, value)
        for name, value in option_files.parse_ours(member.facts["option_files"]["ours"]).items()
        if not is_semisync(name) and name not in goes
    ]
    if not lines:
        return None
    return (
        LEFT_BEHIND_HEADER
        + f"[{member.facts['option_files']['group']}]\n"
        + "".join(f"{name} = {value}\n" for name, value in lines)
    )


def option_file_step(member: Member) -> dict[str, Any]:
    """What happens to our lines: nothing, or they are removed and a text stays in some file."""
    files = member.facts["option_files"]
    text = left_behind(member)
    return {
        "path": files["path"],
        "kind": files["kind"],
        "marker": files["marker"],
        "ours": files["ours"] is not None,
        "left_behind": text,
        "left_behind_path": files["left_behind"]["path"],
        # Escaped, as the replacement of a regular expression.
        "replacement": (text or "").replace("\\", "\\\\"),
    }


def restart_io(member: Member) -> bool:
    """Whether a replica's IO thread still acknowledges, or an interrupted removal left it
    stopped.
    """
    channel = member.channel
    if member.side != "replica" or not channel or "replica" not in sides(member):
        return False
    acknowledges = member.facts["semisync"]["replica"]["status"]["status"] == "ON"
    return acknowledges and channel["io_running"] != "No"


def only_io_thread_is_down(member: Member) -> bool:
    """Whether only the IO thread is stopped: an interrupted removal may leave it so."""
    channel = member.channel
    return bool(
        member.side == "replica"
        and channel
        and sides(member)
        and channel["io_running"] == "No"
        and channel["sql_running"] == "Yes"
    )


def received_files(member: Member) -> ReceivedGone:
    """What goes of the service of plans/received.py."""
    now = member.facts.get("received")
    if not now or not (now["files"] or now["enabled"]):
        return {"gone": []}
    # Not at the top: Ansible would compile it in every run.
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import received

    return received.gone(member, now)


def removal_plan(member: Member, members: list[Member]) -> dict[str, Any]:
    """What has to be undone on one host; see the RETURN section of semisync_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info.
    """
    info, ours = member.facts, sides(member)
    result: dict[str, Any] = {
        "side": member.side,
        "source": source_of(members).host,
        "replicas": [other.host for other in replicas_of(members)],
        "switch_off": [side for side in ours if enabled(member, side)],
        "uninstall": [side for side in ours if info["names"][side]["plugin"] in info["plugins"]],
        "restart_io": restart_io(member),
        "start": only_io_thread_is_down(member),
        "channel_runs": channels.running(member.channel),
        "option_file": option_file_step(member),
    }
    result["answer"] = info.get("answer") is not None
    result["heartbeat"] = info.get("heartbeat") is not None
    result["received"] = received_files(member)
    result["changes"] = bool(
        result["answer"]
        or result["heartbeat"]
        or result["received"]["gone"]
        or result["switch_off"]
        or result["uninstall"]
        or result["restart_io"]
        or result["start"]
        or result["option_file"]["ours"]
    )
    return result


def remains(member: Member) -> list[str]:
    """What stays on a host because the collection did not set it up, in words."""
    reasons, info = [], member.facts
    if not sides(member):
        for side in (SOURCE, REPLICA):
            name = info["names"][side]["plugin"]
            if name and name in info["plugins"]:
                reasons.append(
                    f"{member.host}: the plugin {name} stays, because no line of ours says that the"
                    f" collection enabled it; UNINSTALL PLUGIN {name} removes it"
                )
    return reasons


def removal_problems(members: list[Member]) -> list[str]:
    """Why semi-sync cannot be removed from this cluster without harm; empty if it can."""
    reasons, source = [], source_of(members)
    if (
        enabled(source, "source")
        and "source" not in sides(source)
        and any("replica" in sides(other) for other in replicas_of(members))
    ):
        switch = source.facts["names"]["source"]["variables"]["enabled"]
        reasons.append(
            f"{source.host}: {switch} is ON, and no line of ours says that the collection did it;"
            " without its replicas every commit would wait for the timeout. Switch it off first:"
            f" SET GLOBAL {switch} = OFF"
        )
    for member in members:
        reasons += of_option_files(member)
    return reasons


def of_option_files(member: Member) -> list[str]:
    """Lines that are not ours and would keep the server from starting, or enable semi-sync
    again.
    """
    files, info, reasons = member.facts["option_files"], member.facts, []
    for side in sides(member):
        names = info["names"][side]["variables"]
        for name in sorted(set(names.values()) & set(files["elsewhere"])):
            if not info["names"]["builtin"]:
                reasons.append(
                    f"{member.host}: the option files set {name} besides our lines; without its"
                    " plugin the server may not start again. Remove that line first"
                )
            elif (
                name == names["enabled"] and values.canonical_value(files["elsewhere"][name]) != "0"
            ):
                reasons.append(
                    f"{member.host}: the option files set {name} besides our lines; the next"
                    " restart would bring semi-sync back. Remove that line first"
                )
    if files["left_behind"]["exists"] and left_behind(member):
        reasons.append(
            f"{member.host}: {files['left_behind']['path']} exists already; the lines that"
            " replication needs belong there. Move it away, or its lines into another file"
        )
    return reasons
