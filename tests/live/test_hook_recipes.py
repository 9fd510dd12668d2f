"""The documentation's hooks for DNS and Consul, run against Debian's BIND and Consul."""

from __future__ import annotations

import functools
import json
import os
import time

import pytest

from support.eventually import eventually
from support.live_hosts import PROJECT, hosts, playbook_environment, run

# Consul is in no release of Debian after 11.
# It installs name servers and Consul.
pytestmark = pytest.mark.long

INSTALL = """
set -e
export DEBIAN_FRONTEND=noninteractive
cd /etc/apt
sed -n '/^deb /{s/ [a-z]* main.*/ bullseye main/p;q}' sources.list > sources.list.d/11.list
apt-get -qq update
apt-get -qq install --yes --no-install-recommends bind9 bind9-dnsutils consul >/dev/null
"""
KEY = "/etc/bind/shop.key"
ZONE = "/var/lib/bind/shop.example"
NAMED = f"""\
include "{KEY}";
zone "shop.example" {{
    type master;
    file "{ZONE}";
    update-policy {{ grant shop name db.shop.example. A; }};
}};
"""
EMPTY = """\
$TTL 5
@ IN SOA ns.shop.example. admin.shop.example. 1 60 60 60 60
@ IN NS ns
ns IN A 127.0.0.1
"""
AGENT = "consul agent -dev -client 0.0.0.0 -disable-host-node-id >/root/consul.log 2>&1"
ADDRESSES = {"db1": "192.0.2.11", "db2": "192.0.2.12", "db3": "192.0.2.13"}
# Of BIND and of Consul: who is asked for the source's address.
DNS = "dig +noall +answer @127.0.0.1 db.shop.example A"
CONSUL = "dig +noall +answer @127.0.0.1 -p 8600 shop-writer.service.consul A"
# Port 8008 says 200 while the file is there, as a host's answer does while it is the source.
ANSWER = """\
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/source" and os.path.exists("/root/yes") else 503)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 8008), Answer).serve_forever()
"""
WRAPPER = '#!/bin/sh\nexec docker exec --interactive {name} nsupdate "$@"\n'


@pytest.fixture(scope="module", name="registry")
def fixture_registry(tmp_path_factory):
    """A host with a name server and a Consul, and this machine's nsupdate, which is that host's."""
    for (host,) in hosts(("registry", "mariadb", "12"), turn="hook-recipes"):
        host.shell(INSTALL)
        host.shell(
            f"tsig-keygen shop > {KEY} && cat > {ZONE} && chown bind {ZONE} {KEY}", input=EMPTY
        )
        host.shell("cat > /etc/bind/named.conf.local", input=NAMED)
        host.shell("systemctl restart named && named-checkconf")
        run("docker", "exec", "--detach", host.name, "sh", "-c", AGENT)
        programs = tmp_path_factory.mktemp("programs")
        wrapper = programs / "nsupdate"
        wrapper.write_text(WRAPPER.format(name=host.name), encoding="utf-8")
        wrapper.chmod(0o755)
        host.shell("timeout 60 sh -c 'until consul members; do sleep 0.5; done'")
        yield host, programs


def hook(registry, folder, name, to, **more):
    """A run that includes a hook on all hosts, as a role change does."""
    host, programs = registry
    address = host.shell("hostname -i").stdout.split()[0]
    variables = {
        "ansible_connection": "local",
        "shop_dns_server": "127.0.0.1",
        "shop_dns_key": KEY,
        "shop_consul": f"http://{address}:8500",
        "semisync_to": to,
        **more,
    }
    known = {name: {"shop_address": address} for name, address in ADDRESSES.items()}
    inventory = folder / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": known, "vars": variables}}))
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_tasks": str(PROJECT / "docs" / "hooks" / name)}],
    }
    file = folder / "play.yml"
    file.write_text(json.dumps([play]))
    path = f"{programs}:{os.environ['PATH']}"
    return run(
        *("ansible-playbook", "-i", inventory, file),
        check=False,
        env=playbook_environment(PATH=path),
    )


@pytest.mark.parametrize("name,ask", [("point-dns.yml", DNS), ("point-consul.yml", CONSUL)])
def test_the_source_s_name_has_the_new_source_s_address_and_no_other(registry, tmp_path, name, ask):
    host, _programs = registry
    # Each again, as the next run of an interrupted switchover does it.
    for to in ("db1", "db2", "db2", "db3"):
        done = hook(registry, tmp_path, name, to)
        assert done.returncode == 0, done.stdout + done.stderr
        answers = [line.split() for line in host.shell(ask).stdout.splitlines()]
        assert [one[-1] for one in answers] == [ADDRESSES[to]], answers
        assert int(answers[0][1]) <= 5


def test_a_name_server_that_refuses_fails_the_run(registry, tmp_path):
    host, _programs = registry
    host.shell("tsig-keygen shop > /root/other.key")
    before = host.shell(DNS).stdout
    done = hook(registry, tmp_path, "point-dns.yml", "db1", shop_dns_key="/root/other.key")
    assert done.returncode != 0 and "BADSIG" in done.stdout, done.stdout
    assert host.shell(DNS).stdout == before


def test_a_consul_that_does_not_answer_fails_the_run(registry, tmp_path):
    there = {"shop_consul": "http://127.0.0.1:1"}
    done = hook(registry, tmp_path, "point-consul.yml", "db1", **there)
    assert done.returncode != 0 and "Connection refused" in done.stdout, done.stdout


def test_an_agent_offers_its_host_as_long_as_the_answer_is_yes(registry):
    host, _programs = registry
    host.shell("cat > /root/answer.py", input=ANSWER)
    run("docker", "exec", "--detach", host.name, "python3", "/root/answer.py")
    run("docker", "cp", PROJECT / "docs" / "hooks" / "consul-service.json", f"{host.name}:/root")
    name = "shop-agent"
    host.shell(f"sed -i s/shop-writer/{name}/ /root/consul-service.json")
    host.shell("consul services register /root/consul-service.json")
    ask = f"dig +short @127.0.0.1 -p 8600 {name}.service.consul A"

    def is_offered():
        return bool(host.shell(ask).stdout.strip())

    def is_as(wanted):
        return is_offered() is wanted

    time.sleep(3)
    assert not is_offered()
    for change, wanted in (("touch", True), ("rm", False), ("touch", True)):
        host.shell(f"{change} /root/yes")
        eventually(functools.partial(is_as, wanted), f"it is offered: {wanted}", 10)
    host.shell("pkill -f '[a]nswer.py'")
    eventually(lambda: not is_offered(), "it is offered no more", 10)
