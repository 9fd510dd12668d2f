# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option file that lets a source start read-only while its role moves."""

from __future__ import annotations

import os
from typing import Any, cast

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import files, option_files
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    dropin_place,
    read_only_dropin,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import OptionFile


def test_a_drop_in_of_its_own_comes_and_goes(tmp_path):
    ours = tmp_path / "zz-dbre-semisync.cnf"
    ours.write_text("[mysqld]\nserver_id = 1\n")
    path = read_only_dropin.put(str(ours), "drop-in", "mysqld@1")
    assert path == str(tmp_path / "zz-dbre-semisync-switchover.cnf")
    assert "[mysqld@1]\nread_only = ON\n" in (tmp_path / path).read_text()
    assert dropin_place.stands(str(ours), "drop-in", "mysqld@1")
    assert read_only_dropin.take_away(str(ours), "drop-in")
    assert not read_only_dropin.take_away(str(ours), "drop-in")
    assert ours.read_text() == "[mysqld]\nserver_id = 1\n"


class Host:
    """A host whose option files say this."""

    def __init__(self, printed: str, status: int = 0) -> None:
        self.printed, self.status = printed, status

    def run_command(self, *_words: object, **_keywords: object) -> tuple[int, str, str]:
        return self.status, self.printed, ""


def overridden(path, host, reader="mysqld --print-defaults", **more):
    ours = OptionFile(str(path), "drop-in", "mysqld", reader, **more)
    return read_only_dropin.overridden(cast(Any, host), ours)


@pytest.mark.parametrize(
    "printed", ["--read_only=OFF --read_only=ON --port=3306", "--read_only=0 --read-only"]
)
def test_a_fence_that_is_read_last_keeps_writers_out(tmp_path, printed):
    assert overridden(tmp_path / "zz-dbre-semisync.cnf", Host(printed)) == ""


@pytest.mark.parametrize(
    "printed", ["--read_only=ON --read-only=0", "--read_only=ON --skip-read-only"]
)
def test_a_fence_that_something_overrides_is_not_trusted(tmp_path, printed):
    ours = tmp_path / "zz-dbre-semisync.cnf"
    fence = str(tmp_path / "zz-dbre-semisync-switchover.cnf")
    said = overridden(ours, Host(printed))
    assert fence in said and "remove the line" in said
    (tmp_path / "zzz.cnf").write_text("[mysqld]\nserver_id = 1\nskip-read-only\n")
    (tmp_path / "a.cnf").write_text("[mysqld]\nread_only = 0\n")
    (tmp_path / "zzz.bak").write_text("[mysqld]\nread_only = 0\n")
    said = overridden(ours, Host(printed))
    assert f"remove the line from {tmp_path / 'zzz.cnf'}" in said and "a.cnf" not in said


def test_a_fence_that_is_not_read_or_that_a_command_line_overrides_is_not_trusted(tmp_path):
    assert "does not read that file" in overridden(tmp_path / "x", Host("--port=3306"))
    said = overridden(tmp_path / "x", Host("--read_only=ON"), command_line={"read_only": "0"})
    assert "its command line" in said


def test_a_fence_that_nothing_can_check_is_not_trusted_where_something_should(tmp_path):
    assert "which would tell, fails" in overridden(tmp_path / "x", Host("", 1))
    assert overridden(tmp_path / "x", Host(""), None) == ""


def test_it_keeps_those_out_whom_read_only_lets_in(tmp_path):
    path = read_only_dropin.put(str(tmp_path / "zz-dbre-semisync.cnf"), "drop-in", "mysqld")
    said = (tmp_path / path).read_text().splitlines()
    assert {
        "read_only = ON",
        "loose_super_read_only = ON",
        "event_scheduler = OFF",
        "loose_skip_slave_start = ON",
        "loose_skip_replica_start = ON",
    } <= set(said)


def test_a_block_leaves_the_rest_of_the_file_as_it_was(tmp_path):
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nserver_id = 1\n# the end")
    file.chmod(0o640)
    read_only_dropin.put(str(file), "block", "mysqld")
    read_only_dropin.put(str(file), "block", "mysqld")
    assert file.read_text().count("\nread_only = ON") == 1
    assert dropin_place.stands(str(file), "block", "mysqld")
    assert read_only_dropin.take_away(str(file), "block")
    assert file.read_text() == "[mysqld]\nserver_id = 1\n# the end\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_block_whose_last_line_lost_its_end_is_found_and_goes(tmp_path):
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nserver_id = 1\n")
    read_only_dropin.put(str(file), "block", "mysqld")
    file.write_text(file.read_text().rstrip("\n"))
    assert dropin_place.stands(str(file), "block", "mysqld")
    read_only_dropin.put(str(file), "block", "mysqld")
    assert file.read_text().count("# BEGIN") == 1
    file.write_text(file.read_text().rstrip("\n"))
    assert read_only_dropin.take_away(str(file), "block")
    assert file.read_text() == "[mysqld]\nserver_id = 1\n"


