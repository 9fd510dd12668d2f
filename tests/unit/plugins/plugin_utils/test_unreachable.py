# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.playbook.play_context import PlayContext
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.unreachable import Reaching

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


@pytest.fixture
def limits():
    """The connection limits of the command of Ansible's own SSH plugin, in their order."""

    def of(**options):
        connection = connection_loader.get("ssh", PlayContext())
        connection.set_options(direct=options)
        action = object.__new__(type("Action", (Reaching,), {"run": None}))
        action._connection = connection
        action.expect_within(3)
        words = [word.decode() for word in connection._build_command("ssh", "ssh", "host")]
        return [word.partition("=")[2] for word in words if word.startswith("ConnectTimeout")]

    return of


def test_a_dead_source_is_given_up_soon(limits):
    assert limits()[0] == "3"


@pytest.mark.parametrize(
    "options,first",
    [({"timeout": 30}, "30"), ({"timeout": 2}, "2"), ({"ssh_args": "-o ConnectTimeout=20"}, "20")],
)
def test_a_limit_that_the_user_set_stays(limits, options, first):
    assert limits(**options)[0] == first


def test_another_connection_than_ssh_is_left_alone():
    action = object.__new__(type("Action", (Reaching,), {"run": None}))
    action._connection = connection_loader.get("local", PlayContext())
    action.expect_within(3)
