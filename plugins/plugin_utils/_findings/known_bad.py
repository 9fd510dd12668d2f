# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server versions with known defects in semi-sync: the table beside names.py, and what makes a
defect matter.

Sources: bugs.mysql.com; jira.mariadb.org; MariaDB release notes. The versions of MariaDB are those
of the branches that the release notes name; older branches are not judged. Percona Server has the
defects of the MySQL it is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import NEVER
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import same_value
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info, Side

MYSQL = ("mysql", "percona")
MARIADB = ("mariadb",)
# A timeout that means "for ever", in milliseconds.
VERY_LONG = 3600 * 1000

Version = tuple[int, ...]


class Defect(NamedTuple):
    """A known defect.

    Attributes:
        id: in the evidence.
        engines: which have it.
        ranges: (first bad version, first good version) of each branch.
        condition: a name in CONDITIONS: what makes it matter.
        what: the defect in a sentence, without a full stop.
        source: where it is written.
    """

    id: str
    engines: tuple[str, ...]
    ranges: tuple[tuple[Version, Version], ...]
    condition: str
    what: str
    source: str


class Condition(NamedTuple):
    """What must hold for a defect to matter.

    Attributes:
        text: for docs/findings.md.
        holds: function(the source's semisync_info, those of its replicas).
    """

    text: str
    holds: Callable[[Info, Sequence[Info]], bool]


def bug(number: int) -> str:
    return f"https://bugs.mysql.com/bug.php?id={number}"


def mdev(number: int) -> str:
    return f"https://jira.mariadb.org/browse/MDEV-{number}"


def fixed_in(*versions: tuple[int, int, int]) -> tuple[tuple[Version, Version], ...]:
    """Ranges from the first release of a branch to the one that has the fix."""
    return tuple(((major, minor, 0), (major, minor, patch)) for major, minor, patch in versions)


DEFECTS = (
    Defect(
        "mysql-69341",
        MYSQL,
        (((5, 6, 11), (5, 6, 12)),),
        "always",
        "semi-sync is slow with many clients",
        bug(69341),
    ),
    Defect(
        "mysql-80651",
        MYSQL,
        (((5, 5, 0), (5, 6, 13)), ((5, 7, 0), (5, 7, 2))),
        "very_long_timeout",
        "semi-sync is slow with a very large timeout",
        bug(80651),
    ),
    Defect(
        "mysql-79865",
        MYSQL,
        (((5, 7, 0), (5, 7, 17)),),
        "always",
        "the thread that receives acknowledgements breaks if the server has more than 1024"
        " descriptors open",
        bug(79865),
    ),
    Defect(
        "mysql-89370",
        MYSQL,
        (((5, 7, 16), (5, 7, 23)),),
        "several_replicas",
        "semi-sync fails with two or more replicas",
        bug(89370),
    ),
    Defect(
        "mysql-104015",
        MYSQL,
        (((5, 7, 34), (5, 7, 35)), ((8, 0, 25), (8, 0, 26))),
        "always",
        "acknowledgements get lost",
        bug(104015),
    ),
    Defect(
        "mysql-105400",
        MYSQL,
        (((8, 0, 27), (8, 0, 28)),),
        "observe_commit_only",
        "semi-sync misbehaves with replication_sender_observe_commit_only=ON",
        bug(105400),
    ),
    Defect(
        "mariadb-shutdown",
        MARIADB,
        fixed_in((10, 4, 25), (10, 5, 16), (10, 6, 8)),
        "always",
        "a shutdown does not wait for the acknowledgement",
        "MariaDB 10.4.25, 10.5.16 and 10.6.8 release notes",
    ),
    Defect(
        "mariadb-second-replica",
        MARIADB,
        fixed_in((10, 6, 17), (10, 11, 7), (11, 4, 1)),
        "several_replicas",
        "a second replica hangs: transactions that were acknowledged time out",
        "MariaDB 10.6.17, 10.11.7 and 11.4.1 release notes",
    ),
    Defect(
        "mariadb-33551",
        MARIADB,
        fixed_in((10, 6, 18), (10, 11, 8), (11, 4, 2)),
        "after_commit",
        "AFTER_COMMIT runs at about a tenth of AFTER_SYNC's speed with many clients",
        mdev(33551),
    ),
    Defect(
        "mariadb-35109",
        MARIADB,
        (((10, 6, 18), (10, 6, 21)), ((10, 11, 8), (10, 11, 11)), ((11, 4, 2), (11, 4, 5))),
        "after_sync",
        "AFTER_SYNC can stall",
        mdev(35109),
    ),
    Defect(
        "mariadb-dump-thread",
        MARIADB,
        fixed_in((10, 11, 12), (11, 8, 2)),
        "tls",
        "a dump thread cannot be killed if the channel uses TLS",
        "MariaDB 10.11.12 and 11.8.2 release notes",
    ),
    Defect(
        "mariadb-no-wait",
        MARIADB,
        fixed_in((10, 6, 23), (10, 11, 14), (11, 4, 8), (11, 8, 3)),
        "no_wait",
        "the source can hang with wait_no_slave=OFF",
        "MariaDB 10.6.23, 10.11.14, 11.4.8 and 11.8.3 release notes",
    ),
    Defect(
        "mariadb-33465",
        MARIADB,
        (
            ((10, 6, 2), (10, 6, 19)),
            *fixed_in((10, 11, 9), (11, 1, 6), (11, 2, 5), (11, 4, 3), (11, 5, 2)),
        ),
        "both_sides",
        "a source that starts with both sides enabled may remove transactions from its binary log"
        " that its replicas have",
        mdev(33465),
    ),
    Defect(
        "mariadb-innodb-binlog",
        MARIADB,
        (((12, 3, 0), NEVER),),
        "innodb_binlog",
        "semi-sync is not supported with the binary log inside InnoDB",
        "MariaDB 12.3 release notes",
    ),
)


