# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that pages show, and what of one is not there: a playbook, an option, a variable or
its value, a tag, a target of make, a file.
"""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from pathlib import Path

import yaml
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import settings

PROJECT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# What stands for something of the reader's.
PLACEHOLDER = re.compile(r"…|\b[A-Z]{3,}\b(?!=)|\bpath\b|~/")
ENDS = {"&&", "||", ";", "|", ">", "<", "}"}
# Options of ansible-playbook whose value is the next word.
WITH_VALUE = {
    *("-i", "--inventory", "-e", "--extra-vars", "-l", "--limit", "-t", "--tags", "--skip-tags"),
    *("-f", "--forks", "-u", "--user", "--vault-password-file", "--start-at-task"),
}
# Programs of others, whose options are not ours to judge.
OTHERS = {
    *("ansible-builder", "ansible-inventory", "ansible-test", "antsibull-changelog", "apt-get"),
    *("awx", "curl", "exit", "find", "git", "mysql", "mysqladmin", "mysqlbinlog", "mysqld"),
    *("mysqlslap", "pip", "pre-commit", "promtool", "python3", "sysbench", "systemctl"),
}


def shown(page: str) -> list[str]:
    """Every command of a page: in its blocks, and in its text."""
    found = []
    for language, text in BLOCK.findall(page):
        for line in re.sub(r"\\\n\s*", " ", text).splitlines():
            prompt = re.match(r"\s*(?:\S+@\S+:\S+#|\$) (.+)", line)
            if prompt:
                found.append(prompt[1])
            elif language == "text" and "ansible-playbook" in line:
                found.append(line[line.index("ansible-playbook") :])
    codes = [" ".join(code.split()) for code in CODE.findall(BLOCK.sub("", page))]
    return found + [one for one in codes if re.match(rf"(-e|{'|'.join(JUDGES)}) \S", one)]


def wrong_with(command: str) -> list[str]:
    """What of a command is not there, in words."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError as error:
        return [str(error)]
    ends = [index for index, word in enumerate(words) if word in ENDS]
    program, rest = words[0], words[1 : ends[0] if ends else None]
    if program == "-e":
        return wrong_variables(rest[0], None)
    if program in JUDGES:
        return JUDGES[program](rest)
    return [] if program in OTHERS else [f"no check knows {program}"]


# Playbooks


