# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for the night, docs/night-*.md, as they stand: a cluster of three is brought into the
state that a page is about, every command of the page is run there, and says what the page says.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import shlex
import subprocess
import time
from typing import NamedTuple

import pytest

from support import moves, pages
from support.acknowledged import RELEASES
from support.dying import UNITS, forbid_restart, io_thread, kill
from support.eventually import eventually
from support.live_hosts import hosts, inventory, playbook_environment, run, words

# Some forty runs of playbooks on each cluster.
pytestmark = pytest.mark.long

STRICT = "[mysqld]\ngtid_strict_mode = ON\n"
NAMES = ("db1", "db2", "db3")
ON_MARIADB = re.compile(r"(\w+)( = \S+;) +-- (\w+) on MariaDB")
UNIT = re.compile(r"systemctl start \w+")


class Named(NamedTuple):
    """A host as the pages call it."""

    name: str


class Night:
    """The cluster that the pages talk of: shop, with db1, db2 and db3."""

    def __init__(self, made, folder):
        self.hosts, self.folder = dict(zip(NAMES, made, strict=True)), folder
        self.mariadb = made[0].server == "mariadb"
        self.readers = {}
        self.promise()

    def promise(self, promise="available"):
        """Write the inventory: nothing that the collection has a default for."""
        place = self.folder / "inventory"
        place.mkdir(exist_ok=True)
        named = {
            # With pipelining a container that is gone fails a task, and is not unreachable.
            Named(name): {
                "ansible_host": self.hosts[name].name,
                "ansible_pipelining": False,
            }
            for name in NAMES
        }
        first, *others = named
        inventory(
            place,
            {first: named[first]},
            {other: named[other] for other in others},
            semisync_cluster="shop",
            semisync_promise=promise,
            semisync_timeout=None,
            semisync_results_dir=str(self.folder / "results"),
        )
        shop = {"hosts": dict.fromkeys(NAMES)}
        (place / "shop.json").write_text(json.dumps({"shop": shop}), encoding="utf-8")

    def reader(self, name):
        """An operator who follows a page, and has done the steps of earlier tests."""
        return self.readers.setdefault(name, Reader(self, name))

    def type(self, step):
        """Run a command of a page where the page says."""
        if step.host:
            return self.type_on(self.hosts[step.host], step)
        return run(
            *shlex.split(step.command), check=False, cwd=self.folder, env=playbook_environment()
        )

    def type_on(self, host, step):
        command = step.command
        if step.kind == "console":
            # The unit's name is the server's.
            command = UNIT.sub(f"systemctl start {UNITS[host.server]}", command)
            done = host.shell(command, check=False)
            host.wait()
            return done
        if self.mariadb:
            command = ON_MARIADB.sub(r"\3\2", command)
        for name in NAMES:
            if f"ID_OF_{name.upper()}" in command:
                command = command.replace(f"ID_OF_{name.upper()}", moves.identity(self.hosts[name]))
        return host.sql(command, check=False)

    def play(self, name, *arguments):
        """A playbook that is on no page, and brings a state about."""
        command = ["ansible-playbook", "-i", "inventory", f"dbre.semisync.{name}", *arguments]
        done = run(*command, check=False, cwd=self.folder, env=playbook_environment())
        assert done.returncode == 0, done.stdout + done.stderr
        return words(done)

    def db1_is_the_source(self):
        if self.hosts["db1"].value("SELECT @@read_only") != "0":
            self.play("switchover", "-e", "semisync_switchover_to=db1")
        self.play("verify")

    def stop_replicas(self):
        """The server of db2, and the IO thread of db3."""
        db2 = self.hosts["db2"]
        db2.shell(f"systemctl stop {UNITS[db2.server]}")
        io_thread(self.hosts["db3"], "STOP")

    def semisync(self, name, kind="STATUS"):
        """What the source says of its side."""
        side = "master" if self.mariadb else "source"
        db1 = self.hosts["db1"]
        return db1.value(f"SHOW GLOBAL {kind} LIKE 'rpl_semi_sync_{side}_{name}'").split()[1]

    @contextlib.contextmanager
    def writer(self, number):
        """A client whose commit waits on db1."""
        db1 = self.hosts["db1"]
        statement = f"--execute=INSERT INTO app.t VALUES ({number})"
        command = ["docker", "exec", "-i", db1.name, db1.client, statement]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as writer:
            try:
                eventually(lambda: int(self.semisync("wait_sessions")) > 0)
                yield writer
            finally:
                # Under lossless it would wait for days.
                writer.kill()

    def has(self, number, *names):
        """Wait until these hosts have a row."""
        for name in names:
            asked = f"SELECT COUNT(*) FROM app.t WHERE id = {number}"
            is_there = functools.partial(self.says, self.hosts[name], asked, "1")
            eventually(is_there, f"{name} has row {number}")

    @staticmethod
    def says(host, question, answer):
        return host.value(question) == answer


class Reader:
    """An operator who follows a page, section by section."""

    def __init__(self, night, name):
        self.night, self.steps, self.done, self.wrong = night, pages.steps(name), set(), []

    def follow(self, heading):
        """Run every command of a section; what each said."""
        return [self.run(number) for number in self.numbers(heading)]

    def numbers(self, heading):
        chosen = [
            number for number, step in enumerate(self.steps) if step.heading.startswith(heading)
        ]
        assert chosen, f"no section {heading!r} with commands"
        return chosen

    def run(self, number):
        step = self.steps[number]
        begun = time.monotonic()
        done = self.night.type(step)
        said = words(done)
        print(f"--- {step.host or '$'} {step.command} ({time.monotonic() - begun:.0f} s)")
        print(done.stdout[-6000:])
        if done.returncode != step.status:
            self.wrong.append(f"{step.command}: exit status {done.returncode}: {said[-1500:]}")
        self.wrong += [
            f"{step.command}: does not say {line!r}"
            for line in step.says
            if not pages.is_said(line, said)
        ]
        self.done.add(number)
        return said

    def left(self):
        """What is wrong with the page: what did not happen as it says, and commands that no test
        has run.
        """
        unread = [step for number, step in enumerate(self.steps) if number not in self.done]
        return self.wrong + unread


