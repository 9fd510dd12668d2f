# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica of a dead source: the run claims it, and it applies what it has received."""

from __future__ import annotations

import time

from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids, position
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import io_thread_resume
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.participant import (
    AbortError,
    Participant,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import FailoverPlan

# The first stage for the watchdog: the IO thread is stopped, and only this part starts it.
CLAIMED = "claimed"


def applies(part: Participant, host: str) -> str:
    """The flag that a replica sets on the target's server while it applies its backlog."""
    return part.presence(host).replace("here", "applies")


def moves(part: Participant, host: str) -> str:
    """The flag that a replica sets on the target's server while it stops to follow that server."""
    return part.presence(host).replace("here", "moves")


def claim(part: Participant, plan: FailoverPlan) -> None:
    """Make this the only run on this host; from now on only it may start the IO thread.

    Raises:
        AbortError: another run is active on this host, or the IO thread was started already.
    """
    part.take_run_lock()
    part.report_stage(CLAIMED)
    gone = not io_thread_resume.release(io_thread_resume.address(part.module, part.token))
    if plan.held and gone:
        seconds = io_thread_resume.RESUME_AFTER
        raise AbortError(
            f"{part.host}: its IO thread is no longer this run's: either the run did not come back"
            f" within {seconds} s after it stopped the thread, and it was started again, or another"
            " run has taken its place"
        )


def apply_all(part: Participant, plan: FailoverPlan) -> None:
    """Apply what this server has received; wait for as long as the applier makes progress.

    Raises:
        AbortError: the applier makes no progress, or has stopped.
    """
    wanted = plan.received
    channel = part.channel()
    if channel and channel["sql_running"] != "Yes" and not part.names.mariadb:
        part.run_statements([(f"START {part.names.replica_word} SQL_THREAD", None)])
    first = left = gtids.missing(part.names.engine, wanted, part.applied())
    begin = moved = time.monotonic()
    while left:
        words = position.stopped(part.channel())
        if words:
            raise AbortError(f"{part.host} does not apply what it has: {words}")
        if time.monotonic() - moved > plan.stall:
            raise AbortError(
                f"{part.host} has applied nothing for {plan.stall} s, and"
                f" {left} transactions are left"
            )
        time.sleep(0.01 if left < 100 else 0.1)
        now = gtids.missing(part.names.engine, wanted, part.applied())
        if now < left:
            moved = time.monotonic()
        left = now
    part.point(
        "C6",
        True,
        f"{first} transactions in {time.monotonic() - begin:.1f} s; it has {part.applied()}",
        wanted,
    )
    part.log_event("applied_all", f"{first} transactions")
