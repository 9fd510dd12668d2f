# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server under AppArmor or SELinux may use each file that the collection makes for it."""

from __future__ import annotations

import fnmatch
import os
import re

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    file_writing,
    option_files,
    server_files,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import dropin_place
from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import option_lines
from ansible_collections.dbre.semisync.tests.unit import samples

DATADIR = "/var/lib/mysql"
PLUGINS, PLUGINS_64 = "/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin"
# What AppArmor's profile of Ubuntu's package mysql-server-8.0 (8.0.45-0ubuntu0.22.04.1) lets
# /usr/sbin/mysqld do with files: which, and how.
UBUNTU = {
    "/etc/mysql/**": "r",
    "/usr/lib/mysql/plugin/*.so*": "rm",
    "/var/lib/mysql/**": "rwk",
    "/var/log/mysql/**": "rw",
}
# The types that Red Hat's policy gives to a server's files (MySQL 8.4 manual 8.7.4 and
# mysqld_selinux(8)), and what a server may do with files of a type. A file that the collection
# replaces keeps its label, a new one gets its folder's.
RED_HAT = (
    ("mysqld_etc_t", r"/etc/my\.cnf(\.d(/.*)?)?", "r"),
    ("mysqld_db_t", r"/var/lib/mysql(/.*)?", "rw"),
    ("mysqld_log_t", r"/var/log/mysql.*", "rw"),
    ("lib_t", r"/usr/lib64/mysql/plugin/.*\.so", "rm"),
)
LAYOUTS = {
    "ubuntu": (
        "/etc/mysql/my.cnf",
        "!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mysql.conf.d/\n",
    ),
    "red hat": ("/etc/my.cnf", "[mysqld]\ndatadir=/var/lib/mysql\n"),
    "red hat with a folder": ("/etc/my.cnf", "!includedir /etc/my.cnf.d\n"),
}


def allowed_by_apparmor(path, wanted):
    return any(
        # Two stars of a profile match what a * of fnmatch does; one star stays in its folder.
        fnmatch.fnmatchcase(path, pattern.replace("**", "*"))
        and ("**" in pattern or os.path.dirname(path) == os.path.dirname(pattern))
        and set(wanted) <= set(how)
        for pattern, how in UBUNTU.items()
    )


def allowed_by_selinux(path, wanted):
    return any(re.fullmatch(place, path) and set(wanted) <= set(how) for _, place, how in RED_HAT)


def made_for_the_server(layout, plugin_dir):
    """What the server reads or writes because of the collection: path -> how."""
    path, text = LAYOUTS[layout]
    place = option_files.choose_place([path], {path: text}, lambda folder: True)
    folder = os.path.dirname(place["path"])
    found = {
        place["path"]: "r",
        dropin_place.place(place["path"], place["kind"]): "r",
        os.path.join(DATADIR, server_files.COPY): "r",
    }
    if place["kind"] == "drop-in":
        found[os.path.join(folder, option_files.LEFT_BEHIND)] = "r"
    for _name, library in names.PLUGINS.values():
        found[os.path.join(plugin_dir, library)] = "rm"
    for side in ("source", "replica"):
        info = samples.bare("mysql")[0].info
        info["variables"]["log_bin"] = "OFF"
        for name, value in option_lines.replication_options(side, info, samples.settings(), 1):
            if name in ("log_bin", "relay_log"):
                found[os.path.join(DATADIR, str(value) + ".000001")] = "rw"
    return found


def test_ubuntu_s_profile_lets_the_server_use_all_that_is_made_for_it():
    made = made_for_the_server("ubuntu", PLUGINS)
    assert "/etc/mysql/mysql.conf.d/zz-dbre-semisync.cnf" in made
    assert [path for path, how in made.items() if not allowed_by_apparmor(path, how)] == []


@pytest.mark.parametrize("layout", ["red hat", "red hat with a folder"])
def test_red_hat_s_policy_lets_the_server_use_all_that_is_made_for_it(layout):
    made = made_for_the_server(layout, PLUGINS_64)
    assert [path for path, how in made.items() if not allowed_by_selinux(path, how)] == []


@pytest.mark.parametrize(
    "path,how,allowed",
    [
        ("/etc/my.cnf.d/zz-dbre-semisync.cnf", "r", False),
        ("/etc/dbre-semisync/places.json", "r", False),
        ("/etc/mysql/conf.d/a.cnf", "rw", False),
        ("/usr/lib/mysql/plugin/debug/semisync_source.so", "rm", False),
        ("/srv/data/mysql-bin.000001", "rw", False),
        ("/var/lib/mysql/mysql-bin.000001", "rw", True),
    ],
)
def test_the_profile_allows_only_what_it_names(path, how, allowed):
    assert allowed_by_apparmor(path, how) is allowed


def test_a_file_that_is_replaced_keeps_its_label(tmp_path):
    path, label = tmp_path / "my.cnf", b"system_u:object_r:mysqld_etc_t:s0\0"
    path.write_text("[mysqld]\n")
    try:
        os.setxattr(path, file_writing.LABEL, label)
    except OSError:
        # Only root may set one, and not on every file system.
        label = None
    file_writing.replace(str(path), "[mysqld]\nserver_id = 2\n")
    assert path.read_text() == "[mysqld]\nserver_id = 2\n"
    if label:
        assert os.getxattr(path, file_writing.LABEL) == label
