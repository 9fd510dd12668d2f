# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a seeding on its replica: one at a time, recorded, and not done twice."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._seed import stream
from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker import (
    ended_since,
    patiently,
    read_marker,
)
from ansible_collections.dbre.semisync.plugins.module_utils._seed.marker_writing import Marker
from ansible_collections.dbre.semisync.plugins.module_utils._seed.replica import Replica
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

DECLINE_SECONDS = 5


def names_and_port(module: AnsibleModule) -> tuple[Names, str]:
    """What the replica's server calls things, and its port."""
    server = connection.Server(login.connect(module))
    return connection.identify(server), server.variables()["port"] or ""


def decline(params: Mapping[str, object]) -> None:
    """Tell the source that its stream will not be fetched, so that its port is free for the next
    replica.
    """
    if params["method"] == "clone":
        return
    # It may already have given up.
    with contextlib.suppress(stream.StreamError):
        stream.connect(
            str(params["source_host"]),
            int(str(params["port"])),
            str(params["certificate"]),
            str(params["token"]),
            DECLINE_SECONDS,
        ).close()


def seed(module: AnsibleModule, names: Names, port: str) -> tuple[Marker, bool]:
    """Seed, unless a seeding has ended since this one was planned; returns the marker and whether
    anything was done.
    """
    params, began = module.params, time.monotonic()
    marker = Marker(port, source=params["source"], method=params["method"])
    marker.hold()
    before = read_marker(port)
    if ended_since(before, params["seen_at"]):
        marker.facts = dict(before or {})
        decline(params)
        return marker, False
    loading = before is not None and before.get("state") == "loading"
    if before and loading and "plugins" in before:
        marker.facts["plugins"] = before["plugins"]
    marker.write(
        state="loading" if loading else "copying",
        stage="starts",
        began=time.time(),
        bytes=0,
        total=params["expected_bytes"],
    )
    replica = Replica(module, marker, names)
    {"clone": replica.clone, "backup": replica.backup, "dump": replica.dump}[params["method"]]()
    marker.facts.pop("plugins", None)
    seconds = round(time.monotonic() - began, 1)
    marker.write(state="done", stage="done", caught_up=False, seconds=seconds)
    return marker, True


def take(module: AnsibleModule) -> dict[str, object]:
    """Replace the replica's data with a copy of the source's; see part take of semisync_seed.

    Raises:
        SeedError: it failed.
    """
    params = module.params
    login.require_driver(module)
    try:
        names, port = patiently(lambda: names_and_port(module))
    except ValueError as error:
        module.fail_json(msg=str(error), reason="login")
    except ServerError as error:
        module.fail_json(msg=login.explain(error, params), reason="login")
    try:
        marker, changed = seed(module, names, port)
    except (SeedError, stream.StreamError) as error:
        raise SeedError(
            f"seeding from {params['source']} by {params['method']} failed: {error}"
        ) from error
    return {
        "changed": changed,
        "bytes": marker.facts["bytes"],
        "seconds": marker.facts["seconds"],
    }
