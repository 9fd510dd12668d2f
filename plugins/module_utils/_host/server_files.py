# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a server's variables name: its error log, and certificates of authorities (its own,
and the copy of its source's). The present end of the error log is where a later read begins.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Certificates,
        ErrorLog,
        Variables,
    )

# Names for the server's standard error, which goes to its unit's journal: MariaDB's, MySQL's.
STANDARD_ERROR = ("", "stderr")
# The component that writes the file on MySQL 8.0 and later ("The Error Log", log_error_services).
WRITES_FILE = "log_sink_internal"
COPY = "dbre-semisync-source-ca.pem"
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")


def read_error_log(variables: Variables, pid: int | None) -> ErrorLog | None:
    """`error_log` of the RETURN section of semisync_info; None if unknown.

    Args:
        variables: the server's log_error, log_error_services, datadir.
        pid: its process, None if that is not on this host.
    """
    name, sinks = variables.get("log_error"), variables.get("log_error_services")
    if pid is None or name is None or (sinks is not None and WRITES_FILE not in sinks):
        return None
    place: ErrorLog = {
        "path": "",
        "inode": None,
        "size": None,
        "at": time.time(),
    }
    if name not in STANDARD_ERROR:
        place["path"] = os.path.join(variables.get("datadir") or "/", name)
        with contextlib.suppress(OSError):
            seen = os.stat(place["path"])
            place["inode"], place["size"] = seen.st_ino, seen.st_size
    return place


def certificates(text: str) -> str | None:
    """The certificates in a file's text, and nothing else in it: a key must stay on its host."""
    return "".join(part + "\n" for part in CERTIFICATE.findall(text)) or None


def read_certificates(variables: Variables, read_text: Callable[[str], str]) -> Certificates:
    """The authorities' certificates on a host: the server's own (ssl_ca), and the copy of its
    source's.

    Args:
        variables: the server's ssl_ca and datadir.
        read_text: function of a path; raises OSError.
    """
    datadir = variables["datadir"] or ""
    copy = os.path.join(datadir, COPY)
    return {
        "ca": _read(variables.get("ssl_ca"), datadir, read_text),
        "copy": {"path": copy, "text": _read(copy, "/", read_text)},
    }


def _read(path: str | None, folder: str, read_text: Callable[[str], str]) -> str | None:
    try:
        return certificates(read_text(os.path.join(folder, path))) if path else None
    except OSError:
        return None
