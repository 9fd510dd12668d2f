# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._seed import copying
from ansible_collections.dbre.semisync.plugins.module_utils._server import values
from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names


@pytest.mark.parametrize("method,refused", [("clone", True), ("dump", True), ("backup", False)])
def test_tables_without_transactions_are_copied_by_a_backup_only(method, refused):
    assert bool(copying.unfit_tables(method, ["shop.log"])) is refused
    assert copying.unfit_tables(method, []) == ""


@pytest.mark.parametrize(
    "text,position",
    [
        ("mysql-bin.000001\t328\t0-1-42\n", "0-1-42"),
        ("b.000003\t9\t0-1-42,1-7-3", "0-1-42,1-7-3"),
        ("b.000001\t328\n", ""),
    ],
)
def test_the_position_of_a_backup(text, position):
    assert copying.parse_backup_position(text) == position


@pytest.mark.parametrize("text", ["", "mysql-bin.000001", "mysql-bin.000001\t328\tnothing"])
def test_a_backup_without_a_position_is_refused(text):
    with pytest.raises(ValueError):
        copying.parse_backup_position(text)


POSITION = "-- SET GLOBAL gtid_slave_pos='%s';\n"


DATA = "\n-- Current Database: `shop`\n"


LATER = (
    "-- CHANGE MASTER TO MASTER_USE_GTID=slave_pos;\n\n-- A corresponding to the above … is printed"
    " later in the file.\n"
)


@pytest.mark.parametrize(
    "head,tail,position",
    [
        # Ahead of the data; a routine that sets one is none, in a file that is all head and tail at
        # once.
        (POSITION % "0-1-42,1-2-3" + DATA + POSITION % "0-1-1", POSITION % "0-1-1", "0-1-42,1-2-3"),
        # Behind them (10.11.19), after such a routine.
        (
            LATER + DATA + POSITION % "0-1-1",
            "BEGIN\n" + POSITION % "0-1-1" + "END\n" + POSITION % "0-5-772" + "/* … */;\n",
            "0-5-772",
        ),
        (LATER + DATA, POSITION % "", ""),
        # A source without GTIDs, and a dump that was cut.
        (DATA, "('SET GLOBAL gtid_slave_pos=\\'0-1-1\\'')\n", None),
        (LATER + DATA, "(1),\n(2),", None),
    ],
)
def test_the_position_of_a_dump(head, tail, position):
    assert copying.parse_dump_position(head, tail) == position


@pytest.mark.parametrize(
    "count,words",
    [(0, "0 bytes"), (999, "999 bytes"), (1288490188, "1.3 GB"), (8 * 10**12, "8.0 TB")],
)
def test_amounts_for_people(count, words):
    assert values.amount(count) == words


ROW = {"user": "a", "host": "%", "authentication_string": "*AB"}
CREATE = "CREATE USER `a`@`%` IDENTIFIED WITH 'mysql_native_password' AS '*AB' REQUIRE NONE"


def test_accounts_become_statements_for_a_replica_that_has_some():
    with_role = "CREATE USER `a`@`%` IDENTIFIED BY PASSWORD 'x' DEFAULT ROLE `boss` REQUIRE NONE"
    mariadb = Names("mariadb", (10, 11, 6))
    assert copying.account_statements(
        [copying.create_role("bo`ss", True), copying.create_user(ROW, with_role, mariadb)],
        ["GRANT `boss` TO `a`@`%`"],
    ) == [
        "SET SESSION sql_mode = '';\n",
        "CREATE ROLE IF NOT EXISTS `bo``ss`;\n",
        "CREATE USER IF NOT EXISTS `a`@`%` IDENTIFIED BY PASSWORD 'x' REQUIRE NONE;\n",
        "GRANT `boss` TO `a`@`%`;\n",
        "ALTER USER `a`@`%` DEFAULT ROLE `boss`;\n",
    ]


TO = "GRANT USAGE ON *.* TO `a`@`%`"


@pytest.mark.parametrize(
    "grant,found",
    [
        ("GRANT SELECT ON `shop`.`se``en` TO `a`@`%`", ("", "shop", "se`en")),
        ("GRANT SELECT (`id`, note), INSERT ON `shop`.`t` TO `a`@`%`", ("", "shop", "t")),
        ("GRANT EXECUTE ON PROCEDURE `shop`.`p` TO 'a'@'%'", ("PROCEDURE", "shop", "p")),
        ("GRANT EXECUTE ON PACKAGE BODY `s`.`p` TO `a`@`%`", ("PACKAGE BODY", "s", "p")),
        # With sql_quote_show_create off.
        ("GRANT SELECT ON shop.t TO a@`%`", ("", "shop", "t")),
        ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", None),
        ("GRANT SELECT ON shop.* TO a@`%`", None),
        (TO, None),
        ("GRANT `boss` TO `a`@`%`", None),
        ("GRANT PROXY ON `b`@`%` TO `a`@`%`", None),
        ("GRANT PROXY ON 'b'@'10.0.0.1' TO 'a'@'%'", None),
        ("GRANT PROXY ON b@`a.b` TO a@`%`", None),
    ],
)
def test_the_table_or_routine_that_a_privilege_is_on(grant, found):
    assert copying.object_of(grant) == found


