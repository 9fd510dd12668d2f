# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Option files: what the server reads at start, where our lines go, and what they set."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ansible_collections.dbre.semisync.plugins.module_utils._server import removed_options

DROP_IN = "zz-dbre-semisync.cnf"
MARKER = "dbre.semisync"

# Where remove.yml keeps the lines without which replication would end at the next restart.
LEFT_BEHIND = "zz-replication.cnf"

HEADER = (
    "# Written by the Ansible collection dbre.semisync. Edits are overwritten; put your own options"
    " into another\n# file.\n"
)


# Switches that may be given with a prefix; other options, such as skip_networking, have such a name
# of their own.
SWITCHES = ("read_only", "super_read_only", "event_scheduler", "mysql_native_password")
# Of a switch (MySQL manual, "Program Option Modifiers"): the value that each means.
PREFIXES = {"skip_": "OFF", "disable_": "OFF", "enable_": "ON"}
# Those that keep the prefix loose_, with which a version that lacks one ignores it. Semi-sync's
# count all the same.
LOOSE = frozenset(name for name in removed_options.NAMES if not name.startswith("rpl_semi_sync"))


def canonical_name(option: str) -> str:
    """An option's variable name: '--loose-rpl-semi-sync-source-enabled' gives
    'rpl_semi_sync_source_enabled'.
    """
    name = option.lstrip("-").replace("-", "_").lower()
    for prefix in ("loose_", "maximum_"):
        if name.startswith(prefix):
            name = name[len(prefix) :]
    return name


def canonical_pair(option: str, value: str) -> tuple[str, str]:
    """An option's variable name and value: '--skip-read-only' gives ('read_only', 'OFF')."""
    name = canonical_name(option)
    if name in LOOSE and option.lstrip("-").lower().startswith("loose"):
        return f"loose_{name}", value
    for prefix, meant in PREFIXES.items():
        if name.startswith(prefix) and name[len(prefix) :] in SWITCHES:
            # With 0 it means the opposite.
            opposite = "OFF" if meant == "ON" else "ON"
            return name[len(prefix) :], opposite if value == "0" else meant
    return name, value


def is_on(value: int | str) -> bool:
    """Whether a server starts with a switch on by an option's value: without one it does, and what
    it does not recognize, such as yes, it takes for OFF.
    """
    return str(value).strip().strip("'\"").lower() in ("", "1", "on", "true")


