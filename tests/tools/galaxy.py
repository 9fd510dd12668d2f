"""What a Galaxy server checks of the collection, and what an installation gives: no error, no
warning.

Builds it, lets galaxy-importer look at it and lint it (the importer knows no other collection, as
Galaxy's own does not), installs it into an empty place, lints that with every rule, asks
ansible-doc for everything there and has ansible-playbook read every playbook, lints the changelog,
and lets ansible-builder read what an execution environment needs. Compiles what runs on hosts for
the oldest Python that ansible-core 2.17 and 2.19 manage.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]
NAME = "dbre.semisync"
IMPORTER = """[galaxy-importer]
RUN_ANSIBLE_DOC = True
RUN_ANSIBLE_LINT = True
RUN_ANSIBLE_TEST = False
CHECK_REQUIRED_TAGS = True
CHECK_RUNTIME_FILE = True
CHECK_CHANGELOG = True
"""
# ansible-core 2.17 manages hosts from Python 3.7, 2.19 from 3.8.
OLDEST = ("3.7", "3.8")


UNNAMED = "No task names this module"


def run(*command: str, cwd: Path = PROJECT, **environment: str) -> str:
    """The output of a command, errors with it; its failure is ours."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        sys.exit(
            f"galaxy: error: {' '.join(command[:4])} ended with"
            f" {done.returncode}:\n{done.stdout[-4000:]}"
        )
    return done.stdout


def build(folder: Path) -> Path:
    """The archive, as it would be published."""
    run("ansible-galaxy", "collection", "build", "--output-path", str(folder))
    return next(folder.glob("*.tar.gz"))


def install(archive: Path, folder: Path) -> Path:
    """Where the archive is installed, in a place that has nothing else."""
    run(
        "ansible-galaxy",
        "collection",
        "install",
        str(archive),
        "--no-deps",
        "--collections-path",
        str(folder),
        ANSIBLE_COLLECTIONS_PATH=str(folder),
    )
    return folder / "ansible_collections" / "dbre" / "semisync"


def importer(archive: Path, folder: Path) -> str:
    """galaxy-importer's log must have neither error nor warning. What ansible-lint finds is a
    warning there; the importer leaves out the rules yaml, var-naming and four others.
    """
    config = folder / "importer.cfg"
    config.write_text(IMPORTER, encoding="utf-8")
    said = run(
        "python",
        "-m",
        "galaxy_importer.main",
        str(archive),
        cwd=folder,
        GALAXY_IMPORTER_CONFIG=str(config),
    )
    if "ansible-lint run complete" not in said:
        sys.exit(f"galaxy: error: galaxy-importer has not linted:\n{said[-2000:]}")
    bad = [line for line in said.splitlines() if "ERROR" in line or "WARNING" in line]
    if bad or "successfully" not in said:
        sys.exit(
            "galaxy: error: galaxy-importer says:\n" + "\n".join(bad or said.splitlines()[-10:])
        )
    return "no error, no warning"


def lint(installed: Path) -> str:
    """ansible-lint on what is installed, with every rule that the archive's own settings leave."""
    run(
        "ansible-lint",
        "--profile",
        "production",
        "--offline",
        "--strict",
        "--nocolor",
        cwd=installed,
        ANSIBLE_COLLECTIONS_PATH=str(installed.parents[2]),
    )
    return "no violation, with the archive's .ansible-lint"


def misused(name: str, page: dict) -> list[str]:
    """What a module's examples get wrong: options it does not have, and required ones left out."""
    plays = yaml.safe_load(page["examples"])
    tasks = [
        task for play in plays for task in (play.get("tasks", []) if "hosts" in play else [play])
    ]
    tasks = [
        inner
        for task in tasks
        for inner in (task.get("block", []) + task.get("always", []) if "block" in task else [task])
    ]
    options, found = page["doc"].get("options", {}), []
    used = [task[name] or {} for task in tasks if name in task]
    for arguments in used:
        required = {key for key, option in options.items() if option.get("required")}
        found += [
            f"{name} has no option {key}" for key in sorted(arguments.keys() - options.keys())
        ]
        found += [f"{name} needs {key}" for key in sorted(required - arguments.keys())]
    # An action runs it in place of the module that tasks name.
    hidden = any(UNNAMED in words for words in page["doc"]["description"])
    return found if used or hidden else [f"{name} is in none of its own examples"]


