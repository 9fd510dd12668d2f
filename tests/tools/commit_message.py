"""The commit-msg hook: a subject of at most 72 characters, an empty line, and a body that says why.

Usage: commit_message.py FILE. Merges, reverts and fixups are left to git.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
SCISSORS = "# ------------------------ >8 ------------------------"
MADE_BY_GIT = re.compile(r"^(Merge |Revert |fixup! |squash! |amend! )")
TRAILER = re.compile(r"^[A-Z][\w-]*-[Bb]y: ")


def written(text: str) -> list[str]:
    """The lines that git keeps: no comments, and nothing below the scissors line."""
    lines = text.partition(SCISSORS)[0].splitlines()
    kept = [line.rstrip() for line in lines if not line.startswith("#")]
    while kept and not kept[0]:
        kept.pop(0)
    return kept


def problems(text: str) -> list[str]:
    """What is wrong with a commit message; empty if it is fine."""
    lines = written(text)
    if not lines or MADE_BY_GIT.match(lines[0]):
        return []
    found = []
    if len(lines[0]) > LONGEST:
        found.append(f"the subject has {len(lines[0])} characters, at most {LONGEST} are allowed")
    if len(lines) > 1 and lines[1]:
        found.append("the line after the subject must be empty")
    if not any(line and not TRAILER.match(line) for line in lines[1:]):
        found.append("there is no body: say why the change is made")
    return found


def main(path: str) -> int:
    """Print a line per problem.

    Args:
        path: the file with the message, as git gives it to the hook.
    """
    found = problems(Path(path).read_text(encoding="utf-8"))
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
