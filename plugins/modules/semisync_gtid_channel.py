#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_gtid_channel
short_description: Make a channel that follows by file and position follow by GTID
version_added: "0.2.0"
description:
  - Changes the default channel to C(SOURCE_AUTO_POSITION=1) or C(MASTER_USE_GTID=slave_pos), only where it is proven that
    the replica has what its source had under the same GTIDs.
  - The proof takes three calls, so that no thread of the channel stands while the controller goes from host to host.
    O(state=point) on the replica says how far it is, O(state=target) on the source which GTIDs belong to a place of its
    binary log, and O(state=by_gtid) on the replica compares and changes the channel.
options:
  state:
    description:
      - V(point) returns a replica's place in its source's binary log, and the GTIDs it has applied, of one moment. On MariaDB
        the applier stops for that moment. A channel that is stopped is started.
      - V(target) returns, on a source, its GTIDs up to a place in its binary log. On MySQL that is its end, on MariaDB O(point).
      - V(applied) waits until the replica has applied its source's binary log up to O(target).
      - V(by_gtid) waits for that too, compares, and changes the channel.
    type: str
    choices: [point, target, applied, by_gtid]
    required: true
  point:
    description: What V(point) returned on the replica.
    type: dict
  target:
    description: What V(target) returned on the source.
    type: dict
  source:
    description: Inventory name of the source, for messages.
    type: str
  host:
    description: Inventory name of this host, for messages.
    type: str
  wait:
    description: Seconds that a channel may take to connect, and its applier to apply what was received.
    type: int
    default: 60
  catch_up:
    description: Seconds that the replica may take to come to O(target).
    type: int
    default: 3600
extends_documentation_fragment:
  - dbre.semisync.login
  - dbre.semisync.attributes
  - dbre.semisync.attributes.changes
attributes:
  check_mode:
    details:
      - Reads, waits and compares in check mode, where the server's mode allows; stops nothing.
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_gtid_mode
  - module: dbre.semisync.semisync_channel
"""

EXAMPLES = r"""
- name: How far the source is
  dbre.semisync.semisync_gtid_channel:
    state: target
  delegate_to: db1
  register: found

- name: Follow by GTID
  dbre.semisync.semisync_gtid_channel:
    state: by_gtid
    target: "{{ found.target }}"
"""

RETURN = r"""
point:
  description: C(file) and C(position) in the source's binary log that this replica has applied, and its C(gtid).
  returned: O(state=point)
  type: dict
target:
  description: C(file) and C(position) in this source's binary log, and the C(gtid) that belong to it.
  returned: O(state=target)
  type: dict
statements:
  description: The statements that were run, or would be in check mode.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils import (
    channel, channel_run, conversion, gtid, login, on_server, state)


def target(server, server_names, point):
    """The GTIDs that belong to a place in this source's binary log."""
    if server_names.mariadb:
        found = server.rows("SELECT BINLOG_GTID_POS(%s, %s) AS value", (point["file"], int(point["position"])))[0]["value"]
        return dict(point, gtid=None if found is None else state.text(found))
    # The set is read before the position: it has no transaction that is not before that place.
    row = dict((key.lower(), value) for key, value in server.rows(server_names.show_binary_log_status)[0].items())
    return {"file": state.text(row["file"]), "position": int(row["position"]),
            "gtid": "".join(state.text(row["executed_gtid_set"] or "").split())}


def refusal(module, replica):
    """Why the channel must stay by position, in words; empty where GTIDs are proven."""
    params = module.params
    host, source = params["host"] or "the replica", params["source"] or "its source"
    if replica.names.mariadb:
        reason = conversion.mismatch(params["point"], params["target"]["gtid"])
        return "%s follows by file and position: %s" % (host, reason) if reason else ""
    if module.check_mode and replica.server.variables().get("gtid_mode") != "ON":
        # Nothing has a GTID yet: what could be proven was, when the conversion was planned.
        return ""
    replica.pass_by(params["target"], params["catch_up"])
    lost = gtid.subtract(params["target"]["gtid"], replica.has())
    return conversion.refusal(host, source, lost) if lost else ""


def by_gtid(module, replica):
    """Change the channel where it is proven to be right; the statements of it."""
    before = replica.channel()
    if before is None:
        module.fail_json(msg="there is no replication channel on this host")
    if before["gtid"]:
        return []
    # A channel that stands in check mode was left so by a conversion that was interrupted, and will run then.
    reason = "" if module.check_mode and not state.running(before) else refusal(module, replica)
    if reason:
        module.fail_json(msg="Not converted. %s" % reason, reason="replayed")
    if not module.check_mode:
        replica.to_gtid(before)
    return [channel.show(*step) for step in channel.gtid_steps(replica.names) if step[0] != channel.DRAIN]


def run(module, server, server_names):
    params, replica = module.params, channel_run.Replica(module, server, server_names)
    if params["state"] == "target":
        return dict(changed=False, statements=[], target=target(server, server_names, params["point"]))
    if params["state"] == "by_gtid":
        statements = by_gtid(module, replica)
        return dict(changed=bool(statements), statements=statements, diff={
            "before": "follows by file and position\n" if statements else "", "after": "follows by GTID\n" if statements else ""})
    if params["state"] == "applied":
        if not module.check_mode:
            replica.begin()
            replica.pass_by(params["target"], params["catch_up"])
        return dict(changed=False, statements=[])
    started = replica.begin()
    return dict(changed=started, statements=["START %s" % server_names.replica_word] if started else [],
                point=replica.point() if server_names.mariadb else {"file": "", "position": 0, "gtid": ""})


def main():
    module = AnsibleModule(
        argument_spec=login.argument_spec(
            state=dict(type="str", choices=["point", "target", "applied", "by_gtid"], required=True),
            point=dict(type="dict"),
            target=dict(type="dict"),
            source=dict(type="str"),
            host=dict(type="str"),
            wait=dict(type="int", default=60),
            catch_up=dict(type="int", default=3600),
        ),
        required_if=[("state", "applied", ("target",)), ("state", "by_gtid", ("target",))],
        supports_check_mode=True,
    )
    on_server.work(module, run, "the conversion failed")


if __name__ == "__main__":
    main()
