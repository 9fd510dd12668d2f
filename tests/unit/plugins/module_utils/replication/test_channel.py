# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._replication import channel
from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.tests.unit import samples

PARAMS = {
    "state": "configured",
    "source_host": "db1",
    "source_port": 3306,
    "source_user": "repl",
    "source_password": "geheim",
    "source_ssl": False,
    "connect_retry": 1,
}
NEW_WORDS = (
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %s, SOURCE_USER = %s,"
    " SOURCE_PASSWORD = %s, SOURCE_CONNECT_RETRY = %s, SOURCE_SSL = %s, SOURCE_RETRY_COUNT = 0,"
    " SOURCE_AUTO_POSITION = 1"
)
# Without TLS the password is sent by a key, which is asked for.
BY_KEY = ", GET_SOURCE_PUBLIC_KEY = 1"
OLD_WORDS = (
    "CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %s, MASTER_USER = %s, MASTER_PASSWORD = %s, "
    "MASTER_CONNECT_RETRY = %s, MASTER_SSL = %s, "
)


def params(**more):
    return dict(PARAMS, **more)


def table(engine="mysql", version=(9, 7, 4)):
    return names.Names(engine, version)


@pytest.mark.parametrize(
    "engine,version,ssl,statement",
    [
        (
            "mysql",
            (5, 7, 44),
            False,
            OLD_WORDS + "MASTER_RETRY_COUNT = 0, MASTER_AUTO_POSITION = 1",
        ),
        (
            "mysql",
            (8, 0, 22),
            False,
            OLD_WORDS
            + "MASTER_RETRY_COUNT = 0, MASTER_AUTO_POSITION = 1, GET_MASTER_PUBLIC_KEY = 1",
        ),
        ("mysql", (8, 0, 23), False, NEW_WORDS + BY_KEY),
        ("percona", (8, 0, 36), False, NEW_WORDS + BY_KEY),
        ("mysql", (9, 7, 4), True, NEW_WORDS),
        ("mariadb", (10, 11, 19), False, OLD_WORDS + "MASTER_USE_GTID = slave_pos"),
        ("mariadb", (10, 11, 19), True, OLD_WORDS + "MASTER_USE_GTID = slave_pos"),
        (
            "mariadb",
            (11, 8, 2),
            False,
            OLD_WORDS + "MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0",
        ),
        ("mariadb", (11, 8, 2), True, OLD_WORDS + "MASTER_USE_GTID = slave_pos"),
    ],
)
def test_a_replica_is_pointed_at_its_source_in_its_servers_words(engine, version, ssl, statement):
    found, arguments = channel.change_statement(table(engine, version), params(source_ssl=ssl))
    assert found == statement
    assert arguments == ("db1", 3306, "repl", "geheim", 1, int(ssl))
    assert found.count("%s") == len(arguments)


@pytest.mark.parametrize(
    "password",
    ["geheim", "it's", 'say "x"', "back\\slash", "two words", "Schl\u00fcssel", "100%s", "%(x)d"],
)
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_the_password_is_an_argument_and_is_never_shown(engine, password):
    statement, arguments = channel.change_statement(
        table(engine, (11, 8, 2)), params(source_password=password)
    )
    assert password not in statement and password in arguments
    shown = channel.show(statement, arguments)
    assert password not in shown and repr(password) not in shown
    assert "PASSWORD = ********" in shown and "_HOST = 'db1'" in shown and "_PORT = 3306" in shown


def test_nothing_that_is_shown_has_the_password():
    before = samples.captured("mysql", "replica")["channel"]
    for known in (None, before):
        texts = [channel.show(*step) for step in channel.steps(table(), params(), known)]
        texts += [channel.channel_text(known), channel.predict(known, params())]
        assert "geheim" not in "".join(texts)


def words(steps):
    return [
        statement.split(" SOURCE_HOST")[0].split(" MASTER_HOST")[0] for statement, dummy in steps
    ]


RUNS = samples.captured("mysql", "replica")["channel"]


def such(**more):
    return dict(RUNS, **more)


CHANGE = "CHANGE REPLICATION SOURCE TO"


