"""A host with Debian's HAProxy, configured as the documentation says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import container
import debian
import docker_image

from support.live_hosts import LABEL, PROJECT, Host, run

CONFIGURATION = PROJECT / "docs" / "haproxy.cfg"


class Proxy(Host):
    """The router in front of some servers.

    Attributes:
        title: what a table calls it.
        address: host:port that clients on its host know.
    """

    title = "HAProxy"

    @property
    def address(self) -> str:
        return "127.0.0.1:3306"

    def start(self) -> Proxy:
        its = container.flags(debian.PROXY)
        run("docker", "rm", "--force", "--volumes", self.name, check=False)
        run(
            "docker", "run", "--detach", "--name", self.name, "--hostname", "proxy",
            "--network", self.network, "--label", LABEL,
            *container.run_options(its), docker_image.ensure(debian.PROXY), its["command"],
        )  # fmt: skip
        return self

    def route(self, servers: Sequence[Host]) -> None:
        """Send clients to these servers."""
        text = CONFIGURATION.read_text(encoding="utf-8")
        for number, server in enumerate(servers, 1):
            text = text.replace(f" db{number}:3306", f" {server.name}:3306")
        text = re.sub(r"^ +server db\d+ db\d+:3306 .*\n", "", text, flags=re.MULTILINE)
        self.shell("cat > /etc/haproxy/haproxy.cfg", input=text)
        self.shell("haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl restart haproxy")
