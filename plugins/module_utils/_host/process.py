# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's process and its programs on its host: the state that no SQL statement returns."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host import trust
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Variables

SERVERS = ("mariadbd", "mysqld")
# Where a server's own programs lie under its basedir: tarballs, Debian, Red Hat.
PROGRAM_FOLDERS = ("bin", "sbin", "libexec")
# What a replica can be seeded with: our key -> names of the program, the newer one first.
TOOLS = {
    "dump": ("mariadb-dump", "mysqldump"),
    "client": ("mariadb", "mysql"),
    "backup": ("mariadb-backup", "mariabackup"),
    "stream": ("mbstream",),
}


class Running(NamedTuple):
    """The server's process on this host, as far as it can be seen."""

    pid: int | None
    cmdline: list[str]
    # Its program; None if nothing says which.
    program: str | None
    # Where programs of its own kind and version lie, the likeliest first.
    folders: list[str]
    # Why the process or its program is not known, or "".
    unknown: str


def running(variables: Variables) -> Running:
    """The process of the server with these variables: pid_file, datadir and basedir."""
    pid_file, basedir = variables["pid_file"] or "", variables.get("basedir") or ""
    pid = find_process(pid_file, variables["datadir"] or "")
    cmdline = command_line(pid) if pid else []
    program = find_program(cmdline, executable(pid), basedir) if pid else None
    unknown = ""
    if not pid:
        unknown = f"its process is not seen on this host (pid file {pid_file})"
    elif not program:
        unknown = (
            f"the program of process {pid} cannot be found, neither by its command line"
            f" ({' '.join(cmdline[:1]) or 'not readable'}) nor under basedir {basedir or '(unset)'}"
        )
    return Running(pid, cmdline, program, program_folders(program, basedir), unknown)


def find_process(pid_file: str, datadir: str) -> int | None:
    """The server's process id, or None if its pid file cannot be read or names another
    program's process.
    """
    path = pid_file if pid_file.startswith("/") else os.path.join(datadir, pid_file)
    try:
        pid = int(read_text(path).strip())
        os.stat(f"/proc/{pid}")
    except (OSError, ValueError):
        return None
    return pid if not command_line(pid) or is_server(pid) else None


def is_server(pid: int) -> bool:
    """False for a process that is clearly something else, as with a stale pid file, or a
    container's.
    """
    return bool(program_word([*command_line(pid), executable(pid) or ""]))


def program_word(words: list[str]) -> str:
    """The word of a command line that names the server's program, which another program may start;
    empty if none does.
    """
    return next(
        (
            word
            for word in words
            if not word.startswith("-") and any(name in os.path.basename(word) for name in SERVERS)
        ),
        "",
    )


def command_line(pid: int) -> list[str]:
    """A process's program and arguments; empty if they cannot be read."""
    try:
        return [word for word in read_text(f"/proc/{pid}/cmdline").split("\0") if word]
    except OSError:
        return []


def executable(pid: int) -> str | None:
    """A process's program, or None if the kernel hides it: from root without SYS_PTRACE, as in a
    container.
    """
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def find_program(cmdline: list[str], executable_path: str | None, basedir: str) -> str | None:
    """The server's program, as the kernel names it. If the kernel hides it, or names its launcher,
    such as valgrind: from the command line, or under basedir. trust.trusted_command() runs it: a
    compromised server may write its own command line.
    """
    kernel = [executable_path] if executable_path else []
    name = program_word([word for word in kernel if is_program(word)]) or program_word(cmdline)
    places = [name] if name.startswith("/") else []
    places += kernel
    for each in [os.path.basename(name)] if name else SERVERS:
        places += [os.path.join(basedir, folder, each) for folder in PROGRAM_FOLDERS if basedir]
    return next((place for place in places if is_program(place)), None)


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def program_folders(program: str | None, basedir: str) -> list[str]:
    """The folders of a server's own programs: beside it, and under its basedir."""
    folders = [os.path.dirname(program)] if program else []
    folders += [os.path.join(basedir, folder) for folder in PROGRAM_FOLDERS if basedir]
    return [path for path in dict.fromkeys(folders) if os.path.isdir(path)]


def find_tool(
    module: AnsibleModule,
    tool_names: tuple[str, ...],
    folders: list[str],
    for_root: bool = False,
) -> str | None:
    """The first of these programs beside the server, or else on the PATH, or None.

    Args:
        for_root: only what root itself may run; see trust.py.
    """
    places = [os.path.join(folder, name) for folder in folders for name in tool_names]
    fits = [place for place in places if is_program(place)]
    beside = next((place for place in fits if not for_root or trust.trusted(place)), None)
    return beside or next(filter(None, map(module.get_bin_path, tool_names)), None)


def parse_unit(cgroup: str) -> str | None:
    """The systemd unit in the text of /proc/PID/cgroup: '…/system.slice/mysql.service' gives
    'mysql'.
    """
    match = re.search(r"/([\w@:.\\-]+)\.service\s*$", cgroup, re.MULTILINE)
    return match.group(1) if match else None


def tools(
    module: AnsibleModule, plugin_dir: str | None, folders: list[str]
) -> dict[str, str | None]:
    """Our key -> path of a program that seeding can use, or None; under 'clone' the plugin's
    library.
    """
    programs: dict[str, str | None] = {
        key: find_tool(module, names, folders) for key, names in TOOLS.items()
    }
    library = os.path.join(plugin_dir or "/nonexistent", "mysql_clone.so")
    programs["clone"] = library if os.path.exists(library) else None
    return programs
