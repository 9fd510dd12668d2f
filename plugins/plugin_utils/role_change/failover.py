# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's side of failover.yml: its steps, out of Ansible's variables."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ansible import constants
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils.replication.journal import (
    BEGUN,
    DONE,
    REFUSED,
    UNDONE,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils import cluster, results, settings
from ansible_collections.dbre.semisync.plugins.plugin_utils.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change import (
    cases,
    certificate,
    failover_outcome,
    failover_plan,
    interrupted_failover,
    source_log,
    successor,
    survivors,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.context import Known
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.readings import (
    peers_of,
    tried,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.role_change.survivors import Evidence

# What a run has done that refuses: the tasks of semisync_hook_fence are the user's.
UNTOUCHED = {
    "": "Nothing was changed",
    survivors.AHEAD: "Nothing was changed",
    survivors.BEHIND: "The tasks of semisync_hook_fence have run, and nothing else was changed",
}
display = Display()


def look(
    own: settings.Settings, last: dict[str, Any] | None, others: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the module is given for the first look at a host.

    Args:
        own: this host's settings.
        last: what verify.yml kept of its last look at the source.
        others: where the others are thought to be.
    """
    return {**dead(own, last), "places": others, "user": own["replication_user"]}


def dead(own: settings.Settings, last: dict[str, Any] | None) -> dict[str, Any]:
    """What the module is given for a server that does not run, and is the source's then."""
    wanted = own.get("failover_salvage")
    return {
        "unit": own["service"] or (last or {}).get("unit"),
        "error_log": (last or {}).get("error_log"),
        "files": source_log.known_files(last) if wanted else None,
    }


class Failover(Known):
    """The steps of one task."""

    def go(self) -> dict[str, Any]:
        """Do the step."""
        return {
            "reach": self.reach,
            "plan": self.plan,
            "freeze": self.freeze,
            "salvage": self.salvage,
            "judge": self.judge,
            "part": self.part,
            "thaw": self.thaw,
            "report": self.settled if self.is_settled() else self.report,
        }[self.arguments["step"]]()

    def reach(self) -> dict[str, Any]:
        """Try the servers that this replica has not tried where they listen."""
        known = tried(self.host, self.read())
        untried = failover_plan.untried(peers_of(self.members, self.mine), known)
        if not untried or not self.is_replica():
            return {"skipped": True, "skip_reason": "all have been tried"}
        return self.on_host({"places": untried, "user": self.own["replication_user"]})

    def salvage(self) -> dict[str, Any]:
        """Read on the source's host what the candidate lacks of it."""
        evidence = self.evidence()
        chosen = successor.candidate_of(evidence)
        able = not self.opened and not failover_outcome.not_frozen(evidence)
        plan = dead(self.own, self.last())
        if self.host != source_of(self.members).host or not (able and chosen and plan["files"]):
            return {"skipped": True, "skip_reason": "nothing is salvaged here"}
        plan["files"] = dict(plan["files"], first=chosen.link["read_file"])
        received = str(survivors.received(chosen))
        result = self.on_host(
            {"files": plan["files"], "engine": chosen.facts["engine"], "received": received}
        )
        seen = result.get("salvage") or {}
        # Rows of clients: they are in no result, and in no log.
        payload = seen.pop("payload", "")
        handle = os.open(self.tail_file(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(payload)
        return result

    def tail_file(self) -> str:
        """Where what was salvaged waits for the candidate, in a folder of this run alone."""
        return os.path.join(constants.DEFAULT_LOCAL_TMP, f"semisync-tail-{self.token}")

    def plan(self) -> dict[str, Any]:
        """Everything that can be judged before anything is touched."""
        evidence = self.evidence()
        if self.opened:
            return self.plan_again(self.opened, evidence)
        chosen = successor.candidate_of(evidence) if survivors.readable(self.members) else None
        accepted = self.own["failover_accept"]
        refused = cases.refused(evidence, accepted)
        kept = certificate.record(self.name, self.token, evidence, accepted, chosen, self.fenced())
        if chosen:
            kept["statements"] = self.statements(evidence, chosen)
        # Of a source that was dead before its fence all of it has been said.
        anew = evidence.fence != survivors.BEHIND or refused or kept["fenced"]["case"]
        if self.speaks() and anew:
            display.display("\n".join(certificate.told(kept, refused)))
            display.display(f"  {certificate.fence_words(evidence)}")
            if self.check_mode and not refused:
                lines = [f"  {one['host']}: {one['statement']};" for one in kept["statements"]]
                display.display("\n".join(lines))
        if refused:
            kept["outcome"] = REFUSED
            self.keep(kept)
            raise cluster.RefusedError(
                f"{UNTOUCHED[evidence.fence]}. {certificate.complaint(self.name, refused)}"
            )
        # Whether it has to be seen dead before anything is touched.
        lives = evidence.fence == survivors.AHEAD and bool(kept["fenced"])
        if lives and self.speaks():
            self.shelf().keep_look(self.members)
        return {"changed": False, "certificate": kept, "lives": lives}

    def plan_again(self, opened: interrupted_failover.Opened, evidence: Evidence) -> dict[str, Any]:
        """What is left of a failover whose target takes writes already."""
        wrong = interrupted_failover.problems(opened, self.members)
        if source_of(self.members) is not opened.target:
            wrong += [case.words for case in cases.of_source(evidence)]
        cluster.refuse(self.task_vars, self.name, self.members, wrong)
        kept = interrupted_failover.certificate_of(opened, self.name, self.token, evidence.now)
        if self.speaks() and evidence.fence != survivors.BEHIND:
            display.display(
                f"Failover of cluster {self.name} from {opened.source} was interrupted when"
                f" {opened.target.host} took writes already: what is left of it is done"
            )
        return {"changed": False, "certificate": kept}

    def judge_again(
        self, opened: interrupted_failover.Opened, evidence: Evidence
    ) -> dict[str, Any]:
        """What each host has to do for the rest of it."""
        followers = interrupted_failover.followers_of(opened, evidence)
        kept = interrupted_failover.certificate_of(opened, self.name, self.token, evidence.now)
        wrong = [
            *interrupted_failover.not_frozen(opened, evidence),
            *interrupted_failover.problems(opened, evidence.members),
        ]
        cluster.refuse(self.task_vars, self.name, self.members, wrong)
        more = interrupted_failover.finishing(opened, kept, followers)
        hosts = {
            member.host: failover_plan.arguments(
                member, opened.target, followers, self.members, self.own, more
            )
            for member in [opened.target, *followers]
        }
        return {"changed": False, "go": True, "hosts": hosts, "certificate": kept}

    def wait_count(self, evidence: Evidence, chosen: Member) -> int:
        """How many acknowledgements the new source waits for before it opens; none where somebody
        has accepted that.
        """
        needed = successor.new_wait_count(chosen)
        return needed if len(successor.followers_of(evidence, chosen)) >= needed else 0

    def statements(self, evidence: Evidence, chosen: Member) -> list[dict[str, str]]:
        followers = successor.followers_of(evidence, chosen)
        others = [
            member
            for member in survivors.readable(self.members)
            if member is not chosen and member not in followers
        ]
        return failover_plan.statements(
            chosen,
            followers,
            others,
            self.own["canary_schema"],
            self.wait_count(evidence, chosen),
        )

    def freeze(self) -> dict[str, Any]:
        if not self.is_replica():
            return {"skipped": True, "skip_reason": "it is no replica that was read"}
        if self.opened and interrupted_failover.follows(self.opened, self.mine):
            return {"skipped": True, "skip_reason": f"{self.opened.target.host} takes writes"}
        # A replica that still follows the dead source could acknowledge to it, if it lives.
        return self.on_host({"token": self.token})

    def judge(self) -> dict[str, Any]:
        """Everything again, by what was read behind the stop; what each host has to do."""
        evidence = self.evidence()
        if self.opened:
            return self.judge_again(self.opened, evidence)
        accepted = self.own["failover_accept"]
        refused = [
            *failover_outcome.not_frozen(evidence),
            *cases.refused(evidence, accepted),
        ]
        chosen = None if refused else successor.candidate_of(evidence)
        kept = certificate.record(self.name, self.token, evidence, accepted, chosen, self.fenced())
        if refused or not chosen:
            kept["outcome"] = REFUSED
            kept["reason"] = certificate.complaint(self.name, refused)
            return {"changed": False, "go": False, "hosts": {}, "certificate": kept}
        if self.speaks():
            # For a run that is to finish this one.
            begun = dict(kept, outcome=BEGUN)
            results.write_json(os.path.join(self.folder(), results.BEGUN), begun)
        followers = successor.followers_of(evidence, chosen)
        hosts = {
            member.host: failover_plan.arguments(
                member,
                chosen,
                followers,
                self.members,
                self.own,
                {
                    "token": self.token,
                    "wait_count": self.wait_count(evidence, chosen),
                    "verdict": kept["verdict"],
                    "received": str(survivors.received(member)),
                    "to_apply": survivors.to_apply(member),
                    "held": bool((evidence.frozen or {})[member.host].get("changed")),
                    "salvage": kept["salvage"],
                },
            )
            for member in [chosen, *followers]
        }
        return {"changed": False, "go": True, "hosts": hosts, "certificate": kept}

    def judged(self) -> dict[str, Any]:
        """What judge() found, of this host's task."""
        judged: dict[str, Any] = self.results_of("plan_from")[self.host]
        return judged

    def part(self) -> dict[str, Any]:
        plan = (self.judged().get("hosts") or {}).get(self.host)
        if not plan:
            return {"skipped": True, "skip_reason": "it has no part"}
        if plan["part"] != "target" or plan["mode"] != "switch":
            return self.on_host(plan)
        ahead = failover_plan.apply_ahead(self.host, plan, self.on_host, display.display)
        if plan.get("salvage"):
            with open(self.tail_file(), encoding="ascii") as stream:
                done = self.on_host(plan, tail=stream.read())
        else:
            done = self.on_host(plan)
        return done | ({"ahead": ahead} if ahead else {})

    def thaw(self) -> dict[str, Any]:
        """Start the IO thread again where no part of a failover has it in its hand."""
        frozen = self.results_of("frozen_from")[self.host]
        if self.host in (self.judged().get("hosts") or {}) or not frozen.get("changed"):
            return {"skipped": True, "skip_reason": "there is nothing to put back"}
        return self.on_host({"token": self.token})

    def report(self) -> dict[str, Any]:
        """Say and keep what became of it; a failure where nobody took over."""
        judged, parts = self.judged(), self.results_of("parts_from")
        kept = judged.get("certificate")
        if not kept:
            return {"failed": True, "msg": "nothing was judged; what failed is said above"}
        parts = {host: parts[host] for host in judged["hosts"]}
        run = self.arguments.get("run") or ""
        kept = failover_outcome.completed(
            kept, parts, self.own["failover_accept"], run, self.arguments.get("begun")
        )
        result: dict[str, Any] = dict(kept, changed=False, path=None)
        if self.speaks():
            result["path"] = self.keep(kept)
            display.display("\n".join(failover_outcome.told(kept)))
            if kept["outcome"] in (DONE, UNDONE):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder(), results.BEGUN))
        wrong = failover_outcome.complaint(kept, parts)
        if wrong:
            result.update(cluster.refused(wrong, self.host))
        return result

    def settled(self) -> dict[str, Any]:
        """Keep the first look at the new source, of whose host this is."""
        if self.host != self.judged()["certificate"]["to"]:
            return {"skipped": True, "skip_reason": "it is not the new source"}
        self.shelf().keep_look(
            [one.but(side="source" if one is self.mine else "replica") for one in self.members]
        )
        return {"changed": False}

    def keep(self, kept: dict[str, Any]) -> str | None:
        """Write certificate.json into the run's folder; its path."""
        if self.check_mode or not self.speaks():
            return None
        run = results.open_run(self.folder(), results.now(), self.arguments.get("run") or None)
        path = os.path.join(run, certificate.FILE)
        results.write_json(path, kept)
        return path
