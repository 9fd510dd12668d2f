# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong, or will be, with a cluster whose servers answer: the rules that find the findings of finding_kinds.

A checkpoint says whether a point of the procedure holds. A finding says what is dangerous, why, and what to do.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import known_bad, names, wanted
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile
from ansible_collections.dbre.semisync.plugins.module_utils.finding_kinds import CRITICAL, INFO, SEVERITIES, WARNING, finding

# Milliseconds from which a timeout freezes writers for longer than anybody waits.
FREEZING_TIMEOUT = 3600 * 1000
# Seconds that clocks may differ for certain.
CLOCK_SECONDS = 1.0


def evaluate(members, past=None, since=None, lag_limit=60, ahead=None, promise=None):
    """All findings of a cluster, the worst first.

    Args:
        members: plan.Member of every host; one without info is the checkpoints' business.
        past: result of history.compare(), or None.
        since: result of history.degraded_since(), or None.
        lag_limit: seconds a replica may be behind.
        ahead: host -> (least, most) seconds its clock is ahead of the controller's; hosts that were not compared are
            left out.
        promise: what the inventory wants of the source's semi-sync, see wanted.broken_promises(); None where that is not
            known.
    """
    read = [member for member in members if member.info is not None]
    replicas = [member for member in read if member.role == "replica"]
    count = len([member for member in members if member.role == "replica"])
    found = []
    for member in read:
        found += of_plugins(member) + of_restart(member)
        if member.role == "source":
            found += of_service(member, past, since) + of_clients(member, count)
            found += of_settings(member) + of_promise(member, promise or {}) + of_version(member, replicas)
        else:
            found += of_replica(member, members) + of_applier(member, lag_limit)
    found += of_clocks(read, ahead or {}) + of_identities(read)
    return sorted(found, key=lambda entry: SEVERITIES.index(entry["severity"]))


def off(value):
    return optfile.canonical_value(value) == "0"


def of_service(member, past, since):
    """Does the source wait for acknowledgements, and did it since the last run?"""
    side = member.info["semisync"]["source"]
    status, words = side["status"], rise(past)
    if side["variables"]["enabled"] != "ON":
        return [finding("semisync_off", member, "%s is %s" % (
            member.info["names"]["source"]["variables"]["enabled"], side["variables"]["enabled"] or "not there"))]
    if status["status"] != "ON":
        return [finding("degraded", member, "%s is %s, %s client(s); first seen %s%s" % (
            member.info["names"]["source"]["statuses"]["status"], status["status"], status["clients"], since,
            "; " + words if words else ""))]
    if words:
        return [finding("was_degraded", member, words)]
    return []


def rise(past):
    """What went out unacknowledged since the last run, in words; empty where nothing did, or nobody knows."""
    if not past or not (past["no_tx"] or past["no_times"]):
        return ""
    return "%sno_tx +%d, no_times +%d since %s%s" % (
        "at least " if past["reset"] else "", past["no_tx"], past["no_times"], past["since"],
        " (the counters began anew since then: a restart or FLUSH STATUS)" if past["reset"] else "")


def of_clients(member, count):
    side = member.info["semisync"]["source"]
    if side["status"]["clients"] is None or side["variables"]["enabled"] != "ON":
        return []
    there, enough = int(side["status"]["clients"]), int(side["variables"].get("wait_for_replica_count") or 1)
    if there >= count:
        return []
    return [finding("clients_missing", member, "%s is %d, the cluster has %d replica(s), a commit waits for %d" % (
        member.info["names"]["source"]["statuses"]["clients"], there, count, enough),
        CRITICAL if there < enough else WARNING)]


def loading_options(info):
    """The semi-sync plugins that options load at start: their names."""
    found = []
    for option in ("plugin_load", "plugin_load_add"):
        for part in info["option_files"]["options"].get(option, "").strip("'\"").split(";"):
            name, dummy, library = part.strip().partition("=")
            for plugin, its_library in names.PLUGINS.values():
                # Without a name, all plugins of the library are loaded.
                if plugin == name or (not library and name and name in (its_library, its_library.rpartition(".")[0])):
                    found.append(plugin)
    return found


