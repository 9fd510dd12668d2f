# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica seeded by mariadb-backup: the files arrive by the stream, and replace the data
directory once they are complete.

The programs that unpack and prepare them run as the data directory's owner: the files come from
another host and are not trusted.
"""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._host import as_user, command
from ansible_collections.dbre.semisync.plugins.module_utils._seed import copying, folders
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils._seed.stream import blocks

POSITIONS = ("mariadb_backup_binlog_info", "xtrabackup_binlog_info")


def seed(replica: Any) -> None:
    """Seed by mariadb-backup.

    Args:
        replica: see module_utils/_seed/replica.

    Raises:
        SeedError: it failed.
    """
    datadir = os.path.realpath(replica.variable("datadir"))
    replica.need_renames(datadir)
    try:
        copy = folders.Folders(datadir)
    except OSError as error:
        raise SeedError(f"the data directory {datadir} cannot be opened: {error}") from error
    try:
        replace(replica, copy, datadir)
    except OSError as error:
        raise SeedError(f"the copy cannot be put in place: {error}") from error
    finally:
        copy.close()


def replace(replica: Any, copy: folders.Folders, datadir: str) -> None:
    """Fetch the copy, and put it in place of the data."""
    if copy.uid == 0:
        raise SeedError(
            f"the data directory {datadir} belongs to root, and what another host sends is not"
            " unpacked as root; nothing was changed. Give it to the server's user, or set"
            " semisync_seed_method=dump"
        )
    copy.make()
    try:
        replica.need_space(copy.path)
        replica.marker.write(state="copying", stage="copies")
        stream = replica.stream()
        new = os.path.join(copy.path, "new")
        unpack = [replica.params["tools"]["stream"], "-x", "-C", new]
        replica.take(stream, blocks(stream), as_user.command_as_user(unpack, copy.uid, copy.gid))
        replica.marker.write(stage="prepares")
        prepare(replica, as_user.command_as_user(prepare_words(replica, new), copy.uid, copy.gid))
        position = position_of(copy.new)
        replica.marker.write(state="loading", stage="restarts")
        swap(replica, copy, datadir)
    finally:
        # With the old files still in it, the folder holds the only copy of the data.
        if not os.listdir(copy.old) or replica.marker.facts.get("stage") == "follows":
            copy.remove()
    server = replica.wait()
    if replica.variable("gtid_binlog_state"):
        server.rows(replica.names.reset_binary_logs)
    server.rows("SET GLOBAL gtid_slave_pos = %s", (position,))


def prepare_words(replica: Any, folder: str) -> list[str]:
    return [replica.params["tools"]["backup"], "--prepare", "--target-dir=" + folder]


def prepare(replica: Any, words: list[str]) -> None:
    """Make the backup in a folder consistent."""
    code, _dummy, errors = command.run(replica.module, words)
    if code != 0:
        raise SeedError(
            f"the copy is not consistent: {' | '.join(errors.strip().splitlines()[-4:])}"
        )


def position_of(folder: int) -> str:
    """The GTID position of the backup in an open folder."""
    for name in POSITIONS:
        try:
            written = folders.read_in_folder(folder, name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise SeedError(f"{name} of the backup cannot be read: {error}") from error
        try:
            return copying.parse_backup_position(written)
        except ValueError as error:
            raise SeedError(str(error)) from error
    raise SeedError("the backup has no position of the source's binary log")


def swap(replica: Any, copy: folders.Folders, datadir: str) -> None:
    """Stop the server, replace its data with the copy, start it; restore the old data if it does
    not start.
    """
    replica.systemctl("stop")
    copy.swap()
    restorecon = replica.module.get_bin_path("restorecon")
    if restorecon:
        command.run(replica.module, [restorecon, "-R", datadir])
    try:
        replica.systemctl("start")
        replica.wait()
    except SeedError as error:
        command.run(replica.module, ["systemctl", "stop", replica.unit])
        copy.swap_back()
        replica.systemctl("start")
        replica.marker.write(state="copying")
        raise SeedError(f"{error}. The old data directory was restored") from error
    replica.marker.write(stage="follows")
