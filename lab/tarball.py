"""A MySQL server from a tarball in the layout of the official "Linux - Generic" binaries.

What is looked at here is the file itself, before anything is made of it; what becomes of it in a
host's root is in tarball_host.
"""

from __future__ import annotations

import hashlib
import lzma
import platform
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from common import LabError
from debian import Server

BASEDIR = "/usr/local/mysql"
# A release of this form is a tarball by the hash of its content.
PREFIX = "tarball-"
PROGRAM = ("bin", "mysqld")
# What servers from 5.5 on link to, the oldest and the newest terminal libraries among them; perl
# and hostname for mysql_install_db, xz-utils to unpack.
PACKAGES = (
    "libaio1",
    "libncurses5",
    "libncurses6",
    "libnuma1",
    "libsasl2-2",
    "libssl3",
    "libstdc++6",
    "libtinfo5",
    "libtinfo6",
    "hostname",
    "perl",
    "xz-utils",
)
# The first bytes of a file -> how it is compressed, in tarfile's words.
MAGIC = {b"\xfd7zXZ\0": "xz", b"\x1f\x8b": "gz"}
UNREADABLE = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError)
# ELF's e_machine -> what the kernel calls it.
MACHINES = {3: "i686", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class TarballServer(Server):
    """A server out of a tarball, on Debian 12."""

    path: Path
    digest: str
    compression: str
    # How many folders of the tarball stand above bin.
    above: int

    @property
    def title(self) -> str:
        """What to call it to people; its name has a hash in place of the file's name."""
        return f"MySQL of {self.path.name}"


def _base(release: str) -> tuple[str, str, str, int, str, str, tuple[str, ...]]:
    """What servers from tarballs have in common, as the fields of a Server."""
    return ("mysql", release, "bookworm", 252, "mysql", f"{BASEDIR}/bin/mysqladmin", PACKAGES)


def named(release: str) -> Server:
    """The server of a lab that is up, by its release; enough to wait for it."""
    return Server(*_base(release))


def content(release: str) -> str:
    """How the hash of a tarball's content begins, by its release; empty for one of Debian."""
    return release.removeprefix(PREFIX) if release.startswith(PREFIX) else ""


def server(path: Path) -> TarballServer:
    """The server in a tarball.

    Raises:
        LabError: there is no such file, or no server in it that this machine can run.
    """
    path = path.expanduser().absolute()
    if not path.is_file():
        raise LabError(f"TARBALL: {path} is {'no file' if path.exists() else 'not there'}")
    try:
        with path.open("rb") as file:
            start = file.read(8)
            compression = next((MAGIC[magic] for magic in MAGIC if start.startswith(magic)), "")
            file.seek(0)
            above = _find_server(path, file, compression)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except UNREADABLE as error:
        raise LabError(
            f"TARBALL: {path} cannot be read as a .tar.xz, .tar.gz or .tar: {error}"
        ) from error
    return TarballServer(*_base(PREFIX + digest[:12]), path, digest, compression, above)


def _find_server(path: Path, file: IO[bytes], compression: str) -> int:
    """How many folders stand above bin/mysqld; refused if this machine cannot run it."""
    inner = []
    with tarfile.open(fileobj=file, mode=f"r|{compression}") as tar:  # type: ignore[call-overload]
        for member in tar:
            # Not PurePosixPath, which drops a leading ./ that tar counts as a folder.
            parts = member.name.split("/")
            if tuple(parts[-2:]) == PROGRAM and len([part for part in parts if part != "."]) <= 3:
                if not member.isfile():
                    raise LabError(
                        f"TARBALL: {member.name} in {path} is a link: MariaDB's binaries are like"
                        " that. MariaDB comes from Debian: SERVER=mariadb, without TARBALL"
                    )
                program = tar.extractfile(member)
                _need_this_machine(path, program.read(20) if program else b"")
                return len(parts) - 2
            if PurePosixPath(member.name).suffix in (".xz", ".gz") and ".tar." in member.name:
                inner.append(member.name)
    if inner:
        raise LabError(
            f"TARBALL: {path} holds further tarballs; unpack it and give one of {', '.join(inner)}"
        )
    raise LabError(
        f'TARBALL: there is no bin/mysqld in {path}; what is needed are the "Linux - Generic"'
        " binaries, not the source and not the test suite"
    )


def _need_this_machine(path: Path, header: bytes) -> None:
    """Refuse a program that this machine cannot run, by the first bytes of it."""
    if header[:4] != b"\x7fELF":
        raise LabError(f"TARBALL: bin/mysqld in {path} is no Linux program")
    number = int.from_bytes(header[18:20], "little" if header[5] == 1 else "big")
    machine = MACHINES.get(number, f"a machine that ELF numbers {number}")
    if machine != platform.machine():
        raise LabError(
            f"TARBALL: bin/mysqld in {path} is for {machine}; this machine is {platform.machine()}"
        )
