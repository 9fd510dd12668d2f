"""Small file systems that get full: of a server's data, and of the controller's results."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from support.eventually import eventually
from support.live_hosts import Host, run

# Megabytes that a server's file system has left when it starts, and those of the results.
ROOM, RESULTS = 160, 8
DATA = "/var/lib/mysql"


class Disk:
    """A small file system: of a server's data, or of the controller's results."""

    def __init__(self, host: Host | None, folder: str) -> None:
        self.host, self.folder = host, folder

    def shell(self, command: str) -> str:
        """Run a shell command where the file system is."""
        if self.host:
            return self.host.shell(command).stdout
        return run("sh", "-c", command).stdout

    def fill(self) -> None:
        """Write a file that takes all space, also what is freed, until free()."""
        self.shell(
            f"touch {self.folder}/../filling; (cd {self.folder}; while [ -e ../filling ]; do cat"
            " /dev/zero >>filler 2>/dev/null; sleep 0.1; done) >/dev/null 2>&1 </dev/null &"
        )
        eventually(lambda: self.left() == 0, f"{self.folder} is full", 30)

    def nearly(self, megabytes: int) -> None:
        """Leave so much."""
        length = self.left() - megabytes * 1024
        self.shell(f"fallocate --length={length}KiB {self.folder}/filler")

    def left(self) -> int:
        """Kilobytes that are free."""
        return int(self.shell(f"df --output=avail {self.folder}").split()[-1])

    def free(self) -> None:
        self.shell(f"rm -f {self.folder}/../filling; sleep 0.5; rm -f {self.folder}/filler")


def make_small(host: Host) -> Disk:
    """Move a server's data to a file system with little room."""
    host.shell(
        f"systemctl stop {host.server} && used=$(du -sm {DATA} | cut -f1) && mount -t tmpfs -o"
        f" size=$((used + {ROOM}))m tmpfs /mnt && cp -a {DATA}/. /mnt/ && chown --reference={DATA}"
        f" /mnt && chmod --reference={DATA} /mnt && mount --bind /mnt {DATA} && systemctl start"
        f" {host.server}"
    )
    host.wait()
    return Disk(host, DATA)


@contextlib.contextmanager
def small_results(folder: pathlib.Path) -> Iterator[Disk]:
    """A file system with little room for the controller's results."""
    place = folder / "results"
    place.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"size={RESULTS}m", "tmpfs", place)
    disk = Disk(None, str(place))
    try:
        yield disk
    finally:
        disk.free()
        run("umount", place)
