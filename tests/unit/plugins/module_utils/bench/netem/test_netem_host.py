# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollback that is just running, which no test host can be brought to at the right moment, and a
kernel that cannot delay packets.
"""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem import netem_host
from ansible_collections.dbre.semisync.plugins.module_utils.bench.netem.delay_options import (
    RefusedError,
)
from ansible_collections.dbre.semisync.plugins.module_utils.host import timer
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


class Kernel:
    """A host whose programs are there, or not, and what its kernel says to netem."""

    def __init__(self, status, errors, lacks=()):
        self.said, self.lacks, self.asked = (status, "", errors), lacks, []

    def get_bin_path(self, name, **_more):
        return None if name in self.lacks else f"/sbin/{name}"

    def run_command(self, words, **_more):
        self.asked.append(words)
        return self.said


@pytest.mark.parametrize(
    "host,words",
    [
        (Kernel(0, ""), ""),
        (Kernel(2, "Error: Specified qdisc kind is unknown.\n"), "has no netem"),
        # In a container without that capability it is not known.
        (Kernel(1, "unshare: unshare failed: Operation not permitted\n"), ""),
        (Kernel(0, "", lacks=("unshare",)), ""),
        (Kernel(0, "", lacks=("tc",)), "the program tc is missing"),
    ],
)
def test_a_kernel_without_netem_is_known_before_anything_is_delayed(host, words):
    said = netem_host.NetemHost(host).why_no_delay()
    assert (words in said) if words else said == ""
    # Nothing of the host's own network is touched.
    assert all(asked[:2] == ["/sbin/unshare", "--net"] for asked in host.asked)
