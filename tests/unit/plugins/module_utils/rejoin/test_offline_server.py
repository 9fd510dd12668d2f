# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a server's things are that does not run: by its unit, and its program's own help."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_file import PLAIN
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import offline_server
from ansible_collections.dbre.semisync.plugins.module_utils._replication import gtids

# The head, and some lines of the end, as Debian's MariaDB 10.11.19 and MySQL 9.7.4 print them.
MARIADB = """mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)
Usage: mariadbd [OPTIONS]
  --log-bin[=name]    Log update queries in binary format.
basedir                                                      /usr
datadir                                                      /var/lib/mysql/
gtid-strict-mode                                             FALSE
log-bin                                                      (No default value)
server-id                                                    7
"""
MYSQL = """mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))
datadir                                                      {datadir}
gtid-mode                                                    ON
log-bin                                                      binlog
"""
UUID = "d7f2207a-e69c-11f1-b044-0242ac1b0003"
# As systemctl shows them.
UNITS = {
    "mysql": "LoadState=loaded\nExecStart={ path=%s ; argv[]=%s ; ignore_errors=no ; pid=0 }\n",
    "mariadb": "LoadState=loaded\nExecStart={ path=/bin/sh ; argv[]=/bin/sh -c set -f; %s $OPTS"
    " ; pid=0 }\n",
    "tarball": "LoadState=loaded\nExecStart={ path=%s ; argv[]=%s --defaults-file=/etc/my.cnf; }\n",
}


class Module:
    """A host with units, and a program that says what it would be started with."""

    def __init__(self, units, printed):
        self.units, self.printed, self.asked = units, printed, []

    def run_command(self, words, **_keywords):
        self.asked.append(words)
        if words[0] == "systemctl":
            unit = words[-1].rpartition(".")[0]
            return 0, self.units.get(unit, "LoadState=not-found\n"), ""
        return 0, self.printed, "a warning"


@pytest.fixture(name="program")
def fixture_program(tmp_path):
    path = tmp_path / "mysqld"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_what_the_help_says_is_what_it_would_be_started_with():
    options = offline_server.parse_help(MARIADB)
    assert options["datadir"] == "/var/lib/mysql/"
    assert "log-bin" not in options
    there = offline_server.OfflineServer("mariadb", None, options)
    assert (there.identity(gtids.MariadbGtids), there.strict()) == ("7", False)


@pytest.mark.parametrize("kind", list(UNITS))
def test_the_unit_names_the_program(kind, program, tmp_path):
    shown = UNITS[kind] % ((program, program) if kind != "mariadb" else program)
    module = Module({"mysql": shown}, MYSQL.format(datadir=tmp_path))
    there = offline_server.find(module, ["mariadb", "mysql"], "/nowhere")
    assert (there.unit, there.server.program, there.version) == ("mysql", program, "9.7.4-2")
    more = ["--defaults-file=/etc/my.cnf"] if kind == "tarball" else []
    assert module.asked[-1] == [program, *more, "--verbose", "--help"]


@pytest.mark.parametrize(
    "line,more,arguments",
    [
        ("--read-only=0 --defaults-file=/x", "", ["--defaults-file=/x", "--read-only=0"]),
        # The last one counts.
        (
            "--read-only=1 --read-only=0 --read-only=1",
            "",
            ["--read-only=1", "--read-only=0", "--read-only=1"],
        ),
        ("--read-only='OFF'", "", ["--read-only=OFF"]),
        ("$MYSQLD_OPTS", "", []),
        ("$MYSQLD_OPTS", "Environment=A=1 MYSQLD_OPTS=--read-only=0", ["--read-only=0"]),
        (
            "${OPTS}",
            'Environment="OPTS=--read-only=0 --port=3307"',
            ["--read-only=0", "--port=3307"],
        ),
        ("$OPTS", "EnvironmentFiles={folder}/of-unit (ignore_errors=yes)", ["--read-only=0"]),
        ("$OPTS", "EnvironmentFiles=/nowhere (ignore_errors=yes)", []),
    ],
)
def test_what_its_unit_starts_it_with_is_its_command_line(line, more, arguments, program, tmp_path):
    (tmp_path / "of-unit").write_text("# a file\nOPTS=--read-only=0\n")
    shown = UNITS["mysql"] % (program, f"{program} {line}")
    module = Module(
        {"mysql": shown + more.format(folder=tmp_path) + "\n"}, MYSQL.format(datadir=tmp_path)
    )
    there = offline_server.find(module, ["mysql"], "/nowhere")
    assert there.server.cmdline == [program, *arguments]
    files = [one for one in arguments if one.startswith("--defaults")]
    assert module.asked[-1] == [program, *files, "--verbose", "--help"]


