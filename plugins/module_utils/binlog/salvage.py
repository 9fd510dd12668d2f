# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a dead source's binary log, read on its host before anybody starts its server: what it
confirmed while it was degraded is there, and on no replica.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils.binlog import log_file, log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils.binlog.printing import (
    Part,
    SalvageError,
    printed,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host import process
from ansible_collections.dbre.semisync.plugins.module_utils.host.files import read_text
from ansible_collections.dbre.semisync.plugins.module_utils.replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils.replication.gtid_type import Gtids

PROGRAMS = ("mariadb-binlog", "mysqlbinlog")
# The host's, the controller's and the candidate's memory all hold it.
MOST_BYTES = 256 << 20


def look(module: Any) -> dict[str, Any]:
    """Whether it can be read: {'case', 'words'} of what is in the way, both empty where nothing
    is.
    """
    try:
        files, _ends = readable_files(module)
    except (SalvageError, OSError) as error:
        return failure(error)
    return {"case": "", "words": f"{len(files)} files, up to {files[-1]}"}


def failure(error: Exception) -> dict[str, Any]:
    return {"case": getattr(error, "case", "unreadable"), "words": str(error)}


def readable_files(module: Any) -> tuple[list[str], list[log_file.Whole]]:
    """(the log's files from the one on that the candidate was reading, how far each is whole).

    Raises:
        SalvageError: something is in the way.
        OSError: a file cannot be read.
    """
    known = module.params["files"]
    still = running(known)
    if still:
        raise SalvageError("alive", still)
    program(module)
    files = since(listed(known["basename"], known["datadir"]), known.get("first") or "")
    ends = [walk(path) for path in files]
    for path, whole in zip(files, ends):
        if whole.problem:
            raise SalvageError(whole.problem, f"{path}: {whole.words}")
        if whole.torn and path != files[-1]:
            raise SalvageError("damaged", f"{path} ends within an event, and another file follows")
    return files, ends


def running(known: dict[str, Any]) -> str:
    """Why the server may be alive: its process, or any server's that has its log open."""
    pid = process.find_process(known["pid_file"], known["datadir"])
    if pid:
        return f"its process {pid} is there"
    folder = os.path.dirname(known["basename"])
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            opened = os.readlink(link)
        except OSError:
            continue
        number = int(link.split("/")[2])
        if opened.startswith(folder + "/") and process.is_server(number):
            return f"process {number} has {opened} open"
    return ""


def program(module: Any) -> str:
    """The program that prints binary logs: the one that came with this server.

    Raises:
        SalvageError: there is none.
    """
    known = module.params["files"]
    folders = process.program_folders(known.get("program"), known.get("basedir") or "")
    path = process.find_tool(module, PROGRAMS, folders)
    if not path:
        words = f"neither {' nor '.join(PROGRAMS)} is there, which come with the server's clients"
        raise SalvageError("program", words)
    return path


def listed(basename: str, datadir: str) -> list[str]:
    """The paths of a binary log's files, from its index.

    Raises:
        SalvageError: there is none.
        OSError: it cannot be read.
    """
    index = basename + ".index"
    if not os.path.exists(index):
        raise SalvageError("no_log", f"there is no {index}")
    names = [line.strip() for line in read_text(index).splitlines() if line.strip()]
    if not names:
        raise SalvageError("no_log", f"{index} is empty")
    # From "/" on, so that no name is an option of the program that reads it.
    return [os.path.normpath(os.path.join("/", datadir, name)) for name in names]


def since(files: list[str], first: str) -> list[str]:
    """The files from one on, by its name; all of them where the name is empty.

    Raises:
        SalvageError: that one is gone.
    """
    if not first:
        return files
    places = [number for number, path in enumerate(files) if os.path.basename(path) == first]
    if not places:
        words = f"{first} is gone from its index, and that is where the candidate stood"
        raise SalvageError("no_log", words)
    return files[places[-1] :]


def walk(path: str) -> log_file.Whole:
    with open(path, "rb") as stream:
        return log_file.walk(stream)


def lacking(received: Gtids) -> Callable[[str], bool]:
    """Whether a GTID is beyond what a replica has received. On MariaDB that is so by its sequence
    number, which strict mode makes grow.
    """
    return lambda one: not received.covers(received.parse(one))


def read(module: Any) -> dict[str, Any]:
    """What the candidate lacks, and the transactions themselves; see the RETURN section of
    semisync_switchover.
    """
    params = module.params
    try:
        files, ends = readable_files(module)
        kind = gtids.kind_of("mariadb" if params["mariadb"] else "mysql")
        reader = log_transactions.Reader(lacking(kind.parse(params["received"])))
        parts = [Part(path, whole.end) for path, whole in zip(files, ends)]
        transactions = print_all(program(module), parts, reader)
        again = [walk(path) for path in since(listed_now(params), params["files"].get("first", ""))]
        if again != ends or running(params["files"]):
            raise SalvageError("alive", "the log changed while it was read: somebody writes to it")
    except log_transactions.TailError as error:
        return failure(SalvageError("not_understood", str(error)))
    except (SalvageError, OSError) as error:
        return failure(error)
    return {
        "case": "",
        "words": "",
        "count": len(transactions),
        "gtids": [one.gtid for one in transactions],
        "seen": reader.seen,
        "files": files,
        "end": ends[-1].end,
        "torn": ends[-1].torn,
        "torn_gtid": reader.torn,
        "payload": pack(transactions),
    }


def listed_now(params: dict[str, Any]) -> list[str]:
    return listed(params["files"]["basename"], params["files"]["datadir"])


def print_all(
    path: str, parts: list[Part], reader: log_transactions.Reader
) -> list[log_transactions.Transaction]:
    """The transactions that a program prints.

    Raises:
        SalvageError: it has not come to its end, or it is too much.
        TailError: what it printed.
    """
    return list(printed(path, parts, lambda lines: list(limited(reader.read(lines)))))


def limited(
    transactions: Iterator[log_transactions.Transaction],
) -> Iterator[log_transactions.Transaction]:
    """The transactions, as long as there is room for them.

    Raises:
        SalvageError: it is too much.
    """
    size = 0
    for one in transactions:
        size += sum(len(text) for text in one.statements)
        if size > MOST_BYTES:
            words = f"more than {MOST_BYTES >> 20} MB that no replica has"
            raise SalvageError("large", words)
        yield one


def pack(transactions: list[log_transactions.Transaction]) -> str:
    """Transactions as text that any way can carry: each byte is a character of latin-1."""
    rows = [[one.gtid, [text.decode("latin-1") for text in one.statements]] for one in transactions]
    return base64.b64encode(zlib.compress(json.dumps(rows).encode("ascii"))).decode("ascii")


def unpack(payload: str) -> list[log_transactions.Transaction]:
    """The reverse."""
    reader = zlib.decompressobj()
    # As JSON a byte takes six characters at most.
    text = reader.decompress(base64.b64decode(payload), 6 * MOST_BYTES)
    if reader.unconsumed_tail:
        raise SalvageError("large", f"more than {MOST_BYTES >> 20} MB to be salvaged")
    rows = json.loads(text)
    return [
        log_transactions.Transaction(one, [text.encode("latin-1") for text in texts])
        for one, texts in rows
    ]
