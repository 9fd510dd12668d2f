# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollback that is just running, which no test host can be brought to at the right moment."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils import netem_host
from ansible_collections.dbre.semisync.plugins.module_utils.netem_wanted import Refused
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils import test_netem

OLD = "semisync-netem-rollback-1000"


class Systemd(object):
    """Stands for the module: systemctl lists units, the rest is kept."""

    def __init__(self, listings):
        self.listings, self.commands = listings, []

    def get_bin_path(self, name, **dummy):
        return "/bin/" + name

    def run_command(self, command, **dummy):
        if "--type=service" in command:
            return 0, "%s.service loaded active running Rollback\n" % OLD if self.listings.pop(0) else "", ""
        if "--type=timer" in command:
            return 0, "%s.timer loaded active waiting Rollback\n" % OLD, ""
        self.commands.append(command[0].rpartition("/")[2])
        return 0, "", ""


@pytest.fixture
def systemd(monkeypatch, tmp_path):
    """A function that takes whether a rollback runs, one answer each time it is asked, and returns the host."""
    monkeypatch.setattr(netem_host, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(netem_host, "ROLLBACK_SECONDS", 1)

    def make(listings):
        host = netem_host.Host(Systemd(listings))
        host.programs = {"tc": "/bin/tc", "ip": "/bin/ip"}
        return host
    return make


def arm(host):
    return host.arm(600, dict(test_netem.WANTED_90), [test_netem.OURS])


@pytest.mark.parametrize("listings", [[False], [True, True, False]], ids=["none", "ends"])
def test_a_delay_comes_after_the_rollback_that_is_just_running(systemd, listings):
    host = systemd(listings)
    assert arm(host).startswith("semisync-netem-rollback-")
    assert host.module.listings == [] and host.module.commands == ["systemd-run", "systemctl"]


def test_a_rollback_that_does_not_end_is_named_and_no_delay_comes(systemd):
    with pytest.raises(Refused) as refused:
        arm(systemd([True] * 99))
    assert "does not end: %s.service. It would take off what comes now" % OLD in str(refused.value)
