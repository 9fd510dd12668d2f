# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of authorities on a host: its server's own, and the copy of its source's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.types.shapes import Certificates, Variables

COPY = "dbre-semisync-source-ca.pem"
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")


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
