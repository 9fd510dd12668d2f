# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_benchmark.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_benchmark
short_description: (internal) Run a suite of load cells on a cluster
version_added: "1.0.0"
description:
  - Runs a suite cell by cell, one step per call. Use the role C(dbre.semisync.benchmark), which
    makes the calls in order.
  - V(plan) reads the suite, states how long it will take, and begins C(benchmark-SUITE.json) or
    resumes that of an interrupted run. All other parts take the suite from there. V(prepare), on
    the source and the replicas, sets replication, durability, wait point, timeout and delay for a
    step. V(measure), on the host that runs the load, runs the cell once, records it, and shows a
    line with its figure, its share of the limit and the time left. V(confirm), on the source if the
    load comes from another host, checks that netem dropped nothing meanwhile. V(restore), on all
    hosts, restores everything. V(finish), on the source, writes the result, and the checkpoints
    P8.1 to P8.5 if the suite has them.
options:
  do:
    description: The part.
    type: str
    choices: [plan, prepare, measure, confirm, restore, finish]
    required: true
  suite:
    description: Name of one of the collection's suites, or the path of a file. Required with
      O(do=plan), the only part that reads it.
    type: str
  suite_folders:
    description: Folders with the suites that can be given by name.
    type: list
    elements: path
    default: []
  profile:
    description: V(quick) runs the suite's shorter profile of that name.
    type: str
    choices: [full, quick]
    default: full
  repetitions:
    description: How often each cell is run; V(0) for the suite's own number.
    type: int
    default: 0
  resume:
    description: Whether to resume an interrupted run of the same suite on the same servers.
    type: bool
    default: true
  environment_from:
    description: Name of the variable with each host's M(dbre.semisync.semisync_environment) result.
      Required with V(plan), V(prepare), V(measure) and V(restore).
    type: str
  plan_from:
    description: Name of the variable with the result of O(do=plan). Required with all other parts.
    type: str
  measured_from:
    description: Name of the variable with the result of O(do=measure). Required with O(do=prepare),
      which sets up everything again after an invalid run.
    type: str
  confirmed_from:
    description: Name of the variable with the result of O(do=confirm). Required with that part.
    type: str
  restored_from:
    description: Name of the variable with the result of O(do=restore). Required with O(do=finish).
    type: str
  step:
    description: One of the steps that O(do=plan) returned. Required with V(prepare), V(measure) and
      V(confirm).
    type: dict
  pings:
    description: With O(do=restore), how many echo requests measure the round trip afterwards.
    type: int
    default: 0
  login:
    description: Login options of the modules.
    type: dict
    default: {}
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.cluster
  - dbre.semisync.cluster.results
  - dbre.semisync.attributes
attributes:
  check_mode:
    support: partial
    details:
      - V(plan) reports what would be run; the role runs nothing else in check mode.
  diff_mode:
    support: none
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_load
  - module: dbre.semisync.semisync_setting
  - module: dbre.semisync.netem
"""

EXAMPLES = r"""
- name: See what a suite would do
  dbre.semisync.semisync_benchmark:
    do: plan
    suite: files/our-suite.yml
    info_from: state
    environment_from: environment
  register: plan
"""

RETURN = r"""
steps:
  description: The runs that are left to do.
  returned: O(do=plan) on the source
  type: list
  elements: dict
path:
  description: C(benchmark-SUITE.json); null in check mode.
  returned: O(do=plan) and O(do=finish)
  type: str
expected_seconds:
  description: How long it will take.
  returned: O(do=plan) on the source
  type: int
source:
  description: The cluster's source.
  returned: O(do=plan)
  type: str
client:
  description: The host that the load runs on.
  returned: O(do=plan) on the source
  type: str
schema:
  description: The schema of the load, which is created for this run and dropped after it.
  returned: O(do=plan) on the source
  type: str
run:
  description: Name of the run's folder; null in check mode.
  returned: O(do=plan) on the source
  type: str
setting:
  description: The result of M(dbre.semisync.semisync_setting).
  returned: O(do=prepare) if it was called, and O(do=restore)
  type: dict
netem:
  description: The result of M(dbre.semisync.netem).
  returned: O(do=prepare) and O(do=restore), if it was called
  type: dict
dropped:
  description: Packets that netem on the source has dropped since it was added.
  returned: O(do=confirm)
  type: int
valid:
  description: Whether the run counts.
  returned: O(do=measure)
  type: bool
reason:
  description: Why not.
  returned: O(do=measure)
  type: str
checkpoints:
  description: P8.1 to P8.5, as far as the suite has them, as in checkpoints.json.
  returned: O(do=finish)
  type: list
  elements: dict
statement:
  description: The benchmark's result, in sentences.
  returned: O(do=finish)
  type: list
  elements: str
invalid:
  description: Labels of cells that do not count.
  returned: O(do=finish)
  type: list
  elements: str
"""
