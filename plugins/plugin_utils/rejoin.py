# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's side of rejoin.yml: its steps, out of Ansible's variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.plugin_utils import (
    cluster,
    rejoin_replay,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.hold import NotMeantError, units_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.plans import (
    held,
    problems,
    sides,
    switchover,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict import (
    former,
    former_ways,
    history,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.former import Has, Judged
from ansible_collections.dbre.semisync.plugins.plugin_utils.verdict.former_record import (
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


class Rejoin:
    """The steps of one task.

    Attributes:
        record: what was kept of the verdict, also where that is a refusal; None before.

    Args:
        arguments: the task's.
        task_vars: its variables.
        own: this host's settings.
        on_host: runs the module on this host with a plan.
        task: Ansible's own; in check mode nothing may be written.

    Raises:
        NotMeantError: another cluster is meant.
        RefusedError: it is not clear who is who.
    """

    record: dict[str, Any] | None = None

    def __init__(
        self,
        arguments: dict[str, Any],
        task_vars: Any,
        own: settings.Settings,
        on_host: Callable[[dict[str, Any]], dict[str, Any]],
        task: Any,
    ) -> None:
        self.arguments, self.task_vars, self.own = arguments, task_vars, own
        self.on_host, self.task = on_host, task
        self.host = str(task_vars["inventory_hostname"])
        name, every = cluster.known_members(task_vars, arguments["info_from"], own=own)
        self.name, self.members = name, every
        self.former = self.find()
        self.row = next(
            (row for row in sides.held_rows(every) if held.is_it(self.former, row)), None
        )
        left, away = held.apart(every)
        self.held = any(one.member is self.former for one in away)
        decided = sides.decide(left)
        self.refuse(
            problems.of_inventory(name, every)
            or decided.problems
            or ([] if decided.source else ["it is not clear who is the source"])
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
            self.refuse(
                [f"say which host is to come back: -e semisync_rejoin=HOST, one of {hosts}"]
            )
        variables, groups = self.task_vars["hostvars"], self.task_vars["groups"]
        known = [host for _side, group in cluster.GROUPS for host in groups.get(group, [])]
        if wanted in known and wanted in variables:
            raise NotMeantError("another cluster is meant")
        self.refuse(
            [f"semisync_rejoin is {wanted!r}, which is no host of the inventory's clusters"]
        )
        raise NotMeantError("nobody is meant")

    def refuse(self, wrong: list[str]) -> None:
        cluster.refuse(self.task_vars, self.name, self.members, wrong)

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

    # What is there

    def result_of(self, host: str, argument: str) -> dict[str, Any]:
        """What a host registered under the name that an argument has."""
        name = self.arguments.get(argument)
        return (self.task_vars["hostvars"][host].get(name) or {}) if name else {}

    def planned(self) -> dict[str, Any]:
        plan: dict[str, Any] = self.result_of(self.host, "plan_from")
        return plan

    @property
    def mariadb(self) -> bool:
        return bool(self.source.info["engine"] == "mariadb")

    @property
    def looked(self) -> dict[str, Any]:
        """What the former source's host said."""
        return self.result_of(self.former.host, "looks_from")

    def new_has(self) -> Has:
        first = self.result_of(self.source.host, "looks_from").get("first_gtids")
        return former.from_info(self.source.host, self.source.info, first)

    def old_has(self) -> Has | None:
        """What the former source has; None where it could not be read."""
        # Once its data are a copy, what its old log had counts no more.
        copied = self.arguments["step"] == "report" and self.planned()["way"] == former_ways.SEED
        log = {} if copied else self.looked.get("log") or {}
        if self.former.info is not None:
            follows = held.came_back(self.former, self.members)
            has = former.from_info(self.former.host, self.former.info, follows=follows)
        elif log:
            identity = self.looked["identity"]
            has = Has(self.former.host, self.mariadb, identity, log["gtids"], by_log=True)
            has = has._replace(by_gtid=self.looked["by_gtid"], strict=self.looked["strict"] or None)
        else:
            return None
        return has._replace(
            by_gtid=has.by_gtid and not log.get("anonymous"),
            disorder=log["disorder"] if log else "" if copied else None,
        )

    def judged(self) -> Judged:
        old = self.old_has()
        if old is None:
            return Judged(former.CANNOT_TELL, why=(self.unread(),))
        judged, waiting = former.judge(old, self.new_has()), former_ways.waiting(self.former)
        if waiting and judged.verdict == former.CLEAN:
            return Judged(former.CANNOT_TELL, why=(waiting,))
        return judged

    def unread(self) -> str:
        silent = self.result_of(self.former.host, "info_from").get("reason") == "silent"
        return former_ways.unread(self.former.host, self.looked, self.former.error, silent)

    # The steps

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
            "mariadb": self.mariadb,
            "option_file": self.own["option_file"],
            "peer": switchover.peers([self.source])[0],
            "user": self.own["replication_user"],
        }
        return self.on_host(self.log_of_former() | more)

    def log_of_former(self) -> dict[str, Any]:
        """Where the former source's log is, as far as it is known here, and what of it is known."""
        return {
            "known": self.new_has().gtids,
            "files": history.files_of(self.former.info) if self.former.info else None,
            "units": units_of(self.own, self.source.info),
            "program": self.source.info["program"] or "",
        }

    def judge(self) -> dict[str, Any]:
        """The verdict, what is to be done, and what speaks against that."""
        again = str(self.arguments.get("again", False)).lower() in ("true", "1", "yes")
        if self.former is self.source:
            self.refuse([f"{self.former.host} is the source"])
        judged, look = self.judged(), self.looked
        look = dict(
            look, version=look.get("version") or (self.former.info or {}).get("version_full")
        )
        ways = former_ways.ways(
            self.former.host,
            self.source.host,
            judged,
            look if "down" in look else {},
            self.mariadb,
            self.result_of(self.source.host, "looks_from").get("exposed"),
            self.own["rejoin_accept"],
        )
        way = self.way(judged)
        closed = self.closed(way, ways, look, again, judged)
        kept = record_of(self.name, self.former, self.source, judged, look, ways, way, self.row)
        outcome = "refused" if closed else "nothing" if way == NONE else "planned"
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
            words = why_not(kept, closed)
            if again:
                raise cluster.RefusedError(
                    f"{words}. {self.former.host} runs, read-only, and is held as before"
                )
            self.refuse([words])
        return {
            "changed": False,
            "go": way != NONE,
            "host": self.former.host,
            "way": way,
            "hosts": self.hosts(way, look),
            "record": kept,
        }

    def way(self, judged: Judged) -> str:
        wanted = str(self.own["rejoin_way"])
        follows = held.came_back(self.former, self.members)
        # One that somebody has attached, or that nothing can tell of, may still be replaced.
        if follows and (judged.verdict == former.CLEAN or wanted != former_ways.SEED):
            return FINISH if self.row else NONE
        if wanted in (former_ways.TRUNCATE, former_ways.REPLAY) and judged.verdict == former.CLEAN:
            # There is nothing to take back or over any more.
            return former_ways.ATTACH
        return wanted

    def closed(
        self,
        way: str,
        ways: list[former_ways.Way],
        look: dict[str, Any],
        again: bool,
        judged: Judged,
    ) -> str:
        """Why it is not done, in words."""
        if way == NONE:
            return ""
        if not self.row:
            return (
                f"the journal does not say that a failover took the source's role from"
                f" {self.former.host}: site.yml says what it is, and what it lacks"
            )
        if waiting := former_ways.waiting(self.former):
            return waiting
        if way == FINISH:
            return "" if judged.verdict == former.CLEAN else f"it follows, but {ways[0].closed}"
        if way == former_ways.SEED and self.own["seed_method"] == "none":
            return "semisync_seed_method is none"
        closed = next(one.closed for one in ways if one.name == way)
        closed = closed or rejoin_replay.consent(way, judged, self.own["rejoin_phantoms"])
        if closed or (again and self.former.info is None):
            return closed or f"it cannot be read: {self.former.error}"
        astray = [
            member.host
            for member in self.members
            if member not in (self.former, self.source)
            and not sides.target_of(member, self.members, None)
        ]
        if astray:
            return f"{' and '.join(astray)} follow nobody: run site.yml, or leave them out, first"
        user = self.own["replication_user"]
        return former_ways.unprepared(self.former.host, self.source.host, user, look)

    def hosts(self, way: str, look: dict[str, Any]) -> dict[str, Any]:
        """What the module is given on the two hosts that have a part."""
        info = self.former.info
        place = switchover.option_file(self.former) if info else look.get("option_file")
        own = {
            "down": bool(look.get("down")),
            "unit": self.own["service"] or (info or {}).get("unit") or look.get("unit"),
            "datadir": info["variables"]["datadir"] if info else look.get("datadir"),
            "option_file": place,
            "lines": self.lines(way),
            "open_to_root": way == former_ways.SEED,
            "truncate": way == former_ways.TRUNCATE,
            "keep": way == former_ways.SEED and bool(self.own["rejoin_keep"]),
            "timeout": self.own["restart_timeout"],
            "run": self.arguments.get("run"),
            # As the names of runs are written.
            "since": (self.row["happened"] if self.row else "").replace(":", "").rstrip("Z"),
        }
        entry = {
            "run": self.arguments.get("run") or "",
            "from_host": self.former.host,
            "to_host": self.source.host,
            "from_id": self.row["id"] if self.row else "",
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
        names = self.source.info["names"]
        lines = [f"loose_{names['source']['variables']['enabled']} = OFF"]
        lines += ["loose_skip_slave_start = ON", "loose_skip_replica_start = ON"]
        if self.mariadb:
            # Its accounts with SUPER write although it is read-only, and so do their events.
            return [*lines, "event_scheduler = OFF"]
        return [*lines, *(["loose_super_read_only = ON"] if way != former_ways.SEED else [])]

    def speaks(self) -> bool:
        return cluster.speaks(self.task_vars, self.members, self.task)

    def report(self) -> dict[str, Any]:
        """Keep what became of it."""
        plan = self.planned()
        kept = dict(plan["record"], outcome="done")
        ready = self.result_of(self.former.host, "ready_from")
        kept.update(kept_data=ready.get("kept") or None, not_kept=ready.get("not_kept") or None)
        judged = self.judged()
        good = held.came_back(self.former, self.members) and judged.verdict == former.CLEAN
        kept["points"] = [
            verdict_point(self.former.host, self.source.host, judged),
            follows_point(
                self.former.host, self.source.host, held.came_back(self.former, self.members)
            ),
        ]
        if not good:
            kept["outcome"] = "failed"
        if self.speaks():
            self.keep(kept)
            if good:
                display.display(came_back_words(kept, self.former.host, self.source.host))
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
        path = os.path.join(run, FILE)
        results.write_json(path, kept)
        os.chmod(path, 0o600)
