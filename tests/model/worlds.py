# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worlds that are searched: each with some of the events, so that histories can be long."""

from __future__ import annotations

from model import events
from model.state import LONG, MEDIUM, SHORT, Rules

TRAFFIC = ("commit", "commit_everywhere", "deliver", "apply", "minute", "look", "kill")
LINES = ("cut", "heal")
THREADS = (
    "stop_io",
    "start_io",
    "stop_sql",
    "start_sql",
    "stop_slave",
    "start_slave",
    "reset_slave",
)
STARTS = ("restart", "power_replica", "die")
ENDS = ("stop", "stopped", "shut_and_kill", "power", "start")
BY_HAND = ("hand_off", "hand_on", "hand_timeout", "hand_count", "hand_wnr", "kill_query")
OURS = (
    "ours_off",
    "ours_on",
    "ours_timeout",
    "ours_count",
    "ours_wnr",
    "ours_goes_on",
    "ours_settles",
    "ours_dies",
)
ENDS_OF_OURS = ("ours_goes_on", "ours_settles")
MEMBERS = ("edit_inventory", "cut", "heal", "die")
RUNS = ("first_look", "undone", "interrupted", "open", "restart", "stop_slave", "start_slave")
BEATS = ("beat", "end_beat")
HOOKS = ("hook_begins", "fence", "fence_fails", "fence_lies")
ALL = tuple(
    dict.fromkeys((*events.OF_CLUSTER, *events.OF_REPLICA, *events.LOOKS, "beat", "interrupted"))
)


# Of the worlds that hosts can do, those in which a mistake shows late.
LONG_ONES = {"site.yml": 4.0, "interrupted": 6.0, "power": 3.0}
# Of those with beats, the same.
SHARES = {"beats, waits": 1.5}


