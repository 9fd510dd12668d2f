# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host records while a measurement's settings are in force, and the timer that restores
them.
"""

from __future__ import annotations

import json
import os
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.load_shapes import (
    Kept,
    Readings,
)
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load.temporary_settings import (
    FOLDER,
    LASTING,
    TIMER_PREFIX,
    restore_script,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.process import (
    TOOLS,
    find_tool,
    running,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.timer import (
    RollbackTimer,
    systemd_runs,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.client_login import (
    client_options,
)

# What systemd shows of the timer.
DESCRIPTION = "Rollback of the settings that dbre.semisync.semisync_setting made"
KEPT = os.path.join(FOLDER, "kept.json")


class SettingError(ValueError):
    """It cannot or must not be done; the text gives the reason."""


class SettingsRollback:
    """What the host keeps to restore everything, and the timer that does it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.timer = RollbackTimer(module, TIMER_PREFIX)

    def kept(self) -> Kept:
        """What must be restored; empty if nothing. After a reboot, what was created.

        Raises:
            SettingError: that cannot be read, so nothing may be changed or forgotten.
        """
        for path, remedy in (
            (KEPT, "Its timer restores them from the other files of that folder"),
            (
                LASTING,
                "Drop its schema and account semisync_bench_* yourself, then remove the file",
            ),
        ):
            try:
                with open(path) as stream:
                    return json.load(stream)
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                raise SettingError(
                    "the record of an earlier run's settings cannot be read:"
                    f" {path}: {error}. {remedy}"
                ) from error
        return {}

    def arm(
        self,
        kept: Kept,
        statements: list[str],
        seconds: int,
        now: Readings,
    ) -> None:
        """Store everything that a rollback needs, and start its timer.

        Args:
            now: the server's variables, beside whose program the client may lie.
        """
        client = find_tool(self.module, TOOLS["client"], running(now).folders, for_root=True)
        if not client or not systemd_runs():
            raise SettingError(
                f"nothing was changed: without {'systemd' if client else 'the mysql client'}"
                " the settings would stay if this controller were lost"
            )
        if not os.path.isdir(FOLDER):
            os.mkdir(FOLDER, 0o700)
        for name, text in (
            ("login.cnf", client_options(self.module.params)),
            ("restore.sql", ";\n".join(statements) + ";\n"),
            ("kept.json", json.dumps(kept)),
        ):
            self.write(os.path.join(FOLDER, name), text)
        created: Kept = {}
        if kept.get("schemas"):
            created["schemas"] = kept["schemas"]
        if kept.get("accounts"):
            created["accounts"] = kept["accounts"]
        if created:
            self.write(LASTING, json.dumps(created))
        self.timer.arm(seconds, restore_script(client), DESCRIPTION)

    @staticmethod
    def write(path: str, text: str) -> None:
        handle = os.open(path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(handle)
        os.rename(path + ".part", path)

    def forget(self) -> None:
        self.timer.disarm()
        shutil.rmtree(FOLDER, ignore_errors=True)
        if os.path.exists(LASTING):
            os.unlink(LASTING)