@pytest.mark.parametrize(
    "state,before,expected",
    [
        ("configured", None, [CHANGE, "START REPLICA"]),
        ("configured", such(source_host="db1"), []),
        ("configured", such(source_host="db1", io_running="No"), ["START REPLICA"]),
        ("configured", such(source_host="elsewhere"), ["STOP REPLICA", CHANGE, "START REPLICA"]),
        (
            "configured",
            such(source_host="db1", source_port=3307),
            ["STOP REPLICA", CHANGE, "START REPLICA"],
        ),
        (
            "configured",
            such(source_host="db1", source_user="other"),
            ["STOP REPLICA", CHANGE, "START REPLICA"],
        ),
        (
            "configured",
            such(source_host="db1", source_uuid=None, source_server_id=0, io_running="Connecting"),
            ["STOP REPLICA", CHANGE, "START REPLICA"],
        ),
        ("configured", such(source_host="db1", source_port="3306"), []),
        ("configured", such(source_host="db1", source_uuid=None), []),
        ("configured", such(source_host="db1", source_server_id=0), []),
        ("started", RUNS, []),
        ("started", such(sql_running="No"), ["START REPLICA"]),
        ("started", such(io_running="Connecting"), ["STOP REPLICA IO_THREAD", "START REPLICA"]),
        (
            "configured",
            such(source_host="db1", io_running="Connecting"),
            ["STOP REPLICA IO_THREAD", "START REPLICA"],
        ),
        (
            "reconnected",
            such(io_running="Connecting"),
            ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
        ),
        (
            "reconnected",
            such(io_running="Preparing", sql_running="No"),
            ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"],
        ),
        ("reconnected", RUNS, []),
        ("reconnected", such(io_running="No"), []),
        ("stopped", RUNS, ["STOP REPLICA"]),
        ("stopped", such(io_running="Connecting", sql_running="No"), ["STOP REPLICA"]),
        ("stopped", such(io_running="No", sql_running="No"), []),
    ],
)
def test_only_what_is_missing_is_done(state, before, expected):
    assert words(channel.steps(table(), params(state=state), before)) == expected


@pytest.mark.parametrize(
    "engine,version,start",
    [
        ("mysql", (8, 0, 21), "START SLAVE"),
        ("mysql", (8, 0, 22), "START REPLICA"),
        ("mariadb", (10, 5, 0), "START SLAVE"),
        ("mariadb", (10, 5, 1), "START REPLICA"),
    ],
)
def test_a_channel_is_started_in_its_servers_words(engine, version, start):
    assert words(
        channel.steps(table(engine, version), params(state="started"), such(io_running="No"))
    ) == [start]


def test_a_diff_says_what_changes():
    assert channel.channel_text(None) == "no channel\n"
    after = channel.predict(None, params())
    assert after == "source = repl@db1:3306\nIO thread = Yes\nSQL thread = Yes\n"
    assert (
        channel.predict(RUNS, params(state="stopped"))
        == "source = repl@m1:3306\nIO thread = No\nSQL thread = No\n"
    )
    assert channel.predict(such(io_running="No"), params(state="started")) == channel.channel_text(
        RUNS
    )
    apart = such(sql_running="No")
    assert channel.predict(
        dict(apart, io_running="Connecting"), params(state="reconnected")
    ) == channel.channel_text(apart)


def test_a_step_without_arguments_is_shown_as_it_is():
    assert channel.show("STOP REPLICA", None) == "STOP REPLICA"


UPDATE = {
    "state": "updated",
    "source_password": None,
    "source_ssl": None,
    "source_ssl_ca": None,
    "source_ssl_verify": None,
}


@pytest.mark.parametrize(
    "wanted,known,expected,back",
    [
        ({}, "old", [], []),
        ({"source_password": "old"}, "old", [], []),
        ({"source_password": "new"}, "old", [("PASSWORD", "new")], [("PASSWORD", "old")]),
        ({"source_password": "new"}, None, [("PASSWORD", "new")], []),
        ({"source_ssl": False, "source_ssl_ca": "", "source_ssl_verify": False}, None, [], []),
        ({"source_ssl": True}, None, [("SSL", 1)], [("SSL", 0)]),
        (
            {"source_ssl": True, "source_ssl_ca": "/ca.pem", "source_ssl_verify": True},
            "old",
            [("SSL", 1), ("SSL_CA", "/ca.pem"), ("SSL_VERIFY_SERVER_CERT", 1)],
            [("SSL", 0), ("SSL_CA", ""), ("SSL_VERIFY_SERVER_CERT", 0)],
        ),
    ],
)
def test_a_login_changes_where_it_differs_and_knows_its_way_back(wanted, known, expected, back):
    changes = channel.login_changes(dict(UPDATE, **wanted), RUNS, known)
    assert changes == expected
    assert channel.way_back(changes, RUNS, known) == back


