# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a former source has errant transactions, and whether it can follow the new source. MySQL
is compared by the whole GTID set, MariaDB by (domain, server_id) of gtid_binlog_state.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.module_utils._server import names_more, values
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info

CLEAN, PHANTOMS, CANNOT_TELL = "clean", "phantoms", "cannot tell"
VERDICTS = (CLEAN, PHANTOMS, CANNOT_TELL)


class Has(NamedTuple):
    """What one of the two servers has.

    Attributes:
        host: inventory name.
        engine: mysql, percona or mariadb.
        identity: server_uuid on MySQL, server_id on MariaDB, as text.
        gtids: gtid_executed, or gtid_binlog_state.
        oldest: of the new source: gtid_purged; or on MariaDB where its oldest log begins, None
            if that is not known.
        by_gtid: whether each of its transactions has a GTID: gtid_mode ON; always so on MariaDB.
        strict: MariaDB's gtid_strict_mode; None if unknown.
        disorder: of a former MariaDB source: where the numbers of a server fall in its log; ""
            if they were seen to grow, None if its log was not read.
        by_log: whether its log alone was read, which does not name what came with a copy.
    """

    host: str
    engine: str
    identity: str
    gtids: str
    oldest: str | None = None
    by_gtid: bool = True
    strict: bool | None = None
    disorder: str | None = None
    by_log: bool = False

    @property
    def kind(self) -> type[Gtids]:
        return gtids.kind_of(self.engine)

    @property
    def state(self) -> Gtids:
        """What it has, as a state.

        Raises:
            ValueError: its text is something else.
        """
        return self.kind.parse(self.gtids)

    @property
    def mariadb(self) -> bool:
        return self.engine == "mariadb"


