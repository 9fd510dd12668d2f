"""A page of docs/ as an operator at a keyboard reads it: the commands in its fenced blocks, in
order, each with what the page says that it prints and how it ends.

A `console` block has `$ COMMAND` for the controller and `HOST# COMMAND` for a host; a `sql` block
begins with `-- on HOST`. A `text` block behind one has parts of what its last command prints, a
line each, with … for what is left out, and `exit status N` where that is not 0.
"""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"(?:\$|(\w+)#) (.+)")
ON_HOST = re.compile(r"-- on (\w+)\n(.+)", re.DOTALL)
STATUS = re.compile(r"exit status (\d+)")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# Of what a page leaves out, at most.
LEFT_OUT = r".{0,600}?"


class Step(NamedTuple):
    """A command of a page.

    Attributes:
        heading: of the section that it stands in.
        host: where it is typed; empty for the controller.
        kind: console or sql.
        command: what is typed.
        says: what its output has, as the page says it.
        status: its exit status.
    """

    heading: str
    host: str
    kind: str
    command: str
    says: tuple[str, ...] = ()
    status: int = 0


def steps(name: str) -> list[Step]:
    """The commands of docs/NAME.md, in order."""
    text = (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    made: list[Step] = []
    parts = HEADING.split(text)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        for kind, indented in FENCE.findall(body):
            block = textwrap.dedent(indented)
            if kind == "text":
                made[-1] = told(made[-1], block)
            else:
                made += typed(heading, kind, block)
    return made


def typed(heading: str, kind: str, block: str) -> list[Step]:
    """The commands of one block."""
    if kind == "sql":
        on_host = ON_HOST.fullmatch(block)
        assert on_host, f"{heading}: no line says on which host: {block}"
        return [Step(heading, on_host[1], kind, on_host[2])]
    lines = [PROMPT.fullmatch(line) for line in block.splitlines()]
    assert all(lines), f"{heading}: a line without a prompt: {block}"
    return [Step(heading, line[1] or "", kind, line[2]) for line in lines if line]


def told(step: Step, block: str) -> Step:
    """A command with what the block behind it says."""
    says, status = [], 0
    for line in block.splitlines():
        ended = STATUS.fullmatch(line)
        if ended:
            status = int(ended[1])
        else:
            says.append(line)
    return step._replace(says=tuple(says), status=status)


def is_said(line: str, output: str) -> bool:
    """Whether an output, its blanks smoothed out, has a line of a page."""
    parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
    return re.search(LEFT_OUT.join(parts), output) is not None
