# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a step of rejoin.yml: which host returns to which source, and what each has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import cluster
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    problems,
    quarantined_hosts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    errant,
    methods,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.context import (
    NotMeantError,
    RunContext,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.errant import Has, Judged
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    REJOIN_JUDGE,
    REJOIN_LOOK,
    REJOIN_SOURCE_LOOK,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.rejoin_shapes import (
    RejoinJudged,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import FormerLook


# No server claims to be the source.
UNCLEAR = (
    "it is not clear which server is the source: add a row to the journal that names it"
    " (docs/operations.md)"
)


class RejoinFacts:
    """What one step knows.

    Attributes:
        former: the host that returns: a former source, or a replica that missed a failover.
        row: what the journal says of the failover that left the former source behind, or None.
        missed: the row of the failover that a replica missed, as long as it follows the old source.
        leaves: whether its channel is to a server that lost its role, and may be stopped.
        source: the host that it is to follow.
        behind: other replicas that missed the failover and still follow the old source.
        away: hosts without a part in this run: the other former sources.

    Args:
        run: what the step works with.

    Raises:
        NotMeantError: another cluster is meant.
        RefusedError: it is not clear who is who.
    """

    def __init__(self, run: RunContext) -> None:
        self.run, self.own = run, run.own
        run.take_every_member()
        every = self.members = run.members
        self.former = self.find()
        self.row = next(
            (
                row
                for row in current_source.held_rows(every)
                if quarantined_hosts.is_it(self.former, row)
            ),
            None,
        )
        # It is not a former source, but was away during a failover. Once its channel is removed,
        # only this run knows that.
        followed = quarantined_hosts.missed(self.former, every)
        self.missed, self.leaves = None if self.row else followed, bool(followed)
        if self.former.info is not None and self.former.channel is None:
            self.missed = self.missed or self.planned().get("missed")
        left, away = quarantined_hosts.apart(every)
        self.away = [one.member for one in away if one.member is not self.former]
        # One at a time: each other replica that missed it needs a run of its own.
        self.behind = [one for one in left if one.missed and one is not self.former]
        if self.missed:
            self.away += self.behind
            left = [member for member in left if member not in self.behind]
        decided = current_source.decide(left)
        run.refuse(
            problems.inventory_problems(run.name, every)
            or decided.problems
            or ([] if decided.source else [UNCLEAR])
        )
        for member in every:
            member.side = "source" if member.host == decided.source else "replica"
        self.source = source_of(every)

    def find(self) -> Member:
        """The former source, by its name.

        Raises:
            NotMeantError, RefusedError: it is none of this cluster.
        """
        wanted = self.own["rejoin"]
        for member in self.members:
            if member.host == wanted:
                return member
        hosts = [member.host for member in self.members]
        if not wanted:
            self.run.refuse(
                [f"name the host to bring back: -e semisync_rejoin=HOST, one of {hosts}"]
            )
        variables, groups = self.run.task_vars["hostvars"], self.run.task_vars["groups"]
        known = [host for _side, group in cluster.GROUPS for host in groups.get(group, [])]
        if wanted in known and wanted in variables:
            raise NotMeantError("another cluster is meant")
        self.run.refuse(
            [f"semisync_rejoin is {wanted!r}, which is not a host of any cluster in the inventory"]
        )
        raise NotMeantError("no host was named")

    def planned(self) -> RejoinJudged:
        """What the step judge returned earlier on this host; a look uses only what it reads."""
        return {} if self.run.step == "look" else self.run.result_of(REJOIN_JUDGE)

    @property
    def engine(self) -> str:
        return str(self.source.facts["engine"])

    @property
    def mariadb(self) -> bool:
        return self.engine == "mariadb"

    @property
    def looked(self) -> FormerLook:
        """What the former source's host returned."""
        return self.run.result_of(REJOIN_LOOK, self.former.host)

    def new_has(self) -> Has:
        first = self.run.result_of(REJOIN_SOURCE_LOOK, self.source.host).get("first_gtids")
        return errant.from_info(self.source.host, self.source.facts, first)

    def old_has(self) -> Has | None:
        """What the former source has; None if it could not be read."""
        # After reseeding, its old binary log is irrelevant.
        copied = self.run.step == "report" and self.planned()["way"] == methods.SEED
        log = None if copied else self.looked.get("log")
        if self.former.info is not None:
            follows = quarantined_hosts.came_back(self.former, self.members)
            has = errant.from_info(self.former.host, self.former.info, follows=follows)
            if self.missed and self.former.channel and not self.mariadb:
                # What it received may have been confirmed, but is not in its own log yet.
                has = has._replace(gtids=str(survivors.received(self.former)))
        elif log:
            identity = self.looked["identity"]
            has = Has(self.former.host, self.engine, identity, log["gtids"], by_log=True)
            has = has._replace(by_gtid=self.looked["by_gtid"], strict=self.looked["strict"] or None)
        else:
            return None
        return has._replace(
            by_gtid=has.by_gtid and not (log and log.get("anonymous")),
            disorder=log["disorder"] if log else "" if copied else None,
        )

    def others(self) -> list[Member]:
        """The members that follow the new source, or should."""
        apart = (self.former, self.source, *self.away)
        return [member for member in self.members if member not in apart]

    def follows(self) -> bool:
        """Whether it follows as a replica should, whether a playbook or a person attached it."""
        return not self.missed and quarantined_hosts.came_back(self.former, self.members)

    def judged(self) -> Judged:
        old = self.old_has()
        if old is None:
            return Judged(errant.CANNOT_TELL, why=(self.unread(),))
        judged = errant.errant_verdict(old, self.new_has())
        doubt = methods.waiting(self.former) or self.unlogged()
        if doubt and judged.verdict == errant.CLEAN:
            return Judged(errant.CANNOT_TELL, why=(doubt,))
        return judged

    def unlogged(self) -> str:
        """Why its tables may have rows that are not in its log; empty if they cannot."""
        copied = self.run.step == "report" and self.planned()["way"] == methods.SEED
        if copied or self.row is None:
            # A replica that was away was never asked to confirm anything.
            return ""
        info, looked = self.former.info, self.looked
        sync = info["variables"].get("sync_binlog") if info else looked.get("sync_binlog")
        version = info["version_full"] if info else looked.get("version")
        return errant.unlogged(
            self.former.host,
            self.engine,
            str(version or ""),
            None if sync is None else str(sync),
            looked.get("lost_power"),
        )

    def unread(self) -> str:
        silent = self.run.info_of(self.former.host).get("reason") == "silent"
        return methods.unread(self.former.host, self.looked, self.former.error, silent)
