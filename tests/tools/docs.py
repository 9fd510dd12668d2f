"""Build docs/ as a static site: the guides in docs/ and a page for each module, plugin
and role.

Every warning is an error, so a link that leads nowhere or an undocumented option fails the build.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SITE = PROJECT / "dist" / "docs"
WORK = PROJECT / ".cache" / "docs"
REPOSITORY = "https://github.com/dbre/semisync/blob/main/"
# Pages beside docs/ that the guides link to, by their name in the site.
OTHERS = {
    "README.md": "README.md",
    "monitoring/README.md": "monitoring.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
# What the names of pages of docs/evidence/ begin with in the site.
EVIDENCE = "evidence-"


def pages() -> dict[Path, str]:
    """Every page in Markdown and its name in the site."""
    docs = PROJECT / "docs"
    found = {path: path.name for path in sorted(docs.glob("*.md"))}
    found.update({path: EVIDENCE + path.name for path in sorted(docs.glob("evidence/*.md"))})
    named = {path.relative_to(PROJECT): name for path, name in found.items()}
    return {**named, **{Path(path): name for path, name in OTHERS.items()}}


def link(target: str, page: Path, known: dict[Path, str]) -> str:
    """A relative link of a page as it is in the site: another page, a picture, or a file of the
    repository.
    """
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return target
    there = Path(os.path.normpath(page.parent / path))
    if there in known:
        return known[there] + mark + anchor
    if not (PROJECT / there).exists():
        sys.exit(f"docs: error: {page} links to {target}, and there is no {there}")
    if there.parent == Path("docs/images"):
        return f"images/{there.name}"
    return REPOSITORY + there.as_posix() + mark + anchor


def guides(target: Path) -> None:
    """The pages with their links turned."""
    known = pages()
    target.mkdir(parents=True)
    for page, name in known.items():
        text = (PROJECT / page).read_text(encoding="utf-8")
        (target / name).write_text(
            re.sub(
                r"\]\(([^)\s]+)\)",
                lambda found: f"]({link(found[1], page, known)})",  # noqa: B023 - used at once
                text,
            ),
            encoding="utf-8",
        )
    if (PROJECT / "docs" / "images").is_dir():
        shutil.copytree(PROJECT / "docs" / "images", target / "images")
    index = (PROJECT / "docs" / "docsite" / "index.rst").read_text(encoding="utf-8")
    evidence = sorted(Path(name).stem for name in known.values() if name.startswith(EVIDENCE))
    index = index.replace("@EVIDENCE@", "\n   ".join(f"guides/{name}" for name in evidence))
    (target.parent / "index.rst").write_text(index, encoding="utf-8")


def run(*command: str) -> None:
    """Run a command; its failure is ours."""
    done = subprocess.run(command, cwd=PROJECT, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Build the site and say where it is."""
    shutil.rmtree(WORK, ignore_errors=True)
    source = WORK / "source"
    guides(source / "guides")
    shutil.copy2(PROJECT / "docs" / "docsite" / "conf.py", source)
    shutil.copy2(PROJECT / "CHANGELOG.rst", source / "changelog.rst")
    run(
        "antsibull-docs",
        "lint-collection-docs",
        "--plugin-docs",
        "--validate-collection-refs=self",
        ".config/collections/ansible_collections/dbre/semisync",
    )
    collections = source / "collections" / "dbre" / "semisync"
    collections.mkdir(parents=True, mode=0o755)
    run(
        "antsibull-docs",
        "collection",
        "--use-current",
        "--fail-on-error",
        "--squash-hierarchy",
        "--dest-dir",
        str(collections),
        "dbre.semisync",
    )
    shutil.rmtree(SITE, ignore_errors=True)
    run(
        "sphinx-build",
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "-b",
        "html",
        str(source),
        str(SITE),
    )
    print(f"docs: {SITE.relative_to(PROJECT)}/index.html")


if __name__ == "__main__":
    main()
