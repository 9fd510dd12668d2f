# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import stream
from ansible_collections.dbre.semisync.plugins.module_utils._seed.sender import (
    Copied,
    command,
    serve,
)


def test_no_secret_is_an_argument_of_a_program():
    for method in ("backup", "dump"):
        words = command(
            method,
            Copied(program="/p", options=["--gtid"], schemas=["shop"], datadir="/d"),
            "/f",
            "/s",
        )
        assert not any("pass" in word for word in words)
        assert words[1].endswith("=/f")


@pytest.mark.parametrize("name", ["-r/tmp/x", "--result-file=/etc/x", "--plugin-dir=/tmp"])
def test_the_name_of_a_schema_is_never_an_option(name):
    copied = Copied(program="/p", options=["--gtid"], schemas=["shop", name], datadir="/d")
    words = command("dump", copied, "/f", "/s")
    assert words[words.index("--") :] == ["--", "shop", name]


class Sent:
    """The replica, as the sender sees it."""

    def __init__(self):
        self.data = b""

    def sendall(self, data):
        self.data += data

    def close(self):
        pass


@pytest.fixture
def replica(monkeypatch):
    one = Sent()
    monkeypatch.setattr(stream, "server_context", lambda *_args: None)
    monkeypatch.setattr(stream, "listen", lambda *_args: contextlib.nullcontext())
    monkeypatch.setattr(stream, "accept", lambda *_args: one)
    return one


PARAMS = {"certificate": "", "key": "", "token": "", "port": 0}


def test_a_copy_without_data_is_refused_before_the_replica_gets_anything(replica, tmp_path):
    with pytest.raises(stream.StreamError, match="true ended with status 0 and has written no"):
        serve(PARAMS, b"ACCOUNTS", ["true"], str(tmp_path), b"GRANTS")
    assert replica.data.startswith(b"\0\0\0\0") and b"no data" in replica.data
    assert b"ACCOUNTS" not in replica.data and b"GRANTS" not in replica.data


def test_a_copy_goes_between_the_accounts_and_their_privileges(replica, tmp_path):
    assert serve(PARAMS, b"ACCOUNTS", ["echo", "DATA"], str(tmp_path), b"GRANTS") == 5
    text = replica.data
    assert text.index(b"ACCOUNTS") < text.index(b"DATA") < text.index(b"GRANTS")
    assert text.endswith(b"\0" * 8)
