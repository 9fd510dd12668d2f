# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which one process, server or host dies between two statements of a change of roles,
and what a person can do then. Breadth first, equal states once.

    python -m model.protocol_search [--short] [--hosts 3] [--seconds N]

Invariants: two servers never take writes; from every state with at most one host lost for good some
playbook, with consents by name, leads to one that does; what is called proven is; as long as no
host lost power, nothing that a client was told is missing; and nothing has to be accepted that
is not there.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import sys
import time
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import errant
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.records import (
    Certificate,
)

from model import protocol_rejoin, protocol_run
from model.protocol_mutants import MUTANTS
from model.protocol_people import DeadEndError, Person
from model.protocol_rejoin import Rejoin, away
from model.protocol_run import BOTH, FAULTS, LOST, POWER, Fault, Run
from model.protocol_world import World

# Of the places of a second fault, one in so many; and what that run is called.
SECOND, AGAIN = 6, "the next run"
# The slow host of each way in which the parts may run beside each other.
PACES: tuple[dict[str, int], ...] = ({}, {"db1": 7}, {"db2": 7}, {"db3": 7})


class State(NamedTuple):
    """A cluster in which nothing is under way.

    Attributes:
        begun: the certificate of a failover that has not said what became of it.
        story: what has happened.
    """

    world: World
    begun: Certificate | None
    story: tuple[str, ...]

    @property
    def lost(self) -> bool:
        return any(server.lost for server in self.world.servers.values())

    def key(self) -> tuple[Any, ...]:
        return (self.world.state(), bool(self.begun))


class EnoughError(Exception):
    """Something is wrong, and one story is all that was asked for."""


