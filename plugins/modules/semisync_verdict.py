# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The documentation of plugins/action/semisync_verdict.py; there is no code here.

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_verdict
short_description: Assert the checkpoints of a cluster and look for what endangers it
version_added: "0.1.0"
description:
  - Decides the checkpoints P0 to P5 from what the servers said, prints them as a table, writes C(checkpoints.json) on the
    controller, and fails when one of them failed.
  - Looks for findings and keeps them in C(findings.json) beside it; fails when one is critical.
  - Keeps the source's counters in C(state.json) of the cluster's folder, to say what happened since the last run.
  - Acts once a cluster, on the first of its hosts that is still in the play, and is skipped on the others.
  - Runs on the controller and connects to nothing.
options:
  written_from:
    description: Name of the variable with the source's M(dbre.semisync.semisync_canary) result; left out when no row was
      written.
    type: str
  arrived_from:
    description: Name of the variable with each replica's M(dbre.semisync.semisync_info) result, asked with its option
      O(dbre.semisync.semisync_info#module:watcher).
    type: str
  lag_limit:
    description: Seconds a replica may be behind its source before that is a finding.
    type: int
    default: 60
  promise:
    description: What the inventory wants of semi-sync on the source; a running value that differs is a finding. Taken from
      the source's task; a value that is left out is not compared.
    type: dict
    suboptions:
      timeout:
        description: Milliseconds a commit waits for its acknowledgements.
        type: int
      wait_point:
        description: V(AFTER_SYNC) or V(AFTER_COMMIT).
        type: str
      wait_for_replica_count:
        description: Acknowledgements a commit waits for.
        type: int
      wait_no_replica:
        description: Whether commits wait when fewer replicas are connected.
        type: bool
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.cluster.results
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_canary
"""

EXAMPLES = r"""
- name: Read the server
  dbre.semisync.semisync_info:
  register: state

- name: Assert what can be read
  dbre.semisync.semisync_verdict:
    info_from: state
"""

RETURN = r"""
checkpoints:
  description: A row a checkpoint, as in checkpoints.json.
  returned: when the host speaks for its cluster
  type: list
  elements: dict
findings:
  description: What endangers the cluster, as in findings.json, the worst first.
  returned: when the host speaks for its cluster
  type: list
  elements: dict
  sample:
    - id: replica_writable
      severity: info
      host: db2
      title: The replica takes writes of its own
      evidence: read_only is OFF
      why: A row that is written on the replica by mistake is not on the source.
      source: https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html
      remedy: SET GLOBAL read_only = ON
verdict:
  description: How many passed and failed, and which failed.
  returned: when the host speaks for its cluster
  type: str
  sample: "16 passed, 0 failed, 2 not applicable"
path:
  description: Where checkpoints.json was written, null in check mode.
  returned: when the host speaks for its cluster
  type: str
"""
