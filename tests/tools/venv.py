"""Make the virtual environment of the development tools, unless there is one of these requirements;
print its path.

Usage: venv.py [REQUIREMENTS]; tools that only one target needs have a file and an environment of
their own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

from common import Clock, LabError, as_root, cache, locked, logged, say, tail  # noqa: E402

REQUIREMENTS = (PROJECT / (sys.argv[1:] or ["requirements-dev.txt"])[0]).resolve()
# Written last: a folder without it is the rest of an interrupted installation.
DONE = "complete"


def name() -> str:
    """The folder's name: a hash of everything that decides what is in it."""
    recipe = "\n".join(
        (
            REQUIREMENTS.read_text(encoding="utf-8"),
            platform.python_version(),
            os.path.realpath(sys.executable),
        )
    )
    return f"venv-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def works(folder: Path) -> bool:
    """Whether the environment is complete and its interpreter still there."""
    if not (folder / DONE).exists():
        return False
    return (
        subprocess.run(
            [folder / "bin" / "python", "-c", ""], check=False, capture_output=True
        ).returncode
        == 0
    )


def need_ensurepip() -> None:
    """Debian's Python comes without what a virtual environment needs; install it, or say what to
    install.
    """
    if importlib.util.find_spec("ensurepip"):
        return
    package = f"python3.{sys.version_info.minor}-venv"
    if not shutil.which("apt-get"):
        raise LabError(
            f"{sys.executable} cannot make virtual environments: install its venv module ({package}"
            " on Debian)"
        )
    say(f"{sys.executable} cannot make virtual environments: installing {package}")
    log = cache("logs") / "apt.log"
    install = as_root("apt-get", "install", "-y", "--no-install-recommends", package)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    if not logged(install, log, quiet):
        logged(as_root("apt-get", "update"), log, quiet)
        if not logged(install, log, quiet):
            raise LabError(f"could not install {package}; apt-get's own words are in {log}")


def installation(folder: Path) -> list[str]:
    """The command that installs what has a known hash, and runs no program of a package by it."""
    return [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "--require-hashes",
        "--only-binary=:all:",
        "-r",
        str(REQUIREMENTS),
    ]


def make(folder: Path) -> None:
    """Install the requirements into a fresh environment."""
    need_ensurepip()
    shutil.rmtree(folder, ignore_errors=True)
    clock, log = Clock(), cache("logs") / f"{folder.name}.log"
    say(f"installing the development tools into {folder}, about two minutes")
    for command in ([sys.executable, "-m", "venv", str(folder)], installation(folder)):
        if not logged(command, log):
            raise LabError(f"{' '.join(command[:4])} … failed; the end of {log}:\n{tail(log, 5)}")
    (folder / DONE).touch()
    say(f"development tools installed in {clock}")


def main() -> int:
    """Print the path; one line on standard error says what is wrong."""
    try:
        os.environ.pop("PYTHONHOME", None)
        folder = cache() / name()
        if not works(folder):
            with locked(folder.name):
                if not works(folder):
                    make(folder)
    except LabError as error:
        print(f"venv: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
