# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of event that can make a verdict false, and where it is: in the world, so that the
judge must see it, or in a certificate's `assumes`, in the words that a pattern here matches. One
that is in neither fails the run; what is OUTSIDE is said in docs/evidence/judge.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from model.state import FENCE, HAND, KILLQ, ORDERLY, POWER, RESET, RESTARTED, STRANGER
from model.worlds import ALL


class Kind(NamedTuple):
    """One kind.

    Attributes:
        words: for people.
        events: in world.py or search.py.
        bit: of BROKEN, set when it happens after a look; 0 if nothing may assume it away.
        assumed: what matches the words of a certificate that assumes it away; empty if none may.
    """

    words: str
    events: tuple[str, ...]
    bit: int = 0
    assumed: str = ""


def events(words: str) -> tuple[str, ...]:
    return tuple(words.split())


KINDS = (
    Kind("commits, and their way to the replicas and back",
         events("commit commit_everywhere receive acknowledge deliver apply minute hold")),
    Kind("a line is cut, or back", events("cut heal")),
    Kind("an orderly stop of the source, also one that SIGKILL ends, or that systemd does not know",
         events("stop stopped shut_and_kill"), ORDERLY,
         r"no clean shutdown|not told to shut down"),
    Kind("SIGKILL of the source, and a power cut of its host", events("kill power")),
    Kind("a power cut of the source's host before the last look, which took transactions",
         events("power start"), POWER, r"the host of \S+ lost no transaction to a power cut"),
    Kind("a start of the source after it died", events("start"), RESTARTED, r"no restart"),
    Kind("a start of a replica's server, or of its host; its end",
         events("restart power_replica die")),
    Kind("STOP and START of a replica's threads",
         events("stop_io start_io stop_sql start_sql stop_slave start_slave")),
    Kind("RESET of a replica", events("reset_slave"), RESET,
         r"on \S+ was not reset( or stopped and started)? by hand after \d"),
    Kind("semi-sync changed by hand: off, on, timeout, wait count, wait_no_replica",
         events("hand_off hand_on hand_timeout hand_count hand_wnr"), HAND,
         r"semi-sync on \S+ was not changed by hand"),
    Kind("the same by our own playbooks, also interrupted ones",
         events("ours_off ours_on ours_timeout ours_count ours_wnr ours_goes_on ours_settles"
                " ours_dies")),
    Kind("KILL of a commit that waits (MariaDB)", events("kill_query"), KILLQ, r"ended by KILL"),
    Kind("a member is taken out of the inventory; a stranger acknowledges",
         events("edit_inventory"), STRANGER, r"no other replica acknowledged"),
    Kind("looks, of two controllers with their own memories", events("look look_b")),
    Kind("beats, also such as the writer ends itself; another server's beat in a replica's table,"
         " also with a number that the source has used",
         events("beat end_beat stray twin")),
    Kind("a replica is set to a later place of the source's log, and passes over what is before",
         events("jump")),
    Kind("the tasks of semisync_hook_fence begin, end well, fail",
         events("hook_begins fence fence_fails")),
    Kind("they end well, and the source goes on, or is started again", events("fence_lies"), FENCE,
         r"the tasks of semisync_hook_fence had ended \S+ at"),
    Kind("a failover that is interrupted or undone; a server that is opened by hand after that",
         events("first_look undone interrupted open")),
)  # fmt: skip
OUTSIDE = (
    "rows that a source never logs: `sql_log_bin = 0`, tables without transactions",
    "transactions that an applier passes over without an error",
    "several sources in turn, and looks at another server than the dead one",
    "GTIDs that a server writes twice, as its binary log lost its end, or as it was cloned or"
    " restored with its name; domains of MariaDB in which a replica applies out of order",
    "an acknowledgement under AFTER_COMMIT",
    "a replica whose disk loses what it had synced",
)
# Of a clock that only says when a beat was: by how many seconds it may be ahead.
CLOCK = re.compile(r"the clock of the host of \S+ is not (?:more than (\d+) s )?ahead")
PATTERNS = {one.bit: re.compile(one.assumed) for one in KINDS if one.bit}


def problems(matched: set[int]) -> list[str]:
    """What is in neither.

    Args:
        matched: the bits whose patterns some certificate's words matched.
    """
    known = [name for one in KINDS for name in one.events]
    missing = sorted(set(ALL) - set(known))
    unknown = sorted(set(known) - set(ALL))
    wrong = [f"{name} is an event of no kind" for name in missing]
    wrong += [f"{name} is an event of no world" for name in unknown]
    wrong += [
        f"no certificate assumed anything like {one.assumed!r} ({one.words})"
        for one in KINDS
        if one.bit and one.bit not in matched
    ]
    return wrong
