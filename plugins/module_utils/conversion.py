# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cluster that replicates by file and position goes to GTIDs: what each server lacks, and why it may not be done.

MySQL's servers step together through the modes (MySQL manual, "Enabling GTID Transactions Online"): none goes further
than one step ahead of another. MariaDB gives every transaction a GTID, so there only the channels change.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import gtid, plan, wanted
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile

MODES = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
CONSISTENCY = ("OFF", "WARN", "ON")
# Our step -> (the variable, its values in their order, the one that the step asks for), in the order of the steps.
STEPS = (
    ("warn", "enforce_gtid_consistency", CONSISTENCY, "WARN"),
    ("consistent", "enforce_gtid_consistency", CONSISTENCY, "ON"),
    ("off_permissive", "gtid_mode", MODES, "OFF_PERMISSIVE"),
    ("on_permissive", "gtid_mode", MODES, "ON_PERMISSIVE"),
    ("on", "gtid_mode", MODES, "ON"),
)
WAY_OUT = "docs/existing-hosts.md has the way out"


def statement(step, variables):
    """The statement of a step, or None on a server that is as far or further."""
    name, values, target = next(one[1:] for one in STEPS if one[0] == step)
    current = str(variables.get(name) or "OFF").upper()
    current = {"0": "OFF", "1": "ON"}.get(current, current)
    if values.index(current) >= values.index(target):
        return None
    return "SET GLOBAL %s = %s" % (name, target)


def mariadb(member):
    return member.info["engine"] == "mariadb"


def modes_lack(member):
    """True on a MySQL server that does not give its transactions GTIDs and insist on them."""
    return not mariadb(member) and statement("on", member.info["variables"]) is not None


def lines_lack(member):
    """True where the next start would undo the modes."""
    if mariadb(member):
        return False
    options, persisted = member.info["option_files"]["options"], member.info["persisted"]
    return any(not optfile.same_value(options.get(name), value) and not optfile.same_value(persisted.get(name), value)
               for name, value in wanted.GTID_OPTIONS)


def converts(member):
    """True on a replica whose channel follows by file and position."""
    return member.role == "replica" and member.channel is not None and not member.channel["gtid"]


def starts(member):
    """True on a replica that an interrupted conversion left stopped, with its channel by GTID already."""
    channel = member.channel
    return bool(member.role == "replica" and channel and channel["gtid"]
                and (channel["io_running"], channel["sql_running"]) == ("No", "No")
                and not channel["last_io_error"] and not channel["last_sql_error"])


def option_file(member):
    """Where the two lines go, in the shape of semisync_plan's option_file."""
    text = member.info["option_files"]["ours"]
    if lines_lack(member):
        section = [(wanted.GTID_COMMENT, wanted.GTID_OPTIONS)]
        rendered = optfile.render(section, member.info["option_files"]["group"])
        # Our text begins with the group; ours alone goes behind what is there.
        text = text + rendered.partition("\n")[2] if text else rendered
    place = member.info["option_files"]
    header = optfile.HEADER if place["kind"] == "drop-in" and not place["ours"] and text else ""
    return {"path": place["path"], "kind": place["kind"], "marker": place["marker"], "before": place["ours"],
            "content": header + text if text else text, "changed": lines_lack(member)}


def make(member, members):
    """What the conversion has to do on one host; see the RETURN section of semisync_gtid_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info.
    """
    result = {
        "role": member.role,
        "anonymous": any(modes_lack(other) for other in members),
        "statements": [found for found in (statement(step[0], member.info["variables"]) for step in STEPS)
                       if found and not mariadb(member)],
        "option_file": option_file(member),
        "convert": converts(member),
        "start": starts(member),
    }
    result["changes"] = bool(result["statements"] or result["option_file"]["changed"] or result["convert"]
                             or result["start"])
    return result


def needed(members):
    return any(modes_lack(member) or lines_lack(member) or converts(member) or starts(member) for member in members)


def problems(members):
    """Why a cluster cannot be converted, in words; an empty list where it can, or need not be."""
    if not needed(members):
        return []
    found = []
    for member in members:
        found += of_server(member)
    found += of_strangers(members)
    for member in plan.replicas_of(members):
        found += of_replica(member, plan.source_of(members))
    return found


