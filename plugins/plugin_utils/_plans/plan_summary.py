# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `site.yml --check` ends with: what a run would do on each host of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
    from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.plan_shapes import (
        HostPlan,
        OptionFileStep,
    )

# What site.yml registers and sets on each host.
PLAN, HELD = "__semisync_plan", "__semisync_held"
# Hosts that have a line.
MOST = 10
# In the names of all its options.
SEMISYNC = "semi_sync"
TIMES = ("does not restart", "restarts once", "restarts twice")
CHANNEL = {"configure": "its channel is set up", "start": "its channel is started"}
SERVICE = {"present": "is installed", "absent": "is removed"}


def of_cluster(members: Sequence[Member], hostvars: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The summary of what site.yml has planned."""
    hosts = [member.host for member in members]
    plans = {host: hostvars[host][PLAN] for host in hosts if hostvars[host].get(PLAN)}
    return summary(plans, 2 if any(hostvars[host].get(HELD) for host in hosts) else 1)


def summary(plans: Mapping[str, HostPlan], stages: int) -> list[str]:
    """A line for each host on which something would be changed, replicas first.

    Args:
        plans: of each host that has one.
        stages: 2 if the source would get replication first, and semi-sync after its replicas.
    """
    turns = sorted(plans, key=lambda host: plans[host]["side"] == "source")
    lines = [line for host in turns if (line := line_of(host, plans[host], stages))]
    rest = len(lines) - MOST
    return [*lines[:MOST], *([f"and {rest} more hosts"] if rest > 0 else [])]


def line_of(host: str, plan: HostPlan, stages: int) -> str:
    """What would be done on one host; empty if nothing would."""
    times, steps = restarts(plan, stages), list(steps_of(plan))
    if not times and not steps:
        return ""
    return f"{host} {TIMES[times]}; {'; '.join(steps)}".rstrip("; ")


def steps_of(plan: HostPlan) -> Iterator[str]:
    """The same without restarts, step by step."""
    if plan["seed"] and plan["seed"]["method"]:
        yield f"its data are replaced with its source's ({plan['seed']['method']})"
    if plan["option_file"]["changed"]:
        yield f"writes {plan['option_file']['path']}{of_options(plan['option_file'])}"
    if plan["set_global"]:
        yield f"set at run time: {', '.join(plan['set_global'])}"
    if plan["install_plugin"]:
        yield f"plugin {plan['plugin']} is installed"
    if plan["renames"]:
        yield f"semi-sync's plugins get their {plan['renames']} names"
    if plan["account"]:
        yield "the replication account is created"
    if plan["channel"] in CHANNEL:
        yield CHANNEL[plan["channel"]]
    if plan["tls_differs"]:
        yield "its channel gets other TLS"
    if plan["answer"]["step"] in SERVICE:
        yield f"the HTTP answer {SERVICE[plan['answer']['step']]}"
    if plan["heartbeat"]["step"] in SERVICE:
        yield f"the heartbeat {SERVICE[plan['heartbeat']['step']]}"
    if plan["received"]["step"] in SERVICE:
        yield f"the service for what it had received {SERVICE[plan['received']['step']]}"


def restarts(plan: HostPlan, stages: int) -> int:
    """How often its server restarts."""
    semisync = any(SEMISYNC in reason for reason in plan["restart_reasons"])
    twice = plan["side"] == "source" and stages > 1 and semisync
    return (2 if twice else 1) if plan["restart"] else 0


def of_options(step: OptionFileStep) -> str:
    """The options of our lines that are not there yet, or have another value, as a list."""
    before = (step["before"] or "").splitlines()
    added = [line for line in (step["content"] or "").splitlines() if line not in before]
    names = [line.partition("=")[0].strip() for line in added if "=" in line]
    named = [name for name in names if SEMISYNC not in name]
    rest = len(names) - len(named)
    named += [f"{rest} of semi-sync"] if rest else []
    return f" ({', '.join(named)})" if named else ""
