# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run: its verdicts, after Ansible's recap, without any configuration.

A task leaves its verdict in a folder of this run. Ansible loads the class of each action in its
main process before it runs the task in a worker, and so imports this file there, which prints what
was left when that process ends. Workers end without that.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping
from typing import TypedDict

from ansible import constants, context
from ansible.utils.display import Display

PREFIX = "semisync-closing-"
# Where to read more, which is said before the verdicts.
REPORT = "report"
NEXT_COMMAND = "  next: "
# With more clusters than these, those without anything to do are only counted.
MANY = 10
# Ansible prints one document with these.
DOCUMENTS = ("json", "jsonl", "junit")


class Left(TypedDict):
    """What leave() was given, and when."""

    cluster: str
    about: str
    lines: list[str]
    well: bool
    at: float


def command(groups: Mapping[str, object], name: str, playbook: str) -> str:
    """How a playbook is run for a cluster: with the inventory of this run, and only for the cluster
    if it has a group of its name.

    Args:
        groups: the inventory's.
        playbook: its name, with its options.
    """
    given = context.CLIARGS.get("inventory") or []
    inventory = "".join(f" -i {shlex.quote(path)}" for path in given)
    playbook, _space, options = playbook.partition(" ")
    limit = f" --limit {name}" if name in groups else ""
    return f"ansible-playbook{inventory} dbre.semisync.{playbook}{limit} {options}".rstrip()


def leave(cluster: str, about: str, lines: list[str], well: bool = True) -> None:
    """Leave a verdict for the end of the run; it replaces an earlier one about the same.

    Args:
        cluster: the cluster's name; empty for what is said of none.
        about: what the verdict is about, such as "health".
        lines: its text, at most five; the first gets the cluster's name, the others are indented.
        well: whether there is nothing to do.
    """
    subject = hashlib.sha256(json.dumps([cluster, about]).encode("utf-8")).hexdigest()
    path = os.path.join(constants.DEFAULT_LOCAL_TMP, f"{PREFIX}{subject}")
    first, *others = lines
    head = f"semi-sync: cluster {cluster}: {first}" if cluster else f"semi-sync: {first}"
    told = [head, *(f"  {words}" for words in others)]
    kept = Left(cluster=cluster, about=about, lines=told, well=well, at=time.time())
    # Without it the run has the same outcome.
    with contextlib.suppress(OSError):
        with open(f"{path}.new", "w", encoding="utf-8") as stream:
            json.dump(kept, stream)
        os.replace(f"{path}.new", path)


def waiting() -> list[Left]:
    """The verdicts that this run will end with, by cluster and by time."""
    kept: list[Left] = []
    with contextlib.suppress(OSError, ValueError):
        for name in os.listdir(constants.DEFAULT_LOCAL_TMP):
            if name.startswith(PREFIX) and not name.endswith(".new"):
                with open(os.path.join(constants.DEFAULT_LOCAL_TMP, name), "rb") as stream:
                    kept.append(json.load(stream))
    return sorted(kept, key=lambda one: (one["cluster"], one["about"] != REPORT, one["at"]))


def text(kept: list[Left]) -> str:
    """The verdicts as they are printed."""
    shown = kept
    if len({one["cluster"] for one in kept}) > MANY:
        shown = [one for one in kept if not one["well"]]
    every = [line for one in shown for line in one["lines"]]
    # A step of a longer run ends with the same command as the run.
    said = {line: at for at, line in enumerate(every) if line.startswith(NEXT_COMMAND)}
    lines = [line for at, line in enumerate(every) if said.get(line, at) == at]
    rest = {one["cluster"] for one in kept} - {one["cluster"] for one in shown}
    if rest:
        lines.append(f"semi-sync: {len(rest)} clusters: healthy")
    return "".join(f"{line}\n" for line in lines)


def say(words: str) -> None:
    """Print to where Ansible printed, and to its log.

    Not by its stream: what that could not deliver would turn the exit status into 120.
    """
    Display().display(words.rstrip("\n"), log_only=True)
    if constants.DEFAULT_STDOUT_CALLBACK.rpartition(".")[2] in DOCUMENTS or sys.stdout is None:
        return
    rest = words.encode(sys.stdout.encoding or "utf-8", "replace")
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]


def close(process: int) -> None:
    """Print what was left, if this is the process that the file was imported in."""
    if os.getpid() != process:
        return
    # Nothing that fails here may be seen, and least of all change how the run ends.
    with contextlib.suppress(Exception):
        if kept := waiting():
            say(text(kept))


atexit.register(close, os.getpid())
