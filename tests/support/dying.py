"""Servers that die, and what failover.yml says of it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from support.live_hosts import Host

UNITS = {"mysql": "mysql", "mariadb": "mariadb"}


def forbid_restart(host: Host) -> None:
    """Let systemd leave a server dead that has died."""
    folder = f"/run/systemd/system/{UNITS[host.server]}.service.d"
    host.shell(
        f"mkdir -p {folder} && printf '[Service]\\nRestart=no\\n' >{folder}/dead.conf &&"
        " systemctl daemon-reload"
    )


def kill(host: Host) -> None:
    """End a server by SIGKILL; it is not started again if that was forbidden."""
    host.shell(f"systemctl kill --signal=KILL {UNITS[host.server]}.service")


def io_thread(host: Host, verb: str = "") -> str:
    """What a replica's IO thread does, when it has been stopped or started with a verb."""
    word = "SLAVE"
    if host.server == "mysql":
        version = host.value("SELECT VERSION()").partition("-")[0]
        # Names since 8.0.22.
        word = "REPLICA" if tuple(map(int, version.split("."))) >= (8, 0, 22) else word
    if verb:
        host.sql(f"{verb} {word} IO_THREAD")
    lines = host.sql(f"SHOW {word} STATUS", form="--vertical").stdout.splitlines()
    return next(line.split()[1] for line in lines if "_IO_Running:" in line)


def certificate(folder: pathlib.Path) -> dict[str, Any]:
    """certificate.json of the newest run."""
    file = folder / "results" / "default" / "latest" / "certificate.json"
    made: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return made
