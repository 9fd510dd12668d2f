# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import gzip

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils.host import files


def test_any_byte_becomes_text(tmp_path):
    path = tmp_path / "comm"
    path.write_bytes(b"sshd\xff")
    assert files.read_text(str(path)) == files.text_if_any(str(path)) == "sshd\ufffd"


def test_a_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "config.gz"
    path.write_bytes(gzip.compress(b"CONFIG_NET_SCH_NETEM=m\n"))
    assert files.text_if_any(str(path)) == "CONFIG_NET_SCH_NETEM=m\n"
    path.write_bytes(b"no such thing")
    assert files.text_if_any(str(path)) == ""


def test_a_file_that_is_not_there(tmp_path):
    assert files.text_if_any(str(tmp_path / "none")) == ""
    with pytest.raises(OSError):
        files.read_text(str(tmp_path / "none"))
