"""The pair of the running scenario, asked through its own clients: nothing here uses the
collection's modules.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import testinfra
import yaml

from support.eventually import eventually

SCENARIO = os.environ["MOLECULE_SCENARIO_NAME"]
EPHEMERAL = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
RESULTS = EPHEMERAL / "results" / "default"
PLAYBOOK_SECONDS = 300
# Set in a session once a test of it failed: the pair may be broken.
FAILED_BEFORE = pytest.StashKey[bool]()

# What the servers call things; the collection has its own table, which these tests check.
WORDS: dict[str, dict[str, Any]] = {
    "mysql": {
        "client": "mysql",
        "daemon": "mysqld",
        "unit": "mysql",
        "source": "source",
        "replica": "replica",
        "replica_status": "SHOW REPLICA STATUS",
        "io": "Replica_IO_Running",
        "sql": "Replica_SQL_Running",
        "channel": "REPLICA",
        "log_updates": "log_replica_updates",
        "plugins": True,
    },
    "mariadb": {
        "client": "mariadb",
        "daemon": "mariadbd",
        "unit": "mariadb",
        "source": "master",
        "replica": "slave",
        "replica_status": "SHOW SLAVE STATUS",
        "io": "Slave_IO_Running",
        "sql": "Slave_SQL_Running",
        "channel": "SLAVE",
        "log_updates": "log_slave_updates",
        "plugins": False,
    },
}


def verified_alone() -> bool:
    """Whether the command was `molecule verify`, which makes no run before it looks."""
    process = os.getpid()
    while process > 1:
        folder = Path(f"/proc/{process}")
        words = (folder / "cmdline").read_text(encoding="utf-8").split("\0")
        if "molecule" in [os.path.basename(word) for word in words[:2]]:
            return "verify" in words and "test" not in words
        process = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    return False


class Server:
    """A host of the scenario: its server by the mysql client, its files and units by a shell."""

    def __init__(self, name: str, role: str, words: dict[str, Any]) -> None:
        self.name, self.role, self.words = name, role, words
        self.host = testinfra.get_host(f"docker://{name}")

    def sql(self, statement: str) -> list[list[str]]:
        """Rows of a statement as lists of text; through the unix socket as root."""
        said = self.host.run(
            "%s --batch --skip-column-names --execute=%s", self.words["client"], statement
        )
        assert said.rc == 0, f"{self.name}: {statement}: {said.stderr}"
        return [line.split("\t") for line in said.stdout.splitlines()]

    def value(self, statement: str) -> str | None:
        """The first column of the only row, None if there is no row."""
        rows = self.sql(statement)
        return rows[0][0] if rows else None

    def variable(self, name: str) -> str | None:
        """A global variable, None if there is no such one."""
        rows = self.sql(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
        return rows[0][1] if rows else None

    def semisync(self, name: str, side: str | None = None) -> str | None:
        """One of semi-sync's variables of this host's side, None if there is no such one."""
        return self.variable(f"rpl_semi_sync_{self.words[side or self.role]}_{name}")

    def status(self, name: str, side: str | None = None) -> str | None:
        """One of semi-sync's statuses of this host's side, None if there is no such one."""
        rows = self.sql(
            f"SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_{self.words[side or self.role]}_{name}'"
        )
        return rows[0][1] if rows else None

    def channel(self) -> dict[str, str]:
        """The row of SHOW REPLICA STATUS as a dict; empty if there is none."""
        said = self.host.run(
            "%s --vertical --execute=%s", self.words["client"], self.words["replica_status"]
        )
        pairs = (line.strip().partition(": ") for line in said.stdout.splitlines() if ":" in line)
        return {key.rstrip(":"): value for key, colon, value in pairs}

    def runs(self) -> bool:
        """Whether both threads of the channel run."""
        its = self.channel()
        return its.get(self.words["io"]) == its.get(self.words["sql"]) == "Yes"

    def start_options(self) -> dict[str, str]:
        """The options that the server would start with, by its own reader; the last one wins."""
        text = self.host.check_output("%s --print-defaults", self.words["daemon"])
        pairs = (word[2:].partition("=") for word in text.split() if word.startswith("--"))
        return {key.replace("-", "_").removeprefix("loose_"): value for key, equals, value in pairs}

    def restart(self) -> None:
        """Restart as an administrator does, and wait until it responds."""
        self.host.check_output("systemctl restart %s", self.words["unit"])
        eventually(
            lambda: self.host.run("%s --execute='SELECT 1'", self.words["client"]).rc == 0,
            f"{self.name} answers after its restart",
        )

    def journal(self) -> str:
        """The end of what the server said."""
        unit = self.words["unit"]
        return self.host.run(
            f"journalctl --no-pager --lines=20 --unit={unit}; tail -n 20 /var/log/mysql/error.log"
        ).stdout


def playbook(name: str, *arguments: str) -> int:
    """Run a playbook of the collection on the pair; its exit status. A test that fails shows what
    it said.
    """
    command = [
        "ansible-playbook",
        "-i",
        os.environ["MOLECULE_INVENTORY_FILE"],
        f"dbre.semisync.{name}",
        *arguments,
    ]
    said = subprocess.run(
        command,
        text=True,
        capture_output=True,
        check=False,
        timeout=PLAYBOOK_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    print(said.stdout, said.stderr, sep="\n")
    return said.returncode


def checkpoints(run: str = "latest") -> list[dict[str, Any]]:
    """The rows of one run's checkpoints.json."""
    return json.loads((RESULTS / run / "checkpoints.json").read_text(encoding="utf-8"))


def inventory_variables() -> dict[str, Any]:
    """What the scenario sets for all hosts."""
    folder = Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent
    return yaml.safe_load((folder / "group_vars" / "all").read_text(encoding="utf-8"))
