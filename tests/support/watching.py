"""What writers and a watcher see while the servers of a cluster are restarted one after another."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from support.live_hosts import Host

# Both generations of names, of which a server has one.
STATUS = "^Rpl_semi_sync_(source|master)_(status|clients)$"
UNITS = {"mysql": "mysql", "mariadb": "mariadb"}


def protection(host: Host) -> tuple[str, int] | None:
    """(semi-sync's status, replicas that acknowledge) of a server that takes writes; None of one
    that does not.
    """
    said = host.sql(
        f"SELECT @@GLOBAL.read_only; SHOW GLOBAL STATUS WHERE Variable_name REGEXP '{STATUS}'",
        check=False,
    ).stdout.split()
    if said[:1] not in (["0"], ["OFF"]) or len(said) < 5:
        return None
    values = {
        name.rpartition("_")[2]: value for name, value in zip(said[1::2], said[2::2], strict=True)
    }
    return values["status"], int(values["clients"])


def takes_writes(host: Host) -> bool:
    """Whether a server answers, and is not read-only."""
    done = host.sql("SELECT @@GLOBAL.read_only", check=False)
    return done.returncode == 0 and done.stdout.strip().lower() in ("0", "off")


class Watcher:
    """Looks at all servers again and again, until it is stopped.

    Attributes:
        seen: (seconds since 1970, host, status, replicas that acknowledge) of each that took
            writes.
    """

    def __init__(self, hosts: list[Host], pause: float = 0.3) -> None:
        self.hosts, self.pause = hosts, pause
        self.seen: list[tuple[float, str, str, int]] = []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.watch, args=(host,)) for host in hosts]

    def watch(self, host: Host) -> None:
        while not self.ended.wait(self.pause):
            found = protection(host)
            if found:
                self.seen.append((time.time(), host.name, *found))

    def start(self) -> Watcher:
        for thread in self.threads:
            thread.start()
        return self

    def stop(self) -> list[tuple[float, str, str, int]]:
        """The looks at a server that took writes and was not protected."""
        self.ended.set()
        for thread in self.threads:
            thread.join()
        assert self.seen
        return [look for look in self.seen if look[2] != "ON" or look[3] < 1]


def starts(host: Host) -> int:
    """How often systemd has started a server since its host was."""
    unit = UNITS[host.server]
    lines = host.shell(f"journalctl --no-pager --output=json --unit={unit}").stdout
    # SD_MESSAGE_UNIT_STARTED.
    return lines.count("39f53479d3a045ac8e11786248231fbf")


def longest_wait(known: dict[str, Any]) -> float:
    """Seconds that a client waited longest for a row."""
    return max(seconds for _wall, seconds in known["waits"])


def task_at(log: str, moment: float) -> str:
    """The task that a run had begun last at a moment, by its log; empty before the first.

    Args:
        log: what ANSIBLE_LOG_PATH has, in local time.
        moment: in seconds since 1970.
    """
    before = ""
    for said, name in re.findall(r"^(\S+ [\d:]+),\d+ .*?\| TASK \[(.+)\] \*", log, re.MULTILINE):
        if time.mktime(time.strptime(said, "%Y-%m-%d %H:%M:%S")) > moment:
            break
        before = name
    return before


def left_alone(host: Host) -> int:
    """How many commits a server has confirmed without an acknowledgement since it started."""
    return int(host.value("SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync%\\_no\\_tx'").split()[1])
