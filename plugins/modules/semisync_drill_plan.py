# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The documentation of plugins/action/semisync_drill_plan.py; there is no code here.

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_drill_plan
short_description: Refuse a drill that must not be, and plan the others
version_added: "0.1.0"
description:
  - Decides from what the servers of a cluster said whether its replicas can be stopped one after another, and what the source
    is to do then.
  - Refuses a run about more than one cluster, a cluster with a host that was not read, a semi-sync timeout longer than
    O(max_block), and a server that belongs to no systemd unit.
  - Runs on the controller, on the cluster's source, and connects to nothing.
options:
  replica:
    description: The replica to drill. Empty means one after another.
    type: str
    default: ""
  max_block:
    description: Seconds that writers may be blocked.
    type: float
    default: 15
  rescue_after:
    description: Seconds, beside the timeout, after which a timer on the replica's host starts its server.
    type: int
    default: 120
  interval:
    description: Seconds between inserts.
    type: float
    default: 0.1
  rows:
    description: Inserts in a row that must be alike.
    type: int
    default: 5
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_drill_verdict
"""

EXAMPLES = r"""
- name: Plan
  dbre.semisync.semisync_drill_plan:
    info_from: state
    max_block: 5
"""

RETURN = r"""
drills:
  description:
    - A drill a replica, with C(replica), C(source), C(unit), C(timeout_ms), the acknowledgements a commit needs (C(needed)),
      the C(clients) there are, and C(expected_fallback), which is false where the other replicas are enough.
  returned: success
  type: list
  elements: dict
"""
