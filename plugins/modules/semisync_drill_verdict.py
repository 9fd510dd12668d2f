# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_drill_verdict.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_drill_verdict
short_description: (internal) Decide and keep the checkpoints P6 and P7 of one drill
version_added: "0.1.0"
description:
  - Decides from the rows that were written during a drill, and from what systemd said on the
    replica, the checkpoints P6 and P7, how long writers were blocked, how many transactions went
    out unprotected, and how long the recovery took.
  - Adds them to C(checkpoints.json) and C(drill.json) of a run, and fails when one of them failed.
  - Runs on the controller and connects to nothing.
options:
  drill:
    description: One drill of M(dbre.semisync.semisync_drill_plan).
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
  started:
    description: The result of M(dbre.semisync.semisync_unit) after the start.
    type: dict
    default: {}
  reason:
    description: Why the drill was broken off.
    type: str
    default: ""
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.cluster.results
  - dbre.semisync.attributes
attributes:
  check_mode:
    support: none
  diff_mode:
    support: none
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_pulse
  - module: dbre.semisync.semisync_unit
"""

EXAMPLES = r"""
- name: Decide
  dbre.semisync.semisync_drill_verdict:
    drill: "{{ plan.drills[0] }}"
    rows: "{{ pulse.rows }}"
    stopped: "{{ stopped }}"
    started: "{{ started }}"
"""

RETURN = r"""
result:
  description: The drill as in drill.json.
  returned: success
  type: dict
path:
  description: Where drill.json was written.
  returned: success
  type: str
cluster:
  description: The cluster's name.
  returned: success
  type: str
"""
