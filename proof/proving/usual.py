"""How sources die under the settings that people have: the default timeout of ten seconds, a
heartbeat each second, no look at all, and no results on the controller.
"""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import uml_net

from proving import looks
from proving.scene import EVERY, Attempt, Done, Fault, Scene, nothing
from support.consents import Consents

BEATS = "important.semisync_heartbeat"
# Seconds until a source that was started beats, between a death and its failover, and between a
# change of settings and the end.
BEATEN, LATE, BEFORE = 60, 60, 5
SHORTER = 1000
# What the power switch leaves when it is done.
SWITCHED = "power-switched"


def until_beats(scene: Scene) -> None:
    """Wait until the source has written a beat of now, and both replicas have it."""
    fresh = f"SELECT COUNT(*) > 0 FROM {BEATS} WHERE wall > UNIX_TIMESTAMP() - 2"
    for host in scene.machines.hosts:
        host.until(fresh, "1", BEATEN)


def kept_late(strike: Any) -> Any:
    """It, and the failover a minute later."""

    def strike_late(scene: Scene) -> None:
        strike(scene)
        time.sleep(LATE)

    return strike_late


def switched_off(scene: Scene) -> dict[str, Any]:
    """A power switch as the user's hook: it says that the host is off, and leaves a file."""
    done = scene.machines.folder / SWITCHED
    done.unlink(missing_ok=True)
    # Of this lab: another may run beside it. The brackets keep this command from finding itself.
    program = f"{uml_net.RUNNER.parent}/[{uml_net.RUNNER.name[0]}]{uml_net.RUNNER.name[1:]}"
    off = f"! pgrep -f '{program} umid={scene.source.name} ' && touch {done}"
    task = {
        "name": "The power switch says that the host is off",
        "ansible.builtin.command": {"argv": ["sh", "-c", off]},
        "delegate_to": "localhost",
        "vars": {"ansible_connection": "local", "ansible_become": False},
        "run_once": True,
        "changed_when": True,
    }
    hook = scene.machines.folder / "power-switch.yml"
    hook.write_text(json.dumps([task]), encoding="utf-8")
    return {"semisync_hook_fence": str(hook)}


def lossless(_scene: Scene) -> dict[str, Any]:
    return {"semisync_promise": "lossless"}


def promise(scene: Scene) -> None:
    """Have site.yml make the cluster lossless."""
    done = scene.play("site")
    assert done.returncode == 0, f"site.yml: {done.stdout[-600:]}"


def promise_and_count(scene: Scene) -> None:
    """The same, and on the disk, and each replica can acknowledge."""
    promise(scene)
    for host in scene.machines.replicas:
        host.shell("sync")
    clients = f"SHOW GLOBAL STATUS LIKE '{scene.machines.statuses['clients']}'"
    scene.source.until(clients, str(len(scene.machines.replicas)))


def switch_off_and_cut(scene: Scene) -> None:
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['enabled']} = 0")
    time.sleep(BEFORE)
    scene.cut(scene.source)


def shorten_and_cut(scene: Scene) -> None:
    """By hand; then it is cut off, goes on alone, and loses its power."""
    scene.source.sql(f"SET GLOBAL {scene.machines.variables['timeout']} = {SHORTER}")
    time.sleep(BEFORE)
    looks.cut_off_and_cut(scene)


def until_alone(strike: Any) -> Any:
    """It, and until the source has gone on by itself for a while."""

    def strike_for_long(scene: Scene) -> None:
        strike(scene)
        looks.until_alone(scene)

    return strike_for_long


def cut_before_catching_up(scene: Scene) -> None:
    """The only acknowledger loses what it received, and the source dies before it has it again."""
    looks.lose_relay_log(scene)
    scene.cut(scene.source)


def with_consents(takeover: Any) -> Any:
    """It, with whatever the runs before have refused by name accepted."""

    def take_over(scene: Scene, attempt: Attempt) -> Done:
        given = Consents()

        def consenting(*arguments: str, **more: Any) -> Done:
            done = attempt(*arguments, *given.arguments, **more)
            given.hear(done)
            return done

        done: Done = takeover(scene, consenting)
        return done

    return take_over


def faults(made: dict[str, Fault]) -> dict[str, Fault]:
    """These, and with these settings some of those that there are."""

    def like(name: str, **changes: Any) -> Fault:
        return dataclasses.replace(made[name], usual=True, back=None, **changes)

    def new(words: str, strike: Any, **more: Any) -> Fault:
        return Fault(words, strike, usual=True, **more)

    # Whatever failover.yml refuses by name is accepted.
    lossy = {"may_lose": EVERY, "takeover": looks.accepting, "accept": ()}
    alone = {**lossy, "unproven": True}
    return {
        "usual-killed": like("killed", strike=kept_late(made["killed"].strike), mostly="proven",
                             words="SIGKILL of the source's server, failover a minute later"),
        "usual-fenced": like("cut", variables=switched_off, mostly="proven", fenced=8,
                             words="power cut of the source, failover at once with a power switch"
                             " as the fence"),
        "usual-cut": like("cut", strike=kept_late(looks.cut), takeover=looks.accepting,
                          mostly="close",
                          words="power cut of the source, failover a minute later"),
        "usual-apart": like("apart-long", strike=until_alone(made["apart"].strike),
                            patience=made["apart"].patience, before=nothing, **lossy),
        "usual-two": like("two", mostly="close", **lossy),
        "usual-back": like("back", mostly="close", **lossy),
        "usual-candidate": like("candidate", mostly="close", accept=(),
                                takeover=with_consents(made["candidate"].takeover)),
        "usual-lossless": like("cut", before=promise, variables=lossless, mostly="proven",
                               words="power cut of the source, which promises lossless"),
        "usual-received": like("synced", before=promise_and_count, variables=lossless,
                               mostly="proven", may_lose=(), accept=(),
                               words="power cut of the source and of the acknowledger, which comes"
                               " back, with lossless"),
        "usual-off": new("semi-sync is switched off by hand 5 s before the source's power cut",
                         switch_off_and_cut, **alone),
        "usual-timeout": new("the timeout is set to 1 s by hand; the source is cut off, degrades,"
                             " and loses its power", shorten_and_cut, **alone),
        "usual-thrown": new("the acknowledger loses its relay log; the source's power cut before it"
                            " has caught up", cut_before_catching_up, before=looks.throw_away,
                            **alone),
    }  # fmt: skip
