"""The HTTP answer for routers: set up, true whatever happens to the servers, followed by Debian's
HAProxy with the configuration of the documentation, and gone again.
"""

import csv
import io
import json
import pathlib
import time

import pytest

from support import live_hosts
from support.eventually import eventually
from support.proxy import Proxy

pytestmark = pytest.mark.long

PORT = 8008
CLIENT = pathlib.Path(__file__).parents[1] / "support" / "clients" / "through_router.py"
SLOW = CLIENT.with_name("ask_slowly.py")
# HAProxy's, by columns of "show stat".
STATS = "/run/haproxy/answer-test.sock"
CLIENTS = 20
# What systemd may say of the service; 10 is a service that may do everything.
EXPOSURE = 2.0
WORDS = {
    "mysql": {"replica": "REPLICA", "source": "source", "other": "replica"},
    "mariadb": {"replica": "SLAVE", "source": "master", "other": "slave"},
}


@pytest.fixture(
    scope="module",
    name="cluster",
    params=[
        pytest.param(("mysql", None), id="mysql"),
        pytest.param(("mariadb", "12"), id="mariadb"),
    ],
)
def fixture_cluster(request, tmp_path_factory):
    names = ("source", "replica1", "replica2")
    turn = "answer-" + request.param[0]
    for made in live_hosts.hosts(*((name, *request.param) for name in names), turn=turn):
        proxy = Proxy(turn, "proxy", *request.param)
        try:
            proxy.start()
            file = live_hosts.inventory(
                tmp_path_factory.mktemp("answer"),
                {made[0]: {}},
                {key: {} for key in made[1:]},
                semisync_http_port=PORT,
            )
            done = live_hosts.playbook("site", file, "--diff")
            assert done.returncode == 0, done.stdout + done.stderr
            assert "Aa1-" not in done.stdout
            proxy.route(made)
            yield made, proxy, file
        finally:
            proxy.stop()


def asked(host, target="/source"):
    """(HTTP status, what was said) by a host, to a client on it."""
    program = (
        f"import http.client; c = http.client.HTTPConnection('127.0.0.1', {PORT}, timeout=5);"
        f" c.request('GET', '{target}'); r = c.getresponse(); print(r.status, r.read().decode())"
    )
    status, _space, text = host.shell(f'python3 -c "{program}"').stdout.partition(" ")
    return int(status), json.loads(text)


def test_site_sets_it_up_once_and_it_tells_who_takes_writes(cluster):
    (source, *replicas), _proxy, file = cluster
    assert asked(source)[0] == 200 and asked(source, "/replica")[0] == 503
    for replica in replicas:
        assert asked(replica)[0] == 503 and asked(replica, "/replica?max_lag=10")[0] == 200
    again = live_hosts.playbook("site", file)
    assert again.returncode == 0 and "changed=0" in again.stdout, again.stdout
    assert "changed=1" not in again.stdout
    for host in (source, *replicas):
        modes = host.shell("stat -c '%a %U' /etc/dbre-semisync/*.password").stdout.strip()
        assert modes == "600 dbre-semisync"
        judged = host.shell("systemd-analyze security --no-pager dbre-semisync-answer-3306.service")
        print(host.server, judged.stdout.splitlines()[-1])
        assert float(judged.stdout.rpartition(": ")[2].split()[0]) <= EXPOSURE
        grants = host.value("SHOW GRANTS FOR dbre_semi_http@localhost")
        assert "`semisync_journal`" in grants and "CREATE" not in grants, grants
        assert host.value("SELECT COUNT(*) FROM mysql.user WHERE User LIKE 'dbre%'") == "1"
    # Nothing of it travelled.
    found = "cat /var/lib/mysql/*bin*.0* | grep --text --count {} || :"
    assert source.shell(found.format("dbre_semi_http")).stdout.strip() == "0"
    assert source.shell(found.format("important")).stdout.strip() != "0"


