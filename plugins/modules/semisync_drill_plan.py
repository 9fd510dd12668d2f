# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_drill_plan.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_drill_plan
short_description: (internal) Decide whether the drill may run, and plan it
version_added: "0.1.0"
description:
  - Decides from what the servers of a cluster said whether its replicas can be stopped one after
    another, and what the source is to do then.
  - Refuses a cluster with a host that was not read or has failed in this run, or of which it is not
    clear who is the source, a semi-sync timeout longer than C(semisync_drill_max_block), and a
    server that belongs to no systemd unit.
  - Runs on the controller and connects to nothing.
extends_documentation_fragment:
  - dbre.semisync.internal
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
"""

RETURN = r"""
drills:
  description:
    - A drill per replica, with C(replica), C(source), C(unit), C(timeout_ms), the acknowledgements
      that a commit needs (C(needed)), the C(clients) there are, whether the source C(waits) where
      it has fewer than it needs, and C(expected_fallback), which is false where the other replicas
      are enough.
  returned: success
  type: list
  elements: dict
source:
  description: The cluster's source, on which the drill runs.
  returned: success
  type: str
cluster:
  description: The cluster's name.
  returned: success
  type: str
"""
