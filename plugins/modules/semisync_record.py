# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The documentation of plugins/action/semisync_record.py; there is no code here.

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_record
short_description: Keep a checkpoint that can be seen only once
version_added: "0.1.0"
description:
  - The baseline before semi-sync (P2.1) and the client count before the first replica (P3.5) cannot be seen again later.
    They are kept on the controller, with the server they were seen on, for every later table of checkpoints.
  - Runs on the controller and connects to nothing.
options:
  id:
    description: The checkpoint.
    type: str
    choices: [P2.1, P3.5]
    required: true
  observed:
    description: What was seen.
    type: str
    required: true
  passed:
    description: Whether that is what the checkpoint asks for.
    type: bool
    required: true
  results_dir:
    description: Folder for results. Nothing is written in check mode.
    type: path
    default: results
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_verdict
"""

EXAMPLES = r"""
- name: Keep the client count
  dbre.semisync.semisync_record:
    id: P3.5
    observed: "{{ state.semisync.source.status.clients }}"
    passed: "{{ state.semisync.source.status.clients | int == 0 }}"
    info_from: state
"""

RETURN = r"""
checkpoint:
  description: What was kept.
  returned: success
  type: dict
"""
