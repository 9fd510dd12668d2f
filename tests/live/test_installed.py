# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as it is downloaded: built, installed into an empty place, and its playbooks run
from there on three hosts, from bare servers to a failover and back.
"""

from __future__ import annotations

import json

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate, forbid_restart, kill
from support.eventually import eventually
from support.live_hosts import (
    PROJECT,
    hosts,
    inventory,
    playbook,
    playbook_environment,
    run,
    words,
)

pytestmark = pytest.mark.long

CONSENT = ("-e", "semisync_allow_disruption=true")
SUITE = """
title: A small one
repetitions: 1
time_limit: 30
load: {tool: client, seconds: 2, create: CREATE TABLE t (v INT), query: INSERT INTO t VALUES (1)}
cells:
  - {id: async, replication: async}
  - {id: semisync, replication: semisync, baseline: async}
"""


class Installed:
    """A cluster of three, and an installation that has nothing of the checkout."""

    def __init__(self, made, folder):
        self.hosts, self.folder = made, folder
        first, *others = made
        self.file = inventory(folder, {first: {}}, {host: {} for host in others})
        run("ansible-galaxy", "collection", "build", PROJECT, "--output-path", folder)
        (archive,) = folder.glob("dbre-semisync-*.tar.gz")
        # The bundle ansible has community.mysql.
        command = ["ansible-galaxy", "collection", "install", archive, "--no-deps", "-p", folder]
        run(*command, env=self.environment())
        assert not (folder / "ansible_collections" / "dbre" / "semisync" / "tests").exists()

    def environment(self):
        return playbook_environment(ANSIBLE_COLLECTIONS_PATH=str(self.folder))

    def play(self, name, *arguments, good=True):
        path = str(self.folder)
        done = playbook(name, self.file, *arguments, ANSIBLE_COLLECTIONS_PATH=path)
        print(f"--- {name} {' '.join(arguments)}\n{done.stdout[-3000:]}")
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return words(done)

    def kept(self, name):
        return json.loads((self.folder / "results" / "default" / "latest" / name).read_text())


@pytest.fixture(scope="module", name="installed", params=["mysql", "mariadb"])
def fixture_installed(request, tmp_path_factory):
    wanted = [(name, request.param, RELEASES[request.param]) for name in ("db1", "db2", "db3")]
    for made in hosts(*wanted, turn="live-installed"):
        made[0].stop_quickly()
        yield Installed(made, tmp_path_factory.mktemp("installed"))


def test_each_command_does_its_part(installed):
    db1, db2, db3 = installed.hosts
    # From bare servers, and a second run that changes nothing.
    installed.play("site")
    assert "changed=0" in installed.play("site", "--check")
    installed.play("verify")
    installed.play("candidate")
    installed.play("drill", *CONSENT)
    assert installed.kept("drill.json")
    (installed.folder / "small.yml").write_text(SUITE)
    installed.play("benchmark", *CONSENT, "-e", f"semisync_suite={installed.folder}/small.yml")
    report = (installed.folder / "results" / "default" / "latest" / "report.html").read_text()
    assert "A small one" in report
    # The role moves, and whoever has it dies.
    assert "source_answers" in installed.play("failover", "--check", good=False)
    installed.play("switchover", "-e", f"semisync_switchover_to={db2.name}")
    assert db2.value("SELECT @@read_only") == "0"
    installed.play("verify")
    forbid_restart(db2)
    kill(db2)
    eventually(lambda: db2.sql("SELECT 1", check=False).returncode != 0)
    installed.play("failover", "--check")
    assert [host.value("SELECT @@read_only") for host in (db1, db3)] == ["1", "1"]
    installed.play("failover")
    # With a timeout of 1.5 s nothing rules out that the source went on alone in its last moment.
    assert certificate(installed.folder)["verdict"].startswith("proven")
    # It comes back, when it was looked at first.
    named = ("-e", f"semisync_rejoin={db2.name}")
    installed.play("rejoin", "--check", *named)
    assert db2.sql("SELECT 1", check=False).returncode != 0
    installed.play("rejoin", *named)
    assert db2.shell(f"systemctl is-active {UNITS[db2.server]}").stdout.strip() == "active"
    installed.play("verify")
    installed.play("remove")
