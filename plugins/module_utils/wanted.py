# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option-file lines a host should have, and how far the running server is from them."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import zlib

from ansible_collections.dbre.semisync.plugins.module_utils import names as naming
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils import state

# What SET GLOBAL can mend without a restart; the others take effect at the next start.
DYNAMIC = ("sync_binlog", "innodb_flush_log_at_trx_commit", "read_only")
# What gtid.yml leaves in our file on a server that replicated before.
GTID_COMMENT = "replication by GTID"
GTID_OPTIONS = [("gtid_mode", "ON"), ("enforce_gtid_consistency", "ON")]
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def server_id(host, explicit, info, fresh):
    """The host's server_id: the one asked for, the one it runs with, or one made from its name.

    A fresh server runs with 1 (MySQL 8.0 and later, MariaDB) or 0 like every other, which is no identity.

    Args:
        host: inventory name.
        explicit: semisync_server_id, 0 for automatic.
        info: result of semisync_info.
        fresh: whether the collection sets replication up on this host.
    """
    running = int(info["variables"]["server_id"] or 0)
    if not fresh:
        return running
    if explicit:
        return explicit
    if running > 1:
        return running
    return made_up_id(host)


def made_up_id(host):
    return zlib.crc32(host.encode("utf-8")) % 4294967290 + 2


def listens_on_loopback_only(info):
    """True where no other host can reach the server, now or after its next start."""
    return any(all(address.strip() in LOOPBACK for address in (value or "*").split(","))
               for value in (info["variables"]["bind_address"], info["option_files"]["options"].get("bind_address")))


def replication_options(role, info, settings, number):
    """P0: the lines that a server needs to be a source or replica at all.

    A line that our file holds stays, so that the same file comes out of every run; one that was lost comes back.
    """
    ours = optfile.parse_ours(info["option_files"]["ours"])
    options = [("server_id", number)]
    stays_on = info["names"]["log_bin_by_default"] or "log_bin" in info["option_files"]["options"]
    if info["variables"]["log_bin"] != "ON" or "log_bin" in ours or not stays_on:
        options.append(("log_bin", "mysql-bin"))
    if info["engine"] != "mariadb" and info["names"]["gtid"]:
        options += GTID_OPTIONS
    options += [(info["names"]["log_updates"], "ON"), ("relay_log", "mysql-relay-bin")]
    if role == "source" and settings["bind_address"] and (listens_on_loopback_only(info) or "bind_address" in ours):
        options.append(("bind_address", settings["bind_address"]))
    if role == "replica" and settings["replica_read_only"]:
        options.append(("read_only", "ON"))
    return options


def semisync_options(role, info, settings):
    """Semi-sync's own lines, for the variables that this server has.

    The plugin's options carry loose_: without it a server whose plugin is gone would not start.
    """
    values = {
        "source": {
            "enabled": 1,
            "timeout": settings["timeout"],
            "wait_point": settings["wait_point"],
            "wait_for_replica_count": settings["wait_for_replica_count"],
            "wait_no_replica": int(settings["wait_no_replica"]),
            "trace_level": settings["trace_level"],
        },
        "replica": {"enabled": 1, "trace_level": settings["trace_level"]},
    }[role]
    prefix = "" if info["names"]["builtin"] else "loose_"
    names = info["names"][role]["variables"]
    return [(prefix + names[key], value) for key, value in values.items() if key in names]


def durability_options(role, settings):
    """What the source must write to its own disk before a commit counts."""
    if role != "source":
        return []
    return [("sync_binlog", settings["sync_binlog"]),
            ("innodb_flush_log_at_trx_commit", settings["innodb_flush_log_at_trx_commit"])]


def sections(role, info, settings, number, fresh, stage):
    """Our lines by purpose: [(comment, [(option, value)])].

    Args:
        stage: 'replication' leaves semi-sync out, for a baseline before it; 'full' is everything.
    """
    result = []
    if fresh:
        result.append(("replication (P0)", replication_options(role, info, settings, number)))
    if stage == "full":
        result.append(("a commit is on the source's own disk before it is confirmed",
                       durability_options(role, settings)))
        result.append(("semi-synchronous replication, %s side" % role, semisync_options(role, info, settings)))
    if not fresh and "gtid_mode" in optfile.parse_ours(info["option_files"]["ours"]):
        result.append((GTID_COMMENT, GTID_OPTIONS))
    return result


def runtime_value(info, name):
    """The running server's value of a variable, or None where it has none."""
    for side in ("source", "replica"):
        for key, server_name in info["names"][side]["variables"].items():
            if server_name == name:
                return info["semisync"][side]["variables"][key]
    return info["variables"].get(name)


def drift(options, info):
    """Options whose running value differs: canonical name -> (running value, wanted value)."""
    result = {}
    for option, value in options:
        name = optfile.canonical_name(option)
        running = runtime_value(info, name)
        if name == "read_only" and not state.running(info["channel"]):
            # It may be no replica any more: somebody promoted it. What is in the option file comes with the next start.
            continue
        same = running == "ON" if name == "log_bin" else optfile.same_value(running, value)
        if not same:
            result[name] = (running, value)
    return result


def broken_promises(info, promise):
    """Semi-sync's values on a source that differ from what the inventory wants: [(key, name, running, wanted)].

    Args:
        promise: key of names.SOURCE_VARIABLES -> wanted value, None where nothing is wanted.
    """
    called, running = info["names"]["source"]["variables"], info["semisync"]["source"]["variables"]
    return [(key, called[key], running[key], value) for key, value in sorted(promise.items())
            if key in called and None not in (value, running[key]) and not optfile.same_value(running[key], value)]


def switches_on(name):
    return name in naming.SWITCHES


def is_dynamic(name):
    return name in DYNAMIC or name.startswith("rpl_semi_sync")
