#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_gtid_mode
short_description: Take a MySQL server one step toward GTIDs
version_added: "0.2.0"
description:
  - Sets C(enforce_gtid_consistency) and C(gtid_mode) at run time, one step at a time. All servers that replicate with each
    other take a step before any takes the next.
  - A server that is as far or further is left alone.
options:
  step:
    description:
      - V(warn), V(consistent), V(off_permissive), V(on_permissive) and V(on) set a variable, in this order.
      - V(warn) then waits until O(watch) seconds have passed without a violation of GTID consistency in the error log, and
        fails where there was one.
      - V(drained), between V(on_permissive) and V(on), waits until no transaction without a GTID is under way.
    type: str
    choices: [warn, consistent, off_permissive, on_permissive, drained, "on"]
    required: true
  watch:
    description: Seconds without a violation that V(warn) wants.
    type: int
    default: 60
  wait:
    description: Seconds that V(drained) waits for transactions that are under way.
    type: int
    default: 60
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_gtid_plan
  - module: dbre.semisync.semisync_gtid_channel
"""

EXAMPLES = r"""
- name: The application's statements are looked at, none is refused yet
  dbre.semisync.semisync_gtid_mode:
    step: warn
    watch: 600
"""

RETURN = r"""
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import conversion, login, on_server, state

POLL_SECONDS = 0.1
# A module call that sleeps longer is lost with its connection.
LONGEST_SECONDS = 600
VIOLATION = "%violates GTID consistency%"


def first(server, statement, arguments=None):
    """The first row's only value, or None."""
    rows = server.rows(statement, arguments)
    return list(rows[0].values())[0] if rows else None


def as_seconds(value):
    return None if value is None else float(value)


def warned(server, uptime, watched):
    """Seconds since the server began to warn; before 8.0 nothing tells more than that it was watched for so long."""
    try:
        found = first(server, "SELECT TIMESTAMPDIFF(MICROSECOND, SET_TIME, NOW(6)) / 1000000"
                              " FROM performance_schema.variables_info WHERE VARIABLE_NAME = 'enforce_gtid_consistency'")
    except Exception:  # the drivers share no exception class
        return watched
    return uptime if found is None else float(found)


def watch(module, server):
    """Wait until the error log has been quiet for long enough; fail where it was not."""
    seconds, begin, tells = module.params["watch"], time.monotonic(), True
    while True:
        uptime = server.uptime()["seconds"]
        try:
            last = first(server, "SELECT TIMESTAMPDIFF(MICROSECOND, MAX(LOGGED), NOW(6)) / 1000000"
                                 " FROM performance_schema.error_log WHERE DATA LIKE %s", (VIOLATION,))
        except Exception:  # the drivers share no exception class
            last, tells = None, False
        left = conversion.quiet(seconds, uptime, warned(server, uptime, time.monotonic() - begin), as_seconds(last))
        if left is None:
            what = first(server, "SELECT DATA FROM performance_schema.error_log WHERE DATA LIKE %s"
                                 " ORDER BY LOGGED DESC LIMIT 1", (VIOLATION,))
            module.fail_json(msg="a statement violated GTID consistency %d s ago: %s The application would be refused it. "
                                 "enforce_gtid_consistency stays WARN; mend the application and run again after %d s without"
                                 % (float(last), state.text(what), seconds))
        if not left and not tells:
            module.warn("this server does not show its error log; look there yourself for statements that violate GTID "
                        "consistency")
        if not left:
            return
        if left > LONGEST_SECONDS:
            module.fail_json(msg="enforce_gtid_consistency is WARN now, and semisync_gtid_watch wants %d s of it; run again in "
                                 "%d s" % (seconds, left))
        time.sleep(min(left, 1))


def drain(module, server):
    """Wait until no transaction without a GTID is under way."""
    end = time.monotonic() + module.params["wait"]
    while True:
        count = int(server.pairs("SHOW GLOBAL STATUS LIKE 'Ongoing\\_anonymous\\_transaction\\_count'").get(
            "ongoing_anonymous_transaction_count") or 0)
        if not count or module.check_mode:
            return
        if time.monotonic() > end:
            module.fail_json(msg="%d transactions without a GTID are still under way after %d s; end them and run again"
                             % (count, module.params["wait"]))
        time.sleep(POLL_SECONDS)


def run(module, server, dummy):
    """Take the step, where the server has not come so far."""
    step, statement = module.params["step"], None
    variables = server.pairs("SHOW GLOBAL VARIABLES LIKE '%gtid\\_%'")
    if step == "drained":
        drain(module, server)
    else:
        statement = conversion.statement(step, variables)
    if statement and not module.check_mode:
        server.rows(statement)
    if step == "warn" and not module.check_mode and variables["enforce_gtid_consistency"] != "ON":
        watch(module, server)
    name, dummy, value = (statement or "").partition("SET GLOBAL ")[2].partition(" = ")
    return dict(changed=bool(statement), statements=[statement] if statement else [],
                diff={"before": "%s = %s\n" % (name, variables.get(name)) if name else "",
                      "after": "%s = %s\n" % (name, value) if name else ""})


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            step=dict(type="str", choices=["warn", "consistent", "off_permissive", "on_permissive", "drained", "on"],
                      required=True),
            watch=dict(type="int", default=60),
            wait=dict(type="int", default=60),
        ),
        supports_check_mode=True,
    )
    on_server.work(module, run, "the server refuses the step %s" % module.params["step"])


if __name__ == "__main__":
    main()
