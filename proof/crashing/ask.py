"""Starts a server on a disk, in namespaces that end with this process, and prints its rows: for
each line of standard input, because the disk is another one each time.

    unshare … python ask.py QUESTION

QUESTION and each answer, a line, are JSON: a Question, an Answer. The server and its tools are
those of a root file system of Debian's packages; the disk is mounted where the host had it.
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
from collections.abc import Iterator
from typing import Any, TypedDict

import pymysql
import pymysql.cursors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from crashing.account import Row, rows_in

# Seconds for a start and for the applier, then the disk is not judged; and between two looks.
PATIENCE, LOOK = 600, 0.05
# Seconds after which one that has logged an error does not start any more: MySQL can hang then.
HANGS = 60
DAEMON = {"mysql": "/usr/sbin/mysqld", "mariadb": "/usr/sbin/mariadbd"}
PRINTER = {"mysql": "mysqlbinlog", "mariadb": "mariadb-binlog"}
WORD = {"mysql": "REPLICA", "mariadb": "SLAVE"}
# So that a start takes half the time; nothing of it is about what is on the disk.
QUICK = {
    "mysql": ("--performance-schema=OFF", "--mysqlx=OFF"),
    "mariadb": ("--performance-schema=OFF",),
}
SMALL = ("--innodb-buffer-pool-size=32M", "--innodb-buffer-pool-load-at-startup=OFF")
LOGS = "*." + "[0-9]" * 6
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
        logs: those in its relay log, of a source in its binary log, read as files before the start;
            None if the disk could not be mounted.
        restarted: those in the tables of a replica after its threads have started and applied
            everything.
    """

    why: str
    tables: list[Row]
    logs: list[Row] | None
    restarted: list[Row]


def answer_of(printed: str) -> Answer:
    """It, from what this prints."""
    found: Answer = json.loads(printed)
    for rows_there in (found["tables"], found["logs"] or [], found["restarted"]):
        # JSON has no tuples.
        rows_there[:] = [(client, number) for client, number in rows_there]
    return found


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def furnish(asked: Question) -> None:
    """Everything that the server finds in its root, but the disk."""
    root = asked["root"]
    socket.sethostname(asked["host"])
    for place in ("run", "tmp"):
        mount("-t", "tmpfs", "none", f"{root}/{place}")
    mount("--bind", "/dev", f"{root}/dev")
    mount("-t", "proc", "none", f"{root}/proc")
    mount("--bind", asked["etc"], f"{root}/etc/mysql")
    owner = os.stat(f"{root}/var/lib/mysql")
    os.mkdir(f"{root}/run/mysqld")
    os.chown(f"{root}/run/mysqld", owner.st_uid, owner.st_gid)


@contextlib.contextmanager
def mounted(asked: Question) -> Iterator[None]:
    place = f"{asked['root']}/var/lib/mysql"
    mount("-o", "loop", asked["disk"], place)
    try:
        yield
    finally:
        # What a killed server had begun ends a moment after it.
        while subprocess.run(["umount", place], check=False, capture_output=True).returncode:
            time.sleep(LOOK)


def logged_rows(asked: Question) -> list[Row]:
    """The rows in the relay log of a replica, in the binary log of a source, as far as they can be
    read.
    """
    folder = pathlib.Path(asked["root"], "var/lib/mysql")
    words = [PRINTER[asked["server"]], "--base64-output=decode-rows", "--verbose"]
    found = []
    for file in sorted(folder.glob(LOGS)):
        if ("relay" in file.name) is asked["replica"]:
            printed = subprocess.run(
                ["chroot", asked["root"], *words, f"/var/lib/mysql/{file.name}"],
                capture_output=True,
                check=False,
            )
            # It fails at a torn end, and has printed what is before that.
            found += rows_in(printed.stdout.decode(errors="replace"))
    return found


def connect(asked: Question) -> Any:
    return pymysql.connect(unix_socket=f"{asked['root']}/{SOCKET}", user="root", autocommit=True)


@contextlib.contextmanager
def started(asked: Question) -> Iterator[Any]:
    """A connection to the server, once it answers; None if it does not. It is killed in the end."""
    pathlib.Path(asked["root"], ERRORS).unlink(missing_ok=True)
    options = [f"--skip-{WORD[asked['server']].lower()}-start", f"--log-error=/{ERRORS}"]
    options += [*SMALL, *QUICK[asked["server"]], *asked["options"]]
    daemon = [DAEMON[asked["server"]], "--user=mysql", *options]
    process = subprocess.Popen(
        ["chroot", asked["root"], *daemon], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    begin, connection = time.monotonic(), None
    try:
        while not connection and process.poll() is None:
            seconds = time.monotonic() - begin
            if seconds > HANGS and errors(asked):
                break
            if seconds > PATIENCE:
                raise TimeoutError("the server does not answer")
            time.sleep(LOOK)
            with contextlib.suppress(pymysql.err.OperationalError):
                connection = connect(asked)
        yield connection
    finally:
        process.kill()
        process.wait()


def errors(asked: Question) -> list[str]:
    """What the server has logged as errors."""
    with contextlib.suppress(FileNotFoundError):
        text = pathlib.Path(asked["root"], ERRORS).read_text(errors="replace")
        lines = [line.partition("[ERROR] ")[2] for line in text.splitlines()]
        return [line[:LONGEST] for line in lines if line]
    return []


def rows(connection: Any) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT client, number FROM app.written")
        return list(cursor.fetchall())


def applied(connection: Any, asked: Question) -> list[Row]:
    """The rows after the threads have started, as after any restart, and have applied everything,
    or the applier has stopped at an error.
    """
    word, until, looks = WORD[asked["server"]], time.monotonic() + PATIENCE, 0
    with connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(f"START {word}")
        # MariaDB's applier says nothing of what it has not begun to read.
        while looks < 4:
            if time.monotonic() > until:
                raise TimeoutError("what was received is not applied")
            time.sleep(LOOK)
            looks = looks + 1 if has_applied(cursor, word) else 0
    return rows(connection)


def has_applied(cursor: Any, word: str) -> bool:
    cursor.execute(f"SHOW {word} STATUS")
    status = cursor.fetchone()
    if status[f"{word.title()}_SQL_Running"] == "No":
        return True
    if word == WORD["mariadb"]:
        return "has read all relay log" in status["Slave_SQL_Running_State"]
    # MySQL's coordinator has read all while its workers still apply.
    received = status["Retrieved_Gtid_Set"]
    cursor.execute("SELECT GTID_SUBSET(%s, @@GLOBAL.gtid_executed) AS whole", (received,))
    return bool(cursor.fetchone()["whole"])


def answer(asked: Question) -> Answer:
    """What is on the disk that is there now."""
    found = Answer(why="", tables=[], logs=None, restarted=[])
    try:
        with mounted(asked):
            found["logs"] = logged_rows(asked)
            with started(asked) as connection:
                if not connection:
                    found["why"] = (errors(asked) or ["it has logged no error"])[0]
                    return found
                found["tables"] = rows(connection)
                if asked["replica"]:
                    found["restarted"] = applied(connection, asked)
    except subprocess.CalledProcessError as error:
        found["why"] = f"not mounted: {error.stderr.decode()[:LONGEST]}"
    return found


def main() -> None:
    asked: Question = json.loads(sys.argv[1])
    furnish(asked)
    for _line in sys.stdin:
        print(json.dumps(answer(asked)), flush=True)


if __name__ == "__main__":
    main()
