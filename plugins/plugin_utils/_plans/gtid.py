# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cluster that replicates by file and position changes to GTIDs: what each server lacks, and
why the change may be refused.

MySQL's servers take the modes step by step together (MySQL manual, "Enabling GTID Transactions
Online"): no server may be more than one step ahead of another. MariaDB gives every transaction a
GTID, so there only the channels change.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_mode import (
    STEPS,
    refusal,
    statement,
)
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtids import MysqlGtids
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines


def mariadb(member: Member) -> bool:
    return member.facts["engine"] == "mariadb"


def modes_lack(member: Member) -> bool:
    """Whether a MySQL server does not give its transactions GTIDs, or does not require them."""
    return not mariadb(member) and statement("on", member.facts["variables"]) is not None


def lines_lack(member: Member) -> bool:
    """Whether the next start would undo the modes."""
    if mariadb(member):
        return False
    options, persisted = member.facts["option_files"]["options"], member.facts["persisted"]
    return any(
        not values.same_value(options.get(name), value)
        and not values.same_value(persisted.get(name), value)
        for name, value in option_lines.GTID_OPTIONS
    )


def converts(member: Member) -> bool:
    """Whether a replica's channel follows by file and position."""
    return member.side == "replica" and member.channel is not None and not member.channel["gtid"]


def starts(member: Member) -> bool:
    """Whether an interrupted conversion left a replica stopped, with its channel already by
    GTID.
    """
    channel = member.channel
    return bool(
        member.side == "replica"
        and channel
        and channel["gtid"]
        and (channel["io_running"], channel["sql_running"]) == ("No", "No")
        and not channel["last_io_error"]
        and not channel["last_sql_error"]
    )


def option_file(member: Member) -> dict[str, Any]:
    """Where the two lines go, in the shape of semisync_plan's option_file."""
    text = member.facts["option_files"]["ours"]
    if lines_lack(member):
        section = [(option_lines.GTID_COMMENT, option_lines.GTID_OPTIONS)]
        rendered = option_files.render(section, member.facts["option_files"]["group"])
        # The rendered text begins with the group; only what follows is added to our present text.
        text = text + rendered.partition("\n")[2] if text else rendered
    place = member.facts["option_files"]
    header = (
        option_files.HEADER if place["kind"] == "drop-in" and not place["ours"] and text else ""
    )
    return {
        "path": place["path"],
        "kind": place["kind"],
        "marker": place["marker"],
        "before": place["ours"],
        "content": header + text if text else text,
        "changed": lines_lack(member),
    }


def gtid_plan(member: Member, members: list[Member]) -> dict[str, Any]:
    """What the conversion has to do on one host; see the RETURN section of semisync_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info.
    """
    result: dict[str, Any] = {
        "side": member.side,
        "anonymous": any(modes_lack(other) for other in members),
        "statements": [
            text
            for text in (statement(step[0], member.facts["variables"]) for step in STEPS)
            if text and not mariadb(member)
        ],
        "option_file": option_file(member),
        "convert": converts(member),
        "start": starts(member),
    }
    result["changes"] = bool(
        result["statements"]
        or result["option_file"]["changed"]
        or result["convert"]
        or result["start"]
    )
    return result


def needed(members: list[Member]) -> bool:
    return any(
        modes_lack(member) or lines_lack(member) or converts(member) or starts(member)
        for member in members
    )


def conversion_problems(members: list[Member]) -> list[str]:
    """Why a cluster cannot be converted, in words; an empty list if it can, or need not be."""
    if not needed(members):
        return []
    reasons = []
    for member in members:
        reasons += of_server(member)
    reasons += of_strangers(members)
    for member in replicas_of(members):
        reasons += of_replica(member, source_of(members))
    return reasons


def of_server(member: Member) -> list[str]:
    info, reasons = member.facts, []
    server = f"{member.host}: {info['engine']} {info['version']}"
    if not info["names"]["gtid"]:
        reasons.append(f"{server} has no GTIDs; they begin with MySQL 5.6.9 and MariaDB 10.0.2")
    elif not info["names"]["gtid_online"] and modes_lack(member):
        reasons.append(
            f"{server} cannot migrate to GTIDs while it runs; that begins with MySQL 5.7.6. Stop"
            " writing, let the replicas catch up, restart all servers of the cluster with gtid_mode"
            " = ON and enforce_gtid_consistency = ON, and run again"
        )
    for name, value in option_lines.GTID_OPTIONS:
        persisted = info["persisted"].get(name)
        if persisted is not None and not values.same_value(persisted, value):
            reasons.append(
                f"{member.host}: {name} is persisted as {persisted} (SET PERSIST), and the next"
                f" start would bring that back; run RESET PERSIST {name}"
            )
    return reasons


def of_strangers(members: list[Member]) -> list[str]:
    """Servers outside the inventory that replicate with these: a server with gtid_mode OFF stops at
    the first transaction with a GTID.
    """
    if not any(modes_lack(member) for member in members):
        return []
    reasons = []
    for member in members:
        if member.facts["other_channels"]:
            reasons.append(
                f"{member.host} has further channels ({', '.join(member.facts['other_channels'])});"
                " all servers that replicate with each other migrate to GTIDs together; remove"
                " these channels first"
            )
        ours = len(
            [
                other
                for other in replicas_of(members)
                if other.channel and other.channel["io_running"] == "Yes"
            ]
        )
        ours = ours if member.side == "source" else 0
        readers = member.facts["readers"]
        if len(readers) > ours:
            reasons.append(
                f"{len(readers)} sessions read the binary log of {member.host}, from"
                f" {', '.join(sorted({reader['host'] for reader in readers}))}, and {ours} of them"
                " are this cluster's replicas; a replica that is not in the inventory would stop."
                " Put it there, or disconnect it"
            )
    return reasons


def of_replica(member: Member, source: Member) -> list[str]:
    reasons: list[str] = []
    if not converts(member):
        return reasons
    channel = member.link
    errors = [error for error in (channel["last_io_error"], channel["last_sql_error"]) if error]
    if errors:
        reasons.append(f"{member.host} does not replicate: {'; '.join(errors)}")
    lost = replayed(member, source)
    if lost:
        reasons.append(refusal(member.host, source.host, lost))
    return reasons


def replayed(member: Member, source: Member) -> str:
    """Old GTIDs that the replica lacks, on a source whose transactions get no GTIDs yet."""
    if mariadb(member) or (source.facts["variables"]["gtid_mode"] or "OFF") not in (
        "OFF",
        "OFF_PERMISSIVE",
    ):
        return ""
    there, here = (
        MysqlGtids.parse(one.facts["gtid"].get("gtid_executed")) for one in (source, member)
    )
    return str(there.minus(here))
