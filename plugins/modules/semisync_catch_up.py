#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_catch_up
short_description: Wait until a replica has applied what its source had
version_added: "0.2.0"
description:
  - Waits until this replica has applied a GTID position of its source, which does not move while it is waited for.
  - Shows a line of progress every few seconds, and fails at once where the applier has stopped.
options:
  target:
    description: The source's C(gtid_executed) (MySQL) or C(gtid_binlog_pos) (MariaDB).
    type: str
    required: true
  timeout:
    description: Seconds to wait.
    type: float
    default: 3600
  required:
    description: Whether a replica that is still behind then is a failure. Otherwise that is only returned.
    type: bool
    default: true
  progress_seconds:
    description: Seconds between two lines of progress.
    type: float
    default: 5
extends_documentation_fragment:
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
"""

EXAMPLES = r"""
- name: Read the source
  dbre.semisync.semisync_info:
  delegate_to: db1
  register: source

- name: Wait for the replica
  dbre.semisync.semisync_catch_up:
    target: "{{ source.gtid.gtid_executed }}"
"""

RETURN = r"""
caught_up:
  description: Whether the replica has applied all of O(target).
  returned: success
  type: bool
missing:
  description: How many transactions of it are not applied.
  returned: success
  type: int
missing_at_first:
  description: How many were not when the wait began.
  returned: success
  type: int
seconds:
  description: How long was waited.
  returned: success
  type: float
seconds_behind:
  description: How far the replica says itself that it is behind its source; null where it does not know.
  returned: success
  type: int
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import catch_up, login, on_server, seed_marker, state

POLL_SECONDS = 0.1


def wait(module, server, server_names):
    """Look until nothing is missing, or time is up; what was seen."""
    params, begin, first = module.params, time.monotonic(), None
    while True:
        missing = catch_up.missing(server_names.mariadb, params["target"], server.applied(server_names))
        first = missing if first is None else first
        channel = state.default_channel(server.channels(server_names))
        reason = catch_up.stopped(channel) if missing else ""
        if reason:
            module.fail_json(msg="the replica does not catch up: %s; %d transactions are missing" % (reason, missing))
        seconds = time.monotonic() - begin
        if not missing or module.check_mode or seconds >= params["timeout"]:
            return dict(caught_up=not missing, missing=missing, missing_at_first=first,
                        seconds=round(seconds, 3), seconds_behind=channel["seconds_behind"] if channel else None)
        time.sleep(POLL_SECONDS)


def run(module, server, server_names):
    seen = wait(module, server, server_names)
    if seen["caught_up"] and not module.check_mode:
        seed_marker.caught_up(server.variables()["port"])
    return dict(seen, changed=False)


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            target=dict(type="str", required=True),
            timeout=dict(type="float", default=3600),
            required=dict(type="bool", default=True),
            progress_seconds=dict(type="float", default=5),
        ),
        supports_check_mode=True,
    )
    on_server.work(module, run, "the replica cannot be asked")


if __name__ == "__main__":
    main()
