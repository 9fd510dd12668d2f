# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.modules import semisync_environment


class Module:
    """A host with sysbench alone on its PATH."""

    def __init__(self, **params):
        self.params = dict({"program": None, "basedir": None}, **params)

    def get_bin_path(self, name):
        return "/usr/bin/sysbench" if name == "sysbench" else None


@pytest.mark.parametrize("said", ["program", "basedir"])
def test_tools_are_looked_for_beside_the_server_first(tmp_path, said):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mysqld", "mysqlslap"):
        (folder / name).touch(mode=0o755)
    place = {"program": str(folder / "mysqld"), "basedir": str(tmp_path)}[said]
    tools = semisync_environment.tools(Module(**{said: place}))
    assert tools["mysqlslap"] == str(folder / "mysqlslap")
    assert tools["sysbench"] == "/usr/bin/sysbench"
    assert tools["mariadb-slap"] is None


def test_a_host_without_a_server_has_what_is_on_its_path():
    assert semisync_environment.tools(Module())["mysqlslap"] is None