@functools.cache
def options_of(program: str) -> frozenset[str]:
    """Every option that a program's help names."""
    done = subprocess.run([program, "--help"], check=True, capture_output=True, text=True)
    return frozenset(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", done.stdout))


def playbook_file(name: str) -> Path:
    """The file of a playbook by its full name, or by its path in a checkout."""
    own = re.fullmatch(r"dbre\.semisync\.(\w+)", name)
    return PROJECT / (f"playbooks/{own[1]}.yml" if own else name)


@functools.cache
def reached(file: Path) -> frozenset[Path]:
    """Every file of tasks and every spec that a playbook can reach, and itself."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one in found or not one.is_file():
            continue
        found.add(one)
        text = one.read_text(encoding="utf-8")
        waiting += [one.parent / name for name in re.findall(r"[\w/.]+\.yml", text)]
        for role in re.findall(r"name: dbre\.semisync\.(\w+)", text):
            waiting += (PROJECT / "roles" / role).rglob("*.yml")
    return frozenset(found)


def variables_of(file: Path) -> set[str]:
    """The public variables that a playbook reads, and those of all."""
    files = reached(file) | {PROJECT / "roles/common/meta/argument_specs.yml"}
    words = {word for one in files for word in re.findall(r"\w+", one.read_text(encoding="utf-8"))}
    return words & {*settings.public_names(), *settings.OF_PLAYBOOKS}


def tags_of(file: Path) -> set[str]:
    """The tags that a playbook has."""
    listed = re.compile(r"\btags: \[([^\]]*)\]")
    texts = [one.read_text(encoding="utf-8") for one in reached(file)]
    return {
        tag.strip() for text in texts for part in listed.findall(text) for tag in part.split(",")
    }


def wrong_variables(given: str, file: Path | None) -> list[str]:
    """What is wrong with a value of -e; `file` is the playbook that it is for, if it is known."""
    wrong = []
    for pair in [] if given.startswith("@") else shlex.split(given):
        name, equals, value = pair.partition("=")
        if not equals:
            wrong.append(f"-e {pair} gives no value")
        elif name not in {*settings.public_names(), *settings.OF_PLAYBOOKS}:
            wrong.append(f"there is no variable {name}")
        elif file and name not in variables_of(file):
            wrong.append(f"{file.name} does not read {name}")
        # A file of tasks is the reader's.
        elif name in settings.TABLE and not settings.TABLE[name].tasks:
            placeholder = PLACEHOLDER.search(value)
            wrong += [] if placeholder else filter(None, [settings.problem(name, value)])
    return wrong


def no_playbooks(names: list[str]) -> list[str]:
    missing = [name for name in names if not playbook_file(name).is_file()]
    return [f"there is no playbook {name}" for name in missing]


def wrong_with_navigator(words: list[str]) -> list[str]:
    return no_playbooks([word for word in words if word.startswith("dbre.semisync.")])


def wrong_with_playbook(words: list[str]) -> list[str]:
    wrong, values, names = [], [], []
    rest = iter(words)
    for word in rest:
        option, _equals, value = word.partition("=")
        if not word.startswith("-"):
            names.append(word)
        elif option not in options_of("ansible-playbook"):
            wrong.append(f"ansible-playbook has no option {option}")
        elif option in WITH_VALUE:
            values.append((option, value or next(rest, "")))
    files = [playbook_file(name) for name in names]
    wrong += no_playbooks(names)
    if wrong or not files:
        return wrong or ["no playbook is named"]
    for option, value in values:
        if option in ("-e", "--extra-vars"):
            wrong += wrong_variables(value, files[0])
        if option in ("-t", "--tags", "--skip-tags"):
            lacking = set(value.split(",")) - tags_of(files[0])
            wrong += [f"{files[0].name} has no tag {tag}" for tag in sorted(lacking)]
    return wrong


# make


@functools.cache
def makefile() -> tuple[dict[str, str], dict[str, str]]:
    """(target -> its prerequisites and recipe, variable -> its definition)."""
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n", " ", text)
    rules = re.findall(r"^([a-z][a-z-]*):(.*(?:\n\t.*)*)", joined, re.MULTILINE)
    defined = re.findall(r"^(\w+) *(?:\?=|:=|=)(.*)$", joined, re.MULTILINE)
    exported = " ".join(re.findall(r"^export (.+)$", joined, re.MULTILINE))
    return dict(rules), {**dict(defined), "exported": " ".join(f"$({n})" for n in exported.split())}


def used_by(target: str) -> set[str]:
    """Every variable of make that a target uses, through others and other targets."""
    rules, defined = makefile()
    found: set[str] = set()
    waiting, seen = [rules[target], defined["exported"]], {target}
    while waiting:
        text = waiting.pop()
        names = set(re.findall(r"\$\((?:filter [^,]*,)?(?:if \$\()?(\w+)", text))
        names |= set(re.findall(r"\$\((\w+)\)", text)) | set(re.findall(r"\borigin (\w+)", text))
        waiting += [defined[name] for name in names - found if name in defined]
        found |= names
        recipe = text.partition("##")[0] + text.partition("\n")[2]
        for other in set(re.findall(r"[a-z][a-z-]*", recipe)) & rules.keys() - seen:
            seen.add(other)
            waiting.append(rules[other])
    return found


def offered(target: str) -> set[str]:
    """The variables that the help of a target names: NAME=1, or NAME in its last brackets."""
    words = makefile()[0][target].partition("##")[2].partition("\n")[0]
    last = re.search(r"\(([^()]*)\)[^()]*$", words)
    return set(re.findall(r"\b([A-Z]{3,})=", words)) | set(
        re.findall(r"\b[A-Z]{3,}\b", re.sub(r"=\S+", "", last[1] if last else ""))
    )


def wrong_with_make(words: list[str]) -> list[str]:
    targets = [word for word in words if "=" not in word]
    given = [word.partition("=")[0] for word in words if "=" in word]
    missing = [target for target in targets if target not in makefile()[0]]
    if missing:
        return [f"make has no target {target}" for target in missing]
    used = set().union(*(used_by(target) for target in targets))
    return [f"make {' '.join(targets)} does not use {name}" for name in given if name not in used]


# Other programs


def wrong_with_paths(words: list[str]) -> list[str]:
    """Of pytest and python: the files that are named are there."""
    paths = [word for word in words if "/" in word and not word.startswith("results/")]
    return [
        f"there is no {path}"
        for path in paths
        if not PLACEHOLDER.search(path) and not (PROJECT / path.partition("::")[0]).exists()
    ]


def wrong_with_galaxy(words: list[str]) -> list[str]:
    version = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    known = {"collection", "install", "build", "dbre.semisync", "--upgrade"}
    known.add(f"dbre-semisync-{version}.tar.gz")
    return [f"ansible-galaxy: {word}" for word in words if word not in known]


def wrong_with_doc(words: list[str]) -> list[str]:
    names = [word.removeprefix("dbre.semisync.") for word in words if "." in word]
    places = ("plugins/modules/{}.py", "plugins/lookup/{}.py", "roles/{}/tasks/main.yml")
    return [
        f"nothing is called {name}"
        for name in names
        if not any((PROJECT / place.format(name)).is_file() for place in places)
    ]


def wrong_with_molecule(words: list[str]) -> list[str]:
    # docs/molecule.md has a scenario of the reader's, of this name.
    known = {path.parent.name for path in PROJECT.glob("molecule/*/molecule.yml")} | {"semisync"}
    after = [words[i + 1] for i, word in enumerate(words) if word in ("-s", "--scenario-name")]
    return [f"there is no scenario {name}" for name in after if name not in known]


def wrong_with_nox(words: list[str]) -> list[str]:
    known = (PROJECT / "noxfile.py").read_text(encoding="utf-8")
    known += (PROJECT / "antsibull-nox.toml").read_text(encoding="utf-8")
    names = [word for word in words if not word.startswith("-")]
    return [
        f"nox has no session {n}"
        for n in names
        if n.replace("-", "_") not in known.replace("-", "_")
    ]


JUDGES = {
    "ansible-doc": wrong_with_doc,
    "ansible-galaxy": wrong_with_galaxy,
    "ansible-navigator": wrong_with_navigator,
    "ansible-playbook": wrong_with_playbook,
    "make": wrong_with_make,
    "molecule": wrong_with_molecule,
    "nox": wrong_with_nox,
    "pytest": wrong_with_paths,
    "python": wrong_with_paths,
}
