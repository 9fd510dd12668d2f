# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of this host, as text whatever they contain."""

from __future__ import annotations

import gzip


def read_text(path: str) -> str:
    """A file's text.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as stream:
        return stream.read().decode("utf-8", "replace")


def bytes_if_any(path: str) -> bytes:
    """A file's bytes, unpacked if its name ends in .gz; none if it cannot be read."""
    try:
        with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
            return stream.read()
    except (OSError, EOFError):
        return b""


def text_if_any(path: str) -> str:
    """The same as text."""
    return bytes_if_any(path).decode("utf-8", "replace")
