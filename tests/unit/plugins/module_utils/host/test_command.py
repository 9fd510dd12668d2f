# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a host."""

from __future__ import annotations

import selectors
import time

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args
from ansible_collections.dbre.semisync.plugins.module_utils._host import command


@pytest.fixture(name="module")
def fixture_module():
    with patch_module_args({}):
        yield AnsibleModule(argument_spec={})


@pytest.fixture
def busy_host(monkeypatch):
    """A poll that timed out gets the processor only after the command has ended."""
    select = selectors.PollSelector.select

    def late(self, timeout=None):
        events = select(self, timeout)
        if not events:
            time.sleep(0.6)
        return events

    monkeypatch.setattr(selectors.PollSelector, "select", late)


@pytest.mark.usefixtures("busy_host")
def test_what_a_command_says_while_nobody_looks_is_not_lost(module):
    assert command.run(module, ["sh", "-c", "sleep 1.3; echo here; exit 3"]) == (3, "here\n", "")


def test_a_command_speaks_plainly_and_keeps_its_own_variables(module):
    told = 'echo $LC_ALL; test -n "$PATH" && echo kept >&2'
    assert command.run(module, ["sh", "-c", told]) == (0, "C\n", "kept\n")
    code, output, _errors = command.run(module, ["sh", "-c", "echo $MINE"], {"MINE": "yes"})
    assert (code, output) == (0, "yes\n")
