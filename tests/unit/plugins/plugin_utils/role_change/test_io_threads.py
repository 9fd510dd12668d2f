# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts whose IO threads stand still wait for the one that reads the dead source's log."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import io_threads


@pytest.fixture(autouse=True)
def fixture_short(monkeypatch, tmp_path):
    monkeypatch.setattr(io_threads.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    for name, value in (("PAUSE", 0.2), ("LOOK", 0.02), ("MEET", 0.5)):
        monkeypatch.setattr(io_threads, name, value)


def test_they_renew_until_it_has_ended_however_it_ends():
    def read():
        with pytest.raises(OSError), io_threads.at_work("feed"):
            time.sleep(1.2)
            raise OSError("its host is gone")

    reading, renewed = threading.Thread(target=read), []
    reading.start()
    begin = time.monotonic()
    assert io_threads.keep_renewing("feed", lambda: renewed.append(1)) == len(renewed) >= 4
    assert 1.0 < time.monotonic() - begin < 5
    reading.join()
    # One that comes later does not wait at all.
    assert io_threads.keep_renewing("feed", lambda: renewed.append(1)) == 0


def test_where_nobody_reads_they_go_on():
    begin = time.monotonic()
    io_threads.keep_renewing("beef", lambda: None)
    assert 0.4 < time.monotonic() - begin < 5


def test_a_run_that_is_gone_is_waited_for_no_more(monkeypatch):
    parents = iter([7, 7, 7, 1])
    monkeypatch.setattr(io_threads.os, "getppid", lambda: next(parents))
    io_threads.create_empty(io_threads.place("feed"))
    assert io_threads.keep_renewing("feed", lambda: None) == 0
