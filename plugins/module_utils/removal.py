# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cluster goes back to asynchronous replication: what of it is ours, and what has to be undone on each host.

Our lines in the option file are the evidence that semi-sync on a host is ours. They are the last thing to go, so that
a removal that was interrupted is finished by the next one.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import names as naming
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import plan, state, wanted

LEFT_BEHIND_HEADER = "# Replication needs these. The Ansible collection dbre.semisync wrote them once; they are yours now.\n"


def is_semisync(name):
    return name.startswith("rpl_semi_sync")


def sides(member):
    """The sides of semi-sync that our lines switch on on this host."""
    lines = optfile.parse_ours(member.info["option_files"]["ours"])
    return sorted(set(side for name, side in naming.SWITCHES.items() if name in lines))


def enabled(member, side):
    return member.info["semisync"][side]["variables"]["enabled"] == "ON"


def left_behind(member):
    """The text of the lines that replication needs after the next restart too; None where our text has none."""
    kept = [(name, value) for name, value in optfile.parse_ours(member.info["option_files"]["ours"]).items()
            if not is_semisync(name) and name not in wanted.DYNAMIC]
    if not kept:
        return None
    return LEFT_BEHIND_HEADER + "[%s]\n" % member.info["option_files"]["group"] + "".join("%s = %s\n" % pair for pair in kept)


def option_file_step(member):
    """What happens to our lines: nothing, or they go and leave a text at a place."""
    files = member.info["option_files"]
    text = left_behind(member)
    return {"path": files["path"], "kind": files["kind"], "marker": files["marker"], "ours": files["ours"] is not None, "left_behind": text,
            "left_behind_path": files["left_behind"]["path"],
            # As the replacement of a regular expression.
            "replacement": (text or "").replace("\\", "\\\\")}


def restart_io(member):
    """True on a replica whose IO thread still acknowledges, or that a broken-off removal left stopped."""
    channel = member.channel
    if member.role != "replica" or not channel or "replica" not in sides(member):
        return False
    acknowledges = member.info["semisync"]["replica"]["status"]["status"] == "ON"
    return acknowledges and channel["io_running"] != "No"


def start(member):
    """True where only the IO thread is down: so a removal that was broken off may leave it."""
    channel = member.channel
    return bool(member.role == "replica" and channel and sides(member)
                and channel["io_running"] == "No" and channel["sql_running"] == "Yes")


def make(member, members):
    """What has to be undone on one host; see the RETURN section of semisync_removal.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info.
    """
    info, ours = member.info, sides(member)
    result = {
        "role": member.role,
        "source": plan.source_of(members).host,
        "replicas": [other.host for other in plan.replicas_of(members)],
        "switch_off": [side for side in ours if enabled(member, side)],
        "uninstall": [side for side in ours if info["names"][side]["plugin"] in info["plugins"]],
        "restart_io": restart_io(member),
        "start": start(member),
        "channel_runs": state.running(member.channel),
        "option_file": option_file_step(member),
    }
    result["changes"] = bool(result["switch_off"] or result["uninstall"] or result["restart_io"] or result["start"]
                             or result["option_file"]["ours"])
    return result


def remains(member):
    """What stays on a host that is not ours and that people should know of, in words."""
    found, info = [], member.info
    if not sides(member):
        for side in (naming.SOURCE, naming.REPLICA):
            name = info["names"][side]["plugin"]
            if name and name in info["plugins"]:
                found.append("%s: the plugin %s stays, because no line of ours says that the collection enabled it; "
                             "UNINSTALL PLUGIN %s removes it" % (member.host, name, name))
    return found


def problems(members):
    """Why semi-sync cannot be removed from this cluster without harm; an empty list where it can."""
    found, source = [], plan.source_of(members)
    if enabled(source, "source") and "source" not in sides(source) \
            and any("replica" in sides(other) for other in plan.replicas_of(members)):
        found.append("%s: %s is ON, and no line of ours says that the collection did it; without its replicas every "
                     "commit would wait for the timeout. Switch it off first: SET GLOBAL %s = OFF"
                     % ((source.host,) + (source.info["names"]["source"]["variables"]["enabled"],) * 2))
    for member in members:
        found += of_option_files(member)
    return found


def of_option_files(member):
    """Other people's lines that would keep the server from starting, or bring semi-sync back."""
    files, info, found = member.info["option_files"], member.info, []
    for side in sides(member):
        names = info["names"][side]["variables"]
        for name in sorted(set(names.values()) & set(files["elsewhere"])):
            if not info["names"]["builtin"]:
                found.append("%s: the option files set %s besides our lines; without its plugin the server may not "
                             "start again. Remove that line first" % (member.host, name))
            elif name == names["enabled"] and optfile.canonical_value(files["elsewhere"][name]) != "0":
                found.append("%s: the option files set %s besides our lines; the next restart would bring semi-sync "
                             "back. Remove that line first" % (member.host, name))
    if files["left_behind"]["exists"] and left_behind(member):
        found.append("%s: %s exists already; the lines that replication needs belong there. Move it away, or its lines "
                     "into another file" % (member.host, files["left_behind"]["path"]))
    return found
