# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._answer import answer_layout, units
from ansible_collections.dbre.semisync.plugins.module_utils._server import names

WANTED = {"port": 8008, "address": "", "schema": "important", "begins": True, "peers": ["db2:8008"]}
EVERYBODY: dict[str, list[str]] = {"allow": [], "filter": []}


def texts(**changes):
    return units.files(
        3307,
        {**WANTED, **EVERYBODY, **changes},
        "program\n",
        "places\n",
        "/usr/bin/python3",
        "/run/x.sock",
        "SHOW SLAVE STATUS",
    )


@pytest.mark.parametrize(
    "address,expected,reached",
    [
        ("", "8008", ("127.0.0.1", 8008)),
        ("*", "8008", ("127.0.0.1", 8008)),
        ("0.0.0.0", "8008", ("127.0.0.1", 8008)),
        ("10.0.0.1", "10.0.0.1:8008", ("10.0.0.1", 8008)),
        ("fd00::1", "[fd00::1]:8008", ("fd00::1", 8008)),
    ],
)
def test_where_it_listens_and_is_reached_by_its_own_host(address, expected, reached):
    unit = texts(address=address)[answer_layout.paths(3307)["socket"]]
    assert f"ListenStream={expected}\n" in unit
    assert answer_layout.reached_at(unit) == reached


def test_a_unit_that_says_nothing_is_reached_nowhere():
    assert answer_layout.reached_at("") == ("127.0.0.1", 0)
    assert answer_layout.ask("127.0.0.1", 0)["status"] is None


def test_servers_of_one_host_have_files_of_their_own_but_for_the_program():
    shared = set(answer_layout.paths(3306).values()) & set(answer_layout.paths(3307).values())
    assert shared == {answer_layout.PROGRAM, answer_layout.PLACES}
    settings = json.loads(texts(schema="a`b")[answer_layout.paths(3307)["settings"]])
    assert settings["journal"] == "`a``b`.`semisync_journal`" and settings["begins"] is True
    assert settings["password_file"] == "/etc/dbre-semisync/answer-3307.password"
    assert "password" not in "".join(text for path, text in texts().items() if path.endswith("e"))


def state(**changes):
    said = {"status": 503, "yes": False, "why": "read_only is ON", "kind": "state"}
    return dict({"files": texts(), "password_kept": True, "enabled": True, "said": said}, **changes)


@pytest.mark.parametrize(
    "now,expected",
    [
        (state(), []),
        (state(said={"status": 200, "kind": "state"}), []),
        (state(said={"status": 503, "kind": "login"}), ["login"]),
        (state(password_kept=False), ["login"]),
        (state(enabled=False), ["start"]),
        (state(said={"status": None, "kind": "silent"}), ["start"]),
        (state(files=texts(port=8009)), ["/etc/systemd/system/dbre-semisync-answer-3307.socket"]),
        (state(files=texts(begins=False)), ["/etc/dbre-semisync/answer-3307.json"]),
        (state(files=texts(peers=[])), ["/etc/dbre-semisync/answer-3307.json"]),
        (None, [*sorted(texts()), "login", "start"]),
    ],
)
def test_what_an_answer_lacks(now, expected):
    assert answer_layout.lacking(now, texts()) == expected


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(answer_layout, "PROGRAM", str(tmp_path / "answer.py"))
    monkeypatch.setattr(answer_layout, "PLACES", str(tmp_path / "places.py"))
    monkeypatch.setattr(answer_layout, "FOLDER", str(tmp_path))
    monkeypatch.setattr(answer_layout, "UNITS", str(tmp_path))
    return tmp_path


def test_a_host_without_one_says_so(host):
    (host / "answer.py").write_text("another server's")
    assert answer_layout.installed_answer(3306) is None


def test_a_host_says_what_it_has(host):
    wanted = texts(port=1, address="127.0.0.1")
    for path, text in wanted.items():
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    now = answer_layout.installed_answer(3307)
    assert answer_layout.lacking(now, wanted) == ["login", "start"]
    assert now["said"]["why"].startswith("no answer")
    (host / "answer-3307.password").write_text("x")
    os.chmod(host / "answer-3307.password", 0o600)
    (host / "sockets.target.wants").mkdir()
    (host / "sockets.target.wants" / "dbre-semisync-answer-3307.socket").symlink_to("/nowhere")
    assert answer_layout.lacking(answer_layout.installed_answer(3307), wanted) == ["start"]
    os.chmod(host / "answer-3307.password", 0o644)
    assert not answer_layout.installed_answer(3307)["password_kept"]


@pytest.mark.parametrize(
    "body,status", [(b'{"yes": true, "why": "so", "kind": "state"}', 200), (b"<html>", None)]
)
def test_somebody_else_at_the_port_is_not_taken_for_the_answer(body, status):
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    assert answer_layout.ask("127.0.0.1", server.server_port)["status"] == status
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "engine,version,by,privilege",
    [
        ("mysql", (9, 7, 4), "WITH caching_sha2_password BY", "REPLICATION CLIENT"),
        ("mysql", (5, 6, 51), "BY", "REPLICATION CLIENT"),
        ("mariadb", (10, 5, 8), "BY PASSWORD", "REPLICATION CLIENT"),
        ("mariadb", (10, 11, 19), "BY PASSWORD", "SLAVE MONITOR"),
    ],
)
def test_the_account_may_look_and_nothing_else(engine, version, by, privilege):
    password = units.new_password()
    statements = units.creation(names.Names(engine, version), "important", password)
    assert statements[0][0] == f"CREATE USER %s@%s IDENTIFIED {by} %s"
    assert (statements[0][1][2] == password) is (engine == "mysql")
    assert [text for text, _arguments in statements[1:]] == [
        f"GRANT {privilege} ON *.* TO %s@%s",
        "GRANT CREATE, SELECT ON `important`.`semisync_journal` TO %s@%s",
        "REVOKE CREATE ON `important`.`semisync_journal` FROM %s@%s",
    ]
    assert len(password) > 24 and password != units.new_password()


def test_the_accounts_name_fits_into_every_server():
    # MySQL manual 5.6, "Account Names"; a live 5.6.21 refused 18 (error 1470).
    assert len(answer_layout.ACCOUNT[0]) <= 16


def lines_of(unit, **wanted):
    text = texts(**wanted)[answer_layout.paths(3307)[unit]]
    return [line for line in text.splitlines() if line.startswith("IPAddress")]


# A socket that systemd hands over is filtered by the words of its own unit alone.
@pytest.mark.parametrize("unit", ["service", "socket"])
def test_both_units_let_in_those_that_the_plan_names(unit):
    assert lines_of(unit) == []
    assert lines_of(unit, filter=["10.0.0.0/24", "fd98::2"]) == [
        "IPAddressDeny=any",
        "IPAddressAllow=localhost",
        "IPAddressAllow=10.0.0.0/24",
        "IPAddressAllow=fd98::2",
    ]


def test_the_program_knows_all_that_may_ask():
    settings = json.loads(
        texts(allow=["10.0.0.0/24", "db3"])[answer_layout.paths(3307)["settings"]]
    )
    assert settings["allow"] == ["10.0.0.0/24", "db3"]
    assert json.loads(texts()[answer_layout.paths(3307)["settings"]])["allow"] == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
def test_the_service_may_do_little_by_the_words_of_systemd(tmp_path):
    unit = tmp_path / "answer.service"
    unit.write_text(texts()[answer_layout.paths(3307)["service"]])
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    judged = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unrecognized option" in judged.stderr:
        pytest.skip("this systemd-analyze reads no file")
    assert judged.returncode == 0, judged.stdout[-300:] + judged.stderr
