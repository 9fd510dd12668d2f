"""What a refusal says can be accepted, by name, and the same command once more with that."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

Done = subprocess.CompletedProcess[str]
CONSENT = re.compile(r"-e (semisync_\w+_accept)=([\w:,.-]*\w)")


def consents(done: Done) -> dict[str, str]:
    """The variables, and the names of cases, by which a refusal can be overridden; empty where it
    names none.
    """
    return dict(CONSENT.findall(" ".join((done.stdout + done.stderr).split())))


def by_consent(attempt: Callable[..., Done]) -> Done:
    """A playbook, and once more with the cases accepted that it has refused by name."""
    done = attempt()
    named = consents(done)
    if done.returncode == 0 or not named:
        return done
    return attempt(*(word for name, cases in named.items() for word in ("-e", f"{name}={cases}")))
