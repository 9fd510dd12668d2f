# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the files of a dead source's binary log: what is in the way is named, and nothing is
taken for read that was not.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog import log_access, salvage
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.tests.unit import samples
from ansible_collections.dbre.semisync.tests.unit.plugins.module_utils.binlog.test_log_file import (
    event,
)

UUID = "7eff25a6-e868-11f1-8704-0242ac110002"
WHOLE = (Path(samples.FIXTURES) / "mysql-9.7-attacks.binlog").read_bytes()
# It prints what the real one printed of the copy that it is given, or ends as a test wants.
PROGRAM = """#!/bin/sh
echo "$@" >>{folder}/asked
cat >{folder}/given
{before}
cat {printed}
{after}
"""


class Module:
    """A host with a binary log of two files, and a program that prints it."""

    def __init__(self, folder):
        self.folder = folder
        self.base = folder / "data" / "binlog"
        self.base.parent.mkdir()
        for number in (1, 2):
            Path(f"{self.base}.00000{number}").write_bytes(WHOLE)
        Path(f"{self.base}.index").write_text("./binlog.000001\n./binlog.000002\n")
        self.files = LogFiles(
            basename=str(self.base),
            datadir=str(self.base.parent),
            pid_file="mysqld.pid",
            program=str(folder / "bin" / "mysqld"),
            basedir="",
            first="binlog.000002",
        )
        (folder / "bin").mkdir()
        self.program()

    def program(self, before="", after=""):
        path = self.folder / "bin" / "mysqlbinlog"
        printed = Path(samples.FIXTURES) / "mysql-9.7-attacks.bin"
        path.write_text(
            PROGRAM.format(folder=self.folder, before=before, printed=printed, after=after)
        )
        path.chmod(0o755)

    def get_bin_path(self, _name):
        return None


def read(module):
    return salvage.read_salvage(module, module.files, "mysql", f"{UUID}:1-20")


@pytest.fixture(name="module")
def fixture_module(tmp_path):
    return Module(tmp_path)


def test_what_the_candidate_lacks_is_read_from_the_file_on_that_it_was_reading(module):
    assert log_access.check_access(module, module.files)["case"] == ""
    seen = read(module)
    assert (seen["case"], seen["count"], seen["seen"]) == ("", 6, 26)
    assert seen["gtids"] == [f"{UUID}:{number}" for number in range(21, 27)]
    assert seen["files"] == [f"{module.base}.000002"]
    assert [one.gtid for one in salvage.unpack(seen["payload"])] == seen["gtids"]
    asked = (module.folder / "asked").read_text().splitlines()
    assert asked == ["--no-defaults --verify-binlog-checksum -"]
    module.files = dataclasses.replace(module.files, first="")
    read(module)
    assert len((module.folder / "asked").read_text().splitlines()) == 3


def test_the_program_is_given_a_copy_that_has_no_text_of_a_client(module):
    read(module)
    given = (module.folder / "given").read_bytes()
    assert given.startswith(b"\xfebin") and b"DO 1" in given
    for text in (b"GRANT", b"CREATE", b"INSERT", b"DELIMITER"):
        assert text in WHOLE and text not in given.replace(b"c\nDELIMITER z", b"")


def test_a_torn_end_is_left_out(module):
    path = Path(f"{module.base}.000002")
    read(module)
    whole = (module.folder / "given").read_bytes()
    path.write_bytes(WHOLE + event()[:30])
    seen = read(module)
    assert (seen["case"], seen["end"], seen["torn"]) == ("", len(WHOLE), 30)
    assert len((module.folder / "given").read_bytes()) == len(whole)
    assert path.stat().st_size == len(WHOLE) + 30


def wrong_byte(module):
    path = Path(f"{module.base}.000002")
    path.write_bytes(WHOLE[:3000] + bytes([WHOLE[3000] ^ 1]) + WHOLE[3001:])


