#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_environment
short_description: (internal) Measure the properties of a host that matter to a benchmark
version_added: "1.0.0"
description:
  - Returns processors, memory, kernel and virtualization, the latency of small synchronous writes,
    and the round trips.
  - The writes go to a temporary file, which is removed at once.
options:
  path:
    description: Folder on the file system whose latency is measured, such as the server's data
      directory. Without it nothing is written.
    type: path
  program:
    description: The server's program on this host, if there is one. Its tools are beside it or
      under O(basedir), and are looked for there before the PATH.
    type: path
  basedir:
    description: The server's variable of this name.
    type: path
  writes:
    description: How many writes of 512 bytes with O_DSYNC, as C(dd bs=512 oflag=dsync) makes them.
    type: int
    default: 200
  seconds:
    description: Maximum seconds for all writes; at least one write is made.
    type: float
    default: 5
  peers:
    description: Names or addresses to which the round trip is measured.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Writes nothing in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_load
"""

EXAMPLES = r"""
- name: See what the host is, and how fast its disk
  dbre.semisync.semisync_environment:
    path: /var/lib/mysql
    peers: ["192.0.2.11"]
"""

RETURN = r"""
environment:
  description: C(kernel), C(cpus), C(cpu), C(memory_mb), C(virtualization), and C(fsync_us) with
    C(median), C(p95), C(max) in
    microseconds and C(n); null if nothing was written.
  returned: success
  type: dict
  sample: {"kernel": "6.1.0-42-amd64", "cpus": 2, "memory_mb": 24013, "virtualization": "kvm"}
rtt_ms:
  description: The median round trip by peer, in milliseconds; null without a reply.
  returned: success
  type: dict
  sample: {"db2.example.com": 0.24}
tools:
  description: Path of each load tool, null if it is missing; and as C(driver) the Python driver
    that the modules would use.
  returned: success
  type: dict
  sample: {"mysqlslap": "/usr/bin/mysqlslap", "mariadb-slap": null, "sysbench": null, "driver":
    "pymysql"}
no_delay:
  description: Why this host cannot delay packets, which is tried in a network namespace of its own;
    empty if it can, or if that is not known.
  returned: success
  type: str
  sample: ""
dropped:
  description: Packets that netem on this host has dropped since it was added.
  returned: success
  type: int
  sample: 0
addresses:
  description: The address of each peer, as this host resolves it; null if it does not.
  returned: success
  type: dict
  sample: {"db2.example.com": "192.0.2.11"}
"""

import os
import re
import socket
import tempfile
import time
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import validity
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.netem_reader import (
    NetReader,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import round_trips
from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._host.files import text_if_any
from ansible_collections.dbre.semisync.plugins.module_utils._host.process import (
    find_tool,
    program_folders,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.login import mysql_driver

if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict

PINGS = 10
TOOLS = ("mysqlslap", "mariadb-slap", "sysbench")


class SyncedWrites(TypedDict):
    """Latencies of synchronous writes, in microseconds."""

    median: float
    p95: float
    max: float
    n: int


def write_latencies(path: str, writes: int, seconds: float) -> list[float]:
    """Microseconds of each synchronous write to a new file in a folder."""
    handle, name = tempfile.mkstemp(prefix=".semisync-", dir=path)
    os.close(handle)
    handle = os.open(name, os.O_WRONLY | os.O_DSYNC)
    times: list[float] = []
    begin = time.monotonic()
    try:
        while len(times) < writes and (not times or time.monotonic() - begin < seconds):
            before = time.perf_counter()
            os.write(handle, b"\0" * 512)
            times.append((time.perf_counter() - before) * 1e6)
    finally:
        os.close(handle)
        os.unlink(name)
    return times


def fsync(module: AnsibleModule) -> SyncedWrites | None:
    """Latencies of synchronous writes in microseconds; None if none were asked for."""
    if not module.params["path"] or module.check_mode:
        return None
    try:
        times = write_latencies(
            module.params["path"], module.params["writes"], module.params["seconds"]
        )
    except OSError as error:
        module.fail_json(msg=f"cannot write to {module.params['path']}: {error}")
    ordered = sorted(times)
    return {
        "median": round(validity.nearest_rank(ordered, 50), 1),
        "p95": round(validity.nearest_rank(ordered, 95), 1),
        "max": round(ordered[-1], 1),
        "n": len(times),
    }


def resolve(peer: str) -> str | None:
    """A peer's address, None if it has none."""
    try:
        return str(
            socket.getaddrinfo(
                peer,
                None,
                0,
                socket.SOCK_STREAM,
            )[0][4][0]
        )
    except socket.gaierror:
        return None


def find(pattern: str, path: str) -> str | None:
    """The part of a file's first line that matches; None if no line does."""
    match = re.search(pattern, text_if_any(path), re.MULTILINE)
    return match.group(1).strip() if match else None


def tools(module: AnsibleModule) -> dict[str, str | None]:
    """The paths of the load tools, None for missing ones; and the Python driver's name."""
    folders = program_folders(module.params["program"], module.params["basedir"] or "")
    paths: dict[str, str | None] = {tool: find_tool(module, (tool,), folders) for tool in TOOLS}
    paths["driver"] = mysql_driver.__name__ if mysql_driver else None
    return paths


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "program": {"type": "path"},
            "basedir": {"type": "path"},
            "writes": {"type": "int", "default": 200},
            "seconds": {"type": "float", "default": 5},
            "peers": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    detect = module.get_bin_path("systemd-detect-virt")
    memory = find(r"^MemTotal:\s+(\d+)", "/proc/meminfo")
    addresses = {peer: resolve(peer) for peer in module.params["peers"]}
    try:
        trips = round_trips(module, [each for each in addresses.values() if each], PINGS)
        host = NetReader(module)
        dropped = host.counters()["dropped"] if module.get_bin_path("tc") else 0
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=False,
        environment={
            "kernel": os.uname()[2],
            "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "cpu": find(r"^model name\s*:\s*(.+)", "/proc/cpuinfo"),
            "memory_mb": int(memory) // 1024 if memory else None,
            "virtualization": command.run(module, [detect])[1].strip() if detect else None,
            "fsync_us": fsync(module),
        },
        addresses=addresses,
        tools=tools(module),
        dropped=dropped,
        no_delay=host.why_no_delay() if module.params["peers"] else "",
        rtt_ms={
            peer: trips[address]["median"] if address else None
            for peer, address in addresses.items()
        },
    )


if __name__ == "__main__":
    main()
