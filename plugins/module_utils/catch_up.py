# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a replica's applier is behind a position that its source had."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import gtid


def missing(mariadb, target, applied):
    """How many transactions a replica lacks of what its source had.

    Args:
        mariadb: whether both are GTID lists of MariaDB, not sets of MySQL.
        target: gtid_binlog_pos or gtid_executed of the source.
        applied: gtid_slave_pos or gtid_executed of the replica.
    """
    if not mariadb:
        return gtid.count(gtid.subtract(target, applied))
    there = gtid.domains(applied)
    return sum(max(0, number - there.get(domain, 0)) for domain, number in gtid.domains(target).items())


def stopped(channel):
    """Why waiting is of no use, in words; empty while the applier works."""
    if not channel:
        return "it has no replication channel"
    if channel["sql_running"] != "Yes":
        return "its applier has stopped%s" % (": " + channel["last_sql_error"] if channel["last_sql_error"] else "")
    return ""


def due(role, step, info):
    """True on a replica that is expected to be behind: its channel begins in this run, or nobody has waited since it was
    seeded."""
    if role != "replica" or not info["names"]["gtid"]:
        return False
    if step == "configure":
        return True
    seeded = info.get("seed") or {}
    waiting = seeded.get("state") == "done" and seeded.get("caught_up") is False
    return bool(info["channel"] and info["channel"]["gtid"] and (step == "start" or waiting))


def progress_line(host, first, now, seconds):
    """One line of progress: seconds since it began, transactions that are missing still and were at first."""
    return "  catch up %s: %4d s  %d of %d transactions to apply" % (host, seconds, now, first)


def complaint(host, first, now, seconds, behind):
    """What to say when the time is up."""
    rate = (first - now) / float(seconds) if seconds else 0
    words = ("%s follows its source, but after %d s it has not applied what the source had when the wait began: %d of %d "
             "transactions are missing" % (host, seconds, now, first))
    words += ", it applies %.1f a second" % rate if rate > 0 else ", and it applies none"
    if behind is not None:
        words += " (%s s behind, as it says itself)" % behind
    return words + ". No data are lost. Run again: it waits again; semisync_catch_up_timeout says how long"
