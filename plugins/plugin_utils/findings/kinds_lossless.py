# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of a cluster that promises to be lossless (semisync_promise)."""

from __future__ import annotations

from ansible_collections.dbre.semisync.plugins.plugin_utils.findings.manuals import (
    MARIADB,
    SERVER_VARIABLES,
    SOURCE_VARIABLES,
    Kind,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils.words import CRITICAL, WARNING

TABLE = {
    "promise_not_kept": Kind(
        CRITICAL,
        "The promise lossless does not hold",
        "The inventory promises that no commit is confirmed that only one host has. With these"
        " values one may be: the source goes on alone, or an acknowledged commit is lost with a"
        " replica's power.",
        (SOURCE_VARIABLES, MARIADB),
        "Run site.yml, which sets what semisync_promise needs; or promise available.",
    ),
    "writers_frozen": Kind(
        CRITICAL,
        "Writers wait, because too few replicas acknowledge",
        "That is what lossless promises: no commit is confirmed that no replica has. Writers go on"
        " by themselves when a replica is back; their commits are not lost.",
        (SOURCE_VARIABLES, MARIADB),
        "Bring a replica back. Do not stop the source's server, and do not switch semi-sync off:"
        " both confirm what waits, which no replica has. docs/night-frozen-writers.md has the ways"
        " out.",
    ),
    "source_closed": Kind(
        CRITICAL,
        "The source takes no writes",
        "A lossless member starts read-only, so that a source which comes back after another has"
        " taken over confirms nothing. After a restart nobody has let writers in again.",
        SERVER_VARIABLES,
        "Run site.yml: it lets writers in where servers and journal agree that this is the source.",
    ),
    "starts_writable": Kind(
        WARNING,
        "The server takes writes after its next start",
        "A source that comes back after another has taken over takes writes beside it, until"
        " somebody sees that there are two.",
        SERVER_VARIABLES,
        "Run site.yml, which writes read_only = ON into the option file of every lossless member.",
    ),
}
