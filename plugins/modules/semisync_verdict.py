# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_verdict.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_verdict
short_description: Assert the checkpoints of a cluster and look for risks to it
version_added: "0.1.0"
description:
  - Decides the checkpoints P0 to P5 from what the servers reported, prints those that failed or
    could not be seen, with C(-v) all, writes C(checkpoints.json) on the controller, and fails if
    one of them failed, or could not be seen.
  - The last line of the run, after Ansible's recap, is the verdict, with the playbook to run next.
  - Looks for findings and keeps them in C(findings.json) beside it; fails if one is critical.
  - It is a finding if the source's running timeout, wait point, number of acknowledgements or
    wait_no_replica differs from C(semisync_timeout) and the other variables, as far as they are
    set.
  - Keeps the source's counters in C(state.json) of the cluster's folder, to report what happened
    since the last run.
  - Acts once per cluster, on the first of its hosts that is still in the play, and is skipped on
    the others.
  - Runs on the controller and connects to nothing.
options:
  written_from:
    description: Name of the variable with the source's M(dbre.semisync.semisync_canary) result;
      omitted if no row was written. What the replicas saw of it is in their
      M(dbre.semisync.semisync_info) results, with the option
      O(dbre.semisync.semisync_info#module:watcher).
    type: str
  failover_limit:
    description: Seconds that a failover may wait for a replica to apply its backlog.
    version_added: "1.0.0"
    type: float
    default: 60
  lag_limit:
    description: Seconds that a replica may lag before that is a finding.
    version_added: "1.0.0"
    type: int
    default: 60
  planned:
    description: Whether this run has only shown what it would change. Nothing is judged then; the
      last lines of the run say so.
    version_added: "1.1.0"
    type: bool
    default: false
  observation:
    description: Decides nothing, and records a checkpoint that cannot be seen again later, with the
      server it was seen on, for every later table of checkpoints.
    version_added: "1.0.0"
    type: dict
    suboptions:
      id:
        description: The checkpoint, V(P2.1) for the baseline before semi-sync or V(P3.5) for the
          client count before the first replica.
        type: str
        choices: [P2.1, P3.5]
        required: true
      observed:
        description: What was seen.
        type: str
        required: true
      passed:
        description: Whether that is what the checkpoint requires.
        type: bool
        required: true
  drill:
    description: Decides the checkpoints P6 and P7 of one drill instead, how long writers were
      blocked, how many transactions were unprotected, and how long the recovery took. Adds them to
      C(checkpoints.json) and C(drill.json) of a run, and fails if one of them failed. A part of the
      role C(drill); its options change without notice.
    version_added: "1.0.0"
    type: dict
    suboptions:
      plan:
        description: One drill of M(dbre.semisync.semisync_plan) with its goal V(drill).
        type: dict
        required: true
      rows:
        description: The rows of M(dbre.semisync.semisync_pulse).
        type: list
        elements: dict
        default: []
      stopped:
        description: The result of M(dbre.semisync.semisync_unit) after the stop.
        type: dict
        default: {}
      returned:
        description: The result of M(dbre.semisync.semisync_unit) after the drill's own start.
        type: dict
        default: {}
      started:
        description: The result of M(dbre.semisync.semisync_unit) after the start that ends every
          drill.
        type: dict
        default: {}
      reason:
        description: Why the drill was aborted.
        type: str
        default: ""
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

- name: Keep the client count before the first replica
  dbre.semisync.semisync_verdict:
    info_from: state
    observation:
      id: P3.5
      observed: "{{ state.semisync.source.status.clients }}"
      passed: "{{ state.semisync.source.status.clients | int == 0 }}"
"""

RETURN = r"""
checkpoints:
  description: A row per checkpoint, as in checkpoints.json.
  returned: when the host speaks for its cluster, and the task registers its result
  type: list
  elements: dict
findings:
  description: Risks to the cluster, as in findings.json, the worst first.
  returned: when the host speaks for its cluster, and the task registers its result
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
health:
  description: V(healthy) if all was seen and nothing is wrong; V(unhealthy) if a checkpoint failed
    or a finding is critical; V(unknown) if neither is the case, and a checkpoint could not be seen.
  returned: when the host speaks for its cluster
  type: str
verdict:
  description: How many passed and failed, and which failed or could not be seen.
  returned: when the host speaks for its cluster
  type: str
  sample: "16 passed, 0 failed, 2 not applicable"
path:
  description: Where checkpoints.json was written, with O(drill) drill.json; null in check mode.
  returned: when the host speaks for its cluster, or with O(drill)
  type: str
cluster:
  description: The cluster's name.
  returned: when the host speaks for its cluster, or with O(drill)
  type: str
drill:
  description: The drill as in drill.json.
  returned: with O(drill)
  type: dict
checkpoint:
  description: The checkpoint that was recorded.
  returned: with O(observation)
  type: dict
refused_with:
  description: The host that says why the cluster was refused.
  returned: on failure, if another host reports it
  type: str
"""
