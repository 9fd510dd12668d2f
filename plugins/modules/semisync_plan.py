# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documents plugins/action/semisync_plan.py; there is no code here.

from __future__ import annotations

DOCUMENTATION = r"""
module: semisync_plan
short_description: (internal) Decide what a host needs, from what the servers of its cluster said
version_added: "0.1.0"
description:
  - Compares the state of every host of the cluster, as M(dbre.semisync.semisync_info) registered
    it, with what the public variables of the roles want.
  - Fails, before anything is touched, when the inventory, a value or a server makes it impossible.
    The message names the host, what was found and what to do. It is said once per cluster; the
    cluster's other hosts fail and name the host that says it.
  - Without O(info_from) it judges only the public variables, of all hosts of the cluster; one that
    begins with C(semisync_) and is none is refused with the nearest that is one.
  - Runs on the controller and connects to nothing.
options:
  info_from:
    description: Name of the variable that holds each host's registered
      M(dbre.semisync.semisync_info) result.
    type: str
  goal:
    description:
      - V(apply) plans semi-synchronous replication as the variables want it.
      - V(remove) plans the way back to asynchronous replication. The collection's lines in a host's
        option file say what is its own; semi-sync that somebody else set up is left. Refuses where
        a writer would have to wait, or a server could not start again.
      - V(gtid) plans the way from file and position to GTIDs. Refuses a cluster where a replica
        would be sent again what it has, or where a server that is not in the inventory would stop
        replicating.
      - V(sides) says who is the source, and refuses nothing. What it reads may be of
        M(dbre.semisync.semisync_canary) with V(mode=watch).
      - V(drill) plans which replicas are stopped one after another, and what the source is to do
        then. Refuses a cluster with a host that was not read or has failed in this run, or of which
        it is not clear who is the source, a semi-sync timeout longer than
        C(semisync_drill_max_block), and a server that belongs to no systemd unit.
      - V(hosts) plans nothing, and refuses a run that would read no host, because the inventory's
        groups are missing or misspelt, or C(--limit) leaves none of their hosts. It needs no
        O(info_from), and is for all hosts of the run once.
      - V(read) plans nothing, and refuses to end a run well in which no host was read.
    version_added: "1.0.0"
    type: str
    choices: [apply, remove, gtid, sides, drill, hosts, read]
    default: apply
  hold_back:
    description: Whether a source waits with semi-sync until its replicas' channels run, because
      until then every commit would wait for the timeout.
    version_added: "1.0.0"
    type: bool
    default: true
  alone:
    description: Whether those that could not be read are left out, as behind a failover that went
      on without them. A source that is all that is left of its cluster waits for nobody then, also
      after its next start.
    version_added: "1.0.0"
    type: bool
    default: false
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
  description: Why it is not clear who is the source, in words.
  returned: success, with V(goal=sides)
  type: list
  elements: str
side:
  description: V(source) or V(replica).
  returned: success, with O(info_from)
  type: str
changes:
  description: Whether anything is to be done on this host.
  returned: success, with O(info_from)
  type: bool
option_file:
  description: Path and kind of the option file, and the collection's text in it as it is and as it
    is to be; with O(goal=remove) the lines that replication needs, and where they are left.
  returned: success, with O(info_from)
  type: dict
cluster_changes:
  description: Whether anything is to be done on any host of the cluster.
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
  description: How replicas reach the source.
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
  description: How the replicas are reached, in the same order.
  returned: success, with O(goal=apply)
  type: list
  elements: str
requested_stage:
  description: V(full), or V(replication) for replication alone, as it is wanted.
  returned: success, with O(goal=apply)
  type: str
stage:
  description: The same, as it is planned now.
  returned: success, with O(goal=apply)
  type: str
held:
  description: Whether semi-sync on this source waits until its replicas' channels run.
  returned: success, with O(goal=apply)
  type: bool
fell_back:
  description: Whether semi-sync is enabled on this source but off, after an acknowledgement that
    did not come in time.
  returned: success, with O(goal=apply)
  type: bool
baseline:
  description: Whether semi-sync is nowhere enabled in the cluster, so that a baseline can be
    measured.
  returned: success, with O(goal=apply)
  type: bool
before_first_replica:
  description: Whether no replica of the cluster is semi-synchronous yet.
  returned: success, with O(goal=apply)
  type: bool
server_id:
  description: The host's server_id, as it is to be.
  returned: success, with O(goal=apply)
  type: int
fresh:
  description: Whether the lines that replication needs are the collection's business on this host.
  returned: success, with O(goal=apply)
  type: bool
plugin:
  description: Name of the semi-sync plugin that this host needs; null where it is built in, or not
    wanted yet.
  returned: success, with O(goal=apply)
  type: str
install_plugin:
  description: Whether a plugin has to be installed, of either side.
  returned: success, with O(goal=apply)
  type: bool
install:
  description: The sides whose plugin has to be installed, the host's own first.
  returned: success, with O(goal=apply)
  type: list
  elements: str
  sample: [replica, source]
restart:
  description: Whether the server has to restart, with the reasons in RV(restart_reasons).
  returned: success, with O(goal=apply)
  type: bool
spends:
  description: Why the last look at the source proves nothing behind this plan; empty where it does.
  returned: success
  type: str
settles:
  description: Whether the journal is to say that such a change is made, be it one that an
    interrupted run began.
  returned: success, with O(goal=apply)
  type: bool
restart_reasons:
  description: Variables that differ and cannot be set otherwise.
  returned: success, with O(goal=apply)
  type: list
  elements: str
source_restarts:
  description: RV(restart_reasons) of the cluster's source.
  returned: success, with O(goal=apply)
  type: list
  elements: str
opens:
  description: Whether this source starts read-only, and is to take writes once it runs, as
    C(semisync_promise=lossless) has it.
  returned: success, with O(goal=apply)
  type: bool
set_global:
  description: Variables to set at run time, and their values.
  returned: success, with O(goal=apply)
  type: dict
restart_io:
  description: Whether the replica's IO thread has to be restarted, to begin or to cease to
    acknowledge.
  returned: success, with O(goal=apply) or O(goal=remove)
  type: bool
unit:
  description: The systemd unit that the server's process belongs to, or null.
  returned: success, with O(goal=apply)
  type: str
wait_for:
  description: What must hold after a restart before the next host has its turn, as
    O(dbre.semisync.semisync_info#module:wait_for).
  returned: success, with O(goal=apply)
  type: dict
followers:
  description: Replicas that read this source, and are to connect again at once where it restarts.
  returned: success, with O(goal=apply)
  type: list
  elements: str
clients:
  description: Replicas that the cluster has.
  returned: success, with O(goal=apply)
  type: int
clients_after:
  description: Semi-sync replicas that the source must at least count after this host's turn.
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
  description: Why it may log in without TLS although its source has it; empty where it may not, or
    is not created.
  returned: success, with O(goal=apply)
  type: str
rotate_problem:
  description: Why this host cannot be given another replication password; empty where it can.
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
catch_up:
  description: Whether the replica is expected to be behind its source and is waited for.
  returned: success, with O(goal=apply)
  type: bool
tls:
  description: Whether this replica's channel is wanted with C(ssl), which C(ca) and whether to
    C(verify); null to leave it.
  returned: success, with O(goal=apply)
  type: dict
tls_differs:
  description: Whether a channel that exists has another TLS than that.
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
  description: How the source's data come to this replica first, with the keys C(method), C(why),
    C(because) and C(tls) (of a clone), or null.
  returned: success, with O(goal=apply)
  type: dict
seed_leftover:
  description: Whether this source still has the account of a seeding that was interrupted.
  returned: success, with O(goal=apply)
  type: bool
answer:
  description: With O(goal=apply), what has to be done about the HTTP answer for routers, with its
    settings; with O(goal=remove), whether there is one.
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
  description: What stays because it is not the collection's, in words.
  returned: success, with O(goal=remove)
  type: list
  elements: str
start:
  description: Whether an interrupted run left the replica's channel, or its IO thread, stopped.
  returned: success, with O(goal=remove) or O(goal=gtid)
  type: bool
anonymous:
  description: Whether a server of the cluster may write transactions without a GTID, so that all
    take the steps together.
  returned: success, with O(goal=gtid)
  type: bool
statements:
  description: The modes that this MySQL server has to take, in their order.
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
      that a commit needs (C(needed)), the C(clients) there are, whether the source C(waits) where
      it has fewer than it needs, and C(expected_fallback), which is false where the other replicas
      are enough.
  returned: success, with O(goal=drill)
  type: list
  elements: dict
refused_with:
  description: The host that says why the cluster was refused.
  returned: on failure, where another host says it
  type: str
"""
