"""A source and its replica with the collection's playbooks, and a writer on them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.eventually import eventually
from support.live_hosts import Host, playbook

COUNTERS = {
    "mysql": ("Rpl_semi_sync_source_no_tx", "Rpl_semi_sync_source_yes_tx"),
    "mariadb": ("Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_master_yes_tx"),
}
WRITER = (
    "while :; do echo 'INSERT INTO shop.orders VALUES (NULL);'; sleep 0.02; done | %s --batch"
    " --unbuffered"
)


class Pair:
    """A source, its replica and their inventory."""

    def __init__(self, source: Host, replica: Host, file: Path) -> None:
        self.source, self.replica, self.file = source, replica, file

    def play(
        self,
        name: str,
        *arguments: str,
        environment: dict[str, str] | None = None,
        **variables: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a playbook with extra variables."""
        return playbook(
            name, self.file, *arguments, "-e", json.dumps(variables), **(environment or {})
        )

    def counted(self) -> tuple[int, int]:
        """How many commits of the source were not acknowledged, and how many were."""
        no, yes = [
            int(self.source.value(f"SHOW GLOBAL STATUS LIKE '{name}'").split()[1])
            for name in COUNTERS[self.source.server]
        ]
        return no, yes

    def rows(self) -> list[str]:
        """Number and highest id of the orders, on the source and on the replica."""
        return [
            host.value("SELECT COUNT(*), MAX(id) FROM shop.orders")
            for host in (self.source, self.replica)
        ]


@contextlib.contextmanager
def under_load(pair: Pair) -> Iterator[Pair]:
    """A writer meanwhile; afterwards no commit has gone without its acknowledgement, and no row is
    missing or doubled.
    """
    before = pair.counted()
    writer = subprocess.Popen(
        ["docker", "exec", pair.source.name, "sh", "-c", WRITER % pair.source.server]
    )
    yield pair
    assert writer.poll() is None
    pair.source.shell("pkill -f 'sleep 0.02' ; pkill -f -- --unbuffered", check=False)
    writer.wait()
    after = pair.counted()
    assert after[0] == before[0], f"{after[0] - before[0]} commits were not acknowledged"
    assert after[1] > before[1] + 20
    eventually(lambda: len(set(pair.rows())) == 1, "both have the same rows", seconds=15)


def done(
    result: subprocess.CompletedProcess[str], *secrets: str
) -> subprocess.CompletedProcess[str]:
    """Assert that a run succeeded and printed none of the secrets."""
    assert result.returncode == 0, result.stdout + result.stderr
    assert not [secret for secret in secrets if secret in result.stdout + result.stderr]
    return result


def tls(pair: Pair) -> tuple[str, str, str] | None:
    """How the replica's channel is set: TLS, authority, whether the source's name is verified; None
    while it does not run.
    """
    status = pair.replica.sql("SHOW REPLICA STATUS", form="--vertical").stdout
    found = {
        line.partition(":")[0].strip(): line.partition(":")[2].strip()
        for line in status.splitlines()
    }
    found = {
        name.replace("Source", "Master").replace("Replica", "Slave"): value
        for name, value in found.items()
    }
    if not found["Slave_IO_Running"] == found["Slave_SQL_Running"] == "Yes":
        return None
    return (
        found["Master_SSL_Allowed"],
        found.get("Master_SSL_CA_File", ""),
        found["Master_SSL_Verify_Server_Cert"],
    )


def wanted(
    pair: Pair, mode: str, authority: str = "", name: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run site.yml with these wishes for the channel's TLS."""
    variables: dict[str, Any] = {
        "semisync_replication_ssl": mode,
        "semisync_replication_ssl_ca": authority,
        "semisync_replication_ssl_verify_name": name,
        "semisync_channel_timeout": 5,
    }
    return pair.play("site", **variables)
