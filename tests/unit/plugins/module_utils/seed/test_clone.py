# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import replica
from ansible_collections.dbre.semisync.plugins.module_utils._seed.seed_error import SeedError
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError


class Server:
    """A MySQL replica; its clone is refused, or not."""

    def __init__(self, refused):
        self.refused, self.ran = refused, []

    def rows(self, statement, arguments=None):
        if statement.startswith("SELECT @@GLOBAL.clone_ssl_ca"):
            return [{"value": "/old.pem"}]
        if statement.startswith("SELECT @@GLOBAL"):
            return [{"value": "/var/lib/mysql/"}]
        if "information_schema.PLUGINS" in statement:
            return [{"name": "clone", "dl": "mysql_clone.so"}]
        if not statement.startswith("SELECT"):
            self.ran.append((statement, arguments))
        if statement.startswith("CLONE") and self.refused:
            raise ServerError(Exception(3862, "no TLS"))
        return []


class Marker:
    def __init__(self):
        self.facts = {}

    def write(self, **facts):
        self.facts.update(facts)


def cloned(monkeypatch, tls, authority=None, refused=False):
    server = Server(refused)
    params = {
        "unit": "mysql",
        "plugins": {},
        "source_host": "db1",
        "source_port": 3306,
        "password": "secret",
        "tls": tls,
        "tls_ca": authority,
    }
    one = replica.Replica(type("Module", (), {"params": params})(), Marker(), None)
    for name in ("need_space", "need_renames", "watch_clone", "settle_clone"):
        monkeypatch.setattr(one, name, lambda *_args: None)
    monkeypatch.setattr(one, "server", lambda: server)
    if refused:
        with pytest.raises(SeedError, match="refuses to clone"):
            one.clone()
    else:
        one.clone()
    return server.ran


@pytest.mark.parametrize(
    "tls,ends",
    [
        ("required", "IDENTIFIED BY %s REQUIRE SSL"),
        ("any", "IDENTIFIED BY %s"),
        ("disabled", "IDENTIFIED BY %s REQUIRE NO SSL"),
    ],
)
def test_a_clone_is_told_to_do_without_tls_only_if_that_was_asked_for(monkeypatch, tls, ends):
    assert cloned(monkeypatch, tls)[-1][0].endswith(ends)


def test_a_clone_believes_the_authority_of_the_channel_and_no_longer_if_it_failed(monkeypatch):
    believes = "SET GLOBAL clone_ssl_ca = %s"
    ran = cloned(monkeypatch, "required", "/etc/ca.pem")
    assert (believes, ("/etc/ca.pem",)) == ran[-2] and ran[-1][0].startswith("CLONE")
    ran = cloned(monkeypatch, "required", "/etc/ca.pem", refused=True)
    assert [arguments[0] for one, arguments in ran if one == believes] == [
        "/etc/ca.pem",
        "/old.pem",
    ]
    assert not [one for one, _arguments in cloned(monkeypatch, "required") if one == believes]
