# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From which version a server may go to which: the rules of the manuals, as pure functions.

MySQL goes from one LTS series to the next, and to the innovation releases between the two; none is
skipped (MySQL 8.4 manual, "Upgrade Paths"). MariaDB may skip series. Neither goes back.
"""

from __future__ import annotations

Version = tuple[int, ...]
# MySQL's long-term series, in their order; an innovation release belongs to the next.
LTS: tuple[Version, ...] = ((5, 6), (5, 7), (8, 0), (8, 4), (9, 7))
# From these on a server needs no slow shutdown, or brings its system tables up to date by itself.
FAST_SHUTDOWN = {"mariadb": (10, 5)}
UPGRADES_ITSELF = (8, 0, 16)
# Ways from one series to another on which upgrade.yml was run under writers: 5.7.33 to 8.0.45 to
# 8.4.3 to 9.7.4, and MariaDB 10.5.23 to 10.11.18, 10.11.19 to 11.8.9 (docs/evidence/upgrades.md).
# That other versions of a series do the same, and MariaDB's other series between these, is assumed.
WAYS_RUN = {
    ("mysql", (5, 7), (8, 0)),
    ("mysql", (8, 0), (8, 4)),
    ("mysql", (8, 4), (9, 7)),
}
MARIADB_RUN = ((10, 5), (11, 8))


def was_run(engine: str, version: str, to: str) -> bool:
    """Whether upgrade.yml was run on such a server from its series to that of another version; or
    within a series that it was run to or from; MariaDB's also between such series.
    """
    now, then = numbers(version)[:2], numbers(to)[:2]
    if engine == "mariadb":
        return MARIADB_RUN[0] <= now and then <= MARIADB_RUN[1]
    of_engine = [way for way in WAYS_RUN if way[0] == engine]
    known = {series for way in of_engine for series in way[1:]}
    return (engine, now, then) in WAYS_RUN or (now == then and now in known)


def numbers(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def reached(version: str, to: str) -> bool:
    """Whether a server has the version, which may be of a series: 11.8.6 is 11.8."""
    wanted = numbers(to)
    return numbers(version)[: len(wanted)] == wanted


def is_older_series(version: str, other: str) -> bool:
    """Whether a version is of an older series than another."""
    return numbers(version)[:2] < numbers(other)[:2]


def shutdown_of(engine: str, to: str) -> int:
    """innodb_fast_shutdown before an upgrade: 0 is slow, and leaves nothing for the new version to
    read but tables; MariaDB asks for it before 10.5 only.
    """
    return 1 if numbers(to) >= FAST_SHUTDOWN.get(engine, (1000,)) else 0


def path_problem(engine: str, version: str, to: str) -> str:
    """Why a server may not go from a version to another, and what to do; empty if it may."""
    now, then = numbers(version), numbers(to)
    if then < now[: len(then)]:
        return (
            f"it has {version}, and {to} is older: no server goes back to an older version;"
            " name a later one"
        )
    return "" if engine == "mariadb" else mysql_problem(now, then)


def mysql_problem(now: Version, then: Version) -> str:
    """The same for MySQL and Percona Server."""
    begin, end = lts_of(now), lts_of(then)
    if end == len(LTS):
        return (
            f"this collection does not know {dotted(then)}; name {dotted(LTS[-1])} or an older"
            " version"
        )
    if then < UPGRADES_ITSELF and then != UPGRADES_ITSELF[:2]:
        return (
            f"a server of {dotted(then)} does not upgrade its system tables itself; name"
            f" {dotted(UPGRADES_ITSELF)} or later"
        )
    # From between two series only to the next of them.
    furthest = begin + (now[:2] == LTS[begin])
    if end <= furthest:
        return ""
    return (
        f"it has {dotted(now)}, and no LTS series can be skipped: upgrade to"
        f" {dotted(LTS[furthest])} first"
    )


def lts_of(version: Version) -> int:
    """The place of the first LTS series that is not older than a version; their number if it is
    newer than all.
    """
    return sum(series < version[:2] for series in LTS)
