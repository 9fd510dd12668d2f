"""Prometheus, promtool and the MySQL exporter of Debian's packages, in the cache; nothing is
installed on the machine.

Run as a program it prints the path of promtool: the one on the PATH, or the package's.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

from common import LabError, cache, locked, logged, say, tail  # noqa: E402
from debian import APT_OPTIONS, mirror_of_apt  # noqa: E402

SUITE = "trixie"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def _apt(folder: Path) -> list[str]:
    """An apt-get that knows one Debian release and keeps everything in the folder."""
    mirror = os.environ.get("SEMISYNC_DEBIAN_MIRROR") or mirror_of_apt()
    if not mirror:
        raise LabError(
            "this machine's apt has no Debian mirror; name one in SEMISYNC_DEBIAN_MIRROR"
        )
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {mirror} {SUITE} main\n", encoding="utf-8")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    settings = (
        f"Dir::Etc::sourcelist={sources}",
        "Dir::Etc::sourceparts=/dev/null",
        f"Dir::State::lists={folder}/lists",
        f"Dir::Cache={folder}/cache",
        "Acquire::Languages=none",
        "APT::Sandbox::User=root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
        *(option.replace(" ", "=", 1).replace('"', "") for option in APT_OPTIONS),
    )
    return ["apt-get", *(f"--option={setting}" for setting in settings)]


def package(name: str) -> Path:
    """The .deb of a package, downloaded when the cache has none; its signature chain is apt's to
    check.
    """
    folder = cache("debian", SUITE)
    with locked(f"debian-{SUITE}"):
        for there in folder.glob(f"{name}_*.deb"):
            return there
        if not shutil.which("apt-get") or not KEYS.exists():
            raise LabError(
                f"{name} comes from Debian's packages, and apt-get or {KEYS} is missing on this"
                " machine"
            )
        say(f"downloading {name} of Debian {SUITE}")
        work, log = folder / "apt", cache("logs") / "monitoring-apt.log"
        work.mkdir(exist_ok=True)
        (folder / "part").mkdir(exist_ok=True)
        download = ["env", "-C", str(folder / "part"), *_apt(work), "--quiet", "download", name]
        # There may be no package list yet, or an old one.
        update = [*_apt(work), "--quiet", "update"]
        if not logged(download, log) and not (logged(update, log) and logged(download, log)):
            raise LabError(f"could not download {name}; the end of {log}:\n{tail(log, 5)}")
        made = next((folder / "part").glob(f"{name}_*.deb"))
        return made.rename(folder / made.name)


def program(name: str, command: str) -> Path:
    """A command out of a package, extracted into the cache."""
    archive = package(name)
    target = archive.with_suffix("")
    with locked(f"debian-{SUITE}"):
        if not (target / "usr" / "bin" / command).exists():
            log = cache("logs") / "monitoring-dpkg.log"
            if not logged(["dpkg-deb", "--extract", str(archive), str(target)], log):
                raise LabError(f"could not extract {archive}:\n{tail(log, 5)}")
    return target / "usr" / "bin" / command


def promtool() -> Path:
    """The machine's promtool, or the package's."""
    found = shutil.which("promtool")
    return Path(found) if found else program("promtool", "promtool")


if __name__ == "__main__":
    try:
        print(promtool())
    except LabError as error:
        sys.exit(f"monitoring: error: {error}")
