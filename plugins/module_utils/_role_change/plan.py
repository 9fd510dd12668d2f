# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan that a host gets for a step of a switchover, a failover or a rejoin: the module's option
`plan`, with a type for each step.

The controller makes these and sends `to_dict()`; the module reads that with `from_dict()`, which
refuses a missing or unknown key. Seconds are seconds, and hosts are names of the inventory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import (
    LIST_OF,
    ONE_OF,
    OptionFile,
    Peer,
    Plan,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import EventState

# Modes of a plan, and the parts of hosts.
SWITCH, FINISH, UNDO, APPLY, RENEW = "switch", "finish", "undo", "apply", "renew"
SOURCE, TARGET, REPLICA, FORMER = "source", "target", "replica", "former"
# Ends the reason of a part that another part made fail: the controller shows that one's reason.
SEE_ITS_RESULT = "see its result"


# Parts of several plans


@dataclass(frozen=True)
class ChannelTls(Plan):
    """TLS of a channel; None keeps the server's default."""

    ssl: bool
    ca: str | None = None
    verify: bool | None = None


# A part of a role change


@dataclass(frozen=True)
class RoleChangePlan:
    """What the parts of a switchover and of a failover share.

    Attributes:
        mode: switch; apply, for a round of a failover's backlog; finish or undo, for a run that was
            interrupted.
        part: source, target or replica.
        host: of this part.
        token: of the run; the names of its locks have it, and its rows in the journal.
        source, target: the hosts of the old and the new source.
        source_id, target_id: their servers' ids in the journal.
        members: where the cluster's servers listen, including this host's.
        user: the replication account.
        wait_count: how many acknowledgements a commit on the target waits for; 0 for none.
        timeout: limit of the time in which writers are kept out.
        drain: limit of the wait for long transactions.
        catch_up: limit of the wait until the target has applied what it has.
        schema: of the journal.
        verdict: the certificate's, for the journal; empty in a switchover.
        ends_lock: whether to take another run's lock away, because the operator said that no other
            run is in progress.
    """

    mode: str
    part: str
    host: str
    token: str
    source: str
    target: str
    source_id: str
    target_id: str
    members: list[Peer] = field(metadata={LIST_OF: Peer})
    user: str
    wait_count: int
    timeout: int
    drain: int
    catch_up: int
    schema: str
    verdict: str
    ends_lock: bool

    def peer(self, host: str) -> Peer:
        """Where a member listens.

        Raises:
            StopIteration: it is no member.
        """
        return next(one for one in self.members if one.host == host)


@dataclass(frozen=True)
class SwitchoverPlan(RoleChangePlan, Plan):
    """A part of a switchover, and of the cleanup on its host afterwards.

    Attributes:
        option_file: this host's.
        connect_retry: of the old source's new channel.
        tls: of that channel.
        long_transactions: what to do with those that do not end in time: kill or refuse.
        events: whether the old source runs scheduled events.
        event_states: the old source's events, each with schema, name and status; None if they are
            not known.
        super_read_only: whether the target had it ON, which the old source gets; in any mode but
            switch it gets what it starts with.
        without_target: whether the target is gone, and the old source takes its role back.
        scheduler_was_on: whether the part switched the event scheduler off here.
        unfence: whether the option files have the new roles, so that the fence may go.
    """

    option_file: OptionFile = field(metadata={ONE_OF: OptionFile})
    connect_retry: int
    tls: ChannelTls = field(metadata={ONE_OF: ChannelTls})
    long_transactions: str
    events: bool
    event_states: Sequence[EventState] | None
    super_read_only: bool
    without_target: bool = False
    scheduler_was_on: bool = False
    unfence: bool = False


@dataclass(frozen=True)
class FailoverPlan(RoleChangePlan, Plan):
    """A part of a failover.

    Attributes:
        option_file: the operator's path of it, or None.
        others: the replicas that follow the target.
        stall: after how long without progress applying counts as stuck.
        durability: the target's variables that are relaxed while it applies, with the values that
            they get back.
        received: the GTIDs that this replica received.
        held: whether this run stopped its IO thread.
        to_apply: how many transactions it has yet to apply.
        salvage: what was read of the dead source's log; the controller's.
        event_states: as in a switchover, of the dead source.
    """

    option_file: str | None
    others: list[str]
    stall: int
    durability: dict[str, str]
    received: str
    held: bool
    to_apply: int = 0
    salvage: object = None
    event_states: Sequence[EventState] | None = None


# The other steps of a switchover and of a failover


@dataclass(frozen=True)
class IoThreadPlan(Plan):
    """Stops a replica's IO thread, starts it, or (mode renew) keeps it stopped.

    Attributes:
        schema: of the heartbeat's table, which is read after the stop.
        user: the replication account, which tries the source once more; if empty, it is not tried.
    """

    token: str
    mode: str = ""
    schema: str = ""
    user: str = ""


@dataclass(frozen=True)
class SalvagePlan(Plan):
    """What is read of a dead source's log.

    Attributes:
        engine: mysql or mariadb.
        received: the GTIDs that the candidate received; transactions beyond them are read.
    """

    files: LogFiles = field(metadata={ONE_OF: LogFiles})
    engine: str
    received: str


# The steps of a rejoin


@dataclass(frozen=True)
class RejoinLookPlan(Plan):
    """What is read on the new source's host."""

    part: str


@dataclass(frozen=True)
class FormerLog:
    """Where a former source's log is, and which part of it is of interest.

    Attributes:
        known: the GTIDs that the new source has.
        files: None if its server does not run.
        units: what its unit may be called.
        program: of the new source's server, if its own is not found.
        since: when it lost its role, as the journal has it; or empty.
    """

    known: str
    files: LogFiles | None = field(metadata={ONE_OF: LogFiles})
    units: list[str]
    program: str
    since: str


@dataclass(frozen=True)
class FormerLookPlan(FormerLog, Plan):
    """What is read on a former source's host.

    Attributes:
        engine: of both servers.
        option_file: the operator's path of it, or None.
        peer: the new source, which it tries to reach.
    """

    part: str
    engine: str
    option_file: str | None
    peer: Peer = field(metadata={ONE_OF: Peer})
    user: str


@dataclass(frozen=True)
class CarryPlan(FormerLog, Plan):
    """The transactions to read there, by their GTIDs."""

    wanted: str


@dataclass(frozen=True)
class ReplayPlan(Plan):
    """Where they are carried out; `known` are the GTIDs that the former source had, too."""

    files: LogFiles = field(metadata={ONE_OF: LogFiles})
    known: str


@dataclass(frozen=True)
class RejoinPlan(Plan):
    """What is done on a former source's host, from its start to its last step.

    Attributes:
        down: whether its server does not run.
        missed: whether it is a replica that missed a failover.
        leaves: whether its channel is to a server that lost its role, and may be stopped.
        unit, datadir, option_file: its server's; None if they are not known.
        lines: what it starts with besides read_only.
        open_to_root: whether super_read_only must be off, for a clone.
        truncate: whether its log's end is cut off at its start; see Names.truncates.
        keep: whether its data are copied first.
        timeout: limit of its start.
        run: name of the run, which the copy gets.
        since: a copy whose name sorts after this is enough.
    """

    down: bool
    missed: bool
    leaves: bool
    unit: str | None
    datadir: str | None
    option_file: OptionFile | None = field(metadata={ONE_OF: OptionFile})
    lines: list[str]
    open_to_root: bool
    truncate: bool
    keep: bool
    timeout: int
    run: str | None
    since: str


@dataclass(frozen=True)
class RejoinRecordPlan(Plan):
    """What the new source writes into its journal; see replication/journal.py for an entry."""

    entry: dict[str, str]
    schema: str


@dataclass(frozen=True)
class HoldPlan(Plan):
    """The end of a failover on the dead source's host: its next start is read-only.

    Attributes:
        opened: False.
        units, program: as of a FormerLog.
        option_file: the operator's path of it, or None.
    """

    opened: bool
    units: list[str]
    program: str
    option_file: str | None


@dataclass(frozen=True)
class OpenedPlan(Plan):
    """The same on the new source's, which may have been a dead one once.

    Attributes:
        opened: True.
    """

    opened: bool
    option_file: OptionFile = field(metadata={ONE_OF: OptionFile})
