# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Histories of 30 to 50 events in the small world, drawn at random; a lie is shrunk to a short one.
`make judge LONG=1` runs them.
"""

from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model import speed, stories
from model.search import Search
from model.state import LONG, MEDIUM, SHORT, Rules
from model.worlds import ALL

LEAST, MOST = 30, 50
EXAMPLES = 300


@functools.cache
def search(engine: str, replicas: int, timeout: int) -> Search:
    speed.remember()
    # The timeouts that playbooks and hands set are of two kinds; a third has a world of its own.
    events = [name for name in ALL if timeout != MEDIUM or not name.endswith("timeout")]
    rules = Rules(
        engine,
        replicas,
        timeout=timeout,
        most=4,
        minutes=12,
        skew=(90, -40),
        events=tuple(events),
        strangers=int(replicas > 2),
    )
    return Search(rules, keep=False)


@pytest.mark.parametrize("timeout", [SHORT, MEDIUM, LONG])
@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_no_verdict_is_false_in_a_long_history(engine, replicas, timeout):
    world = search(engine, replicas, timeout)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(0, 999), min_size=LEAST, max_size=MOST))
    def lived(choices):
        s = world.first()
        world.seen.clear()
        world.seen[s] = (None, "", -1, ())
        for choice in choices:
            able = list(world.next(s))
            if not able:
                return
            event, number, made = able[choice % len(able)]
            after, order = world.canonical(made)
            world.seen.setdefault(after, (s, event, number, order))
            world.lies.clear()
            world.ask(after)
            assert not world.lies, "\n".join(stories.story(world, world.lies[0]))
            s = after

    lived()
