# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs an action for one host of a captured pair, with its own argument spec and no connection."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import refusal
from ansible_collections.dbre.semisync.tests.unit import samples


class Templar:
    """Takes every value as it stands."""

    def template(self, value: Any) -> Any:
        return value


def runner(action_class: type[ActionBase], monkeypatch: Any, folder: Any) -> Any:
    """A function that runs the action, and returns its result.

    Args:
        action_class: the action's.
        monkeypatch: pytest's.
        folder: a temporary one, which a run's tasks have in common.
    """
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp, task_vars: {})
    monkeypatch.setattr(refusal.constants, "DEFAULT_LOCAL_TMP", str(folder))

    def run(
        me: str = "db1",
        arguments: dict[str, Any] | None = None,
        engine: str = "mysql",
        members: Any = None,
        check_mode: bool = False,
        beside: Mapping[str, dict[str, Any]] | None = None,
        **variables: Any,
    ) -> dict[str, Any]:
        values = {
            member.host: {**variables, "info": member.info}
            for member in members or samples.pair(engine)
        }
        every = {**values, **(beside or {})}
        action: Any = object.__new__(action_class)
        action._templar = Templar()
        action._task = types.SimpleNamespace(
            args=arguments or {}, check_mode=check_mode, register="said", _uuid="a task's"
        )
        return action.run(
            task_vars={
                **values[me],
                "hostvars": every,
                "groups": {
                    "semisync_source": ["db1"],
                    "semisync_replica": [host for host in values if host != "db1"],
                },
                "inventory_hostname": me,
                "ansible_play_hosts": list(every),
                "ansible_play_hosts_all": list(every),
            }
        )

    return run
