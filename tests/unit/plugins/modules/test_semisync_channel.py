# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names
from ansible_collections.dbre.semisync.plugins.modules import semisync_channel

IN_FILE = "7\nmysql-bin.000001\n4\ndb1\nrepl\nof the file\n3306\n1\n"
OTHER = {"Channel_name": "other", "User_password": "of another channel"}


class Server:
    """A replica with a table of channels, or without if there is none."""

    def __init__(self, rows=None):
        self.channels = rows

    def rows(self, statement):
        if self.channels is None:
            raise ServerError("Table 'mysql.slave_master_info' doesn't exist")
        # Before 5.7.6 the table has one row, and no name in it.
        assert "Channel_name" not in statement
        return self.channels


@pytest.mark.parametrize(
    "engine,version,repository,table,password",
    [
        ("mysql", (5, 5, 62), None, None, "of the file"),
        ("mysql", (5, 6, 21), "FILE", None, "of the file"),
        ("mysql", (5, 6, 21), "TABLE", [{"User_password": "of 5.6"}], "of 5.6"),
        (
            "mysql",
            (5, 7, 23),
            "TABLE",
            [OTHER, {"Channel_name": "", "User_password": b"of 5.7"}],
            "of 5.7",
        ),
        ("mysql", (8, 0, 40), "FILE", None, "of the file"),
        ("mysql", (9, 7, 4), None, [{"Channel_name": "", "User_password": "of 9.7"}], "of 9.7"),
        ("mysql", (9, 7, 4), None, [OTHER], None),
        ("mariadb", (10, 11, 6), None, None, "of the file"),
    ],
)
def test_a_channels_password_is_read_where_its_version_keeps_it(
    tmp_path, engine, version, repository, table, password
):
    (tmp_path / "master.info").write_text(IN_FILE)
    variables = {"datadir": str(tmp_path)}
    if repository:
        variables["master_info_repository"] = repository
    names = Names(engine, version)
    assert semisync_channel.kept_password(Server(table), names, variables) == password


def test_a_password_that_cannot_be_read_is_unknown(tmp_path):
    variables = {"datadir": str(tmp_path / "nowhere")}
    names = Names("mariadb", (10, 11, 6))
    assert semisync_channel.kept_password(Server(), names, variables) is None


TRIED = {
    "source_host": "10.0.0.5",
    "source_port": 3306,
    "source_user": "repl",
    "source_password": "secret",
    "source_ssl": None,
}


@pytest.mark.parametrize(
    "error,words",
    [
        (ServerError(Exception(1045, "Access denied")), "set semisync_replication_password"),
        (ServerError(Exception(2003, "timed out")), "check the source's bind_address"),
        (ServerError(Exception(1130, "Host is not allowed")), "let the account log in from"),
    ],
)
def test_a_login_that_the_channel_would_not_get_is_refused_with_the_cause(
    error, words, monkeypatch
):
    def refused(*_words):
        raise error

    monkeypatch.setattr(semisync_channel.login, "connect_to", refused)
    with pytest.raises(ValueError, match=r"repl cannot log in .* at 10\.0\.0\.5:3306") as said:
        semisync_channel.try_login(TRIED)
    assert words in str(said.value) and str(error) in str(said.value)
    assert "secret" not in str(said.value)


@pytest.mark.parametrize(
    "error",
    [
        Exception("'cryptography' package is required for sha256_password"),
        Exception("'pynacl' package is required for ed25519_password auth method"),
        Exception(2059, "Authentication plugin 'parsec' is not configured"),
        Exception(2026, "SSL connection error: UNSUPPORTED_PROTOCOL"),
        Exception(1040, "Too many connections"),
    ],
)
def test_a_login_that_the_server_may_get_all_the_same_is_not_refused(error, monkeypatch):
    def failing(*_words):
        raise ServerError(error)

    monkeypatch.setattr(semisync_channel.login, "connect_to", failing)
    assert semisync_channel.try_login(TRIED)["changed"] is False
