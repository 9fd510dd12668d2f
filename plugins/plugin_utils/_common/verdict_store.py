# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the verdicts of a run leave on the controller."""

from __future__ import annotations

import contextlib
import datetime
import os
from typing import TYPE_CHECKING, Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Check
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.checkpoints import Observation
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Finding

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.drill_shapes import Drill
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.beat_shapes import KeptBeats
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look

DRILL = "drill.json"


class ResultStore:
    """The folder of a cluster, and in it the one of a run; in check mode nothing is put there."""

    def __init__(
        self, base: str, cluster: str, run: str | None, moment: datetime.datetime, check_mode: bool
    ) -> None:
        """
        Args:
            base: the folder for results.
            cluster: its name.
            run: of a run that this one adds to, or None.
            moment: when this one was.
            check_mode: whether nothing is kept.

        Raises:
            ValueError: the run's name is no run's.
        """
        results.check_name(run)
        self.cluster, self.run, self.moment, self.check_mode = cluster, run, moment, check_mode
        self.folder = results.cluster_folder(base, cluster)
        self.at = results.stamp(moment)

    def last_state(self) -> dict[str, Any] | None:
        """What the run before kept of the source."""
        return results.read_json(os.path.join(self.folder, results.STATE), None)

    def keep_verdict(
        self,
        rows: list[Check],
        entries: list[Finding],
        state: Look | None,
        beats: dict[str, KeptBeats] | None = None,
    ) -> str | None:
        """Keep checkpoints and findings, and for the next run the source's state; the path of the
        first, None in check mode.

        Args:
            beats: host -> what the heartbeat's rows on it say; nothing is kept of none.
        """
        if self.check_mode:
            return None
        run = results.open_run(self.folder, self.moment, self.run)
        results.keep_rows(run, rows)
        results.write_json(os.path.join(run, results.FINDINGS), entries)
        if beats:
            results.write_json(os.path.join(run, results.HEARTBEAT), beats)
        self.keep_state(state)
        return os.path.join(run, results.CHECKPOINTS)

    def keep_state(self, state: Look | None) -> None:
        """Keep the last look at the source, if there was one."""
        if state and not self.check_mode:
            results.write_json(os.path.join(self.folder, results.STATE), state)
            self.forget_begun(state)

    def forget_begun(self, state: Look) -> None:
        """Remove the certificate of a failover that did not come to its report, if its source
        lives: it says nothing of what that confirmed since.
        """
        path = os.path.join(self.folder, results.BEGUN)
        begun = results.read_json(path, None)
        if isinstance(begun, dict) and begun.get("from") == state.get("host"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def keep_look(self, members: list[Member]) -> None:
        """Keep a look at the source after a role change: a failover asks for the last."""
        self.keep_state(history.look_back(self.last_state(), members, self.at)[0])

    def spend(self, reason: str) -> str | None:
        """Mark the last look: from now on it proves nothing, until the next takes its place. The
        path of what was marked; None if there is no look, or in check mode.

        Args:
            reason: what is about to change, in words.
        """
        look = self.last_state()
        if self.check_mode or not isinstance(look, dict):
            return None
        path = os.path.join(self.folder, results.STATE)
        if not look.get("spent_at"):
            results.write_json(path, {**look, "spent_at": self.at, "spent_why": reason})
        return path

    def keep_observation(self, row: Observation) -> None:
        """Keep what can be seen only once in a cluster's life, for every later run."""
        if not self.check_mode:
            results.record(self.folder, [row])

    def keep_drill(self, judged: Drill) -> str | None:
        """Keep a drill beside those of the run's other replicas, and the checkpoints of them all;
        the path of the first, None in check mode.
        """
        if self.check_mode:
            return None
        run = results.open_run(self.folder, self.moment, self.run)
        path = os.path.join(run, DRILL)
        before = results.read_json(path, {}).get("drills", [])
        drills = [known for known in before if known["replica"] != judged["replica"]] + [judged]
        results.write_json(path, {"cluster": self.cluster, "at": self.at, "drills": drills})
        # Not at the top: Ansible compiles it at each import, and few runs are a drill.
        from ansible_collections.dbre.semisync.plugins.plugin_utils._checks import drill_outcome

        results.keep_rows(run, drill_outcome.merge(drills))
        return path
