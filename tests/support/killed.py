"""A playbook killed with SIGKILL after each of its tasks in turn, as proof/interrupted.py
does it with site.yml.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from support.live_hosts import PROJECT

CALLBACKS = PROJECT / "tests" / "tools" / "callbacks"


def listening(after: int, tasks: Path | None = None) -> dict[str, str]:
    """What a run's environment needs to be killed after a task; 0 for none, with its tasks written
    to a file.
    """
    found = {
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "killer",
        "SEMISYNC_KILL_AFTER": str(after),
    }
    return dict(found, SEMISYNC_TASKS_FILE=str(tasks)) if tasks else found


def ended_anew(met: Path) -> dict[str, str]:
    """The same for being killed behind the first task that a file does not have yet."""
    return dict(listening(0), SEMISYNC_MET_FILE=str(met))


def places(tasks: Path, part: int, parts: int) -> list[tuple[int, str]]:
    """Numbers and names of the tasks that ran on a host, without the last: behind it nothing is
    left to kill.

    Args:
        tasks: the file that an uninterrupted run wrote.
        part: which share of them.
        parts: how many shares there are.
    """
    found = [json.loads(line) for line in tasks.read_text(encoding="utf-8").splitlines()]
    ran = [
        (task["number"], task["name"])
        for task in found
        if [host for host in task["ran"] if host != "localhost"]
    ]
    assert len(ran) > parts, ran
    return ran[:-1][part::parts]


def was_killed(result: subprocess.CompletedProcess[str]) -> None:
    """Assert that a run ended by SIGKILL."""
    assert result.returncode == -signal.SIGKILL, (
        "not killed:\n" + result.stdout[-3000:] + result.stderr[-2000:]
    )
