"""What a Galaxy server checks of the collection, and what an installation gives: no error, no
warning.

Builds it, lets galaxy-importer look at it (the importer knows no other collection, as Galaxy's own
does not), installs it into an empty place, asks ansible-doc for everything there and has
ansible-playbook read every playbook, lints the changelog, and lets ansible-builder read what an
execution environment needs. Compiles what runs on hosts for the oldest Python that ansible-core
2.17 and 2.19 manage.
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
RUN_ANSIBLE_LINT = False
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


def importer(archive: Path, folder: Path) -> None:
    """galaxy-importer's log must have neither error nor warning."""
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
    bad = [line for line in said.splitlines() if "ERROR" in line or "WARNING" in line]
    if bad or "successfully" not in said:
        sys.exit(
            "galaxy: error: galaxy-importer says:\n" + "\n".join(bad or said.splitlines()[-10:])
        )
    print("galaxy-importer: no error, no warning", flush=True)


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


def documented(folder: Path) -> None:
    """Every plugin and role of the installation has its page."""
    counts = []
    for kind in ("module", "callback", "lookup", "filter", "role"):
        there = sorted(
            json.loads(
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
            pages = json.loads(
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
    print("ansible-doc: " + ", ".join(counts), flush=True)


def playbooks(installed: Path) -> None:
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
    print(f"ansible-playbook: understands {len(commands)} playbooks", flush=True)


def environment(installed: Path) -> None:
    """ansible-builder finds the requirements in the installed collection."""
    said = run("ansible-builder", "introspect", str(installed.parents[2]), cwd=installed)
    for wanted in ("cryptography", "openssh-clients"):
        if wanted not in said:
            sys.exit(f"galaxy: error: ansible-builder does not find {wanted}:\n{said}")
    print("ansible-builder: finds the requirements of an execution environment", flush=True)


def compiles(installed: Path) -> None:
    """What runs on hosts is valid in the oldest Python, if one is on this machine."""
    for version in OLDEST:
        python = next(
            (
                path
                for path in (
                    shutil.which(f"python{version}"),
                    *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
                )
                if path
                and not subprocess.run(
                    [path, "-c", ""], check=False, capture_output=True
                ).returncode
            ),
            None,
        )
        if python is None:
            print(f"Python {version}: not on this machine, not tried", flush=True)
            continue
        run(
            python,
            "-m",
            "compileall",
            "-q",
            "-f",
            *(str(installed / "plugins" / part) for part in ("modules", "module_utils")),
        )
        print(f"Python {version}: modules and module_utils compile", flush=True)


def main() -> None:
    """Every step; the first failure ends it."""
    with tempfile.TemporaryDirectory(prefix="semisync-galaxy-") as name:
        folder = Path(name)
        run("ansible-galaxy", "collection", "build", "--output-path", name)
        archive = next(folder.glob("*.tar.gz"))
        print(f"{archive.name}: {archive.stat().st_size // 1024} kB", flush=True)
        importer(archive, folder)
        run(
            "ansible-galaxy",
            "collection",
            "install",
            str(archive),
            "--no-deps",
            "--collections-path",
            name,
            ANSIBLE_COLLECTIONS_PATH=name,
        )
        installed = folder / "ansible_collections" / "dbre" / "semisync"
        documented(folder)
        playbooks(installed)
        environment(installed)
        compiles(installed)
    run("antsibull-changelog", "lint")
    print("antsibull-changelog: fragments are valid", flush=True)


if __name__ == "__main__":
    main()
