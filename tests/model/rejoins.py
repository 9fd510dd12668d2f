# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rejoin.yml calls clean, once a former source is back: its own judge, asked with what its log
or its server says then. It must have nothing that the new source lacks.
"""

from __future__ import annotations

import functools

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import errant

from model.results import BASE, server_id, uuid

VERSIONS = {"mysql": "9.7.4", "mariadb": "10.11.19"}


def gtids(engine: str, of_source: int, own: int) -> str:
    """A set or a state with so many transactions of the former source, and of the first replica."""
    mariadb = engine == "mariadb"
    first = (
        f"0-{server_id(-1)}-{BASE + of_source}" if mariadb else f"{uuid(-1)}:1-{BASE + of_source}"
    )
    if not own:
        return first
    if mariadb:
        return f"{first},0-{server_id(0)}-{BASE + of_source + own}"
    return f"{first},{uuid(0)}:1-{own}"


@functools.cache
def clean(
    engine: str, logged: int, new: int, own: int, by_log: bool, synced: bool, power: bool
) -> bool:
    """Whether a former source is called clean.

    Args:
        logged: how many transactions its binary log has.
        new: how many of those the new source has.
        own: how many that one has written itself.
        by_log: whether its log was read; else its server was asked, which was started.
        synced: whether sync_binlog was 1 there.
        power: whether its host lost its power.
    """
    mariadb = engine == "mariadb"
    old = errant.Has(
        "source",
        engine,
        server_id(-1) if mariadb else uuid(-1),
        gtids(engine, logged, 0),
        by_gtid=True,
        strict=True if mariadb else None,
        disorder="" if by_log else None,
        by_log=by_log,
    )
    there = errant.Has(
        "replica1",
        engine,
        server_id(0) if mariadb else uuid(0),
        gtids(engine, new, own),
        oldest="" if not mariadb else f"0-{server_id(-1)}-1",
        by_gtid=True,
        strict=True if mariadb else None,
    )
    judged = errant.errant_verdict(old, there)
    doubt = errant.unlogged("source", engine, VERSIONS[engine], "1" if synced else "0", power)
    return judged.verdict == errant.CLEAN and not doubt


@functools.cache
def wrong(engine: str, log: int, disk: int, new: int, synced: bool, power: bool) -> str:
    """How a former source is called clean that has what the new one lacks, in words; empty if it is
    not. It is judged by its log, and again by its server, once that was started.

    Args:
        log: how many transactions its tables have.
        disk: how many its binary log has left.
        new: how many the new source has.
    """
    if log <= new:
        return ""
    # From 8.0.17 on MySQL's engine keeps the GTIDs, which its server says.
    logged = log if engine == "mysql" else disk
    for own in (0, 2):
        if clean(engine, disk, new, own, True, synced, power) and clean(
            engine, logged, new, own, False, synced, power
        ):
            return (
                f"rejoin.yml calls it clean: its tables have {log} transactions, its log {disk},"
                f" and the new source {new} of them and {own} of its own"
            )
    return ""