@pytest.fixture(scope="module", params=["mariadb", "mysql"], name="night")
def fixture_night(request, tmp_path_factory):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in NAMES)
    for made in hosts(*wanted, turn="live-night"):
        made[0].stop_quickly()
        night = Night(made, tmp_path_factory.mktemp("night"))
        if night.mariadb:
            # What salvage wants there.
            for host in made:
                host.shell("cat >/etc/mysql/conf.d/strict.cnf", input=STRICT)
                host.sql("SET GLOBAL gtid_strict_mode = ON")
        night.play("site")
        made[0].sql("CREATE DATABASE app; CREATE TABLE app.t (id INT PRIMARY KEY) ENGINE=InnoDB")
        night.play("verify")
        yield night


def test_degraded(night):
    page, db1 = night.reader("night-degraded"), night.hosts["db1"]
    night.stop_replicas()
    db1.sql("INSERT INTO app.t VALUES (100)")
    assert night.semisync("status") == "OFF"
    before = [night.hosts[name].shell("pidof mysqld mariadbd").stdout for name in ("db1", "db3")]
    page.follow("How you see it")
    page.follow("What to do")
    assert night.semisync("status") == "ON"
    night.has(100, "db2", "db3")
    assert before == [
        night.hosts[name].shell("pidof mysqld mariadbd").stdout for name in ("db1", "db3")
    ]
    assert page.left() == []


def test_frozen_writers(night):
    page = night.reader("night-frozen-writers")
    night.promise("lossless")
    night.play("site")
    night.play("verify")
    unprotected = night.semisync("no_tx")
    night.stop_replicas()
    with night.writer(200) as writer:
        time.sleep(12)
        assert writer.poll() is None
        page.follow("How you see it")
        assert writer.poll() is None
        page.follow("What to do")
        assert writer.wait(60) == 0
    assert night.semisync("no_tx") == unprotected
    night.has(200, "db2", "db3")
    night.stop_replicas()
    with night.writer(201) as writer:
        first, second, third = page.numbers("What breaks the promise")
        page.run(first)
        assert writer.wait(60) == 0
        page.run(second)
        db2 = night.hosts["db2"]
        db2.shell(f"systemctl start {UNITS[db2.server]}")
        db2.wait()
        page.run(third)
    night.has(201, "db2", "db3")
    assert night.semisync("enabled", "VARIABLES") == "ON"
    assert page.left() == []
    night.promise()
    night.play("site")


def test_a_source_whose_host_is_gone_and_comes_back_with_what_nobody_else_has(night):
    night.db1_is_the_source()
    db1 = night.hosts["db1"]
    for name in ("db2", "db3"):
        io_thread(night.hosts[name], "STOP")
    with night.writer(300) as writer:
        run("docker", "kill", db1.name)
        assert writer.wait(60) != 0
    for name in ("db2", "db3"):
        io_thread(night.hosts[name], "START")
    page = night.reader("night-source-dead")
    page.follow("Its host is gone")
    page.follow("Then")
    night.hosts["db2"].sql("INSERT INTO app.t VALUES (301)")
    run("docker", "start", db1.name)
    db1.wait()
    assert db1.value("SELECT COUNT(*) FROM app.t WHERE id = 300") == "1"
    page = night.reader("night-source-back")
    page.follow("How you see it")
    page.follow("It takes writes")
    assert db1.value("SELECT @@read_only") == "1"
    page.follow("It has errant transactions")
    page.follow("Then")
    night.has(301, *NAMES)
    assert db1.value("SELECT COUNT(*) FROM app.t WHERE id = 300") == "0"


def test_a_source_whose_host_answers_and_that_has_nothing_alone(night):
    night.db1_is_the_source()
    # Behind the deadline of a proof without salvage: the timeout behind the last look.
    time.sleep(12)
    db1 = night.hosts["db1"]
    db1.sql("INSERT INTO app.t VALUES (400)")
    forbid_restart(db1)
    kill(db1)
    page = night.reader("night-source-dead")
    page.follow("Its host is reachable")
    page.follow("Then")
    assert page.left() == []
    night.hosts["db2"].sql("INSERT INTO app.t VALUES (401)")
    page = night.reader("night-source-back")
    page.follow("Which transactions only it has")
    page.follow("Then")
    assert page.left() == []
    for number in (400, 401):
        night.has(number, *NAMES)


def test_two_sources(night):
    night.db1_is_the_source()
    page = night.reader("night-two-sources")
    db1, db2, db3 = (night.hosts[name] for name in NAMES)
    # As an operator does who takes db1 for dead.
    moves.promote(db2)
    moves.follow(db3, db2)
    db2.sql("INSERT INTO app.t VALUES (500)")
    db1.sql("INSERT INTO app.t VALUES (501)")
    assert (night.semisync("enabled", "VARIABLES"), night.semisync("clients")) == ("ON", "0")
    page.follow("How you see it")
    page.follow("What to do")
    assert page.left() == []
    assert [db1.value("SELECT @@read_only"), db2.value("SELECT @@read_only")] == ["1", "0"]
    night.has(500, *NAMES)
    assert db1.value("SELECT COUNT(*) FROM app.t WHERE id = 501") == "0"
