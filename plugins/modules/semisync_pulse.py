#!/usr/bin/python
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_pulse
short_description: (internal) Write canary rows at a steady pace, and time each one
version_added: "1.0.0"
description:
  - With O(mode=write), started with C(async), inserts a row into the canary table again and again,
    also while commits are blocked. Records for each how long it took, how far semi-sync's counters
    rose, and the source's status and clients at that time.
  - With O(mode=wait), waits until the newest of these rows match O(wait_for).
  - With O(mode=end), ends the writing and returns every row.
  - The rows are kept in a file in C(/run) until then. A writer ends by itself when its file is gone
    or its O(seconds) are over. A new writer ends those of interrupted runs.
options:
  mode:
    description: What to do.
    type: str
    choices: [write, wait, end]
    default: write
  token:
    description: Letters and digits that identify this pulse; the same for all modes.
    type: str
    required: true
  interval:
    description: Seconds from the end of one insert to the next.
    type: float
    default: 0.1
  seconds:
    description: With O(mode=write), the longest time to write; with O(mode=wait), to wait.
    type: float
    default: 300
  wait_for:
    description: With O(mode=wait), what the newest rows must show.
    type: dict
    suboptions:
      status:
        description: Semi-sync's status on the source. With V(ON) every row must be acknowledged,
          with V(OFF) none.
        type: str
        choices: ['ON', 'OFF']
        required: true
      clients:
        description: The number of semi-sync clients that the source reports.
        type: int
        required: true
      rows:
        description: How many of the newest rows must match.
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
  - dbre.semisync.internal
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
  - module: dbre.semisync.semisync_verdict
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
    - One entry per row, with C(at) (when the insert began, in seconds since 1970), C(latency_ms),
      C(status), C(clients), and how
      far C(yes_tx), C(no_tx) and C(no_times) rose since the row before.
  returned: O(mode=wait) and O(mode=end)
  type: list
  elements: dict
  sample: [{"at": 1795271384.112, "latency_ms": 1.9, "status": "ON", "clients": 1, "yes_tx": 1,
    "no_tx": 0, "no_times": 0}]
error:
  description: Why the writer ended too early; empty if it did not.
  returned: O(mode=end)
  type: str
waited:
  description: Seconds it took.
  returned: O(mode=wait)
  type: float
