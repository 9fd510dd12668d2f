# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica's server while its channel changes: statements, waits, and the way back."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import time

from ansible_collections.dbre.semisync.plugins.module_utils import channel, conversion, state

POLL_SECONDS = 0.05
# An error that stands so long after the start is none of before.
REFUSED_SECONDS = 0.7
LOOKS = 200


class Replica(object):
    """The replica's server. The module's parameter wait bounds every wait for it."""

    def __init__(self, module, server, server_names):
        self.module, self.server, self.names = module, server, server_names

    def channel(self):
        return state.default_channel(self.server.channels(self.names))

    def run(self, steps):
        for statement, arguments in steps:
            if statement == channel.DRAIN:
                self.drain()
                continue
            try:
                self.server.rows(statement, arguments)
            except Exception as error:  # the drivers share no exception class
                self.module.fail_json(msg="the server refuses %s: %s" % (channel.show(statement, arguments), error))

    def until(self, holds):
        """Whether it holds within the time there is."""
        end = time.monotonic() + self.module.params["wait"]
        while not holds():
            if time.monotonic() > end:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def drain(self):
        """Wait until what was received by now is applied; with the channel running again where that takes too long.

        More comes meanwhile, unless the IO thread is stopped.
        """
        target = self.channel()

        def applied():
            now = self.channel()
            return conversion.reached(now["applied_file"], now["applied_position"], target["read_file"], target["read_position"])

        if target["read_file"] and not self.until(applied):
            self.run([("START %s" % self.names.replica_word, None)])
            now = self.channel()
            self.module.fail_json(msg="the applier is behind, at %s of %s; nothing was changed. Run again when it has caught up"
                                  % (now["applied_position"], now["read_position"]))

    def settle(self):
        """The channel, once it runs or an error of it stands."""
        begin = time.monotonic()

        def settled():
            now = self.channel()
            return state.running(now) or now["last_io_error"] and time.monotonic() - begin > REFUSED_SECONDS

        self.until(settled)
        return self.channel()

    def update(self, changes, before, known):
        """Change the login; back to the old one where the source does not take the new one."""
        self.run(channel.login_steps(self.names, changes, before))
        now = self.settle()
        if state.running(now):
            return
        reason = state.describe_channel(now)
        back = channel.way_back(changes, before, known)
        words = "there is no old one to go back to"
        if back:
            self.run(channel.login_steps(self.names, back, dict(before, sql_running="No")))
            words = "the old one is back"
        self.module.fail_json(msg="the channel did not connect with its new login, %s: %s" % (words, reason))

    def has(self):
        """The GTIDs that the replica has applied."""
        return self.server.applied(self.names)

    def begin(self):
        """Have both threads run, as a conversion that was interrupted may not have left them."""
        before = self.channel()
        if state.running(before):
            return False
        if not self.module.check_mode:
            self.run([("START %s" % self.names.replica_word, None)])
            now = self.settle()
            if not state.running(now):
                self.module.fail_json(msg="the channel does not run: %s" % state.describe_channel(now))
        return True

    def point(self):
        """How far the applier is, by position and by GTID, at one moment. The IO thread goes on, and acknowledges."""
        word = self.names.replica_word
        if not self.module.check_mode:
            self.run([("STOP %s SQL_THREAD" % word, None)])
        try:
            # In check mode it may be at work all the time; then the last look counts.
            for dummy in range(LOOKS):
                now, gtids = self.channel(), self.has()
                after = self.channel()
                if now["applied_position"] == after["applied_position"] and gtids == self.has():
                    break
            return {"file": now["applied_file"], "position": now["applied_position"], "gtid": gtids}
        finally:
            if not self.module.check_mode:
                self.run([("START %s SQL_THREAD" % word, None)])

    def pass_by(self, target, seconds):
        """Wait until the applier has passed a place of the source's binary log."""
        end = time.monotonic() + seconds
        while True:
            now = self.channel()
            if conversion.reached(now["applied_file"], now["applied_position"], target["file"], target["position"]):
                return
            if now["sql_running"] != "Yes" or time.monotonic() > end:
                self.module.fail_json(msg="the replica is at %s:%s of its source, and was to come to %s:%s within %d s: %s" % (
                    now["applied_file"], now["applied_position"], target["file"], target["position"], seconds,
                    state.describe_channel(now)))
            time.sleep(POLL_SECONDS)

    def to_gtid(self, before):
        """Follow by GTID; back to file and position where the source refuses that and nothing has come yet."""
        self.run(channel.gtid_steps(self.names)[:-2])
        stopped, gtids = self.channel(), self.has()
        self.run(channel.gtid_steps(self.names)[-2:])
        now = self.settle()
        if state.running(now):
            return
        reason = state.describe_channel(now)
        words = "it stays by GTID"
        if now["last_io_error"] and self.has() == gtids:
            self.run(channel.position_steps(self.names, stopped))
            words = "it is back at file and position"
        self.module.fail_json(msg="the channel did not connect by GTID, %s: %s" % (words, reason))
