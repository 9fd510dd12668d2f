# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation keeps its own rules: links that lead somewhere, a short README, plain words."""

from __future__ import annotations

import collections
import re
import subprocess
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Words that mean nothing to a reader who has not seen it, and a file name that does not exist.
UNEXPLAINED = re.compile(r"\bthe\s+document\b", re.IGNORECASE)
NAMELESS = re.compile(r"\b[0-9]{3}_[0-9a-f]{16}\b")
# Sentences that a reader stopped at once, and their like.
STILTED = re.compile(
    r"\bgone on with\b|\bdrill that must not be\b|\bin no time\b|\bwants to hear\b|\bcopy truly\b"
    r"|\brows in a row\b|\bin \w+ clothes\b|\ba (line|drill) a \w+|\+1 a row",
    re.IGNORECASE,
)
SPOKEN = {".md", ".py", ".yml", ".yaml", ".j2", ".json", ".rst"}
EXPLAINED = PROJECT / "docs" / "procedure.md"
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def tracked() -> list[Path]:
    """Files of the repository, or all beside the hidden ones where git does not know it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, check=False, capture_output=True, text=True
    )
    if listed.returncode:
        return [path for path in PROJECT.rglob("*") if path.is_file() and "/." not in str(path)]
    return [PROJECT / name for name in listed.stdout.split("\0") if (PROJECT / name).is_file()]


FILES = tracked()
PAGES = [path for path in FILES if path.suffix == ".md"]


def prose(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and myst-parser make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """Relative links of a page that lead to no file or to no heading."""
    broken = []
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _hash, anchor = target.partition("#")
        aimed = (page.parent / path).resolve() if path else page
        if not aimed.exists() or (anchor and anchor not in anchors(aimed)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_relative_link_leads_somewhere(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("room", ["README.md", "docs", "lab", "playbooks", "plugins", "roles"])
def test_sentences_stop_no_reader(room):
    stops = [
        (str(path.relative_to(PROJECT)), match[0])
        for path in FILES
        if path.relative_to(PROJECT).parts[0] == room and path.suffix in SPOKEN
        for match in STILTED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert stops == []


def test_the_built_collection_leaves_the_evidence_and_what_runs_leave_behind_out():
    galaxy = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))
    ignored = (PROJECT / ".gitignore").read_text(encoding="utf-8")
    folders = {"docs/evidence", *re.findall(r"^/(.+)/$", ignored, re.MULTILINE)}
    assert folders - set(galaxy["build_ignore"]) == set()


def test_the_readme_stays_a_leaflet():
    lines = (PROJECT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120 and not line.startswith("![")] == []


def test_the_first_screen_answers_what_an_operator_asks_first():
    screen = "\n".join((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()[:60])
    for question in (
        "Is my server supported?",
        "What restarts?",
        "What does it never do?",
        "How do I begin?",
        "How do I undo it?",
    ):
        assert f"**{question}**" in screen
    commands = re.findall(r"^\$ (.+)$", screen, re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        "make",
        "ansible-galaxy",
        "ansible-playbook",
    ]
    # The first one for hosts of one's own changes nothing.
    assert commands[2].endswith("dbre.semisync.site --check")
    # Each with what it was seen on, and what is from manuals.
    for word in ("MySQL", "Percona", "MariaDB", "Debian", "Ubuntu", "seen running", "manuals"):
        assert word in screen


def test_each_table_stands_in_one_place():
    places = collections.defaultdict(set)
    for page in (page for page in PAGES if "evidence" not in page.parts):
        for row in re.findall(r"^\|.{60,}\|$", prose(page), re.MULTILINE):
            places[row].add(str(page.relative_to(PROJECT)))
    assert {row: pages for row, pages in places.items() if len(pages) > 1} == {}


def test_the_operators_guide_knows_every_playbook():
    guide = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")
    commands = {path.name for path in (PROJECT / "playbooks").glob("*.yml")}
    assert {name for name in commands if f"| `{name}" not in guide} == set()


def test_what_the_procedure_follows_has_a_name_outside_its_page():
    unexplained, nameless = [], []
    for path in FILES:
        if (path.name != "Makefile" and path.suffix not in SPOKEN) or path == EXPLAINED:
            continue
        text = path.read_text(encoding="utf-8")
        unexplained += [path] * bool(UNEXPLAINED.search(text))
        nameless += [path] * bool(NAMELESS.search(text))
    assert (unexplained, nameless) == ([], [])


def test_every_line_of_the_changelog_is_text():
    # A colon in it makes it a mapping, which the changelog does not have.
    folder = PROJECT / "changelogs"
    released = yaml.safe_load((folder / "changelog.yaml").read_text(encoding="utf-8"))["releases"]
    parts = [release["changes"] for release in released.values()] + [
        yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("fragments/*.yml")
    ]
    entries = [
        entry
        for part in parts
        for section, lines in part.items()
        for entry in ([lines] if section == "release_summary" else lines)
    ]
    assert len(entries) > 100
    assert [entry for entry in entries if not isinstance(entry, str)] == []


def test_every_guide_has_one_place_on_the_site():
    index = (PROJECT / "docs" / "docsite" / "index.rst").read_text(encoding="utf-8")
    placed = collections.Counter(re.findall(r"^   guides/(\S+)$", index, re.MULTILINE))
    besides = {"README": 1, "monitoring": 1, "contributing": 1, "reporting": 1}
    assert placed == {path.stem: 1 for path in (PROJECT / "docs").glob("*.md")} | besides


def sentences(page: Path) -> list[str]:
    """The sentences of a page's paragraphs and list items; no headings and no tables."""
    paragraphs = [""]
    for line in prose(page).splitlines():
        if not line.strip() or line.startswith("#") or line.lstrip().startswith("|"):
            paragraphs.append("")
        elif re.match(r" *([-*]|\d+\.) ", line):
            paragraphs.append(line.strip())
        else:
            paragraphs[-1] += f" {line.strip()}"
    return [
        sentence
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*\[])", paragraph)
        if sentence.strip()
    ]


@pytest.mark.parametrize("name", ["failover", "switchover", "rejoin", "clients", "night-*"])
def test_sentences_of_a_role_change_are_short(name):
    lengths = sorted(
        len(sentence.split())
        for page in (PROJECT / "docs").glob(f"{name}.md")
        for sentence in sentences(page)
    )
    assert lengths[int(len(lengths) * 0.95)] <= 35


def test_a_guide_leaves_what_was_seen_to_the_evidence():
    guides = [*(PROJECT / "docs").glob("*.md"), *PROJECT.glob("roles/*/README.md")]
    assert [page.name for page in guides if "\n## What was seen" in prose(page)] == []
