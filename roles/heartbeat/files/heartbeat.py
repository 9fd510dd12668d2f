# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes each few seconds a row of what the source of a cluster knows of itself.

It runs on every member, and writes only while its server takes writes and the journal of role
changes names it. Each beat asks again; nothing is remembered. A beat's commit waits for its
acknowledgement like any other, one at a time. If it is the only one that waits, it is ended after a
moment, and counted, where the server lets a waiting commit be ended (MariaDB).

Its arguments are a file with its settings and the boot id of the host.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from typing import Any

import pymysql
from answer import Server, UnknownError, channel_of, identity, judge_source

# How often a server that is not the source is asked whether it is by now, in seconds.
POLL = 1.0
# Rows are kept for so many seconds, whatever clocks do for at most so many rows; and so many of the
# older ones go with one beat.
KEPT, MOST_ROWS, AT_ONCE = 86400, 1000000, 10
# How long a beat waits for its acknowledgement before it is ended; at least the interval.
PATIENCE = 1.0
# Seconds by which two readings of one start of a server may differ.
SAME_START = 2
# How often a waiting beat is looked at, and how long its end may take.
LOOK, ENDING = 0.2, 2.0
# Seconds until the next one after a beat that was ended: they double.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
# A new source beats for so many seconds before a replica reads from it.
NEW = 60
# A table that another session has locked, such as for a backup, is not waited for.
SESSION = (
    "SET SESSION lock_wait_timeout = 1, SESSION innodb_lock_wait_timeout = 1, SESSION autocommit ="
    " 0",
    # The server refuses another level where its binary log has statements.
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
VARIABLES = (
    "read_only",
    "super_read_only",
    "innodb_read_only",
    "offline_mode",
    "server_uuid",
    "server_id",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
)
NUMBERS = (
    "timeout",
    "wait_count",
    "clients",
    "yes_tx",
    "no_tx",
    "no_times",
    "wait_sessions",
)


def number(value: Any) -> int | None:
    """A whole number; None where the server has none."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def lower(row: dict[str, Any]) -> dict[str, str]:
    """A row with its names in lower case and its values as text."""
    return {name.lower(): text("" if row[name] is None else row[name]) for name in row}


def reads(session: dict[str, str]) -> bool:
    """Whether a session is a replica's that reads the binary log."""
    return session["command"].startswith("Binlog Dump")


def waits(session: dict[str, str]) -> bool:
    """Whether a commit waits for its acknowledgement, as its state says."""
    return "semi-sync ACK" in session["state"]


def commits(session: dict[str, str]) -> bool:
    """Whether a session may be one of a group that commits together; also if its state does not
    tell. One that waits for a lock is not.
    """
    state = session["state"].lower()
    if session["command"] in ("Sleep", "Daemon") or reads(session) or state.endswith("lock"):
        return False
    vague = ("", "starting", "init", "end", "query end", "closing tables", "freeing items")
    return state in vague or "commit" in state or "ack" in state.split()


def waits_alone(sessions: list[dict[str, str]], mine: int, asking: int) -> bool:
    """Whether a beat waits for its acknowledgement, and no other commit with it.

    On both engines the first of a group that commits together waits for all of them: if it were
    killed, the others would be confirmed to their clients without an acknowledgement. A commit that
    comes later is of another group. Where others wait, a beat holds up nothing that they do not.
    """
    own = [one for one in sessions if one["id"] == str(mine)]
    others = [one for one in sessions if one["id"] not in (str(mine), str(asking))]
    return any(map(waits, own)) and not any(map(commits, others))


def settings_row(rows: list[dict[str, Any]]) -> int:
    """The newest row of settings that a beat covers: a change that is begun may be made after it,
    so it covers the rows before that only.

    Args:
        rows: number, run and state of all of settings, the oldest first.
    """
    over = {row["run"] for row in rows if row["state"] != "begun"}
    begun = [int(row["number"]) for row in rows if row["run"] not in over]
    newest = max((int(row["number"]) for row in rows), default=0)
    return min(begun) - 1 if begun else newest


def to_remove(oldest: list[dict[str, Any]], newest: int, now: float) -> int | None:
    """The number up to which rows go with the next beat; None where none does.

    Args:
        oldest: number and wall of the oldest rows, in their order.
        newest: number of the newest row.
        now: seconds since 1970.
    """
    gone = [
        int(row["number"])
        for row in oldest
        if float(row["wall"]) < now - KEPT or int(row["number"]) <= newest - MOST_ROWS
    ]
    return gone[-1] if gone else None


class Seen:
    """What the server said of itself once, after the clocks were read.

    Attributes:
        monotonic, wall: the host's clocks, before all else.
        settings_row: see settings_row(), before the variables.
        variables: lower-case name -> value.
        channels: see answer.py.
        row: the newest row of the journal; it has `age`, in seconds.
        status: name -> value.
        sessions: id, command and state of each.
    """

    def __init__(self) -> None:
        self.monotonic, self.wall = time.monotonic(), time.time()
        self.settings_row = 0
        self.variables: dict[str, Any] = {}
        self.channels: list[dict[str, Any]] = []
        self.row: dict[str, Any] | None = None
        self.status: dict[str, Any] = {}
        self.sessions: list[dict[str, str]] = []

    @property
    def uptime(self) -> int | None:
        return number(self.status.get("uptime"))


def silent(seen: Seen, begins: bool) -> str:
    """Why a server is not to beat now; empty if it is."""
    said = judge_source(seen.variables, seen.channels, seen.row, begins)
    if not said["yes"]:
        return str(said["why"])
    new = seen.row is not None and seen.row["state"] == "done" and int(seen.row["age"]) < NEW
    # A former source that starts again would write what its successor lacks.
    if not new and not any(map(reads, seen.sessions)):
        return "no replica reads from it"
    return ""


class Asker(Server):
    """The connection that asks, and that ends what waits for too long.

    settings: besides those of answer.py `interval`, `table` and `insert`, `variables` and
    `statuses` (our key -> the server's name), `gtid`, `sessions`, `acknowledgers` and `filters`
    (statements; empty where the server has none).
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        # When the server was started, and its filters.
        self.known: Any = (None, None)

    def seen(self) -> Seen:
        """What decides whether it is to beat, and most of what a beat says."""
        seen = Seen()
        # Before what it covers: a change that is made in between is then newer than the beat says.
        seen.settings_row = self.of_settings()
        variables = [*VARIABLES, *self.settings["variables"].values()]
        seen.variables = self.named("SHOW GLOBAL VARIABLES", variables)
        seen.status = self.named(
            "SHOW GLOBAL STATUS", ["uptime", *self.settings["statuses"].values()]
        )
        seen.channels = [channel_of(row) for row in self.rows(self.settings["channels"])]
        newest = self.journal(
            "number, operation, state, from_id, to_id, TIMESTAMPDIFF(SECOND, happened,"
            " UTC_TIMESTAMP()) AS age",
            "WHERE operation <> 'settings' ORDER BY number DESC LIMIT 1",
        )
        seen.row = newest[0] if newest else None
        seen.sessions = self.sessions()
        return seen

    def named(self, statement: str, names: list[str]) -> dict[str, str]:
        """Lower-case name -> value, of those that the server has."""
        places = ", ".join("%s" for _name in names)
        rows = self.rows(f"{statement} WHERE Variable_name IN ({places})", names)
        return {row["variable_name"].lower(): row["value"] for row in map(lower, rows)}

    def sessions(self) -> list[dict[str, str]]:
        return [lower(row) for row in self.rows(self.settings["sessions"])]

    def of_settings(self) -> int:
        rows = self.journal("number, run, state", "WHERE operation = 'settings' ORDER BY number")
        return settings_row(rows)

    def gtid(self) -> str:
        """What the server has; empty where it knows no GTIDs."""
        if not self.settings["gtid"]:
            return ""
        (row,) = self.rows(self.settings["gtid"])
        return "".join(text(next(iter(row.values()))).split())

    def if_possible(self, statement: str) -> list[dict[str, str]] | None:
        """The rows of a statement that the server may refuse."""
        if not statement:
            return None
        try:
            return [lower(row) for row in self.rows(statement)]
        except pymysql.err.MySQLError as error:
            if isinstance(error.args[:1] and error.args[0], int) and error.args[0] < 2000:
                return None
            raise

    def acknowledgers(self) -> list[str] | None:
        rows = self.if_possible(self.settings["acknowledgers"])
        return None if rows is None else sorted({row["server"] for row in rows})

    def filters(self) -> list[str] | None:
        """What keeps changes out of the binary log, as name and value."""
        rows = self.if_possible(self.settings["filters"])
        if rows is None:
            return None
        names = ("binlog_do_db", "binlog_ignore_db")
        return [f"{name} = {row[name]}" for row in rows for name in names if row.get(name)]

    def filters_once(self, seen: Seen) -> list[str] | None:
        """The same, which only a restart changes. The statement may wait for a commit's lock, for
        as long as the commit waits: it is asked when none does, once per start of the server.
        """
        started = None if seen.uptime is None else round(seen.monotonic - seen.uptime)
        known, filters = self.known
        if started is not None and known is not None and abs(started - known) <= SAME_START:
            return filters
        if number(seen.status.get(self.settings["statuses"]["wait_sessions"].lower())):
            return None
        filters = self.filters()
        self.known = (started, filters)
        return filters

    def old(self, now: float) -> int | None:
        """The number up to which rows go."""
        table = self.settings["table"]
        rows = self.rows(f"SELECT number, wall FROM {table} ORDER BY number LIMIT {AT_ONCE}")  # noqa: S608
        (last,) = self.rows(f"SELECT MAX(number) AS newest FROM {table}")  # noqa: S608
        return to_remove(rows, int(last["newest"] or 0), now)

    def beat(self, seen: Seen, boot: str, killed: int) -> list[Any]:
        """The values of a row, in the order of its columns."""
        facts = facts_of(self.settings, seen)
        facts["acknowledgers"] = self.acknowledgers()
        facts["binlog_filters"] = self.filters_once(seen)
        facts["server_id"] = number(seen.variables.get("server_id"))
        facts["settings_row"] = seen.settings_row
        facts["killed"] = killed
        return [
            identity(seen.variables),
            boot,
            seen.monotonic,
            seen.wall,
            seen.uptime,
            json.dumps(facts, sort_keys=True),
            self.gtid(),
        ]

    def kill(self, connection: int) -> None:
        self.rows(f"KILL {int(connection)}")


def facts_of(settings: dict[str, Any], seen: Seen) -> dict[str, Any]:
    """What semi-sync's variables and statuses say, under our keys."""
    facts: dict[str, Any] = {
        "sync_binlog": seen.variables.get("sync_binlog"),
        "flush_log": seen.variables.get("innodb_flush_log_at_trx_commit"),
    }
    sources = (("variables", seen.variables), ("statuses", seen.status))
    for table, values in sources:
        for key, name in settings[table].items():
            value = values.get(name.lower())
            facts[key] = number(value) if key in NUMBERS else value
    return facts


class Pen(Server):
    """The connection that writes; at most one of its commits waits at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.over = threading.Event()
        self.over.set()
        self.wrong: Exception | None = None

    def begin(self, values: list[Any], old: int | None) -> None:
        """Everything but the commit."""
        if self.connection is None:
            self.connection = self.connect()
            for statement in SESSION:
                self.rows(statement)
            # A commit may wait for as long as it does; a server that is gone closes the socket.
            self.connection._read_timeout = None
        if old is not None:
            self.rows(f"DELETE FROM {self.settings['table']} WHERE number <= %s", (old,))  # noqa: S608
        self.rows(self.settings["insert"], values)

    def commit(self) -> None:
        """Commit in a thread of its own; over is set when it has ended."""
        self.over.clear()
        threading.Thread(target=self.end, daemon=True).start()

    def end(self) -> None:
        self.wrong = None
        try:
            self.connection.commit()
        except Exception as error:
            self.wrong = error
        finally:
            self.over.set()


def tell_systemd(words: str) -> None:
    """What `systemctl status` shows of the service (sd_notify(3))."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    # An abstract socket's name begins with a zero.
    address = "\0" + path[1:] if path.startswith("@") else path
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(f"STATUS={words}".encode(), address)


class Heart:
    """Beats while its server is the source.

    Args:
        settings: see Asker.
        boot: id of the host's boot.
    """

    def __init__(self, settings: dict[str, Any], boot: str) -> None:
        self.interval, self.begins = float(settings["interval"]), bool(settings["begins"])
        # MySQL goes on waiting for the acknowledgement of a session that is killed.
        self.kills = bool(settings["kills"])
        self.boot, self.killed, self.pause = boot, 0, 0.0
        self.asker, self.pen = Asker(settings), Pen(settings)
        self.said = ""

    def say(self, words: str) -> None:
        """Once: it may be so for days."""
        if words != self.said:
            self.said = words
            print(words, file=sys.stderr, flush=True)
            tell_systemd(words)

    def turn(self) -> float:
        """Beat if that is right now; the seconds until the next turn."""
        begin = time.monotonic()
        try:
            after = self.interval if self.once() else min(POLL, self.interval)
        except (UnknownError, pymysql.err.MySQLError, OSError, EOFError) as error:
            self.pen.drop()
            words = " ".join(str(error).split()) or type(error).__name__
            refused = getattr(error, "kind", "") == "login"
            self.say(f"{'its login is refused' if refused else 'no beat'}: {words}")
            after = POLL
        return max(0.0, begin + max(after, self.pause) - time.monotonic())

    def once(self) -> bool:
        """Whether there was a beat."""
        seen = self.asker.ask(self.asker.seen)
        why = silent(seen, self.begins)
        if why:
            self.say(f"silent: {why}")
            self.pause = 0.0
            return False
        values = self.asker.ask(lambda: self.asker.beat(seen, self.boot, self.killed))
        old = self.asker.ask(lambda: self.asker.old(seen.wall))
        self.write(values, old)
        if self.pen.wrong:
            words = " ".join(str(self.pen.wrong).split())
            self.pen.drop()
            self.say(f"a beat failed: {words or type(self.pen.wrong).__name__}")
        else:
            self.say("it is the source and beats")
        return True

    def write(self, values: list[Any], old: int | None) -> None:
        self.pen.begin(values, old)
        self.pen.commit()
        if self.pen.over.wait(max(PATIENCE, self.interval)):
            self.pause = 0.0
        elif self.kills:
            self.end_waiting()
        else:
            self.say("a beat waits for its acknowledgement")
            self.pen.over.wait()

    def end_waiting(self) -> None:
        """Wait for a beat that waits; end it as soon as no other commit waits with it."""
        mine = self.pen.connection.thread_id()
        while not self.pen.over.wait(LOOK):
            try:
                sessions = self.asker.ask(self.asker.sessions)
                asking = self.asker.connection.thread_id()
                if waits_alone(sessions, mine, asking):
                    self.asker.ask(lambda: self.asker.kill(mine))
                    self.killed += 1
                    self.pause = min(max(2 * self.pause, FIRST_PAUSE), LONGEST_PAUSE)
                    self.pen.over.wait(ENDING)
                    self.pen.wrong = self.pen.wrong or InterruptedError("it was ended")
            except UnknownError as error:
                self.say(f"a beat waits, and the server does not say for what: {error}")


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as stream:
        settings = json.load(stream)
    heart = Heart(settings, str(uuid.UUID(sys.argv[2])))
    while True:
        time.sleep(heart.turn())


if __name__ == "__main__":
    main()
