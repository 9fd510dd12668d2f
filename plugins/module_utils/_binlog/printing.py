# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mysqlbinlog prints of binary log files, of our copy of their events: see disguise.py."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import IO, NamedTuple, TypeVar, cast

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (
    disguise,
    events,
    log_transactions,
)
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_access import SalvageError
from ansible_collections.dbre.semisync.plugins.module_utils._host import trust

Made = TypeVar("Made")


class Part(NamedTuple):
    """What is wanted of a file.

    Attributes:
        path: of the file.
        end: how far it is whole.
        begin: where the first event is that is wanted, beside the description.
        stop: where the first one is that is not wanted any more.
    """

    path: str
    end: int
    begin: int = 4
    stop: int | None = None


def printed(
    program: str,
    parts: Sequence[Part],
    read_lines: Callable[[disguise.Lines], Made],
    options: Sequence[str] = (),
) -> Made:
    """What `read_lines` makes of the lines that a program prints; their times are UTC.

    Args:
        options: the program's; GTIDs in them are left out.

    Raises:
        SalvageError: the output is incomplete.
        TailError: the program failed; the text has what it printed.
    """
    hidden = disguise.Disguise(skips=any("-gtids=" in option for option in options))
    words = [
        program,
        "--no-defaults",
        "--verify-binlog-checksum",
        *options,
        "-",
    ]
    lines = of_files(words, parts, hidden)
    try:
        return read_lines(disguise.Lines(lines, hidden))
    except log_transactions.TailError:
        # If the output was cut off, an error in reading it is expected.
        hidden.forget()
        for line in lines:
            if not line:
                break
        raise
    finally:
        lines.close()


def of_files(
    words: Sequence[str], parts: Sequence[Part], hidden: disguise.Disguise
) -> Generator[bytes]:
    """The lines of all files, an empty one after each.

    Raises:
        SalvageError: the output is incomplete.
        TailError: a file has what is not known.
        OSError: a file cannot be read.
    """
    for part in parts:
        yield from of_file(words, part, hidden)
        yield b""


def of_file(
    words: Sequence[str],
    part: Part,
    hidden: disguise.Disguise,
) -> Generator[bytes]:
    """The lines of one file; see of_files()."""
    environment = dict(os.environ, LC_ALL="C", TZ="UTC")
    with open(part.path, "rb") as stream, tempfile.TemporaryFile() as errors:
        copy = hidden.copy(
            stream,
            part.end,
            part.begin,
            part.stop,
        )
        with subprocess.Popen(  # noqa: S603 - trust.trusted_command() has looked at the program
            trust.trusted_command(list(words)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        ) as printing:
            feeder = Feeder(cast("IO[bytes]", printing.stdin), copy)
            feeder.start()
            try:
                yield from printing.stdout or ()
                status = printing.wait()
            finally:
                # It has ended, unless its lines are no longer wanted.
                printing.kill()
                feeder.join()
        errors.seek(0)
        said = " ".join(errors.read().decode("utf-8", "replace").split())
    if isinstance(feeder.error, events.EventError):
        raise SalvageError("damaged", f"{part.path}: {feeder.error}")
    if isinstance(feeder.error, events.UnknownError):
        raise log_transactions.TailError(f"{part.path}: {feeder.error}")
    if feeder.error:
        raise feeder.error
    if status or "ERROR" in said:
        raise SalvageError("damaged", said[:300] or f"it ended with status {status}")


class Feeder(threading.Thread):
    """Feeds a program's input while another thread reads its output.

    Attributes:
        error: why it could not feed all input, or None.
    """

    def __init__(
        self,
        pipe: IO[bytes],
        pieces: Iterator[bytes],
    ) -> None:
        super().__init__(daemon=True)
        self.pipe, self.pieces = pipe, pieces
        self.error: Exception | None = None

    def run(self) -> None:
        """Feed all input."""
        try:
            for piece in self.pieces:
                try:
                    self.pipe.write(piece)
                except BrokenPipeError:
                    # It has ended; its status says why.
                    return
        except Exception as error:  # told by who reads
            self.error = error
        finally:
            with contextlib.suppress(BrokenPipeError):
                self.pipe.close()
