"""A cluster whose source dies while commits wait for an acknowledgement, and comes back."""

from __future__ import annotations

import json
import time

from support.dying import forbid_restart, io_thread, kill
from support.live_hosts import inventory, playbook, words

# Unacknowledged rows: the first waits, and the second is in the log after it.
WAITING = [
    "BEGIN; INSERT INTO app.keyed VALUES (901, 'phantom'); UPDATE app.bare SET words = 'phantom'"
    " WHERE id = 2; DELETE FROM app.keyed WHERE id = 3; COMMIT",
    "INSERT INTO app.keyed VALUES (902, 'phantom')",
]
# What the source confirms alone: also what cannot be taken back.
ALONE = [
    "INSERT INTO app.lasting VALUES (901, 'phantom')",
    "CREATE TABLE app.phantom (id INT PRIMARY KEY)",
    *WAITING,
]
ASK = (
    "python3 -c \"import http.client as c; a = c.HTTPConnection('127.0.0.1', 8008);"
    " a.request('GET', '/source'); print(a.getresponse().status)\""
)
ASK_OFTEN = f"while [ ! -e /tmp/enough ]; do {ASK}; sleep 0.1; done"
ACCEPTED = ("-e", "semisync_rejoin_accept=app.lasting")
TABLES = "app.keyed, app.bare, app.lasting, important.stuff, important.semisync_journal"


class Cluster:
    """Three hosts, the first of which is the source, with a timeout that outlasts the test."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        self.file = inventory(
            folder,
            {made[0]: {}},
            {host: {} for host in made[1:]},
            semisync_timeout=3600000,
            semisync_http_port=8008,
        )
        self.mariadb = made[0].server == "mariadb"

    def run(self, name, *arguments, good=True):
        done = playbook(name, self.file, *arguments)
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def rejoin(self, host, *arguments, good=True):
        said = self.run("rejoin", "-e", f"semisync_rejoin={host.name}", *arguments, good=good)
        file = self.folder / "results" / "default" / "latest" / "rejoin.json"
        return said, json.loads(file.read_text(encoding="utf-8"))

    @property
    def source(self):
        """The server that runs and takes writes."""
        (host,) = [one for one in self.hosts if answers(one, "SELECT @@read_only") == "0"]
        return host

    def crash(self, waiting=(), alone=()):
        """Let the source die, see die(); a replica takes over, and writes more.

        Returns:
            (the source that died, the new one).
        """
        old = self.die(waiting, alone)
        # Its error log says that it was degraded, and so the judge does.
        accepted = ("-e", "semisync_failover_accept=degraded") if alone else ()
        return old, self.take_over(*accepted)

    def die(self, waiting=(), alone=()):
        """Let the source die when it has confirmed some alone, and while others wait for an
        acknowledgement; it is returned.
        """
        old = self.source
        for host in self.hosts:
            if host is not old:
                io_thread(host, "STOP")
        if alone:
            old.sql(f"SET GLOBAL {self.timeout} = 500")
        for statement in alone:
            old.sql(statement)
        for statement in waiting:
            # It stays at the acknowledgement: no client is there to hear of its end.
            old.shell(f'nohup {old.client} --execute="{statement}" >/dev/null 2>&1 </dev/null &')
            time.sleep(1)
        status = "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_wait_sessions'"
        wait_for(lambda: (int(old.value(status).split()[-1]) > 0) is bool(waiting))
        time.sleep(1)
        forbid_restart(old)
        kill(old)
        for host in self.hosts:
            if host is not old:
                io_thread(host, "START")
        return old

    def take_over(self, *arguments):
        """A replica becomes the source, which is returned, and writes more."""
        self.run("failover", *arguments)
        new = self.source
        # Its numbers are beyond those of the phantoms.
        self.number += 100
        for number in range(20):
            new.sql(f"INSERT INTO app.keyed VALUES ({self.number + number}, 'new')")
        return new

    number = 1000

    @property
    def timeout(self):
        """The variable's name, which differs by version."""
        either = "'rpl_semi_sync_source_timeout', 'rpl_semi_sync_master_timeout'"
        named = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({either})"
        return self.hosts[0].value(named).split()[0]

    def fill(self):
        self.hosts[0].sql(
            "CREATE DATABASE app; CREATE TABLE app.keyed (id INT PRIMARY KEY, words VARCHAR(20));"
            " CREATE TABLE app.bare (id INT, words VARCHAR(20));"
            " CREATE TABLE app.lasting (id INT PRIMARY KEY, words VARCHAR(20)) ENGINE=MyISAM;"
            " INSERT INTO app.keyed VALUES (1, 'a'), (2, 'b'), (3, 'c');"
            " INSERT INTO app.bare VALUES (1, 'a'), (2, 'b'), (2, 'b');"
            " INSERT INTO app.lasting VALUES (1, 'a');"
        )

    def same_everywhere(self):
        """Each table has one checksum on all hosts, once they have applied all."""
        engine = self.source.value(
            "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = 'lasting'"
        )
        # MySQL leaves a MyISAM table of a server that was killed marked as crashed.
        skipped = engine == "MyISAM" and not self.mariadb
        names = TABLES.replace("app.lasting, ", "") if skipped else TABLES
        wait_for(lambda: len({host.value(f"CHECKSUM TABLE {names}") for host in self.hosts}) == 1)
        assert "NULL" not in self.hosts[0].value(f"CHECKSUM TABLE {names}")

    def healthy(self):
        said = self.run("verify")
        assert "held" not in said
        for host in self.hosts:
            assert "switchover" not in host.shell("find /etc -name '*zz*'").stdout, host.name


def answers(host, statement):
    done = host.sql(statement, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.3)


def taken_over(kept):
    named = f"semisync_rejoin_phantoms={kept['phantoms']['gtids']}"
    return ("-e", "semisync_rejoin_way=replay", "-e", named, *ACCEPTED)
