"""Molecule runs take turns with a scenario's hosts, and hosts of one that ended early are removed.

Usage: turn.py take|give HOSTS SCENARIO

Playbooks and tests are processes of their own, so none of them can hold a lock for a molecule
command. `take` leaves a process behind that holds it until the command ends, or until `give`. Where
`molecule test` ends with its turn still taken (Ctrl-C, a kill), that process runs `molecule
destroy`. HOSTS is what the turn is about: the hosts of kind uml are the same in two scenarios.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

from common import cache, say  # noqa: E402

POLL_SECONDS = 0.1


def lock_file(hosts: str) -> Path:
    """The lock of these hosts; it holds the ids of the process that has it and of molecule's."""
    return cache("locks") / f"molecule-{hosts}"


def ancestors() -> dict[int, list[str]]:
    """The command lines of this process's ancestors by their ids, the nearest first."""
    lines: dict[int, list[str]] = {}
    pid = os.getppid()
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it ended meanwhile
            break
        lines[pid] = words[:-1]
        pid = int(stat.rpartition(")")[2].split()[1])
    return lines


def molecule(lines: dict[int, list[str]]) -> tuple[int, list[str]] | None:
    """The id and the arguments of the molecule command among these processes; None without one."""
    for pid, words in lines.items():
        for position, word in enumerate(words[:3]):
            if Path(word).name == "molecule":
                return pid, words[position + 1 :]
    return None


def cleans_up(arguments: list[str]) -> bool:
    """Whether hosts are to be gone after this molecule command, however it ended."""
    text = " ".join(arguments).replace("--destroy ", "--destroy=")
    return "test" in arguments and "--destroy=never" not in text


def holders(hosts: str) -> list[int]:
    """Who has the turn: ids of the holding process and of the molecule command; empty if nobody."""
    with lock_file(hosts).open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            return [int(word) for word in handle.read().split()]
    return []


def take(hosts: str, scenario: str) -> None:
    """Wait for the turn, unless the molecule command that this is part of has it already."""
    lines = ancestors()
    command = molecule(lines)
    if command is None or set(holders(hosts)) & set(lines):
        return
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        with os.fdopen(reader) as told:
            if not told.read():
                raise SystemExit("turn: the process that holds the turn ended")
        return
    os.setsid()
    os.close(reader)
    _leave_output(scenario)
    hold(hosts, scenario, command, writer)
    os._exit(0)


def _leave_output(scenario: str) -> None:
    """Write to a log from here on, so that nobody waits for this process's output to end."""
    log = cache("logs") / f"molecule-{scenario}.log"
    with log.open("a", encoding="utf-8") as target, open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)


def hold(hosts: str, scenario: str, command: tuple[int, list[str]], ready: int) -> None:
    """Hold the turn until the molecule command ends; clean up after one that could not."""
    pid, arguments = command
    with lock_file(hosts).open("a+", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            molecule_process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        handle.truncate(0)
        handle.write(f"{os.getpid()} {pid}\n")
        handle.flush()
        os.write(ready, b"taken")
        os.close(ready)
        select.select([molecule_process], [], [])
        if cleans_up(arguments):
            say(f"molecule {' '.join(arguments)} ended early: removing the hosts of {scenario}")
            subprocess.run(
                [sys.executable, "-m", "molecule", "destroy", "--scenario-name", scenario],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                check=False,
            )


def give(hosts: str) -> None:
    """Give the turn back, if the molecule command that this is part of has it."""
    lines = ancestors()
    command, having = molecule(lines), holders(hosts)
    # In its own cleaning up the holding process is an ancestor, and ends by itself.
    if not command or not having or having[0] in lines or having[1] != command[0]:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(having[0], signal.SIGTERM)
    while holders(hosts)[:1] == having[:1]:
        time.sleep(POLL_SECONDS)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("take", "give"))
    parser.add_argument("hosts")
    parser.add_argument("scenario")
    options = parser.parse_args()
    if options.action == "take":
        take(options.hosts, options.scenario)
    else:
        give(options.hosts)


if __name__ == "__main__":
    main()
