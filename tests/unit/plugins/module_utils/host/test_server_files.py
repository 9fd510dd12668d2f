# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import server_files

JOURNAL = {"path": "", "inode": None, "size": None}


def read(variables, pid=4711):
    place = server_files.read_error_log(variables, pid)
    return place and {key: value for key, value in place.items() if key != "at"}


@pytest.mark.parametrize(
    "variables,expected",
    [
        ({"log_error": ""}, JOURNAL),
        ({"log_error": "stderr"}, JOURNAL),
        ({"log_error": None}, None),
        ({"log_error": "stderr", "log_error_services": "log_sink_syseventlog"}, None),
        ({"log_error": "stderr", "log_error_services": "log_filter_x; log_sink_internal"}, JOURNAL),
        ({"log_error": "/gone/x.err"}, {"path": "/gone/x.err", "inode": None, "size": None}),
    ],
)
def test_where_the_error_log_goes(variables, expected):
    assert read(variables) == expected


def test_a_file_has_its_size_also_by_a_path_that_is_relative_to_the_data(tmp_path):
    (tmp_path / "db1.err").write_text("12345")
    inode = os.stat(tmp_path / "db1.err").st_ino
    expected = {"path": str(tmp_path / "db1.err"), "inode": inode, "size": 5}
    for name in (str(tmp_path / "db1.err"), "./db1.err"):
        place = read({"log_error": name, "datadir": str(tmp_path) + "/"})
        assert dict(place, path=os.path.normpath(place["path"])) == expected


def test_a_server_that_is_not_on_this_host_has_its_log_elsewhere():
    assert server_files.read_error_log({"log_error": ""}, None) is None
