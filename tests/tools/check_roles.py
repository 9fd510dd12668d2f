"""Check that each role's defaults, argument specs and README speak of the same variables with the
same defaults.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]


def load(path: Path) -> dict:
    """A YAML file's mapping; empty if there is no such file."""
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}


def readme_rows(text: str) -> dict[str, str]:
    """Variable -> default column of the README's table (variable, type, default, meaning)."""
    rows = re.findall(r"^\| `(semisync_\w+)` \| [^|]+ \| ([^|]+) \|", text, re.MULTILINE)
    return {name: default.strip().strip("`") for name, default in rows}


def as_text(value: object) -> str:
    """A default as the README writes it."""
    return value if isinstance(value, str) else json.dumps(value)


def problems(role: Path) -> list[str]:
    """What differs in one role."""
    readme = role / "README.md"
    defaults = load(role / "defaults" / "main.yml")
    entry_points = load(role / "meta" / "argument_specs.yml").get("argument_specs", {})
    if not readme.exists() or not {"main", "variables"} & set(entry_points):
        return ["README.md or the entry point main of meta/argument_specs.yml is missing"]
    # What begins with an underscore passes between the roles and is nobody's to set.
    options = {
        name: option
        for spec in entry_points.values()
        for name, option in (spec.get("options") or {}).items()
        if not name.startswith("_")
    }
    rows = readme_rows(readme.read_text(encoding="utf-8"))
    found = []
    for name in sorted(defaults.keys() | options.keys() | rows.keys()):
        places = {
            "defaults/main.yml": name in defaults,
            "meta/argument_specs.yml": name in options,
            "README.md": name in rows,
        }
        missing = [place for place, there in places.items() if not there]
        if missing:
            found.append(f"{name} is not in {' and '.join(missing)}")
        elif options[name].get("default") != defaults[name]:
            found.append(
                f"{name} is {defaults[name]!r} in defaults/main.yml,"
                f" {options[name].get('default')!r} in meta/argument_specs.yml"
            )
        elif rows[name].strip("\"'") not in (
            as_text(defaults[name]),
            "empty" if defaults[name] == "" else None,
        ):
            found.append(
                f"{name} is {defaults[name]!r} in defaults/main.yml, {rows[name]!r} in README.md"
            )
    return found


def main() -> int:
    """Print a line per problem."""
    found = [
        f"roles/{role.name}: {problem}"
        for role in sorted(PROJECT.glob("roles/*"))
        if role.is_dir()
        for problem in problems(role)
    ]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
