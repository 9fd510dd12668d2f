"""The virtual address of the documentation's keepalived, on two hosts that are told yes or no as by
their own answer: where it is, whatever they are told, and whether they hear each other or not.
"""

from __future__ import annotations

import pytest

from support.eventually import eventually
from support.live_hosts import LABEL, run
from support.virtual_address import VirtualAddress, address_of

# It waits for keepalived again and again.
pytestmark = pytest.mark.long

TURN = "virtual-address"
# Port 8008 says 200 while the file is there.
ANSWER = """\
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        yes = self.path == "/source" and os.path.exists("/root/yes")
        self.send_response(200 if yes else 503)
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", 8008), Answer).serve_forever()
"""
ANSWERS = "systemd-run --quiet --collect --unit=answer python3 /root/answer.py"
BOOTED = "timeout 60 sh -c 'until systemctl list-units >/dev/null 2>&1; do sleep 0.5; done'"
NOWHERE = "02:00:00:00:00:01"


class Pair:
    """The two hosts."""

    def __init__(self, hosts):
        self.hosts = hosts

    def tell(self, *yes):
        """Have these told yes, and the others no."""
        for host in self.hosts:
            host.shell("touch /root/yes" if host in yes else "rm -f /root/yes")

    def holders(self):
        return self.hosts[0].holders(self.hosts)

    def until(self, *wanted):
        """Wait until exactly these hosts have the address."""
        return eventually(
            lambda: self.holders() == list(wanted),
            lambda: f"it is at {[host.name for host in self.holders()]}",
            30,
        )

    def hear(self, each_other):
        """Whether a host's packets reach the other one."""
        for host, other in (self.hosts, self.hosts[::-1]):
            peer = address_of(other)
            change = f"replace {peer} lladdr {NOWHERE} nud permanent" if not each_other else ""
            host.shell(f"ip neigh {change or f'del {peer}'} dev eth0")


@pytest.fixture(scope="module", name="pair")
def fixture_pair():
    made = [VirtualAddress(TURN, name, "mariadb", "12") for name in ("db1", "db2")]
    run("docker", "network", "create", "--label", LABEL, made[0].network, check=False)
    try:
        for host in made:
            host.start()
            host.shell(BOOTED)
            host.shell("cat > /root/answer.py", input=ANSWER)
            host.shell(ANSWERS)
        made[0].route(made)
        yield Pair(made)
    finally:
        for host in made:
            host.stop()
        run("docker", "network", "rm", made[0].network, check=False)


def test_it_follows_the_answer_and_is_nowhere_if_no_answer_is_yes(pair):
    first, second = pair.hosts
    for yes in (first, second):
        pair.tell(yes)
        print(f"it was at {yes.name} after {pair.until(yes):.1f} s")
    pair.tell()
    pair.until()


def test_a_host_that_says_nothing_is_told_no(pair):
    first, _second = pair.hosts
    pair.tell(first)
    pair.until(first)
    first.shell("systemctl kill --signal=STOP answer")
    pair.until()
    first.shell("systemctl kill --signal=CONT answer")
    pair.until(first)


def test_a_keepalived_that_is_killed_leaves_no_address(pair):
    first, _second = pair.hosts
    pair.tell(first)
    pair.until(first)
    first.shell("systemctl kill --kill-whom=main --signal=KILL keepalived")
    pair.until()
    first.shell("systemctl reset-failed keepalived; systemctl start keepalived")
    pair.until(first)


def test_two_that_are_told_yes_share_it_only_while_neither_hears_the_other(pair):
    first, second = pair.hosts
    pair.tell(first)
    pair.until(first)
    pair.hear(False)
    pair.tell(first, second)
    pair.until(first, second)
    # As the former source's answer does once its host reaches the others again.
    pair.hear(True)
    pair.tell(second)
    pair.until(second)
