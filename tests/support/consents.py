"""What a refusal says can be accepted, by name, and the same command once more with that."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterable

Done = subprocess.CompletedProcess[str]
CONSENT = re.compile(r"-e (semisync_\w+_accept)=([\w:,.-]*\w)")
# A run may refuse anew by what it reads behind the stop; and a slow machine may let it run out of
# time, which undoes it: it is made again, in so many seconds.
TURNS, UNDONE, AGAIN = 6, "everything was rolled back", 15


class Consents:
    """What was accepted so far: the names of a variable."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}

    def hear(self, done: Done) -> bool:
        """Accept what a refusal says can be; whether that is more than before."""
        before = sum(map(len, self.names.values()))
        for variable, names in consents(done).items():
            known = self.names.setdefault(variable, [])
            known += [name for name in names.split(",") if name not in known]
        return sum(map(len, self.names.values())) > before

    @property
    def arguments(self) -> list[str]:
        """For the command line."""
        pairs: Iterable[tuple[str, list[str]]] = self.names.items()
        return [word for name, cases in pairs for word in ("-e", f"{name}={','.join(cases)}")]


def consents(done: Done) -> dict[str, str]:
    """The variables, and the names of cases, by which a refusal can be overridden; empty if it
    names none.
    """
    return dict(CONSENT.findall(" ".join((done.stdout + done.stderr).split())))


def by_consent(attempt: Callable[..., Done]) -> Done:
    """A playbook, and again with the cases accepted that it has refused by name, or where all of it
    was undone.
    """
    given = Consents()
    done = attempt()
    for _turn in range(TURNS):
        undone = UNDONE in done.stdout + done.stderr
        if done.returncode == 0 or not (given.hear(done) or undone):
            break
        time.sleep(AGAIN if undone else 0)
        done = attempt(*given.arguments)
    return done
