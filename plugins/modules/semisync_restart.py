#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_restart.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_restart
short_description: (internal) Plan the restart or upgrade of a cluster's servers, in order
version_added: "1.1.0"
description:
  - The decisions of P(dbre.semisync.restart#role) and P(dbre.semisync.upgrade#role), in order.
  - Keeps on the controller how each server was before the run, and what the run does next, so that
    the next run finishes an interrupted one.
  - Connects to nothing.
options:
  step:
    description:
      - V(plan) judges the premises, and plans or refuses.
      - V(check) refuses what servers say against their own tables before an upgrade.
      - V(mend) decides whether the switchover of an interrupted run has anything left to do.
      - V(note) keeps what the run does next.
      - V(done) checks that every server was restarted or upgraded, keeps the record, and ends the
        run.
    type: str
    choices: [plan, check, mend, note, done]
    required: true
  working:
    description: With O(step=note), the host whose server is restarted next.
    type: str
  moving:
    description: With O(step=note), the host to which the source's role moves next.
    type: str
  hooked:
    description: With O(step=note), whether the user's tasks have changed that host's program.
    type: bool
    default: false
  upgrades:
    description: Whether the servers get the version in C(semisync_upgrade_to).
    type: bool
    default: false
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.cluster
  - dbre.semisync.cluster.results
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_switchover
"""

EXAMPLES = r"""
- name: Plan
  dbre.semisync.semisync_restart:
    step: plan
    info_from: __semisync_info
  register: __semisync_restart

- name: Note which host is next
  dbre.semisync.semisync_restart:
    step: note
    working: db2
    info_from: __semisync_info
"""

RETURN = r"""
mode:
  description:
    - V(roll); V(mend) if an interrupted run may have left a switchover, which is finished first;
      V(none) if there is nothing to do.
  returned: O(step=plan)
  type: str
cluster:
  description: The cluster's name.
  returned: O(step=plan)
  type: str
hosts:
  description: The cluster's hosts.
  returned: O(step=plan)
  type: list
  elements: str
source:
  description: The source now.
  returned: O(step=plan)
  type: str
moving:
  description: The host to which an interrupted run was moving the role, or empty.
  returned: O(step=plan)
  type: str
target:
  description: The replica to which the role moves, or empty.
  returned: O(step=plan)
  type: str
back:
  description: The host to which the role returns, or empty.
  returned: O(step=plan)
  type: str
last:
  description: Whether the source is restarted, after its role has moved.
  returned: O(step=plan)
  type: bool
returns:
  description: Whether the role returns.
  returned: O(step=plan)
  type: bool
judges:
  description: Whether the premises of a switchover are judged before the first restart.
  returned: O(step=plan)
  type: bool
checks:
  description: Whether this host's server is asked about its tables before the first turn.
  returned: O(step=plan)
  type: bool
turn:
  description: This host's turn among the replicas, from 0; -1 if it has none.
  returned: O(step=plan)
  type: int
turns:
  description: How many replicas are restarted before the role moves.
  returned: O(step=plan)
  type: int
clients:
  description: How many replicas acknowledge when all are up.
  returned: O(step=plan)
  type: int
unit:
  description: The systemd unit of this host's server.
  returned: O(step=plan)
  type: str
log:
  description: The path of its error log, or empty if that is the unit's journal.
  returned: O(step=plan)
  type: str
restarts:
  description: Whether this host's server is still to be restarted.
  returned: O(step=plan)
  type: bool
timeout:
  description: Seconds that a restarted server may take until it acknowledges.
  returned: O(step=plan)
  type: int
catch_up:
  description: Seconds that it may take to catch up.
  returned: O(step=plan)
  type: int
max_lag:
  description: Seconds that the target may lag when the role moves.
  returned: O(step=plan)
  type: int
from:
  description: The version that this host's server had before the run.
  returned: O(step=plan)
  type: str
closed:
  description: Whether this host's server must take no writes after its upgrade.
  returned: O(step=plan)
  type: bool
shutdown:
  description: The value of C(innodb_fast_shutdown) before an upgrade.
  returned: O(step=plan)
  type: int
way_back:
  description: How this host's server gets its old version again, or that it cannot.
  returned: O(step=plan)
  type: str
mark:
  description: How the servers were when the run began, and what it does.
  returned: O(step=plan)
  type: dict
mends:
  description: Whether a switchover has to be finished.
  returned: O(step=mend)
  type: bool
"""
