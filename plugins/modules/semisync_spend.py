#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# What the controller keeps is written by plugins/action/semisync_spend.py.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_spend
short_description: (internal) Invalidate the last look at a source
version_added: "1.1.0"
description:
  - Runs on a source before a change of its timeout, wait point, wait count, of what it does without
    replicas, or of whether it waits at all.
  - Marks the last look that C(verify.yml) kept on the controller, and writes a row into the
    cluster's journal if semi-sync is enabled there, so that the look of another controller no
    longer counts either.
  - Fails if no replica acknowledges that row in time, or it cannot be written, except on a server
    that is read-only. The module waits for a source that gives up its own wait within a minute.
  - Runs again after the change, with O(done=true). A look between the two rows, or after a run that
    was interrupted between them, proves nothing about later commits.
options:
  reason:
    description: What changes, in words.
    type: str
    required: true
  done:
    description: Whether the change is made.
    type: bool
    default: false
  row:
    description: With O(done=true), RV(row) of the task before the change. Without it, the module
      closes the open rows of runs that were interrupted more than a quarter of an hour ago.
    type: str
  results_dir:
    description: Folder for results.
    type: path
    default: results
  journal_schema:
    description: As for M(dbre.semisync.semisync_info).
    type: str
    default: important
  host:
    description: Inventory name of the source, from the action.
    type: str
  token:
    description: The token of the row, from the action.
    type: str
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.cluster
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Writes nothing in check mode, and reports whether it would.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_verdict
"""

EXAMPLES = r"""
- name: Say that the last look proves nothing from now on
  dbre.semisync.semisync_spend:
    info_from: __semisync_info
    reason: site.yml sets rpl_semi_sync_source_timeout from 3600000 to 10000
  register: __semisync_spent

- name: Say that the change is made
  dbre.semisync.semisync_spend:
    info_from: __semisync_info
    reason: site.yml sets rpl_semi_sync_source_timeout from 3600000 to 10000
    done: true
    row: "{{ __semisync_spent.row }}"
"""

RETURN = r"""
path:
  description: The file with the last look, null if there is none, or with O(done=true).
  returned: success
  type: str
row:
  description: The token of the row; see O(row).
  returned: success, if a row is needed
  type: str
written:
  description: Whether the journal has the row.
  returned: success
  type: bool
acknowledged:
  description: Whether semi-sync was active when the row was written, so that a replica has it.
  returned: success
  type: bool
problem:
  description: Why the row is not written or not acknowledged, in words.
  returned: success
  type: str
keeps:
  description: Whether that problem forbids the change.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import setting_change_rows
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            info_from={"type": "str", "required": True},
            reason={"type": "str", "required": True},
            done={"type": "bool", "default": False},
            row={"type": "str"},
            results_dir={"type": "path", "default": "results"},
            journal_schema={"type": "str", "default": "important"},
            host={"type": "str"},
            token={"type": "str", "no_log": False},
        ),
        supports_check_mode=True,
    )
    login.require_driver(module)
    step = setting_change_rows.close_rows if module.params["done"] else setting_change_rows.give
    connection.work(module, step, "the journal cannot be written")


if __name__ == "__main__":
    main()
