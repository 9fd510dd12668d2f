"""A source and two replicas of one version from a tarball, of any generation of names."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

from support.eventually import eventually
from support.live_hosts import PASSWORD, PROJECT, Host, inventory, playbook

LOGS = PROJECT / "tests" / "output" / "servers"
OLD_LOGIN = {"semisync_replication_user": "old", "semisync_replication_password": "old"}
FIRST_WITH_GTID = (5, 6)
# From this version on both generations of plugins are there, until the older one goes.
FIRST_WITH_NEW_NAMES = (8, 0, 26)
FIRST_WITHOUT_OLD_NAMES = (9, 5, 0)
FIRST_WITH_LOG_STATUS = (8, 2, 0)
# What the statements and names of this file are called from FIRST_WITH_NEW_NAMES on.
NEWER = (
    ("CHANGE MASTER TO", "CHANGE REPLICATION SOURCE TO"),
    ("MASTER_", "SOURCE_"),
    ("SLAVE", "REPLICA"),
    ("semi_sync_master", "semi_sync_source"),
    ("semi_sync_slave", "semi_sync_replica"),
    ("semisync_master", "semisync_source"),
    ("wait_no_slave", "wait_no_replica"),
)
# In the older words.
FOLLOW = (
    "CHANGE MASTER TO MASTER_HOST='{}', MASTER_USER='old', MASTER_PASSWORD='old',"
    " MASTER_LOG_FILE='{}', MASTER_LOG_POS={}, MASTER_CONNECT_RETRY=1; START SLAVE"
)


class Cluster:
    """A source and two replicas of one version."""

    def __init__(self, made: list[Host], folder: pathlib.Path) -> None:
        self.source, *self.replicas = made
        self.version = self.source.value("SELECT VERSION()").partition("-")[0]
        self.release = tuple(map(int, self.version.split(".")))
        self.series = self.release[:2]
        self.folder = folder
        self.variables: dict[str, Any] = {"semisync_replication_password": PASSWORD}
        if not self.has_gtid:
            self.variables.update(OLD_LOGIN)
        self.inventory()

    @property
    def hosts(self) -> tuple[Host, ...]:
        return (self.source, *self.replicas)

    @property
    def has_gtid(self) -> bool:
        return self.series >= FIRST_WITH_GTID

    def inventory(self, **variables: Any) -> None:
        """Write the inventory, with these variables from now on."""
        self.variables.update(variables)
        self.file = inventory(
            self.folder,
            {self.source: {}},
            {host: {} for host in self.replicas},
            **self.variables,
        )

    def play(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a playbook; what it says is kept."""
        done = playbook(name, self.file, *arguments)
        LOGS.mkdir(parents=True, exist_ok=True)
        with (LOGS / f"{self.version}.log").open("a", encoding="utf-8") as log:
            log.write(f"\n=== {name} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done

    def by_position(self) -> None:
        """Replication by file and position, as its owner would have set it up."""
        for number, host in enumerate(self.hosts, start=10):
            host.shell(
                f"printf 'server_id = {number}\\nlog_bin = ours-bin\\n' >> /etc/my.cnf"
                " && systemctl restart mysql"
            )
            host.wait()
        self.source.sql("GRANT REPLICATION SLAVE ON *.* TO old@'%' IDENTIFIED BY 'old'")
        file, offset = self.place()
        for host in self.replicas:
            host.sql(FOLLOW.format(self.source.name, file, offset))
        self.whole()

    def restart(self, command: str) -> None:
        """Run a command on every host and restart its server; the source first, so that its
        replicas find it changed.
        """
        for host in self.replicas:
            self.sql(host, "STOP SLAVE")
        for host in self.hosts:
            host.shell(f"{command} && systemctl restart mysql")
            host.wait()
        self.whole()

    def words(self, text: str) -> str:
        """A statement or a name, which this file has in the older words, in this version's."""
        if self.release >= FIRST_WITH_LOG_STATUS:
            text = text.replace("SHOW MASTER STATUS", "SHOW BINARY LOG STATUS")
        if self.release >= FIRST_WITH_NEW_NAMES:
            for old, new in NEWER:
                text = text.replace(old, new)
        return text

    def sql(self, host: Host, statements: str) -> subprocess.CompletedProcess[str]:
        """Run statements, given in the older words, on a host."""
        return host.sql(self.words(statements))

    def place(self) -> list[str]:
        """File and position of the source."""
        return self.sql(self.source, "SHOW MASTER STATUS").stdout.split()[:2]

    def status(self, replica: Host) -> dict[str, str]:
        """SHOW SLAVE STATUS of a replica, its columns by their older names."""
        shown = replica.sql(self.words("SHOW SLAVE STATUS"), form="--vertical").stdout
        shown = shown.replace("Source", "Master").replace("Replica", "Slave")
        pairs = [line.partition(":") for line in shown.splitlines()]
        return {name.strip(): value.strip() for name, _colon, value in pairs}

    def whole(self) -> None:
        """Wait until both replicas have what the source has, and every server its semi-sync that
        has it enabled.
        """

        def runs() -> bool:
            place = self.place()
            for status in map(self.status, self.replicas):
                at = [status.get("Relay_Master_Log_File"), status.get("Exec_Master_Log_Pos")]
                threads = [status.get(f"Slave_{name}_Running") for name in ("IO", "SQL")]
                if at != place or threads != ["Yes", "Yes"]:
                    return False
            return all(self.semisync(host, "enabled") == self.semisync(host) for host in self.hosts)

        eventually(runs, "both replicas follow the source")

    def semisync(self, host: Host, what: str = "status") -> str:
        """A variable or status of semi-sync on its side; empty if there is none."""
        side = "(master|source)" if host is self.source else "(slave|replica)"
        kind = "VARIABLES" if what == "enabled" else "STATUS"
        named = f"Variable_name RLIKE '^rpl_semi_sync_{side}_{what}$'"
        said = host.value(f"SHOW GLOBAL {kind} WHERE {named}").split()
        return said[-1] if said else ""
