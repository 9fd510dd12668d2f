# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica's server while its channel changes: statements, waits, and the rollback."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until
from ansible_collections.dbre.semisync.plugins.module_utils._replication import position
from ansible_collections.dbre.semisync.plugins.module_utils._replication.channel import (
    DRAIN,
    Step,
    gtid_steps,
    login_steps,
    position_steps,
    reconnect_steps,
    show,
    waits_to_connect,
    way_back,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server import channels
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Channel

POLL_SECONDS = 0.05
# An error that is still there so long after the start is not an old one.
REFUSED_SECONDS = 0.7
LOOKS = 200
# Seconds between two attempts to connect to a source that restarts.
AGAIN_SECONDS = 1.0


class Replica:
    """The replica's server. The module's parameter wait limits every wait for it."""

    def __init__(
        self,
        module: AnsibleModule,
        server: Server,
        names: Names,
    ) -> None:
        self.module, self.server, self.names = module, server, names

    def channel(self) -> Channel | None:
        """The default channel, or None."""
        return channels.default_channel(self.server.channels(self.names))

    def existing_channel(self) -> Channel:
        """The default channel; ValueError if it was removed meanwhile."""
        channel = self.channel()
        if channel is None:
            raise ValueError("this host no longer has a replication channel")
        return channel

    def run(self, steps: list[Step]) -> None:
        """Run statements in order; fail if the server refuses one."""
        for statement, arguments in steps:
            if statement == DRAIN:
                self.drain()
                continue
            try:
                self.server.rows(statement, arguments)
            except ServerError as error:
                self.module.fail_json(
                    msg=f"the server refuses {show(statement, arguments)}: {error}"
                )

    def until(self, holds: Callable[[], Any]) -> bool:
        """Whether a condition holds within the module's parameter wait."""
        return bool(wait_until(holds, self.module.params["wait"], POLL_SECONDS))

    def drain(self) -> None:
        """Wait until what has been received by now is applied; if that takes too long, restart the
        channel and fail.

        More arrives meanwhile, unless the IO thread is stopped.
        """
        received = self.existing_channel()

        def applied() -> bool:
            now = self.existing_channel()
            return position.reached(
                now["applied_file"],
                now["applied_position"],
                received["read_file"],
                received["read_position"],
            )

        if received["read_file"] and not self.until(applied):
            self.run([(f"START {self.names.replica_word}", None)])
            now = self.existing_channel()
            self.module.fail_json(
                msg=(
                    f"the applier is behind, at {now['applied_position']} of"
                    f" {now['read_position']}; nothing was changed. Run this again when it has"
                    " caught up"
                )
            )

    def settle(self) -> Channel:
        """The channel, once it runs or has a lasting error."""
        begin = time.monotonic()

        def settled() -> bool:
            now = self.existing_channel()
            stands = time.monotonic() - begin > REFUSED_SECONDS
            return channels.running(now) or bool(now["last_io_error"] and stands)

        self.until(settled)
        return self.existing_channel()

    def reconnect(self) -> None:
        """Make the IO thread retry its source until it is connected, whatever its connect_retry;
        fail if it is not in time.

        After the first time, only when an attempt has failed: an attempt in progress is not
        interrupted.
        """
        tried = False
        due = time.monotonic()

        def connected() -> bool:
            nonlocal tried, due
            now = self.existing_channel()
            if not waits_to_connect(now):
                return True
            if not tried or (now["last_io_error"] and time.monotonic() >= due):
                self.run(reconnect_steps(self.names))
                tried = True
                due = time.monotonic() + AGAIN_SECONDS
            return False

        if not self.until(connected):
            reason = channels.describe_channel(self.existing_channel())
            self.module.fail_json(msg=f"the replica does not reach its source: {reason}")

    def update(
        self,
        changes: list[Any],
        before: Channel,
        known: str | None,
    ) -> None:
        """Change the login; restore the old one if the source refuses the new one.

        Args:
            changes: of login_changes().
            before: the channel.
            known: its password, or None if that cannot be read.
        """
        self.run(login_steps(self.names, changes, before))
        now = self.settle()
        if channels.running(now):
            return
        reason = channels.describe_channel(now)
        back = way_back(changes, before, known)
        outcome = "there is no old login to restore"
        if back:
            self.run(login_steps(self.names, back, {**before, "sql_running": "No"}))
            outcome = "the old one was restored"
        self.module.fail_json(
            msg=f"the channel did not connect with its new login, {outcome}: {reason}"
        )

    def applied(self) -> str:
        """The GTIDs that the replica has applied."""
        return self.server.applied(self.names)

    def begin(self) -> bool:
        """Start both threads, which an interrupted conversion may have left stopped; return whether
        one was.
        """
        if channels.running(self.channel()):
            return False
        if not self.module.check_mode:
            self.run([(f"START {self.names.replica_word}", None)])
            now = self.settle()
            if not channels.running(now):
                self.module.fail_json(
                    msg=f"the channel does not run: {channels.describe_channel(now)}"
                )
        return True

    def place(self) -> dict[str, object]:
        """How far the applier is, by position and by GTID, at one moment: {'file', 'position',
        'gtid'}. The IO thread keeps running, and acknowledges.
        """
        word = self.names.replica_word
        if not self.module.check_mode:
            self.run([(f"STOP {word} SQL_THREAD", None)])
        try:
            # In check mode it may be busy all the time; then the last look counts.
            for _dummy in range(LOOKS):
                now = self.existing_channel()
                gtids = self.applied()
                after = self.existing_channel()
                unmoved = now["applied_position"] == after["applied_position"]
                if unmoved and gtids == self.applied():
                    break
            return {
                "file": now["applied_file"],
                "position": now["applied_position"],
                "gtid": gtids,
            }
        finally:
            if not self.module.check_mode:
                self.run([(f"START {word} SQL_THREAD", None)])

    def pass_by(self, place: dict[str, Any], seconds: float) -> None:
        """Wait until the applier has passed a position in the source's binary log; fail if it does
        not.

        Args:
            place: {'file', 'position'}.
            seconds: how long it may take.
        """

        def passed(channel: Channel) -> bool:
            return position.passed(channel, place["file"], place["position"])

        now = wait_until(
            self.existing_channel,
            seconds,
            POLL_SECONDS,
            enough=lambda channel: passed(channel) or channel["sql_running"] != "Yes",
        )
        if not passed(now):
            self.module.fail_json(
                msg=(
                    f"the replica is at {now['applied_file']}:{now['applied_position']} of its"
                    f" source, and was to come to {place['file']}:{place['position']} within"
                    f" {int(seconds)} s: {channels.describe_channel(now)}"
                )
            )

    def to_gtid(self) -> None:
        """Follow by GTID; return to file and position if the source refuses that and nothing has
        arrived yet.
        """
        steps = gtid_steps(self.names)
        self.run(steps[:-2])
        stopped = self.existing_channel()
        gtids = self.applied()
        self.run(steps[-2:])
        now = self.settle()
        if channels.running(now):
            return
        reason = channels.describe_channel(now)
        outcome = "it stays by GTID"
        if now["last_io_error"] and self.applied() == gtids:
            self.run(position_steps(self.names, stopped))
            outcome = "it was returned to file and position"
        self.module.fail_json(msg=f"the channel did not connect by GTID, {outcome}: {reason}")
