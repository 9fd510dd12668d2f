# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened to a source since the last run: its counters against those that were kept."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

from ansible_collections.dbre.semisync.plugins.module_utils import checkpoints, plan

COUNTERS = ("yes_tx", "no_tx", "no_times")
# Clocks and whole seconds of uptime: a reset that seems this much younger than the last run may be the same one.
TOLERANCE_SECONDS = 3


def snapshot(info, at):
    """What is kept of a source for the next run, or None where its counters cannot be read."""
    status = info["semisync"]["source"]["status"]
    if any(status.get(key) is None for key in COUNTERS):
        return None
    kept = dict((key, int(status[key])) for key in COUNTERS)
    since = info["uptime"]["since_reset"]
    kept.update(server=checkpoints.identity(info), at=at, clock=info["clock"],
                counting_since=None if since is None else info["clock"] - since)
    return kept


def compare(saved, now):
    """How far the counters rose since the last run.

    FLUSH STATUS and a restart set them to zero. Then what they show is the least that happened.

    Args:
        saved: snapshot() of the run before, or None.
        now: snapshot() of this run, or None.

    Returns:
        {'no_tx', 'no_times': increase, 'since': when the last run was, 'reset': whether they began anew since},
        or None where there is nothing to compare.
    """
    if not now or not saved or saved.get("server") != now["server"]:
        return None
    reset = any(now[key] < saved.get(key, 0) for key in COUNTERS) or began_anew(saved, now)
    rise = dict((key, now[key] - (0 if reset else saved.get(key, 0))) for key in COUNTERS)
    return dict(rise, since=saved["at"], reset=reset)


def began_anew(saved, now):
    return (now["counting_since"] is not None and saved.get("clock") is not None
            and now["counting_since"] > saved["clock"] + TOLERANCE_SECONDS)


def degraded_since(saved, info, at):
    """When a run first saw that the source replicates asynchronously; None where it does not."""
    if not plan.fell_back(info):
        return None
    if saved and saved.get("server") == checkpoints.identity(info) and saved.get("degraded_since"):
        return saved["degraded_since"]
    return at
