# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_candidate.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_candidate
short_description: Report which replica has received the most, before one is promoted
version_added: "1.0.0"
description:
  - Compares what the replicas of a cluster have received, applied or not, by GTID if all have them,
    else by file and position in the source's binary log. Reports what each lacks, what it still has
    to apply, and whether a commit may be on a replica that could not be read.
  - Promotes nothing. Fails if no replica could be read, or no single replica has everything that
    the others have.
  - Runs on the controller, once per cluster, and connects to nothing. Ignores the source.
options:
  needed:
    description: How many acknowledgements a commit waited for.
    type: int
    default: 1
  results_dir:
    description: Folder for results, in which M(dbre.semisync.semisync_verdict) keeps its last look
      at the source.
    type: path
    default: results
extends_documentation_fragment:
  - dbre.semisync.cluster
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_info
"""

EXAMPLES = r"""
- name: Read the replicas
  dbre.semisync.semisync_info:
  register: state
  failed_when: false

- name: Say which has received most
  dbre.semisync.semisync_candidate:
    info_from: state
"""

RETURN = r"""
candidates:
  description: The replicas that have everything that any replica has received, the one with the
    least left to apply first.
  returned: on the host that speaks for its cluster
  type: list
  elements: str
ranking:
  description:
    - Each replica with C(lacks) and C(to_apply), both in C(unit); null if it is more than the rest
      of a file. C(missing), the GTIDs that it lacks, on MariaDB the last of each domain; whether it
      C(receives) from a source while it is read; C(sql_running) and C(last_sql_error); whether it
      C(acknowledges); and C(how_long) applying would take, in words, if that was measured.
  returned: on the host that speaks for its cluster
  type: list
  elements: dict
measured:
  description: Whether the replicas can be compared; null if none could be read.
  returned: on the host that speaks for its cluster
  type: bool
unread:
  description: Replicas that could not be read, and why.
  returned: on the host that speaks for its cluster
  type: dict
statement:
  description: The result in sentences.
  returned: on the host that speaks for its cluster
  type: list
  elements: str
cluster:
  description: The cluster's name.
  returned: on the host that speaks for its cluster
  type: str
"""
