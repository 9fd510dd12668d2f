# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks against working on a cluster: raised, and said once in a run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import closing
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member

# A reason of at most so many characters fits into a line or two of a terminal.
SHORT = 160


class RefusedError(Exception):
    """Something speaks against working on a cluster; the message says what, for all its hosts."""


class HeldError(RefusedError):
    """This host no longer belongs to its cluster; see plans/quarantined_hosts.py."""


def untouched(task_vars: Mapping[str, Any], cluster: list[Member]) -> str:
    """How a refusal begins: nothing was changed, but PyMySQL was installed on hosts without it."""
    installed = [
        member.host
        for member in cluster
        if (task_vars["hostvars"][member.host].get("__semisync_installed") or {}).get("changed")
    ]
    but = f", but PyMySQL was installed on {', '.join(installed)}" if installed else ""
    return f"Nothing was changed{but}."


def refuse(
    task_vars: Mapping[str, Any], name: str, cluster: list[Member], wrong: list[str]
) -> None:
    """Raise RefusedError if something is wrong with a cluster."""
    if wrong:
        raise RefusedError(f"{untouched(task_vars, cluster)} Cluster {name!r}: {'; '.join(wrong)}")


def refused(text: str, host: str) -> dict[str, object]:
    """The result of a task that fails with a refusal. The first host of the cluster that gets there
    gives the reason, once in a run; the others name that host. A short reason is that of all hosts,
    because Ansible shows the place of each different one.
    """
    speaker_host, short = said_by(text, host), len(text) <= SHORT
    if speaker_host in (None, host):
        words = text if short else f"{host} says why above"
        closing.leave("", text, [f"FAILED: {words}"], False)
        return {"failed": True, "msg": text}
    pointing = f"Refused with the rest of its cluster; {speaker_host} says why."
    return {"failed": True, "msg": text if short else pointing, "refused_with": speaker_host}


def said_by(text: str, host: str) -> str | None:
    """The host whose task has already reported a text in this run; None if this host is the first,
    which then reports it.
    """
    # A folder of this run only, which all of Ansible's workers share.
    path = os.path.join(
        constants.DEFAULT_LOCAL_TMP,
        f"semisync-said-{hashlib.sha256(text.encode('utf-8')).hexdigest()}",
    )
    try:
        os.symlink(host, path)
    except FileExistsError:
        return os.readlink(path)
    except OSError:
        # Twice is better than never.
        pass
    return None
