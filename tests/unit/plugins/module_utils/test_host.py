# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils import host, options

# /proc/PID/cgroup of a server in a container, under the hybrid hierarchy and under cgroup v2.
HYBRID = """9:name=systemd:/docker/4bc2ef558ff913f6
8:pids:/docker/4bc2ef558ff913f6
0::/docker/4bc2ef558ff913f6/system.slice/mysql.service
"""
MARIADB = """28:hugetlb:/
9:name=systemd:/docker/ac4295da1bbf/system.slice/mariadb.service
7:blkio:/docker/ac4295da1bbf
0::/docker/ac4295da1bbf/system.slice/mariadb.service
"""


@pytest.mark.parametrize("cgroup,unit", [
    (HYBRID, "mysql"),
    (MARIADB, "mariadb"),
    ("0::/system.slice/mysqld.service\n", "mysqld"),
    ("0::/system.slice/system-mariadb.slice/mariadb@shop.service\n", "mariadb@shop"),
    ("0::/system.slice/system-mysqld.slice/mysqld@replica-1.service", "mysqld@replica-1"),
    ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
    ("0::/system.slice/mysql.service/inner\n", None),
    ("0::/\n", None),
    ("", None),
])
def test_the_unit_is_read_from_the_process_itself(cgroup, unit):
    assert host.parse_unit(cgroup) == unit


@pytest.mark.parametrize("cmdline,arguments", [
    (["/usr/sbin/mysqld", ""], []),
    (["/usr/sbin/mysqld", "--defaults-file=/etc/my.cnf", "--user=mysql"], ["--defaults-file=/etc/my.cnf"]),
    (["mysqld", "--defaults-group-suffix=@one", "--datadir=/srv"], ["--defaults-group-suffix=@one"]),
    (["mysqld", "--defaults-extra-file=/etc/x.cnf"], ["--defaults-extra-file=/etc/x.cnf"]),
    (["mysqld", "--no-defaults"], ["--no-defaults"]),
    (["mysqld", "--no-defaults-at-all", "--init-file=--defaults-file=/x"], []),
])
def test_a_reader_of_option_files_is_given_the_servers_own_choice(cmdline, arguments):
    assert host.defaults_arguments(cmdline) == arguments


def test_a_pid_file_may_be_relative_to_the_data_directory(tmp_path):
    (tmp_path / "db1.pid").write_text("%d\n" % os.getpid())
    assert host.find_process("db1.pid", str(tmp_path)) == os.getpid()
    assert host.find_process(str(tmp_path / "db1.pid"), "/nowhere") == os.getpid()


@pytest.mark.parametrize("text", [None, "", "no number", "999999999"])
def test_without_a_process_there_is_no_pid(tmp_path, text):
    if text is not None:
        (tmp_path / "db1.pid").write_text(text)
    assert host.find_process("db1.pid", str(tmp_path)) is None


def test_an_executable_that_the_kernel_hides_is_none(monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os.path, "realpath", refuse)
    assert host.executable(1) is None


@pytest.mark.parametrize("name", ["report_password", "init_connect", "ssl_key", "user", "password"])
def test_options_that_may_hold_secrets_do_not_leave_the_host(name):
    assert not host.wanted(name)


@pytest.mark.parametrize("name", ["rpl_semi_sync_source_enabled", "plugin_load_add", "server_id", "log_bin", "bind_address",
                                  "sync_binlog", "gtid_mode", "relay_log"])
def test_options_that_are_compared_do(name):
    assert host.wanted(name)


class Module(object):
    """The host's programs, without the host: their path and what they print."""

    def __init__(self, programs, printed):
        self.programs, self.printed, self.ran = programs, printed, []

    def get_bin_path(self, name, opt_dirs=()):
        return self.programs.get(name)

    def run_command(self, argv):
        self.ran.append(argv)
        code, out, err = next(answer for end, answer in self.printed if argv[-1] == end)
        return code, out, err

    def fail_json(self, msg):
        raise SystemExit(msg)


def files(tmp_path, text, name="my.cnf"):
    path = tmp_path / name
    path.write_text(text)
    module = Module({"my_print_defaults": "/usr/bin/my_print_defaults"}, [
        ("--help", (0, "Default options are read from the following files in the given order:\n%s ~/.my.cnf \n" % path, "")),
        ("--print-defaults", (0, "mysqld would have been started with the following arguments:\n--server_id=7 "
                                 "--report_password=secret \n", "")),
    ])
    return path, module


def test_options_come_from_the_servers_own_reader(tmp_path):
    path, module = files(tmp_path, "[mysqld]\n")
    found = host.read_options(module, "/usr/sbin/mysqld", ["--defaults-group-suffix=@one"])
    assert found["options"] == {"server_id": "7"}
    assert found["reader"] == "/usr/sbin/mysqld --defaults-group-suffix=@one --print-defaults"
    assert (found["kind"], found["path"], found["exists"], found["ours"]) == ("block", str(path), True, None)


