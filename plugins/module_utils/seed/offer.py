# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the source's sender, a job of its own, is waiting for its replica or has failed."""

from __future__ import annotations

import json
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils.host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils.seed.stream import (
    StreamError,
    answers,
)

POLL_SECONDS = 0.2


def ending(path: str) -> str:
    """Why a job has ended, from what Ansible keeps of it; empty while it has not.

    Args:
        path: the file of an async task's result.
    """
    try:
        with open(path) as handle:
            result = json.load(handle)
    except (OSError, ValueError):
        return ""  # it is being written at this moment
    if not result.get("finished") and not result.get("failed"):
        return ""
    words = [result.get("msg"), result.get("module_stderr"), result.get("stderr")]
    return next((str(text).strip() for text in words if text), "it ended without a word")


def offered(module: AnsibleModule) -> dict[str, object]:
    """Wait until the sender listens; see part offered of semisync_seed.

    Raises:
        StreamError: it has ended, or does not listen in time.
    """
    params, begin = module.params, time.monotonic()

    def look() -> tuple[bool, str]:
        return answers(params["port"], params["certificate"]), ending(params["job"])

    listens, ended = wait_until(look, params["wait"], POLL_SECONDS, enough=any)
    if not listens:
        late = f"its sender does not listen on port {params['port']} after {params['wait']} s"
        raise StreamError(f"the source cannot send its data by {params['method']}: {ended or late}")
    return {"changed": False, "seconds": round(time.monotonic() - begin, 1)}
