# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of one cluster as the inventory and this run know them; runs on the controller."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible.errors import AnsibleActionFail
from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, findings, plan, problems

GROUPS = (("source", "semisync_source"), ("replica", "semisync_replica"))
DEFAULT = "default"


def members(task_vars, info_from, active_only=False):
    """(cluster's name, its Members): the hosts of both groups with the same semisync_cluster as this host.

    Args:
        task_vars: a task's variables.
        info_from: name of the variable that holds each host's semisync_info result.
        active_only: whether what a host said counts for nothing once it has failed in this play.
    """
    hostvars, groups = task_vars["hostvars"], task_vars["groups"]
    name = str(task_vars.get("semisync_cluster", DEFAULT))
    found = []
    for role, group in GROUPS:
        for host in groups.get(group, []):
            theirs = hostvars[host]
            if str(theirs.get("semisync_cluster", DEFAULT)) == name:
                found.append(member(host, role, theirs, info_from))
                if active_only and lost(task_vars, host):
                    found[-1].info, found[-1].error = None, "failed or became unreachable in this run"
    return name, found


def hosts_of(task_vars):
    """The hosts of this host's cluster, by name; a cluster whose name cannot be read is nobody's."""
    name = str(task_vars["hostvars"][task_vars["inventory_hostname"]].get("semisync_cluster", DEFAULT))
    found = []
    for dummy, group in GROUPS:
        for host in task_vars["groups"].get(group, []):
            try:
                theirs = str(task_vars["hostvars"][host].get("semisync_cluster", DEFAULT))
            except Exception:  # Ansible's templating has many; that host speaks for itself
                continue
            if theirs == name and host not in found:
                found.append(host)
    return found


def lost(task_vars, host):
    """True for a host that began this play and has failed or become unreachable."""
    return host in task_vars["ansible_play_hosts_all"] and host not in task_vars["ansible_play_hosts"]


def member(host, role, theirs, info_from):
    """One host with its state, or with the reason why there is none."""
    read = theirs.get(info_from) or {}
    usable = "semisync" in read
    return plan.Member(
        host, role, read if usable else None, "" if usable else problems.unreadable(read),
        address=theirs.get("semisync_address") or theirs.get("ansible_host") or host,
        explicit_id=int(theirs.get("semisync_server_id") or 0))


def untouched(task_vars, found):
    """How a refusal begins: nothing was changed but, where a host had none, PyMySQL was installed."""
    given = [one.host for one in found
             if (task_vars["hostvars"][one.host].get("__semisync_installed") or {}).get("changed")]
    return "Nothing was changed%s." % (", but PyMySQL was installed on %s" % ", ".join(given) if given else "")


def refuse(task_vars, name, found, wrong):
    """AnsibleActionFail where something is wrong with a cluster."""
    if wrong:
        raise AnsibleActionFail("%s Cluster %r: %s" % (untouched(task_vars, found), name, "; ".join(wrong)))


def judged(task_vars, info_from, judge):
    """(cluster's name, its Members, this host's Member), where nothing speaks against working on the cluster.

    Args:
        task_vars, info_from: as for members().
        judge: takes the Members, all of them read, and returns what is wrong with them, in words.

    Raises:
        AnsibleActionFail: the inventory, a host that could not be read, or what the judge found.
    """
    name, found = members(task_vars, info_from)
    wrong = problems.of_inventory(name, found) or problems.of_reading(found) or judge(found)
    refuse(task_vars, name, found, wrong)
    return name, found, next(one for one in found if one.host == task_vars["inventory_hostname"])


def speaker(task_vars, found):
    """The first host of a cluster that is still in the play: the one that acts once for all."""
    active = task_vars["ansible_play_hosts"]
    return next((one.host for one in found if one.host in active), None)


def canary(task_vars, found, written_from, arrived_from):
    """(the source's canary result or None, replica -> its arrival) from each host's variables of those names."""
    if not written_from:
        return None, {}
    source = next(one for one in found if one.role == "source")
    hostvars = task_vars["hostvars"]
    return (hostvars[source.host].get(written_from) or {"msg": source.error or "no row was written"},
            dict((one.host, (hostvars[one.host].get(arrived_from) or {}).get("arrival"))
                 for one in found if one.role == "replica"))


def verdict(rows, noticed):
    """One line: how many checkpoints passed and failed, and everything that makes the cluster unhealthy."""
    line, critical = checkpoints.verdict(rows), findings.reasons(noticed)
    if not critical:
        return line
    return line + ("; " if checkpoints.failed(rows) else ": ") + "critical: " + critical
