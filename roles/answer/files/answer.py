# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers a router over HTTP whether the MySQL or MariaDB server of this host takes writes.

GET /source is 200 only if the server takes writes, follows no server, and the journal of role
changes names it; GET /replica only if it follows a source. Everything else is 503, above all
whatever is not known: each answer is asked of the server while the router waits, and nothing is
remembered. One that takes writes asks the other hosts, at GET /left, whether it lost the role while
it was away.

systemd hands it the listening socket. Its argument is a file with its settings.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
import threading
import time
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pymysql
import pymysql.cursors
from places import DIRECTLY, PATIENCE, POLL, Bounded

# Seconds after which what the server says is no answer any more.
LIMIT = 1.0
# Seconds that other hosts have, and after its start a server has to hear from one of them, unless
# it has become the source since.
PEERS, YOUNG = 0.3, 60
# Requests that are answered at the same time; more of them are told 503 at once.
AT_ONCE = 32
# The first file descriptor that systemd passes (sd_listen_fds(3)).
FIRST_SOCKET = 3
NOT_THERE = (1049, 1146)
DENIED = (1044, 1045, 1130, 1142, 1227, 1251, 1524, 1698)
VARIABLES = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only',"
    " 'innodb_read_only', 'offline_mode', 'server_uuid', 'server_id')"
)

# What is said of a failure; its own words are in the journal of the unit.
WORDS = {"login": "this answer's login is refused", "server": "the server does not say what it is"}
NUMBER = re.compile(r"[0-9]{1,9}")

# (variables, channels, newest row of the journal).
Known = Tuple[Dict[str, Any], List[Dict[str, Any]], Optional[Dict[str, Any]]]


class UnknownError(Exception):
    """What the server is cannot be said now; the text says why. kind: login where the account is
    refused, otherwise server. said: what everybody may be told; by default the text.
    """

    def __init__(self, words: str, kind: str = "server", said: str = "") -> None:
        super().__init__(words)
        self.kind, self.said = kind, said or words


def answer(yes: bool, why: str, kind: str = "state") -> dict[str, Any]:
    return {"yes": yes, "why": why, "kind": kind}


def identity(variables: dict[str, Any]) -> str:
    """What the journal knows the server by."""
    return str(variables.get("server_uuid") or variables.get("server_id") or "")


def named(row: dict[str, Any]) -> str:
    """Whom the newest row of the journal says to be the source, by its identity.

    As long as an operation is neither done nor undone it is the one that was.
    """
    went = row["state"] == "done" or row["operation"] == "rejoin"
    return str(row["to_id"] if went else row["from_id"])


def runs(channel: dict[str, Any]) -> bool:
    """Whether a thread of a channel runs or tries to."""
    return any(channel.get(thread) not in (None, "No") for thread in ("io", "sql"))


def judge_source(
    variables: dict[str, Any],
    channels: list[dict[str, Any]],
    row: dict[str, Any] | None,
    begins: bool,
) -> dict[str, Any]:
    """Whether the server takes writes and is the one that should.

    Args:
        variables: name -> value.
        channels: what each replication channel's threads do: [{'io': …, 'sql': …, 'behind': …}].
        row: the newest row of the journal, or None if there was no role change.
        begins: whether the cluster began with this server as its source, which counts until then.
    """
    for name in ("read_only", "super_read_only", "innodb_read_only", "offline_mode"):
        if variables.get(name, "OFF") != "OFF":
            return answer(False, f"{name} is {variables[name]}")
    if "read_only" not in variables:
        return answer(False, "the server does not say whether it is read-only", "server")
    if any(runs(channel) for channel in channels):
        return answer(False, "it follows a source")
    if row is None:
        if begins:
            return answer(True, "it takes writes; the journal has no role change yet")
        return answer(False, "it takes writes, but the cluster began with another source")
    words = f"row {row['number']} of the journal ({row['operation']} {row['state']})"
    if named(row) != identity(variables):
        return answer(False, f"it takes writes, but {words} names another source")
    return answer(True, f"it takes writes, and {words} names it")


def judge_replica(
    variables: dict[str, Any],
    channels: list[dict[str, Any]],
    row: dict[str, Any] | None,
    max_lag: int | None = None,
) -> dict[str, Any]:
    """Whether the server follows a source, at most max_lag seconds behind; None for any."""
    if variables.get("offline_mode", "OFF") != "OFF":
        return answer(False, "offline_mode is ON")
    if row is not None and named(row) == identity(variables):
        return answer(False, "the journal names it as the source")
    if not channels:
        return answer(False, "it follows no server")
    for channel in channels:
        if (channel["io"], channel["sql"]) != ("Yes", "Yes"):
            return answer(False, f"IO thread {channel['io']}, SQL thread {channel['sql']}")
        if max_lag is not None and (channel["behind"] is None or channel["behind"] > max_lag):
            return answer(False, f"{channel['behind']} seconds behind")
    return answer(True, "it follows a source")


