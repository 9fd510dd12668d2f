# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that are put into the judge, one at a time: each premise left out, each mend taken back.
A history in which it lies then shows that the judge needs it, and that the world can show it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.outcomes import PASSED
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import history
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    assumptions,
    beat_looks,
    beats,
    failover_outcome,
    interrupted_failover,
    last_look,
    premises,
    relay_logs,
    source_log,
    survivors,
)

Make = Callable[[Any], Any]


class Mutant(NamedTuple):
    """One mistake.

    Attributes:
        name: short.
        words: what is wrong, for people.
        patches: module, name of the function, and what makes the wrong one of the right one.
        poor: why this world cannot show it; empty if it should.
        moments: in how many moments it is looked for, if it changes what looks keep.
    """

    name: str
    words: str
    patches: tuple[tuple[ModuleType, str, Make], ...]
    poor: str = ""
    moments: int = 4000


def always(value: Any) -> Make:
    return lambda _right: lambda *_arguments, **_named: value


def always_first(_right: Any) -> Any:
    """What it was given, as it was."""
    return lambda given, *_more: given


def after(change: Callable[..., Any]) -> Make:
    """What the right one returns, changed; the change is given the arguments, too."""
    return lambda right: lambda *given, **named: change(right(*given, **named), *given, **named)


def without(premise: str) -> Make:
    """The registry of premises less one."""
    return lambda registry: tuple(one for one in registry if one.id != premise)


def applied_only(_right: Any) -> Any:
    def received_of(kind: type[Gtids], said: dict[str, Any], channel: dict[str, Any]) -> Gtids:
        return kind.parse(said.get(kind.APPLIED))

    return received_of


def first_seen(right: Any) -> Any:
    """The window of a degraded source begins at the look that saw it."""

    def begin(evidence: Any) -> float | None:
        last = last_look.look_at_source(evidence)
        if last["status"] != "ON":
            return survivors.moment_of(last.get("degraded_since") or last["at"])
        return right(evidence)

    return begin


def passed(row: dict[str, Any], *_arguments: Any) -> dict[str, Any]:
    return dict(row, outcome=PASSED, reason="")


QUIET: dict[str, Any] = {"shutdown": False, "off": False, "dumps": [], "started": False}


def counted(evidence: Any) -> list[str]:
    """Strangers by their number only."""
    last = last_look.look_at_source(evidence)
    replicas = [member for member in evidence.members if member.side == "replica"]
    return ["one"] * max(0, int(last.get("clients") or 0) - len(replicas))


def first_sign(evidence: Any, _salvaged: str = "") -> Any:
    """The newest beat, whatever it says."""
    return next(iter(beats.signs(evidence)), None)


def has_all_of(member: Any, sign: Any) -> bool:
    has = survivors.received(member)
    return has.covers(has.parse(sign.beat["gtid"]))


def was_there_once(member: Any, seen: Any) -> bool:
    return any(beat_looks.has_more_than(member, one) for one in seen)


def server_of_newest(evidence: Any) -> str:
    return next((str(beat["server"]) for beat in beats.told(evidence)), "")


def of_first_look(right: Any) -> Any:
    """A replica's uptime as it was before its IO thread stopped."""

    def uptime(evidence: Any, member: Any, name: str) -> Any:
        return right(evidence._replace(frozen=None), member, name)

    return uptime


def hook_began(evidence: Any) -> float | None:
    """A moment before the tasks of the hook: everything was read then."""
    asked = [look["asked_at"] for look in evidence.looks.values() if look.get("asked_at")]
    return None if evidence.fence_ended is None else min(asked, default=None)


def hook_ended(evidence: Any) -> float | None:
    """When they had ended, however."""
    ended: float | None = evidence.fence_ended
    return ended


def of_one_boot(_right: Any) -> Any:
    """The clocks of a host from before it was fenced, whichever start of it they are of."""
    return lambda evidence, _beat: evidence.host_clock