@pytest.mark.parametrize("kind", ["block", "drop-in"])
def test_the_line_that_a_replica_keeps_is_no_fence(tmp_path, kind):
    ours = str(tmp_path / "zz-dbre-semisync.cnf")
    assert not dropin_place.closes(ours, kind, "mysqld")
    read_only_dropin.put(ours, kind, "mysqld")
    assert dropin_place.closes(ours, kind, "mysqld")
    read_only_dropin.put(ours, kind, "mysqld", read_only_dropin.OF_A_REPLICA, ())
    assert dropin_place.stands(ours, kind, "mysqld") and not dropin_place.closes(
        ours, kind, "mysqld"
    )


def test_servers_on_one_host_have_fences_of_their_own(tmp_path):
    first = dropin_place.place(str(tmp_path / "zz-dbre-semisync@1.cnf"), "drop-in")
    second = dropin_place.place(str(tmp_path / "zz-dbre-semisync@2.cnf"), "drop-in")
    assert first != second
    assert first.endswith("zz-dbre-semisync-switchover@1.cnf")


def old_block(group):
    """What an older version wrote."""
    text = read_only_dropin.lines(group)
    return f"# BEGIN {dropin_place.MARKER}\n{text}# END {dropin_place.MARKER}\n"


@pytest.mark.parametrize("old", [False, True])
def test_servers_in_one_file_have_blocks_of_their_own(tmp_path, old):
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld@1]\nserver_id = 1\n[mysqld@2]\nserver_id = 2\n")
    before, groups = file.read_text(), ("mysqld@1", "mysqld@2")
    if old:
        file.write_text(before + "".join(map(old_block, groups)))
    for group in groups:
        read_only_dropin.put(str(file), "block", group)
    text = file.read_text()
    assert text.count("read_only = ON\n") - text.count("super_read_only = ON\n") == 2
    assert "# BEGIN dbre.semisync switchover@1\n" in text
    read_only_dropin.put(str(file), "block", "mysqld@2", read_only_dropin.OF_A_REPLICA, ())
    assert dropin_place.closes(str(file), "block", "mysqld@1")
    assert not dropin_place.closes(str(file), "block", "mysqld@2")
    assert not dropin_place.stands(str(file), "block", "mysqld")
    assert read_only_dropin.take_away(str(file), "block", "mysqld@2")
    assert dropin_place.stands(str(file), "block", "mysqld@1")
    assert read_only_dropin.take_away(str(file), "block", "mysqld@1")
    assert file.read_text() == before


@pytest.mark.parametrize("group", ["mysqld", "mysqld@1"])
def test_a_block_that_an_older_version_wrote_is_found(tmp_path, group):
    file = tmp_path / "my.cnf"
    file.write_text(old_block(group))
    assert dropin_place.closes(str(file), "block", group)
    assert not dropin_place.stands(str(file), "block", "mysqld@2")
    assert not read_only_dropin.take_away(str(file), "block", "mysqld@2")
    assert read_only_dropin.take_away(str(file), "block", group) and file.read_text() == ""


def test_servers_whose_files_the_user_chose_have_fences_of_their_own(tmp_path):
    old = tmp_path / dropin_place.DROP_IN
    old.write_text(read_only_dropin.lines("mysqld@1"))
    one, two = str(tmp_path / "one.cnf"), str(tmp_path / "two.cnf")
    assert not dropin_place.stands(two, "drop-in", "mysqld@2")
    assert dropin_place.closes(one, "drop-in", "mysqld@1")
    for ours, group in ((two, "mysqld@2"), (one, "mysqld@1")):
        path = read_only_dropin.put(ours, "drop-in", group)
        assert f"[{group}]" in files.read_text(path)
    assert not old.exists()
    assert read_only_dropin.take_away(two, "drop-in", "mysqld@2")
    assert dropin_place.stands(one, "drop-in", "mysqld@1")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_link_of_the_server_user_does_not_lead_root_elsewhere(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    folder = tmp_path / "conf.d"
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    ours = folder / "zz-dbre-semisync.cnf"
    part = folder / (dropin_place.DROP_IN + ".dbre-semisync-part")
    part.symlink_to(victim)
    path = read_only_dropin.put(str(ours), "drop-in", "mysqld")
    assert "read_only = ON" in files.read_text(path) and victim.read_text() == "as it was"
    read_only_dropin.take_away(str(ours), "drop-in")
    os.symlink(victim, path)
    with pytest.raises(OSError):
        read_only_dropin.put(str(ours), "drop-in", "mysqld")
    assert victim.read_text() == "as it was"


def test_its_name_is_that_of_the_collection_s_own_file_with_a_word_more():
    # A look at a host does without the file that has the other name.
    assert f"{dropin_place.OWN}.cnf" == option_files.DROP_IN
    assert dropin_place.place("/etc/my.cnf.d/zz-dbre-semisync@1.cnf", "drop-in") == (
        "/etc/my.cnf.d/zz-dbre-semisync-switchover@1.cnf"
    )