def effective(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """The effective value of options that are given several times: canonical name -> value."""
    options: dict[str, str] = {}
    for name, value in pairs:
        # The only option whose every occurrence counts.
        options[name] = (
            options[name] + ";" + value if name == "plugin_load_add" and name in options else value
        )
    return options


def print_defaults_pairs(text: str) -> list[tuple[str, str]]:
    """Every option of `mysqld --print-defaults` in order, including those that a later one
    overrides.
    """
    pairs = []
    for part in re.split(r"(?:^|\s)--(?=[A-Za-z])", text):
        name, _equals, value = part.strip().partition("=")
        if re.match(r"^[A-Za-z][\w.-]*$", name):
            pairs.append(canonical_pair(name, value.strip()))
    return pairs


def command_line_pairs(words: list[str]) -> list[tuple[str, str]]:
    """Every option of a server's command line, which overrides the option files."""
    pairs = []
    for position, word in enumerate(words):
        match = re.match(r"--([A-Za-z][\w.-]*)(?:=(.*))?$", word, re.DOTALL)
        if match:
            name, value = match.groups()
            behind = words[position + 1 : position + 2]
            if value is None:
                # An option's value may be in the next word.
                value = behind[0] if behind and not behind[0].startswith("-") else ""
            pairs.append(canonical_pair(name, value))
    return pairs


def without_ours(pairs: list[tuple[str, str]], ours: str | None) -> dict[str, str]:
    """The options a server would start with if our lines were not there: canonical name -> value.

    Args:
        pairs: result of print_defaults_pairs().
        ours: our own text, or None.
    """
    rest, mine = list(pairs), parse_ours(ours)
    for pair in reversed(pairs):
        if mine.get(pair[0]) == pair[1]:
            position = len(rest) - 1 - rest[::-1].index(pair)
            del rest[position]
            del mine[pair[0]]
    return effective(rest)


def parse_default_files(text: str) -> list[str]:
    """The option files a program reads, in order, from its --help ('Default options are read from
    …').
    """
    match = re.search(
        r"Default options are read from the following files in the given order:\s*\n([^\n]*)", text
    )
    return match.group(1).split() if match else []


def parse_includes(text: str) -> list[tuple[str, str]]:
    """The directories and files that an option file includes, in order: [('dir'|'file', path)]."""
    includes = re.findall(r"^\s*!include(dir)?[ \t]+(\S+)", text, re.MULTILINE)
    return [
        ("dir" if directory else "file", path.rstrip("/") or "/") for directory, path in includes
    ]


def own_name(name: str, suffix: str) -> str:
    """Our file's name for one of several servers on a host, which read option groups with a suffix
    such as @1.
    """
    stem, dot, end = name.partition(".cnf")
    return stem + re.sub(r"[^\w@.-]", "_", suffix) + dot + end


def choose_place(
    files: list[str],
    contents: dict[str, str],
    isdir: Callable[[str], bool],
    suffix: str = "",
) -> dict[str, str]:
    """The place at which our lines are read last.

    Args:
        files: option files in the order the server reads them, without those in home directories.
        contents: path -> text for those that exist.
        isdir: predicate that says whether a directory exists.
        suffix: of the server's option groups.

    Returns:
        {'kind': 'drop-in', 'path': …} if the last file with any contents ends with an include
        directory, {'kind': 'block', 'path': …} if it includes none, or sets options of the server
        after it.
    """
    existing = [path for path in files if path in contents]
    if not existing:
        return {"kind": "block", "path": files[0] if files else "/etc/my.cnf"}
    for path in reversed(existing):
        directory = _last_directory(
            path,
            contents,
            isdir,
            (),
        )
        if directory and not _sets_options_after_includes(contents[path]):
            return {"kind": "drop-in", "path": directory + "/" + own_name(DROP_IN, suffix)}
        if _has_group(contents[path]):
            return {"kind": "block", "path": path}
    return {"kind": "block", "path": existing[-1]}


def _has_group(text: str) -> bool:
    return re.search(r"^\s*\[\w", text, re.MULTILINE) is not None


def _sets_options_after_includes(text: str) -> bool:
    rest = re.split(r"^\s*!include.*$", text, flags=re.MULTILINE)[-1]
    return (
        re.search(
            r"^\s*\[(mysqld|server|mariadbd?|client-server)(-[\d.]+)?([@.][^\]]*)?\]",
            rest,
            re.MULTILINE,
        )
        is not None
    )


def _last_directory(
    path: str,
    contents: dict[str, str],
    isdir: Callable[[str], bool],
    seen: tuple[str, ...],
) -> str | None:
    """The last include directory that this file reaches, through the files it includes."""
    if path in seen:
        return None
    for kind, target in reversed(parse_includes(contents.get(path, ""))):
        if kind == "dir" and isdir(target):
            return target
        if kind == "file":
            deeper = _last_directory(
                target,
                contents,
                isdir,
                (*seen, path),
            )
            if deeper:
                return deeper
    return None


def our_block(text: str, marker: str = MARKER) -> str | None:
    """Our marked block in a file without its markers, or None."""
    match = re.search(
        rf"^# BEGIN {re.escape(marker)}\n(.*?)^# END {re.escape(marker)}$",
        text,
        re.MULTILINE | re.DOTALL,
    )
    return match.group(1) if match else None


def left_behind_path(path: str, kind: str, suffix: str = "") -> str:
    """The file for the lines that stay after a removal: beside our drop-in; at the same path for
    any other file.
    """
    folder, _dummy, name = path.rpartition("/")
    return (
        folder + "/" + own_name(LEFT_BEHIND, suffix)
        if kind == "drop-in" and name == own_name(DROP_IN, suffix)
        else path
    )


def render(
    sections: Iterable[tuple[str, Sequence[tuple[str, object]]]], group: str = "mysqld"
) -> str:
    """The text of our file or block.

    Args:
        sections: list of (comment, [(option, value)]).
        group: that only this server reads, if there are several on its host.
    """
    lines = [f"[{group}]"]
    for comment, options in sections:
        if options:
            lines.append("# " + comment)
            lines.extend(f"{name} = {value}" for name, value in options)
    return "\n".join(lines) + "\n"


def parse_ours(text: str | None) -> dict[str, str]:
    """The options in our own text: canonical name -> value."""
    options: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith("#"):
            options[canonical_name(name.strip())] = value.strip()
    return options
