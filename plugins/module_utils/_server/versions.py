# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engine a server is and of which version, from what it says of itself."""

from __future__ import annotations

import re

OLDEST = {"mysql": (5, 5, 0), "percona": (5, 5, 0), "mariadb": (5, 5, 0)}


class UnknownServerError(ValueError):
    """The server is none that this collection knows, or too old for semi-sync; the text says so."""


def parse_version(version: str) -> tuple[int, int, int]:
    """The leading numbers of a version string: '5.5.5-10.11.14-MariaDB-log' gives (10, 11, 14).

    MariaDB announces itself with a '5.5.5-' prefix to old clients; it is not the version.
    """
    text = re.sub(r"^5\.5\.5-(?=\d+\.\d+)", "", version)
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if not match:
        raise UnknownServerError(f"the server's version {version!r} has no number in it")
    major, minor, patch = (int(part or 0) for part in match.groups())
    return major, minor, patch


def identify_version(version: str, comment: str = "") -> tuple[str, tuple[int, int, int]]:
    """Engine and version of a server from its @@version and @@version_comment.

    Args:
        version: text of @@version.
        comment: text of @@version_comment.

    Returns:
        (engine, version) with engine one of mysql, percona, mariadb and version a tuple of three
        integers.

    Raises:
        UnknownServerError: for a fork that has no semi-sync of its own, or a version before 5.5.
    """
    lowered = (f"{version} {comment}").lower()
    for fork in ("tidb", "aurora", "oceanbase", "vitess", "singlestore", "polardb"):
        if fork in lowered:
            raise UnknownServerError(
                f"the server says it is {version} ({comment}), which has no semi-synchronous"
                " replication of this kind"
            )
    number = parse_version(version)
    if "mariadb" in lowered:
        engine = "mariadb"
    elif "percona" in lowered:
        engine = "percona"
    elif number[0] in (5, 8, 9):
        engine = "mysql"
    else:
        raise UnknownServerError(
            f"the server's version {version!r} ({comment}) is neither MySQL, Percona Server nor"
            " MariaDB"
        )
    if number < OLDEST[engine]:
        raise UnknownServerError(
            f"{engine} {version} is too old: semi-synchronous replication begins with"
            f" {'.'.join(str(n) for n in OLDEST[engine][:2])}"
        )
    return engine, number