def of_plugins(member):
    info, found = member.info, []
    loads = set(info["plugins_registered"]) | set(loading_options(info))
    everywhere = loads | set(info["plugins"])
    old = sorted(everywhere & set(names.OLD_PLUGINS))
    new = sorted(everywhere & set(names.NEW_PLUGINS))
    if old and new:
        found.append(finding("plugin_mix", member, "%s and %s are loaded, registered in mysql.plugin or named in the option "
                             "files" % (", ".join(old), ", ".join(new))))
    plugin = info["names"][member.role]["plugin"]
    if plugin and info["plugins"].get(plugin) == "ACTIVE" and plugin not in loads:
        found.append(finding("plugin_not_loaded_at_start", member, "%s is ACTIVE, but neither in mysql.plugin nor in "
                             "plugin_load or plugin_load_add of the option files" % plugin))
    return found


def at_start(info, name):
    """(the value a variable has after the next start, where from)."""
    if name in info["persisted"]:
        return info["persisted"][name], "SET PERSIST"
    if name in info["option_files"]["options"]:
        # An option without a value switches a variable on.
        return info["option_files"]["options"][name] or "ON", "option file"
    return info["names"]["defaults"].get(name), "server's default, no option file sets it"


def watched(member):
    """Variable -> its running value, for what a restart must not change on this host."""
    info, role = member.info, member.role
    side = info["semisync"][role]["variables"]
    found = dict((name, side[key]) for key, name in info["names"][role]["variables"].items())
    more = ["server_id", "gtid_mode"]
    more += ["sync_binlog", "innodb_flush_log_at_trx_commit"] if role == "source" else [
        "read_only", "super_read_only", "sync_relay_log", "relay_log_recovery"]
    found.update((name, info["variables"].get(name)) for name in more)
    return dict((name, value) for name, value in found.items() if value is not None)


def of_restart(member):
    found = []
    for name, running in sorted(watched(member).items()):
        value, origin = at_start(member.info, name)
        if value is not None and not optfile.same_value(running, value):
            found.append(finding("restart_changes_it", member, "%s is %s, after a restart it is %s (%s)" % (
                name, running, value, origin)))
    return found


def of_promise(member, promise):
    if member.info["semisync"]["source"]["variables"]["enabled"] != "ON":
        # That is the finding then, and site.yml sets the values as it switches semi-sync on.
        return []
    return [finding("differs_from_inventory", member, "%s is %s, semisync_%s is %s (from the inventory, or the collection's "
                    "default)" % (name, running, key, value))
            for key, name, running, value in wanted.broken_promises(member.info, promise)]


def of_settings(member):
    variables, found = member.info["variables"], []
    semisync, called = (member.info["semisync"]["source"]["variables"], member.info["names"]["source"]["variables"])
    if semisync.get("wait_point") == "AFTER_COMMIT":
        found.append(finding("after_commit", member, "%s is AFTER_COMMIT" % called["wait_point"]))
    if semisync.get("wait_no_replica") == "OFF":
        found.append(finding("no_wait_without_replica", member, "%s is OFF%s" % (
            called["wait_no_replica"], "; the status of MariaDB stays ON then, whether anybody acknowledges or not"
            if member.info["engine"] == "mariadb" else "")))
    if int(semisync.get("timeout") or 0) >= FREEZING_TIMEOUT:
        milliseconds = int(semisync["timeout"])
        found.append(finding("timeout_freezes_writers", member, "%s is %d ms: %.1f hours" % (
            called["timeout"], milliseconds, milliseconds / 3600000.0)))
    loose = ["%s is %s" % (name, variables[name]) for name in ("sync_binlog", "innodb_flush_log_at_trx_commit")
             if variables.get(name) not in (None, "1")]
    if loose:
        found.append(finding("source_not_durable", member, ", ".join(loose)))
    return found


