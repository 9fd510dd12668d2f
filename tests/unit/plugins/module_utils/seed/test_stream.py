# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import stream


class Pipe:
    """Both ends of a stream in memory."""

    def __init__(self):
        self.data = b""

    def sendall(self, data):
        self.data += data

    def recv(self, count):
        part, self.data = self.data[:count], self.data[count:]
        return part


def test_a_whole_stream_comes_as_it_was_sent():
    pipe = Pipe()
    for block in (b"one", b"two" * 100000):
        stream.send(pipe, block)
    stream.finish(pipe)
    assert list(stream.blocks(pipe)) == [b"one", b"two" * 100000]


def test_a_stream_that_is_cut_off_is_never_taken_for_a_whole_one():
    for keep in (2, 6, 7, 12):
        pipe = Pipe()
        stream.send(pipe, b"one")
        stream.finish(pipe)
        pipe.data = pipe.data[:keep]
        with pytest.raises(stream.StreamError):
            list(stream.blocks(pipe))


def test_a_source_that_failed_says_why():
    pipe = Pipe()
    stream.send(pipe, b"half")
    stream.finish(pipe, "mysqldump ended with status 2")
    with pytest.raises(stream.StreamError, match="on the source: mysqldump ended"):
        list(stream.blocks(pipe))
