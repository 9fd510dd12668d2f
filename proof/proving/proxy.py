"""HAProxy in front of the hosts, in their network: clients know no other address than its."""

from __future__ import annotations

import pathlib
import re
import subprocess
from collections.abc import Mapping

import debian
import uml_net
from common import lab_name

from support.proxy import CONFIGURATION

PORT = 3306
# Where the hosts' answers are.
ANSWER = 8008
# The documentation's is made for servers that are not ten times slower than their machine.
OFTEN = "inter 200ms fastinter 100ms downinter 200ms"
SELDOM = "inter 1s fastinter 400ms downinter 400ms"
# Where those are led that read from replicas.
READERS = 3307


def configuration(text: str, servers: Mapping[str, str], address: str) -> str:
    """The documentation's configuration for these servers, name -> address.

    Raises:
        ValueError: it is not what this was written for.
    """
    binds = [f"bind :{port}\n" for port in (PORT, READERS)]
    wanted = (OFTEN, *binds, f"check port {ANSWER}\n")
    missing = [words for words in wanted if words not in text]
    if missing:
        raise ValueError(f"{CONFIGURATION.name} lacks {missing[0]!r}")
    text = text.replace(OFTEN, SELDOM).replace("bind :", f"bind {address}:")
    lines = [
        f"    server {name} {place}:{PORT} check port {ANSWER}\n" for name, place in servers.items()
    ]
    return re.sub(r"(^ +server .*\n?)+", "".join(lines), text, flags=re.MULTILINE)


def root() -> pathlib.Path:
    """Debian's HAProxy in a file system of its own: nothing is installed here, and no Docker is
    needed.
    """
    chosen = debian.PROXY
    return debian.unpacked(debian.rootfs(chosen.suite, chosen.packages, name="haproxy"))


class Proxy:
    """The process, in the namespace of the hosts.

    Args:
        servers: name -> address.
        log: file for what it says, such as which server it holds for the source since when.
    """

    address = uml_net.BRIDGE_ADDRESS

    def __init__(self, servers: Mapping[str, str], log: pathlib.Path) -> None:
        self.servers, self.log = servers, log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        inside = f"/etc/haproxy/{lab_name()}.cfg"
        # Left of a run that was killed.
        uml_net.kill(inside)
        place = root()
        text = configuration(CONFIGURATION.read_text(encoding="utf-8"), self.servers, self.address)
        (place / inside.lstrip("/")).write_text(text, encoding="utf-8")
        words = ("ip", "netns", "exec", uml_net.NAMESPACE, "chroot", str(place))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*words, "/usr/sbin/haproxy", "-db", "-f", inside],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def check(self) -> None:
        """It must run."""
        said = self.log.read_text(encoding="utf-8")
        assert self.process and self.process.poll() is None, f"HAProxy has ended: {said[-600:]}"

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
