#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_pulse
short_description: Write canary rows at a steady pace while something happens, each one timed
version_added: "0.1.0"
description:
  - With O(mode=write), started with C(async), inserts a row into the canary table again and again, also while commits are
    blocked, and notes of each how long it took, how far semi-sync's counters rose with it, and what status and clients the
    source had then.
  - With O(mode=wait), waits until the newest of these rows are as wanted.
  - With O(mode=end), ends the writing and returns every row.
  - The rows are kept in a file in C(/run) until then. A writer whose file is gone ends by itself, and so does one whose
    O(seconds) are over. A new one ends those that interrupted runs left.
options:
  mode:
    description: What to do.
    type: str
    choices: [write, wait, end]
    default: write
  token:
    description: Letters and digits that tell this pulse from every other; the same for all modes.
    type: str
    required: true
  interval:
    description: Seconds from the end of one insert to the next.
    type: float
    default: 0.1
  seconds:
    description: With O(mode=write), how long at most; with O(mode=wait), how long to wait.
    type: float
    default: 300
  wait_for:
    description: What the newest rows must be like, with O(mode=wait).
    type: dict
    suboptions:
      status:
        description: Semi-sync's status on the source. With V(ON) each row must be acknowledged, with V(OFF) none.
        type: str
        choices: ['ON', 'OFF']
        required: true
      clients:
        description: How many semi-sync clients the source counts.
        type: int
        required: true
      rows:
        description: How many of the newest rows.
        type: int
        default: 5
  schema:
    description: Schema of the canary table, which must exist.
    type: str
    default: important
  table:
    description: Name of the canary table.
    type: str
    default: stuff
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.quiet
attributes:
  check_mode:
    details:
      - Writes nothing in check mode.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_canary
  - module: dbre.semisync.semisync_drill_verdict
"""

EXAMPLES = r"""
- name: Write ten rows a second in the background
  dbre.semisync.semisync_pulse:
    token: "4711"
  async: 330
  poll: 0

- name: Wait until the source has given up on its only replica
  dbre.semisync.semisync_pulse:
    mode: wait
    token: "4711"
    wait_for: {status: 'OFF', clients: 0}
    seconds: 30

- name: End it
  dbre.semisync.semisync_pulse:
    mode: end
    token: "4711"
  register: pulse
"""

RETURN = r"""
rows:
  description:
    - One entry a row, with C(at) (when the insert began, in seconds since 1970), C(latency_ms), C(status), C(clients), and how
      far C(yes_tx), C(no_tx) and C(no_times) rose since the row before.
  returned: O(mode=wait) and O(mode=end)
  type: list
  elements: dict
  sample: [{"at": 1795271384.112, "latency_ms": 1.9, "status": "ON", "clients": 1, "yes_tx": 1, "no_tx": 0, "no_times": 0}]
waited:
  description: Seconds it took.
  returned: O(mode=wait)
  type: float
"""

import glob
import json
import os
import re
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import canary, login, names, pulse, state

POLL_SECONDS = 0.05
# A writer that is just being ended may be in a commit that is blocked.
END_SECONDS = 5


def write(module, path):
    """Insert until the file is gone or the time is up."""
    params = module.params
    server = state.Server(login.connect_or_fail(module))
    watcher = state.Server(login.connect_or_fail(module))
    keys = state.identify(server).statuses("source")
    statement = "INSERT INTO %s (details) VALUES (%%s)" % canary.table_name(params["schema"], params["table"])
    until, number = time.monotonic() + params["seconds"], 0
    # Those of interrupted runs: their writers end.
    for old in glob.glob(pulse.PATTERN % "*"):
        os.unlink(old)
    # Not readable for others, and never through a link.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "w") as handle:
        try:
            put(handle, {"pid": os.getpid()})
            before = state.by_key(keys, watcher.semisync_status())
            while os.path.exists(path) and time.monotonic() < until:
                number += 1
                begun, begin = time.time(), time.monotonic()
                server.rows(statement, (pulse.details(canary.MARK, params["token"], number),))
                seconds = time.monotonic() - begin
                after = state.by_key(keys, watcher.semisync_status())
                put(handle, pulse.entry(begun, seconds, before, after))
                before = after
                time.sleep(params["interval"])
        except Exception as error:  # the drivers share no exception class
            put(handle, {"error": "the writer on the source failed: %s" % error})
            raise
    return dict(changed=number > 0)


def put(handle, item):
    handle.write(json.dumps(item) + "\n")
    handle.flush()


def read(path):
    """pulse.parse() of the file; nothing where there is none."""
    try:
        with open(path) as handle:
            return pulse.parse(handle.read())
    except (IOError, OSError):
        return {}, [], ""


def alive(header):
    return os.path.exists("/proc/%d" % header["pid"])


def wait(module, path):
    """Wait until the newest rows are as wanted."""
    begin = time.monotonic()
    while True:
        header, rows, error = read(path)
        lacking = pulse.unmet(module.params["wait_for"], rows)
        if not lacking:
            return dict(changed=False, rows=rows, waited=round(time.monotonic() - begin, 3))
        if error or header and not alive(header):
            module.fail_json(msg=error or "the writer on the source is gone", rows=rows)
        if module.check_mode or time.monotonic() - begin >= module.params["seconds"]:
            module.fail_json(msg="waited %.0f s in vain: %s" % (module.params["seconds"], "; ".join(lacking)), rows=rows)
        time.sleep(POLL_SECONDS)


def end(module, path):
    """Take the file away, which ends the writer, and return what is in it."""
    header, rows, error = read(path)
    if module.check_mode or not header:
        return dict(changed=bool(header), rows=rows)
    os.unlink(path)
    begin = time.monotonic()
    while alive(header) and time.monotonic() - begin < END_SECONDS:
        time.sleep(POLL_SECONDS)
    return dict(changed=True, rows=rows, error=error)


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            mode=dict(type="str", choices=["write", "wait", "end"], default="write"),
            token=dict(type="str", required=True, no_log=False),
            interval=dict(type="float", default=0.1),
            seconds=dict(type="float", default=300),
            wait_for=dict(type="dict", options=dict(
                status=dict(type="str", choices=["ON", "OFF"], required=True),
                clients=dict(type="int", required=True),
                rows=dict(type="int", default=5),
            )),
            schema=dict(type="str", default="important"),
            table=dict(type="str", default="stuff"),
        ),
        required_if=[("mode", "wait", ["wait_for"])],
        supports_check_mode=True,
    )
    token, mode = module.params["token"], module.params["mode"]
    if not re.match(r"[A-Za-z0-9]+\Z", token):
        module.fail_json(msg="token is %r; it must be letters and digits" % token)
    path = pulse.PATTERN % token
    if mode != "write":
        module.exit_json(**(wait if mode == "wait" else end)(module, path))
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        result = write(module, path)
    except names.UnknownServer as error:
        module.fail_json(msg=str(error))
    except Exception as error:  # the drivers share no exception class
        module.fail_json(msg="the pulse failed: %s" % error)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
