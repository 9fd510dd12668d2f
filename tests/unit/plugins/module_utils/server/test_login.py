# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._server import client_login, login
from ansible_collections.dbre.semisync.plugins.module_utils._server.errors import ServerError

PARAMS = {
    "login_unix_socket": "/run/mysqld/mysqld.sock",
    "login_host": "localhost",
    "login_port": 3306,
    "login_user": None,
    "login_password": "secret",
}


@pytest.mark.parametrize(
    "error,params,words",
    [
        (
            Exception(1045, "Access denied for user 'root'@'localhost' (using password: NO)"),
            {},
            [
                "wrong login",
                "/run/mysqld/mysqld.sock",
                "semisync_login_user",
                "semisync_login_password",
                "semisync_login_config_file",
                "1045",
            ],
        ),
        (
            Exception(1698, "Access denied for user 'root'@'localhost'"),
            {"login_user": "root"},
            ["wrong login", "refuses root"],
        ),
        *(
            (Exception(number, "denied"), {"login_user": "reader"}, ["lacks a privilege", "reader"])
            for number in (1044, 1142, 1143, 1227)
        ),
        (Exception(1040, "Too many connections"), {}, ["runs, and has no connection left"]),
        (
            Exception(2003, "Can't connect to MySQL server on '10.0.0.1'"),
            {"login_unix_socket": None, "login_host": "10.0.0.1"},
            [
                "not running, or does not listen at 10.0.0.1:3306",
                "semisync_login_host",
                "semisync_login_port",
            ],
        ),
        (
            Exception(2002, "Can't connect to local MySQL server through socket"),
            {},
            ["the server is not running", "semisync_login_unix_socket"],
        ),
        (Exception(2006, "MySQL server has gone away"), {}, ["did not answer to the end"]),
        (Exception(2013, "Lost connection during query"), {}, ["was reached, and did not answer"]),
        (
            Exception("strange"),
            {},
            ["cannot connect to the server at /run/mysqld/mysqld.sock", "strange"],
        ),
        (Exception(), {}, ["cannot connect"]),
    ],
)
def test_a_failed_login_says_where_why_and_which_variables(error, params, words):
    text = login.explain(ServerError(error), dict(PARAMS, **params))
    for word in words:
        assert word in text
    assert "secret" not in text


@pytest.mark.parametrize(
    "error,kind",
    [
        (Exception(2003, "Can't connect"), "stopped"),
        (Exception(2002, "Can't connect"), "stopped"),
        (Exception(2013, "no answer within 30 s"), "silent"),
        (Exception(2006, "gone away"), "silent"),
        (Exception(1205, "Lock wait timeout exceeded"), "silent"),
        (Exception(1045, "Access denied"), "login"),
        (Exception(1040, "Too many connections"), "login"),
        (Exception("strange"), "login"),
        (Exception(), "login"),
    ],
)
def test_a_server_that_does_not_listen_is_told_from_one_that_refuses(error, kind):
    assert login.kind(ServerError(error)) == kind


@pytest.mark.parametrize(
    "host,port,existing,found",
    [
        ("localhost", 3306, ["/tmp/mysql.sock"], "/tmp/mysql.sock"),
        (
            "localhost",
            3306,
            ["/run/mysqld/mysqld.sock", "/tmp/mysql.sock"],
            "/run/mysqld/mysqld.sock",
        ),
        (None, 3306, ["/var/lib/mysql/mysql.sock"], "/var/lib/mysql/mysql.sock"),
        ("localhost", 3306, [], None),
        ("localhost", 3307, ["/tmp/mysql.sock"], None),
        ("127.0.0.1", 3306, ["/tmp/mysql.sock"], None),
    ],
)
def test_localhost_means_the_socket_as_for_the_mysql_client(host, port, existing, found):
    assert login.find_socket(host, port, exists=existing.__contains__) == found


class Module:
    def fail_json(self, msg, **more):
        raise SystemExit(msg, more)


def test_a_missing_pymysql_names_the_package(monkeypatch):
    monkeypatch.setattr(login, "mysql_driver", None)
    with pytest.raises(SystemExit) as error:
        login.require_driver(Module())
    assert error.value.args[1]["reason"] == "driver"
    for words in ("PyMySQL is missing", "python3-pymysql", "ansible_python_interpreter"):
        assert words in str(error.value)


def test_with_pymysql_nothing_is_said(monkeypatch):
    monkeypatch.setattr(login, "mysql_driver", object())
    login.require_driver(Module())


@pytest.mark.parametrize(
    "text,expected",
    [
        ("[client]\nuser = root\npassword=x\n", {"user": "root", "password": "x"}),
        (
            "[mysqld]\nport=1\n[client]\nsocket = /srv/mysql.sock\n[mysql]\nuser=other\n",
            {"socket": "/srv/mysql.sock"},
        ),
        (
            "# [client]\nuser=a\n[client]\n#user=b\n;user=c\nskip-ssl\nssl-ca=/ca.pem\n",
            {"ssl_ca": "/ca.pem"},
        ),
        # Values as `my_print_defaults client` of MySQL 9.7.4 and MariaDB 10.11.19 prints them.
        ('[client]\npassword="a\'b#c" # why\n', {"password": "a'b#c"}),
        ("[client]\npassword='it\\'s'\n", {"password": "it's"}),
        ("[client]\npassword=a#b\n", {"password": "a"}),
        ("[client]\npassword=a\\\\b\\sc\\xd\n", {"password": "a\\b c\\xd"}),
        ("[client]\npassword=\n", {"password": ""}),
        ("[client\nuser", {}),
        ("", {}),
    ],
)
def test_a_login_file_is_read_as_the_servers_clients_do(tmp_path, text, expected):
    path = tmp_path / ".my.cnf"
    path.write_text(text)
    assert login.read_login_file(str(path)) == expected


