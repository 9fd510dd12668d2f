"""Write what pages have from tables in the code: findings, known-bad versions, premises.

A part of a page that is between the two comments of its name is made here; a unit test fails if it
is not what the tables say. Run it after a change of a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import NEVER
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import kinds, known_bad
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings.kind import Kind, Variant
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import premises

PROJECT = Path(__file__).resolve().parents[2]
ENGINES = {known_bad.MYSQL: "MySQL, Percona", known_bad.MARIADB: "MariaDB"}


def linked(text: str) -> str:
    """A text of a terminal as Markdown: other pages are links."""
    return re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", text)


def address(place: str) -> str:
    return f"<{place}>" if place.startswith("https://") else place


def variant_rows(variant: Variant) -> list[str]:
    """What a kind says instead in a case, a row of its table each."""
    instead = {"title": variant.title, "why": variant.why, "remedy": variant.remedy}
    return [
        f"| {name}, if {variant.when} | {linked(text)} |" for name, text in instead.items() if text
    ]


def finding_section(name: str, kind: Kind) -> str:
    places = (kind.source,) if isinstance(kind.source, str) else kind.source
    rows = [
        "| | |",
        "|---|---|",
        f"| severity | {kind.severities or kind.severity} |",
        f"| when | {kind.when} |",
        f"| why | {linked(kind.why)} |",
        f"| source | {', '.join(address(place) for place in places)} |",
        f"| remedy | {linked(kind.remedy)} |",
    ]
    for variant in kind.variants.values():
        rows += variant_rows(variant)
    return "\n".join([f"### {name}", "", f"{kind.title}.", "", *rows])


def findings() -> str:
    """A section for every kind of finding."""
    return "\n\n".join(finding_section(name, kind) for name, kind in kinds.TABLE.items())


def versions(defect: known_bad.Defect) -> str:
    """The ranges of a defect: from the first bad version until the first good one."""
    parts = []
    for first, fixed in defect.ranges:
        begin, end = (".".join(map(str, version)) for version in (first, fixed))
        parts.append(f"from {begin}" if fixed == NEVER else f"{begin} until {end}")
    return f"{ENGINES[defect.engines]} {', '.join(parts)}"


def defects() -> str:
    """The table of versions with known defects; the version after "until" has the fix."""
    rows = ["| defect | servers | matters with | what | source |", "|---|---|---|---|---|"]
    rows += [
        f"| {defect.id} | {versions(defect)} | {known_bad.CONDITIONS[defect.condition].text}"
        f" | {defect.what} | {address(defect.source)} |"
        for defect in known_bad.DEFECTS
    ]
    return "\n".join(rows)


def premise_table() -> str:
    rows = ["| premise | what must be seen |", "|---|---|"]
    rows += [f"| {premise.id} | {premise.seen} |" for premise in premises.REGISTRY]
    return "\n".join(rows)


# Page -> name of its part -> what makes it.
PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "docs/findings.md": {"findings": findings, "known-bad versions": defects},
    "docs/failover.md": {"premises": premise_table},
}


def renewed(page: str, text: str) -> str:
    """A page with its generated parts as they have to be.

    Raises:
        ValueError: the page lacks one of the parts.
    """
    for name, make in PARTS[page].items():
        begin = f"<!-- {name}: made by tests/tools/docs_tables.py -->"
        end = f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _old, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"{page} lacks {begin} or {end}")
        text = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return text


def main() -> None:
    """Write the pages that differ, and name them."""
    for page in PARTS:
        path = PROJECT / page
        text = path.read_text(encoding="utf-8")
        new = renewed(page, text)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main()
