# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import temporary_settings
from ansible_collections.dbre.semisync.plugins.module_utils._bench.netem import safeguards
from ansible_collections.dbre.semisync.plugins.module_utils._host import timer, unit

LISTED = """\
  dbre-semisync-rescue-1795271384112.timer loaded active waiting Starts mysql, which a drill stopped
dbre-semisync-rescue-1795271384999.timer   loaded active waiting Starts mysql
semisync-netem-rollback-1795271384112.timer loaded active waiting Rollback
dbre-semisync-rescue-mine.timer loaded active waiting not ours
* semisync-netem-rollback-1.service loaded active running x
other.service loaded
"""


class Systemd:
    """Stands for the module on a host with these timers and rollbacks; keeps what was asked."""

    def __init__(self, *units, stubborn=False):
        self.units, self.stubborn, self.commands = list(units), stubborn, []

    def get_bin_path(self, name):
        return "/bin/" + name

    def run_command(self, words, **dummy):
        self.commands.append(words)
        if words[0] == "/bin/systemd-run":
            self.units.append(words[1].partition("=")[2] + ".timer")
        elif words[1] == "list-units":
            kind, prefix = words[-2].partition("=")[2], words[-1].rstrip("*")
            return (
                0,
                "".join(
                    f"{name} loaded active waiting x\n"
                    for name in self.units
                    if name.startswith(prefix) and name.endswith(kind)
                ),
                "",
            )
        elif words[1] == "stop" and not self.stubborn:
            self.units = [name for name in self.units if name not in words[2:]]
        return 0, "", "it is busy" if self.stubborn else ""


@pytest.fixture(autouse=True)
def systemd(monkeypatch, tmp_path):
    monkeypatch.setattr(timer, "SYSTEMD", str(tmp_path))


@pytest.mark.parametrize(
    "script,named",
    [
        ("echo $HOME", "$"),
        ("tc qdisc add loss 3%", "%"),
        ("true; false", ";"),
        ("echo $((1 % 2));", "$ and % and ;"),
    ],
)
def test_a_script_that_systemd_would_not_leave_alone_is_refused(script, named):
    module = Systemd()
    with pytest.raises(timer.TimerError) as refused:
        timer.RollbackTimer(module, "semisync-netem-rollback-").arm(60, script, "Rollback")
    assert f"its script has {named}, which" in str(refused.value)
    assert module.commands == []


def test_the_timer_fires_on_time_and_who_starts_it_by_hand_sees_it_end():
    command = timer.arm_command("semisync-netem-rollback-1", "Rollback of the delay", 600.0, "true")
    assert command[:2] == ["systemd-run", "--unit=semisync-netem-rollback-1"]
    assert command[-3:] == ["/bin/sh", "-c", "true"]
    assert {"--on-active=600s", "--timer-property=AccuracySec=100ms", "--collect"} < set(command)
    assert "--property=Type=oneshot" in command


@pytest.mark.parametrize(
    "prefix,expected",
    [
        (
            "dbre-semisync-rescue-",
            [
                "dbre-semisync-rescue-1795271384112.timer",
                "dbre-semisync-rescue-1795271384999.timer",
            ],
        ),
        (
            "semisync-netem-rollback-",
            [
                "semisync-netem-rollback-1795271384112.timer",
                "semisync-netem-rollback-1.service",
            ],
        ),
        ("semisync-setting-", []),
    ],
)
def test_our_timers_are_told_from_others(prefix, expected):
    assert timer.parse_units(LISTED, prefix) == expected


def test_the_names_are_those_that_hosts_have_from_older_versions():
    assert safeguards.TIMER_PREFIX == "semisync-netem-rollback-"
    assert temporary_settings.TIMER_PREFIX == "semisync-setting-"
    assert unit.TIMER_PREFIX == "dbre-semisync-rescue-"


def test_a_new_timer_comes_before_older_ones_go():
    module = Systemd("semisync-setting-1.timer", "semisync-netem-rollback-2.timer")
    name = timer.RollbackTimer(module, "semisync-setting-").arm(900, "true", "Rollback")
    assert module.units == ["semisync-netem-rollback-2.timer", name + ".timer"]
    assert module.commands[0][0] == "/bin/systemd-run"


@pytest.mark.parametrize("stop_running", [False, True])
def test_a_rollback_that_runs_is_stopped_only_where_that_is_wanted(stop_running):
    module = Systemd("dbre-semisync-rescue-1.timer", "dbre-semisync-rescue-1.service")
    timer.RollbackTimer(module, "dbre-semisync-rescue-", stop_running).disarm()
    assert module.units == ([] if stop_running else ["dbre-semisync-rescue-1.service"])


def test_a_timer_that_does_not_go_is_named():
    module = Systemd("semisync-setting-1.timer", stubborn=True)
    with pytest.raises(timer.TimerError) as error:
        timer.RollbackTimer(module, "semisync-setting-").disarm()
    assert str(error.value) == "semisync-setting-1.timer could not be stopped: it is busy"


def test_nothing_is_stopped_where_nothing_is():
    module = Systemd()
    timer.RollbackTimer(module, "semisync-setting-").disarm()
    assert [words[1] for words in module.commands] == ["list-units"]


def test_a_host_without_systemd_has_no_timers(monkeypatch):
    monkeypatch.setattr(timer, "SYSTEMD", "/nonexistent")
    assert (
        timer.RollbackTimer(Systemd("semisync-setting-1.timer"), "semisync-setting-").units() == []
    )


def test_what_is_tried_again_is_a_shell_script():
    script = timer.repeated(["true && exit 0"], 3, 1)
    assert script == "for attempt in 0 1 2\ndo\ntrue && exit 0\nsleep 1\ndone"
    assert subprocess.call(["sh", "-c", script]) == 0
