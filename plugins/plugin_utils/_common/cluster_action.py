# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What actions that judge or plan for a whole cluster have in common; they connect to nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ansible.plugins.action import ActionBase
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import refusal

Result = Mapping[str, object]


class ClusterAction(ActionBase):
    """Checks the task's options, and makes a result of a refusal, and of a host that is held.

    Attributes:
        SPEC: the options, as of a module.
        EXCLUSIVE: options of which there may be one.
        NOT_MEANT: what the result of a host that is held has besides.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    SPEC: ClassVar[Mapping[str, object]] = {}
    EXCLUSIVE: ClassVar[Sequence[Sequence[str]]] = ()
    NOT_MEANT: ClassVar[Mapping[str, object]] = {}

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        result = super().run(tmp, task_vars)
        _dummy, arguments = self.validate_argument_spec(
            argument_spec=self.SPEC, mutually_exclusive=self.EXCLUSIVE
        )
        try:
            result.update(self.answer(arguments, task_vars))
        except refusal.HeldError as error:
            result.update(skipped=True, skip_reason=str(error), **self.NOT_MEANT)
        except refusal.RefusedError as error:
            result.update(refusal.refused(str(error), task_vars["inventory_hostname"]))
        return result

    @abstractmethod
    def answer(self, arguments: Any, task_vars: Any) -> Result:
        """The action's own result.

        Raises:
            RefusedError: something speaks against it.
        """


def other_speaks() -> Result:
    """The result of a host for which another one speaks."""
    return {"skipped": True, "skip_reason": "another host of the cluster speaks for it"}