@pytest.mark.parametrize(
    "login,rest",
    [
        # MySQL 5.5 and 5.6, and every MariaDB.
        (" IDENTIFIED BY PASSWORD '*AB'", " REQUIRE SSL WITH GRANT OPTION"),
        (" IDENTIFIED BY PASSWORD '*AB'", ""),
        # MariaDB 10.4 and later, with two ways to log in.
        (
            " IDENTIFIED VIA ed25519 USING 'a''b WITH c' OR unix_socket",
            " WITH MAX_USER_CONNECTIONS 4",
        ),
        (" IDENTIFIED WITH 'auth_socket'", ""),
        ("", " WITH GRANT OPTION"),
    ],
)
def test_an_account_that_the_replica_has_keeps_its_login(login, rest):
    assert copying.plain_grant(TO + login + rest, ROW) == TO + rest


def test_a_name_with_an_apostrophe_does_not_end_the_statement():
    shown = "GRANT USAGE ON *.* TO 'o'dd'@'%' WITH GRANT OPTION"
    row = {"user": "o'dd", "host": "%"}
    assert copying.plain_grant(shown, row) == shown.replace("'o'dd'", "'o''dd'")
    assert copying.plain_grant("GRANT `r` TO `o'dd`@`%`", row) == "GRANT `r` TO `o'dd`@`%`"
    # A hash of 5.6.21.
    row = {"user": "sha", "host": "%", "authentication_string": "$5$p%6f='>T#CP"}
    shown = "GRANT USAGE ON *.* TO 'sha'@'%' IDENTIFIED BY PASSWORD '$5$p%6f='>T#CP' REQUIRE SSL"
    assert copying.plain_grant(shown, row) == "GRANT USAGE ON *.* TO 'sha'@'%' REQUIRE SSL"


# By server; what there is no IF NOT EXISTS for is asked for first.
@pytest.mark.parametrize(
    "version,row,shown,words",
    [
        ((9, 7, 0), ROW, CREATE, CREATE.replace("USER", "USER IF NOT EXISTS")),
        ((5, 7, 23), ROW, CREATE, CREATE.replace("USER", "USER IF NOT EXISTS")),
        (
            (5, 7, 7),
            ROW,
            CREATE,
            "FROM mysql.user WHERE User = 'a' AND Host = '%'), 'DO 0', 'CREATE",
        ),
        (
            (5, 6, 21),
            {"user": "a", "host": "%", "password": "*AB", "plugin": ""},
            "",
            "'CREATE USER ''a''@''%'' IDENTIFIED BY PASSWORD ''*AB''');",
        ),
        ((5, 6, 21), {"user": "a", "host": "%"}, "", "'CREATE USER ''a''@''%''');"),
        (
            (5, 6, 21),
            {"user": "a", "host": "%", "plugin": "auth_socket"},
            "",
            "'CREATE USER ''a''@''%'' IDENTIFIED WITH auth_socket');",
        ),
        (
            (5, 6, 21),
            {"user": "a", "host": "%", "plugin": "sha256_password", "authentication_string": "$5"},
            "",
            "IDENTIFIED WITH sha256_password AS ''$5''');",
        ),
    ],
)
def test_an_account_is_made_where_it_is_missing(version, row, shown, words):
    text = copying.create_user(row, shown, Names("mysql", version))
    assert words in text
    assert text.startswith("CREATE USER IF" if version >= (5, 7, 8) else "SET @dbre_semisync = IF(")
    assert ("EXECUTE dbre_semisync;\n" in text) is (version < (5, 7, 8))


@pytest.mark.parametrize(
    "version,quoted", [((5, 7, 23), True), ((8, 0, 16), True), ((8, 0, 17), False)]
)
def test_a_hash_with_an_apostrophe_does_not_end_the_statement(version, quoted):
    # Before 8.0.17 a server may show the bytes of the hash as they are; later in hexadecimal.
    row = dict(ROW, authentication_string="$5$a'b\\c$d")
    shown = "CREATE USER `a`@`%` IDENTIFIED WITH 'sha256_password' AS '$5$a'b\\c$d' REQUIRE NONE"
    text = copying.create_user(row, shown, Names("mysql", version))
    assert ("AS '$5$a''b\\\\c$d' REQUIRE" in text) is quoted