def channel_of(row: dict[str, Any]) -> dict[str, Any]:
    """One row of SHOW REPLICA STATUS, of whatever version, by three of its columns."""
    short = {
        name.lower().replace("slave", "replica").replace("master", "source"): row[name]
        for name in row
    }
    behind = short.get("seconds_behind_source")
    return {
        "io": short.get("replica_io_running"),
        "sql": short.get("replica_sql_running"),
        "behind": None if behind is None else int(behind),
    }


def asked(peer: str, target: str) -> Any:
    """The row by which the server lost the role, by another host's journal; False, or True from an
    older answer.py; None: no answer."""
    try:
        with DIRECTLY.open(f"http://{peer}{target}", timeout=PEERS) as response:
            said = json.loads(response.read(65536).decode("utf-8", "replace"))
        known = said.get("left", said["yes"])
        return (known or False) if said["kind"] == "state" else None
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def ask_all(peers: list[str], target: str) -> list[Any]:
    """What all others say, at the same time."""
    said: dict[str, Any] = dict.fromkeys(peers)
    threads = [
        threading.Thread(target=lambda one=peer: said.update({one: asked(one, target)}))
        for peer in peers
    ]
    until = time.monotonic() + PEERS + 0.1
    for thread in threads:
        thread.daemon = True
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [said[peer] for peer in peers]


def judge_peers(judged: dict[str, Any], said: list[bool | None], away: bool) -> dict[str, Any]:
    """What a server that takes writes says, where each of the others has said whether its journal
    has it that this one lost the role, None if there was no answer.
    """
    if any(said):
        return answer(False, "it takes writes, but another host's journal says it lost the role")
    if said and away and False not in said:
        return answer(False, "it takes writes, but was just started, and no other host answers")
    return judged


