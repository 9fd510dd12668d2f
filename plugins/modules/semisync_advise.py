#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_advise
short_description: (internal) Predict from a running source what semi-sync would cost
version_added: "1.1.0"
description:
  - Reads the source's counters twice and its sessions in between, and pings the replicas. From that
    the controller predicts the rate and the latency of commits with semi-sync, for each replica and
    wait point, and says which timeout and wait count fit.
  - Only reads. A prediction is written to C(advice.json) of the run.
  - Runs on the source of a cluster and skips the other hosts.
options:
  seconds:
    description: How long the source is watched.
    type: float
    default: 10
  peers:
    description: Addresses to which the round trip is measured. The action sets them.
    type: list
    elements: str
    default: []
  results_dir:
    description: Folder for results.
    type: path
    default: results
  info_from:
    description: Name of the variable with each host's M(dbre.semisync.semisync_info) result.
    type: str
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Writes no file in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_load
"""

EXAMPLES = r"""
- name: Read the servers
  dbre.semisync.semisync_info:
  register: state

- name: Say what semi-sync would cost
  dbre.semisync.semisync_advise:
    info_from: state
"""

RETURN = r"""
sample:
  description:
    - C(seconds) between two readings, and how far the counters rose, C(commits) in the binary log
      and their C(bytes), C(groups) in which they were committed, C(lock_waits) for rows.
    - C(writers) are the sessions that changed rows, and C(log_busy) is the share of the time in
      which the binary log was written or synchronized, both by performance_schema; null if it does
      not have them.
    - C(sessions) are those seen at work or idle for no more than a second, C(working) how many of
      them were at work on average, C(answer_ms) how long a trivial query took.
    - C(cpus) and their C(idle) share, the C(semisync) status, and the round C(trips) by address.
  returned: on the source
  type: dict
advice:
  description: What C(advice.json) has.
  returned: on the source, if the cluster could be read
  type: dict
path:
  description: The path of C(advice.json).
  returned: if it was written
  type: str
run:
  description: The name of the run's folder.
  returned: if it was written
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench import sampling
from ansible_collections.dbre.semisync.plugins.module_utils._bench.ping import round_trips
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

PINGS = 20


def take_sample(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    trips = round_trips(module, module.params["peers"], PINGS)
    before = sampling.read_counters(server, names)
    seen = sampling.watch(server, module.params["seconds"])
    after = sampling.read_counters(server, names)
    return {"changed": False, "sample": sampling.make_sample(before, after, seen, trips)}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            seconds={"type": "float", "default": 10},
            peers={"type": "list", "elements": "str", "default": []},
            results_dir={"type": "path", "default": "results"},
            info_from={"type": "str"},
        ),
        supports_check_mode=True,
    )
    connection.work(module, take_sample, "the source could not be watched")


if __name__ == "__main__":
    main()
