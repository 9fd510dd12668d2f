"""Hosts that pass a virtual address on by keepalived, as the documentation configures it, and a
host outside them for clients that know no other address.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence

from support.live_hosts import PROJECT, Host, run
from support.proxy import Proxy

CONFIGURATION = PROJECT / "docs" / "keepalived.conf"
# sid's list of files can be past its date between two mirror runs, as in debian.APT_OPTIONS.
INSTALL = (
    "apt-get -qq -o Acquire::Check-Valid-Until=false update && DEBIAN_FRONTEND=noninteractive"
    " apt-get -qq install --yes --no-install-recommends keepalived curl >/dev/null"
)
FILE = "/etc/keepalived/keepalived.conf"
# Of the documentation: the virtual address, and what its hosts' names and addresses begin with.
VIRTUAL, NAME, ADDRESS = "192.0.2.10", "db", "192.0.2.1"


def configuration(text: str, servers: Mapping[str, str], virtual: str) -> str:
    """The documentation's configuration for these servers, name -> address.

    Raises:
        ValueError: it is not what this was written for.
    """
    for number, (name, address) in enumerate(servers.items(), 1):
        line = rf"^( *@\^?){NAME}{number} (.*){re.escape(ADDRESS)}{number}$"
        text, count = re.subn(line, rf"\g<1>{name} \g<2>{address}", text, flags=re.MULTILINE)
        if count != 2:
            raise ValueError(f"{CONFIGURATION.name} has {count} lines for {NAME}{number}, not two")
    text = re.sub(rf"^ *@\^?{NAME}\d .*\n", "", text, flags=re.MULTILINE)
    return text.replace(f"{VIRTUAL}/32", f"{virtual}/32")


def address_of(host: Host) -> str:
    """Its own address in its network."""
    form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return run("docker", "inspect", "--format", form, host.name).stdout.strip()


def last_of(network: str) -> str:
    """The last address of a Docker network: Docker gives the first ones to hosts."""
    form = "{{(index .IPAM.Config 0).Subnet}}"
    subnet = run("docker", "network", "inspect", "--format", form, network).stdout.strip()
    return str(ipaddress.ip_network(subnet)[-2])


class VirtualAddress(Proxy):
    """The host of the clients, which routes nothing: the servers' hosts do."""

    title = "keepalived"

    @property
    def address(self) -> str:
        return f"{last_of(self.network)}:3306"

    def route(self, servers: Sequence[Host]) -> None:
        known = {server.name: address_of(server) for server in servers}
        virtual = last_of(self.network)
        text = configuration(CONFIGURATION.read_text(encoding="utf-8"), known, virtual)
        for server in servers:
            server.shell(INSTALL)
            server.shell(f"cat > {FILE}", input=text)
            server.shell("systemctl enable keepalived && systemctl restart keepalived")
            # keepalived starts without the lines that it does not understand.
            said = server.shell("journalctl --no-pager --unit=keepalived").stdout
            assert f"{FILE}: Line" not in said, said

    def holders(self, servers: Sequence[Host]) -> list[Host]:
        """The hosts that have the virtual address."""
        show = f"ip -oneline address show to {last_of(self.network)}"
        return [server for server in servers if server.shell(show, check=False).stdout.strip()]
