# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host lost its power under its server, by the last events of its log's files."""

from __future__ import annotations

import time

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_file import HEADER, PLAIN
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_files import LogFiles
from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import lost_power

STOP, ROTATE, QUERY = 3, 4, 2
BOOT = 5000


def file(*events):
    """A file with events: (kind, time)."""
    return PLAIN + b"".join(HEADER.pack(at, kind, 1, 40, 0, 0) + bytes(21) for kind, at in events)


BEFORE, SINCE = (QUERY, 4000), (QUERY, 6000)


@pytest.mark.parametrize(
    "files,lost",
    [
        pytest.param([file(BEFORE)], True, id="its last file ends within its life"),
        pytest.param([file(BEFORE, (STOP, 4001))], False, id="it was stopped in order"),
        pytest.param([file(BEFORE), file(SINCE)], True, id="it was started again since"),
        pytest.param(
            [file(BEFORE, (STOP, 4001)), file(SINCE)], False, id="stopped, and started since"
        ),
        pytest.param([file(BEFORE, (ROTATE, 4001)), file()], True, id="while it began a file"),
        pytest.param([file(SINCE)], False, id="it never ran before"),
        pytest.param([file(BEFORE) + bytes(30)], True, id="torn"),
    ],
)
def test_the_last_word_before_the_machine_was_started(files, lost, tmp_path):
    paths = []
    for number, content in enumerate(files, 1):
        paths.append(tmp_path / f"binlog.{number:06}")
        paths[-1].write_bytes(content)
    assert lost_power.cut([str(path) for path in paths], BOOT) is lost
    if lost is False and len(files) == 1 and files[0] == file(SINCE):
        # Its beginning may have been purged.
        later = paths[0].rename(tmp_path / "binlog.000007")
        assert lost_power.cut([str(later)], BOOT) is None


def test_a_machine_that_was_started_before_the_log_lost_nothing(tmp_path, monkeypatch):
    (tmp_path / "binlog.000001").write_bytes(file((QUERY, int(time.time()))))
    (tmp_path / "binlog.000007").write_bytes(file((QUERY, int(time.time()))))
    (tmp_path / "binlog.000009").write_bytes(b"\xfdbin" + bytes(90))
    files = LogFiles(str(tmp_path / "binlog"), str(tmp_path))
    assert lost_power.lost(files, "") is None
    index = tmp_path / "binlog.index"
    index.write_text("./binlog.000001\n")
    monkeypatch.setattr(lost_power, "kernel_seconds", lambda: 3600.0)
    assert lost_power.lost(files, "") is False
    # Its beginning was purged: what is left was written since, and it lost its role later.
    index.write_text("./binlog.000007\n")
    later, before = (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago)) for ago in (60, 7200)
    )
    assert lost_power.lost(files, later) is False and lost_power.lost(files, before) is None
    index.write_text("./binlog.000009\n")
    assert lost_power.lost(files, later) is None
    monkeypatch.setattr(lost_power, "kernel_seconds", lambda: None)
    assert lost_power.lost(files, later) is None
