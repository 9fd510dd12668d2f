# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica has received most, when the source is gone and one must be promoted.

An acknowledgement means that a replica's relay log has the transaction, not that it is applied (MySQL manual,
"Semisynchronous Replication"), so what is compared is what was received. By GTID where every replica has them, by the
source's file and position otherwise.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.module_utils import gtid


class Sets(object):
    """MySQL GTID sets, as text."""

    unit = "transaction(s)"

    @staticmethod
    def usable(info):
        return info["variables"].get("gtid_mode") == "ON" and bool(info["gtid"].get("gtid_executed"))

    @staticmethod
    def applied(info):
        return info["gtid"]["gtid_executed"]

    @classmethod
    def received(cls, info):
        return cls.join([cls.applied(info), info["channel"]["retrieved"]])

    @staticmethod
    def join(texts):
        return gtid.subtract(",".join(text for text in texts if text), "")

    beyond = staticmethod(gtid.subtract)
    count = staticmethod(gtid.count)


class Lists(object):
    """MariaDB GTID lists as (domain, sequence) pairs: within a domain a later sequence implies the earlier ones."""

    unit = "transaction(s)"

    @staticmethod
    def usable(info):
        return info["channel"]["gtid"] and bool(info["gtid"].get("gtid_slave_pos"))

    @staticmethod
    def applied(info):
        return gtid.domains(info["gtid"]["gtid_slave_pos"])

    @classmethod
    def received(cls, info):
        return cls.join([cls.applied(info), gtid.domains(info["channel"]["retrieved"])])

    @staticmethod
    def join(positions):
        found = {}
        for position in positions:
            for domain, sequence in position.items():
                found[domain] = max(sequence, found.get(domain, 0))
        return found

    @staticmethod
    def beyond(one, other):
        return dict((domain, sequence - other.get(domain, 0)) for domain, sequence in one.items()
                    if sequence > other.get(domain, 0))

    @staticmethod
    def count(missing):
        return sum(missing.values())


class Positions(object):
    """File and position in the source's binary log; comparable only where all follow the same source."""

    unit = "byte(s) of the source's binary log"

    @staticmethod
    def usable(info):
        return bool(info["channel"]["read_file"])

    @staticmethod
    def applied(info):
        return number(info["channel"]["applied_file"]), int(info["channel"]["applied_position"] or 0)

    @staticmethod
    def received(info):
        return number(info["channel"]["read_file"]), int(info["channel"]["read_position"] or 0)

    join = staticmethod(max)

    @staticmethod
    def beyond(one, other):
        return (one, other) if one > other else ()

    @staticmethod
    def count(missing):
        """None where they are in different files, whose length is not known here."""
        if not missing:
            return 0
        (file, position), (other_file, other_position) = missing
        return position - other_position if file == other_file else None


def number(file):
    """The number of a binary log file: binlog.000012 is 12."""
    match = re.search(r"\.(\d+)$", file or "")
    return int(match.group(1)) if match else 0


def measure_of(infos):
    """What these replicas can be compared by, or None."""
    for kind in (Sets, Lists):
        if all(kind.usable(info) for info in infos):
            return kind
    sources = set((info["channel"]["source_host"], info["channel"]["source_port"]) for info in infos)
    return Positions if len(sources) == 1 and all(Positions.usable(info) for info in infos) else None


def rank(members, needed):
    """The replicas of a cluster, the one that received most first.

    Args:
        members: the cluster's plan.Members; the source is not looked at.
        needed: acknowledgements that a commit waits for.

    Returns:
        candidates (hosts that have all that any has), ranking (dicts), unread (host -> why), measured (False where they
        cannot be compared, None where none was read) and statement (sentences).
    """
    replicas = [member for member in members if member.role == "replica"]
    read = [member for member in replicas if member.info is not None and member.channel]
    unread = dict((member.host, member.error or "it follows nobody") for member in replicas if member not in read)
    measure = measure_of([member.info for member in read]) if read else None
    ranking = []
    if measure:
        whole = measure.join([measure.received(member.info) for member in read])
        ranking = [standing(member, measure, whole) for member in read]
        # What lies in another file is more than what lies in the same.
        ranking.sort(key=lambda one: (one["lacks"] is None, one["lacks"] or 0, one["to_apply"] is None, one["to_apply"] or 0))
    found = {"candidates": [one["host"] for one in ranking if one["lacks"] == 0], "ranking": ranking, "unread": unread,
             "measured": (measure is not None) if read else None}
    return dict(found, statement=sentences(found, needed))


def standing(member, measure, whole):
    """How one replica stands against all that any has received."""
    received = measure.received(member.info)
    lacks, waiting = measure.beyond(whole, received), measure.beyond(received, measure.applied(member.info))
    return {"host": member.host, "lacks": measure.count(lacks), "to_apply": measure.count(waiting), "unit": measure.unit,
            "missing": lacks if isinstance(lacks, str) else "",
            "sql_running": member.channel["sql_running"], "last_sql_error": member.channel["last_sql_error"],
            "acknowledges": member.info["semisync"]["replica"]["variables"].get("enabled") == "ON"}


def amount(count, unit):
    return "more than a file" if count is None else "%d %s" % (count, unit)


def line(one):
    """One replica in a line."""
    parts = ["has everything that any replica has received" if one["lacks"] == 0 else
             "lacks %s%s" % (amount(one["lacks"], one["unit"]), " (%s)" % one["missing"] if one["missing"] else "")]
    parts.append("all applied" if one["to_apply"] == 0 else "%s to apply" % amount(one["to_apply"], one["unit"]))
    if one["sql_running"] != "Yes":
        parts.append("its SQL thread is stopped%s" % (": " + one["last_sql_error"] if one["last_sql_error"] else ""))
    if not one["acknowledges"]:
        parts.append("semi-sync is off there")
    return "%s: %s" % (one["host"], "; ".join(parts))


def sentences(found, needed):
    """The ranking for people, what to do first, and what it cannot know."""
    said = [line(one) for one in found["ranking"]]
    said += ["%s was not read: %s" % (host, why) for host, why in sorted(found["unread"].items())]
    best = next((one for one in found["ranking"] if one["lacks"] == 0), None)
    if not best:
        return said
    if best["to_apply"] != 0:
        said.append("Let %s apply what it has before anybody writes to it." % best["host"])
    if len(found["unread"]) < needed:
        said.append("Every commit that a replica of this inventory acknowledged is on %s: a commit waits for %d, and %d could "
                    "not be read. What went out while the source was degraded may be on none." % (
                        best["host"], needed, len(found["unread"])))
    else:
        said.append("A commit may have been acknowledged by %s alone, which could not be read: try to bring it back before "
                    "you promote another." % " or ".join(sorted(found["unread"])))
    return said


def why_none(found):
    """Why there is no candidate."""
    if found["measured"] is None:
        return "no replica can be compared: %s" % "; ".join("%s: %s" % each for each in sorted(found["unread"].items()))
    if not found["measured"]:
        return "the replicas follow different sources without GTIDs, so nothing tells which has received most"
    return "no replica has everything: each lacks what another has. Compare what is missing before you promote one"
