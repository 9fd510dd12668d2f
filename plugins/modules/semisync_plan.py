# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_plan.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_plan
short_description: (internal) Decide what a host needs, from what the servers of its cluster
  reported
version_added: "0.1.0"
description:
  - Compares the state of every host of the cluster, as M(dbre.semisync.semisync_info) registered
    it, with the public variables of the roles.
  - Fails, before anything is changed, if the inventory, a value or a server makes the goal
    impossible. The message names the host, what was found and what to do. It is shown once per
    cluster; the cluster's other hosts fail and name the host that shows it.
  - Without O(info_from) it checks only the public variables, of all hosts of the cluster; an
    unknown variable that begins with C(semisync_) is refused, with the most similar known name.
  - Runs on the controller and connects to nothing.
options:
  info_from:
    description: Name of the variable that holds each host's registered
      M(dbre.semisync.semisync_info) result.
    type: str
  goal:
    description:
      - V(apply) plans semi-synchronous replication according to the variables.
      - V(remove) plans the way back to asynchronous replication. The collection's lines in a host's
        option file show what it set up; any other semi-sync stays. Refuses if a writer would have
        to wait, or a server could not start again.
      - V(gtid) plans the way from file and position to GTIDs. Refuses a cluster in which a replica
        would receive transactions again, or a server outside the inventory would stop replicating.
      - V(sides) reports which host is the source, and refuses nothing. O(info_from) may also name
        results of M(dbre.semisync.semisync_canary) with V(mode=watch).
      - V(drill) plans which replicas are stopped one after another, and what the source must do
        then. Refuses a cluster with a host that was not read or has failed in this run, or without
        a clear source, a semi-sync timeout longer than C(semisync_drill_max_block), and a server
        without a systemd unit.
      - V(hosts) plans nothing, and refuses a run that would read no host, because the inventory's
        groups are missing or misspelt, or C(--limit) excludes all their hosts. It needs no
        O(info_from), and runs once for all hosts.
      - V(read) plans nothing, and fails a run in which no host was read.
    version_added: "1.0.0"
    type: str
    choices: [apply, remove, gtid, sides, drill, hosts, read]
    default: apply
  hold_back:
    description: Whether semi-sync on a source is not enabled before its replicas' channels run,
      because until then every commit would wait for the timeout.
    version_added: "1.0.0"
    type: bool
    default: true
  alone:
    description: Whether hosts that could not be read are left out, as after a failover without
      them. A source that is the last host of its cluster then waits for no acknowledgement, nor
      after its next start.
    version_added: "1.1.0"
    type: bool
    default: false
  ask_back:
    description: Without O(info_from), whether a value that is possible and hardly meant is refused
      as well, such as a semi-sync timeout of 10 milliseconds. C(semisync_accept) accepts it by
      name.
    version_added: "1.1.0"
    type: bool
    default: true
extends_documentation_fragment:
  - dbre.semisync.internal
  - dbre.semisync.attributes
  - dbre.semisync.attributes.controller
author:
  - dbre.semisync contributors (@dbre-semisync)
seealso:
  - module: dbre.semisync.semisync_info
"""

EXAMPLES = r"""
- name: Refuse values that cannot work
  dbre.semisync.semisync_plan:

- name: Read the server
  dbre.semisync.semisync_info:
  register: state

- name: Plan
  dbre.semisync.semisync_plan:
    info_from: state
  register: plan

- name: Plan the way back
  dbre.semisync.semisync_plan:
    goal: remove
    info_from: state
  register: removal

- name: Plan a drill of the cluster's replicas
  dbre.semisync.semisync_plan:
    goal: drill
    info_from: state
  register: drill
"""

RETURN = r"""
cluster:
  description: The cluster's name.
  returned: success, with O(info_from)
  type: str
problems:
  description: Why it is not clear which host is the source, in words.
  returned: success, with V(goal=sides)
  type: list
  elements: str
side:
  description: V(source) or V(replica).
  returned: success, with O(info_from)
  type: str
changes:
  description: Whether anything must be done on this host.
  returned: success, with O(info_from)
  type: bool
option_file:
  description: Path and kind of the option file, and the collection's text in it, present and
    planned; with O(goal=remove) the lines that replication needs, and the file in which they stay.
  returned: success, with O(info_from)
  type: dict
cluster_changes:
  description: Whether anything must be done on any host of the cluster.
  returned: success, with O(goal=apply)
  type: bool
differs:
  description:
    - As RV(changes), but without a row of the journal that an interrupted run left open. That is
      all that is left of a benchmark that was killed, once its settings are restored.
  returned: success, with O(goal=apply)
  type: bool
