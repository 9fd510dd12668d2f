"""Starts a server on one disk, in namespaces that end with this process, and prints its rows.

    unshare … python ask.py QUESTION

QUESTION and the answer are JSON: a Question, an Answer. The server and its tools are those of a
root file system of Debian's packages; the disk is mounted where the host had it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from typing import Any, TypedDict

import pymysql

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crashing.account import Row, rows_in

# Seconds for a start, for the applier, and between two looks.
START, APPLY, LOOK = 120, 60, 0.05
DAEMON = {"mysql": "/usr/sbin/mysqld", "mariadb": "/usr/sbin/mariadbd"}
PRINTER = {"mysql": "mysqlbinlog", "mariadb": "mariadb-binlog"}
WORD = {"mysql": "REPLICA", "mariadb": "SLAVE"}
# So that a start takes half the time; nothing of it is about what is on the disk.
QUICK = {
    "mysql": ("--performance-schema=OFF", "--mysqlx=OFF"),
    "mariadb": ("--performance-schema=OFF",),
}
SMALL = ("--innodb-buffer-pool-size=32M", "--innodb-buffer-pool-load-at-startup=OFF")
SOCKET, ERRORS = "run/mysqld/mysqld.sock", "run/mysqld/errors.log"
LONGEST = 160


class Question(TypedDict):
    """What to start.

    Attributes:
        root: the root file system of the server.
        disk: a file with the file system of the data directory.
        etc: the host's /etc/mysql.
        host: its name, which names its logs.
        server: mysql or mariadb.
        options: more of them, for this start.
        replica: whether it acknowledged.
    """

    root: str
    disk: str
    etc: str
    host: str
    server: str
    options: list[str]
    replica: bool


class Answer(TypedDict):
    """What was found.

    Attributes:
        why: why the server did not start; empty if it did.
        tables: the rows in its tables after its start.
        relay: those in the relay log, read as a file before the start; of a replica only.
        restarted: those in its tables after its threads have started and applied everything.
    """

    why: str
    tables: list[Row]
    relay: list[Row]
    restarted: list[Row]


def answer_of(printed: str) -> Answer:
    """It, from what this prints."""
    found: Answer = json.loads(printed)
    for rows_there in (found["tables"], found["relay"], found["restarted"]):
        # JSON has no tuples.
        rows_there[:] = [(client, number) for client, number in rows_there]
    return found


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def furnish(asked: Question) -> None:
    """Everything that the server finds in its root."""
    root = asked["root"]
    socket.sethostname(asked["host"])
    for place in ("run", "tmp"):
        mount("-t", "tmpfs", "none", f"{root}/{place}")
    mount("--bind", "/dev", f"{root}/dev")
    mount("-t", "proc", "none", f"{root}/proc")
    mount("--bind", asked["etc"], f"{root}/etc/mysql")
    mount("-o", "loop", asked["disk"], f"{root}/var/lib/mysql")
    owner = os.stat(f"{root}/var/lib/mysql")
    os.mkdir(f"{root}/run/mysqld")
    os.chown(f"{root}/run/mysqld", owner.st_uid, owner.st_gid)


def relay_rows(asked: Question) -> list[Row]:
    """The rows in the relay log, as far as it can be read."""
    folder = pathlib.Path(asked["root"], "var/lib/mysql")
    files = [file.name for file in sorted(folder.glob("*relay-bin.[0-9]*"))]
    found = []
    for file in files:
        words = [PRINTER[asked["server"]], "--base64-output=decode-rows", "--verbose"]
        printed = subprocess.run(
            ["chroot", asked["root"], *words, f"/var/lib/mysql/{file}"],
            capture_output=True,
            check=False,
        )
        # It fails at a torn end, and has printed what is before that.
        found += rows_in(printed.stdout.decode(errors="replace"))
    return found


def connect(asked: Question) -> Any:
    return pymysql.connect(unix_socket=f"{asked['root']}/{SOCKET}", user="root", autocommit=True)


def started(asked: Question) -> Any:
    """A connection to the server, once it answers; None if it does not."""
    options = [f"--skip-{WORD[asked['server']].lower()}-start", f"--log-error=/{ERRORS}"]
    options += [*SMALL, *QUICK[asked["server"]], *asked["options"]]
    daemon = [DAEMON[asked["server"]], "--user=mysql", *options]
    process = subprocess.Popen(
        ["chroot", asked["root"], *daemon], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + START
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(pymysql.err.OperationalError):
            return connect(asked)
        time.sleep(LOOK)
    return None


def last_words(asked: Question) -> str:
    """The last error of the server."""
    with contextlib.suppress(FileNotFoundError):
        text = pathlib.Path(asked["root"], ERRORS).read_text(errors="replace")
        errors = [line for line in text.splitlines() if "[ERROR]" in line or "signal" in line]
        return (errors or ["nothing in its log"])[0].partition("[ERROR] ")[2][:LONGEST]
    return "no log"


def rows(connection: Any) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT client, number FROM app.written")
        return list(cursor.fetchall())


def applied(connection: Any, asked: Question, wanted: int) -> list[Row]:
    """The rows after the threads have started, as after any restart: once there are as many as
    wanted, or it has applied everything that it has.
    """
    word, until, idle = WORD[asked["server"]], time.monotonic() + APPLY, 0
    with connection.cursor() as cursor:
        cursor.execute(f"START {word}")
        while True:
            found = rows(connection)
            cursor.execute(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST"
                " WHERE STATE LIKE '%has read all relay log%'"
            )
            idle = idle + 1 if cursor.fetchone()[0] else 0
            if len(found) >= wanted or idle > 3 or time.monotonic() > until:
                return found
            time.sleep(LOOK)


def answer(asked: Question) -> Answer:
    found = Answer(why="", tables=[], relay=[], restarted=[])
    try:
        furnish(asked)
    except subprocess.CalledProcessError as error:
        found["why"] = f"not mounted: {error.stderr.decode()[:LONGEST]}"
        return found
    if asked["replica"]:
        found["relay"] = relay_rows(asked)
    connection = started(asked)
    if not connection:
        found["why"] = last_words(asked)
        return found
    found["tables"] = rows(connection)
    if asked["replica"]:
        wanted = len({*found["tables"], *found["relay"]})
        found["restarted"] = applied(connection, asked, wanted)
    return found


if __name__ == "__main__":
    print(json.dumps(answer(json.loads(sys.argv[1]))))
