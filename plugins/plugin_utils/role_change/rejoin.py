# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's side of rejoin.yml: its steps, out of Ansible's variables."""

from __future__ import annotations

import os
from typing import Any

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import DONE, REFUSED
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import problems, sides
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    errant,
    methods,
    rejoin_replay,
    survivors,
    switchover_plan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.dead_source import (
    NotMeantError,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.errant import Judged
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.rejoin_known import Known
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.rejoin_record import (
    FILE,
    came_back_words,
    follows_point,
    record_of,
    told,
    verdict_point,
    why_not,
)

# Where it follows already, what is behind that is left; or nothing is.
FINISH, NONE = "finish", "none"
display = Display()


class Rejoin(Known):
    """The steps of one task."""

    def go(self) -> dict[str, Any]:
        """Do the step."""
        step = self.arguments["step"]
        if step in ("look", "judge", "report"):
            return {"look": self.look, "judge": self.judge, "report": self.report}[step]()
        if step in rejoin_replay.STEPS:
            return rejoin_replay.STEPS[step](self)
        plan = self.planned()["hosts"].get(self.host)
        if plan is None:
            raise NotMeantError("it has no part in this step")
        return self.on_host(plan)

    def look(self) -> dict[str, Any]:
        self.refuse(problems.of_reading([self.source]))
        if self.host == self.source.host:
            return self.on_host({"part": "source"})
        raw = self.result_of(self.former.host, "info_from")
        if self.host != self.former.host or self.former is self.source:
            raise NotMeantError("it is not the one that comes back")
        if self.former.info is None and raw.get("reason") != "stopped":
            raise NotMeantError(self.former.error)
        more = {
            "part": "former",
            "engine": self.engine,
            "option_file": self.own["option_file"],
            "peer": switchover_plan.peers([self.source])[0],
            "user": self.own["replication_user"],
        }
        return self.on_host(self.log_of_former() | more)

    def judge(self) -> dict[str, Any]:
        """The verdict, what is to be done, and what speaks against that."""
        again = str(self.arguments.get("again", False)).lower() in ("true", "1", "yes")
        if self.former is self.source:
            self.refuse([f"{self.former.host} is the source"])
        judged, look = self.judged(), self.looked
        read_version = self.former.info["version_full"] if self.former.info else None
        look = dict(look, version=look.get("version") or read_version)
        ways = methods.ways(
            self.former.host,
            self.source.host,
            judged,
            look if "down" in look else {},
            self.engine,
            self.result_of(self.source.host, "looks_from").get("exposed"),
            self.own["rejoin_accept"],
        )
        way = self.way(judged)
        # Where nothing is to be done nothing is in the way.
        barred = "" if way == NONE else self.barred()
        closed = "" if way == NONE else barred or self.closed(way, ways, look, again, judged)
        kept = record_of(
            self.name, self.former, self.source, judged, look, ways, way, self.row, self.missed
        )
        outcome = REFUSED if closed else "nothing" if way == NONE else "planned"
        kept.update(run=self.arguments.get("run"), outcome=outcome)
        if again:
            first = self.planned()["record"]
            kept["before"] = {
                name: first[name] for name in ("verdict", "phantoms", "read_by", "way")
            }
        self.record = kept
        if self.speaks():
            display.display("\n".join(told(kept)))
            self.keep(kept)
        if closed:
            words = f"{self.former.host}: {barred}" if barred else why_not(kept, closed)
            if again:
                left = "its IO thread stays stopped" if self.missed else "is held as before"
                raise cluster.RefusedError(
                    f"{words}. {self.former.host} runs, read-only, and {left}"
                )
            self.refuse([words])
        return {
            "changed": False,
            "go": way != NONE,
            "host": self.former.host,
            "way": way,
            "hosts": self.hosts(way, look),
            "away": [member.host for member in self.away],
            "behind": [member.host for member in self.behind],
            "missed": self.missed,
            "record": kept,
        }

    def way(self, judged: Judged) -> str:
        wanted = str(self.own["rejoin_way"])
        follows = self.follows()
        # One that somebody has attached, or that nothing can tell of, may still be replaced.
        if follows and (judged.verdict == errant.CLEAN or wanted != methods.SEED):
            return FINISH if self.row else NONE
        if wanted in (methods.TRUNCATE, methods.REPLAY) and judged.verdict == errant.CLEAN:
            # There is nothing to take back or over any more.
            return methods.ATTACH
        return wanted

    def barred(self) -> str:
        """Why nothing is done on any way, in words."""
        if not self.row and not self.missed:
            words = (
                f"the journal does not say that a failover took the source's role from"
                f" {self.former.host}, and it"
            )
            if self.former.info is None:
                return f"{words} was not read, which would tell whether it missed one"
            return (
                f"{words} follows nobody who lost it: site.yml says what it is, and what it lacks"
            )
        if waiting := methods.waiting(self.former):
            return waiting
        if self.behind and not self.missed:
            hosts = [member.host for member in self.behind]
            return (
                f"{' and '.join(hosts)} missed the failover: let them follow {self.source.host}"
                f" first (semisync_rejoin={hosts[0]})"
            )
        return ""

    def closed(
        self,
        way: str,
        ways: list[methods.Way],
        look: dict[str, Any],
        again: bool,
        judged: Judged,
    ) -> str:
        """Why it is not done on this way, in words."""
        if way == FINISH:
            return "" if judged.verdict == errant.CLEAN else f"it follows, but {ways[0].closed}"
        if way == methods.SEED and self.own["seed_method"] == "none":
            return "semisync_seed_method is none"
        closed = next(one.closed for one in ways if one.name == way)
        closed = closed or rejoin_replay.consent(way, judged, self.own["rejoin_phantoms"])
        if closed or (again and self.former.info is None):
            return closed or f"it cannot be read: {self.former.error}"
        members = self.members
        astray = [one.host for one in self.others() if not sides.target_of(one, members, None)]
        if astray:
            return f"{' and '.join(astray)} follow nobody: run site.yml, or leave them out, first"
        left = 0
        if again and self.missed and way != methods.SEED:
            left = survivors.to_apply(self.former)
        if left:
            return f"it has received {left} transactions that it does not apply: see to its applier"
        user = self.own["replication_user"]
        return methods.unprepared(self.former.host, self.source.host, user, look)

    def hosts(self, way: str, look: dict[str, Any]) -> dict[str, Any]:
        """What the module is given on the two hosts that have a part."""
        info = self.former.info
        place = switchover_plan.option_file(self.former) if info else look.get("option_file")
        own = {
            "down": bool(look.get("down")),
            "missed": bool(self.missed),
            "leaves": self.leaves,
            "unit": self.own["service"] or (info["unit"] if info else None) or look.get("unit"),
            "datadir": info["variables"]["datadir"] if info else look.get("datadir"),
            "option_file": place,
            "lines": self.lines(way),
            "open_to_root": way == methods.SEED,
            "truncate": way == methods.TRUNCATE,
            "keep": way == methods.SEED and bool(self.own["rejoin_keep"]),
            "timeout": self.own["restart_timeout"],
            "run": self.arguments.get("run"),
            # As the names of runs are written.
            "since": (self.row["happened"] if self.row else "").replace(":", "").rstrip("Z"),
        }
        entry = {
            "run": self.arguments.get("run") or "",
            "from_host": self.former.host,
            "to_host": self.source.host,
            # A replica that missed it was never held, and the one that it followed is as before.
            "from_id": self.row["id"] if self.row else sides.identity(self.former),
            "to_id": sides.identity(self.source),
            "position": self.new_has().gtids,
            "verdict": self.judged().verdict,
            "details": f"by the way {way if way == FINISH else self.own['rejoin_way']}",
        }
        record = {"entry": entry, "schema": self.own["canary_schema"]}
        return {self.former.host: own, self.source.host: record}

    def lines(self, way: str) -> list[str]:
        """What it starts with besides read_only, whatever else its option files say.

        The replica's side of semi-sync is switched on where it runs: an old MariaDB that starts
        with it cuts its log's end (MDEV-33465).
        """
        names = self.source.facts["names"]
        lines = [f"loose_{names['source']['variables']['enabled']} = OFF"]
        lines += ["loose_skip_slave_start = ON", "loose_skip_replica_start = ON"]
        # Its accounts with SUPER write although it is read-only, and so do their events.
        lines.append("event_scheduler = OFF")
        closed = not self.mariadb and way != methods.SEED
        return [*lines, *(["loose_super_read_only = ON"] if closed else [])]

    def speaks(self) -> bool:
        meant = [member for member in self.members if member not in self.away]
        return cluster.speaks(self.task_vars, meant, self.task)

    def report(self) -> dict[str, Any]:
        """Keep what became of it."""
        plan = self.planned()
        kept = dict(plan["record"], outcome=DONE)
        ready = self.result_of(self.former.host, "ready_from")
        kept.update(kept_data=ready.get("kept") or None, not_kept=ready.get("not_kept") or None)
        judged = self.judged()
        follows = self.follows()
        good = follows and judged.verdict == errant.CLEAN
        kept["points"] = [
            verdict_point(self.former.host, self.source.host, judged),
            follows_point(self.former.host, self.source.host, follows),
        ]
        if not good:
            kept["outcome"] = "failed"
        if self.speaks():
            self.keep(kept)
            if good:
                words = came_back_words(kept, self.former.host, self.source.host)
                side = self.source.facts["semisync"]["source"]["variables"]
                if side.get("enabled") != "ON":
                    words += (
                        f". Run site.yml now: semi-sync is off on {self.source.host}, and the"
                        " cluster is asynchronous until then"
                    )
                display.display(words)
        if not good:
            raise cluster.RefusedError(
                f"{self.former.host} was brought back, but does not follow {self.source.host}, or"
                f" has what that lacks: {judged.phantoms or '; '.join(judged.why)}"
            )
        return {"changed": False, "record": kept}

    def keep(self, kept: dict[str, Any]) -> None:
        """Write rejoin.json into the run's folder, for this user alone: it has rows of clients."""
        if self.task.check_mode and not self.arguments.get("run"):
            return
        folder = results.cluster_folder(self.arguments.get("results_dir", "results"), self.name)
        run = results.open_run(folder, results.now(), self.arguments.get("run") or None)
        results.write_json(os.path.join(run, FILE), kept, private=True)