@pytest.mark.parametrize(
    "before,after,kind",
    [
        ("kill -STOP $(pidof mysqld mariadbd)", "kill -CONT $(pidof mysqld mariadbd)", "server"),
        ("systemctl stop {0}", "systemctl start {0}", "server"),
        (
            "echo wrong > /etc/dbre-semisync/answer-3306.password; systemctl restart {0}",
            "",
            "login",
        ),
    ],
    ids=["server_hangs", "server_is_stopped", "password_is_wrong"],
)
def test_what_is_not_known_is_no(cluster, before, after, kind):
    (source, *_replicas), _proxy, file = cluster
    source.shell(before.format(source.server))
    try:
        begin = time.monotonic()
        status, said = asked(source)
        assert (status, said["kind"]) == (503, kind), said
        assert time.monotonic() - begin < 4
    finally:
        source.shell(after.format(source.server) or ":")
    source.wait()
    if kind == "login":
        # verify names it, the next run mends it.
        assert "answer_wrong" in live_hosts.playbook("verify", file).stdout
        assert live_hosts.playbook("site", file).returncode == 0
    eventually(lambda: asked(source)[0] == 200, "the source is told to be it")
    site = live_hosts.playbook("site", file)
    assert site.returncode == 0, site.stdout


def test_a_replica_that_takes_writes_is_not_the_source(cluster):
    (_source, replica, _other), _proxy, _file = cluster
    replica.sql("SET GLOBAL read_only = OFF")
    try:
        assert asked(replica)[0] == 503
        replica.sql(f"STOP {WORDS[replica.server]['replica']}")
        status, said = asked(replica)
        assert status == 503 and "another source" in said["why"]
    finally:
        replica.sql(f"START {WORDS[replica.server]['replica']}; SET GLOBAL read_only = ON")


def test_writers_through_haproxy_survive_a_switchover(cluster):
    (source, target, other), proxy, file = cluster
    source.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.seen (id INT AUTO_INCREMENT PRIMARY KEY, name"
        " VARCHAR(64) NOT NULL); CREATE USER app@'%' IDENTIFIED BY 'app'; GRANT INSERT ON shop.* TO"
        " app@'%'"
    )
    live_hosts.run("docker", "cp", CLIENT, f"{proxy.name}:/root/client.py")
    live_hosts.run(
        "docker", "exec", "--detach", proxy.name, "python3", "/root/client.py", "127.0.0.1", "3306",
        CLIENTS, "/root/stop", "/root/seen.json",
    )  # fmt: skip
    eventually(lambda: int(source.value("SELECT COUNT(*) FROM shop.seen")) > 100, "writers write")
    done = live_hosts.playbook("switchover", file, "-e", f"semisync_switchover_to={target.name}")
    assert done.returncode == 0, done.stdout + done.stderr
    before = int(target.value("SELECT COUNT(*) FROM shop.seen"))
    eventually(
        lambda: int(target.value("SELECT COUNT(*) FROM shop.seen")) > before + 500,
        "writers write to the new source",
        60,
    )
    assert [asked(host)[0] for host in (source, target, other)] == [503, 200, 503]
    assert [asked(host, "/replica")[0] for host in (source, target, other)] == [200, 503, 200]
    proxy.shell("touch /root/stop")
    eventually(lambda: proxy.shell("test -e /root/seen.json", check=False).returncode == 0, "ends")
    seen = json.loads(proxy.shell("cat /root/seen.json").stdout)
    rows = target.value("SELECT name FROM shop.seen").split()
    print(
        f"{source.server}: {len(seen['confirmed'])} rows confirmed, {len(seen['unknown'])} unknown,"
        f" refused {seen['refused']}, longest {seen['longest']:.3f} s"
    )
    assert set(seen["confirmed"]) <= set(rows), "a confirmed row is lost"
    assert len(rows) == len(set(rows)), "a row is there twice"
    assert set(rows) <= set(seen["confirmed"]) | set(seen["unknown"]), "nobody wrote it"
    assert seen["longest"] < 30

    # With the inventory as it was: nothing moves back, and no file of the answer changes.
    site = live_hosts.playbook("site", file, "--check")
    assert site.returncode == 0 and "Set the answer up" not in site.stdout, site.stdout


def status_from(asking, host):
    """What a host's answer says to a caller on another host; None if it says nothing."""
    program = (
        "import http.client, sys; c = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]),"
        " timeout=3); c.request('GET', '/source'); print(c.getresponse().status)"
    )
    said = asking.shell(f'python3 -c "{program}" {host.name} {PORT}', check=False).stdout.strip()
    return int(said) if said else None


