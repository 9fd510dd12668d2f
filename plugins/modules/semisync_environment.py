#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_environment
short_description: What a host brings to a benchmark, its disk's and its network's latency measured
version_added: "0.1.0"
description:
  - Returns processors, memory, kernel and virtualization, the latency of small synchronous writes, and the round trips.
  - The writes go to a file of the module's own, which is removed at once.
options:
  path:
    description: Folder on the file system whose latency is measured, such as the server's data directory. Nothing is written
      where this is left out.
    type: path
  writes:
    description: How many writes of 512 bytes with O_DSYNC, as C(dd bs=512 oflag=dsync) makes them.
    type: int
    default: 200
  seconds:
    description: Seconds the writes may take at most; at least one is made.
    type: float
    default: 5
  peers:
    description: Names or addresses to which the round trip is measured.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
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
  description: C(kernel), C(cpus), C(cpu), C(memory_mb), C(virtualization), and C(fsync_us) with C(median), C(p95), C(max) in
    microseconds and C(n); null where nothing was written.
  returned: success
  type: dict
  sample: {"kernel": "6.1.0-42-amd64", "cpus": 2, "memory_mb": 24013, "virtualization": "kvm"}
rtt_ms:
  description: The median round trip by peer, in milliseconds; null where nothing answered.
  returned: success
  type: dict
  sample: {"db2.example.com": 0.24}
tools:
  description: Where each load tool is, null where it is not; and which Python driver the modules would use as C(driver).
  returned: success
  type: dict
  sample: {"mysqlslap": "/usr/bin/mysqlslap", "mariadb-slap": null, "sysbench": null, "driver": "pymysql"}
dropped:
  description: Packets that netem on this host has dropped since it was put on.
  returned: success
  type: int
  sample: 0
addresses:
  description: The address of each peer, as this host resolves it; null where it does not.
  returned: success
  type: dict
  sample: {"db2.example.com": "192.0.2.11"}
"""

import os
import re
import socket
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import load, netem_host, netem_wanted
from ansible_collections.dbre.semisync.plugins.module_utils.login import mysql_driver

PINGS = 10
TOOLS = ("mysqlslap", "mariadb-slap", "sysbench")
NO_DELAY = {"delay_ms": 0, "jitter_ms": 0, "loss": 0, "rate": None, "limit": 0}


def write_latencies(path, writes, seconds):
    """Microseconds of each synchronous write to a new file in a folder."""
    handle, name = tempfile.mkstemp(prefix=".semisync-", dir=path)
    os.close(handle)
    handle = os.open(name, os.O_WRONLY | os.O_DSYNC)
    times, begin = [], time.time()
    try:
        while len(times) < writes and (not times or time.time() - begin < seconds):
            before = time.time()
            os.write(handle, b"\0" * 512)
            times.append((time.time() - before) * 1e6)
    finally:
        os.close(handle)
        os.unlink(name)
    return times


def fsync(module):
    if not module.params["path"] or module.check_mode:
        return None
    try:
        times = write_latencies(module.params["path"], module.params["writes"], module.params["seconds"])
    except (IOError, OSError) as error:
        module.fail_json(msg="cannot write to %s: %s" % (module.params["path"], error))
    found = load.latencies(times)
    return {"median": round(found["p50"], 1), "p95": round(found["p95"], 1), "max": round(found["max"], 1), "n": len(times)}


def resolve(peer):
    try:
        return socket.getaddrinfo(peer, None, 0, socket.SOCK_STREAM)[0][4][0]
    except socket.gaierror:
        return None


def find(pattern, path):
    match = re.search(pattern, netem_host.read_text(path), re.M)
    return match.group(1).strip() if match else None


def tools(module):
    found = dict((tool, module.get_bin_path(tool)) for tool in TOOLS)
    return dict(found, driver=mysql_driver.__name__ if mysql_driver else None)


def main():
    module = AnsibleModule(
        argument_spec=dict(
            path=dict(type="path"),
            writes=dict(type="int", default=200),
            seconds=dict(type="float", default=5),
            peers=dict(type="list", elements="str", default=[]),
        ),
        supports_check_mode=True,
    )
    detect = module.get_bin_path("systemd-detect-virt")
    memory = find(r"^MemTotal:\s+(\d+)", "/proc/meminfo")
    addresses = dict((peer, resolve(peer)) for peer in module.params["peers"])
    network = netem_host.Host(module)
    try:
        trips = network.ping([each for each in addresses.values() if each], PINGS, NO_DELAY)
    except netem_wanted.Refused as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, environment={
        "kernel": os.uname()[2],
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu": find(r"^model name\s*:\s*(.+)", "/proc/cpuinfo"),
        "memory_mb": int(memory) // 1024 if memory else None,
        "virtualization": module.run_command([detect])[1].strip() if detect else None,
        "fsync_us": fsync(module),
    }, addresses=addresses, tools=tools(module), dropped=network.counters()["dropped"] if module.get_bin_path("tc") else 0,
        rtt_ms=dict((peer, trips[address]["median"] if address else None) for peer, address in addresses.items()))


if __name__ == "__main__":
    main()
