"""Run `ansible-test sanity` on what is built of the checkout: every test, no ignore file. What
galaxy.yml leaves out (tests, lab, proof) has ruff, mypy and yamllint instead, by `make lint`.

What runs on hosts is compiled and imported with the oldest Python that this ansible-core manages as
well, if one is on this machine: on the PATH, or pyenv's.

ansible-test wants a git repository at …/ansible_collections/dbre/semisync, keeps its environments
in the home folder and takes pip from a web site. Here it has a tree and a home folder in the cache,
and pip comes with Python.
"""

from __future__ import annotations

import configparser
import fnmatch
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

from common import cache, locked  # noqa: E402

# What ansible-test runs in place of the file it would download; it asks for pip of this version.
GET_PIP = "import ensurepip\nensurepip.bootstrap(upgrade=True, default_pip=True)\n"
GET_PIP_NAMES = ("get_pip_24_2.py", "get_pip_25_2.py")
# Collections that ours imports from, and where the newer bundle has moved one; the import test
# looks nowhere else.
NEEDED, MOVED = ("community/mysql",), ("ansible/mysql",)


def git(*arguments: str, cwd: Path) -> str:
    """The output of a git command."""
    return subprocess.run(
        ["git", *arguments], cwd=cwd, check=True, text=True, capture_output=True
    ).stdout


def is_built(name: str, left_out: list[str]) -> bool:
    """Whether ansible-galaxy takes a file: neither it nor one of its folders is left out."""
    path = Path(name)
    return not any(
        fnmatch.fnmatch(str(part), pattern)
        for part in (path, *path.parents[:-1])
        for pattern in left_out
    )


def wanted() -> list[Path]:
    """The files of the checkout that are built: those in git, and new ones that git would take."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=PROJECT)
    left_out = yaml.safe_load((PROJECT / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]
    return [
        Path(name)
        for name in sorted(set(listed.split("\0")))
        if name and (PROJECT / name).is_file() and is_built(name, left_out)
    ]


def copy(files: list[Path], target: Path) -> None:
    """Make the target hold exactly these files."""
    shutil.rmtree(target, ignore_errors=True)
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, target / name)
    git("init", "--quiet", cwd=target)
    git("add", "--all", cwd=target)


def neighbours(tree: Path) -> None:
    """Put the collections that ours needs beside it, from the bundle in the virtual environment."""
    import ansible_collections

    for name in NEEDED + MOVED:
        found = next(
            (
                Path(folder, name)
                for folder in ansible_collections.__path__
                if Path(folder, name).is_dir()
            ),
            None,
        )
        if found is None and name in NEEDED:
            sys.exit(f"sanity: error: the collection {name} is not in the virtual environment")
        link = tree / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        if found:
            link.symlink_to(found)


def make_home(home: Path) -> None:
    """A home folder with pip's stand-in and this user's pip settings, which ansible-test would not
    pass on.
    """
    downloads = home / ".ansible" / "test" / "cache"
    downloads.mkdir(parents=True, exist_ok=True)
    for name in GET_PIP_NAMES:
        if not (downloads / name).exists():
            (downloads / name).write_text(GET_PIP, encoding="utf-8")
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, text=True, capture_output=True
    ).stdout
    config = configparser.RawConfigParser()
    for line in listed.splitlines():
        key, _equals, value = line.partition("=")
        section, _dot, option = key.rpartition(".")
        section = "global" if section == ":env:" else section
        if section and option:
            if not config.has_section(section):
                config.add_section(section)
            config.set(section, option, value.strip().strip("'\""))
    target = home / ".config" / "pip" / "pip.conf"
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(
        target, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
    ) as stream:
        config.write(stream)


def oldest() -> tuple[str, str]:
    """(version, path or nothing) of the oldest Python that this ansible-core manages on hosts."""
    from ansible_test._util.target.common.constants import REMOTE_ONLY_PYTHON_VERSIONS

    version = REMOTE_ONLY_PYTHON_VERSIONS[0]
    places = [
        shutil.which(f"python{version}"),
        *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")),
    ]
    # A pyenv shim is there even if its version is not chosen.
    return version, next(
        (
            path
            for path in places
            if path
            and not subprocess.run([path, "-c", ""], check=False, capture_output=True).returncode
        ),
        "",
    )


def main() -> int:
    """Run the tests; further arguments go to ansible-test."""
    tree, home = cache("sanity", "ansible_collections"), cache("sanity", "home")
    target = tree / "dbre" / "semisync"
    with locked("sanity"):
        copy(wanted(), target)
        neighbours(tree)
        make_home(home)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        old, path = oldest()
        # A colour a terminal would show is noise in a log.
        command = [
            "ansible-test",
            "sanity",
            "--color",
            "yes" if sys.stdout.isatty() else "no",
            "--python",
        ]
        environment = {**os.environ, "HOME": str(home), "PYTHONWARNINGS": "ignore"}
        for name in ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_CONFIG", "PYTHONPATH"):
            environment.pop(name, None)

        def run(*arguments: str) -> int:
            return subprocess.run(
                [*command, *arguments],
                cwd=target,
                env=environment,
                check=False,
                stdin=subprocess.DEVNULL,
            ).returncode

        status = run(version, *sys.argv[1:])
        if status or sys.argv[1:]:
            return status
        if not path:
            print(
                f"sanity: Python {old}, the oldest on managed hosts, is not on this machine: not"
                " tried",
                flush=True,
            )
            return 0
        environment["PATH"] += os.pathsep + str(Path(path).parent)
        return run(old, "--test", "compile", "--test", "import")


if __name__ == "__main__":
    sys.exit(main())
