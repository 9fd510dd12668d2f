# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a dead source's binary log, read on its host before its server is started: what it
confirmed while it was degraded is there, and on no replica.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_transactions
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_access import (
    SalvageError,
    failure,
    program,
    readable_files,
    running,
    walk,
    wanted_files,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.printing import Part, printed
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids
from ansible_collections.dbre.semisync.plugins.module_utils._replication.gtid_type import Gtids

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

# The host's, the controller's and the candidate's memory all hold it.
MOST_BYTES = 256 << 20


def lacking(received: Gtids) -> Callable[[str], bool]:
    """Whether a GTID is beyond what a replica has received. On MariaDB that is so by its sequence
    number, which strict mode makes grow.
    """
    return lambda one: not received.covers(received.parse(one))


def read_salvage(
    module: AnsibleModule, known: LogFiles, engine: str, received: str
) -> dict[str, object]:
    """What the candidate lacks, and the transactions themselves; see the RETURN section of
    semisync_switchover.

    Args:
        engine: mysql or mariadb.
        received: the GTIDs that the candidate received.
    """
    try:
        files, ends = readable_files(module, known)
        kind = gtids.kind_of(engine)
        reader = log_transactions.Reader(lacking(kind.parse(received)))
        parts = [Part(path, whole.end) for path, whole in zip(files, ends)]
        transactions = print_all(program(module, known), parts, reader)
        again = [walk(path) for path in wanted_files(known)]
        if again != ends or running(known):
            raise SalvageError(
                "alive", "the log changed while it was read: its server writes to it"
            )
    except log_transactions.TailError as error:
        return dict(failure(SalvageError("not_understood", str(error))))
    except (SalvageError, OSError) as error:
        return dict(failure(error))
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
    """The transactions, up to the size limit.

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
    """Encode transactions as text for transport: each byte is a latin-1 character."""
    rows = [[one.gtid, [text.decode("latin-1") for text in one.statements]] for one in transactions]
    return base64.b64encode(zlib.compress(json.dumps(rows).encode("ascii"))).decode("ascii")


def unpack(payload: str) -> list[log_transactions.Transaction]:
    """Decode the text of pack()."""
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
