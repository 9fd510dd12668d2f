"""Write variables, types and defaults of each role's README from its argument specs; with --check,
name the READMEs that are stale.

What a variable means is written in the README; a new row begins with the spec's description.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests"))

from tools import check_roles  # noqa: E402

ROW = re.compile(r"^\| `(semisync_\w+)` \| [^|]+ \| [^|]+ \| (.*) \|$", re.MULTILINE)


def options_of(role: Path) -> dict[str, dict[str, object]]:
    """Variable -> its argument spec, of all entry points of a role; none that is internal."""
    specs = check_roles.load(role / "meta" / "argument_specs.yml")["argument_specs"]
    return {
        name: option
        for spec in specs.values()
        for name, option in (spec.get("options") or {}).items()
        if not name.startswith("_")
    }


def row(name: str, option: dict[str, object], meaning: str) -> str:
    """A variable's row in its role's README."""
    default = option.get("default")
    shown = "empty" if default == "" else f"`{check_roles.as_text(default)}`"
    return f"| `{name}` | {option['type']} | {shown} | {meaning} |"


def with_variables(text: str, options: dict[str, dict[str, object]]) -> str:
    """A role's README with the rows as its argument specs have them. A row of a variable that is
    gone goes; a new variable is added to the last table.
    """

    def renewed(match: re.Match[str]) -> str:
        name, meaning = match.groups()
        return row(name, options[name], meaning) if name in options else ""

    known = {match[1] for match in ROW.finditer(text)}
    text = re.sub(r"(?m)^\n(?=\| `semisync_)", "", ROW.sub(renewed, text))
    new = [
        row(name, option, described(option))
        for name, option in options.items()
        if name not in known
    ]
    rows = list(ROW.finditer(text))
    if not new or not rows:
        return text
    end = rows[-1].end()
    return text[:end] + "".join(f"\n{line}" for line in new) + text[end:]


def described(option: dict[str, object]) -> str:
    """The description of a spec on one line."""
    description = option["description"]
    lines = description if isinstance(description, list) else [description]
    return " ".join(map(str, lines))


def pages() -> Iterator[tuple[Path, str]]:
    """(a README, its text as it has to be)."""
    for readme in sorted(PROJECT.glob("roles/*/README.md")):
        text = readme.read_text(encoding="utf-8")
        yield readme, with_variables(text, options_of(readme.parent))


def main(arguments: list[str]) -> int:
    """Write what is stale, or say what is."""
    stale = [(page, text) for page, text in pages() if page.read_text(encoding="utf-8") != text]
    for page, text in stale:
        if "--check" in arguments:
            print(f"{page.relative_to(PROJECT)} is stale: run make generated")
        else:
            page.write_text(text, encoding="utf-8")
            print(f"{page.relative_to(PROJECT)} is written anew")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
