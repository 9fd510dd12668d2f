"""A cluster whose servers are restarted or upgraded one after another under writers."""

from __future__ import annotations

import json
import pathlib

from support.acknowledged import Writers, judge, rows_of, same_data
from support.eventually import eventually
from support.live_hosts import Host, inventory, playbook, words
from support.watching import protection


class Cluster:
    """Three hosts, the first of which is the source by the inventory.

    Args:
        made: the hosts.
        folder: for inventory and results.
        kind: restart or upgrade.
        variables: more of the inventory's.
    """

    def __init__(
        self, made: list[Host], folder: pathlib.Path, kind: str, **variables: object
    ) -> None:
        self.hosts, self.folder, self.kind = made, folder, kind
        self.writers = Writers(made[-1], made, 20)
        replicas: dict[Host, dict[str, object]] = {host: {} for host in made[1:]}
        wanted = {"semisync_timeout": 10000, **variables}
        self.file = inventory(folder, {made[0]: {}}, replicas, **wanted)

    def set_up(self) -> None:
        """Have site.yml set it up, and the writers' table made."""
        done = playbook("site", self.file)
        assert done.returncode == 0, done.stdout + done.stderr
        self.writers.prepare(self.hosts[0])
        self.whole()

    def source(self) -> Host:
        (one,) = [host for host in self.hosts if protection(host)]
        return one

    def whole(self) -> None:
        """Wait until all replicas acknowledge."""
        eventually(
            lambda: protection(self.source()) == ("ON", len(self.hosts) - 1), "all acknowledge", 90
        )

    def marked(self) -> bool:
        return (self.folder / "results" / "default" / f"{self.kind}_begun.json").exists()

    def untouched(self, *arguments: str) -> str:
        """The exit status and the words of a run that changed nothing."""
        before = [host.fingerprint() for host in self.hosts]
        done = playbook(self.kind, self.file, *arguments)
        assert [host.fingerprint() for host in self.hosts] == before
        assert not self.marked()
        return f"{done.returncode} {words(done)}"

    def record(self) -> dict:
        file = self.folder / "results" / "default" / "latest" / f"{self.kind}.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def is_whole(self, known: dict) -> None:
        """Every row is there once, and the run is closed."""
        same_data(self.hosts)
        for host in self.hosts:
            found = judge(known, rows_of(host))
            assert found == {"lost": [], "unexpected": [], "twice": []}, host.name
            host.sql("SET SESSION sql_log_bin = 0; TRUNCATE app.written")
        assert not self.marked()
        self.whole()
