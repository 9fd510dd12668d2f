# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which new replicas have to be given their source's data first, and by which way."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.module_utils import gtid, plan

METHODS = ("auto", "clone", "backup", "dump", "none")
# The account a clone logs in with on the source, made for one seeding and dropped after it.
DONOR = "dbre_semisync_seed"
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def strangers(member, source):
    """Data on a replica to be that its source does not have, in words; empty where there is none."""
    info = member.info
    if info["engine"] == "mariadb":
        mine = info["gtid"].get("gtid_binlog_state", "")
        local = gtid.ahead(mine, source.info["gtid"].get("gtid_binlog_state", ""))
        known = bool(info["gtid"].get("gtid_slave_pos"))
    else:
        local = gtid.subtract(info["gtid"].get("gtid_executed", ""), source.info["gtid"].get("gtid_executed", ""))
        known = bool(info["gtid"].get("gtid_executed"))
    if local:
        return "transactions %s" % local
    # A restored backup carries the source's GTIDs; without them nothing says that the same schema is the same data.
    return "" if known or not info["schemas"] else "schemas %s" % ", ".join(info["schemas"])


def missing_history(member, source, members, settings):
    """Data of the source that its binary logs cannot bring to a replica, in words; empty where there is none."""
    if member.info["gtid"].get("gtid_executed") or member.info["gtid"].get("gtid_slave_pos"):
        purged = source.info["gtid"].get("gtid_purged", "")
        lost = gtid.subtract(purged, member.info["gtid"].get("gtid_executed", "")) if purged else ""
        return "the source %s has purged binary logs it needs (%s)" % (source.host, lost) if lost else ""
    # Canary rows are in the binary log, but reach a replica by GTID only when they were written with one.
    by_gtid = source.info["engine"] == "mariadb" or source.info["variables"]["gtid_mode"] == "ON"
    theirs = [name for name in source.info["schemas"] if not (by_gtid and name == settings["canary_schema"])]
    if theirs:
        return "the source %s holds data (schemas %s) from before replication" % (source.host, ", ".join(theirs))
    if source.info["gtid"].get("gtid_purged"):
        return "the source %s has purged its first binary logs" % source.host
    return ""


def by_position(source, members):
    """True where the source has no GTIDs and the collection does not set it up: a new replica could not follow it."""
    return (not plan.is_fresh(source, members) and source.info["engine"] != "mariadb"
            and source.info["variables"]["gtid_mode"] != "ON")


def half_seeded(info):
    """True on a replica that a seeding of ours was interrupted on: what it holds is no data of its own."""
    return (info.get("seed") or {}).get("state") == "loading"


def own_data(member, source):
    """What a seeding would destroy on a replica, in words; empty where there is nothing to lose."""
    if half_seeded(member.info):
        return ""
    found = strangers(member, source)
    if found or not member.info["schemas"]:
        return found
    return "schemas %s" % ", ".join(member.info["schemas"])


def needed(member, members, settings):
    """Why a replica has to be seeded, in words; empty where it need not be."""
    if plan.channel_step(member, members) != "configure" or settings["seed_method"] == "none":
        return ""
    source = plan.source_of(members)
    if half_seeded(member.info):
        return "a seeding of it was interrupted"
    missing = missing_history(member, source, members, settings)
    if missing:
        return missing
    own = strangers(member, source)
    return "semisync_seed_overwrite is true and it holds %s" % own if own and settings["seed_overwrite"] else ""


def step(member, members, settings):
    """How a replica is seeded: None, or {'method', 'why', 'because'}; for a cluster without problems."""
    why = needed(member, members, settings)
    if not why:
        return None
    method, because = choose(settings["seed_method"], plan.source_of(members).info, member.info)
    return {"method": method, "why": why, "because": because}


def leftover(member):
    """True on a source where a run that was interrupted left the account of a clone."""
    return member.role == "source" and any(account["user"] == DONOR for account in member.info["accounts"])


def problem(member, members, settings):
    """Why a replica that needs seeding cannot be seeded, in words; empty where it can."""
    source = plan.source_of(members)
    own = own_data(member, source)
    if own and not settings["seed_overwrite"]:
        return ("%s holds data: %s. It is not overwritten. Move it away, or say semisync_seed_overwrite=true to have it "
                "replaced with a copy of %s" % (member.host, own, source.host))
    if by_position(source, members):
        return ("%s needs the data of %s, which replicates by file and position (gtid_mode %s); a new replica follows by "
                "GTID: set this replica up yourself"
                % (member.host, source.host, source.info["variables"]["gtid_mode"]))
    method, because = choose(settings["seed_method"], source.info, member.info)
    if method is None:
        return "%s cannot be seeded from %s: %s" % (member.host, source.host, because)
    return ""


def choose(wanted, source, replica):
    """(method, because): the way to copy, and why not the faster one; (None, why) where none will do.

    Args:
        wanted: auto, clone, backup or dump.
        source: result of semisync_info on the source.
        replica: the same of the replica.
    """
    checks = {"clone": clone_unfit, "backup": backup_unfit, "dump": dump_unfit}
    if wanted != "auto":
        unfit = checks[wanted](source, replica)
        return (None, "semisync_seed_method is %s, but %s" % (wanted, unfit)) if unfit else (wanted, "")
    fast = "backup" if source["engine"] == "mariadb" else "clone"
    unfit = checks[fast](source, replica)
    if not unfit:
        return fast, ""
    slow = dump_unfit(source, replica)
    return (None, "%s; %s" % (unfit, slow)) if slow else ("dump", unfit)


