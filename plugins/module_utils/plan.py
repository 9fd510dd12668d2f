# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done on one host, decided from what the servers of its cluster said."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import catch_up, state, tls, wanted


class Member(object):
    """One host of a cluster.

    Args:
        host: inventory name.
        role: source or replica.
        info: result of semisync_info, or None where it could not be had.
        error: why there is no info, or "".
        address: how replicas reach this host.
        explicit_id: semisync_server_id of this host, 0 for automatic.
    """

    def __init__(self, host, role, info, error="", address="", explicit_id=0):
        self.host, self.role, self.info, self.error = host, role, info, error
        self.address, self.explicit_id = address or host, explicit_id

    @property
    def channel(self):
        return self.info["channel"]


def sets_replication_up(member):
    """True where our file has lines of P0, or had them before it was lost: nobody else makes up that server_id."""
    files, variables = member.info["option_files"], member.info["variables"]
    if any(name in optfile.parse_ours(files["ours"]) for name in ("server_id", member.info["names"]["log_updates"])):
        return True
    ours = member.explicit_id or wanted.made_up_id(member.host)
    return "server_id" not in files["options"] and int(variables["server_id"] or 0) == ours > 1


def is_fresh(member, members):
    """True where P0 is the collection's business: the host does not replicate, or our file already sets P0."""
    if sets_replication_up(member):
        return True
    if member.role == "replica":
        return member.channel is None
    return all(other.channel is None for other in members if other.role == "replica")


def wanted_id(member, members):
    return wanted.server_id(member.host, member.explicit_id, member.info, is_fresh(member, members))


def source_of(members):
    return next(member for member in members if member.role == "source")


def replicas_of(members):
    return [member for member in members if member.role == "replica"]


def channel_step(member, members):
    """configure, start or none: what the replica's channel needs."""
    if member.role != "replica":
        return "none"
    if member.channel is None or never_connected(member.channel):
        return "configure"
    return "none" if state.running(member.channel) else "start"


def never_connected(channel):
    """True where a channel is configured but has not met its source yet: a run was interrupted, or cannot log in."""
    return not channel["source_uuid"] and not channel["source_server_id"] and not state.running(channel)


def option_file_step(member, text):
    """Where our lines go, and whether they are there already."""
    place = member.info["option_files"]
    if text is not None and place["kind"] == "drop-in":
        text = optfile.HEADER + text
    return {"path": place["path"], "kind": place["kind"], "marker": place["marker"], "before": place["ours"], "content": text,
            "changed": place["ours"] != text}


def restart_reasons(drift, file_changed, apply):
    """Why the server must restart; an empty list when what differs can be set at run time or nothing differs.

    The document's way is option file and restart, and so semi-sync is switched on. Where it is on, or the file is
    right already, only a variable that cannot be set at run time justifies one; apply=online never restarts for a
    variable that can.
    """
    switching_on = file_changed and apply == "restart" and any(wanted.switches_on(name) for name in drift)
    needs = sorted(name for name in drift if switching_on or not wanted.is_dynamic(name))
    return ["%s is %s, %s is wanted" % ((name,) + drift[name]) for name in needs]


