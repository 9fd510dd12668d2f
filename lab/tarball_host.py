"""What makes a host of a Debian root and a MySQL tarball: unpacking, what is checked, its files.

The same for every kind of hosts: each step is a shell script that is run inside the root.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import debian
from common import LabError
from tarball import BASEDIR, PACKAGES, TarballServer

# What images of all tarballs begin with.
BASE = debian.Server("mysql-tarball", "12", "bookworm", 252, "", "", PACKAGES)
FILES = Path(__file__).resolve().parent / "tarball_files"
FIRST_START = "/usr/local/sbin/mysql-first-start"
# What the lab and the collection have no use for is most of an official tarball.
LEFT_OUT = ("*/mysql-test", "*/sql-bench", "*/bin/*-debug", "*/lib/plugin/debug", "*/lib/*.a")
# What the lab itself needs, and what a user has at hand.
NEEDED = ("mysqld", "mysql", "mysqladmin")
CLIENTS = ("mysqldump", "mysqlslap", "mysqlbinlog")
PLUGINS = ("semisync_*.so", "auth_socket.so", "mysql_clone.so")
OLDEST = (5, 5)
# The first version that makes its data directory itself.
INITIALIZES = (5, 7)
# root is whoever is root on the host, as in Debian's packages. Written to the tables, because
# a server that initializes itself takes no statements on accounts and plugins.
ROOT_BY_SOCKET = """\
INSERT INTO mysql.plugin (name, dl) VALUES ('auth_socket', 'auth_socket.so');
UPDATE mysql.user SET plugin = 'auth_socket', authentication_string = '' WHERE User = 'root';
"""
ROOT_FILE = "/usr/local/share/mysql-first-start.sql"
ENVIRONMENT = ("env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")

Version = tuple[int, int, int]


def recipe(server: TarballServer) -> str:
    """The hash of everything that decides what becomes of the tarball."""
    return debian.fingerprint(
        server.digest,
        unpack(server),
        set_up((5, 5, 0)),
        set_up((5, 7, 0)),
        look_for_libraries(),
    )


def install(server: TarballServer, inside: Sequence[str]) -> Version:
    """Make a host's root of a Debian root.

    Args:
        server: the tarball.
        inside: the words before a command that is to run inside the root.

    Returns:
        The version of the server.

    Raises:
        LabError: the tarball is damaged, or the server in it cannot be run.
    """
    with server.path.open("rb") as file:
        _run(inside, unpack(server), f"unpacking {server.path}", stdin=file)
    problems = missing(_run(inside, look_for_libraries(), "ldd"))
    if problems:
        raise LabError(f"TARBALL: {server.path} cannot run on Debian 12: {'; '.join(problems)}")
    ask = f"{BASEDIR}/bin/mysqld --no-defaults --version"
    version = parse_version(_run(inside, ask, "bin/mysqld --version"))
    _run(inside, set_up(version), "setting the server up")
    return version


def _run(inside: Sequence[str], script: str, what: str, stdin: Any = subprocess.DEVNULL) -> str:
    """What a shell script prints that is run inside the root."""
    done = subprocess.run(
        [*inside, *ENVIRONMENT, "sh", "-ec", script],
        stdin=stdin,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise LabError(f"TARBALL: {what} failed with status {done.returncode}: {words[-1]}")
    return done.stdout


def unpack(server: TarballServer) -> str:
    """A shell script that unpacks the tarball, which is its standard input."""
    how = {"xz": "--xz ", "gz": "--gzip ", "": ""}[server.compression]
    excluded = " ".join(f"--exclude='{pattern}'" for pattern in LEFT_OUT)
    return (
        f"mkdir -p {BASEDIR}; tar --extract {how}--file=- --directory={BASEDIR} --no-same-owner"
        f" --strip-components={server.above} --wildcards {excluded}"
    )


def look_for_libraries() -> str:
    """A shell script that prints ldd's words on every program and plugin that hosts run."""
    programs = " ".join(f"bin/{name}" for name in (*NEEDED, *CLIENTS))
    needed = " ".join(f"bin/{name}" for name in NEEDED)
    plugins = " ".join(f"lib/plugin/{name}" for name in PLUGINS)
    return (
        f"cd {BASEDIR}\n"
        f'for file in {needed}; do [ -e $file ] || echo "$file: absent"; done\n'
        f"for file in {programs} {plugins}; do\n"
        '[ ! -e $file ] || ldd $file 2>&1 | sed "s|^|$file: |"\n'
        "done"
    )


