# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that cannot be reached is told from one on which a module failed, whatever its connection
plugin says: some, such as Docker's, pass the failure on as if it were the module's own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

# What Ansible gives the result of a module that did not say what a module says.
PARSED = "_ansible_parsed"
# Seconds for which Ansible's SSH waits for a connection if its user does not say anything else.
USUAL_PATIENCE = 10


def silent(result: Mapping[str, Any]) -> bool:
    """Whether nothing in a module's result is the module's own."""
    return result.get(PARSED) is False


def answered(token: str, said: Mapping[str, Any]) -> bool:
    """Whether a host did the little that it was asked for."""
    return token in str(said.get("stdout", ""))


def connection_message(said: Mapping[str, Any]) -> str:
    """What the connection said instead, in one line."""
    text = " ".join(f"{said.get('stderr', '')} {said.get('stdout', '')}".split())
    return text or f"a command ended with {said.get('rc')}, and nothing was said"


class Reaching(ActionBase):
    """An action whose modules say of a host that is gone that it is unreachable."""

    def _execute_module(self, *args: Any, **options: Any) -> Any:
        """The module's result.

        Raises:
            AnsibleConnectionFailure: no command can be run on the host.
        """
        try:
            result = super()._execute_module(*args, **options)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError:
            self.reach()
            raise
        if silent(result):
            self.reach()
        return result

    def expect_within(self, seconds: int) -> None:
        """Have SSH give up a host to which it cannot connect within so many seconds. A limit that
        the user set stays. The time for sudo's prompt, which Ansible takes from the same option, is
        as long as before: SSH takes the first value that it is given.
        """
        connection = self._connection
        if connection.transport == "ssh" and connection.get_option("timeout") == USUAL_PATIENCE:
            given = connection.get_option("ssh_args") or ""
            connection.set_option("ssh_args", f"{given} -o ConnectTimeout={seconds}")

    def reach(self) -> None:
        """Run a command on the host that needs nothing but a shell.

        Raises:
            AnsibleConnectionFailure: it does not run.
        """
        token = f"semisync-{secrets.token_hex(4)}"
        try:
            said = self._low_level_execute_command(f"echo {token}", sudoable=False)
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            raise AnsibleConnectionFailure(" ".join(str(error).split())) from error
        if not answered(token, said):
            raise AnsibleConnectionFailure(connection_message(said))
