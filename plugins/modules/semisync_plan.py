# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The documentation of plugins/action/semisync_plan.py; there is no code here.

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
module: semisync_plan
short_description: Decide what a host needs, from what the servers of its cluster said
version_added: "0.1.0"
description:
  - Compares the state of every host of the cluster, as M(dbre.semisync.semisync_info) registered it, with what is wanted.
  - Fails, before anything is touched, when the inventory, a value or a server makes it impossible; the message names the
    host, what was found and what to do.
  - Runs on the controller and connects to nothing.
options:
  settings:
    description: The wanted values; the roles collect them from their variables.
    type: dict
    required: true
  stage:
    description: V(full) plans everything, V(replication) replication alone.
    type: str
    choices: [replication, full]
    default: full
  hold_back:
    description: Whether a source waits with semi-sync until its replicas' channels run, because until then every commit
      would wait for the timeout.
    type: bool
    default: true
  apply:
    description: V(restart) by option file and restart, V(online) at run time where that is possible.
    type: str
    choices: [restart, online]
    default: restart
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
- name: Read the server
  dbre.semisync.semisync_info:
  register: state

- name: Plan
  dbre.semisync.semisync_plan:
    info_from: state
    settings: "{{ _semisync_settings }}"
  register: plan
"""

RETURN = r"""
changes:
  description: Whether anything is to be done on this host.
  returned: success
  type: bool
server_changes:
  description: Whether plugin, option file, variables or a restart are among it.
  returned: success
  type: bool
role:
  description: V(source) or V(replica).
  returned: success
  type: str
held:
  description: Whether semi-sync on this source waits until its replicas' channels run.
  returned: success
  type: bool
fell_back:
  description: Whether semi-sync is enabled on this source but off, after an acknowledgement that did not come in time.
  returned: success
  type: bool
wave:
  description: The host's turn in its cluster, from 0; the source has the last.
  returned: success
  type: int
option_file:
  description: Path, kind, text before and text wanted.
  returned: success
  type: dict
restart:
  description: Whether the server has to restart, with the reasons in RV(restart_reasons).
  returned: success
  type: bool
restart_reasons:
  description: Variables that differ and cannot be set otherwise.
  returned: success
  type: list
  elements: str
set_global:
  description: Variables to set at run time, and their values.
  returned: success
  type: dict
channel:
  description: V(configure), V(start) or V(none).
  returned: success
  type: str
catch_up:
  description: Whether the replica is expected to be behind its source and is waited for.
  returned: success
  type: bool
tls:
  description: Whether this replica's channel is wanted with C(ssl), which C(ca) and whether to C(verify); null to leave it.
  returned: success
  type: dict
tls_differs:
  description: Whether a channel that exists has another TLS than that.
  returned: success
  type: bool
tls_authority:
  description: The copy of the source's certificate authority on this replica, with the keys C(path), C(content) and
    C(changed), or null.
  returned: success
  type: dict
seed:
  description: How the source's data come to this replica first, with the keys C(method), C(why) and C(because), or null.
  returned: success
  type: dict
seed_leftover:
  description: Whether this source still has the account of a seeding that was interrupted.
  returned: success
  type: bool
account:
  description: Whether the replication account has to be created.
  returned: success
  type: bool
"""