def test_no_login_file_says_nothing(tmp_path):
    assert (
        login.read_login_file(str(tmp_path / "none"))
        == login.read_login_file("")
        == login.read_login_file(None)
        == {}
    )


SOCKET = "/run/mysqld/mysqld.sock"


@pytest.mark.parametrize(
    "given,section,expected",
    [
        ({}, {}, ("localhost", 3306, SOCKET)),
        (
            {"login_unix_socket": "/srv/a.sock"},
            {"socket": "/srv/b.sock"},
            ("localhost", 3306, "/srv/a.sock"),
        ),
        ({}, {"socket": "/srv/b.sock"}, ("localhost", 3306, "/srv/b.sock")),
        (
            {},
            {"host": "127.0.0.1", "port": "3307", "socket": "/srv/b.sock"},
            ("127.0.0.1", 3307, None),
        ),
        ({}, {"port": "3307"}, ("localhost", 3307, None)),
        (
            {"login_host": "10.0.0.1"},
            {"socket": "/srv/b.sock", "port": "3307"},
            ("10.0.0.1", 3306, None),
        ),
        ({"login_port": 3308}, {"host": "10.0.0.1"}, ("localhost", 3308, None)),
    ],
)
def test_the_module_decides_before_the_login_file(given, section, expected):
    params = dict(
        {"login_host": "localhost", "login_port": 3306, "login_unix_socket": None}, **given
    )
    assert login.place(params, section, exists=SOCKET.__eq__) == expected


@pytest.mark.parametrize(
    "error,expected",
    [
        (
            Exception(
                3159,
                "Connections using insecure transport are prohibited while"
                " --require_secure_transport=ON.",
            ),
            True,
        ),
        (
            RuntimeError(
                "'cryptography' package is required for sha256_password or caching_sha2_password"
                " auth methods"
            ),
            True,
        ),
        (Exception(1045, "Access denied"), False),
        (Exception(), False),
    ],
)
def test_tls_is_tried_where_the_login_failed_for_want_of_it(error, expected):
    assert login.needs_tls(ServerError(error)) is expected


GIVEN = {
    "login_user": "bench",
    "login_password": "geheim",
    "login_unix_socket": None,
    "login_host": "10.0.0.1",
    "login_port": 3307,
    "config_file": "",
}
TCP = 'host="10.0.0.1"\nport="3307"\nprotocol="tcp"\n'
AT_SOCKET = {"login_unix_socket": "/run/x.sock"}
BY_SOCKET = 'host="localhost"\nsocket="/run/x.sock"\nprotocol="socket"\n'


@pytest.mark.parametrize(
    "more,text",
    [
        ({}, f'user="bench"\npassword="geheim"\n{TCP}'),
        (AT_SOCKET, f'user="bench"\npassword="geheim"\n{BY_SOCKET}'),
        (dict(AT_SOCKET, login_user=None, login_password=None), BY_SOCKET),
        (
            dict(AT_SOCKET, login_password="a\"b\\c#d'e f"),
            f'user="bench"\npassword="a\\"b\\\\c#d\'e f"\n{BY_SOCKET}',
        ),
    ],
)
def test_a_programs_login_is_the_modules(more, text):
    assert client_login.client_options(dict(GIVEN, **more)) == "[client]\n" + text


def test_the_users_own_file_comes_first_so_that_the_modules_options_count(tmp_path):
    path = tmp_path / ".my.cnf"
    path.write_text("[client]\nuser=other\nhost=elsewhere\n")
    text = client_login.client_options(dict(GIVEN, config_file=str(path)))
    assert text.startswith(f'!include {path}\n[client]\nuser="bench"\n')
    assert "!include" not in client_login.client_options(
        dict(GIVEN, config_file=str(path) + "-none")
    )


@pytest.mark.parametrize(
    "password",
    [
        "a\"b\\c'd#e f",
        " both ends ",
        "\\",
        "\\n",
        "'",
        '"',
        "#",
        ";",
        "%$`!",
        "zeile\nzwei\tdrei\r",
        "päß",
    ],
)
def test_any_password_comes_out_as_it_went_in(password):
    text = client_login.client_options(dict(GIVEN, login_password=password))
    assert login.client_section(text)["password"] == password


def test_a_file_with_a_login_is_its_owners_alone_and_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr(client_login, "MEMORY", str(tmp_path))
    with pytest.raises(KeyError), client_login.client_file(GIVEN) as name:
        assert name.startswith(str(tmp_path)) and name.endswith(".cnf")
        path = tmp_path / name
        assert path.stat().st_mode & 0o777 == 0o600
        assert login.read_login_file(name)["password"] == "geheim"
        raise KeyError("what goes wrong meanwhile")
    assert list(tmp_path.iterdir()) == []


def test_where_a_host_has_no_place_in_memory_the_file_is_a_temporary_one(tmp_path, monkeypatch):
    monkeypatch.setattr(client_login, "MEMORY", str(tmp_path / "none"))
    monkeypatch.setattr(client_login.tempfile, "tempdir", str(tmp_path))
    with client_login.client_file(GIVEN) as name:
        assert name.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