MUTANTS = (
    Mutant("C1", "too few replicas were read, and that is enough",
           ((relay_logs, "enough", always(True)),)),
    Mutant("C2", "a replica's IO thread was not stopped before it was read",
           ((failover_outcome, "not_frozen", always([])),
            (premises, "REGISTRY", without("C2")))),
    Mutant("C3", "what was applied is compared, not what was received",
           ((survivors, "received_of", applied_only),)),
    Mutant("C4", "the candidate need not have all that another has",
           ((survivors, "lacking", always(False)),)),
    Mutant("C5", "no relay log is ever lost", ((relay_logs, "lost", always("")),)),
    Mutant("C6", "what was received need not be applied",
           ((failover_outcome, "shown", after(passed)),)),
    Mutant("C7", "the source is never degraded",
           ((last_look, "window", always(None)), (last_look, "since_unknown", always("")))),
    Mutant("A1", "a degraded window begins at the look that saw OFF",
           ((last_look, "begin", first_seen),)),
    Mutant("A2", "the candidate need not have what the source had at the last look",
           ((source_log, "gone", always("")),)),
    Mutant("A3", "a server that systemd stopped first and that was killed then counts as killed",
           ((last_look, "stopped_first", always(False)), (last_look, "log", always(QUIET)))),
    Mutant("A3 (log)", "a shutdown that only the error log knows is not read",
           ((last_look, "log", always(QUIET)),)),
    Mutant("A4", "the certificate of an interrupted run never expires",
           ((interrupted_failover, "is_of", always(True)),)),
    Mutant("A5", "a replica's start between its first reading and its stop is not seen, nor its"
           " applier's",
           ((relay_logs, "uptime", of_first_look), (relay_logs, "has_less", always("")),
            (relay_logs, "applier_since", always(0.0)))),
    Mutant("A6", "a look that a playbook of ours has spent still counts",
           ((last_look, "spent", always(None)), (last_look, "changed_elsewhere", always(False)),
            (failover_outcome, "changed_elsewhere", always_first))),
    Mutant("A6 (journal)", "a change by another controller's playbook is not seen",
           ((last_look, "changed_elsewhere", always(False)),
            (failover_outcome, "changed_elsewhere", always_first),)),
    Mutant("A6 (open)", "a look covers a change that is begun and not made",
           ((history, "settings_row",
             lambda _right: lambda info: int(info.get("settings_row") or 0)),), moments=25000),
    Mutant("A7", "nothing is said of what was taken for granted",
           ((assumptions, "listed", always(["-"])),)),
    Mutant("A8", "a start of the applier, or a reset, is not seen",
           ((relay_logs, "lost_by_reset", always("")),)),
    Mutant("received: applier", "any start of the applier is taken for the service's, which applies"
           " first what was received; and nothing is assumed of a start by hand",
           ((relay_logs, "received_applied", always(True)),
            (assumptions, "listed",
             after(lambda lines, *_more: [one for one in lines if "not reset" not in one]
                   or ["-"])),)),
    Mutant("A9", "a KILL of a commit that waits is not among what is assumed",
           ((assumptions, "listed",
             after(lambda lines, *_more: [one for one in lines if "KILL" not in one] or ["-"])),)),
    Mutant("A10", "strangers are counted, not identified",
           ((relay_logs, "strangers", lambda _right: counted),)),
    Mutant("A11", "a source that was started again is taken to have kept its binary log's end",
           ((last_look, "started_since", always(False)),)),
    Mutant("A12", "a look at another server counts", ((last_look, "elsewhere", always("")),),
           "it has one source only, so there is no look at another"),
    Mutant("beat: acknowledged", "at a beat every commit that waits is taken to have its"
           " acknowledgement",
           ((beat_looks, "calm", lambda _right: lambda seen: seen[0].at),)),
    Mutant("beat: ended", "a beat that the writer has ended itself is taken for acknowledged",
           ((beat_looks, "ended_between", always(False)),)),
    Mutant("beat: GTIDs", "the candidate has the row, and is not asked for what it says",
           ((beats, "had", lambda _right: first_sign),)),
    Mutant("beat: server", "a beat of another server, as of one that is held, counts",
           ((beats, "followed", lambda _right: server_of_newest),)),
    Mutant("beat: split", "different beats by one number on two replicas count",
           ((beats, "contradiction", always("")),),
           "a beat of another server does not count either, and no server here has another's name"),
    Mutant("beat: clock, not place", "a beat counts from when it was read",
           ((beats, "sign_of", after(lambda sign, evidence, _beat: sign._replace(
               at=evidence.now))),)),
    Mutant("beat: clocks",
           "a beat is timed by one clock only, and the certificate does not say so",
           ((assumptions, "of_clock", always(())),)),
    Mutant("beat: relay log", "a start of the applier after the last beat is not seen",
           ((relay_logs, "applier_since", always(0.0)),)),
    Mutant("beat: power", "a source that lost its log's end before it beat is taken to have it",
           ((assumptions, "of_power", always(())),),
           "no server here writes a GTID twice"),
    Mutant("beat: left",
           "a replica that has what the source had at a beat is taken to have been there then",
           ((beat_looks, "has_more_than", lambda _right: has_all_of),)),
    Mutant("beat: number",
           "a replica that was there at a beat is taken to be there at each later one",
           ((beat_looks, "was_attached", lambda _right: was_there_once),)),
    Mutant("fence: failed", "a hook of which a task failed is taken to have ended the source",
           ((last_look, "fenced_at", lambda _right: hook_ended),)),
    Mutant("fence: beginning", "the source is taken to have ended when the hook began",
           ((last_look, "fenced_at", lambda _right: hook_began),)),
    Mutant("fence: word",
           "only the hook says when the source ended, and the certificate does not say so",
           ((assumptions, "of_fence", always(())),)),
    Mutant("fence: clocks", "the clock of a host that is gone is taken for the controller's",
           ((beats, "sign_of", after(lambda sign, *_more: sign._replace(exact=True))),)),
    Mutant("fence: boot", "clocks that a host named before the hook are taken for any start of it",
           ((beats, "host_clock", of_one_boot),),
           "a start of the source after its last beat is assumed not to have been"),
    Mutant("calm", "a commit that waits is taken to have begun at the look",
           ((history, "calm_at", after(lambda _kept, _saved, state, _past: state["at"])),)),
    Mutant("no replica", "wait_no_replica is taken to be ON",
           ((last_look.values, "same_value",
             lambda right: lambda one, other: other == "ON" or right(one, other)),)),
)  # fmt: skip