def clone_unfit(source, replica):
    """Why the clone plugin cannot do it (MySQL manual, "Remote Cloning Prerequisites"); empty where it can."""
    if source["engine"] == "mariadb":
        return "MariaDB has no clone plugin"
    series = [info["names"].get("copy_series") for info in (source, replica)]
    if not all(series):
        return "the clone plugin begins with 8.0.17"
    if series[0] != series[1]:
        return "clone needs one version on both: the source has %s, the replica %s" % (
            source["version"], replica["version"])
    for info, where in ((source, "source"), (replica, "replica")):
        if not info["tools"]["clone"]:
            return "there is no mysql_clone.so on the %s" % where
    return ""


def backup_unfit(source, replica):
    """Why mariadb-backup cannot do it; empty where it can."""
    if source["engine"] != "mariadb":
        return "mariadb-backup copies MariaDB only"
    if source["names"].get("copy_series") != replica["names"].get("copy_series"):
        return "a copy of the files needs one version on both: the source has %s, the replica %s" % (
            source["version"], replica["version"])
    for info, where in ((source, "source"), (replica, "replica")):
        if not info["tools"]["backup"]:
            return "there is no mariadb-backup on the %s (install the package mariadb-backup)" % where
    if not replica["tools"]["stream"]:
        return "there is no mbstream on the replica (install the package mariadb-backup)"
    return ""


def dump_unfit(source, replica):
    if not source["tools"]["dump"]:
        return "there is no mysqldump or mariadb-dump on the source (install the server's client package)"
    if not replica["tools"]["client"]:
        return "there is no mysql or mariadb client on the replica (install the server's client package)"
    return ""


def unfit_tables(method, tables):
    """Why tables of engines without transactions keep a way from being a true copy; empty where they do not.

    Clone copies such tables empty (MySQL manual, "Clone Plugin Limitations"); a dump reads them at another moment than
    the others. mariadb-backup locks them for the moment it needs.

    Args:
        tables: names of tables that are not InnoDB.
    """
    if method == "backup" or not tables:
        return ""
    what = "clone leaves them empty" if method == "clone" else "a dump would not have them of one moment"
    return ("tables that are not InnoDB: %s%s; %s. Convert them (ALTER TABLE … ENGINE=InnoDB), or restore a backup of "
            "the source on the replica yourself" % (", ".join(tables[:5]), " …" if len(tables) > 5 else "", what))


def amount(count):
    """Bytes for people: 1288490188 is '1.3 GB'."""
    count = float(count)
    for unit in UNITS:
        if count < 1000 or unit == UNITS[-1]:
            return "%.0f %s" % (count, unit) if unit == UNITS[0] else "%.1f %s" % (count, unit)
        count /= 1000


def progress_line(host, marker, seconds):
    """One line of progress: seconds since it began, stage, bytes of the expected ones."""
    done, total = marker.get("bytes") or 0, marker.get("total") or 0
    share = "" if not total else " (%d %%)" % (done * 100 // total) if done <= total else ", more than was estimated"
    return "  seed %s: %4d s  %-10s %s of about %s%s" % (
        host, seconds, marker.get("stage") or "starts", amount(done), amount(total), share)


def parse_backup_position(text):
    """The MariaDB GTID position in xtrabackup_binlog_info: 'file<TAB>offset<TAB>0-1-42' gives '0-1-42'.

    A source that has written nothing since its binary log is on has no position: the copy follows from the beginning.

    Raises:
        ValueError: the text is no position.
    """
    words = text.strip().split("\t")
    if len(words) == 2 and words[1].isdigit():
        return ""
    if len(words) != 3:
        raise ValueError("the backup has no position of the source's binary log: %r" % text.strip())
    gtid.parse_list(words[2])
    return re.sub(r"\s", "", words[2])


def parse_dump_position(head, tail):
    """The MariaDB GTID position of a dump made with --master-data=2 --gtid, or None where it has none.

    It was ahead of the data once, and is the last thing behind them since MDEV-15393.

    Args:
        head, tail: the dump's first and last bytes, as text. What is in between may contain anything, such as a routine
            that sets positions.
    """
    for text in (head.partition("\n-- Current Database:")[0], tail):
        found = re.findall(r"^-- SET GLOBAL gtid_slave_pos='([\d,-]*)';", text, re.M)
        if found:
            return found[-1]
    return None


def account_statements(creates, grants):
    """SQL that brings accounts to a replica which may have some of them already.

    Args:
        creates: texts of SHOW CREATE USER and CREATE ROLE.
        grants: texts of SHOW GRANTS.
    """
    first, last = [], []
    for create in creates:
        create = re.sub(r"^CREATE (USER|ROLE) (?!IF NOT EXISTS)", r"CREATE \1 IF NOT EXISTS ", create)
        # A role must exist before it can be somebody's default.
        match = re.search(r" DEFAULT ROLE (.+?)(?= REQUIRE | WITH | PASSWORD | ACCOUNT |$)", create)
        if match:
            create = create.replace(match.group(0), "")
            account = re.match(r"CREATE USER IF NOT EXISTS (\S+)", create).group(1)
            last.append("ALTER USER %s DEFAULT ROLE %s" % (account, match.group(1)))
        first.append(create)
    return [statement + ";\n" for statement in first + list(grants) + last]
