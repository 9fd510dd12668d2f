# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run has any host to read, and whether it read one: without that it must not end well,
because from cron it would be green for ever.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

SOURCE, REPLICA = "semisync_source", "semisync_replica"
# Ansible's own.
EVERY = ("all", "ungrouped")
SHOWN = 5
# How like two names are that differ by a slip of the finger.
ALIKE = 0.8


def problem(groups: Mapping[str, Collection[str]], playing: Sequence[str]) -> str:
    """Why a run would read nothing, or less than was meant, in words; empty if it would not.

    Args:
        groups: the inventory's, with the hosts of each, whatever --limit says.
        playing: the hosts that --limit leaves.
    """
    missing = [group for group in (SOURCE, REPLICA) if not groups.get(group)]
    slips = [slip for group in missing if (slip := misspelt(group, groups))]
    if slips:
        return f"Nothing was done: {'; '.join(slips)}"
    if len(missing) == 2:
        return (
            f"There is no host in group {SOURCE} or {REPLICA} of this inventory. Nothing was done."
            f" {others(groups)} Put each cluster's hosts into these two groups"
        )
    ours = [host for group in (SOURCE, REPLICA) for host in groups.get(group, ())]
    if not set(ours) & set(playing):
        return (
            f"Nothing was done: --limit takes {some(playing)}, and leaves no host of groups"
            f" {SOURCE} and {REPLICA} ({some(ours)}). Take a cluster whole"
        )
    return ""


def misspelt(group: str, groups: Mapping[str, Collection[str]]) -> str:
    """That another group looks like one that is missing, in words; empty if none does."""
    named = [name for name, hosts in groups.items() if hosts and name not in (SOURCE, REPLICA)]
    near = difflib.get_close_matches(group, named, 1, ALIKE)
    if not near:
        return ""
    return (
        f"there is no host in group {group}, but {some(groups[near[0]])} in {near[0]}; call that"
        f" group {group}"
    )


def others(groups: Mapping[str, Collection[str]]) -> str:
    """The groups that an inventory has instead, in words."""
    there = [
        f"{name} ({some(hosts)})" for name, hosts in groups.items() if hosts and name not in EVERY
    ]
    if there:
        return f"Its groups are {some(there)}."
    hosts = groups.get("all") or ()
    return f"Its hosts are in no group: {some(hosts)}." if hosts else "It has no hosts."


def some(words: Iterable[str]) -> str:
    """The first of these, and how many more there are."""
    listed = list(words)
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def unread(said: Iterable[Mapping[str, Any] | None], tags: Sequence[str]) -> str:
    """That a run has read no host, in words; empty if it has read one.

    Args:
        said: what each host's semisync_info said in this run, if it was asked.
        tags: Ansible's choice of tags.
    """
    if any("variables" in (one or {}) for one in said):
        return ""
    chosen = [tag for tag in tags if tag != "all"]
    why = f" with the tags {', '.join(chosen)}" if chosen else ""
    do = (
        "leave the tags out, or see --list-tags"
        if chosen
        else "see what was skipped above, and why"
    )
    return f"No host was read in this run{why}, so nothing is known of any: {do}"
