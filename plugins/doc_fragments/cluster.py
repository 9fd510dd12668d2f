# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Where actions on the controller find what the hosts of a cluster said, and where they keep
    results.
    """

    DOCUMENTATION = r"""
options:
  info_from:
    description: Name of the variable that holds each host's registered
      M(dbre.semisync.semisync_info) result.
    type: str
    required: true
"""

    RESULTS = r"""
options:
  results_dir:
    description: Folder for results. Nothing is written in check mode.
    type: path
    default: results
  run:
    description: Name of a run's folder in the cluster's, such as V(2026-01-31T120000.000000Z), that
      the results are added to; a new one by default.
    type: str
"""