def of_version(member, replicas):
    version = tuple(int(number) for number in member.info["version"].split("."))
    found = []
    for defect in known_bad.of_source(member.info, [replica.info for replica in replicas]):
        good = known_bad.first_good(defect, version)
        found.append(finding("known_bad_version", member, "%s %s: %s" % (
            member.info["engine"], member.info["version_full"], defect.id), why=defect.what[0].upper() + defect.what[1:] + ".",
            source=defect.source, remedy="Upgrade to %s or later." % good if good else "Do not use the two together."))
    return found


def of_replica(member, members):
    info, variables, found = member.info, member.info["variables"], []
    enabled = info["semisync"]["replica"]["variables"]["enabled"]
    if enabled != "ON":
        found.append(finding("semisync_off", member, "%s is %s" % (
            info["names"]["replica"]["variables"]["enabled"], enabled or "not there"), WARNING,
            why="The replica acknowledges nothing, so that commits wait for others, or for the timeout."))
    if variables.get("sync_relay_log") not in (None, "1"):
        found.append(finding("relay_log_not_synced", member, "sync_relay_log is %s" % variables["sync_relay_log"]))
    if member.channel and not member.channel["gtid"] and off(variables.get("relay_log_recovery") or "OFF"):
        found.append(finding("relay_log_not_recovered", member, "relay_log_recovery is OFF, and the channel follows by file "
                             "and position"))
    if off(variables.get("read_only") or "OFF"):
        # Ours is read-only unless somebody undid it; whether others' applications write there is not for us to judge.
        ours = "read_only" in optfile.parse_ours(info["option_files"]["ours"])
        found.append(finding("replica_writable", member, "read_only is OFF", WARNING if ours else INFO))
    return found


def of_applier(member, lag_limit):
    """A replica whose IO thread acknowledges what its SQL thread does not apply."""
    channel = member.channel
    if not channel or channel["io_running"] != "Yes":
        return []
    if channel["sql_running"] != "Yes":
        return [finding("applier_stopped", member, "SQL thread %s%s" % (
            channel["sql_running"], ": " + channel["last_sql_error"] if channel["last_sql_error"] else ""))]
    behind = channel["seconds_behind"]
    if behind is not None and int(behind) > lag_limit:
        return [finding("applier_behind", member, "%d seconds behind its source (more than %d)%s" % (
            int(behind), lag_limit, ", of which %d are configured" % channel["delay"] if channel["delay"] else ""))]
    return []


def of_clocks(read, ahead):
    compared = [member for member in read if member.host in ahead]
    if len(compared) < 2:
        return []
    source = next((member for member in compared if member.role == "source"), compared[0])
    found = []
    for member in compared:
        (least, most), (source_least, source_most) = ahead[member.host], ahead[source.host]
        apart, words = max((least - source_most, "ahead of"), (source_least - most, "behind"))
        if apart > CLOCK_SECONDS:
            found.append(finding("clocks_differ", member, "at least %.1f seconds %s %s" % (apart, words, source.host)))
    return found


def of_identities(read):
    by_id = {}
    for member in read:
        by_id.setdefault(member.info["variables"]["server_id"], []).append(member)
    return [finding("server_id_clash", others[1], "server_id %s on %s" % (
        number, " and ".join(member.host for member in others))) for number, others in sorted(by_id.items())
        if len(others) > 1]


def critical(found):
    return [entry for entry in found if entry["severity"] == CRITICAL]


def table(found, name):
    """The findings as text for people: what and where, then why and what to do for all but the mere notes."""
    if not found:
        return "Findings of cluster %s: none" % name
    width = max(len(entry["host"]) for entry in found)
    lines = ["Findings of cluster %s" % name]
    for entry in found:
        lines.append("  %-8s  %-*s  %s: %s (%s)" % (entry["severity"], width, entry["host"], entry["title"],
                                                    entry["evidence"], entry["id"]))
        if entry["severity"] != INFO:
            lines += ["            why: %s [%s]" % (entry["why"], entry["source"]), "            do:  " + entry["remedy"]]
    return "\n".join(lines)


def reasons(found):
    """The critical findings in one line."""
    return ", ".join("%s on %s" % (entry["id"], entry["host"]) for entry in critical(found))
