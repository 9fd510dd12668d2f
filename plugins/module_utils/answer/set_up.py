# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a service of ours comes to a host: its files, its units, its account on the server."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils.answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils.host import command
from ansible_collections.dbre.semisync.plugins.module_utils.server import connection
from ansible_collections.dbre.semisync.plugins.module_utils.server.connection import Server, Step

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


def write_file(
    path: str,
    text: str,
    mode: int,
    owner: str = "",
) -> None:
    """Write a file with its mode and owner as a whole, or leave the old one."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".dbre-semisync-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, mode)
        if owner:
            import pwd

            entry = pwd.getpwnam(owner)
            os.chown(temporary, entry.pw_uid, entry.pw_gid)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def systemctl(module: AnsibleModule, *words: str) -> None:
    status, output, errors = command.run(
        module, [module.get_bin_path("systemctl", required=True), *words]
    )
    if status:
        module.fail_json(msg=f"systemctl {' '.join(words)} failed: {(errors or output).strip()}")


def run_alone(server: Server, statements: list[Step]) -> None:
    """Run statements outside the binary log; also on a server that is super_read_only."""
    server.rows("SET SESSION sql_log_bin = 0")
    try:
        with connection.open_to_root(server):
            connection.run_steps(server, statements)
    finally:
        server.rows("SET SESSION sql_log_bin = 1")


def as_diff(files: dict[str, str]) -> str:
    """One side of the diff."""
    return "".join(f"# {path}\n{text}" for path, text in sorted(files.items()))


def remove_service(
    module: AnsibleModule,
    server: Server,
    stopped: list[str],
    without_account: list[Step],
    gone: list[str],
) -> None:
    """Remove a service from a host.

    Args:
        module: the AnsibleModule.
        server: the server that has its account.
        stopped: its units, the enabled one first; empty if it was never set up.
        without_account: statements that drop its account; empty if there is none.
        gone: paths of its files.
    """
    if stopped:
        systemctl(module, "disable", stopped[0])
        systemctl(module, "stop", *stopped)
    if without_account:
        run_alone(server, without_account)
    # The units last, so that an interrupted removal is noticed.
    for path in sorted(gone, key=lambda path: path.startswith(answer_layout.UNITS)):
        os.unlink(path)
    for folder in (answer_layout.FOLDER, os.path.dirname(answer_layout.PROGRAM)):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    if stopped:
        systemctl(module, "daemon-reload")