def gone(module):
    Path(f"{module.base}.index").unlink()


def empty(module):
    Path(f"{module.base}.index").write_text("\n")


def purged(module):
    module.files = dataclasses.replace(module.files, first="binlog.000007")


def deleted(module):
    Path(f"{module.base}.000002").unlink()


def without_program(module):
    (module.folder / "bin" / "mysqlbinlog").unlink()


def encrypted(module):
    Path(f"{module.base}.000002").write_bytes(b"\xfdbin" + bytes(600))


def torn_within(module):
    Path(f"{module.base}.000001").write_bytes(WHOLE + event()[:30])
    module.files = dataclasses.replace(module.files, first="")


def running(module):
    (module.base.parent / "mysqld.pid").write_text(f"{os.getpid()}\n")


@pytest.mark.parametrize(
    "change,case",
    [
        (gone, "no_log"),
        (empty, "no_log"),
        (purged, "no_log"),
        (deleted, "unreadable"),
        (without_program, "program"),
        (encrypted, "encrypted"),
        (torn_within, "damaged"),
        (running, "alive"),
    ],
)
def test_what_is_in_the_way_is_named(module, monkeypatch, change, case):
    # This process does not look like a server.
    monkeypatch.setattr(log_access.process, "is_server", lambda _pid: True)
    change(module)
    assert log_access.check_access(module, module.files)["case"] == read(module)["case"] == case


def test_a_server_that_has_the_log_open_is_alive(module, monkeypatch):
    monkeypatch.setattr(log_access.process, "is_server", lambda pid: pid == os.getpid())
    with open(f"{module.base}.000002"):
        seen = log_access.check_access(module, module.files)
    assert seen["case"] == "alive" and "open" in seen["words"]


@pytest.mark.parametrize(
    "before,after,case",
    [
        ("echo 'ERROR: Error in Log_event::read_log_event()' >&2", "", "damaged"),
        ("", "exit 1", "damaged"),
        # It is cut off, so that it is not understood either.
        ("echo 'DELIMITER /*!*/;\nCREATE TABLE'; exit 3", "", "damaged"),
        ("echo 'INSERT INTO t VALUES (1);'", "", "not_understood"),
        ("printf x >>{log}", "", "alive"),
    ],
)
def test_what_was_not_read_to_its_end_is_not_taken_for_read(module, before, after, case):
    module.program(before.format(log=f"{module.base}.000002"), after)
    seen = read(module)
    assert seen["case"] == case and "payload" not in seen


def test_a_wrong_byte_is_damage(module):
    wrong_byte(module)
    seen = read(module)
    assert seen["case"] == "damaged" and "checksum" in seen["words"]


def test_what_a_client_wrote_has_to_be_printed_once_and_in_its_order(module):
    for change in ("s/^DO 7$/DO 8/", "s/^DO 7$/DO 6/", "s/^DO 7$/GRANT ALL/", "s/^DO 7$/DO 99/"):
        text = (Path(samples.FIXTURES) / "mysql-9.7-attacks.bin").read_bytes()
        kept = module.folder / "printed"
        kept.write_bytes(text)
        module.program(before=f"sed '{change}' {kept}; exit")
        seen = read(module)
        assert seen["case"] == "not_understood" and "payload" not in seen, change


def test_too_much_is_refused(module, monkeypatch):
    monkeypatch.setattr(salvage, "MOST_BYTES", 3000)
    assert read(module)["case"] == "large"


def test_a_tail_that_is_more_than_a_host_reads_is_not_unpacked(monkeypatch):
    packed = salvage.pack([salvage.log_transactions.Transaction("u:1", [b"x" * 10000])])
    assert len(salvage.unpack(packed)) == 1
    monkeypatch.setattr(salvage, "MOST_BYTES", 100)
    with pytest.raises(log_access.SalvageError, match="to be salvaged"):
        salvage.unpack(packed)
