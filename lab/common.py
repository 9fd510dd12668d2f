"""What every part of the lab uses: messages, errors, commands, the cache folder and its locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


class LabError(Exception):
    """Something the person at the keyboard can do something about; shown as one line."""


def say(message: str) -> None:
    """Show a line of progress. Standard output is kept for results (a tag, JSON)."""
    print(f"lab: {message}", file=sys.stderr, flush=True)


class Clock:
    """Seconds since it was made, as text for progress lines."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def seconds(self) -> float:
        """Seconds gone by."""
        return time.monotonic() - self.start

    def __str__(self) -> str:
        return f"{self.seconds():.1f} s"


def cache(*parts: str) -> Path:
    """A folder in the cache, made when it is missing."""
    base = os.environ.get("SEMISYNC_CACHE") or Path.home() / ".cache" / "dbre-semisync"
    folder = Path(base, *parts).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def lab_name() -> str:
    """Tells labs of one machine and user apart; plain names for the one that SEMISYNC_LAB does not
    name.
    """
    name = os.environ.get("SEMISYNC_LAB", "")
    if not re.fullmatch(r"[a-z0-9]{0,12}", name):
        raise LabError(
            f"SEMISYNC_LAB is {name!r}; up to 12 lower-case letters and digits are possible"
        )
    return name


def uml_folder(*parts: str) -> Path:
    """The folder of this lab's hosts of kind uml, or one in it."""
    return cache("-".join(filter(None, ("uml", lab_name()))), *parts)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock by name, so that two runs do not build or replace the same thing at once."""
    path = cache("locks") / name.replace("/", "-")
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that holds {name}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(
    *command: str, check: bool = True, timeout: float | None = None, input_text: str | None = None
) -> subprocess.CompletedProcess:
    """Run a command quietly and keep its output; with `check`, its failure is a LabError."""
    done = subprocess.run(
        command,
        text=True,
        capture_output=True,
        check=False,
        timeout=timeout,
        input=input_text,
        stdin=None if input_text is not None else subprocess.DEVNULL,
    )
    if check and done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise LabError(f"{' '.join(command[:3])} failed with status {done.returncode}: {lines[-1]}")
    return done


def logged(command: list[str], log: Path, env: dict[str, str] | None = None) -> bool:
    """Run a long command with its output in a file; true when it succeeded."""
    with log.open("w", encoding="utf-8") as handle:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
        try:
            return child.wait() == 0
        except BaseException:
            # Interrupted: mmdebstrap removes its half-made root when it is given the time.
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=30)
            child.kill()
            raise


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log file."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(text[-lines:])


def as_root(*command: str) -> list[str]:
    """The command as root: itself, or through sudo."""
    if os.geteuid() == 0:
        return list(command)
    if shutil.which("sudo"):
        return ["sudo", *command]
    raise LabError(f"{command[0]} needs root: run this as root, or install sudo")


def need_packages(program: str, *packages: str) -> None:
    """Install Debian packages for a program that is missing, or say what is missing."""
    if shutil.which(program):
        return
    wanted = " ".join(packages)
    if not shutil.which("apt-get"):
        raise LabError(
            f"{program} is missing: install it with your package manager ({wanted} on Debian)"
        )
    say(f"{program} is missing: installing {wanted}")
    log = cache("logs") / "apt.log"
    # Another run may be installing something at the same moment.
    patient = ("-o", "DPkg::Lock::Timeout=300")
    install = ["apt-get", "install", "-y", *patient, "--no-install-recommends", *packages]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # An old package list is the usual reason for a failure, so it is renewed only then.
    if logged(as_root(*install), log, quiet):
        return
    logged(as_root("apt-get", "update"), log, quiet)
    if not logged(as_root(*install), log, quiet):
        raise LabError(f"could not install {wanted}; apt-get's own words are in {log}")


def need_linux() -> None:
    """The hosts need a Linux kernel under them."""
    if sys.platform != "linux":
        raise LabError(
            "the lab runs on Linux only; on another system run it in a Linux virtual machine"
        )
