# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator who runs the playbooks: what each decides on the controller by its own code, of
servers in memory, with every consent that it asks for by name.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._replication import journal
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member, source_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import (
    current_source,
    quarantined_hosts,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    cases,
    certificate,
    failover_outcome,
    failover_plan,
    interrupted_failover,
    interrupted_switchover,
    records,
    survivors,
    switchover_plan,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.peers import peers_of
from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import JournalRow
from ansible_collections.dbre.semisync.tests.unit import samples

from model.protocol_run import Fault, Run
from model.protocol_world import UUID, Server, World, channel

NOW = 1795000000.0
LOOK = NOW - 600
TOKEN = "cafe"
MENDS = (switchover_plan.FINISH, switchover_plan.UNDO)
# Playbooks one after another, until it is called a dead end.
RUNS = 6


class DeadEndError(AssertionError):
    """No playbook leads out; the text says what each said."""


def settings(to: str) -> Any:
    return samples.settings(
        switchover_to=to,
        switchover_timeout=2,
        switchover_drain=0,
        switchover_long_transactions="refuse",
        switchover_max_lag=10,
        failover_to="",
        failover_accept=[],
        failover_salvage=False,
        failover_timeout=4,
        failover_stall=4,
        failover_apply=10,
        failover_fast_apply=False,
    )


@functools.lru_cache(maxsize=1)
def captured() -> str:
    """A server of a cluster that may move its roles."""
    info = samples.captured("mysql", "replica")
    for side in ("source", "replica"):
        samples.install_plugin(info, side)
    info["variables"].update(
        log_bin="ON",
        log_replica_updates="ON",
        log_slave_updates="ON",
        gtid_mode="ON",
        relay_log_recovery="OFF",
        sync_relay_log="10000",
        super_read_only="OFF",
    )
    info.update(tls={"on": False}, other_channels=[])
    info["option_files"]["options"]["bind_address"] = "*"
    return json.dumps(info)


def read(server: Server) -> Any:
    """What semisync_info returns of a server; None if it, or its host, is gone."""
    if not server.up:
        return None
    info: dict[str, Any] = json.loads(captured())
    info["variables"].update(
        server_uuid=UUID % server.number,
        server_id=str(server.number),
        read_only="ON" if server.read_only else "OFF",
    )
    info["clock"], info["fence"] = NOW, server.fenced
    info["uptime"] = {"seconds": 10 if server.restarted else 86400, "since_reset": 10}
    info["gtid"] = {"gtid_executed": server.gtids(), "gtid_purged": ""}
    found = channel(server)
    if found:
        template = dict(info["channel"], source_user="repl", delay=0, gtid=True)
        info["channel"] = dict(template, **found)
    else:
        info["channel"] = None
    for side, on in (("source", server.waits), ("replica", server.acknowledges)):
        info["semisync"][side]["variables"]["enabled"] = "ON" if on else "OFF"
        info["semisync"][side]["status"]["status"] = "ON" if on else "OFF"
    info["semisync"]["source"]["variables"]["wait_for_replica_count"] = "1"
    info["semisync"]["source"]["status"]["clients"] = str(len(server.clients()))
    rows = server.rows()
    info["journal"] = dict(rows[-1]) if rows else None
    info["held"] = journal.left_by_failover([row for row in rows if row["state"] == journal.DONE])
    # Its own option file, for the fence.
    info["option_files"]["path"] = server.host
    return info


def members_of(world: World) -> list[Member]:
    """The members that are not held, each with its side; see plugin_utils/_common/cluster."""
    first = next(iter(world.servers))
    made = []
    for host, server in world.servers.items():
        side = "source" if host == first else "replica"
        info = read(server)
        made.append(samples.member(host, side, info, error="" if info else "unreachable"))
    left, _away = quarantined_hosts.apart(made)
    decided = current_source.decide(left)
    for member in left:
        member.side = "source" if member.host == decided.source else "replica"
    return sorted(left, key=lambda one: one.side != "source")


def looks_of(world: World, members: list[Member]) -> dict[str, Any]:
    """What was read of each beside its state; whom it reaches, by where it looks for them."""
    ways = {
        one.host: {
            peer.host: "" if world.servers[peer.address].up else "refused"
            for peer in peers_of(members, one)
        }
        for one in members
    }
    return {
        one.host: {
            "reach": ways[one.host],
            "answered": [host for host, words in ways[one.host].items() if not words],
            "filters": [],
            "running": lock_holder.RUN_LOCK in world.servers[one.host].locks,
            "events": [],
            "event_scheduler": "ON",
            "first_gtids": None,
            "long": [],
            "read_at": NOW,
            **seconds_of(world.servers[one.host]),
        }
        for one in members
        if one.info is not None
    }


def seconds_of(server: Server) -> dict[str, float]:
    """Since when it runs, its machine and its applier: since long before the last look, or since
    after it.
    """
    return {
        "server_seconds": 10.0 if server.restarted else 86400.0,
        "kernel_seconds": 10.0 if server.rebooted else 86400.0,
        "applier_seconds": 10.0 if server.applier_restarted else 86400.0,
    }


def last_look(world: World) -> Any:
    """What verify.yml kept of the first source."""
    return {
        "server": UUID % 1,
        "server_id": "1",
        "at": survivors.stamp(LOOK),
        "clock": LOOK,
        "yes_tx": 90,
        "no_tx": 0,
        "no_times": 0,
        "status": "ON",
        "clients": str(len(world.servers) - 1),
        "wait_sessions": "0",
        "calm_at": survivors.stamp(LOOK),
        "timeout": "3600000",
        "wait_no_replica": "ON",
        "wait_for_replica_count": "1",
        "degraded_since": None,
        "gtid": f"{UUID % 1}:1-1",
    }


class Person:
    """Runs playbooks on a world until one server takes writes."""

    def __init__(self, world: World, target: str) -> None:
        self.world, self.target = world, target
        # failover_begun.json, and the certificate of the last failover.
        self.begun: records.Certificate | None = None
        self.certificate: records.Certificate | None = None
        self.story: list[str] = []
        # Faults in the next run, and that run afterwards.
        self.fault: Fault | None = None
        self.last_run: Run | None = None
        # How many certificates said that nothing is missing, one that was wrong, and what a person
        # was asked to accept without need.
        self.proven = 0
        self.lied = self.asked = ""

    def run(self, plans: dict[str, Any], failing: bool = False) -> dict[str, Any]:
        fault, self.fault = self.fault, None
        self.last_run = Run(self.world, plans, failing, fault)
        return self.last_run.finish()

    def lead_out(self) -> None:
        """Every playbook that is asked for, until one takes writes, and nothing is half done."""
        for _turn in range(RUNS):
            if not self.once():
                return
        raise DeadEndError("; ".join(self.story))

    def once(self) -> bool:
        """One playbook; False if there is nothing to do."""
        members = members_of(self.world)
        decided = current_source.decide(members)
        row = decided.row
        if row and interrupted_switchover.half_done(members, row):
            words = switchover_plan.unread(members, row)
            if not words and switchover_plan.mode_of(members, row, self.target) in MENDS:
                self.mend(members, row)
                return True
            self.story.append(f"switchover.yml refuses: {'; '.join(words)}")
        elif self.world.writers():
            return False
        self.fail_over(members)
        return True

    def switch(self) -> dict[str, Any]:
        """switchover.yml, of a cluster that is well."""
        members = members_of(self.world)
        looks = looks_of(self.world, members)
        plan = switchover_plan.planned_switchover(
            "c", members, looks, settings(self.target), "feed", "switch", None
        )
        return self.run(plan["hosts"])

    def mend(self, members: list[Member], row: JournalRow) -> None:
        """switchover.yml, of one that was interrupted."""
        looks = looks_of(self.world, members)
        mode = switchover_plan.mode_of(members, row, self.target)
        wrong = switchover_plan.interrupted_problems(members, row, looks)
        if wrong:
            raise DeadEndError("; ".join([*self.story, f"switchover.yml refuses: {wrong}"]))
        plan = switchover_plan.planned_switchover(
            "c", members, looks, settings(self.target), TOKEN, mode, row
        )
        done = self.run(plan["hosts"])
        self.story.append(f"switchover.yml ({mode}): {said(done)}")

    def evidence(self, members: list[Member], frozen: dict[str, Any] | None) -> Any:
        return survivors.Evidence(
            members=members,
            source={"unreachable": True, "msg": "No route to host"}
            if source_of(members).info is None
            else {},
            looks=looks_of(self.world, members),
            frozen=frozen,
            last=last_look(self.world),
            settings=settings(self.target),
            now=NOW,
        )

    def fail_over(self, members: list[Member]) -> None:
        """failover.yml, with every consent that it asks for."""
        opened = interrupted_failover.find(members, self.begun)
        if opened:
            self.finish(members, opened)
            return
        evidence = self.evidence(members, None)
        found = cases.decide(evidence).cases
        never = [f"{one.name}: {one.words}" for one in found if not one.acceptable]
        if never:
            raise DeadEndError("; ".join([*self.story, f"failover.yml refuses {never}"]))
        frozen = {}
        for member in survivors.readable(members):
            server = self.world.servers[member.host]
            frozen[member.host] = {
                "stopped": True,
                "changed": server.io,
                "at": NOW,
                "answered_at": NOW,
                **seconds_of(server),
            }
            server.io = False
        for member in members:
            member.info = read(self.world.servers[member.host])
        evidence = self.evidence(members, frozen)
        decision = cases.decide(evidence, (), failover_outcome.not_frozen(evidence))
        found = decision.refused
        never = [f"{one.name}: {one.words}" for one in found if not one.acceptable]
        accepted = [one.name for one in found]
        chosen = None if never else decision.chosen
        if chosen is None:
            raise DeadEndError("; ".join([*self.story, f"failover.yml refuses {never}"]))
        if self.begun is None:
            self.asked = ", ".join(name for name in accepted if self.is_needless(name, members))
        kept = certificate.record("c", TOKEN, evidence, decision._replace(accepted=accepted))
        self.begun = {**kept, "outcome": journal.BEGUN}
        parts = failover_plan.parts(evidence, chosen, TOKEN, kept["verdict"], None)
        plans = {host: dict(plan.to_dict(), held=True) for host, plan in parts.items()}
        done = self.run(plans, failing=True)
        for host in frozen:
            server = self.world.servers[host]
            if host not in plans and server.up and server.source:
                server.io = True
        self.report(kept, done, chosen.host)
        self.story.append(f"failover.yml accepting {accepted}: {said(done)}")

    def is_needless(self, name: str, members: list[Member]) -> bool:
        """Whether a consent is for something that is not there: every replica follows the source,
        or the server that a switchover gave it; and a target that was open had everything.
        """
        row, _differ = current_source.newest_row(members)
        target = self.world.servers[self.target]
        own = any(
            one[0] == target.number and one not in self.world.payload for one in target.executed
        )
        opened = interrupted_switchover.begun(row) and target.up and own
        return name.startswith("chain:") or opened

    def report(self, kept: records.Certificate, done: dict[str, Any], to: str) -> None:
        """What the certificate says, against what clients were told."""
        outcome = (done.get(to) or {}).get("outcome") or "unknown"
        if outcome != "unknown":
            self.begun = None
        self.certificate = kept
        missing = self.world.told - self.world.servers[to].has()
        proven = outcome == "done" and kept["verdict"] == certificate.PROVEN
        self.proven += proven
        if proven and missing:
            self.lied = f"proven, and {to} lacks {sorted(missing)}"

    def finish(self, members: list[Member], opened: Any) -> None:
        """failover.yml, of one whose target was opened."""
        known = opened.source in [one.host for one in members]
        dead = opened.source if known else opened.target.host
        for member in members:
            member.side = "source" if member.host == dead else "replica"
        wrong = interrupted_failover.finish_problems(opened, members)
        if wrong:
            raise DeadEndError("; ".join([*self.story, f"failover.yml refuses {wrong}"]))
        evidence = self.evidence(members, None)
        kept = interrupted_failover.certificate_of(opened, "c", TOKEN, NOW)
        parts = failover_plan.parts_left(opened, evidence, kept["token"], kept["verdict"])
        plans = {host: plan.to_dict() for host, plan in parts.items()}
        done = self.run(plans, failing=True)
        self.report(kept, done, opened.target.host)
        self.story.append(f"failover.yml finishes {opened.target.host}: {said(done)}")


def said(done: dict[str, Any]) -> str:
    return ", ".join(
        f"{host} {one.get('outcome')}" + (f" ({one['reason']})" if one.get("reason") else "")
        for host, one in done.items()
    )
