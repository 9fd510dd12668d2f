"""Clients on a host that write rows and measure how long each had to wait."""

from __future__ import annotations

import json
import pathlib
import time

from support.live_hosts import Host, run

CLIENTS = pathlib.Path(__file__).with_name("clients") / "measure_waits.py"


class Writers:
    """The clients on a host, from start to stop."""

    def __init__(self, host: Host, clients: int) -> None:
        self.host, self.clients = host, clients

    def start(self) -> None:
        """Start the clients."""
        socket = self.host.value("SELECT @@socket")
        run("docker", "cp", CLIENTS, f"{self.host.name}:/root/writers.py")
        run(
            "docker",
            "exec",
            "--detach",
            self.host.name,
            "python3",
            "/root/writers.py",
            socket,
            self.clients,
            "/root/stop",
            "/root/stalls.json",
        )

    def stop(self, seconds: float = 90) -> dict:
        """Every row's wait, once the last client has ended."""
        self.host.shell("touch /root/stop")
        until = time.monotonic() + seconds
        while self.host.shell("test -e /root/stalls.json", check=False).returncode != 0:
            assert time.monotonic() < until, "the writers have not ended"
            time.sleep(0.2)
        return json.loads(
            self.host.shell("cat /root/stalls.json; rm /root/stop /root/stalls.json").stdout
        )


def longest(rows: list, since: float = 0, until: float = 1e12) -> float:
    """The longest wait in milliseconds of a row that a client began to write in this span."""
    return max((1000 * seconds for begin, seconds in rows if since <= begin < until), default=0.0)


def percentile(rows: list, share: float) -> float:
    """What this share of the waits stayed below, in milliseconds."""
    ordered = sorted(seconds for dummy, seconds in rows)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
