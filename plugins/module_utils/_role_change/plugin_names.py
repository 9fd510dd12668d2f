# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exchange a running replica's semi-sync plugins for those of the other generation of names.

The two generations cannot be loaded together (MySQL 8.0.26 release notes), and the replica's side
cannot be unloaded while the IO thread runs (mysql-server plugin/semisync), so that stops meanwhile.
A source is not exchanged: while neither generation is loaded nothing would hold its commits back.
After a switchover it is a replica.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels, plugin
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import (
    REPLICA,
    SOURCE,
    Names,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.read import by_key
from ansible_collections.dbre.semisync.plugins.module_utils._server.sql import set_statement
from ansible_collections.dbre.semisync.plugins.module_utils._server.values import canonical_value

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import (
        Side,
        Values,
        Variables,
    )

# The replica's side first: it is the one that is on.
SIDES: tuple[Side, ...] = (REPLICA, SOURCE)
POLL_SECONDS = 0.05
# How often what a killed process left is tried to be finished, and the seconds between: its last
# statement may still run.
ATTEMPTS, PAUSE = 5, 2
# A plugin that is in use stays, and is only marked (mysql-server, sql/rpl_handler.cc).
STATIC = "replication_optimize_for_static_plugin_config"


class ExchangeError(ValueError):
    """The plugins were not exchanged; the server is as it was."""


class Begun(TypedDict):
    """What an exchange has to put back, from before anything was changed; also for the process that
    finishes it if this one is killed.

    Attributes:
        values: of values_of().
        runs: whether the IO thread ran.
        acknowledges: whether the replica's semi-sync status was ON.
        strict: whether super_read_only was ON.
    """

    values: dict[Side, Values]
    runs: bool
    acknowledges: bool
    strict: bool


class Steps(NamedTuple):
    """The statements of an exchange, in order."""

    unload: list[str]
    load: list[str]
    settings: list[str]

    @property
    def all(self) -> list[str]:
        return [*self.unload, *self.load, *self.settings]


def values_of(names: Names, variables: Variables) -> dict[Side, Values]:
    """The values of both sides' variables, under the collection's keys."""
    return {side: by_key(names.variables(side), variables) for side in SIDES}


def steps(
    before: Names,
    after: Names,
    plugins: Mapping[str, str],
    values: Mapping[Side, Values],
) -> Steps:
    """The statements that take a server from one generation to the other.

    Args:
        plugins: loaded ones, name -> status; after an interrupted exchange fewer than before it.
        values: of the variables, under the collection's keys; they stay what they are. The switches
            are last, so that no side begins with a value that is not the wanted one.
    """
    unload, load, settings = [], [], []
    for side in SIDES:
        unload += plugin.uninstall_statements(before, side, plugins)
        load += plugin.install_statements(after, side, plugins)
        wanted: plugin.Changes = {
            after.variables(side)[key]: (None, value)
            for key, value in values[side].items()
            if value is not None and key in after.variables(side)
        }
        settings += [set_statement(name, wanted[name][1]) for name in plugin.in_order(wanted)]
    return Steps(unload, load, settings)


class Exchange:
    """One replica's exchange, on its own host.

    Args:
        server: a connection that may change plugins and variables.
        before: the names that it had.
        after: the names that it is to have.
        seconds: for each wait.
    """

    def __init__(self, server: Server, before: Names, after: Names, seconds: float) -> None:
        self.server, self.before, self.after = server, before, after
        self.seconds = seconds
        self.done: list[str] = []

    def begun(self) -> Begun:
        """What the exchange has to put back.

        Raises:
            ExchangeError: this server cannot be exchanged now.
        """
        variables = self.server.variables()
        values = values_of(self.before, variables)
        clients = int(self.status(SOURCE, self.before)["clients"] or 0)
        if clients or canonical_value(values[SOURCE].get("enabled") or "OFF") == "1":
            raise ExchangeError(
                f"this server acts as a source ({clients} semi-sync replicas); only a replica's"
                " plugins are exchanged"
            )
        if canonical_value(variables.get(STATIC) or "OFF") == "1":
            raise ExchangeError(f"{STATIC} is ON, so that no plugin can be unloaded; set it OFF")
        channel = channels.default_channel(self.server.channels(self.before))
        return {
            "values": values,
            "runs": channel is not None and channel["io_running"] != "No",
            "acknowledges": self.status(REPLICA, self.before)["status"] == "ON",
            "strict": canonical_value(variables.get("super_read_only") or "OFF") == "1",
        }

    def run(self, statement: str) -> None:
        """Run a statement, and remember it for the result.

        Raises:
            ServerError: the server refuses it.
        """
        self.server.rows(statement)
        self.done.append(statement)

    def change(self, before: Names, after: Names, values: Mapping[Side, Values]) -> None:
        """Unload one generation, and load and set the other.

        Raises:
            ServerError: the server refuses a statement.
            ConflictError: it has one of the plugins, and that is not active.
        """
        planned = steps(before, after, self.server.plugins(), values)
        for statement in planned.all:
            self.run(statement)

    def change_or_go_back(self, values: Mapping[Side, Values]) -> None:
        """change(), or back to the names of before if the server refuses the others.

        Raises:
            ExchangeError: it refused the others.
            ServerError, ConflictError: it refuses both.
        """
        try:
            self.change(self.before, self.after, values)
        except (ServerError, plugin.ConflictError) as error:
            self.change(self.after, self.before, values)
            raise ExchangeError(
                f"the server refused the other names ({error}) and has those of before again"
            ) from error

    def perform(self, begun: Begun) -> None:
        """Exchange the plugins, and acknowledge again.

        Raises:
            ExchangeError: the server is as it was before.
            ServerError, ConflictError: it is neither; perform() again finishes it.
        """
        # INSTALL waits for a backup's lock as for any other (mysql-server, sql/sql_plugin.cc).
        self.server.rows(f"SET SESSION lock_wait_timeout = {max(1, int(self.seconds))}")
        if begun["runs"]:
            self.run(f"STOP {self.before.replica_word} IO_THREAD FOR CHANNEL ''")
        refused = None
        # A server that is super_read_only refuses to record a plugin.
        if begun["strict"]:
            self.run("SET GLOBAL super_read_only = OFF")
        try:
            self.change_or_go_back(begun["values"])
        except ExchangeError as error:
            refused = error
        if begun["strict"]:
            self.run("SET GLOBAL super_read_only = ON")
        if begun["runs"]:
            self.run(f"START {self.before.replica_word} IO_THREAD FOR CHANNEL ''")
        if refused:
            raise refused
        if begun["runs"] and begun["acknowledges"]:
            self.wait(lambda: self.status(REPLICA, self.after)["status"] == "ON")

    def finish(self, begun: Begun) -> None:
        """perform(), for one that was killed in the middle of it.

        Raises:
            ServerError, ExchangeError, ConflictError: the last one, if it cannot be finished.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                return self.perform(begun)
            except (ServerError, plugin.ConflictError):
                if not left:
                    raise
            time.sleep(PAUSE)
        return None

    def status(self, side: Side, names: Names) -> Values:
        return by_key(names.statuses(side), self.server.semisync_status())

    def wait(self, enough: Callable[[], bool]) -> None:
        """Wait until the replica acknowledges; the source counts it in the next task."""
        wait_until(enough, self.seconds, POLL_SECONDS)
