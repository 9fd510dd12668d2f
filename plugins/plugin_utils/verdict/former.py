# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a former source has what the new one lacks: by GTID set with no UUID left out on MySQL,
by (domain, server_id) of gtid_binlog_state on MariaDB. And whether it can follow the new one.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtid
from ansible_collections.dbre.semisync.plugins.module_utils.server import names_more, values
from ansible_collections.dbre.semisync.plugins.module_utils.server.names import Names

CLEAN, PHANTOMS, CANNOT_TELL = "clean", "phantoms", "cannot tell"
VERDICTS = (CLEAN, PHANTOMS, CANNOT_TELL)


class Has(NamedTuple):
    """What one of the two servers has.

    Attributes:
        host: inventory name.
        mariadb: whether it is one.
        identity: server_uuid on MySQL, server_id on MariaDB, as text.
        gtids: gtid_executed, or gtid_binlog_state.
        oldest: of the new source: gtid_purged; or on MariaDB where its oldest log begins, None
            where that is not known.
        by_gtid: whether each of its transactions has a GTID: gtid_mode ON; always so on MariaDB.
        strict: MariaDB's gtid_strict_mode; None where nobody knows.
        disorder: of a former MariaDB source: where the numbers of a server fall in its log; ""
            where they were seen to grow, None where its log was not read.
        by_log: whether its log alone was read, which does not name what came with a copy.
    """

    host: str
    mariadb: bool
    identity: str
    gtids: str
    oldest: str | None = None
    by_gtid: bool = True
    strict: bool | None = None
    disorder: str | None = None
    by_log: bool = False


class Judged(NamedTuple):
    """What is said of a former source.

    Attributes:
        verdict: one of VERDICTS.
        phantoms: what it has that the new source lacks, a GTID set, or on MariaDB the last of each
            (domain, server_id).
        why: what stands in the way of a verdict, in words.
        hindrances: why it cannot follow, phantoms or none, in words.
    """

    verdict: str
    phantoms: str = ""
    why: tuple[str, ...] = ()
    hindrances: tuple[str, ...] = ()


def judge(old: Has, new: Has) -> Judged:
    """The verdict on a former source.

    What the new source has only grows, and the former one is given nothing meanwhile: it does not
    matter that they were not read in the same moment.
    """
    try:
        why = premises(old, new) or (mariadb_premises if old.mariadb else mysql_premises)(old, new)
        if why:
            return Judged(CANNOT_TELL, why=tuple(why))
        beyond = gtid.ahead if old.mariadb else gtid.subtract
        phantoms = beyond(old.gtids, new.gtids)
        if phantoms:
            return Judged(PHANTOMS, phantoms, hindrances=tuple(hindrances(old, new)))
        return Judged(CLEAN, hindrances=tuple(hindrances(old, new)))
    except ValueError as error:
        return Judged(CANNOT_TELL, why=(str(error),))


def premises(old: Has, new: Has) -> list[str]:
    """Why no comparison can be made at all."""
    if old.mariadb != new.mariadb:
        return [f"{old.host} and {new.host} are not of one kind, and their GTIDs are not"]
    words = []
    for one in (old, new):
        name = "gtid_binlog_state" if one.mariadb else "gtid_executed"
        if not "".join(one.gtids.split()):
            words.append(
                f"{name} of {one.host} is empty: its binary log or its data were reset or replaced"
            )
    if not old.identity or old.identity == new.identity:
        kind = "server_id" if old.mariadb else "server_uuid"
        words.append(
            f"{old.host} and {new.host} have the same {kind} ({new.identity})"
            if old.identity
            else f"the {kind} of {old.host} is not known"
        )
    return words


def mysql_premises(old: Has, new: Has) -> list[str]:
    words = [
        f"gtid_mode of {one.host} is not ON: it may have transactions without a GTID"
        for one in (old, new)
        if not one.by_gtid
    ]
    if not words and gtid.subtract(old.gtids, new.gtids) == gtid.subtract(old.gtids, ""):
        words.append(strangers(old, new))
    return words


def strangers(old: Has, new: Has) -> str:
    return (
        f"{old.host} and {new.host} have no transaction in common: one of them has another history,"
        " or was reset"
    )


def mariadb_premises(old: Has, new: Has) -> list[str]:
    """Why a comparison of the two states says nothing.

    A server numbers its own transactions upward, and others receive them in that order. So the
    last number of a (domain, server_id) stands for all before it, unless somebody set
    gtid_seq_no by hand: gtid_strict_mode refuses that, and a log that was read shows it.
    """
    words = []
    known, there = gtid.parse_list(old.gtids), gtid.parse_list(new.gtids)
    if not set(known) & set(there):
        words.append(strangers(old, new))
    if old.disorder:
        words.append(
            f"the numbers in the binary log of {old.host} do not grow ({old.disorder}), so the last"
            " one of a server does not stand for all before it"
        )
    elif old.disorder is None:
        lax = [one.host for one in (old, new) if not one.strict]
        if lax:
            words.append(
                f"gtid_strict_mode is not ON on {' and '.join(lax)}, and the binary log of"
                f" {old.host} was not read: nothing says that its numbers grow"
            )
    return words


