"""One host of a switchover is lost for good at a random moment of it: some playbook must lead to
one server that takes writes, with consents by name.
"""

from __future__ import annotations

import contextlib
import time

from proving.machines import Machine
from proving.scene import EVERY, Attempt, Done, Fault, Scene, Strike
from support.consents import Consents
from support.eventually import eventually

SWITCHOVER, FAILOVER = "switchover", "failover"
# During which task of switchover.yml the host is lost, and for how many seconds at most that has
# been running; most often while the role is handed over, and then counted from the journal's row.
HANDED = "Hand the role over"
TASKS = ("Read what the plan needs", HANDED, HANDED, HANDED, HANDED, "Say what became of it")
RUNNING, BEGUN, BEGUN_LIMIT = 4.0, 1.5, 30
JOURNAL = "SELECT state FROM important.semisync_journal ORDER BY number DESC LIMIT 1"
# Seconds between two ways out that were tried, how many there are, and for which a server that
# takes writes may take to answer one, and clients to come to it.
AGAIN, TURNS, PROBE, CLIENTS = 10, 8, 20, 90
TAKES = "SELECT @@GLOBAL.read_only"
WRITE = (
    "CREATE TABLE IF NOT EXISTS app.probe (number INT) ENGINE=InnoDB; INSERT INTO app.probe VALUES"
    " (1)"
)


def switch(scene: Scene) -> None:
    """switchover.yml, and the source's host, or the target's, is lost in the middle of it."""
    lost: Machine = scene.draw.choice((scene.source, scene.first))
    task = scene.draw.choice(TASKS)
    handed = task == HANDED
    seconds = scene.draw.uniform(0, BEGUN if handed else RUNNING)

    def what(_kill_it: object) -> None:
        if handed:
            until_begun(scene)
            time.sleep(seconds)
        lose(scene, lost)

    strike = Strike(task, 0 if handed else seconds, what)
    scene.play(SWITCHOVER, *to(scene.first), strike=strike)
    if not scene.gone:
        # It had ended before that.
        lose(scene, lost)


def until_begun(scene: Scene) -> None:
    """Wait until the journal on the source says that it has begun, or for a while."""
    source = scene.source
    ask = f'{source.client} --batch --skip-column-names --execute "{JOURNAL}" 2>&1'
    loop = f"until {ask} | grep -q begun; do :; done\n"
    source.shell(f"timeout {BEGUN_LIMIT} sh -s", input=loop, check=False)


def lose(scene: Scene, host: Machine) -> None:
    """What a certificate says comes later, also behind the loss of a target."""
    scene.died = time.time()
    scene.cut(host)


def to(host: Machine) -> tuple[str, str]:
    return "-e", f"semisync_switchover_to={host.name}"


def there(scene: Scene) -> list[Machine]:
    return [host for host in scene.machines.hosts if host not in scene.gone]


def writable(scene: Scene) -> list[Machine]:
    """The hosts that are left and are not read-only."""
    return [host for host in there(scene) if host.value(TAKES) in ("0", "OFF")]


def taker(scene: Scene) -> Machine | None:
    """A host that is left and that confirms a row."""
    for host in writable(scene):
        done = host.shell(f"timeout {PROBE} {host.client}", input=WRITE, check=False)
        if done.returncode == 0:
            return host
    return None


def lead_out(scene: Scene, attempt: Attempt) -> Done:
    """Whatever leads out: nothing, where a server takes writes; else failover.yml where the source
    is lost, and switchover.yml where its target is; then the other, and with what each refusal says
    can be accepted.
    """
    order = [FAILOVER, SWITCHOVER] if scene.source in scene.gone else [SWITCHOVER, FAILOVER]
    given = Consents()
    tried = ""
    for turn in range(TURNS):
        host = taker(scene)
        if host:
            scene.led = tried
            come_back(scene, host)
            break
        if turn:
            time.sleep(AGAIN)
        # Each has a second turn at once, with what it said could be accepted.
        tried = order[turn // 2 % 2]
        words = given.arguments
        done = attempt(*words) if tried == FAILOVER else scene.play(tried, *to(scene.first), *words)
        ended = "ended well" if done.returncode == 0 else "failed"
        scene.ways.append(" ".join([f"{tried}.yml", *words[1::2], ended]))
        given.hear(done)
    status = int(scene.led is None)
    return Done((), status, "", "") if status or scene.led != FAILOVER else done


def come_back(scene: Scene, host: Machine) -> None:
    """Wait until the clients have found it."""
    count = "SELECT COUNT(*) FROM app.written"
    before = int(host.value(count))
    with contextlib.suppress(AssertionError):
        eventually(lambda: int(host.value(count)) > before, seconds=CLIENTS)


FAULTS = {
    "switching": Fault(
        "the source's host, or the target's, is lost for good at a random moment of a switchover",
        switch,
        may_lose=EVERY,
        takeover=lead_out,
        again=True,
    ),
}