class Judged(NamedTuple):
    """The verdict on a former source.

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


def errant_verdict(old: Has, new: Has) -> Judged:
    """The verdict on a former source.

    They need not be read at the same moment: the new source only gains transactions, and the former
    one gets none meanwhile. Once it follows, it has to be read before the source.
    """
    try:
        why = premises(old, new) or (mariadb_premises if old.mariadb else mysql_premises)(old, new)
        if why:
            return Judged(CANNOT_TELL, why=tuple(why))
        phantoms = old.state.beyond(new.state)
        if phantoms:
            return Judged(PHANTOMS, str(phantoms), hindrances=tuple(hindrances(old, new)))
        return Judged(CLEAN, hindrances=tuple(hindrances(old, new)))
    except ValueError as error:
        return Judged(CANNOT_TELL, why=(str(error),))


def premises(old: Has, new: Has) -> list[str]:
    """Why they cannot be compared at all."""
    if old.kind is not new.kind:
        return [f"{old.host} and {new.host} are different engines, whose GTIDs cannot be compared"]
    words = []
    for one in (old, new):
        if not "".join(one.gtids.split()):
            words.append(
                f"{one.kind.STATE} of {one.host} is empty: its binary log or its data were reset or"
                " replaced"
            )
    if not old.identity or old.identity == new.identity:
        name = old.kind.SERVER
        words.append(
            f"{old.host} and {new.host} have the same {name} ({new.identity})"
            if old.identity
            else f"the {name} of {old.host} is not known"
        )
    return words


def mysql_premises(old: Has, new: Has) -> list[str]:
    words = [
        f"gtid_mode of {one.host} is not ON: it may have transactions without a GTID"
        for one in (old, new)
        if not one.by_gtid
    ]
    if not words and old.state.minus(new.state) == old.state:
        words.append(strangers(old, new))
    return words


def strangers(old: Has, new: Has) -> str:
    return (
        f"{old.host} and {new.host} have no transaction in common: one of them was reset, or"
        " belongs to another cluster"
    )


def mariadb_premises(old: Has, new: Has) -> list[str]:
    """Why comparing the two states proves nothing.

    A server numbers its own transactions upward, and others receive them in that order. So the last
    number of a (domain, server_id) stands for all before it, unless gtid_seq_no was set by hand:
    gtid_strict_mode refuses that, and a log that was read shows it.
    """
    words = []
    if not old.state.same_places(new.state):
        words.append(strangers(old, new))
    if old.disorder:
        words.append(
            f"the sequence numbers in the binary log of {old.host} do not always increase"
            f" ({old.disorder}): having a server's last number does not imply having all before it"
        )
    elif old.disorder is None:
        lax = [one.host for one in (old, new) if not one.strict]
        if lax:
            words.append(
                f"gtid_strict_mode is not ON on {' and '.join(lax)}, and the binary log of"
                f" {old.host} was not read: its sequence numbers may not always increase"
            )
    return words


def hindrances(old: Has, new: Has) -> list[str]:
    """Why a former source without errant transactions cannot continue from its position."""
    words = []
    own = own_lost(old, new)
    if own:
        words.append(
            f"{old.host} lost transactions that it wrote itself ({own}): a replica ignores events"
            " with its own server_id, so they would never come back"
        )
    gone = lacks(old, old.kind.parse(new.oldest))
    if new.oldest is None:
        words.append(f"it is not known where the binary logs of {new.host} begin")
    if gone:
        words.append(f"{new.host} has purged binary logs that {old.host} needs ({gone})")
    return words


def own_lost(old: Has, new: Has) -> Gtids:
    """What the former source wrote and lost again, and the new one has, as after a power cut with
    sync_binlog = 0.
    """
    return lacks(old, new.state).of_server(old.identity)


def lacks(old: Has, wanted: Gtids) -> Gtids:
    """Those that the former source certainly lacks.

    A log's first numbers do not show whether they came with a copy: on MySQL they are then only in
    mysql.gtid_executed, and the server reports them once it runs. On MariaDB a server that wrote
    nothing since is in no state; its numbers are below those that came after them in their domain.
    """
    return wanted.lacked_by(old.state, old.by_log)


def with_copied(old: Has, there: Gtids) -> Gtids:
    """What the former source has, with what came with a copy as far as its log shows that; MySQL.

    A log that was read begins after the copy: the numbers before the first that it names of a
    server came with that, and so did its own before its first. Of a server that it never names
    nothing is assumed.

    Args:
        there: what the new source has.
    """
    return old.state.with_copied(there, old.identity) if old.by_log else old.state


def unlogged(
    host: str,
    engine: str,
    version: str,
    sync_binlog: str | None,
    lost_power: bool | None,
) -> str:
    """Why a server may have rows that are not in its binary log; empty if it cannot.

    Args:
        version: as the server or its program says it.
        sync_binlog: as it runs, or would start; None if unknown.
        lost_power: whether its host was started since that server died; None if unknown.
    """
    if sync_binlog == "1" or lost_power is False:
        return ""
    number = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if engine != "mariadb" and number:
        first, second, third = (int(part) for part in number.groups())
        names = Names("mysql", (first, second, third))
        if names_more.engine_keeps_gtids(names):
            return ""
    doubt = "lost its power" if lost_power else "may have lost its power"
    return (
        f"sync_binlog of {host} is {sync_binlog or 'not known'}, and its host {doubt}: the end of"
        " its binary log may be lost while its tables have the rows. Compare them with the new"
        " source's, or replace its data"
    )


def from_info(
    host: str,
    info: Info,
    first_gtids: str | None = None,
    follows: bool = False,
) -> Has:
    """What a server has, as read through a connection.

    Args:
        info: result of semisync_info.
        first_gtids: where a MariaDB server's binary logs begin.
        follows: whether it is a replica: after a copy of its source its own log is empty until
            something comes.
    """
    mariadb, variables, known = info["engine"] == "mariadb", info["variables"], info["gtid"]
    kind = gtids.kind_of(info["engine"])
    return Has(
        host=host,
        engine=info["engine"],
        identity=str(variables.get(kind.SERVER) or ""),
        gtids=known.get(kind.STATE) or (known.get("gtid_slave_pos") if follows else "") or "",
        oldest=first_gtids if mariadb else known.get("gtid_purged", ""),
        by_gtid=mariadb or variables.get("gtid_mode") == "ON",
        strict=values.same_value(variables.get("gtid_strict_mode"), "ON") if mariadb else None,
    )
