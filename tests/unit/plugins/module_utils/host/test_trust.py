# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import (
    process,
    server_options,
    trust,
)
from ansible_collections.dbre.semisync.plugins.module_utils._host.clock import wait_until

MYSQL = 54321
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
# What a program says of itself: who runs it.
WHO = "#!/bin/sh\nid -u\n"


@pytest.fixture
def place():
    """A folder that only root can write in, as do all above it."""
    folder = tempfile.mkdtemp(dir="/run")
    os.chmod(folder, 0o755)  # noqa: S103
    yield folder
    shutil.rmtree(folder)


def program(path, owner=0, mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as stream:
        stream.write(WHO)
    os.chmod(path, mode)
    os.chown(path, owner, owner)
    return path


def ran_by(path):
    return int(
        subprocess.run(trust.trusted_command([path]), capture_output=True, check=True).stdout
    )


def test_root_runs_what_only_root_could_have_put_there(place):
    assert ran_by(program(f"{place}/mysqld")) == 0 and trust.trusted("/bin/sh")


def test_a_program_of_the_server_user_is_run_by_that_user(place):
    assert ran_by(program(f"{place}/mysqld", MYSQL)) == MYSQL


def test_a_program_of_root_in_a_folder_of_the_server_user_is_run_by_that_user(place):
    path = program(f"{place}/home/bin/mysqld")
    os.chown(f"{place}/home", MYSQL, MYSQL)
    assert ran_by(path) == MYSQL


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_what_a_group_or_everybody_may_replace_is_run_by_nobody(place, mode):
    path = program(f"{place}/open/mysqld")
    os.chmod(f"{place}/open", mode)
    assert ran_by(path) == trust.NOBODY


def test_a_link_counts_as_what_it_leads_to_and_as_who_made_it(place):
    path = program(f"{place}/hers/mysqld", MYSQL)
    os.symlink(path, f"{place}/mysqld")
    assert ran_by(f"{place}/mysqld") == MYSQL
    os.mkdir(f"{place}/home")
    os.symlink(program(f"{place}/mysqld2"), f"{place}/home/mysqld")
    assert trust.trusted(f"{place}/home/mysqld")
    os.lchown(f"{place}/home/mysqld", MYSQL, MYSQL)
    assert ran_by(f"{place}/home/mysqld") == MYSQL


def test_in_a_folder_such_as_tmp_what_is_roots_stays_roots_and_nothing_is_written(place):
    path = program(f"{place}/tmp/mysqld")
    os.chmod(f"{place}/tmp", 0o1777)  # noqa: S103
    assert trust.trusted(path) and not trust.trusted(f"{place}/tmp")


def test_a_relative_link_and_a_loop(place):
    program(f"{place}/bin/mariadbd")
    os.symlink("../bin/mariadbd", f"{place}/bin/mysqld")
    assert trust.trusted(f"{place}/bin/mysqld")
    os.symlink("loop", f"{place}/loop")
    assert not trust.trusted(f"{place}/loop") and not trust.trusted(f"{place}/none")
    assert trust.trusted_command([f"{place}/none", "-x"]) == [f"{place}/none", "-x"]


def test_the_user_of_a_program_may_read_the_files_made_for_it(place):
    path, secret = program(f"{place}/mysqldump", MYSQL), f"{place}/login.cnf"
    for name in (secret, secret + "2"):
        with open(name, "w"):
            pass
    trust.hand_over(path, secret)
    trust.hand_over("/bin/sh", secret + "2")
    assert [os.stat(name).st_uid for name in (secret, secret + "2")] == [MYSQL, 0]


class Module:
    def __init__(self):
        self.ran = []

    def get_bin_path(self, name, opt_dirs=()):
        return None

    def run_command(self, words, **_more):
        self.ran.append(words)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


def test_a_process_that_the_server_user_names_runs_nothing_as_root(place):
    """Code as the server's user runs a program of its own under the server's name, and writes its
    number into the pid file.
    """
    home = f"{place}/home"
    os.mkdir(home)
    os.chown(home, MYSQL, MYSQL)
    planted = program(f"{home}/mysqld", MYSQL)
    with open(planted, "w") as stream:
        stream.write(f"#!/bin/sh\nid -u > {home}/ran_by\n")
    sleeper = subprocess.Popen(
        ["bash", "-c", f"exec -a {planted} sleep 60"], user=MYSQL, group=MYSQL
    )
    try:
        with open(f"{home}/pid", "w") as stream:
            stream.write(str(sleeper.pid))
        assert wait_until(lambda: process.command_line(sleeper.pid)[:1] == [planted], 30, 0.05)
        variables = {"pid_file": f"{home}/pid", "datadir": home, "basedir": home}
        server_options.server_on_host(Module(), variables)
    finally:
        sleeper.kill()
        sleeper.wait()
    with open(f"{home}/ran_by") as stream:
        assert stream.read() == f"{MYSQL}\n"


def options_of(place, *arguments, option_file=None):
    server = process.Running(None, ["mysqld", *arguments], None, [], "")
    return server_options.read_options(Module(), server, option_file)


def test_a_file_that_no_server_reads_is_not_written_because_a_process_names_it(place):
    with open(f"{place}/crontab", "w") as stream:
        stream.write("* * * * * root true\n")
    found = options_of(place, f"--defaults-file={place}/crontab")
    assert "has no option group of a server" in found["unsafe"]
    with open(f"{place}/my.cnf", "w") as stream:
        stream.write("[client]\n[mysqld@one]\n")
    assert options_of(place, f"--defaults-file={place}/my.cnf")["unsafe"] == ""


def test_root_writes_no_lines_in_a_folder_of_the_server_user(place):
    os.mkdir(f"{place}/home")
    with open(f"{place}/home/my.cnf", "w") as stream:
        stream.write("[mysqld]\n")
    os.chown(f"{place}/home", MYSQL, MYSQL)
    for words, chosen in (((f"--defaults-file={place}/home/my.cnf",), None), ((), "my.cnf")):
        chosen = chosen and f"{place}/home/{chosen}"
        assert "not only root's" in options_of(place, *words, option_file=chosen)["unsafe"]


def test_the_server_user_says_not_where_our_lines_go(place):
    for folder in ("home", "cron.d"):
        os.mkdir(f"{place}/{folder}")
    with open(f"{place}/my.cnf", "w") as stream:
        stream.write(f"!include {place}/home/more.cnf\n[mysqld]\n")
    with open(f"{place}/home/more.cnf", "w") as stream:
        stream.write(f"!includedir {place}/cron.d\n")
    os.chown(f"{place}/home/more.cnf", MYSQL, MYSQL)
    found = options_of(place, f"--defaults-file={place}/my.cnf")
    assert found["path"] == f"{place}/my.cnf"


@pytest.mark.parametrize("suffix", ["]\n* * * * * root id", " x", "@one\n"])
def test_a_suffix_is_no_line_of_an_option_file(place, suffix):
    found = options_of(place, f"--defaults-group-suffix={suffix}")
    assert found["group"] == "mysqld" and "the suffix of its option groups" in found["unknown"]


def test_tools_that_root_runs_later_are_not_the_server_users(place):
    os.mkdir(f"{place}/home")
    program(f"{place}/home/mysql", MYSQL)
    program(f"{place}/bin/mysql")
    folders = [f"{place}/home", f"{place}/bin"]
    assert process.find_tool(Module(), ("mysql",), folders) == f"{place}/home/mysql"
    assert process.find_tool(Module(), ("mysql",), folders, True) == f"{place}/bin/mysql"