def missing(text: str) -> list[str]:
    """What is missing, in words, by what look_for_libraries() printed."""
    needed_by: dict[str, list[str]] = {}
    absent = []
    for line in text.splitlines():
        file, _colon, words = line.partition(": ")
        library = re.match(r"\s*(\S+) => not found", words)
        symbol = re.search(r"version `(\S+)' not found", words)
        if words == "absent":
            absent.append(f"there is no {file} in it")
        elif library or symbol:
            name = library[1] if library else symbol[1] if symbol else ""
            files = needed_by.setdefault(name, [])
            files += [file] if file not in files else []
    return absent + [f"{name} is missing ({', '.join(by)})" for name, by in needed_by.items()]


def parse_version(text: str) -> Version:
    """The version in what `mysqld --version` prints."""
    numbers = re.search(r"\bVer (\d+)\.(\d+)\.(\d+)", text)
    if not numbers:
        raise LabError(f"TARBALL: no version in what bin/mysqld --version says: {text.strip()}")
    if "mariadb" in text.lower():
        raise LabError(
            "TARBALL: the server in it is MariaDB, which comes from Debian here: SERVER=mariadb,"
            " without TARBALL"
        )
    version = (int(numbers[1]), int(numbers[2]), int(numbers[3]))
    if version < OLDEST:
        raise LabError(
            f"TARBALL: the server in it is MySQL {'.'.join(map(str, version))}; semi-synchronous"
            " replication begins with 5.5"
        )
    return version


def first_start(version: Version) -> str:
    """The shell line that makes the data directory of a host."""
    if version < INITIALIZES:
        return (
            "scripts/mysql_install_db --defaults-file=/etc/my.cnf --user=mysql"
            f" --basedir={BASEDIR} --datadir=/var/lib/mysql"
        )
    return (
        "bin/mysqld --defaults-file=/etc/my.cnf --initialize-insecure --user=mysql"
        f" $([ ! -e lib/plugin/auth_socket.so ] || echo --init-file={ROOT_FILE})"
    )


def first_start_script(version: Version) -> str:
    """What runs on a host each time before its server does, and acts once."""
    return (
        "#!/bin/sh\n"
        "# Makes this host's data directory, once: every host has a server_uuid of its own.\n"
        "set -eu\n"
        "made=/var/lib/mysql-first-start\n"
        '[ ! -e "$made" ] || exit 0\n'
        "# Left by a first start that was cut.\n"
        "find /var/lib/mysql -mindepth 1 -delete\n"
        f"cd {BASEDIR}\n"
        f"{first_start(version)}\n"
        "sync\n"
        'touch "$made"\n'
    )


def set_up(version: Version) -> str:
    """A shell script that adds the account, the data directory and the files of a host."""
    texts = {f"/{file.relative_to(FILES)}": file.read_text(encoding="utf-8") for file in _files()}
    texts[FIRST_START] = first_start_script(version)
    if version >= INITIALIZES:
        texts[ROOT_FILE] = ROOT_BY_SOCKET
    lines = [
        "useradd --system --user-group --home-dir /nonexistent --shell /usr/sbin/nologin mysql",
        "install -d -o mysql -g mysql -m 0755 /var/lib/mysql",
    ]
    for name, text in texts.items():
        mode = "0755" if "/sbin/" in name else "0644"
        lines += [
            f"install -D -m {mode} /dev/null {name}",
            f"cat > {name} <<'END-OF-FILE'\n{text}END-OF-FILE",
        ]
    wants = "/etc/systemd/system/multi-user.target.wants"
    lines += [f"mkdir -p {wants}", f"ln -sf ../mysql.service {wants}/mysql.service"]
    return "\n".join(lines)


def _files() -> list[Path]:
    """The files that every such host has."""
    return sorted(file for file in FILES.rglob("*") if file.is_file())