# Known by their addresses, systemd keeps strangers out; by their names, the program alone.
@pytest.mark.parametrize("by", ["name", "address"])
def test_who_is_not_allowed_is_told_nothing(cluster, by, tmp_path):
    (source, *replicas), proxy, file = cluster
    members = [source, *replicas]
    addresses = {host: host.shell("hostname -i").stdout.split()[0] for host in (*members, proxy)}
    own = {
        host: {"semisync_address": addresses[host]} if by == "address" else {} for host in members
    }
    named = live_hosts.inventory(
        tmp_path,
        {members[0]: own[members[0]]},
        {host: own[host] for host in members[1:]},
        semisync_http_port=PORT,
        semisync_http_allow=["192.0.2.0/24"],
    )
    assert None not in [status_from(proxy, host) for host in members]
    try:
        done = live_hosts.playbook("site", named)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [status_from(proxy, host) for host in members] == [None] * 3
        # The cluster's own hosts may, each itself too.
        for asking in members:
            assert None not in [status_from(asking, host) for host in members]
        unit = members[0].shell("cat /etc/systemd/system/dbre-semisync-answer-3306.socket").stdout
        assert ("IPAddressDeny=any" in unit) is (by == "address")
        router = json.dumps({"semisync_http_allow": [addresses[proxy]]})
        done = live_hosts.playbook("site", named, "-e", router)
        assert done.returncode == 0, done.stdout + done.stderr
        assert None not in [status_from(proxy, host) for host in members]
    finally:
        done = live_hosts.playbook("site", file)
    assert done.returncode == 0, done.stdout + done.stderr


def failed_checks(proxy):
    """Server of the writers -> (checks of HAProxy that failed, how often it was taken out)."""
    text = proxy.shell(
        'python3 -c "import socket; s = socket.socket(socket.AF_UNIX);'
        f" s.connect('{STATS}'); s.sendall(b'show stat\\n');"
        " print(b''.join(iter(lambda: s.recv(65536), b'')).decode())\""
    ).stdout
    rows = csv.DictReader(io.StringIO(text.lstrip("# ")))
    return {
        row["svname"]: (int(row["chkfail"]), int(row["chkdown"]))
        for row in rows
        if row["pxname"] == "writers" and row["svname"].startswith("db")
    }


def test_a_thousand_slow_connections_for_a_minute_cost_haproxy_no_check(cluster):
    """At 200 ms, as the documentation has it, so that 300 checks are meant, of the source."""
    (first, second, other), proxy, _file = cluster
    source = next(host for host in (first, second, other) if asked(host)[0] == 200)
    slow = next(host for host in (first, second, other) if host is not source)
    number = f"db{[first, second, other].index(source) + 1}"
    proxy.shell(
        f"sed -i '0,/^global/s||global\\n    stats socket {STATS} level operator|'"
        " /etc/haproxy/haproxy.cfg && systemctl restart haproxy"
    )
    live_hosts.run("docker", "cp", SLOW, f"{slow.name}:/root/ask_slowly.py")
    time.sleep(3)
    before = failed_checks(proxy)[number]
    seen = json.loads(
        slow.shell(f"python3 /root/ask_slowly.py {source.name} {PORT} 1000 60").stdout
    )
    after = failed_checks(proxy)[number]
    print(f"{source.server}: {seen}, checks that failed before and after: {before}, {after}")
    assert seen["least"] == seen["most"] == 1000
    assert after == before
    assert asked(source)[0] == 200


def test_remove_takes_it_away(cluster):
    (source, *replicas), _proxy, file = cluster
    done = live_hosts.playbook("remove", file)
    assert done.returncode == 0, done.stdout
    for host in (source, *replicas):
        left = host.shell(
            "ls -d /etc/dbre-semisync /usr/local/lib/dbre-semisync /etc/systemd/system/dbre-*"
            " /etc/systemd/system/*/dbre-* 2>/dev/null; getent passwd dbre-semisync; "
            f"ss --listening --tcp --numeric | grep ':{PORT} '",
            check=False,
        ).stdout
        assert left == ""
        assert host.value("SELECT COUNT(*) FROM mysql.user WHERE User LIKE 'dbre%'") == "0"
        loaded = (
            "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME LIKE 'rpl_semi%'"
        )
        if host.server == "mysql":
            assert host.value(loaded) == "0"
        ours = host.shell("cat /etc/mysql/*.d/zz-* 2>/dev/null", check=False).stdout
        # The first replica is the source by now.
        assert "semi_sync" not in ours and ("bind_address" in ours) is (host is replicas[0])