@pytest.mark.parametrize(
    "wanted,expected",
    [
        ({"source_ssl": True, "source_ssl_ca": ""}, [("SSL_CA", "")]),
        ({"source_ssl": True, "source_ssl_ca": None}, []),
    ],
)
def test_an_authority_is_taken_away_by_an_empty_one_and_left_where_nothing_is_said(
    wanted, expected
):
    before = dict(RUNS, tls=True, tls_ca="/ca.pem")
    changes = channel.login_changes(dict(UPDATE, **wanted), before, None)
    assert changes == expected
    assert channel.way_back(changes, before, None) == ([("SSL_CA", "/ca.pem")] if expected else [])


@pytest.mark.parametrize(
    "engine,version,before,expected",
    [
        ("mysql", (9, 7, 4), RUNS, ["STOP REPLICA IO_THREAD", "CHANGE", "START REPLICA"]),
        (
            "mysql",
            (9, 7, 4),
            such(sql_running="No"),
            ["START REPLICA SQL_THREAD", "STOP REPLICA IO_THREAD", "CHANGE", "START REPLICA"],
        ),
        ("mysql", (5, 7, 44), RUNS, ["STOP SLAVE IO_THREAD", "CHANGE", "START SLAVE"]),
        (
            "mysql",
            (5, 6, 51),
            RUNS,
            [
                channel.DRAIN,
                "STOP SLAVE IO_THREAD",
                channel.DRAIN,
                "STOP SLAVE",
                "CHANGE",
                "START SLAVE",
            ],
        ),
        (
            "mariadb",
            (10, 11, 19),
            RUNS,
            [
                channel.DRAIN,
                "STOP REPLICA IO_THREAD",
                channel.DRAIN,
                "STOP REPLICA",
                "CHANGE",
                "START REPLICA",
            ],
        ),
        (
            "mariadb",
            (10, 11, 19),
            such(sql_running="No"),
            ["STOP REPLICA", "CHANGE", "START REPLICA"],
        ),
    ],
)
def test_a_new_login_stops_no_more_than_it_must_and_loses_nothing_received(
    engine, version, before, expected
):
    steps = channel.login_steps(
        table(engine, version), [("PASSWORD", "geheim"), ("SSL", 1)], before
    )
    assert [
        "CHANGE" if statement.startswith("CHANGE") else statement for statement, dummy in steps
    ] == expected
    prefix = "SOURCE" if version == (9, 7, 4) else "MASTER"
    statement, arguments = steps[-2]
    assert statement.endswith(f"TO {prefix}_PASSWORD = %s, {prefix}_SSL = %s") and arguments == (
        "geheim",
        1,
    )
    assert channel.show(statement, arguments).endswith(
        f"{prefix}_PASSWORD = ********, {prefix}_SSL = 1"
    )


@pytest.mark.parametrize(
    "engine,version,changes,asks",
    [
        ("mysql", (9, 7, 4), [("SSL", 0)], True),
        ("mysql", (9, 7, 4), [("SSL", 1)], False),
        ("mysql", (9, 7, 4), [("PASSWORD", "geheim")], False),
        ("mysql", (5, 7, 44), [("SSL", 0)], False),
        ("mariadb", (10, 11, 19), [("SSL", 0)], False),
    ],
)
def test_a_channel_that_loses_its_tls_asks_for_the_key_that_it_needs_then(
    engine, version, changes, asks
):
    steps = channel.login_steps(table(engine, version), changes, RUNS)
    statement, arguments = steps[-2]
    assert statement.endswith(", GET_SOURCE_PUBLIC_KEY = 1") is asks
    assert len(arguments) == 1 and ("PUBLIC_KEY" in statement) is asks


@pytest.mark.parametrize(
    "more,words,arguments",
    [
        (
            {"source_ssl": True, "source_ssl_ca": "/ca.pem", "source_ssl_verify": True},
            "SOURCE_SSL = %s, SOURCE_SSL_CA = %s, SOURCE_SSL_VERIFY_SERVER_CERT = %s",
            (1, "/ca.pem", 1),
        ),
        (
            {"source_ssl": True, "source_ssl_verify": False},
            "SOURCE_SSL = %s, SOURCE_SSL_VERIFY_SERVER_CERT = %s",
            (1, 0),
        ),
        ({"source_ssl": None}, "SOURCE_SSL = %s", (0,)),
    ],
)
def test_a_new_channel_gets_the_tls_that_is_wanted(more, words, arguments):
    statement, given = channel.change_statement(table(), params(**more))
    assert words + ", SOURCE_RETRY_COUNT" in statement and given[5:] == arguments


def test_a_diff_says_which_tls():
    assert "TLS" not in channel.channel_text(RUNS)
    after = channel.predict(
        RUNS, dict(UPDATE, source_ssl=True, source_ssl_ca="/ca.pem", source_ssl_verify=True)
    )
    assert after.endswith("TLS = Yes, CA /ca.pem, name verified\n")
