# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollback that is just running, which no test host can be brought to at the right moment."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import netem_host
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem.delay_options import (
    RefusedError,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host import timer
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.bench.netem import (
    test_qdisc_state,
)

OLD = "semisync-netem-rollback-1000"


class Systemd:
    """Stands for the module: systemctl lists units, the rest is kept."""

    def __init__(self, listings):
        self.listings, self.commands = listings, []
        self.timers = [OLD]

    def get_bin_path(self, name, **dummy):
        return "/bin/" + name

    def run_command(self, command, **dummy):
        if "--type=service" in command:
            return (
                0,
                f"{OLD}.service loaded active running Rollback\n" if self.listings.pop(0) else "",
                "",
            )
        if "--type=timer" in command:
            return 0, "".join(f"{name}.timer loaded active\n" for name in self.timers), ""
        if "stop" in command:
            self.timers.remove(command[-1].partition(".")[0])
        self.commands.append(command[0].rpartition("/")[2])
        return 0, "", ""


@pytest.fixture
def systemd(monkeypatch, tmp_path):
    """A function that takes whether a rollback runs, one answer each time it is asked, and returns
    the host.
    """
    monkeypatch.setattr(timer, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(netem_host, "ROLLBACK_SECONDS", 1)

    def make(listings):
        this = netem_host.NetemHost(Systemd(listings))
        this.programs = {"tc": "/bin/tc", "ip": "/bin/ip"}
        return this

    return make


def arm(this):
    return this.arm(600, dict(test_qdisc_state.WANTED_90), [test_qdisc_state.OURS])


@pytest.mark.parametrize("listings", [[False], [True, True, False]], ids=["none", "ends"])
def test_a_delay_comes_after_the_rollback_that_is_just_running(systemd, listings):
    this = systemd(listings)
    assert arm(this).startswith("semisync-netem-rollback-")
    assert this.module.listings == [] and this.module.commands == ["systemd-run", "systemctl"]


def test_a_rollback_that_does_not_end_is_named_and_no_delay_comes(systemd):
    with pytest.raises(RefusedError) as refused:
        arm(systemd([True] * 99))
    assert f"{OLD}.service. It would remove a new delay, too" in str(refused.value)