def hindrances(old: Has, new: Has) -> list[str]:
    """Why a former source without phantoms cannot go on from where it is."""
    words = []
    own = own_lost(old, new)
    if own:
        words.append(
            f"{old.host} has lost transactions that it wrote itself ({own}): a replica takes"
            " nothing from its source that has its own server_id, so they would never come back"
        )
    gone = lacks(old, new.oldest or "")
    if new.oldest is None:
        words.append(f"where the binary logs of {new.host} begin is not known")
    if gone:
        words.append(f"{new.host} has purged binary logs that {old.host} needs ({gone})")
    return words


def own_lost(old: Has, new: Has) -> str:
    """What the former source wrote and the new one has, and it lacks itself, as after a power cut
    with sync_binlog = 0; as text.
    """
    lacking = [part for part in lacks(old, new.gtids).split(",") if part]
    if old.mariadb:
        return ",".join(part for part in lacking if part.split("-")[1] == old.identity)
    return ",".join(part for part in lacking if part.split(":")[0] == old.identity.lower())


def lacks(old: Has, wanted: str) -> str:
    """What of these GTIDs the former source is seen to lack, as text.

    Of a log's first numbers nobody sees whether they came with a copy: on MySQL they are only in
    mysql.gtid_executed then, and its server says so once it runs. On MariaDB a server that wrote
    nothing since is in no state; its numbers are below those that came behind them in their domain.
    """
    if old.mariadb:
        known, last = gtid.parse_list(old.gtids), gtid.domains(old.gtids)
        lacking = gtid.parse_list(gtid.ahead(wanted, old.gtids)).items()
        return ",".join(
            f"{domain}-{server}-{number}"
            for (domain, server), number in lacking
            if (domain, server) in known or number > last.get(domain, 0)
        )
    beyond = gtid.subtract(wanted, old.gtids)
    if not old.by_log:
        return beyond
    logged = gtid.parse_set(old.gtids)
    seen = (
        f"{key}:{first}-{last}"
        for key, intervals in gtid.parse_set(beyond).items()
        for first, last in intervals
        if key in logged and first > logged[key][0][0]
    )
    return gtid.subtract(",".join(seen), "")


def with_copied(old: Has, there: str) -> str:
    """What the former source has, with what came with a copy as far as its log shows that; MySQL.

    A log that was read begins behind the copy: the numbers before the first that it names of a
    server came with that, and so did its own before its first. Of a server that it never names
    nothing is assumed.

    Args:
        there: what the new source has.
    """
    if not old.by_log:
        return old.gtids
    logged = gtid.parse_set(old.gtids)
    copied = [
        f"{key}:{first}-{last}"
        for key, intervals in gtid.parse_set(gtid.subtract(there, old.gtids)).items()
        for first, last in intervals
        if key.partition(":")[0] == old.identity.lower()
        or (key in logged and first < logged[key][0][0])
    ]
    return ",".join([old.gtids, *copied])


def unlogged(
    host: str, mariadb: bool, version: str, sync_binlog: str | None, lost_power: bool | None
) -> str:
    """Why a server may have rows of which its log knows nothing, in words; empty where it may not.

    Args:
        version: as the server or its program says it.
        sync_binlog: as it runs, or would start; None where nobody said.
        lost_power: whether its host was started since that server died; None where nothing tells.
    """
    if sync_binlog == "1" or lost_power is False:
        return ""
    number = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not mariadb and number:
        first, second, third = (int(part) for part in number.groups())
        names = Names("mysql", (first, second, third))
        if names_more.engine_keeps_gtids(names):
            return ""
    doubt = "lost its power" if lost_power else "may have lost its power"
    return (
        f"sync_binlog of {host} is {sync_binlog or 'not known'}, and its host {doubt}: the end of"
        " its binary log may be gone, and the rows of it be in its tables. Compare them with the"
        " new source's, or replace its data"
    )


def is_phantom(mariadb: bool, one: str, there: str) -> bool:
    """Whether a transaction of the former source is one that the new source lacks."""
    return bool(gtid.ahead(one, there) if mariadb else gtid.subtract(one, there))


def from_info(
    host: str, info: dict[str, Any], first_gtids: str | None = None, follows: bool = False
) -> Has:
    """What a server has that was read by a connection.

    Args:
        info: result of semisync_info.
        first_gtids: where a MariaDB server's binary logs begin.
        follows: whether it is a replica: behind a copy of its source its own log is empty until
            something comes.
    """
    mariadb, variables, gtids = info["engine"] == "mariadb", info["variables"], info["gtid"]
    logged = gtids.get("gtid_binlog_state" if mariadb else "gtid_executed")
    return Has(
        host=host,
        mariadb=mariadb,
        identity=str(variables.get("server_id" if mariadb else "server_uuid") or ""),
        gtids=logged or (follows and gtids.get("gtid_slave_pos")) or "",
        oldest=first_gtids if mariadb else gtids.get("gtid_purged", ""),
        by_gtid=mariadb or variables.get("gtid_mode") == "ON",
        strict=values.same_value(variables.get("gtid_strict_mode"), "ON") if mariadb else None,
    )
