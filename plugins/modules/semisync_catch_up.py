#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_catch_up
short_description: (internal) Wait until a replica has applied what its source had
version_added: "1.0.0"
description:
  - Waits until this replica has applied its source's transactions up to a GTID position, or up to a
    position in its source's binary log. The target does not move during the wait.
  - Shows a line of progress every few seconds, and fails at once if the applier has stopped.
options:
  target:
    description: The source's C(gtid_executed) (MySQL) or C(gtid_binlog_pos) (MariaDB).
    type: str
  file:
    description: A file of the source's binary log, if the replica follows by file and position.
    type: str
  position:
    description: A position in O(file).
    type: int
  timeout:
    description: Seconds to wait.
    type: float
    default: 3600
  required:
    description: Whether the module fails if the replica is still behind then. Otherwise it only
      returns that.
    type: bool
    default: true
  progress_seconds:
    description: Seconds between two lines of progress.
    type: float
    default: 5
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Does not wait in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_seed
  - module: dbre.semisync.semisync_gtid
"""

EXAMPLES = r"""
- name: Read the source
  dbre.semisync.semisync_info:
  delegate_to: db1
  register: source

- name: Wait for the replica
  dbre.semisync.semisync_catch_up:
    target: "{{ source.gtid.gtid_executed }}"

- name: Wait for a replica that follows by file and position
  dbre.semisync.semisync_catch_up:
    file: binlog.000042
    position: 1337
"""

RETURN = r"""
caught_up:
  description: Whether the replica has applied all of it.
  returned: success
  type: bool
missing:
  description: How many transactions of O(target) are not applied; null with O(file).
  returned: success
  type: int
missing_at_first:
  description: How many were not applied when the wait began; null with O(file).
  returned: success
  type: int
place:
  description: C(file) and C(position) in the source's binary log that the replica has applied; null
    without a channel.
  returned: success
  type: dict
seconds:
  description: How long the module waited.
  returned: success
  type: float
seconds_behind:
  description: How far the replica itself reports that it is behind its source; null if it does not
    know.
  returned: success
  type: int
"""


from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._replication import catch_up
from ansible_collections.dbre.semisync.plugins.module_utils._seed import marker_writing
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


def wait_for_replica(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Wait, and record that a seeded replica has caught up."""
    result = catch_up.wait(module, server, names)
    if module.params["target"] is not None and result["caught_up"] and not module.check_mode:
        marker_writing.caught_up(server.variables()["port"] or "")
    return result


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            target={"type": "str"},
            file={"type": "str"},
            position={"type": "int"},
            timeout={"type": "float", "default": 3600},
            required={"type": "bool", "default": True},
            progress_seconds={"type": "float", "default": 5},
        ),
        required_one_of=[("target", "file")],
        mutually_exclusive=[("target", "file")],
        required_together=[("file", "position")],
        supports_check_mode=True,
    )
    connection.work(module, wait_for_replica, "the replica cannot be asked")


if __name__ == "__main__":
    main()
