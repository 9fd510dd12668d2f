# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._binlog.log_file import (
    HEADER,
    START_ENCRYPTION,
    walk,
)


def event(size=40, kind=33):
    return HEADER.pack(1, kind, 1, size, 0, 0).ljust(size, b"x")


WHOLE = b"\xfebin" + event(100, 15) + event(60)


@pytest.mark.parametrize(
    "content,end,torn,problem",
    [
        pytest.param(WHOLE, 164, 0, "", id="whole"),
        pytest.param(WHOLE + event()[:30], 164, 30, "", id="the last event is torn"),
        pytest.param(WHOLE + event()[:10], 164, 10, "", id="its header is torn"),
        pytest.param(WHOLE + bytes(500), 164, 500, "", id="zeros behind the end"),
        pytest.param(WHOLE + bytes(500) + event(), 164, 0, "damaged", id="zeros within"),
        pytest.param(b"\xfebin", 4, 0, "", id="nothing was written yet"),
        pytest.param(b"\xfe", 1, 0, "", id="nor the whole magic"),
        pytest.param(b"", 0, 0, "", id="empty"),
        pytest.param(b"#!/bin/sh\n", 0, 0, "damaged", id="no binary log"),
        pytest.param(b"\xfdbin" + bytes(512), 0, 0, "encrypted", id="MySQL's encryption"),
        pytest.param(
            b"\xfebin" + event(100, 15) + event(40, START_ENCRYPTION) + b"\x99" * 90,
            104,
            0,
            "encrypted",
            id="MariaDB's encryption",
        ),
    ],
)
def test_how_far_a_file_is_whole(content, end, torn, problem):
    seen = walk(io.BytesIO(content))
    assert (seen.end, seen.torn, seen.problem) == (end, torn, problem)
    assert bool(seen.words) is bool(problem)
