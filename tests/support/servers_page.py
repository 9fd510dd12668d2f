"""The table of docs/evidence/servers.md: what became of each playbook on each server.

It is also what a later run goes by: a step that passed need not be run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

MARK = "<!-- outcomes -->\n"
STEP = "step"
PASSED = "passed"
# Where a server cannot do a thing, one clear error is what is wanted.
REFUSED = "refused, as it has to be"
NOT_RUN = "not run"

Outcomes = dict[str, dict[str, str]]


def parse(page: str) -> Outcomes:
    """Server -> step -> outcome in words, of the table below MARK; steps never run are left out."""
    lines = [line for line in page.partition(MARK)[2].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    servers = rows[0][1:] if rows else []
    return {
        server: {row[0]: row[number] for row in rows[2:] if row[number] != NOT_RUN}
        for number, server in enumerate(servers, start=1)
    }


def passed(page: str, server: str) -> set[str]:
    """The steps that a server has passed, according to the page."""
    outcomes = parse(page).get(server, {})
    return {step for step, words in outcomes.items() if words.startswith((PASSED, REFUSED))}


def replaced(page: str, server: str, outcomes: dict[str, str], order: Iterable[str]) -> str:
    """The page with these outcomes in place of what it had of them; all others stay.

    Args:
        page: the page's text so far, with MARK above its table.
        server: the version, as the server says it.
        outcomes: step -> its outcome in words.
        order: every step, as the rows are to follow each other.
    """
    known = parse(page)
    known.setdefault(server, {}).update(
        {step: words.replace("|", "/") for step, words in outcomes.items()}
    )
    servers = sorted(known, key=lambda name: [int(part) for part in name.split(".")])
    lines = [[STEP, *servers], ["---"] * (1 + len(servers))]
    lines += [[step, *(known[name].get(step, NOT_RUN) for name in servers)] for step in order]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return page.partition(MARK)[0] + MARK + table


def write(path: Path, server: str, outcomes: dict[str, str], order: Iterable[str]) -> None:
    """Put a server's outcomes on the page."""
    text = replaced(path.read_text(encoding="utf-8"), server, outcomes, order)
    path.write_text(text, encoding="utf-8")
