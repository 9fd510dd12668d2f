# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster promises its writers: to be available, so that the source continues without
acknowledgements, or to be lossless, so that writers wait rather than be unprotected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import settings
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    Member,
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.settings import (
    Setting,
    Settings,
)

LOSSLESS = "lossless"
DAY_MS = 86400 * 1000
# Longer than a weekend without an operator; the servers' maximum is 49 days.
TIMEOUT_MS = 7 * DAY_MS
# The least timeout that still outlasts a night.
LEAST_MS = DAY_MS
# A shorter timeout is more likely one that was meant in seconds.
SHORTEST_MS = 100
# In semisync_accept, for a shorter one.
SHORT_TIMEOUT = "short_timeout"
# Key -> (the only value that fits, why).
FITTING: dict[str, tuple[int | bool, str]] = {
    "wait_no_replica": (
        True,
        "a source whose replicas are gone would confirm commits without an acknowledgement",
    ),
    "replica_read_only": (True, "every member starts read-only"),
    "sync_binlog": (1, "a member that loses its power must keep what it applied"),
    "innodb_flush_log_at_trx_commit": (
        1,
        "a member that loses its power must keep what it applied",
    ),
}


def is_lossless(wanted: Settings) -> bool:
    return wanted.get("promise") == LOSSLESS


def promised_settings(
    values: Mapping[str, object], rows: Iterable[Setting] = settings.ROWS, explicit: bool = False
) -> tuple[Settings, list[str]]:
    """The public variables as settings.read() returns them; the promise decides those that are not
    set.

    Args:
        explicit: whether the values are only those that a user has set; otherwise they include the
            roles' defaults, which say nothing.
    """
    wanted, wrong = settings.read(values, rows)
    wrong = sorted([*wrong, *contradictions(wanted, explicit)])
    return with_promise(wanted), wrong


def with_promise(wanted: Settings) -> Settings:
    """The wanted settings, after the promise was applied."""
    if not is_lossless(wanted) or wanted["timeout_ms"] >= LEAST_MS:
        return wanted
    return Settings(wanted.items(), timeout_ms=TIMEOUT_MS)


def contradictions(wanted: Settings, explicit: bool) -> list[str]:
    """Variables set to values that break the promise, in words."""
    if not is_lossless(wanted):
        return []

    def is_set(key: str) -> bool:
        return key in wanted and (explicit or wanted.value(key) != Settings.default(key))

    reasons = [
        f"{settings.KEYS[key].name} is {wanted.value(key)}, with which semisync_promise={LOSSLESS}"
        f" does not hold: {why}; leave it out, or set it to {fitting}"
        for key, (fitting, why) in FITTING.items()
        if is_set(key) and wanted.value(key) != fitting
    ]
    if is_set("timeout_ms") and wanted["timeout_ms"] < LEAST_MS:
        reasons.append(
            f"semisync_timeout is {wanted['timeout_ms']}, after which the source would confirm"
            f" commits without an acknowledgement, and semisync_promise={LOSSLESS} says that it"
            f" never does; leave it out for {TIMEOUT_MS} (7 days), or set it to at least {LEAST_MS}"
            " (a day)"
        )
    return reasons


def hardly_meant(values: Mapping[str, object]) -> list[str]:
    """Variables set to values that are possible and hardly meant, unless they are accepted by name,
    in words.
    """
    wanted, _wrong = settings.read(values, [settings.KEYS[key] for key in ("timeout_ms", "accept")])
    timeout = wanted["timeout_ms"]
    if timeout >= SHORTEST_MS or SHORT_TIMEOUT in wanted["accept"]:
        return []
    return [
        f"semisync_timeout is {timeout}, and its unit is milliseconds: the source would wait"
        f" {timeout} ms for a replica, then confirm commits that no replica has. If you meant"
        f" {timeout} s, set it to {timeout * 1000}; if you mean {timeout} ms, set"
        f" semisync_accept={SHORT_TIMEOUT}"
    ]


def options(wanted: Settings, have: Iterable[str]) -> list[tuple[str, int | str]]:
    """The option-file lines that a lossless member needs beside all others.

    Args:
        have: names of options that other lines set.
    """
    if not is_lossless(wanted):
        return []
    lines: list[tuple[str, int | str]] = [("sync_relay_log", 1), ("read_only", "ON")]
    return [(name, value) for name, value in lines if name not in have]


def opens_when_running(member: Member, stage: str, wanted: Settings) -> bool:
    """Whether a host starts read-only, and is to take writes once it runs."""
    return member.side == "source" and stage == "full" and is_lossless(wanted)


def cluster_problems(members: list[Member]) -> list[str]:
    """Hosts of one cluster that promise different things."""
    promised: dict[str, list[str]] = {}
    for member in members:
        promised.setdefault(member.settings["promise"], []).append(member.host)
    if len(promised) < 2:
        return []
    listed = "; ".join(f"{word}: {', '.join(hosts)}" for word, hosts in sorted(promised.items()))
    return [f"semisync_promise differs within the cluster ({listed}); set it for all of its hosts"]


def acknowledging(members: list[Member]) -> int:
    """Replicas that say themselves that they receive and acknowledge: a source that has nothing to
    send still counts one whose IO thread was stopped (seen on MySQL 9.7).
    """
    return len(
        [
            member
            for member in replicas_of(members)
            if member.info is not None
            and member.channel
            and member.channel["io_running"] == "Yes"
            and member.info["semisync"]["replica"]["status"]["status"] == "ON"
        ]
    )


def restart_problems(members: list[Member], reasons: list[str], wanted: Settings) -> list[str]:
    """Why a lossless source must not be restarted now: an orderly stop confirms what waits.

    Args:
        reasons: why it would be, in words; empty if it would not.
    """
    source = source_of(members)
    side = source.facts["semisync"]["source"]
    needed = int(side["variables"].get("wait_for_replica_count") or 1)
    clients = min(int(side["status"]["clients"] or 0), acknowledging(members))
    if (
        not reasons
        or not is_lossless(wanted)
        or side["variables"]["enabled"] != "ON"
        or clients >= needed
    ):
        return []
    return [
        f"{source.host}: its server has to restart ({'; '.join(reasons)}), and {clients} replicas"
        f" acknowledge where a commit waits for {needed}. A server that shuts down cleanly"
        f" confirms the commits that wait, which no replica has, and semisync_promise={LOSSLESS}"
        " says that this never happens. Bring a replica back first"
    ]