# In which worlds each is looked for: to judge all of them with each mistake takes far longer than
# to search them.
WORLDS = {
    "C1": ("gone", "strangers"),
    "C2": ("a wait", "gone"),
    "C3": ("gone",),
    "C4": ("gone", "inventory"),
    "C5": ("starts", "reset"),
    "C6": ("gone", "starts"),
    "C7": ("threads", "by hand"),
    "A1": ("threads", "a wait"),
    "A2": ("by hand", "starts"),
    "A3": ("ends",),
    "A3 (log)": ("ends",),
    "A4": ("interrupted",),
    "A5": ("between",),
    "A6": ("site.yml",),
    "A6 (journal)": ("site.yml",),
    "A6 (open)": ("site.yml",),
    "A7": ("ends", "by hand"),
    "A8": ("reset", "both threads"),
    "received: applier": ("received", "received, a power cut"),
    "A9": ("by hand",),
    "A10": ("inventory", "strangers"),
    "A11": ("power",),
    "A12": ("gone",),
    "beat: acknowledged": ("beats, waits",),
    "beat: ended": ("beats, waits",),
    "beat: GTIDs": ("beats, places",),
    "beat: server": ("beats, places",),
    "beat: split": ("beats, split",),
    "beat: clock, not place": ("beats, places", "beats, clocks"),
    "beat: clocks": ("beats, clocks",),
    "beat: relay log": ("beats, threads", "beats, resets"),
    "beat: power": ("beats, power",),
    "beat: left": ("beats, numbers",),
    "beat: number": ("beats, numbers",),
    "fence: failed": ("beats, fence",),
    "fence: beginning": ("beats, fence",),
    "fence: word": ("beats, fence",),
    "fence: clocks": ("beats, fence, clocks",),
    "fence: boot": ("beats, fence, boots",),
    "calm": ("a wait",),
    "no replica": ("no wait",),
}


def of_world(name: str) -> list[Mutant]:
    """The mistakes that are looked for in a world."""
    return [one for one in MUTANTS if name.removeprefix("hosts: ") in WORLDS[one.name]]


@contextlib.contextmanager
def mistaken(mutant: Mutant) -> Iterator[None]:
    """The judge with one mistake, wherever a function was imported to."""
    changed: list[tuple[Any, str, Any]] = []
    for module, name, make in mutant.patches:
        right = getattr(module, name)
        wrong = make(right)
        for other in list(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("ansible_collections.dbre"):
                for known, value in list(vars(other).items()):
                    if value is right:
                        changed.append((other, known, right))
                        setattr(other, known, wrong)
    try:
        yield
    finally:
        for other, known, right in changed:
            setattr(other, known, right)