def only(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def worlds(engine: str) -> dict[str, tuple[Rules, float]]:
    """Name -> (its rules, its share of the moments)."""
    mysql = engine == "mysql"

    def of(replicas: int, *groups: tuple[str, ...], **more: object) -> Rules:
        return Rules(engine, replicas, events=only(TRAFFIC, *groups), **more)  # type: ignore[arg-type]

    # A short search ends where its time does: what is new comes first.
    made = {name: (rules, SHARES.get(name, 0.7)) for name, rules in with_beats(engine).items()}
    made |= {
        f"hosts: {name}": (rules, LONG_ONES.get(name, 0.7))
        for name, rules in on_hosts(engine).items()
    }
    made |= {
        "lines": (of(2, LINES, timeout=SHORT), 1.0),
        "lines, a pair": (of(1, LINES, ("receive", "acknowledge"), timeout=SHORT, most=4), 0.5),
        "relay logs": (of(1, THREADS, STARTS, timeout=LONG), 1.0),
        "relay logs of two": (of(2, THREADS, STARTS, timeout=LONG), 1.0),
        "ends": (of(1, LINES, ENDS, timeout=LONG, skew=(120, -90)), 1.0),
        "ends, short timeout": (of(1, LINES, ENDS, timeout=SHORT, sync_binlog=False), 0.7),
        "by hand": (of(1, LINES, BY_HAND, ENDS, timeout=LONG), 1.0),
        "two controllers": (of(1, LINES, OURS, ("look_b",), timeout=LONG), 1.0),
        "members": (of(2, MEMBERS, timeout=LONG, strangers=1), 1.0),
        "no replica, no wait": (of(2, LINES, ENDS, timeout=LONG, wnr=0), 0.7),
        "runs": (of(1, LINES, RUNS, timeout=LONG), 1.0),
        "runs of two": (of(2, RUNS, timeout=LONG), 0.7),
        "three replicas": (of(3, LINES, STARTS, timeout=SHORT), 1.0),
        "everything": (Rules(engine, 2, events=ALL, timeout=LONG), 2.0),
        "everything, clocks apart": (
            Rules(engine, 1, events=ALL, timeout=SHORT, skew=(-200, 200)),
            1.0,
        ),
    }
    if not mysql:
        made |= {
            "domains": (of(2, LINES, timeout=SHORT, domains=True), 0.5),
            "received": (of(1, THREADS, STARTS, applies_first=True), 0.8),
            "received, a power cut": (
                of(1, THREADS, STARTS, applies_first=True, sync_relay_log=False),
                0.3,
            ),
            "beats, domains": (
                of(1, LINES, BEATS, ENDS, timeout=SHORT, beats=2, looked=False, domains=True),
                0.5,
            ),
        }
    if mysql:
        made |= {
            "two acknowledgements": (of(2, LINES, STARTS, acks=2, timeout=LONG), 1.0),
            "two of three": (of(3, LINES, ("restart", "die"), acks=2, recovery=True), 1.0),
            "relay_log_recovery": (of(1, THREADS, STARTS, recovery=True), 0.7),
            "sync_relay_log off": (of(2, STARTS, LINES, sync_relay_log=False), 0.7),
        }
    return made


def with_beats(engine: str) -> dict[str, Rules]:
    """Worlds whose source beats; no controller has looked when they begin, but in one."""

    def of(replicas: int, *groups: tuple[str, ...], **more: object) -> Rules:
        names = only(TRAFFIC, BEATS, *groups)
        return Rules(engine, replicas, events=names, **{"beats": 2, "looked": False, **more})  # type: ignore[arg-type]

    def few(*names: str, **more: object) -> Rules:
        every = ("commit", "beat", *names)
        return Rules(engine, 1, events=every, **{"beats": 2, "looked": False, **more})  # type: ignore[arg-type]

    # Small, so that what takes eight events is met.
    hook: dict[str, object] = {"timeout": MEDIUM, "beats": 1, "most": 1, "minutes": 2}
    return {
        "beats": of(1, LINES, timeout=SHORT),
        "beats of two": of(2, LINES, timeout=SHORT, looked=True),
        "beats, waits": few("end_beat", "minute", "receive", "cut", timeout=MEDIUM, minutes=2),
        "beats, threads": few("kill", "deliver", "apply", "stop_slave", "start_slave", beats=1),
        "beats, resets": few("kill", "deliver", "apply", "reset_slave", "restart", beats=1),
        "beats, places": few("kill", "minute", "deliver", "cut", "jump", "stray", timeout=SHORT),
        "beats, split": Rules(
            engine,
            2,
            events=("commit", "beat", "minute", "deliver", "kill", "twin"),
            timeout=SHORT,
            beats=2,
            looked=False,
        ),
        "beats, clocks": few("minute", "deliver", "cut", timeout=SHORT, skew=(45, -90)),
        "beats, power": few(
            "deliver", "power", "start", "minute", timeout=SHORT, sync_binlog=False
        ),
        "beats, fence": few(*("minute", "deliver", "cut", *HOOKS), **hook),
        "beats, fence, clocks": few(*("minute", "deliver", *HOOKS), **hook, skew=(45, -90)),
        "beats, fence, asked": few(
            *("minute", "deliver", *HOOKS), **hook, skew=(45, -90), asked_before=True
        ),
        "beats, fence, boots": few(
            *("minute", "deliver", "power", "start", "hook_begins", "fence"),
            timeout=SHORT,
            beats=1,
            most=1,
            minutes=1,
            asked_before=True,
        ),
        "beats, relay logs": of(2, THREADS, STARTS, recovery=True),
        "beats, ends": of(1, LINES, ENDS, timeout=SHORT, skew=(120, -90)),
        "beats, by hand": of(1, LINES, BY_HAND, OURS),
        "beats, members": of(3, MEMBERS, strangers=1, beats=1),
        # Replicas do at once what nothing keeps them from, so that a number at a beat is met soon.
        "beats, numbers": Rules(
            engine,
            3,
            events=("commit", "beat", "cut", "heal", "kill"),
            strangers=1,
            beats=2,
            looked=False,
            prompt=True,
        ),
        "beats, everything": Rules(engine, 2, events=ALL, beats=2, looked=False),
    }


def on_hosts(engine: str) -> dict[str, Rules]:
    """Worlds whose replicas do at once what nothing keeps them from, as on quiet hosts: what
    happened there can be done by hand. Few kinds of events each, so that histories are long.
    """

    def of(replicas: int, *events: str, **more: object) -> Rules:
        return Rules(engine, replicas, events=("commit", *events), prompt=True, **more)  # type: ignore[arg-type]

    return {
        "threads": of(1, "minute", "look", "kill", "stop_io", "start_io", timeout=SHORT),
        "a wait": of(1, "minute", "look", "kill", "cut", "heal", timeout=MEDIUM),
        "starts": of(1, "minute", "look", "kill", "hold", "restart", "cut", recovery=True),
        "both threads": of(1, "minute", "look", "kill", "hold", "stop_slave", "start_slave", "cut"),
        "reset": of(1, "minute", "look", "kill", "hold", "reset_slave", "restart", "cut"),
        "ends": of(1, "minute", "look", "kill", "cut", "stop", "stopped", "shut_and_kill", "start"),
        "by hand": of(1, "minute", "look", "kill", "cut", "kill_query", "hand_off", "hand_on"),
        "timeouts": of(1, "minute", "look", "kill", "cut", "hand_timeout"),
        "site.yml": of(1, "minute", "kill", "cut", "ours_timeout", *ENDS_OF_OURS, "look_b"),
        "gone": of(2, "kill", "die", "hold", "cut"),
        "inventory": of(2, "kill", "edit_inventory", "cut", "heal", "look"),
        "strangers": of(2, "kill", "cut", "heal", "look", "edit_inventory", strangers=1),
        "interrupted": of(2, "interrupted", "open", "kill", "start", "die", "cut", most=2),
        "between": of(1, "kill", "first_look", "restart", "hold", "minute"),
        "no wait": of(2, "kill", "cut", "heal", "look", wnr=0),
        "power": of(
            1, "minute", "kill", "cut", "power", "start", "look", sync_binlog=False, timeout=SHORT
        ),
    }
