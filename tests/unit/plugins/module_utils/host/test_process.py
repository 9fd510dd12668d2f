# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    option_files,
    option_reader,
    process,
    server_options,
)

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


@pytest.mark.parametrize(
    "cgroup,unit",
    [
        (HYBRID, "mysql"),
        (MARIADB, "mariadb"),
        ("0::/system.slice/mysqld.service\n", "mysqld"),
        ("0::/system.slice/system-mariadb.slice/mariadb@shop.service\n", "mariadb@shop"),
        ("0::/system.slice/system-mysqld.slice/mysqld@replica-1.service", "mysqld@replica-1"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
        ("0::/system.slice/mysql.service/inner\n", None),
        ("0::/\n", None),
        ("", None),
    ],
)
def test_the_unit_is_read_from_the_process_itself(cgroup, unit):
    assert process.parse_unit(cgroup) == unit


@pytest.mark.parametrize(
    "cmdline,arguments",
    [
        (["/usr/sbin/mysqld", ""], []),
        (
            ["/usr/sbin/mysqld", "--defaults-file=/etc/my.cnf", "--user=mysql"],
            ["--defaults-file=/etc/my.cnf"],
        ),
        (
            ["mysqld", "--defaults-group-suffix=@one", "--datadir=/srv"],
            ["--defaults-group-suffix=@one"],
        ),
        (["mysqld", "--defaults-extra-file=/etc/x.cnf"], ["--defaults-extra-file=/etc/x.cnf"]),
        (["mysqld", "--no-defaults"], ["--no-defaults"]),
        (["mysqld", "--no-defaults-at-all", "--init-file=--defaults-file=/x"], []),
    ],
)
def test_a_reader_of_option_files_is_given_the_servers_own_choice(cmdline, arguments):
    assert server_options.defaults_arguments(cmdline) == arguments


@pytest.fixture
def proc(monkeypatch):
    """Processes as the kernel tells them, by number: (command line, program or None if it is
    hidden).
    """
    table = {}
    monkeypatch.setattr(process, "command_line", lambda pid: table.get(pid, ([], None))[0])
    monkeypatch.setattr(process, "executable", lambda pid: table.get(pid, ([], None))[1])
    return table


@pytest.fixture
def tarball(tmp_path):
    """A server unpacked from a tarball: (basedir, its program)."""
    (tmp_path / "mysql" / "bin").mkdir(parents=True)
    return tmp_path / "mysql", program(tmp_path / "mysql" / "bin" / "mysqld")


def program(path):
    path.write_text("")
    path.chmod(0o755)
    return str(path)


def test_a_pid_file_may_be_relative_to_the_data_directory(tmp_path, proc):
    (tmp_path / "db1.pid").write_text(f"{os.getpid()}\n")
    assert process.find_process("db1.pid", str(tmp_path)) == os.getpid()
    assert process.find_process(str(tmp_path / "db1.pid"), "/nowhere") == os.getpid()


@pytest.mark.parametrize("text", [None, "", "no number", "999999999"])
def test_without_a_process_there_is_no_pid(tmp_path, text):
    if text is not None:
        (tmp_path / "db1.pid").write_text(text)
    assert process.find_process("db1.pid", str(tmp_path)) is None


@pytest.mark.parametrize(
    "words,path,ours",
    [
        (["/usr/sbin/mysqld", "--user=mysql"], None, True),
        (["valgrind", "-q", "/opt/mariadb/sbin/mariadbd"], "/usr/bin/valgrind.bin", True),
        (["database"], "/opt/mysql/bin/mysqld-debug", True),
        ([], None, True),  # nothing is seen of it
        (["/sbin/init"], None, False),
        (["vi", "--pid-file=/run/mysqld/mysqld.pid"], "/usr/bin/vi", False),
    ],
)
def test_a_pid_file_that_is_left_over_names_no_server(tmp_path, proc, words, path, ours):
    proc[os.getpid()] = (words, path)
    (tmp_path / "db1.pid").write_text(str(os.getpid()))
    assert process.find_process("db1.pid", str(tmp_path)) == (os.getpid() if ours else None)


def test_an_executable_that_the_kernel_hides_is_none(monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "readlink", refuse)
    assert process.executable(1) is None


def test_the_command_line_names_the_program_where_the_kernel_hides_it(tarball):
    basedir, path = tarball
    assert process.find_program([path, "--basedir=/elsewhere"], None, "") == path
    assert process.find_program(["ld.so", path], "/usr/lib/ld.so", "") == path
    for words in (["mysqld"], ["./bin/mysqld"], []):
        assert process.find_program(words, None, str(basedir)) == path


def test_the_kernel_names_it_where_the_command_line_does_not(tarball):
    _dummy, path = tarball
    assert process.find_program(["mysqld"], path, "/usr") == path
    # A program that was replaced while it ran.
    assert process.find_program([path], f"{path} (deleted)", "/usr") == path
    assert process.find_program(["mysqld"], f"{path} (deleted)", "/nowhere") is None


def test_another_servers_program_on_the_path_is_not_taken_for_the_running_one(tmp_path, proc):
    (tmp_path / "db1.pid").write_text(str(os.getpid()))
    proc[os.getpid()] = (["/gone/bin/mysqld"], None)
    _dummy, module = files(tmp_path, "[mysqld]\n")
    module.programs["mysqld"] = "/usr/sbin/mysqld"
    variables = {"pid_file": "db1.pid", "datadir": str(tmp_path), "basedir": "/gone"}
    read = server_options.server_on_host(module, variables)
    assert (read["pid"], read["program"]) == (os.getpid(), None)
    assert "/gone/bin/mysqld" in read["option_files"]["unknown"]
    assert read["option_files"]["options"] == {}
    assert not [argv for argv in module.ran if argv[-1] == "--print-defaults"]


def test_a_server_whose_process_is_not_seen_has_unknown_options(tmp_path):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    module.programs["mysqld"] = "/usr/sbin/mysqld"
    read = server_options.server_on_host(
        module, {"pid_file": "/run/db1.pid", "datadir": "/nowhere"}
    )
    assert read["pid"] is None and read["unit"] is None
    assert "/run/db1.pid" in read["option_files"]["unknown"]


def test_tools_lie_beside_the_server_before_they_lie_on_the_path(tarball):
    basedir, path = tarball
    module = Module({"mariadb-dump": "/usr/bin/mariadb-dump", "mbstream": "/usr/bin/mbstream"}, [])
    folders = process.program_folders(path, str(basedir))
    assert folders == [str(basedir / "bin")]
    dump = program(basedir / "bin" / "mysqldump")
    tools = process.tools(module, None, folders)
    assert (tools["dump"], tools["stream"], tools["client"]) == (dump, "/usr/bin/mbstream", None)


@pytest.mark.parametrize("name", ["report_password", "init_connect", "ssl_key", "user", "password"])
def test_options_that_may_hold_secrets_do_not_leave_the_host(name):
    assert not server_options.wanted(name)


@pytest.mark.parametrize(
    "name",
    [
        "rpl_semi_sync_source_enabled",
        "plugin_load_add",
        "server_id",
        "log_bin",
        "bind_address",
        "sync_binlog",
        "gtid_mode",
        "relay_log",
    ],
)
def test_options_that_are_compared_do(name):
    assert server_options.wanted(name)


class Module:
    """The host's programs, without the host: their path and what they print."""

    def __init__(self, programs, printed):
        self.programs, self.printed, self.ran = programs, printed, []

    def get_bin_path(self, name, opt_dirs=()):
        return self.programs.get(name)

    def run_command(self, argv, environ_update, **dummy):
        self.ran.append(argv)
        self.environment = environ_update
        code, out, err = next(answer for end, answer in self.printed if argv[-1] == end)
        return code, out, err


def server(*arguments, program="/usr/sbin/mysqld"):
    return process.Running(os.getpid(), [program, *arguments], program, [], "")


def files(tmp_path, text, name="my.cnf"):
    path = tmp_path / name
    path.write_text(text)
    module = Module(
        {"my_print_defaults": "/usr/bin/my_print_defaults"},
        [
            (
                "--help",
                (
                    0,
                    (
                        "Default options are read from the following files in the given"
                        f" order:\n{path} ~/.my.cnf \n"
                    ),
                    "",
                ),
            ),
            (
                "--print-defaults",
                (
                    0,
                    (
                        "mysqld would have been started with the following"
                        " arguments:\n--server_id=7 --report_password=secret \n"
                    ),
                    "",
                ),
            ),
        ],
    )
    return path, module


def test_options_come_from_the_servers_own_reader(tmp_path):
    path, module = files(tmp_path, "[mysqld]\n")
    found = server_options.read_options(module, server("--defaults-group-suffix=@one"))
    assert found["options"] == {"server_id": "7"}
    assert found["reader"] == "/usr/sbin/mysqld --defaults-group-suffix=@one --print-defaults"
    assert (found["kind"], found["path"], found["exists"], found["ours"]) == (
        "block",
        str(path),
        True,
        None,
    )


def test_our_block_is_found_in_the_users_file(tmp_path):
    _dummy, module = files(
        tmp_path,
        "[mysqld]\nport = 1\n# BEGIN dbre.semisync\n[mysqld]\na = 1\n# END dbre.semisync\n",
    )
    assert server_options.read_options(module, server())["ours"] == "[mysqld]\na = 1\n"


def test_our_drop_in_is_found_in_the_include_directory(tmp_path):
    (tmp_path / "my.cnf.d").mkdir()
    _dummy, module = files(tmp_path, f"[client-server]\n!includedir {tmp_path}/my.cnf.d\n")
    found = server_options.read_options(module, server())
    assert (found["kind"], found["exists"], found["ours"]) == ("drop-in", False, None)
    (tmp_path / "my.cnf.d" / option_files.DROP_IN).write_text("[mysqld]\n")
    found = server_options.read_options(module, server())
    assert (found["path"], found["exists"], found["ours"]) == (
        str(tmp_path / "my.cnf.d" / option_files.DROP_IN),
        True,
        "[mysqld]\n",
    )


def test_a_server_started_with_one_file_gets_its_lines_there(tmp_path):
    path, module = files(tmp_path, "[mysqld]\n", "own.cnf")
    found = server_options.read_options(module, server(f"--defaults-file={path}"))
    assert (found["kind"], found["path"]) == ("block", str(path))
    assert not [argv for argv in module.ran if argv[-1] == "--help"]


def test_files_that_include_each_other_are_read_once(tmp_path):
    (tmp_path / "extra.cnf").write_text(f"!include {tmp_path}/my.cnf\n[mysqld]\n")
    path, module = files(
        tmp_path, f"!include {tmp_path}/extra.cnf\n!include {tmp_path}/missing.cnf\n"
    )
    found = server_options.find_place(module, [], [], {})
    assert found == {"kind": "block", "path": str(path)}


def test_the_running_program_reads_the_option_files(tmp_path, proc, tarball):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    basedir, path = tarball
    module.programs["mysqld"] = "/usr/sbin/mysqld"
    (tmp_path / "db1.pid").write_text(str(os.getpid()))
    proc[os.getpid()] = ([path, "--basedir=/usr/local/mysql", "--server-id", "9"], None)
    variables = {"pid_file": "db1.pid", "datadir": str(tmp_path), "basedir": str(basedir)}
    read = server_options.server_on_host(module, variables)
    assert (read["pid"], read["program"]) == (os.getpid(), path)
    assert read["option_files"]["options"] == {"server_id": "7"}
    assert read["option_files"]["command_line"] == {"server_id": "9"}
    assert read["option_files"]["unknown"] == ""


@pytest.mark.parametrize(
    "name,text,kind,ours",
    [
        ("mine.cnf", None, "drop-in", None),
        ("mine.cnf", "[mysqld]\nport = 1\n", "block", None),
        (option_files.DROP_IN, "[mysqld]\nserver_id = 7\n", "drop-in", "[mysqld]\nserver_id = 7\n"),
    ],
)
def test_a_file_of_the_users_choice(tmp_path, name, text, kind, ours):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    if text is not None:
        (tmp_path / name).write_text(text)
    found = server_options.read_options(module, server(), str(tmp_path / name))
    assert (found["kind"], found["path"], found["ours"]) == (kind, str(tmp_path / name), ours)


def test_a_file_of_the_users_choice_that_we_made_stays_ours(tmp_path):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    written = option_files.HEADER + "[mysqld]\nserver_id = 7\n"
    (tmp_path / "mine.cnf").write_text(written)
    found = server_options.read_options(module, server(), str(tmp_path / "mine.cnf"))
    assert (found["kind"], found["ours"]) == ("drop-in", written)


@pytest.mark.parametrize(
    "answer,said",
    [
        ((1, "", "error: Found option without\npreceding group\n"), "Found option without preced"),
        ((0, "", ""), "says nothing of them"),
        ((127, "", ""), "ended with 127"),
    ],
)
def test_options_are_unknown_where_their_reader_fails(tmp_path, answer, said):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    module.printed[1] = ("--print-defaults", answer)
    read = server_options.read_options(module, server())
    assert "/usr/sbin/mysqld --print-defaults" in read["unknown"] and said in read["unknown"]
    assert read["options"] == {}


def test_options_are_unknown_where_a_file_is_closed_to_us(tmp_path, monkeypatch):
    path, module = files(tmp_path, "[mysqld]\n")

    def refuse(name):
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(server_options, "read_text", refuse)
    monkeypatch.setattr(server_options, "readers_environment", lambda pid: {})
    assert server_options.read_options(module, server())["unknown"] == (
        f"{path} cannot be read: Permission denied"
    )


def test_an_option_that_a_newer_version_may_ignore_is_told_apart(tmp_path):
    _path, module = files(tmp_path, "[mysqld]\n")
    (end, (code, printed, stderr)) = module.printed.pop()
    printed += "--loose-mysql-native-password=ON --loose_ssl --expire_logs_days=3"
    printed += " --loose_rpl_semi_sync_master_enabled=1"
    module.printed.append((end, (code, printed, stderr)))
    found = server_options.read_options(module, server("--loose_mysql_native_password=ON"))
    assert found["options"] == {
        "server_id": "7",
        "loose_mysql_native_password": "ON",
        "loose_ssl": "",
        "expire_logs_days": "3",
        # Its plugins are what a newer version lacks.
        "rpl_semi_sync_master_enabled": "1",
    }
    assert found["command_line"] == {"loose_mysql_native_password": "ON"}


def test_the_reader_is_given_what_the_servers_environment_chooses(tmp_path, monkeypatch):
    _dummy, module = files(tmp_path, "[mysqld]\n")
    text = "HOME=/root\0MYSQL_HOME=/srv/one\0MYSQL_GROUP_SUFFIX=@one\0"
    monkeypatch.setattr(server_options, "read_text", lambda name: text)
    found = server_options.read_options(module, server())
    chosen = {"MYSQL_HOME": "/srv/one", "MYSQL_GROUP_SUFFIX": "@one"}
    assert found["group"] == "mysqld@one" and module.environment == chosen
    # And so is every later one.
    module.environment = {}
    assert option_reader.printed_pairs(module, found["reader"] or "") is not None
    assert module.environment.items() >= chosen.items()