class Search:
    """The states that were met, and what is wrong with them.

    Args:
        every: of the places of a fault, one in so many is tried.
        deep: with a slow host, and a second fault in what leads out.
        first: whether to stop at the first thing that is wrong.
    """

    def __init__(
        self, hosts: int, every: int, deep: bool, seconds: float, first: bool = False
    ) -> None:
        self.hosts = tuple(f"db{number + 1}" for number in range(hosts))
        self.every, self.deep, self.until = every, deep, time.monotonic() + seconds
        self.states: dict[tuple[Any, ...], State] = {}
        self.wrong: list[str] = []
        self.count: collections.Counter[str] = collections.Counter()
        self.ends: collections.Counter[str] = collections.Counter()
        self.rejoined: set[Any] = set()
        self.first = first
        # Which place of a fault comes first: another each time, so that all are tried in the end.
        self.turn = 0

    def person(self, state: State) -> Person:
        made = Person(state.world.copy(), "db2")
        made.begun = state.begun
        return made

    def note(self, state: State, words: str) -> None:
        told = "\n".join([*(f"  {line}" for line in state.story), f"  {words}"])
        if told not in self.wrong:
            self.wrong.append(told)
        if self.first:
            raise EnoughError

    # What is reached

    def faults(self, run: Run, every: int) -> list[Fault]:
        """Every fault that is another than one before, at one place in so many."""
        seen, places = set(), []
        for step, place in run.places:
            if place not in seen:
                seen.add(place)
                places.append(step)
        self.turn += 1
        return [
            Fault(kind, host, step)
            for step in places[self.turn % every :: every]
            for host in self.hosts
            for kind in FAULTS
        ]

    def spread(self, state: State, act: Any, what: str, every: int) -> list[State]:
        """Every state that a run leaves where one thing dies in it."""
        first = self.person(state)
        self.guarded(state, lambda: act(first), what)
        if first.last_run is None:
            return []
        found = []
        for fault in self.faults(first.last_run, every):
            if time.monotonic() > self.until:
                self.count["not looked at"] += 1
                continue
            if state.lost and fault.kind == LOST:
                continue
            if not state.world.servers[fault.host].up:
                continue
            person = self.person(state)
            person.fault = fault
            words = f"{what}: {fault.host}'s {fault.kind} at statement {fault.step}"
            here = State(person.world, None, (*state.story, words))
            self.count["runs with a fault"] += 1
            if self.guarded(here, lambda person=person: act(person), ""):
                found += self.met(State(person.world, person.begun, here.story))
        return found

    def guarded(self, state: State, act: Any, what: str) -> bool:
        """Whether something could be done without that an invariant broke."""
        try:
            act()
        except DeadEndError as error:
            # Of the fault's own run: what it led to is looked at below.
            self.count["runs that refused"] += 1
            return "refuses" in str(error)
        except AssertionError as error:
            self.note(state, f"{what} {error}")
            return False
        return True

    def met(self, state: State) -> list[State]:
        """The state, where it is a new one."""
        if state.key() in self.states:
            return []
        self.states[state.key()] = state
        return [state]

    # What is asked of each

    def lose(self, state: State) -> list[State]:
        """The state, and those with one more host lost for good."""
        made = [state]
        for host in () if state.lost else self.hosts:
            world = state.world.copy()
            world.servers[host].power_cut()
            world.servers[host].lost = True
            for _turn in range(20):
                world.tick()
            made.append(State(world, state.begun, (*state.story, f"{host} is lost for good")))
        return made

    def leads_out(self, state: State) -> None:
        person = self.person(state)
        self.count["states led out of"] += 1
        try:
            person.lead_out()
        except DeadEndError as error:
            self.note(state, f"DEAD END: {error}")
            return
        except AssertionError as error:
            self.note(state, f"{error}; {'; '.join(person.story)}")
            return
        writers = person.world.writers()
        last = person.story[-1].split(" accepting")[0].split(":")[0] if person.story else "nothing"
        self.ends[" ".join(last.split()[:2])] += 1
        self.count["certificates that said proven"] += person.proven
        if person.lied:
            self.note(state, f"FALSE: {person.lied}")
        # After a second fault a replica may follow what an unfinished failover gave it.
        if person.asked and not any(AGAIN in line for line in state.story):
            self.note(state, f"ASKED TOO MUCH: {person.asked}; {'; '.join(person.story)}")
        missing = person.world.told - person.world.servers[writers[0]].has() if writers else set()
        if missing and not any(POWER in line for line in state.story):
            self.note(state, f"LOST {sorted(missing)} on {writers[0]}; {'; '.join(person.story)}")
        if len(writers) == 1:
            self.brings_back(state, person)

    def brings_back(self, state: State, person: Person) -> None:
        """rejoin.yml of each that a failover left and that is back after all, whole, and with one
        thing that dies in it.
        """
        world = person.world
        for host, server in world.servers.items():
            # failover.yml ends with it.
            if server.up:
                server.role = "source" if host in world.writers() else "replica"
            else:
                # A server that lost its role without a fence is up to the operator who starts it.
                server.lost, server.fenced = False, True
                server.start()
        for _turn in range(20):
            world.tick()
        for host in away(world):
            key = (host, world.state())
            if key in self.rejoined:
                continue
            if time.monotonic() > self.until:
                self.count["not looked at"] += 1
                continue
            self.rejoined.add(key)
            story = (*state.story, *person.story)
            own = Rejoin(world.copy(), host)
            own.world.servers[host].executed.add(own.world.servers[host].append())
            own.world.servers[host].pending = []
            self.follows(State(own.world, None, (*story, f"{host} has one of its own")), own, True)
            first = Rejoin(world.copy(), host)
            self.follows(State(first.world, None, story), first)
            for fault in self.faults(first.last_run, SECOND * self.every) if first.last_run else ():
                if fault.kind in (BOTH, LOST):
                    continue
                again = Rejoin(world.copy(), host)
                words = f"rejoin.yml: {fault.host}'s {fault.kind} at statement {fault.step}"
                here = State(again.world, None, (*story, words))
                self.count["rejoins with a fault"] += 1
                self.guarded(here, lambda again=again, fault=fault: again.once(fault), "")
                self.follows(here, again)

    def follows(self, state: State, rejoin: Rejoin, own: bool = False) -> None:
        """Whether it comes back in the end; one with rows of its own has to be refused."""
        world = state.world
        if not world.writers():
            person = self.person(state)
            person.world = world
            self.guarded(state, person.lead_out, "")
        said: list[str] = []
        if not self.guarded(state, lambda: said.append(rejoin.until_it_follows()), ""):
            return
        words = "".join(said)
        self.ends[f"rejoin: {'refused' if words.startswith('refused') else rejoin.verdict}"] += 1
        refused = words.startswith(f"refused: {errant.PHANTOMS}")
        if own != refused or (words and not own):
            self.note(state, f"NOT BACK: {words}" if words else "IT CAME BACK")

    def lead_each_out(self, layer: list[State]) -> list[State]:
        """Ask each state, and each with one more host lost; return those that were asked."""
        asked = []
        for state in layer:
            for one in self.lose(state):
                if time.monotonic() > self.until:
                    self.count["not looked at"] += 1
                    continue
                self.leads_out(one)
                asked.append(one)
        return asked

    def work(self) -> None:
        start = State(World(*self.hosts), None, ())
        layer = [start]
        protocol_run.PACE = {}
        for pace in PACES if self.deep else PACES[:1]:
            protocol_run.PACE = pace
            slow = f" ({next(iter(pace))} slow)" if pace else ""
            layer += self.spread(
                start, lambda person: person.switch(), f"switchover.yml{slow}", self.every
            )
        protocol_run.PACE = {}
        self.count["states behind one fault"] = len(self.states)
        ends = self.lead_each_out(layer)
        again: list[State] = []
        for one in ends if self.deep else ():
            again += self.spread(one, lambda person: person.once(), AGAIN, SECOND * self.every)
        self.lead_each_out(again)
        self.count["states"] = len(self.states)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--mutant", choices=MUTANTS, help="what is left out, and must be missed")
    parser.add_argument("--seconds", type=float, default=3600)
    chosen = parser.parse_args()
    protocol_run.install()
    protocol_rejoin.install()
    if chosen.mutant:
        MUTANTS[chosen.mutant]()
    begin = time.monotonic()
    every = chosen.every or (3 if chosen.short else 1)
    search = Search(chosen.hosts, every, not chosen.short, chosen.seconds, bool(chosen.mutant))
    with contextlib.suppress(EnoughError):
        search.work()
    for name, number in sorted(search.count.items()):
        print(f"{number:8} {name}")
    for name, number in search.ends.most_common():
        print(f"{number:8} led out by {name}")
    print(f"{time.monotonic() - begin:8.0f} s")
    for words in search.wrong[:20]:
        print(f"WRONG\n{words}")
    print(f"{len(search.wrong)} wrong")
    return 1 if search.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
