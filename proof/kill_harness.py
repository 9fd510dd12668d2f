"""What the drivers that kill something have in common: their command line, the loop that kills a
run after each of its tasks, and the table of a page that says what became of each.

What is killed, and what must hold afterwards, is the driver's.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypedDict

CONVERGED, FAILED = "converged", "FAILED"
# What a page has for a host that nothing is said of.
DASH = "\N{EN DASH}"


class Task(TypedDict):
    """A task of a run, as the callback `killer` writes it; ran and changed name hosts."""

    number: int
    name: str
    ran: list[str]
    changed: list[str]


# --- The command line


def parser_for(
    description: str, servers: Iterable[str], default: str | None
) -> argparse.ArgumentParser:
    """The options that all drivers have.

    Args:
        default: the server that is meant if none is named; None for all, each named by its own
            --server.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    if default is None:
        parser.add_argument("--server", action="append", choices=sorted(servers))
    else:
        parser.add_argument("--server", choices=sorted(servers), default=default)
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin nothing further after so long"
    )
    parser.add_argument("--resume", action="store_true", help="leave out what went well before")
    parser.add_argument("--document", type=pathlib.Path, help="the page whose table is filled")
    return parser


def deadline(minutes: float) -> float:
    """When nothing further may begin, by the monotonic clock. From now on, to be ended is to be
    interrupted: the hosts are removed.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return time.monotonic() + 60 * minutes


# --- After each task


def read_tasks(path: pathlib.Path) -> list[Task]:
    """The tasks of a run."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def last_of(path: pathlib.Path) -> Task:
    return read_tasks(path)[-1]


def numbers(tasks: Iterable[Task]) -> list[int]:
    """The tasks after which a run is killed: those that a host ran, but for the last, after which
    nothing is left to kill.
    """
    return [task["number"] for task in tasks if task["ran"]][:-1]


def kill_after_each(
    tasks: Sequence[Task],
    results: dict[int, str],
    attempt: Callable[[int], str],
    until: float,
    keep: Callable[[], None],
    order: Sequence[int] = (),
    stop_at_failure: bool = False,
) -> None:
    """Kill a run after each of its tasks, as long as there is time.

    Args:
        results: task -> what became of it; those that converged before are not tried again.
        attempt: kills a run after a task, runs it again, and says what became of it.
        keep: called after each.
        order: in which the tasks are tried, if not their own.
        stop_at_failure: whether the next task needs what a failure has spoiled.
    """
    for number in order or numbers(tasks):
        if results.get(number, "").startswith(CONVERGED):
            continue
        if time.monotonic() > until:
            break
        results[number] = attempt(number)
        print(f"after task {number} ({tasks[number - 1]['name']}): {results[number]}", flush=True)
        keep()
        if stop_at_failure and results[number].startswith(FAILED):
            break


def failure(error: AssertionError) -> str:
    """What a table says of a task after which something did not hold."""
    return f"{FAILED}: " + " ".join(str(error).split())[-160:].replace("|", "/")


def any_failed(results: dict[int, str]) -> bool:
    return any(said.startswith(FAILED) for said in results.values())


# --- The table of a page


def on_hosts(names: Iterable[str]) -> str:
    """Hosts by the ends of their names, such as replica1 of mysql-replica1."""
    return ", ".join(sorted({name.rpartition("-")[2] for name in names})) or DASH


class Section(NamedTuple):
    """A part of a page between two marks of its title."""

    path: pathlib.Path
    title: str

    @property
    def begin(self) -> str:
        return f"<!-- {self.title} -->\n"

    @property
    def end(self) -> str:
        return f"<!-- end of {self.title} -->\n"

    def text(self) -> str:
        """What the page has there."""
        page = self.path.read_text(encoding="utf-8")
        return page.partition(self.begin)[2].partition(self.end)[0]

    def replace(self, text: str) -> None:
        """Put a text there, in place of the one that was there."""
        before, _mark, rest = self.path.read_text(encoding="utf-8").partition(self.begin)
        after = rest.partition(self.end)[2]
        self.path.write_text(f"{before}{self.begin}\n{text}{self.end}{after}", encoding="utf-8")

    def converged(self) -> dict[tuple[int, str], str]:
        """(number, name) of a task -> what became of it, of those that went well."""
        lines = self.text().splitlines()
        rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
        return {
            (int(row[0]), row[1]): row[4]
            for row in rows
            if len(row) == 5 and row[4].startswith(CONVERGED)
        }

    def write(self, tasks: Sequence[Task], results: dict[int, str]) -> None:
        """Put the table of a run's tasks there."""
        moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        ran = len([task for task in tasks if task["ran"]])
        good = len([said for said in results.values() if said.startswith(CONVERGED)])
        summary = (
            f"Run on {moment}: {len(tasks)} tasks, {ran} of them ran on a host; killed after"
            f" {len(results)}, converged {good} times."
        )
        self.replace(f"{summary}\n\n{table(tasks, results)}")


def table(tasks: Sequence[Task], results: dict[int, str]) -> str:
    """A line for each task. One that no host ran leaves everything as the task before it did."""
    lines = ["| n | after the task | ran on | changed | run again |", "|---|---|---|---|---|"]
    last, end = 0, max(task["number"] for task in tasks if task["ran"])
    for task in tasks:
        number = task["number"]
        last = number if task["ran"] else last
        said = f"as after {last}"
        if number == end:
            said = "its end"
        elif task["ran"]:
            said = results.get(number, "not tried")
        name, ran, changed = task["name"].replace("|", "/"), task["ran"], task["changed"]
        lines.append(f"| {number} | {name} | {on_hosts(ran)} | {on_hosts(changed)} | {said} |")
    return "\n".join(lines) + "\n"