@pytest.mark.parametrize(
    "kind,more",
    [
        ("plain", []),
        ("shell", []),
        ("instance", ["--defaults-group-suffix=.two"]),
        ("drop-in", ["--defaults-file=/etc/other.cnf"]),
    ],
)
def test_a_masked_unit_names_its_program_in_the_file_that_the_mask_covers(
    kind, more, program, tmp_path, monkeypatch
):
    mask, folder = tmp_path / "run", tmp_path / "usr"
    mask.mkdir()
    folder.mkdir()
    (mask / "mysql.service").symlink_to("/dev/null")
    name = "mysql@.service" if kind == "instance" else "mysql.service"
    line = {
        "shell": f'/bin/sh -c "set -f; \\\n exec {program} $OPTS"',
        "instance": f"{program} --defaults-group-suffix=.%i",
    }.get(kind, f"{program}")
    (folder / name).write_text(
        f"[Service]\n# {program}-old\nExecStartPre=/bin/x /sbin/mysqld\nExecStart={line}\n"
    )
    if kind == "drop-in":
        more_file = folder / "mysql.service.d" / "own.conf"
        more_file.parent.mkdir()
        more_file.write_text(
            f"[Service]\nExecStart=\nExecStart={program} --defaults-file=/etc/other.cnf\n"
        )
    monkeypatch.setattr(offline_server, "UNIT_FOLDERS", (str(mask), str(folder)))
    unit = "mysql@two" if kind == "instance" else "mysql"
    module = Module({unit: "LoadState=masked\n"}, MYSQL.format(datadir=tmp_path))
    there = offline_server.find(module, ["mariadb", unit], "/nowhere")
    assert (there.unit, there.server.program) == (unit, program)
    assert module.asked[-1] == [program, *more, "--verbose", "--help"]


def test_a_unit_that_is_masked_is_told_with_how_to_make_it_readable(program):
    masked = Module({"mariadb": "LoadState=masked\nExecStart=\n"}, "")
    with pytest.raises(offline_server.PlaceError, match="systemctl unmask mariadb"):
        offline_server.find(masked, ["mariadb", "mysql"], program)


def test_a_unit_or_a_program_that_is_not_there_is_told(program):
    with pytest.raises(offline_server.PlaceError, match="there is no unit mysql or mariadb"):
        offline_server.find(Module({}, ""), ["mysql", "mariadb"], program)
    shown = {"mysql": "LoadState=loaded\nExecStart={ path=/usr/bin/wrapper ; }\n"}
    with pytest.raises(offline_server.PlaceError, match="is not known"):
        offline_server.find(Module(shown, ""), ["mysql"], "/nowhere")
    with pytest.raises(offline_server.PlaceError, match="does not say where its data are"):
        offline_server.find(Module(shown, "cannot start"), ["mysql"], program)


def test_its_uuid_is_read_from_its_file(tmp_path):
    there = offline_server.OfflineServer("mysql", None, {"datadir": str(tmp_path)})
    assert there.identity(gtids.MysqlGtids) == ""
    (tmp_path / "auto.cnf").write_text(f"[auto]\nserver-uuid={UUID.upper()}\n")
    assert there.identity(gtids.MysqlGtids) == UUID


def log(folder, name, first=PLAIN):
    (folder / f"{name}.000001").write_bytes(first + b"x")
    (folder / f"{name}.index").write_text(f"./{name}.000001\n")


def test_the_log_is_where_an_option_says_and_else_the_only_one_there_is(tmp_path):
    log(tmp_path, "host-bin")
    log(tmp_path, "other", b"none")
    log(tmp_path, "host-relay-bin")
    assert offline_server.log_basename(str(tmp_path), {}) == str(tmp_path / "host-bin")
    # An option that names one which is not there is of another day.
    assert offline_server.log_basename(str(tmp_path), {"log-bin": "x"}) == str(
        tmp_path / "host-bin"
    )
    log(tmp_path, "binlog")
    assert offline_server.log_basename(str(tmp_path), {"log-bin": "binlog"}) == str(
        tmp_path / "binlog"
    )
    with pytest.raises(offline_server.PlaceError, match="has 2 binary logs"):
        offline_server.log_basename(str(tmp_path), {})