def make(member, members, settings, stage="full", apply="restart", hold_back=True):
    """The plan of one host; see the RETURN section of semisync_plan.

    Args:
        member: the host.
        members: all hosts of its cluster, itself included; every one has info.
        settings: the wanted values, under short names.
        stage: replication or full.
        apply: restart or online.
        hold_back: whether a source waits with semi-sync until its replicas' channels run.
    """
    info, role = member.info, member.role
    if stage == "replication" and semisync_is_on(members):
        stage = "full"
    plugin = info["names"][role]["plugin"] if stage == "full" else None
    requested = stage
    if hold_back and role == "source" and stage == "full" and must_wait(members):
        stage = "replication"
    number, fresh = wanted_id(member, members), is_fresh(member, members)
    sections = wanted.sections(role, info, settings, number, fresh, stage)
    options = [pair for dummy, pairs in sections for pair in pairs]
    option_file = option_file_step(member, optfile.render(sections, info["option_files"]["group"]) if options else None)
    drift = wanted.drift(options, info)
    install = plugin is not None and info["plugins"].get(plugin) != "ACTIVE"
    reasons = restart_reasons(drift, option_file["changed"], apply)
    set_global = {} if reasons else dict((name, pair[1]) for name, pair in drift.items())
    step = channel_step(member, members)
    link = channel_tls(member, members, settings)
    waiting = stage == "full" and role == "replica" and state.running(info["channel"]) \
        and info["semisync"]["replica"]["status"]["status"] != "ON"
    result = {
        "role": role,
        "stage": stage,
        "held": stage != requested,
        "fell_back": role == "source" and fell_back(info),
        "requested_stage": requested,
        "server_id": number,
        "fresh": fresh,
        "source": source_of(members).host,
        "source_address": source_of(members).address,
        "source_port": int(source_of(members).info["variables"]["port"]),
        "replicas": [other.host for other in replicas_of(members)],
        "replica_addresses": [other.address for other in replicas_of(members)],
        "wave": wave(member, members),
        "install_plugin": install,
        "plugin": plugin,
        "option_file": option_file,
        "restart": bool(reasons),
        "restart_reasons": reasons,
        "set_global": set_global,
        "restart_io": not reasons and waiting,
        "channel": step,
        "catch_up": catch_up.due(role, step, info),
        "tls": link["wanted"],
        "tls_differs": link["differs"],
        "tls_authority": link["authority"],
        "tls_changes": any(channel_tls(other, members, settings)["differs"] for other in replicas_of(members)),
        "channel_present": info["channel"] is not None,
        "unit": info["unit"],
        "connected_before": connected(members),
        "account": role == "source" and needs_account(member, members, settings),
        "account_needs_ssl": settings["replication_ssl"] == "required",
        "channels_change": any(channel_step(other, members) != "none" for other in replicas_of(members)),
        "clients": len(replicas_of(members)),
        "clients_after": clients_after(member, members),
        "baseline": not semisync_is_on(members),
        "before_first_replica": no_replica_is_semisync(members),
    }
    result["server_changes"] = bool(install or option_file["changed"] or reasons or set_global or result["restart_io"])
    result["changes"] = bool(result["server_changes"] or result["account"] or result["held"] or result["fell_back"]
                             or step != "none" or link["differs"] or link["new_authority"])
    return result


def channel_tls(member, members, settings):
    """What a replica's channel needs of TLS: see module_utils/tls.py."""
    if member.role != "replica":
        return {"wanted": None, "differs": False, "authority": None, "new_authority": False}
    source, configuring = source_of(members).info, channel_step(member, members) == "configure"
    want = tls.wanted(settings, source, member.info, configuring)
    authority = tls.copy_of_authority(settings, source, member.info, configuring)
    return {"wanted": want, "differs": not configuring and tls.differs(want, member.channel), "authority": authority,
            "new_authority": bool(authority and authority["changed"])}


def fell_back(info):
    """True on a source that has semi-sync enabled and replicates asynchronously now.

    Its next acknowledged commit switches it on again; without one it stays so (MariaDB on an idle server).
    """
    source = info["semisync"]["source"]
    return source["variables"]["enabled"] == "ON" and source["status"]["status"] == "OFF"


def must_wait(members):
    """True where semi-sync on the source would hold the next commit for the timeout: no replica could acknowledge it.

    A source that is semi-synchronous already, or will be at its next start, is left so.
    """
    source = source_of(members)
    name = source.info["names"]["source"]["variables"]["enabled"]
    on = source.info["semisync"]["source"]["variables"]["enabled"] == "ON"
    return (not on and name not in optfile.parse_ours(source.info["option_files"]["ours"])
            and any(channel_step(other, members) != "none" for other in replicas_of(members)))


def wave(member, members):
    """The host's turn: replicas one after another in inventory order, then the source."""
    order = [other.host for other in replicas_of(members)] + [source_of(members).host]
    return order.index(member.host)


def connected(members):
    """Replicas whose channel exists, so that a restarted source can expect them back."""
    return len([member for member in replicas_of(members)
                if member.channel is not None and not never_connected(member.channel)])


def needs_account(member, members, settings):
    known = [(account["user"], account["host"]) for account in member.info["accounts"]]
    wanted_account = (settings["replication_user"], settings["replication_user_host"])
    configuring = any(channel_step(other, members) == "configure" for other in replicas_of(members))
    return configuring and wanted_account not in known


def semisync_is_on(members):
    """True where semi-sync is enabled anywhere in the cluster, running or in the option files: no more baseline."""
    for member in members:
        name = member.info["names"][member.role]["variables"]["enabled"]
        running = member.info["semisync"][member.role]["variables"]["enabled"]
        configured = member.info["option_files"]["options"].get(name, "0")
        if running == "ON" or optfile.canonical_value(configured) != "0":
            return True
    return False


def no_replica_is_semisync(members):
    return all(optfile.canonical_value(member.info["semisync"]["replica"]["variables"].get("enabled") or "OFF") == "0"
               for member in replicas_of(members))


def clients_after(member, members):
    """Semi-sync replicas the source must at least count after this one's turn: those it had, and this one."""
    return len([other for other in replicas_of(members) if state.running(other.channel) and (
        other is member or other.info["semisync"]["replica"]["status"]["status"] == "ON")])
