"""Looks of verify.yml that come too late, too early, or before what they promise was changed: rows
are confirmed that no replica has, and no certificate may answer for them.
"""

from __future__ import annotations

import os
import signal
import time

from proving.machines import QUEUE, Machine
from proving.scene import EVERY, LINE, Attempt, Done, Fault, Scene
from support.consents import by_consent
from support.dying import UNITS, kill

# Milliseconds: of a source that gives its replicas up, and of one that site.yml makes so.
SHORT, SHORTER = 2000, 1000
# Connections of a source whose clients wait in vain, and come again.
MANY = 2000
# Seconds for which it confirms alone; for which rows are received and not applied; that clients
# which are to stand still need for their last answer; that a server may take to come back.
ALONE, FILL, LAST_ANSWER, RESTART = 6, 10, 4, 120
# Of a line on which a replica does not catch up before the source dies.
SLOW = "8kbit"


def accepting(_scene: Scene, attempt: Attempt) -> Done:
    """failover.yml, with what it has refused by name accepted."""
    return by_consent(attempt)


def stop_receiving(scene: Scene, host: Machine) -> None:
    """Stop a replica's IO thread."""
    host.sql(f"STOP {scene.machines.names.replica_word} IO_THREAD")


def until_status(scene: Scene, wanted: str) -> None:
    """Wait until semi-sync on the source is ON or OFF."""
    scene.source.until(f"SHOW GLOBAL STATUS LIKE '{scene.machines.statuses['status']}'", wanted)


def look(scene: Scene, wanted: str) -> None:
    """verify.yml, which must see what the fault is about."""
    seen = scene.look()
    assert seen == wanted, f"verify.yml saw status {seen}, and not {wanted}"


def shorten(scene: Scene) -> None:
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['timeout']} = {SHORT}")


def degrade(scene: Scene) -> None:
    """Both replicas receive nothing any more, and the source goes on alone."""
    for host in scene.machines.replicas:
        stop_receiving(scene, host)
    until_alone(scene)


def until_alone(scene: Scene) -> None:
    """Wait until the source goes on by itself, and for a while after that."""
    until_status(scene, "OFF")
    time.sleep(ALONE)


def look_late(scene: Scene) -> None:
    degrade(scene)
    look(scene, "OFF")


def look_after_restart(scene: Scene) -> None:
    """The source's server is started again while its clients stand still, so that its status is ON
    and nothing waits: it says nothing of what was confirmed before.
    """
    degrade(scene)
    with_clients(scene, signal.SIGSTOP)
    time.sleep(LAST_ANSWER)
    unit = UNITS[scene.source.server]
    scene.source.shell(f"timeout {RESTART} systemctl restart {unit}")
    scene.source.until("SELECT 1", "1", RESTART)
    look(scene, "ON")
    with_clients(scene, signal.SIGCONT)


def with_clients(scene: Scene, number: signal.Signals) -> None:
    assert scene.writers.process
    os.kill(scene.writers.process.pid, number)


def throw_away(scene: Scene) -> None:
    """Have MySQL throw a relay log away when the first replica's server starts, as MariaDB does by
    itself; and keep connections free for who asks the source while its clients wait.
    """
    if scene.first.server == "mysql":
        line = "[mysqld]\nrelay_log_recovery = ON\n"
        scene.first.shell("cat >/etc/mysql/conf.d/zz-relay.cnf && sync", input=line)
    scene.source.sql(f"SET GLOBAL max_connections = {MANY}")


def lose_relay_log(scene: Scene) -> None:
    """The only acknowledger has applied nothing of what it received when its server dies; it comes
    back without that, on a slow line, and acknowledges again only when it has fetched all of it.
    """
    stop_receiving(scene, scene.second)
    scene.hold(scene.first)
    time.sleep(FILL)
    # As Machines.delay() made it; the first replica has the second band.
    milliseconds = LINE[scene.first.name]
    scene.source.shell(
        f"tc qdisc change dev vec0 parent 1:2 netem limit {QUEUE} delay {milliseconds}ms rate"
        f" {SLOW}"
    )
    kill(scene.first)
    scene.first.until("SELECT 1", "1", RESTART)
    scene.source.until(f"SHOW GLOBAL STATUS LIKE '{scene.machines.statuses['clients']}'", "1")


def look_before_catching_up(scene: Scene) -> None:
    """verify.yml sees that it is on, and that the replica is there."""
    lose_relay_log(scene)
    look(scene, "ON")
    count = "SELECT COUNT(*) FROM app.written"
    there, received = (int(host.value(count)) for host in (scene.source, scene.first))
    assert received < there, f"it has caught up: {received} rows"


def shorten_by_playbook(scene: Scene) -> None:
    done = scene.play("site", "--tags", "server", "-e", f"semisync_timeout={SHORTER}")
    assert done.returncode == 0, f"site.yml: {done.stdout[-600:]}"


def cut_off_and_cut(scene: Scene) -> None:
    """No packet of the source reaches a replica any more; it goes on alone, and loses its power."""
    scene.grow_up()
    scene.black_out()
    until_alone(scene)
    scene.cut(scene.source)


def cut(scene: Scene) -> None:
    scene.cut(scene.source)


FAULTS = {
    "look-degraded": Fault(
        "the source is degraded, and verify.yml sees that it is; then its power cut",
        cut,
        before=shorten,
        load=look_late,
        may_lose=EVERY,
        takeover=accepting,
        unproven=True,
    ),
    "look-restarted": Fault(
        "the source is degraded, restarts, and verify.yml sees semi-sync on; then its power cut",
        cut,
        before=shorten,
        load=look_after_restart,
        may_lose=EVERY,
        takeover=accepting,
        unproven=True,
    ),
    "look-returned": Fault(
        "the acknowledger loses its relay log, and verify.yml looks before it has caught up; then"
        " power cut of the source",
        cut,
        before=throw_away,
        load=look_before_catching_up,
        may_lose=EVERY,
        takeover=accepting,
        unproven=True,
    ),
    "look-outdated": Fault(
        "site.yml sets the timeout to 1 s after the look; the source is cut off, degrades, and"
        " loses its power",
        cut_off_and_cut,
        load=shorten_by_playbook,
        may_lose=EVERY,
        takeover=accepting,
        unproven=True,
    ),
}
