# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import binascii
import contextlib
import json

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import account
from ansible_collections.dbre.semisync.plugins.module_utils._server import names

# What MySQL 9.7.4 and MariaDB 10.11.19 kept of these passwords.
KEPT = [
    (
        "caching_sha2_password",
        (
            "24412430304124794127671D1D3A3C45514E5E2F6538437D14012C31325230556E3558336836683875347345787659703555"
            "2E48324F6A614368354270663132374F6F776634"
        ),
        "geheim \u00e4",
    ),
    (
        "caching_sha2_password",
        (
            "24412430304124422E6D355E59365273254F7F4E025E52371A53483435307049676D3244546635476D5547425531742F3576"
            "5A74674B6271317A5949612E364F467A49396844"
        ),
        "a-rather-long-password-of-more-than-32-bytes",
    ),
    (
        "mysql_native_password",
        binascii.hexlify(b"*99E2ABBDCB342108313BA90CAE4785028A8FE593"),
        "alt",
    ),
    ("", binascii.hexlify(b"*99E2ABBDCB342108313BA90CAE4785028A8FE593"), "alt"),
]
ALT = "*99E2ABBDCB342108313BA90CAE4785028A8FE593"
NEW = 'neu\'s "w\\ort" 100%s'
SHA2_ALT = "$A$005$" + "x" * 63


def table(engine="mysql", version=(9, 7, 4)):
    return names.Names(engine, version)


def such(plugin, *kept, **more):
    return {"host": more.get("host", "%"), "accepts": [(plugin, one) for one in kept]}


@pytest.mark.parametrize("plugin,kept,word", KEPT)
def test_what_a_server_keeps_is_known_again(plugin, kept, word):
    stored = binascii.unhexlify(kept).decode("ascii")
    assert account.matches(plugin, stored, word) is True
    assert account.matches(plugin, stored, word + "x") is False
    assert account.matches(plugin, stored, "") is False


@pytest.mark.parametrize(
    "plugin,stored",
    [
        ("ed25519", "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY"),
        ("parsec", "P0:x:y"),
        ("caching_sha2_password", ""),
    ],
)
def test_what_only_the_server_could_say_is_not_guessed(plugin, stored):
    assert account.matches(plugin, stored, "geheim") is None


@pytest.mark.parametrize(
    "row,expected",
    [
        (
            {"host": "%", "plugin": "caching_sha2_password", "hash": "A", "attributes": None},
            [("caching_sha2_password", "A")],
        ),
        (
            {
                "host": "%",
                "plugin": "caching_sha2_password",
                "hash": "A",
                "attributes": json.dumps({"additional_password": "B"}),
            },
            [("caching_sha2_password", "A"), ("caching_sha2_password", "B")],
        ),
        (
            {
                "host": "%",
                "plugin": "caching_sha2_password",
                "hash": "A",
                "attributes": json.dumps({"metadata": {"a": 1}}),
            },
            [("caching_sha2_password", "A")],
        ),
        ({"host": "%", "plugin": "", "hash": "", "password": ALT}, [("", ALT)]),
        # MariaDB 10.11.19, SELECT Priv FROM mysql.global_priv
        (
            {
                "host": "%",
                "priv": (
                    '{"access":0,"plugin":"mysql_native_password","authentication_string":"*A"}'
                ),
            },
            [("mysql_native_password", "*A")],
        ),
        (
            {
                "host": "%",
                "priv": (
                    '{"access":0,"plugin":"mysql_native_password","authentication_string":"*A","auth_or":[{},{"plugin":'
                    '"mysql_native_password","authentication_string":"*B"}]}'
                ),
            },
            [("mysql_native_password", "*A"), ("mysql_native_password", "*B")],
        ),
        (
            {
                "host": "%",
                "priv": (
                    '{"plugin":"mysql_native_password","authentication_string":"*A","auth_or":[{"plugin":"unix_socket"},'
                    "{}]}"
                ),
            },
            [("unix_socket", ""), ("mysql_native_password", "*A")],
        ),
    ],
)
def test_an_account_is_read_with_all_that_it_accepts(row, expected):
    assert account.parse_row(row) == {"host": "%", "accepts": expected}


NATIVE_NEW = account.native_hash(NEW)
WITH_SHA2 = "ALTER USER %s@%s IDENTIFIED WITH caching_sha2_password BY %s"
VIA = "ALTER USER %s@%s IDENTIFIED VIA mysql_native_password USING %s"