def is_set(info: Info, side: Side) -> bool:
    """Whether the option files enable a side of semi-sync."""
    name = info["names"][side]["variables"]["enabled"]
    return same_value(info["option_files"]["options"].get(name), "ON")


def uses_tls(replica: Info) -> bool:
    channel = replica["channel"]
    return channel is not None and bool(channel.get("tls"))


CONDITIONS = {
    "always": Condition("always", lambda info, replicas: True),
    "very_long_timeout": Condition(
        "timeout of an hour or more",
        lambda info, replicas: int(semisync(info, "timeout") or 0) >= VERY_LONG,
    ),
    "several_replicas": Condition(
        "two or more replicas",
        lambda info, replicas: len(replicas) > 1,
    ),
    "observe_commit_only": Condition(
        "`replication_sender_observe_commit_only=ON`",
        lambda info, replicas: (
            info["variables"].get("replication_sender_observe_commit_only") == "ON"
        ),
    ),
    "after_commit": Condition(
        "`AFTER_COMMIT`",
        lambda info, replicas: semisync(info, "wait_point") == "AFTER_COMMIT",
    ),
    "after_sync": Condition(
        "`AFTER_SYNC`",
        lambda info, replicas: semisync(info, "wait_point") == "AFTER_SYNC",
    ),
    "tls": Condition(
        "a channel with TLS",
        lambda info, replicas: any(uses_tls(replica) for replica in replicas),
    ),
    "both_sides": Condition(
        "both sides enabled in the option files",
        lambda info, replicas: is_set(info, "source") and is_set(info, "replica"),
    ),
    "no_wait": Condition(
        "`wait_no_slave=OFF`",
        lambda info, replicas: semisync(info, "wait_no_replica") == "OFF",
    ),
    "innodb_binlog": Condition(
        "`binlog_storage_engine=innodb`",
        lambda info, replicas: (
            (info["variables"].get("binlog_storage_engine") or "").lower() == "innodb"
        ),
    ),
}


def semisync(info: Info, key: str) -> str | None:
    return info["semisync"]["source"]["variables"].get(key)


def of_version(engine: str, version: Version) -> list[Defect]:
    """The defects of a version, whether they matter or not."""
    return [
        defect
        for defect in DEFECTS
        if engine in defect.engines
        and any(first <= tuple(version) < fixed for first, fixed in defect.ranges)
    ]


def of_source(info: Info, replicas: list[Info]) -> list[Defect]:
    """The defects that matter on a source.

    Args:
        info: the source's semisync_info.
        replicas: those of its replicas that could be read.
    """
    version = parse_version(info["version"])
    return [
        defect
        for defect in of_version(info["engine"], version)
        if CONDITIONS[defect.condition].holds(info, replicas)
    ]


def first_good(defect: Defect, version: Version) -> str:
    """The version of this branch that has the fix, as text; empty if there is none."""
    for first, fixed in defect.ranges:
        if first <= tuple(version) < fixed and fixed != NEVER:
            return ".".join(str(number) for number in fixed)
    return ""
