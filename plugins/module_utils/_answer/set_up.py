# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a service of ours comes to a host: its files, its units, its account on the server."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout
from ansible_collections.dbre.semisync.plugins.module_utils._answer.units import new_password
from ansible_collections.dbre.semisync.plugins.module_utils._host import command
from ansible_collections.dbre.semisync.plugins.module_utils._server import connection
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Server, Step

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


def give_login(
    server: Server,
    path: str,
    owner: str,
    removal: list[Step],
    creation: Callable[[str], list[Step]],
) -> None:
    """Create a service's account with a new password.

    Args:
        server: the server that gets the account.
        path: the file that keeps the password.
        owner: the system account that reads it.
        removal: statements that drop an account which exists; empty if there is none.
        creation: makes the statements that create it, of the password.
    """
    password = new_password()
    # The password first: if the run dies here, the login fails and the next run notices.
    write_file(path, password + "\n", 0o600, owner)
    run_alone(server, [*removal, *creation(password)])


def others(pattern: str, where: dict[str, str]) -> list[str]:
    """The settings of other servers' services on this host.

    Args:
        pattern: matches the settings of every service of this kind.
        where: paths of this server's files.
    """
    return [path for path in glob.glob(pattern) if path != where["settings"]]


def as_diff(files: dict[str, str]) -> str:
    """One side of the diff."""
    return "".join(f"# {path}\n{text}" for path, text in sorted(files.items()))


def outcome(
    steps: list[str], shared: bool, before: dict[str, str], after: dict[str, str]
) -> dict[str, object]:
    """What both modules return.

    Args:
        steps: what was done, or would be.
        shared: whether another server's service on this host has the same programs.
        before, after: path -> text of the files.
    """
    return {
        "changed": bool(steps),
        "steps": steps,
        "shared": shared,
        "diff": {"before": as_diff(before), "after": as_diff(after)},
    }


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
