# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions about semi-sync's plugins and run-time variables: which statements bring a server to what is wanted."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import re

from ansible_collections.dbre.semisync.plugins.module_utils import names as naming
from ansible_collections.dbre.semisync.plugins.module_utils import options as optfile


# Milliseconds a commit waits at most while a source begins to wait for its replicas.
GENTLE_MS = 100


class Conflict(ValueError):
    """The plugins on the server cannot be brought to what is wanted; the text says the way out."""


def check_mix(plugins, registered, generation=naming.OLD):
    """Refuse a server that has plugins of both name generations, loaded or registered for the next start.

    The second kind fails to load (ER_INSTALL_PLUGIN_CONFLICT_CLIENT; MySQL 8.0.26 release notes). A row of mysql.plugin
    whose plugin could not be loaded, as an upgrade leaves it, counts too: it would be the second kind.

    Args:
        plugins: loaded ones, name -> status.
        registered: those in mysql.plugin, name -> library.
        generation: of the names that the server has in use.

    Raises:
        Conflict: the text has the statements that leave one kind.
    """
    found = sorted(set(plugins) | set(registered))
    old = [name for name in found if name in naming.OLD_PLUGINS]
    new = [name for name in found if name in naming.NEW_PLUGINS]
    stale = [name for name in old + new if name not in plugins]
    if old and new:
        gone = [name for name in stale if name in (old if set(new) & set(plugins) else new)] or old
        raise Conflict("plugins of both name generations are installed: %s and %s. Stop replication and leave one kind "
                       "(%s)" % (", ".join(old), ", ".join(new), way_out(gone, plugins)))
    if generation == naming.NEW and set(old) & set(stale):
        raise Conflict("mysql.plugin has rows of plugins with the old names that the server did not load: %s. Remove them "
                       "(%s)" % (", ".join(stale), way_out(stale, plugins)))


def way_out(names, plugins):
    """The statements that remove plugins; MySQL knows no UNINSTALL of one that is not loaded (seen on 9.7.4)."""
    loaded = ["UNINSTALL PLUGIN %s" % name for name in names if name in plugins]
    stale = ["'%s'" % name for name in names if name not in plugins]
    if stale:
        # Without the first, every replica would get the deletion, and a replica one transaction of its own.
        loaded.append("SET SESSION sql_log_bin = 0; DELETE FROM mysql.plugin WHERE name IN (%s)" % ", ".join(stale))
    return "; ".join(loaded)


def install_statements(names, side, plugins):
    """Statements that install this side's plugin; none where it is active or built in.

    Raises:
        Conflict: the plugin is there but not active, or the other name generation is.
    """
    plugin = names.plugin(side)
    if plugin is None:
        return []
    name, library = plugin
    status = plugins.get(name)
    if status == "ACTIVE":
        return []
    if status is not None:
        raise Conflict("plugin %s is %s, not ACTIVE; see the server's error log" % (name, status))
    return ["INSTALL PLUGIN %s SONAME '%s'" % (name, library)]


def uninstall_statements(names, side, plugins):
    """Statements that remove this side's plugin; none where it is absent or built in."""
    plugin = names.plugin(side)
    if plugin is None or plugin[0] not in plugins:
        return []
    return ["UNINSTALL PLUGIN %s" % plugin[0]]


def variable_changes(wanted, current):
    """Variables whose run-time value differs: name -> (current value or None, wanted value)."""
    return dict((name, (current.get(name.lower()), value)) for name, value in wanted.items()
                if not optfile.same_value(current.get(name.lower()), value))


def in_order(changes):
    """The names of variable_changes() in the order to set them: the switch last, so that a source never begins to wait
    with a timeout or a wait point that is not the wanted one, and first where it is switched off.
    """
    def turn(name):
        if name.lower() not in naming.SWITCHES:
            return 1
        return 0 if optfile.canonical_value(changes[name][1]) == "0" else 2
    return sorted(changes, key=lambda name: (turn(name), name))


def gentle_start(names, side, changes, current):
    """Changes that switch a source on without making its writers wait for a replica that is behind, and what to set then.

    A source that is switched on waits at once for the acknowledgement of its newest commit, which a replica that is
    behind gives late. With a short timeout it goes on asynchronously in the meantime, and switches itself on when the
    replica is there.

    Args:
        names: names.Names of the server.
        side: source or replica.
        changes: result of variable_changes().
        current: the server's variables.

    Returns:
        (changes, changes for afterwards); the second are empty where nothing is switched on.
    """
    enabled, timeout = (names.variables(side).get(key) for key in ("enabled", "timeout"))
    if side != naming.SOURCE or enabled not in changes or optfile.canonical_value(changes[enabled][1]) == "0":
        return changes, {}
    now = current.get(timeout)
    later = changes[timeout][1] if timeout in changes else now
    if later is None or int(later) <= GENTLE_MS:
        return changes, {}
    return dict(changes, **{timeout: (now, GENTLE_MS)}), {timeout: (GENTLE_MS, int(later))}


def acknowledged(before, now):
    """True where a commit was acknowledged since a source was switched on.

    Its status is ON from the first moment, whether or not a replica can keep up.

    Args:
        before: statuses by key, from before it was switched on; without a plugin their values are None.
        now: the same later.
    """
    return now.get("status") == "ON" and int(now.get("yes_tx") or 0) > int(before.get("yes_tx") or 0)


def nobody_waits(now):
    """True where no commit waits for an acknowledgement, and none has given up waiting."""
    return now.get("status") == "ON" and int(now.get("wait_sessions") or 0) == 0


def set_statement(name, value):
    """(statement, arguments) of one SET GLOBAL.

    Raises:
        ValueError: the name is no variable's name.
    """
    if not re.match(r"[A-Za-z0-9_.]+\Z", name):
        raise ValueError("%r is not the name of a variable" % name)
    text = str(value)
    return "SET GLOBAL %s = %%s" % name, (int(text) if re.match(r"^-?\d+$", text) else text,)
