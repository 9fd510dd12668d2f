# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A binary log on its host, whether its server runs or not: its files, and the program that prints
them.
"""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_file
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._host import process
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import read_text

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

PROGRAMS = ("mariadb-binlog", "mysqlbinlog")


class SalvageError(Exception):
    """The log cannot be read.

    Args:
        case: as docs/failover.md names it, without "salvage_".
        words: what was found.
    """

    def __init__(
        self,
        case: str,
        words: str,
    ) -> None:
        super().__init__(words)
        self.case = case


def check_access(module: AnsibleModule, known: LogFiles) -> dict[str, str]:
    """Whether it can be read: {'case', 'words'} of what is in the way, both empty if nothing
    is.
    """
    try:
        files, _ends = readable_files(module, known)
    except (SalvageError, OSError) as error:
        return failure(error)
    return {"case": "", "words": f"{len(files)} files, up to {files[-1]}"}


def failure(error: Exception) -> dict[str, str]:
    """The same for an error that prevented reading."""
    return {"case": getattr(error, "case", "unreadable"), "words": str(error)}


def readable_files(
    module: AnsibleModule, known: LogFiles
) -> tuple[list[str], list[log_file.Whole]]:
    """(the log's files, from the one that the candidate was reading, how far each is whole).

    Raises:
        SalvageError: something is in the way.
        OSError: a file cannot be read.
    """
    still = running(known)
    if still:
        raise SalvageError("alive", still)
    program(module, known)
    files = wanted_files(known)
    ends = [walk(path) for path in files]
    for path, whole in zip(files, ends):
        if whole.problem:
            raise SalvageError(whole.problem, f"{path}: {whole.words}")
        if whole.torn and path != files[-1]:
            raise SalvageError("damaged", f"{path} ends within an event, and another file follows")
    return files, ends


def wanted_files(known: LogFiles) -> list[str]:
    """The log's files, from the first that is wanted.

    Raises:
        SalvageError: that one is gone, or there is no log.
        OSError: its index cannot be read.
    """
    return since(listed(known), known.first)


def running(known: LogFiles) -> str:
    """Why the server may be alive: its process runs, or some server has its log open."""
    pid = process.find_process(known.pid_file or "", known.datadir)
    if pid:
        return f"its process {pid} is there"
    folder = os.path.dirname(known.basename)
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            opened = os.readlink(link)
        except OSError:
            continue
        number = int(link.split("/")[2])
        if opened.startswith(folder + "/") and process.is_server(number):
            return f"process {number} has {opened} open"
    return ""


def program(module: AnsibleModule, known: LogFiles) -> str:
    """The program that prints binary logs: the one that came with this server.

    Raises:
        SalvageError: there is none.
    """
    folders = process.program_folders(known.program, known.basedir or "")
    path = process.find_tool(module, PROGRAMS, folders)
    if not path:
        words = f"neither {' nor '.join(PROGRAMS)} is there, which come with the server's clients"
        raise SalvageError("program", words)
    return path


def listed(known: LogFiles) -> list[str]:
    """The paths of a binary log's files, from its index.

    Raises:
        SalvageError: there is none.
        OSError: it cannot be read.
    """
    index = known.basename + ".index"
    if not os.path.exists(index):
        raise SalvageError("no_log", f"there is no {index}")
    names = [line.strip() for line in read_text(index).splitlines() if line.strip()]
    if not names:
        raise SalvageError("no_log", f"{index} is empty")
    # Absolute paths, so that no name is taken for an option of the program that reads it.
    return [os.path.normpath(os.path.join("/", known.datadir, name)) for name in names]


def since(files: list[str], first: str) -> list[str]:
    """The files, from the named one; all of them if the name is empty.

    Raises:
        SalvageError: that one is gone.
    """
    if not first:
        return files
    places = [number for number, path in enumerate(files) if os.path.basename(path) == first]
    if not places:
        words = f"{first} is no longer in its index, and the candidate was reading it"
        raise SalvageError("no_log", words)
    return files[places[-1] :]


def walk(path: str) -> log_file.Whole:
    with open(path, "rb") as stream:
        return log_file.walk(stream)
