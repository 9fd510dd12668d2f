# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the end of the dead source's binary log proves what no look saw.

Everything that a source confirmed is in its binary log, with a replica or without one. If the log
is read to its end and the candidate gets what it lacks, no confirmed transaction can be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import last_look, survivors
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.last_look import Window
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import LogSummary
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.survivors import Evidence

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import (
        BinaryLogFiles,
        Look,
    )

# What to do about each case; see module_utils/_binlog/salvage.py.
REMEDIES = {
    "unreachable": "make its host reachable, without starting its server",
    "alive": "kill it (SIGKILL), and run this again: nothing may write there while its log is read",
    "program": "install the client programs of its server on that host",
    "encrypted": "only its own server can read it: keep its disk; after the failover, rejoin.yml"
    " lists what only this host has",
    "not_strict": "without it, it is not known what the candidate lacks: set it ON on all servers"
    " before the next failover",
    "cut_short": "restore the rest of the log from a backup or a snapshot of its disk, and run this"
    " again",
    "unsynced": "a power cut may have lost the end of the log; set sync_binlog to 1 before the next"
    " failover",
}
OTHERWISE = "read its binary log by hand before you start its server"


def known_files(last: Look | None) -> BinaryLogFiles | None:
    """Where the source's binary log is, according to the last look."""
    files = last.get("files") if last else None
    return files if files and files.get("basename") else None


def files_of(known: BinaryLogFiles) -> LogFiles:
    """The same, as it is passed to a host."""
    return LogFiles(
        basename=known.get("basename") or "",
        datadir=known.get("datadir") or "",
        pid_file=known.get("pid_file"),
        basedir=known.get("basedir"),
        program=known.get("program"),
    )


def not_strict(evidence: Evidence, last: Look) -> list[str]:
    """Hosts of MariaDB where gtid_strict_mode is not ON, the source first."""
    lax = [
        member.host
        for member in survivors.readable(evidence.members)
        if not values.same_value(member.facts["variables"].get("gtid_strict_mode"), "ON")
    ]
    if not values.same_value(last.get("gtid_strict_mode"), "ON"):
        lax.insert(0, source_of(evidence.members).host)
    return lax


def problem(evidence: Evidence) -> tuple[str, str] | None:
    """(the case's name without "salvage_", what was found) if salvage was requested and is not
    possible; None if it is possible.
    """
    if not evidence.settings.get("failover_salvage"):
        return None
    source, last, seen = (
        source_of(evidence.members),
        evidence.last or survivors.NO_LOOK,
        evidence.salvage,
    )
    blind = last_look.unwatched(evidence)
    if blind or not known_files(last):
        return "no_log", f"it is not known where {source.host} has its binary log: " + (
            blind
            or (
                "no run of verify.yml recorded it"
                if "beat" in last
                else "the last look is of an older version of verify.yml"
            )
        )
    if not seen:
        return "unreachable", f"{source.host} could not be read ({source.error})"
    if seen["case"]:
        return str(seen["case"]), f"{source.host}: {seen['words']}"
    if survivors.is_mariadb(evidence):
        lax = not_strict(evidence, last)
        if lax:
            return "not_strict", f"gtid_strict_mode is not ON on {', '.join(lax)}"
    # A server that started since may have done so because its machine lost its power.
    powered = last_look.ended(evidence) and not last_look.started_since(evidence)
    if not powered and str(last.get("sync_binlog")) != "1":
        return "unsynced", (
            f"it is not known whether {source.host} lost its power after the last look, and its"
            f" sync_binlog was {last.get('sync_binlog')}"
        )
    if "gtids" in seen and (cut := last_look.missed(evidence, ",".join(seen["gtids"]))):
        return "cut_short", (
            f"the binary log of {source.host} ends before {cut}, which it had at the last look"
        )
    return None


def remedy(case: str) -> str:
    return REMEDIES.get(case, OTHERWISE)


def covers(evidence: Evidence) -> bool:
    """Whether the log is, or can be, read to its end."""
    return bool(evidence.settings.get("failover_salvage")) and problem(evidence) is None


def window(evidence: Evidence) -> Window | None:
    """last_look.window(), which the log closes."""
    return None if covers(evidence) else last_look.window(evidence)


def salvaged_gtids(evidence: Evidence) -> str:
    """The GTIDs that the candidate is given from the log."""
    return ",".join((evidence.salvage or {}).get("gtids") or []) if covers(evidence) else ""


def gone(evidence: Evidence) -> str | None:
    """The GTIDs that the source had at the last look and the candidate will not have; None if that
    cannot be compared. A degraded source is judged by its window (C7).
    """
    if source_of(evidence.members).info is not None:
        # It is alive, and may have committed since the replicas were read.
        return ""
    last = last_look.look_at_source(evidence)
    bounded = (
        last.get("status") != "ON" and last_look.begin(evidence) is not None if last else False
    )
    if bounded or (covers(evidence) and "gtids" not in (evidence.salvage or {})):
        return ""
    return last_look.missed(evidence, salvaged_gtids(evidence))


def covered_at(evidence: Evidence) -> float | None:
    """last_look.covered_at(), with what the log adds."""
    return last_look.covered_at(evidence, salvaged_gtids(evidence))


def log_summary(evidence: Evidence) -> LogSummary | None:
    """What the certificate keeps of it; None if nothing was read."""
    seen = evidence.salvage or {}
    read = survivors.readable(evidence.members)
    if not covers(evidence) or "count" not in seen or not read:
        return None
    names = seen["gtids"]
    kind = survivors.kind_of(read[0])
    return {
        "transactions": seen["count"],
        "first": names[0] if names else None,
        "last": names[-1] if names else None,
        "gtids": str(kind.of(*names).latest()),
        "files": seen["files"],
        "end": seen["end"],
        "torn_bytes": seen["torn"],
        "torn_gtid": seen["torn_gtid"] or None,
    }


def log_text(evidence: Evidence) -> str:
    """The same as text; empty if the log does not cover it."""
    if not covers(evidence):
        return ""
    kept = log_summary(evidence)
    if not kept:
        return "its binary log can be read, and will be"
    words = (
        f"its binary log was read to its end ({kept['files'][-1]}, {kept['end']}), which has"
        f" {kept['transactions']} transactions that no replica has"
    )
    if kept["torn_bytes"] or kept["torn_gtid"]:
        words += (
            f"; {kept['torn_bytes']} bytes after that are an incomplete event"
            + (f", of {kept['torn_gtid']}" if kept["torn_gtid"] else "")
            + ", which was never confirmed to a client"
        )
    return words
