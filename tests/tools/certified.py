"""The checklist for Ansible's community package, line by line, and what Galaxy says of the archive.

Run by `make certified`. It prints a table: check, outcome, what was found. It fails if a line
fails; a line that only a person can judge is said to be one, and counts as neither.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import ansible_collections

from tools import checklist, galaxy
from tools.checklist import FAILED, OPEN, PASSED, Checkout, Row

PROJECT = Path(__file__).resolve().parents[2]
# What a step says if this machine lacks what it needs, and the importer if its ansible-lint was not
# done after the importer's own limit of time.
NOT_TRIED, TOO_SLOW = "not tried", "Timeout on call to ansible-lint"
WHY = "Why lines fail: docs/development.md, section The checklist"
# A collection must work if nothing else of it is there.
NEEDED = ("meta", "plugins", "roles", "playbooks", "MANIFEST.json", "FILES.json")


def git(*arguments: str) -> list[str]:
    """The names that git lists."""
    done = subprocess.run(
        ["git", *arguments, "-z"] if arguments[0] == "ls-files" else ["git", *arguments],
        cwd=PROJECT,
        check=True,
        text=True,
        capture_output=True,
    )
    return [name for name in done.stdout.replace("\0", "\n").splitlines() if name]


def read_checkout() -> Checkout:
    """Every tracked file, those that are no text without one."""
    texts, sizes = {}, {}
    for name in git("ls-files", "--cached", "--others", "--exclude-standard"):
        path = PROJECT / name
        if path.is_file():
            sizes[name] = path.stat().st_size
            texts[name] = path.read_text(encoding="utf-8", errors="replace")
    return Checkout(texts, sizes, frozenset(git("tag")))


def packaged() -> frozenset[str]:
    """The collections of the installed bundle."""
    return frozenset(
        f"{path.parent.name}.{path.name}"
        for root in ansible_collections.__path__
        for path in Path(root).glob("*/*")
        if path.is_dir() and not path.is_symlink()
    )


def attempt(check: str, step: Callable[[], str]) -> Row:
    """A row by a step that ends the program, with its words, if it fails."""
    try:
        found = step()
        return Row(check, found, OPEN if NOT_TRIED in found else PASSED)
    except SystemExit as error:
        words = str(error.code).replace("\n", " ")[:300]
        return Row(check, words, OPEN if TOO_SLOW in words else FAILED)


def sanity() -> str:
    """`ansible-test sanity`, every test, with the tools of the other targets."""
    galaxy.run("make", "sanity")
    return "make sanity"


def alone(installed: Path) -> str:
    """The playbooks, with nothing but the four folders of the collection."""
    for path in installed.iterdir():
        if path.name not in NEEDED:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    galaxy.playbooks(installed)
    return "every playbook is understood without any other folder"


def built() -> Iterator[Row]:
    """What can be said only of the archive."""
    with tempfile.TemporaryDirectory(prefix="semisync-certified-") as name:
        folder = Path(name)
        archive = galaxy.build(folder)
        size = archive.stat().st_size
        wrong = [] if size < checklist.ARCHIVE else [f"{size} bytes"]
        yield checklist.judged("the archive has less than 20 MB", wrong, f"{size // 1000} kB")
        yield attempt("Galaxy's importer and its lint", lambda: galaxy.importer(archive, folder))
        installed = galaxy.install(archive, folder)
        yield attempt("ansible-lint, profile production", lambda: galaxy.lint(installed))
        yield attempt("every plugin and role has its page", lambda: galaxy.documented(folder))
        yield attempt("modules compile on the oldest Python", lambda: galaxy.compiles(installed))
        yield attempt("needs only meta, plugins, roles, playbooks", lambda: alone(installed))


def main() -> int:
    """Print the table."""
    checkout = read_checkout()
    rows = [step(checkout) for step in checklist.FROM_FILES]
    rows.append(checklist.dependencies(checkout, packaged()))
    rows += built()
    rows.append(attempt("passes ansible-test sanity", sanity))
    rows += checklist.BY_A_PERSON
    print(checklist.table(rows))
    failed = any(row.outcome == FAILED for row in rows)
    if failed:
        print(WHY)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