cluster_differs:
  description: Whether RV(differs) on any host of the cluster.
  returned: success, with O(goal=apply)
  type: bool
server_changes:
  description: Whether plugin, option file, variables or a restart are among RV(changes).
  returned: success, with O(goal=apply)
  type: bool
turn:
  description: The host's turn in its cluster, from 0; the source has the last.
  returned: success, with O(goal=apply)
  type: int
turns:
  description: How many turns the cluster takes.
  returned: success, with O(goal=apply)
  type: int
source:
  description: Inventory name of the cluster's source.
  returned: success, with O(goal=apply), O(goal=remove) or O(goal=drill)
  type: str
source_address:
  description: The address at which replicas reach the source.
  returned: success, with O(goal=apply)
  type: str
source_port:
  description: The port that the source listens on.
  returned: success, with O(goal=apply)
  type: int
replicas:
  description: Inventory names of the cluster's replicas, in the inventory's order.
  returned: success, with O(goal=apply) or O(goal=remove)
  type: list
  elements: str
replica_addresses:
  description: Addresses of the replicas, in the same order.
  returned: success, with O(goal=apply)
  type: list
  elements: str
requested_stage:
  description: V(full), or V(replication) for replication without semi-sync, as requested.
  returned: success, with O(goal=apply)
  type: str
stage:
  description: The same, as planned now.
  returned: success, with O(goal=apply)
  type: str
held:
  description: Whether semi-sync on this source is not enabled before its replicas' channels run.
  returned: success, with O(goal=apply)
  type: bool
fell_back:
  description: Whether semi-sync is enabled on this source but off, after an acknowledgement timed
    out.
  returned: success, with O(goal=apply)
  type: bool
baseline:
  description: Whether semi-sync is disabled in the whole cluster, so that a baseline can be
    measured.
  returned: success, with O(goal=apply)
  type: bool
before_first_replica:
  description: Whether no replica of the cluster is semi-synchronous yet.
  returned: success, with O(goal=apply)
  type: bool
server_id:
  description: The host's planned server_id.
  returned: success, with O(goal=apply)
  type: int
fresh:
  description: Whether the collection manages the lines that replication needs on this host.
  returned: success, with O(goal=apply)
  type: bool
plugin:
  description: Name of the semi-sync plugin that this host needs; null if it is built in, or not
    needed yet.
  returned: success, with O(goal=apply)
  type: str
install_plugin:
  description: Whether a plugin of either side has to be installed.
  returned: success, with O(goal=apply)
  type: bool
install:
  description: The sides whose plugin has to be installed, the host's own first.
  returned: success, with O(goal=apply)
  type: list
  elements: str
  sample: [replica, source]
plugin_names:
  description: V(old) or V(new), the names of the plugins that are installed.
  returned: success, with O(goal=apply)
  type: str
renames:
  description: V(old) or V(new) if the plugins are exchanged for those with these names; empty if
    they stay.
  returned: success, with O(goal=apply)
  type: str
restart:
  description: Whether the server has to restart, with the reasons in RV(restart_reasons).
  returned: success, with O(goal=apply)
  type: bool
spends:
  description: Why the last look at the source proves nothing after this plan; empty if it still
    does.
  returned: success
  type: str
settles:
  description: Whether the journal must record such a change as made, including one that an
    interrupted run began.
  returned: success, with O(goal=apply)
  type: bool
restart_reasons:
  description: Variables that differ and need a restart.
  returned: success, with O(goal=apply)
  type: list
  elements: str
source_restarts:
  description: RV(restart_reasons) of the cluster's source.
  returned: success, with O(goal=apply)
  type: list
  elements: str
opens:
  description: Whether this source starts read-only, and must take writes once it runs, with
    C(semisync_promise=lossless).
  returned: success, with O(goal=apply)
  type: bool
set_global:
  description: Variables to set at run time, and their values.
  returned: success, with O(goal=apply)
  type: dict
restart_io:
  description: Whether the replica's IO thread has to be restarted, to start or stop acknowledging.
  returned: success, with O(goal=apply) or O(goal=remove)
  type: bool
unit:
  description: The systemd unit that the server's process belongs to, or null.
  returned: success, with O(goal=apply)
  type: str
