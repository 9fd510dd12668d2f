"""What happens to the hosts: under which load, and how the source dies."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from typing import Any

from proving import looks, switching, usual
from proving.machines import REPLICAS, SOURCE
from proving.scene import EVERY, Attempt, Done, Fault, Scene
from support.dying import UNITS, forbid_restart, kill

LATE = {REPLICAS[0]: 10, REPLICAS[1]: 600}
# An address that the controller cannot reach.
NOBODY = "10.99.0.99"
# Seconds for which the source confirms again on a line that came back before the failover goes on,
# and that it may take to do so: its kernel tries again ever more rarely.
HEALED, HEALING = 3, 90
# Seconds: of a source that lives, half of the clients wait for what becomes of their row.
MIXED = "3,60"
# Connections of a source that lives, so that one is left for the run.
MANY = 2000
# Milliseconds; of a source that gives its replicas up, and the seconds that this takes here.
SHORT, GIVEN_UP = 2000, 8
# Seconds between attempts, and how many there are: the holder of a lock may need a minute.
AGAIN, ATTEMPTS = 15, 6


def power_back(scene: Scene) -> None:
    """The host is switched on; its server starts with it, or not."""
    scene.machines.start(scene.source, server=not scene.by_files)


def all_back(scene: Scene) -> None:
    """Every host is switched on, as after a power cut of a rack. A replica that missed the failover
    follows the former source again where that one's server runs.
    """
    power_back(scene)
    scene.machines.start(*(host for host in scene.gone if host is not scene.source))


def server_back(scene: Scene) -> None:
    """The server of a host that lives is started, or not."""
    if not scene.by_files:
        scene.source.shell(f"systemctl start {UNITS[scene.source.server]}")
        scene.source.until("SELECT 1", "1")


def line_back(scene: Scene) -> None:
    """The source reaches the others again, and they it."""
    for host in scene.machines.replicas:
        scene.source.shell(f"ip route del blackhole {host.address}", check=False)


def cut_source(scene: Scene) -> None:
    scene.cut(scene.source)


def switch_off(scene: Scene) -> None:
    """Asynchronous replication."""
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['enabled']} = 0")


def after_commit(scene: Scene) -> None:
    """Every client sees a row before a replica has it; who wrote it is told as late as ever."""
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['wait_point']} = 'AFTER_COMMIT'")


def hold_both(scene: Scene) -> None:
    scene.hold(scene.first, scene.second)


def hold_first(scene: Scene) -> None:
    scene.hold(scene.first)


def sync_relay_log(value: int) -> Callable[[Scene], None]:
    """Have the first replica write its relay log to the disk after so many events."""

    def set_it(scene: Scene) -> None:
        line = f"[mysqld]\nsync_relay_log = {value}\n"
        scene.first.shell("cat >/etc/mysql/conf.d/zz-relay.cnf && sync", input=line)
        scene.first.sql(f"SET GLOBAL sync_relay_log = {value}")

    return set_it


def cut_with_acknowledger(scene: Scene) -> None:
    """The source and the only replica that has received all of it; that one comes back."""
    scene.cut(scene.source, scene.first)
    scene.start(scene.first)


def cut_with_replica(scene: Scene) -> None:
    scene.cut(scene.source, scene.first)


def cut_acknowledger_first(scene: Scene) -> None:
    """An acknowledger loses its power and comes back, and acknowledges again, then the source."""
    scene.cut(scene.first)
    scene.start(scene.first)
    scene.machines.settle()
    time.sleep(scene.draw.uniform(0, 2))
    scene.cut(scene.source)


def kill_server(scene: Scene) -> None:
    """SIGKILL; systemd leaves it dead."""
    forbid_restart(scene.source)
    scene.died = time.time()
    kill(scene.source)
    scene.gone.append(scene.source)


def part_from_replicas(scene: Scene) -> None:
    """No packet of the source reaches a replica any more, and clients still reach it."""
    scene.grow_up()
    scene.died = time.time()
    # A session that waited in vain returns, and the other session stays.
    scene.source.sql(f"SET GLOBAL max_connections = {MANY}")
    scene.black_out()
    scene.gone.append(scene.source)


def unreachable(scene: Scene) -> dict[str, Any]:
    """The controller does not reach the source either; prove_stop is for a mutant."""
    stop = f"systemctl stop {UNITS[scene.source.server]}"
    return {
        f"{SOURCE}:ansible_host": NOBODY,
        "prove_stop": shlex.join(scene.source.command(stop)),
    }


def healing(scene: Scene) -> dict[str, Any]:
    """The line comes back between the plan and the stop of the IO threads, and the source confirms
    again what waited.
    """
    source = scene.source
    status = f"SHOW GLOBAL STATUS LIKE '{scene.machines.statuses['yes_tx']}'"
    lines = [
        f'confirmed() {{ {source.client} --batch --execute "{status}"; }}',
        "before=$(confirmed)",
        *(f"ip route del blackhole {host.address}" for host in scene.machines.replicas),
        f"end=$(($(date +%s) + {HEALING}))",
        'while [ "$(confirmed)" = "$before" ] && [ "$(date +%s)" -lt "$end" ]; do sleep 0.2; done',
        f"sleep {HEALED}",
    ]
    script = scene.machines.folder / "heal.sh"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = f"{shlex.join(source.command('sh -s'))} <{shlex.quote(str(script))}"
    hook = scene.machines.folder / "heal.yml"
    task = {
        "name": "The line comes back",
        "ansible.builtin.set_fact": {"prove": "{{ lookup('ansible.builtin.pipe', prove_heal) }}"},
        "run_once": True,
    }
    hook.write_text(json.dumps([task]), encoding="utf-8")
    return {
        f"{SOURCE}:ansible_host": NOBODY,
        "prove_heal": command,
        "semisync_hook_fence": str(hook),
    }


def part_for_long(scene: Scene) -> None:
    """Longer than the source waits: it goes on alone."""
    part_from_replicas(scene)
    time.sleep(GIVEN_UP)


def shorten(scene: Scene) -> None:
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['timeout']} = {SHORT}")


def controller_dies(scene: Scene, attempt: Attempt) -> Done:
    """The controller is killed in the middle; then the same again, until it is not blocked."""
    done = attempt(strike=scene.strike(lambda kill_it: kill_it()))
    return again(attempt) if done.returncode else done


def candidate_dies(scene: Scene, attempt: Attempt) -> Done:
    """The candidate loses its power in the middle; then the other one takes over."""
    strike = scene.strike(lambda _kill_it: scene.cut(scene.first))
    attempt("-e", f"semisync_failover_to={scene.first.name}", strike=strike)
    return again(attempt)


def again(attempt: Attempt) -> Done:
    for _turn in range(ATTEMPTS):
        done = attempt()
        if done.returncode == 0:
            break
        time.sleep(AGAIN)
    return done


FAULTS = {
    "cut": Fault("power cut of the source", cut_source, back=power_back),
    "async": Fault(
        "the same under asynchronous replication (control)",
        cut_source,
        before=switch_off,
        accept=("degraded",),
        may_lose=EVERY,
        back=power_back,
    ),
    "after-commit": Fault(
        "power cut of the source under AFTER_COMMIT (control for the readers)",
        cut_source,
        before=after_commit,
        reads_lost=True,
    ),
    "backlog": Fault(
        "power cut of the source; both replicas have applied nothing for a while",
        cut_source,
        load=hold_both,
        back=power_back,
    ),
    "late": Fault(
        "power cut of the source; who has received most has applied least",
        cut_source,
        load=hold_first,
        delay=LATE,
        back=power_back,
    ),
    "synced": Fault(
        "power cut of the source and of the acknowledger, which comes back; sync_relay_log 1",
        cut_with_acknowledger,
        before=sync_relay_log(1),
        load=hold_first,
        delay=LATE,
        accept=(f"restarted:{REPLICAS[0]}",),
        # Its relay log is on the disk before it acknowledges, and MySQL keeps it; MariaDB throws it
        # away at the start (MDEV-4698).
        may_lose=("mariadb",),
        back=power_back,
    ),
    "unsynced": Fault(
        "the same, sync_relay_log 10000 (control)",
        cut_with_acknowledger,
        before=sync_relay_log(10000),
        load=hold_first,
        delay=LATE,
        accept=(f"restarted:{REPLICAS[0]}",),
        may_lose=EVERY,
        back=power_back,
    ),
    "killed": Fault("SIGKILL of the source's server", kill_server, back=server_back),
    "two": Fault(
        "power cut of the source and of a replica",
        cut_with_replica,
        accept=(f"unread:{REPLICAS[0]}", "alone"),
        may_lose=EVERY,
        back=all_back,
    ),
    "back": Fault(
        "power cut of a replica, which acknowledges again; then of the source",
        cut_acknowledger_first,
        accept=(f"restarted:{REPLICAS[0]}",),
        back=power_back,
    ),
    "apart": Fault(
        "the source is cut off from its replicas, and its clients are not",
        part_from_replicas,
        variables=unreachable,
        patience=MIXED,
        back=line_back,
        lives=True,
    ),
    "healed": Fault(
        "the same, and the line comes back during the failover; a backlog on both replicas",
        part_from_replicas,
        load=hold_both,
        variables=healing,
        patience=MIXED,
        back=line_back,
        lives=True,
    ),
    "apart-long": Fault(
        "the source is cut off for longer than its timeout (control)",
        part_for_long,
        before=shorten,
        variables=unreachable,
        may_lose=EVERY,
        back=line_back,
        lives=True,
    ),
    "controller": Fault(
        "power cut of the source; the controller is killed, and started again",
        cut_source,
        takeover=controller_dies,
        back=power_back,
    ),
    "candidate": Fault(
        "power cut of the source; of the candidate during the failover, then another failover",
        cut_source,
        # If it had already taken over, no run has looked at it as a source.
        accept=(f"unread:{REPLICAS[0]}", f"unread:{SOURCE}", "alone", "unwatched"),
        may_lose=EVERY,
        takeover=candidate_dies,
        back=all_back,
    ),
    **looks.FAULTS,
    **switching.FAULTS,
}
FAULTS |= usual.faults(FAULTS)
