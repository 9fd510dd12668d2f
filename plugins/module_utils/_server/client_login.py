# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login for the servers' own programs, as the module's: an option file that goes again."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping

# What is escaped between double quotes, the backslash first.
QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
# mkstemp makes the files.
MEMORY = "/dev/shm"  # noqa: S108


def client_options(params: Mapping[str, object]) -> str:
    """Text of an option file with which the servers' own programs log in as the module did. It has
    a secret: write it only with secret_file(), or likewise.

    The user's own file comes first, so that what the module was given, or found, counts.

    Args:
        params: the module's parameters, after connect().
    """
    options = [("user", params["login_user"]), ("password", params["login_password"])]
    if params["login_unix_socket"]:
        # Whatever host the user's own file names.
        options += [
            ("host", "localhost"),
            ("socket", params["login_unix_socket"]),
            ("protocol", "socket"),
        ]
    else:
        options += [
            ("host", params["login_host"]),
            ("port", params["login_port"]),
            ("protocol", "tcp"),
        ]
    own = os.path.expanduser(str(params["config_file"] or ""))
    lines = ["!include " + own] if os.path.isfile(own) else []
    lines.append("[client]")
    lines += [f"{name}={quoted(str(value))}" for name, value in options if value not in (None, "")]
    return "\n".join(lines) + "\n"


def quoted(value: str) -> str:
    """A value as the servers' option files take it, with any character; see option_value()."""
    for character, escape in QUOTED.items():
        value = value.replace(character, escape)
    return f'"{value}"'


def secret_file(text: str, suffix: str = ".cnf") -> str:
    """The path of a new file that only its owner can read, in memory where a host has such a place;
    the caller deletes it.
    """
    handle, path = tempfile.mkstemp(
        prefix="dbre-semisync-", suffix=suffix, dir=MEMORY if os.path.isdir(MEMORY) else None
    )
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path


@contextlib.contextmanager
def client_file(params: Mapping[str, object]) -> Iterator[str]:
    """The path of a file of client_options(), gone afterwards."""
    path = secret_file(client_options(params))
    try:
        yield path
    finally:
        os.unlink(path)
