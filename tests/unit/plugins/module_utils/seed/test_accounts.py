# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import accounts
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


class Server:
    """A server with root, a role and one account of the application; it knows no more than its
    version does.
    """

    def __init__(self, names):
        self.names, self.asked = names, []

    def rows(self, statement, arguments=None):
        self.asked.append(statement)
        if "print_identified_with_as_hex" in statement and (
            self.names.mariadb or self.names.version < (8, 0, 17)
        ):
            raise ServerError("Unknown system variable 'print_identified_with_as_hex'")
        first = (10, 2, 0) if self.names.mariadb else (5, 7, 6)
        if statement.startswith("SHOW CREATE USER") and self.names.version < first:
            raise ServerError("You have an error in your SQL syntax")
        if "FROM mysql.user" in statement:
            role = {"is_role": "N"} if self.names.mariadb else {}
            boss = {"User": "bo`ss", "Host": "", "is_role": "Y"}
            # PyMySQL gives bytes for the binary columns of mysql.user.
            shop = dict({"User": b"shop", "Host": b"%", "Password": "*AB", "x509": None}, **role)
            own = dict({"User": "root", "Host": "localhost"}, **role)
            return [own, shop] + [boss] * self.names.mariadb
        if statement.startswith("SHOW CREATE USER"):
            return [{"Create User": "CREATE USER IF NOT EXISTS `shop`@`%`", "other": "-"}]
        if statement.startswith("SHOW GRANTS"):
            to = arguments or "a role"
            return [
                {"Grants": f"GRANT SELECT ON {what} TO {to}"}
                for what in ("*.*", "`shop`.`gone`", "`shop`.`orders`")
            ]
        return [{"1": 1}] if "orders" in (arguments or ()) else []


@pytest.mark.parametrize(
    "engine,version",
    [
        ("mysql", (5, 6, 21)),
        ("mysql", (5, 7, 23)),
        ("mysql", (8, 0, 16)),
        ("mysql", (9, 7, 0)),
        ("mariadb", (10, 1, 48)),
        ("mariadb", (10, 11, 6)),
    ],
)
def test_accounts_are_brought_but_not_those_that_every_server_has(engine, version):
    names = Names(engine, version)
    server = Server(names)
    statements, behind, left_out = accounts.read_accounts(server, names)
    assert not any("root" in statement for statement in statements)
    assert any("CREATE USER" in statement and "shop" in statement for statement in statements)
    assert "GRANT SELECT ON *.* TO ('shop', '%');\n" in statements
    # A table has to be there before a privilege on it, and one that is gone never comes.
    assert not any("`shop`.`" in statement for statement in statements)
    assert "GRANT SELECT ON `shop`.`orders` TO ('shop', '%');\n" in behind
    assert not any("gone" in statement for statement in behind)
    assert "GRANT SELECT ON `shop`.`gone` TO ('shop', '%')" in left_out
    assert all("gone" in grant for grant in left_out)
    roles = [statement for statement in statements if "ROLE" in statement]
    assert roles == (["CREATE ROLE IF NOT EXISTS `bo``ss`;\n"] if names.mariadb else [])
    # A role before the accounts that may have it.
    assert statements[1:2] == roles or not roles
    assert ("SHOW GRANTS FOR `bo``ss`" in server.asked) is names.mariadb