"""

import glob
import json
import operator
import os
import re
import time
from typing import Any, TextIO

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._canary import pulse
from ansible_collections.dbre.semisync.plugins.module_utils._canary.canary_rows import MARK, insert
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key

POLL_SECONDS = 0.05
# A writer that is being ended may be in a blocked commit.
END_SECONDS = 5


def path_of(module: AnsibleModule) -> str:
    """The file that a pulse is written to, on the source."""
    return pulse.PATTERN % module.params["token"]


def write_pulses(module: AnsibleModule, server: Server, names: Names) -> dict[str, object]:
    """Insert rows until the file is gone or the time is up."""
    path = path_of(module)
    # The files of interrupted runs, so that their writers end.
    for old in glob.glob(pulse.PATTERN % "*"):
        os.unlink(old)
    # Not readable for others, and never through a link.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        try:
            watcher = Server(login.connect(module))
            put(stream, {"pid": os.getpid()})
            return {
                "changed": beat(
                    module,
                    server,
                    watcher,
                    names,
                    stream,
                )
                > 0
            }
        except ServerError as error:
            put(stream, {"error": f"the writer on the source failed: {error}"})
            raise


def beat(
    module: AnsibleModule,
    server: Server,
    watcher: Server,
    names: Names,
    stream: TextIO,
) -> int:
    """Insert row after row and record each; return how many there were.

    Args:
        watcher: another connection to the server, for its counters.
    """
    params = module.params
    path = path_of(module)
    number = 0
    keys = names.statuses("source")
    before = by_key(keys, watcher.semisync_status())
    deadline = time.monotonic() + params["seconds"]
    while os.path.exists(path) and time.monotonic() < deadline:
        number += 1
        text = pulse.row_text(MARK, params["token"], number)
        begun = time.time()
        begin = time.monotonic()
        insert(
            server,
            params["schema"],
            params["table"],
            text,
        )
        seconds = time.monotonic() - begin
        after = by_key(keys, watcher.semisync_status())
        put(
            stream,
            pulse.entry(
                begun,
                seconds,
                before,
                after,
            ),
        )
        before = after
        time.sleep(params["interval"])
    return number


def put(stream: TextIO, item: dict[str, Any]) -> None:
    stream.write(json.dumps(item) + "\n")
    stream.flush()


def read_pulses(path: str) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """pulse.parse() of the file; nothing if there is none."""
    try:
        with open(path) as stream:
            return pulse.parse(stream.read())
    except OSError:
        return {}, [], ""


def alive(header: dict[str, Any]) -> bool:
    return os.path.exists(f"/proc/{header['pid']}")


def unreachable(module: AnsibleModule) -> str:
    """Why there is no connection to the server; empty if there is one."""
    login.require_driver(module)
    try:
        login.connect(module).close()
    except ServerError as error:
        return login.explain(error, module.params)
    return ""


def wait(module: AnsibleModule) -> dict[str, object]:
    """Wait until the newest rows are as wanted."""
    params = module.params
    begin = time.monotonic()

    def look() -> tuple[list[dict[str, Any]], list[str], str]:
        """The rows, how they differ from what is wanted, and why no more will come."""
        header, rows, error = read_pulses(path_of(module))
        gone = bool(header) and not alive(header)
        if gone:
            # Rows that it wrote since the last read.
            header, rows, error = read_pulses(path_of(module))
        ended = error or ("the writer on the source is gone" if gone else "")
        if not header and not ended:
            # If the server does not answer, a writer never creates its file.
            ended = unreachable(module)
        return rows, pulse.unmet(params["wait_for"], rows), ended

    rows, lacking, ended = wait_until(
        look,
        0 if module.check_mode else params["seconds"],
        POLL_SECONDS,
        enough=lambda seen: seen[2] or not seen[1],
    )
    if lacking:
        module.fail_json(
            msg=ended or f"waited {params['seconds']:.0f} s in vain: {'; '.join(lacking)}",
            rows=rows,
        )
    return {"changed": False, "rows": rows, "waited": round(time.monotonic() - begin, 3)}


def end(module: AnsibleModule) -> dict[str, object]:
    """Remove the file, which ends the writer, and return its rows."""
    path = path_of(module)
    if module.check_mode or not os.path.exists(path):
        header, rows, error = read_pulses(path)
        return {"changed": bool(header), "rows": rows, "error": error}
    with open(path) as stream:
        os.unlink(path)
        header = pulse.parse(stream.read())[0]
        wait_until(
            lambda: bool(header) and alive(header),
            END_SECONDS,
            POLL_SECONDS,
            enough=operator.not_,
        )
        # Including the row that it was writing.
        stream.seek(0)
        _header, rows, error = pulse.parse(stream.read())
    return {"changed": True, "rows": rows, "error": error}


def main() -> None:
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            mode={"type": "str", "choices": ["write", "wait", "end"], "default": "write"},
            token={"type": "str", "required": True, "no_log": False},
            interval={"type": "float", "default": 0.1},
            seconds={"type": "float", "default": 300},
            wait_for={
                "type": "dict",
                "options": {
                    "status": {"type": "str", "choices": ["ON", "OFF"], "required": True},
                    "clients": {"type": "int", "required": True},
                    "rows": {"type": "int", "default": 5},
                },
            },
            schema={"type": "str", "default": "important"},
            table={"type": "str", "default": "stuff"},
        ),
        required_if=[("mode", "wait", ["wait_for"])],
        supports_check_mode=True,
    )
    token = module.params["token"]
    mode = module.params["mode"]
    if not re.match(r"[A-Za-z0-9]+\Z", token):
        module.fail_json(msg=f"token is {token!r}; it must be letters and digits")
    if mode != "write":
        module.exit_json(**(wait if mode == "wait" else end)(module))
    if module.check_mode:
        module.exit_json(changed=True)
    connection.work(module, write_pulses, "the pulse failed")


if __name__ == "__main__":
    main()