@pytest.mark.parametrize(
    "engine,version,had,both,only",
    [
        # MySQL 9.7 manual, "ALTER USER Statement", "Dual Password Support"
        (
            "mysql",
            (9, 7, 4),
            such("caching_sha2_password", SHA2_ALT),
            (WITH_SHA2 + " RETAIN CURRENT PASSWORD", (NEW,)),
            (WITH_SHA2, (NEW,)),
        ),
        (
            "mysql",
            (8, 0, 14),
            such("mysql_native_password", ALT),
            (
                (
                    "ALTER USER %s@%s IDENTIFIED WITH mysql_native_password AS %s RETAIN CURRENT"
                    " PASSWORD"
                ),
                (NATIVE_NEW,),
            ),
            ("ALTER USER %s@%s IDENTIFIED WITH mysql_native_password AS %s", (NATIVE_NEW,)),
        ),
        (
            "mysql",
            (8, 0, 13),
            such("caching_sha2_password", SHA2_ALT),
            (WITH_SHA2, (NEW,)),
            (WITH_SHA2, (NEW,)),
        ),
        (
            "mysql",
            (5, 7, 44),
            such("mysql_native_password", ALT),
            ("ALTER USER %s@%s IDENTIFIED WITH mysql_native_password AS %s", (NATIVE_NEW,)),
            ("ALTER USER %s@%s IDENTIFIED WITH mysql_native_password AS %s", (NATIVE_NEW,)),
        ),
        (
            "mysql",
            (5, 6, 51),
            such("", ALT),
            ("SET PASSWORD FOR %s@%s = %s", (NATIVE_NEW,)),
            ("SET PASSWORD FOR %s@%s = %s", (NATIVE_NEW,)),
        ),
        (
            "mariadb",
            (10, 1, 48),
            such("", ALT),
            ("SET PASSWORD FOR %s@%s = %s", (NATIVE_NEW,)),
            ("SET PASSWORD FOR %s@%s = %s", (NATIVE_NEW,)),
        ),
        ("mariadb", (10, 3, 39), such("", ALT), (VIA, (NATIVE_NEW,)), (VIA, (NATIVE_NEW,))),
        (
            "mariadb",
            (10, 11, 19),
            such("mysql_native_password", ALT),
            (VIA + " OR mysql_native_password USING %s", (NATIVE_NEW, ALT)),
            (VIA, (NATIVE_NEW,)),
        ),
        (
            "mariadb",
            (11, 8, 6),
            such("ed25519", "KEPT"),
            (
                "ALTER USER %s@%s IDENTIFIED VIA ed25519 USING PASSWORD(%s) OR ed25519 USING %s",
                (NEW, "KEPT"),
            ),
            ("ALTER USER %s@%s IDENTIFIED VIA ed25519 USING PASSWORD(%s)", (NEW,)),
        ),
    ],
)
def test_an_account_takes_the_new_password_in_its_servers_words(engine, version, had, both, only):
    for keep_old, (statement, arguments) in ((True, both), (False, only)):
        found = account.password_steps(table(engine, version), "repl", had, NEW, keep_old)
        assert found == [(statement, ("repl", "%", *arguments))]
        assert statement.count("%s") == len(found[0][1])
        shown = account.show(*found[0])
        assert (
            "'repl'@'%'" in shown
            and NEW not in shown
            and NATIVE_NEW not in shown
            and ALT not in shown
        )


MY_NEW = ("mysql_native_password", NATIVE_NEW)


@pytest.mark.parametrize(
    "engine,version,accepts,keep_old,expected",
    [
        ("mysql", (8, 4, 0), [MY_NEW], True, []),
        ("mysql", (8, 4, 0), [MY_NEW], False, []),
        ("mysql", (8, 4, 0), [MY_NEW, ("mysql_native_password", ALT)], True, []),
        (
            "mysql",
            (8, 4, 0),
            [MY_NEW, ("mysql_native_password", ALT)],
            False,
            ["ALTER USER %s@%s DISCARD OLD PASSWORD"],
        ),
        (
            "mysql",
            (8, 4, 0),
            [("mysql_native_password", ALT), ("mysql_native_password", "*OTHER")],
            False,
            [
                "ALTER USER %s@%s IDENTIFIED WITH mysql_native_password AS %s",
                "ALTER USER %s@%s DISCARD OLD PASSWORD",
            ],
        ),
        ("mariadb", (10, 11, 19), [MY_NEW, ("mysql_native_password", ALT)], True, []),
        ("mariadb", (10, 11, 19), [MY_NEW, ("mysql_native_password", ALT)], False, [VIA]),
        ("mariadb", (11, 8, 6), [("ed25519", "A"), ("ed25519", "B")], True, []),
        ("mysql", (5, 7, 44), [MY_NEW], True, []),
    ],
)
def test_an_interrupted_rotation_goes_on_where_it_was(engine, version, accepts, keep_old, expected):
    had = {"host": "%", "accepts": accepts}
    assert [
        statement
        for statement, dummy in account.password_steps(
            table(engine, version), "repl", had, NEW, keep_old
        )
    ] == expected


@pytest.mark.parametrize("engine,version", [("mysql", (9, 7, 4)), ("mariadb", (10, 11, 19))])
def test_a_third_password_is_refused_while_two_are_in_use(engine, version):
    had = such("mysql_native_password", ALT, "*OTHER")
    with pytest.raises(
        account.UnfitError, match="repl@% accepts two passwords, and the first is not the new one"
    ):
        account.password_steps(table(engine, version), "repl", had, NEW, True)


