# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_report.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_report
short_description: Write the report of a run
version_added: "1.0.0"
description:
  - Writes C(report.html) and C(summary.md) into a run's folder on the controller, from the run's
    C(checkpoints.json), C(findings.json), C(heartbeat.json), C(switchover.json),
    C(certificate.json), C(rejoin.json), C(drill.json) and C(benchmark-*.json), as far as they
    exist. Shows the table of all checkpoints of the run, and the path.
  - If the run changed the source's role, the report shows which host could write when, and which
    wrote rows of the heartbeat, from the records of all of the cluster's runs up to this one.
  - C(report.html) is one self-contained page. It makes no requests and runs no scripts.
  - Acts once per cluster, on its source or else on the first of its hosts that is still in the
    play, and is skipped on the others and in check mode.
  - Runs on the controller and connects to nothing.
requirements:
  - matplotlib 3.6 or later on the controller, for C(report.html). Without it only C(summary.md) is
    written, and one line names what to install.
options:
  results_dir:
    description: Folder for results.
    type: path
    default: results
  run:
    description: Name of the run's folder in the cluster's, such as V(2026-01-31T120000.000000Z); by
      default the one that C(latest) points at.
    type: str
  info_from:
    description: Name of the variable that holds each host's registered
      M(dbre.semisync.semisync_info) result, which identifies the source; without it the inventory's
      group does.
    type: str
    default: ''
extends_documentation_fragment:
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_verdict
"""

EXAMPLES = r"""
- name: Make the report of the newest run
  dbre.semisync.semisync_report:

- name: Make the report of a run
  dbre.semisync.semisync_report:
    results_dir: /srv/semisync/results
    run: 2026-01-31T120000.000000Z
"""

RETURN = r"""
path:
  description: Where report.html was written, null if matplotlib is missing.
  returned: when the host speaks for its cluster
  type: str
summary:
  description: Where summary.md was written.
  returned: when the host speaks for its cluster
  type: str
folder:
  description: The run's folder.
  returned: when the host speaks for its cluster
  type: str
verdict:
  description: The report's headline.
  returned: when the host speaks for its cluster
  type: str
  sample: Semi-synchronous replication works
missing:
  description: What to do to get report.html, null if it was written.
  returned: when the host speaks for its cluster
  type: str
  sample: pip install matplotlib
cluster:
  description: The cluster's name.
  returned: when the host speaks for its cluster
  type: str
"""
