# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions about semi-sync's plugins and run-time variables: which statements bring a server to
what is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Dict, Tuple, Union

from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    NEW,
    NEW_PLUGINS,
    OLD,
    OLD_PLUGINS,
    SOURCE,
    SWITCHES,
    Names,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import filled

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Side,
        Values,
        Variables,
    )

# Milliseconds a commit waits at most while a source begins to wait for its replicas.
GENTLE_MS = 100

# A variable's name -> (its value now, the wanted one).
Changes = Dict[str, Tuple[Union[int, str, None], Union[int, str]]]


class ConflictError(ValueError):
    """The plugins on the server cannot be brought to what is wanted; the text says the way out."""


def check_mix(
    plugins: Mapping[str, str], registered: Mapping[str, str], generation: str = OLD
) -> None:
    """Refuse a server that has plugins of both name generations, loaded or registered for the next
    start.

    The second kind fails to load (ER_INSTALL_PLUGIN_CONFLICT_CLIENT; MySQL 8.0.26 release notes). A
    row of mysql.plugin whose plugin could not be loaded, as an upgrade leaves it, counts too: it
    would be the second kind.

    Args:
        plugins: loaded ones, name -> status.
        registered: those in mysql.plugin, name -> library.
        generation: of the names that the server has in use.

    Raises:
        ConflictError: the text has the statements that leave one kind.
    """
    known = sorted(set(plugins) | set(registered))
    old = [name for name in known if name in OLD_PLUGINS]
    new = [name for name in known if name in NEW_PLUGINS]
    stale = [name for name in old + new if name not in plugins]
    if old and new:
        gone = [name for name in stale if name in (old if set(new) & set(plugins) else new)] or old
        raise ConflictError(
            f"plugins of both name generations are installed: {', '.join(old)} and"
            f" {', '.join(new)}. Stop replication and leave one kind ({way_out(gone, plugins)})"
        )
    if generation == NEW and set(old) & set(stale):
        raise ConflictError(
            "mysql.plugin has rows of plugins with the old names that the server did not load:"
            f" {', '.join(stale)}. Remove them ({way_out(stale, plugins)})"
        )


def way_out(names: list[str], plugins: Mapping[str, str]) -> str:
    """The statements that remove plugins; MySQL knows no UNINSTALL of one that is not loaded (seen
    on 9.7.4).
    """
    loaded = [f"UNINSTALL PLUGIN {name}" for name in names if name in plugins]
    stale = [name for name in names if name not in plugins]
    if stale:
        # Without the first, every replica would get the deletion, and a replica one transaction of
        # its own.
        loaded.append("SET SESSION sql_log_bin = 0")
        loaded.append(filled("DELETE FROM mysql.plugin WHERE name IN ({stale})", stale=stale))
    return "; ".join(loaded)


def install_statements(names: Names, side: Side, plugins: Mapping[str, str]) -> list[str]:
    """Statements that install this side's plugin; none if it is active or built in.

    Raises:
        ConflictError: the plugin is there but not active, or the other name generation is.
    """
    plugin = names.plugin(side)
    if plugin is None:
        return []
    name, library = plugin
    status = plugins.get(name)
    if status == "ACTIVE":
        return []
    if status is not None:
        raise ConflictError(f"plugin {name} is {status}, not ACTIVE; see the server's error log")
    return [f"INSTALL PLUGIN {name} SONAME '{library}'"]


def uninstall_statements(names: Names, side: Side, plugins: Mapping[str, str]) -> list[str]:
    """Statements that remove this side's plugin; none if it is absent or built in."""
    plugin = names.plugin(side)
    if plugin is None or plugin[0] not in plugins:
        return []
    return [f"UNINSTALL PLUGIN {plugin[0]}"]


def variable_changes(wanted: Mapping[str, int | str], current: Variables) -> Changes:
    """Variables whose run-time value differs: name -> (current value or None, wanted value)."""
    return {
        name: (current.get(name.lower()), value)
        for name, value in wanted.items()
        if not values.same_value(current.get(name.lower()), value)
    }


def in_order(changes: Changes) -> list[str]:
    """The names of variable_changes() in the order to set them: the switch last, so that a source
    never begins to wait with a timeout or a wait point that is not the wanted one, and first where
    it is switched off.
    """

    def turn(name: str) -> int:
        off = values.canonical_value(changes[name][1]) == "0"
        if name.lower() == "read_only" and off:
            # Writers are let in last.
            return 3
        if name.lower() not in SWITCHES:
            return 1
        return 0 if off else 2

    return sorted(changes, key=lambda name: (turn(name), name))


def gentle_start(
    names: Names, side: Side, changes: Changes, current: Variables
) -> tuple[Changes, Changes]:
    """Changes that switch a source on without making its writers wait for a replica that is behind,
    and what to set then.

    A source waits for the acknowledgement of its newest commit as soon as it is switched on, and a
    replica that is behind acknowledges late. With a short timeout the source continues
    asynchronously in the meantime, and semi-sync resumes when the replica has caught up.

    Args:
        names: the server's.
        side: source or replica.
        changes: result of variable_changes().
        current: the server's variables.

    Returns:
        (changes, changes for afterwards); the second are empty if nothing is switched on.
    """
    if side != SOURCE:
        return changes, {}
    variables = names.variables(side)
    enabled, timeout = variables["enabled"], variables["timeout"]
    if enabled not in changes or values.canonical_value(changes[enabled][1]) == "0":
        return changes, {}
    now = current.get(timeout)
    later = changes[timeout][1] if timeout in changes else now
    if later is None or int(later) <= GENTLE_MS:
        return changes, {}
    gentle: Changes = {**changes, timeout: (now, GENTLE_MS)}
    return gentle, {timeout: (GENTLE_MS, int(later))}


def acknowledged(before: Values, now: Values) -> bool:
    """Whether a commit was acknowledged since a source was switched on.

    Its status is ON from the first moment, whether or not a replica can keep up.

    Args:
        before: statuses by key, from before it was switched on; without a plugin their values are
            None.
        now: the same later.
    """
    return now.get("status") == "ON" and int(now.get("yes_tx") or 0) > int(
        before.get("yes_tx") or 0
    )


def nobody_waits(now: Values) -> bool:
    """Whether no commit waits for an acknowledgement, and none has given up waiting."""
    return now.get("status") == "ON" and int(now.get("wait_sessions") or 0) == 0
