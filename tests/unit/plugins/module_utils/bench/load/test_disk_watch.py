# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
from collections import namedtuple

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._bench.load import disk_watch
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

Statvfs = namedtuple("Statvfs", "f_bavail f_frsize")


class Server:
    def rows(self, dummy):
        return [{"folder": "/data/"}]


class SilentServer:
    def rows(self, dummy):
        raise ServerError(OSError(2013, "Lost connection"))


@pytest.fixture
def left(monkeypatch):
    """The free space in MB that each look sees in turn; the last one stays."""
    spaces = []

    def statvfs(dummy):
        space = spaces.pop(0) if len(spaces) > 1 else spaces[0]
        if space is None:
            raise FileNotFoundError
        return Statvfs(space * 256, 4096)

    monkeypatch.setattr(disk_watch.os, "statvfs", statvfs)
    monkeypatch.setattr(disk_watch, "PAUSE", 0.01)
    return spaces


def test_a_disk_that_was_full_for_a_moment_is_told_after_space_was_freed(left):
    left.extend([900, 900, 3, 900])
    with disk_watch.DiskWatch(Server()) as watch:
        time.sleep(0.2)
    assert watch.words() == "; the disk of /data/ was full (3 MB left)"


@pytest.mark.parametrize("space", [8, 900, None])
def test_a_disk_with_space_and_one_that_cannot_be_read_are_not_called_full(left, space):
    left.append(space)
    with disk_watch.DiskWatch(Server()) as watch:
        time.sleep(0.05)
    assert watch.words() == ""


def test_a_server_that_does_not_answer_leaves_the_disk_unknown():
    with disk_watch.DiskWatch(SilentServer()) as watch:
        pass
    assert watch.words() == ""