class Server:
    """The server behind one connection that stays, and is made again where it broke. settings:
    socket, user, password_file, channels (a statement), journal (a table in backticks).
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.lock = settings, threading.Lock()
        self.connection: Any = None

    def connect(self) -> Any:
        with open(self.settings["password_file"], encoding="utf-8") as stream:
            password = stream.read().strip()
        # Without autocommit it would read the journal as it was at the first time.
        return pymysql.connect(
            unix_socket=self.settings["socket"],
            user=self.settings["user"],
            password=password,
            autocommit=True,
            connect_timeout=LIMIT,
            read_timeout=LIMIT,
            write_timeout=LIMIT,
            cursorclass=pymysql.cursors.DictCursor,
        )

    def drop(self) -> None:
        if self.connection is not None:
            # It is broken, whatever it says to that.
            with contextlib.suppress(Exception):
                self.connection.close()
            self.connection = None

    def rows(self, statement: str, arguments: Any = None) -> list[dict[str, Any]]:
        if self.connection is None:
            self.connection = self.connect()
        with self.connection.cursor() as cursor:
            cursor.execute(statement, arguments)
            return list(cursor.fetchall())

    def journal(self, columns: str, rest: str, arguments: Any = None) -> list[dict[str, Any]]:
        """Rows of the journal; none if there is no journal."""
        try:
            return self.rows(f"SELECT {columns} FROM {self.settings['journal']} {rest}", arguments)  # noqa: S608
        except pymysql.Error as error:
            if error.args[:1] and error.args[0] in NOT_THERE:
                return []
            raise

    def look(self) -> Known:
        """(variables, channels, newest row of the journal), as they are now."""
        variables = {row["Variable_name"].lower(): row["Value"] for row in self.rows(VARIABLES)}
        channels = [channel_of(row) for row in self.rows(self.settings["channels"])]
        last = "WHERE operation <> 'settings' ORDER BY number DESC LIMIT 1"
        newest = self.journal("number, operation, state, from_id, to_id", last)
        return variables, channels, newest[0] if newest else None

    def left(self, number: str) -> list[Any] | None:
        """The last row by which a server lost the role: [number, run]; None if there is none."""
        where = "WHERE from_id = %s AND to_id <> from_id AND state = 'done' AND operation <>"
        rows = self.journal("number, run", f"{where} 'rejoin' ORDER BY number DESC LIMIT 1", number)
        return [rows[0]["number"], rows[0]["run"]] if rows else None

    def lacks(self, row: Any) -> bool:
        """Whether another host's row is not here: where both wrote, numbers alone are alike."""
        known = isinstance(row, list) and self.journal("1", "WHERE number = %s AND run = %s", row)
        return bool(row) and not known

    def may_have_been_away(self, number: int) -> bool:
        """Whether another host may have taken the role while the server did not run: it was just
        started, and the row that names it is from before that.
        """
        uptime = int(self.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")[0]["Value"])
        if uptime >= YOUNG:
            return False
        age = "TIMESTAMPDIFF(SECOND, happened, UTC_TIMESTAMP()) AS age"
        rows = self.journal(age, "WHERE number = %s", number)
        # Below 0 the clock was set back meanwhile. If it has passed the row since, nothing tells.
        return not (rows and 0 <= int(rows[0]["age"]) < uptime)

    def ask(self, look: Any = None) -> Any:
        """What look() or another of its kind returns, not older than LIMIT.

        Raises:
            UnknownError: it could not be had in time, or not at all.
        """
        begin = time.monotonic()
        if not self.lock.acquire(timeout=LIMIT):
            raise UnknownError("the server is slow")
        try:
            known = self.patiently(begin, look or self.look)
        finally:
            self.lock.release()
        if time.monotonic() - begin > LIMIT:
            raise UnknownError(f"the server took longer than {LIMIT} s")
        return known

    def patiently(self, begin: float, look: Any) -> Any:
        """look(), once more where a connection that was there broke: the server was restarted."""
        kept = self.connection is not None
        try:
            return look()
        except Exception as error:  # pymysql's, the system's, and what a torn packet does to either
            self.drop()
            denied = isinstance(error, pymysql.Error) and error.args[:1] and error.args[0] in DENIED
            if kept and not denied and time.monotonic() - begin < LIMIT / 2:
                return self.patiently(begin, look)
            words = " ".join(str(error).split()) or type(error).__name__
            kind = "login" if denied else "server"
            raise UnknownError(words, kind, WORDS[kind]) from error


class Answers:
    """What is said to GET /source, /replica and other hosts' /left. Each has a connection of its
    own: SHOW REPLICA STATUS may hang while a channel is stopped.
    """

    def __init__(self, settings: dict[str, Any], server: Any = Server) -> None:
        self.begins = bool(settings["begins"])
        self.peers: list[str] = settings.get("peers", [])
        self.servers = {path: server(settings) for path in ("/source", "/replica", "/left")}
        self.logged = ""

    def to(self, target: str) -> tuple[int, dict[str, Any]]:
        """(HTTP status, answer) for the target of a request."""
        parts = urlsplit(target)
        if parts.path not in self.servers:
            return 404, answer(False, "there are /source and /replica", "request")
        try:
            return self.known(parts.path, parse_qs(parts.query))
        except UnknownError as error:
            if self.logged != str(error):  # once: routers ask several times a second
                self.logged = str(error)
                print(error, file=sys.stderr, flush=True)
            return 503, answer(False, error.said, error.kind)

    def known(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """The same, where it is known."""
        if path == "/left":
            return self.to_peer(query)
        max_lag = query.get("max_lag", [None])[-1]
        if max_lag is not None and not NUMBER.fullmatch(max_lag):
            return 400, answer(False, "max_lag is a number of seconds", "request")
        variables, channels, row = self.servers[path].ask()
        if path == "/source":
            said = judge_source(variables, channels, row, self.begins)
            if said["yes"] and self.peers:
                said = self.with_peers(said, identity(variables), row["number"] if row else 0)
        else:
            said = judge_replica(variables, channels, row, int(max_lag) if max_lag else None)
        return (200 if said["yes"] else 503), said

    def with_peers(self, said: dict[str, Any], mine: str, after: int) -> dict[str, Any]:
        """The same where no other host knows better."""
        server = self.servers["/source"]
        rows = ask_all(self.peers, "/left?" + urlencode({"id": mine, "after": after}))
        told = [row and server.ask(lambda one=row: server.lacks(one)) for row in rows]
        unheard = not any(told) and False not in told
        away = unheard and server.ask(lambda: server.may_have_been_away(after))
        return judge_peers(said, told, away)

    def to_peer(self, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """What another host asks: whether the journal here says that it lost the role."""
        number, after = query.get("id", [""])[-1], query.get("after", [""])[-1]
        if not number or not NUMBER.fullmatch(after):
            return 400, answer(False, "id and after are needed", "request")
        server = self.servers["/left"]
        row = server.ask(lambda: server.left(number))
        yes = bool(row and row[0] > int(after))
        return 200, dict(answer(yes, "by the journal of this host"), left=row)


class Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE
    server_version, sys_version = "dbre-semisync", ""

    def do_GET(self) -> None:
        self.server.places.asked(self.connection)
        if self.server.free.acquire(blocking=False):
            try:
                status, said = self.server.answers.to(self.path)
            finally:
                self.server.free.release()
        else:
            status, said = 503, answer(False, "too many requests at once", "request")
        body = (json.dumps(said) + "\n").encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_OPTIONS = do_GET

    def log_message(self, *words: Any) -> None:
        """Routers ask several times a second: nothing is logged."""


class HTTP(Bounded):
    def __init__(self, listening: socket.socket, answers: Answers, allow: Any = ()) -> None:
        super().__init__(listening, Handler, allow)
        self.answers, self.free = answers, threading.BoundedSemaphore(AT_ONCE)


def main() -> None:
    if os.environ.get("LISTEN_FDS") != "1":
        sys.exit("answer.py: systemd passes no socket; start its socket unit")
    with open(sys.argv[1], encoding="utf-8") as stream:
        settings = json.load(stream)
    listening = socket.socket(fileno=FIRST_SOCKET)
    HTTP(listening, Answers(settings), settings.get("allow", [])).serve_forever(POLL)


if __name__ == "__main__":
    main()