@pytest.mark.parametrize(
    "accounts,words",
    [
        ([], "there is no account repl with REPLICATION SLAVE"),
        (
            [such("auth_socket", "", host="localhost")],
            "repl@localhost logs in by auth_socket, which has no password",
        ),
        (
            [
                such("ed25519", "A"),
                {"host": "h", "accepts": [("mysql_native_password", ALT), ("unix_socket", "")]},
            ],
            "repl@h logs in",
        ),
    ],
)
def test_an_account_without_a_password_is_refused(accounts, words):
    with pytest.raises(account.UnfitError, match=words):
        account.check(table("mysql", (9, 7, 4)), "repl", accounts)


@pytest.mark.parametrize("version,refused", [((5, 6, 21), True), ((5, 7, 23), False)])
def test_a_password_that_a_version_takes_in_plain_text_only_is_refused(version, refused):
    names = table("mysql", version)
    account.check(names, "repl", [such("mysql_native_password", ALT)])
    with (
        contextlib.nullcontext()
        if not refused
        else pytest.raises(
            account.UnfitError, match=r"sha256_password, whose password mysql 5\.6\.21 cannot"
        )
    ):
        account.check(names, "repl", [such("sha256_password", "$5$")])


def test_a_diff_tells_nothing_of_a_password():
    accounts = [
        {"host": "%", "accepts": [MY_NEW, ("mysql_native_password", ALT)]},
        such("ed25519", "KEPT", host="h"),
    ]
    hosts = [known["host"] for known in accounts]
    text = account.accounts_text("repl", accounts, NEW) + account.predict("repl", hosts, True)
    assert text.splitlines()[:2] == [
        "repl@% accepts the new password and another password",
        "repl@h accepts a password",
    ]
    assert not [word for word in (NEW, NATIVE_NEW, ALT, "KEPT") if word in text]


def test_readers_beyond_the_clusters_replicas_are_named():
    sessions = [{"user": "repl", "host": host} for host in ("10.0.0.2", "10.0.0.9")] + [
        {"user": "other", "host": "10.0.0.3"}
    ]
    assert account.strangers(sessions, "repl", 2) == []
    assert account.strangers(sessions, "repl", 1) == ["10.0.0.2", "10.0.0.9"]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("33\nmysql-bin.000001\n4\ndb1\nrepl\nge heim\n3306\n1\n0\n", "ge heim"),
        ("33\nmysql-bin.000001\n4\ndb1\nrepl\n\n3306\n", ""),
        ("", None),
        ("mysql-bin.000001\n4\ndb1\nrepl\nx\n3306\n1\n", None),
    ],
)
def test_the_channels_password_is_read_from_master_info(text, expected):
    assert account.in_master_info(text) == expected


@pytest.mark.parametrize(
    "engine,version,words",
    [
        ("mysql", (9, 7, 4), ("User_attributes",)),
        ("mysql", (8, 0, 13), ("authentication_string AS hash",)),
        ("mysql", (5, 6, 51), ("Password",)),
        ("mariadb", (10, 3, 39), ("Password",)),
        ("mariadb", (10, 4, 3), ("global_priv", "Priv")),
    ],
)
def test_accounts_are_asked_for_in_the_tables_the_server_has(engine, version, words):
    query = account.accounts_query(table(engine, version))
    assert all(word in query for word in words) and query.count("%s") == 1
    assert ("User_attributes" in query) is (engine == "mysql" and version >= (8, 0, 14))


GRANT = "GRANT REPLICATION SLAVE ON *.* TO %s@%s"


@pytest.mark.parametrize(
    "engine,version,expected",
    [
        (
            "mysql",
            (9, 7, 4),
            ["CREATE USER IF NOT EXISTS %s@%s IDENTIFIED WITH caching_sha2_password BY %s", GRANT],
        ),
        ("mysql", (5, 7, 44), ["CREATE USER IF NOT EXISTS %s@%s IDENTIFIED BY %s", GRANT]),
        ("mysql", (5, 6, 51), [GRANT + " IDENTIFIED BY %s"]),
        (
            "mariadb",
            (10, 11, 19),
            ["CREATE USER IF NOT EXISTS %s@%s IDENTIFIED BY PASSWORD %s", GRANT],
        ),
        ("mariadb", (10, 1, 48), [GRANT + " IDENTIFIED BY PASSWORD %s"]),
    ],
)
@pytest.mark.parametrize("require_ssl", [False, True])
def test_the_account_is_created_with_one_privilege(engine, version, expected, require_ssl):
    found = account.creation(table(engine, version), "repl", "10.%", NEW, require_ssl)
    assert [statement.replace(" REQUIRE SSL", "") for statement, dummy in found] == expected
    assert ("REQUIRE SSL" in found[0][0]) is require_ssl
    assert all(
        statement.count("%s") == len(arguments) and arguments[:2] == ("repl", "10.%")
        for statement, arguments in found
    )
    assert found[0][1][2] == (NATIVE_NEW if engine == "mariadb" else NEW)
    assert not [
        step for step in found if NEW in account.show(*step) or NATIVE_NEW in account.show(*step)
    ]
