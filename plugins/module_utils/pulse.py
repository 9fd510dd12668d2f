# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that are written at a steady pace while something happens: what is kept of each, and what can be waited for.

A row is {'at': when the insert began, in seconds since 1970 by the source's clock, 'latency_ms', 'status', 'clients',
and how far 'yes_tx', 'no_tx', 'no_times' rose since the row before}.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import json

# Root's own folder, empty after a start: nobody else can put a link there, and nothing is left for ever.
PATTERN = "/run/dbre-semisync-pulse-%s.jsonl"
COUNTERS = ("yes_tx", "no_tx", "no_times")


def details(mark, token, number):
    """The text of one row; it begins like every canary row, so that old ones are deleted with those."""
    return "%s drill %s %d" % (mark, token, number)


def entry(begun, seconds, before, after):
    """One row from the counters around it.

    Args:
        begun: seconds since 1970.
        seconds: how long the insert took.
        before, after: the source's semi-sync statuses by our keys.
    """
    found = {"at": begun, "latency_ms": round(seconds * 1000, 3), "status": after["status"],
             "clients": int(after["clients"])}
    found.update((key, int(after[key]) - int(before[key])) for key in COUNTERS)
    return found


def parse(text):
    """(header, rows, error) in the lines of a pulse's file; a last line that is not whole yet is left out."""
    header, rows, error = {}, [], ""
    for line in text.split("\n")[:-1]:
        item = json.loads(line)
        if "pid" in item:
            header = item
        elif "error" in item:
            error = item["error"]
        else:
            rows.append(item)
    return header, rows, error


def acknowledged(row):
    """Whether an insert was on a replica when it was confirmed, and with it every other of that moment."""
    return row["yes_tx"] >= 1 and row["no_tx"] == 0


def unprotected(row):
    return row["no_tx"] >= 1


def unmet(wanted, rows):
    """What the newest rows still lack, in words; an empty list when each of them is as wanted.

    Args:
        wanted: {'status': 'ON' or 'OFF', 'clients': int, 'rows': how many of the newest are looked at}.
        rows: all so far.
    """
    last = rows[-wanted["rows"]:]
    if len(last) < wanted["rows"]:
        return ["%d rows so far, %d are wanted" % (len(rows), wanted["rows"])]
    lacking = []
    newest = last[-1]
    if newest["status"] != wanted["status"]:
        lacking.append("semi-sync's status on the source is %s, not %s" % (newest["status"], wanted["status"]))
    if newest["clients"] != wanted["clients"]:
        lacking.append("the source counts %d semi-sync clients, not %d" % (newest["clients"], wanted["clients"]))
    if not lacking and not all(
            row["status"] == wanted["status"] and row["clients"] == wanted["clients"]
            and (acknowledged(row) if wanted["status"] == "ON" else unprotected(row)) for row in last):
        lacking.append("not all of the newest %d rows are %s" % (
            len(last), "acknowledged" if wanted["status"] == "ON" else "unacknowledged"))
    return lacking