wait_for:
  description: What must hold after a restart before the next host's turn, as
    O(dbre.semisync.semisync_info#module:wait_for).
  returned: success, with O(goal=apply)
  type: dict
followers:
  description: Replicas that read this source, and must reconnect at once if it restarts.
  returned: success, with O(goal=apply)
  type: list
  elements: str
clients:
  description: How many replicas the cluster has.
  returned: success, with O(goal=apply)
  type: int
clients_after:
  description: The least number of semi-sync replicas on the source after this host's turn.
  returned: success, with O(goal=apply)
  type: int
account:
  description: Whether the replication account has to be created.
  returned: success, with O(goal=apply)
  type: bool
account_needs_ssl:
  description: Whether that account may log in with TLS only.
  returned: success, with O(goal=apply)
  type: bool
account_open_because:
  description: Why that account may log in without TLS although the source has TLS; empty if it may
    not, or is not created.
  returned: success, with O(goal=apply)
  type: str
rotate_problem:
  description: Why this host cannot get a new replication password; empty if it can.
  returned: success, with O(goal=apply)
  type: str
channel:
  description: What the replica's channel needs, V(configure), V(start) or V(none).
  returned: success, with O(goal=apply)
  type: str
channels_change:
  description: Whether a channel of the cluster has to be configured or started.
  returned: success, with O(goal=apply)
  type: bool
tries_login:
  description: Whether the replica tries the replication account before anything is changed.
  returned: success, with O(goal=apply)
  type: bool
catch_up:
  description: Whether the replica is expected to be behind its source, so that the run waits for
    it.
  returned: success, with O(goal=apply)
  type: bool
tls:
  description: Whether this replica's channel should use C(ssl), with which C(ca), and whether to
    C(verify); null to leave it.
  returned: success, with O(goal=apply)
  type: dict
tls_differs:
  description: Whether an existing channel has different TLS settings.
  returned: success, with O(goal=apply)
  type: bool
tls_authority:
  description: The copy of the source's certificate authority on this replica, with the keys
    C(path), C(content) and C(changed), or null.
  returned: success, with O(goal=apply)
  type: dict
tls_changes:
  description: Whether RV(tls_differs) is true on any replica of the cluster.
  returned: success, with O(goal=apply)
  type: bool
seed:
  description: How this replica first gets the source's data, with the keys C(method), C(why),
    C(because) and C(tls) (of a clone), or null.
  returned: success, with O(goal=apply)
  type: dict
seed_leftover:
  description: Whether this source still has the account of an interrupted seeding.
  returned: success, with O(goal=apply)
  type: bool
answer:
  description: With O(goal=apply), what has to be done about the HTTP answer for routers, and its
    settings; with O(goal=remove), whether there is one.
  returned: success
  type: raw
heartbeat:
  description: With O(goal=apply), what has to be done about the heartbeat, and its settings;
    with O(goal=remove), whether there is one.
  returned: success
  type: raw
received:
  description: With O(goal=apply), what has to be done about the service that applies what a MariaDB
    replica had received, and its files; with O(goal=remove), the files that go.
  returned: success
  type: raw
switch_off:
  description: Sides of semi-sync that are enabled on this host by the collection.
  returned: success, with O(goal=remove)
  type: list
  elements: str
  sample: [source]
uninstall:
  description: Sides whose plugin the collection installed on this host.
  returned: success, with O(goal=remove)
  type: list
  elements: str
channel_runs:
  description: Whether the replica's channel runs.
  returned: success, with O(goal=remove)
  type: bool
remains:
  description: What stays because the collection did not set it up, in words.
  returned: success, with O(goal=remove)
  type: list
  elements: str
start:
  description: Whether an interrupted run left the replica's channel, or its IO thread, stopped.
  returned: success, with O(goal=remove) or O(goal=gtid)
  type: bool
anonymous:
  description: Whether a server of the cluster may write transactions without a GTID, so that all
    servers take the steps together.
  returned: success, with O(goal=gtid)
  type: bool
statements:
  description: The modes that this MySQL server has to go through, in order.
  returned: success, with O(goal=gtid)
  type: list
  elements: str
convert:
  description: Whether this replica's channel follows by file and position.
  returned: success, with O(goal=gtid)
  type: bool
drills:
  description:
    - A drill per replica, with C(replica), C(source), C(unit), C(timeout_ms), the acknowledgements
      that a commit needs (C(needed)), the number of C(clients), whether the source C(waits) if it
      has fewer than it needs, C(expected_fallback), which is false if the other replicas are
      enough, and C(position) and C(count), which of how many drills it is.
  returned: success, with O(goal=drill)
  type: list
  elements: dict
refused_with:
  description: The host that reports why the cluster was refused.
  returned: on failure, if another host reports it
  type: str
"""