def test_our_block_is_found_in_the_users_file(tmp_path):
    dummy, module = files(tmp_path, "[mysqld]\nport = 1\n# BEGIN dbre.semisync\n[mysqld]\na = 1\n# END dbre.semisync\n")
    assert host.read_options(module, "/usr/sbin/mysqld", [])["ours"] == "[mysqld]\na = 1\n"


def test_our_drop_in_is_found_in_the_include_directory(tmp_path):
    (tmp_path / "my.cnf.d").mkdir()
    dummy, module = files(tmp_path, "[client-server]\n!includedir %s/my.cnf.d\n" % tmp_path)
    found = host.read_options(module, "/usr/sbin/mysqld", [])
    assert (found["kind"], found["exists"], found["ours"]) == ("drop-in", False, None)
    (tmp_path / "my.cnf.d" / options.DROP_IN).write_text("[mysqld]\n")
    found = host.read_options(module, "/usr/sbin/mysqld", [])
    assert (found["path"], found["exists"], found["ours"]) == (str(tmp_path / "my.cnf.d" / options.DROP_IN), True, "[mysqld]\n")


def test_a_server_started_with_one_file_gets_its_lines_there(tmp_path):
    path, module = files(tmp_path, "[mysqld]\n", "own.cnf")
    found = host.read_options(module, "/usr/sbin/mysqld", ["--defaults-file=%s" % path])
    assert (found["kind"], found["path"]) == ("block", str(path))
    assert not [argv for argv in module.ran if argv[-1] == "--help"]


def test_files_that_include_each_other_are_read_once(tmp_path):
    (tmp_path / "extra.cnf").write_text("!include %s/my.cnf\n[mysqld]\n" % tmp_path)
    path, module = files(tmp_path, "!include %s/extra.cnf\n!include %s/missing.cnf\n" % (tmp_path, tmp_path))
    found = host.find_place(module, [])
    assert found == {"kind": "block", "path": str(path)}


@pytest.mark.parametrize("running", [True, False])
def test_a_host_is_read_whether_its_server_tells_its_program_or_not(tmp_path, monkeypatch, running):
    dummy, module = files(tmp_path, "[mysqld]\n")
    module.programs["mysqld"] = "/usr/sbin/mysqld"
    (tmp_path / "db1.pid").write_text(str(os.getpid()) if running else "")
    monkeypatch.setattr(host, "executable", lambda pid: None)
    found = host.read(module, {"pid_file": "db1.pid", "datadir": str(tmp_path)})
    assert found["program"] == "/usr/sbin/mysqld" and found["option_files"]["options"] == {"server_id": "7"}
    assert found["pid"] == (os.getpid() if running else None)


def test_the_running_program_reads_the_option_files(tmp_path, monkeypatch):
    dummy, module = files(tmp_path, "[mysqld]\n")
    program = tmp_path / "mariadbd"
    program.write_text("")
    module.programs["mysqld"] = "/usr/sbin/mysqld"
    (tmp_path / "db1.pid").write_text(str(os.getpid()))
    monkeypatch.setattr(host, "executable", lambda pid: str(program))
    assert host.read(module, {"pid_file": "db1.pid", "datadir": str(tmp_path)})["program"] == str(program)


@pytest.mark.parametrize("name,text,kind,ours", [
    ("mine.cnf", None, "drop-in", None),
    ("mine.cnf", "[mysqld]\nport = 1\n", "block", None),
    (options.DROP_IN, "[mysqld]\nserver_id = 7\n", "drop-in", "[mysqld]\nserver_id = 7\n"),
])
def test_a_file_of_the_users_choice(tmp_path, name, text, kind, ours):
    dummy, module = files(tmp_path, "[mysqld]\n")
    if text is not None:
        (tmp_path / name).write_text(text)
    found = host.read_options(module, "/usr/sbin/mysqld", [], str(tmp_path / name))
    assert (found["kind"], found["path"], found["ours"]) == (kind, str(tmp_path / name), ours)


def test_a_file_of_the_users_choice_that_we_made_stays_ours(tmp_path):
    dummy, module = files(tmp_path, "[mysqld]\n")
    written = options.HEADER + "[mysqld]\nserver_id = 7\n"
    (tmp_path / "mine.cnf").write_text(written)
    found = host.read_options(module, "/usr/sbin/mysqld", [], str(tmp_path / "mine.cnf"))
    assert (found["kind"], found["ours"]) == ("drop-in", written)


def test_a_reader_that_fails_says_which_and_why(tmp_path):
    dummy, module = files(tmp_path, "[mysqld]\n")
    module.printed[1] = ("--print-defaults", (1, "", "error: Found option without preceding group\n"))
    with pytest.raises(SystemExit) as error:
        host.read_options(module, "/usr/sbin/mysqld", [])
    assert "/usr/sbin/mysqld --print-defaults" in str(error.value) and "Found option without" in str(error.value)
