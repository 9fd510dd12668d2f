"""What a fault is, and the hosts of a cycle that it strikes."""

from __future__ import annotations

import pathlib
import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._role_change import lock_holder

from proving.machines import BEGUN, PATIENCE, REPLICAS, Machine, Machines, Writers
from support.eventually import eventually
from support.live_hosts import PROJECT

Done = subprocess.CompletedProcess[str]
# Runs failover.yml with more arguments, after the words of a command that runs it.
Attempt = Callable[..., Done]
# Milliseconds from the source to each replica: without a delay a cut loses next to nothing, even
# under asynchronous replication.
LINE = dict.fromkeys(REPLICAS, 80)
HOLD = PROJECT / "tests" / "support" / "clients" / "hold.py"
# Seconds for which an applier is held before the source dies, behind the moment at which the
# failover's part has come to its host (less than semisync_failover_stall, from which on it would be
# refused), and at most.
HELD_BEFORE, HELD_BEHIND, HELD_LIMIT = 2, 15, 300
EVERY = ("mysql", "mariadb")
# During which tasks of failover.yml its controller, or the candidate, dies, and for how many
# seconds at most such a task has been running.
TASKS = (
    "Read everything about the server, and try",
    "Stop the IO threads alone",
    "Judge what was received",
    "Apply, attach, and open",
)
RUNNING = 4
# Seconds of a server: see docs/clients.md, "A former source that comes back".
YOUNG = 62


class Strike(NamedTuple):
    """What happens in the middle of a playbook.

    Attributes:
        task: the name with which the task begins during which it happens.
        seconds: for which that has been running.
        what: it; given what kills the controller.
    """

    task: str
    seconds: float
    what: Callable[[Callable[[], None]], None]


class Scene:
    """One cycle's hosts and what a fault does with them.

    Attributes:
        draw: random numbers of the cycle's seed.
        died: when the source did, in seconds since 1970.
        gone: hosts that are not there to be read at the end.
        held: seconds for which an applier is held behind the moment at which the failover's part
            has come to its host.
        by_files: whether the former source's server is left alone when its host comes back, as
            docs/rejoin.md wants it.
        writers: the clients.
        play: runs a playbook by its name, with arguments and a Strike; what it said is kept.
        look: runs verify.yml, and returns the status of semi-sync that it kept.
        led: what the way out was: the playbook that ended well, or empty if none was needed;
            None if it was failover.yml, as in every fault that knows nothing else.
        ways: the playbooks that were tried on the way out, and what became of each.
    """

    def __init__(self, machines: Machines, seed: int, held: int | None = None) -> None:
        self.machines, self.seed, self.draw = machines, seed, random.Random(seed)
        self.source = machines.source
        self.first, self.second = machines.replicas
        self.died = 0.0
        self.held = HELD_BEHIND if held is None else held
        self.gone: list[Machine] = []
        self.beside: list[subprocess.Popen[bytes]] = []
        self.by_files = False
        self.writers: Writers
        self.play: Callable[..., Done]
        self.look: Callable[[], str]
        self.led: str | None = None
        self.ways: list[str] = []

    def cut(self, *hosts: Machine) -> None:
        """Cut hosts off their power at the same moment."""
        moment = self.machines.cut(*hosts)
        if self.source in hosts:
            self.died = moment
        self.gone += hosts

    def start(self, host: Machine) -> None:
        """Bring one back."""
        self.machines.start(host)
        self.gone.remove(host)

    def hold(self, *hosts: Machine) -> None:
        """Keep the appliers from the writers' table until the failover has judged what there is,
        and its parts wait for them: see hold.py.
        """
        words = f"app.written {lock_holder.RUN_LOCK} {self.held} {HELD_LIMIT}"
        for host in hosts:
            said = self.machines.folder / f"held-{host.name}.log"
            with HOLD.open("rb") as script, said.open("wb") as log:
                self.beside.append(
                    subprocess.Popen(
                        host.command(f"python3 - {words}"),
                        stdin=script,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )
            eventually(partial(holds, said), said.read_text, BEGUN)
        time.sleep(HELD_BEFORE)

    def black_out(self) -> None:
        """Let no packet of the source reach a replica any more."""
        routes = [f"ip route add blackhole {host.address}" for host in self.machines.replicas]
        self.source.shell(" && ".join(routes))

    def grow_up(self) -> None:
        """Until then routers are not told that it is the source, where no other host answers it."""
        time.sleep(max(0.0, self.machines.since + YOUNG - time.monotonic()))

    def strike(self, what: Callable[[Callable[[], None]], None]) -> Strike:
        """It, at a random moment."""
        return Strike(self.draw.choice(TASKS), self.draw.uniform(0, RUNNING), what)

    def end(self) -> None:
        """End what was begun beside the cycle; what runs on a host ends with that."""
        for process in self.beside:
            process.kill()
            process.wait()


def holds(said: pathlib.Path) -> bool:
    return "held" in said.read_text(encoding="utf-8")


def nothing(_scene: Scene) -> None:
    pass


def no_variables(_scene: Scene) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Fault:
    """How a source dies.

    Attributes:
        words: for the table.
        strike: what happens at the random moment.
        before: what is set before verify.yml looks at the source for the last time.
        load: what happens while the clients write, before that moment.
        delay: milliseconds from the source to each replica.
        accept: cases that failover.yml is told to accept.
        variables: for the inventory.
        may_lose: the servers on which confirmed rows may be lost: there is no promise that they are
            not, and the certificate must not say so. No row may be there that no writer wrote.
        patience: seconds for which the clients wait for an answer, one after the other.
        takeover: runs failover.yml, given what does it once; None for once.
        back: brings the former source's host back; None if no cycle goes so far.
        lives: whether it lived all the time, and routers may be told so before.
        unproven: whether rows are confirmed that no replica has, so that "proven" is a lie.
        again: whether clients must write again, whatever playbook leads there.
        usual: whether it comes under the settings that people have; see usual.py.
        fenced: within so many seconds its power switch must be done; 0 if it has none.
        mostly: what of these must be seen in nearly all cycles: proven, or a certificate that
            answers until close before the end; nothing if empty.
        reads_lost: whether readers may see rows of the source that are lost, although no confirmed
            one may be.
    """

    words: str
    strike: Callable[[Scene], None]
    before: Callable[[Scene], None] = nothing
    load: Callable[[Scene], None] = nothing
    delay: dict[str, int] = field(default_factory=lambda: dict(LINE))
    accept: tuple[str, ...] = ()
    variables: Callable[[Scene], dict[str, Any]] = no_variables
    may_lose: tuple[str, ...] = ()
    patience: str = PATIENCE
    takeover: Callable[[Scene, Attempt], Done] | None = None
    back: Callable[[Scene], None] | None = None
    lives: bool = False
    unproven: bool = False
    again: bool = False
    usual: bool = False
    fenced: int = 0
    mostly: str = ""
    reads_lost: bool = False