def of_server(member):
    info, found = member.info, []
    if not info["names"]["gtid_online"]:
        found.append("%s: %s %s cannot go to GTIDs while it runs; that begins with MySQL 5.7.6 and MariaDB 10.0.2"
                     % (member.host, info["engine"], info["version"]))
    for name, value in wanted.GTID_OPTIONS:
        persisted = info["persisted"].get(name)
        if persisted is not None and not optfile.same_value(persisted, value):
            found.append("%s: %s is persisted as %s (SET PERSIST), and the next start would bring that back; run RESET "
                         "PERSIST %s" % (member.host, name, persisted, name))
    return found


def of_strangers(members):
    """Servers that replicate with these and are not in the inventory: a server whose gtid_mode is OFF stops at the first
    transaction with a GTID."""
    if not any(modes_lack(member) for member in members):
        return []
    found = []
    for member in members:
        if member.info["other_channels"]:
            found.append("%s has further channels (%s); all servers that replicate with each other go to GTIDs together"
                         % (member.host, ", ".join(member.info["other_channels"])))
        ours = len([other for other in plan.replicas_of(members) if other.channel and other.channel["io_running"] == "Yes"])
        ours = ours if member.role == "source" else 0
        readers = member.info["readers"]
        if len(readers) > ours:
            found.append("%d sessions read the binary log of %s, from %s, and %d of them are this cluster's replicas; a "
                         "replica that is not in the inventory would stop. Put it there, or disconnect it"
                         % (len(readers), member.host, ", ".join(sorted(set(reader["host"] for reader in readers))), ours))
    return found


def of_replica(member, source):
    channel, found = member.channel, []
    if not converts(member):
        return found
    errors = [error for error in (channel["last_io_error"], channel["last_sql_error"]) if error]
    if errors:
        found.append("%s does not replicate: %s" % (member.host, "; ".join(errors)))
    lost = replayed(member, source)
    if lost:
        found.append(refusal(member.host, source.host, lost))
    return found


def replayed(member, source):
    """What a source whose transactions get no GTIDs yet has of old ones that the replica lacks."""
    if mariadb(member) or (source.info["variables"]["gtid_mode"] or "OFF") not in ("OFF", "OFF_PERMISSIVE"):
        return ""
    return gtid.subtract(source.info["gtid"].get("gtid_executed", ""), member.info["gtid"].get("gtid_executed", ""))


def refusal(replica, source, lost):
    """Why a MySQL replica's channel stays by position."""
    return ("%s has not executed %s of its source %s under these GTIDs; by GTID it would be sent them again, and rows that "
            "are there already would stop it or be doubled. %s" % (replica, lost, source, WAY_OUT))


def mismatch(point, at_source):
    """Why a MariaDB replica's gtid_slave_pos is not where its file and position are, in words; empty where it is.

    Args:
        point: {'file', 'position', 'gtid'} of the replica at one moment.
        at_source: BINLOG_GTID_POS of that file and position on its source; None where the source does not know.
    """
    where = "%s:%s" % (point["file"], point["position"])
    if at_source is None:
        return "its source cannot say which GTIDs belong to %s; is that file purged?" % where
    if gtid.latest(point["gtid"]) == gtid.latest(at_source):
        return ""
    return ("it has applied its source's %s, which is GTID position '%s', but its gtid_slave_pos is '%s'; by GTID it would "
            "go on from there. %s" % (where, at_source, point["gtid"], WAY_OUT))


def reached(file, position, target_file, target_position):
    """True where an applier that is at one place of its source's binary log has passed another."""
    stem, dot, number = (file or "").rpartition(".")
    target_stem, dot, target = target_file.rpartition(".")
    if stem != target_stem or not number.isdigit() or not target.isdigit():
        return False
    return (int(number), int(position)) >= (int(target), int(target_position))


def quiet(watch, uptime, set_ago, logged_ago):
    """Seconds that the error log must still be watched, or None where a violation is too young.

    Args:
        watch: seconds without a violation that are wanted.
        uptime: of the server.
        set_ago: seconds since enforce_gtid_consistency was set; None for at the server's start, or before anybody counted.
        logged_ago: seconds since the last violation, or None.
    """
    if logged_ago is not None and logged_ago < watch:
        return None
    return max(0, watch - (uptime if set_ago is None else set_ago))