def first_object(said: str) -> dict:
    """The JSON in what ansible-doc says; ansible-core 2.20 warns of a collection of its own before
    it.
    """
    return json.loads(said[said.index("{") :])


def documented(folder: Path) -> str:
    """Every plugin and role of the installation has its page."""
    counts = []
    for kind in ("module", "callback", "lookup", "filter", "role"):
        there = sorted(
            first_object(
                run(
                    "ansible-doc",
                    "--type",
                    kind,
                    "--list",
                    "--json",
                    NAME,
                    cwd=folder,
                    ANSIBLE_COLLECTIONS_PATH=str(folder),
                )
            )
        )
        if there:
            pages = first_object(
                run(
                    "ansible-doc",
                    "--type",
                    kind,
                    "--json",
                    *there,
                    cwd=folder,
                    ANSIBLE_COLLECTIONS_PATH=str(folder),
                )
            )
            missing = set(there) - set(pages)
            bare = {
                name
                for name, page in pages.items()
                if kind == "module" and not page.get("examples")
            }
            if missing or bare:
                sys.exit(
                    f"galaxy: error: without documentation: {sorted(missing)}; without examples:"
                    f" {sorted(bare)}"
                )
            wrong = [
                words
                for name, page in pages.items()
                if kind == "module"
                for words in misused(name, page)
            ]
            if wrong:
                sys.exit("galaxy: error: examples: " + "; ".join(wrong))
            counts.append(f"{len(there)} {kind}{'s' if len(there) > 1 else ''}")
    return ", ".join(counts)


def playbooks(installed: Path) -> str:
    """Ansible understands every playbook by its full name, from a folder that has nothing else."""
    commands = sorted(path.stem for path in (installed / "playbooks").glob("*.yml"))
    run(
        "ansible-playbook",
        "--syntax-check",
        "--inventory",
        "localhost,",
        *(f"{NAME}.{command}" for command in commands),
        cwd=installed.parents[2],
        ANSIBLE_COLLECTIONS_PATH=str(installed.parents[2]),
    )
    return f"understands {len(commands)} playbooks"


def environment(installed: Path) -> str:
    """ansible-builder finds the requirements in the installed collection."""
    said = run("ansible-builder", "introspect", str(installed.parents[2]), cwd=installed)
    for wanted in ("cryptography", "openssh-clients"):
        if wanted not in said:
            sys.exit(f"galaxy: error: ansible-builder does not find {wanted}:\n{said}")
    return "finds the requirements of an execution environment"


def interpreter(version: str) -> str | None:
    """The path of a Python of this version that works, if one is on this machine."""
    places = (
        shutil.which(f"python{version}"),
        *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    )
    for path in filter(None, places):
        # A pyenv shim is there even if its version is not chosen.
        if not subprocess.run([path, "-c", ""], check=False, capture_output=True).returncode:
            return path
    return None


def compiles(installed: Path) -> str:
    """What runs on hosts is valid in the oldest Python, if one is on this machine."""
    found = []
    for version in OLDEST:
        python = interpreter(version)
        if python is None:
            found.append(f"Python {version} is not on this machine, not tried")
            continue
        folders = (str(installed / "plugins" / part) for part in ("modules", "module_utils"))
        run(python, "-m", "compileall", "-q", "-f", *folders)
        found.append(f"Python {version} compiles modules and module_utils")
    return "; ".join(found)


def main() -> None:
    """Every step; the first failure ends it."""
    with tempfile.TemporaryDirectory(prefix="semisync-galaxy-") as name:
        folder = Path(name)
        archive = build(folder)
        print(f"{archive.name}: {archive.stat().st_size // 1024} kB", flush=True)
        print(f"galaxy-importer: {importer(archive, folder)}", flush=True)
        installed = install(archive, folder)
        print(f"ansible-lint: {lint(installed)}", flush=True)
        print(f"ansible-doc: {documented(folder)}", flush=True)
        print(f"ansible-playbook: {playbooks(installed)}", flush=True)
        print(f"ansible-builder: {environment(installed)}", flush=True)
        print(compiles(installed), flush=True)
    run("antsibull-changelog", "lint")
    print("antsibull-changelog: fragments are valid", flush=True)


if __name__ == "__main__":
    main()
