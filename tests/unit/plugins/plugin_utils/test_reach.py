# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils.reach import Reaching

UNPARSED = {"failed": True, "_ansible_parsed": False, "msg": "no JSON", "rc": 1}
GONE = {"rc": 1, "stdout": "", "stderr": "Error response from daemon:\n Container is not running"}


@pytest.fixture
def run(monkeypatch):
    """Runs a module on a host that answers a module and a shell as is given."""

    def module(result, shell):
        def give(answer, *asked):
            made = answer(*asked) if callable(answer) else answer
            if isinstance(made, Exception):
                raise made
            return made

        monkeypatch.setattr(ActionBase, "_execute_module", lambda *_args, **_more: give(result))
        action = object.__new__(type("Action", (Reaching,), {"run": None}))
        action._low_level_execute_command = lambda command, sudoable: give(shell, command)
        return action._execute_module(module_name="any")

    return module


def echo(command):
    return {"rc": 0, "stdout": command.removeprefix("echo ") + "\r\n"}


@pytest.mark.parametrize("result", [UNPARSED, AnsibleError("container is not running")])
@pytest.mark.parametrize("shell", [GONE, AnsibleError("Container is not running"), {"rc": 125}])
def test_a_host_that_runs_no_command_cannot_be_reached(run, result, shell):
    with pytest.raises(AnsibleConnectionFailure, match=r"is not running|ended with 125"):
        run(result, shell)


def test_a_module_that_failed_on_a_host_that_runs_commands_has_failed(run):
    assert run(UNPARSED, echo) == UNPARSED
    with pytest.raises(AnsibleError) as failure:
        run(AnsibleError("no such option"), echo)
    assert not isinstance(failure.value, AnsibleConnectionFailure)


@pytest.mark.parametrize("result", [{"changed": False}, {"failed": True, "_ansible_parsed": True}])
def test_a_host_whose_module_said_anything_is_not_asked_again(run, result):
    assert run(result, AnsibleError("not to be asked")) == result
