"""Hosts that are not laid out as Debian does it: other units, option files, data directories,
sockets, and no root login.

One pair a server. Its source has one server under a name of old, its replica two of a template
unit, the second of which is not ours.
"""

import pytest

from support.live_hosts import CLIENTS, NO_SCHEDULER, hosts, inventory, playbook

OPS = "ops"
SUDO_PASSWORD = 'sudo\'s "own" word'
SOCKET = "/srv/db/run/mysql.sock"
NEIGHBOUR = "/srv/2/mysql.sock"
# Where RedHat has its option files.
MY_CNF = "[client]\nsocket = %s\n\n!includedir /etc/my.cnf.d\n"
ONE = """[mysqld]
user = mysql
datadir = /srv/db/data
socket = /srv/db/run/mysql.sock
pid-file = /srv/db/run/server.pid
log_error = /srv/db/log/error.log
bind-address = 127.0.0.1
{more}
"""
# The group that all servers of a host read, and those of one server alone.
SEVERAL = """[mysqld]
user = mysql
max_connections = 77

[mysqld{dot}1]
datadir = /srv/1/data
socket = /srv/1/mysql.sock
pid-file = /srv/1/server.pid
log_error = /srv/1/error.log
port = 3307
{more}
[mysqld{dot}2]
datadir = /srv/2/data
socket = /srv/2/mysql.sock
pid-file = /srv/2/server.pid
log_error = /srv/2/error.log
port = 3308
{more}"""
# As the packages for RedHat have it; Debian's MariaDB has a template of its own.
TEMPLATE = """[Unit]
Description=MySQL server %I
After=network.target
[Service]
Type=notify
User=mysql
Group=mysql
ExecStart=/usr/sbin/mysqld --defaults-group-suffix=@%I
TimeoutSec=0
Restart=on-failure
LimitNOFILE=10000
Environment=MYSQLD_PARENT_PID=1
[Install]
WantedBy=multi-user.target
"""
SEPARATOR = {"mysql": "@", "mariadb": "."}
MORE = {"mysql": "mysqlx = OFF\n" + NO_SCHEDULER["mysql"], "mariadb": ""}


def administrator(host, password=None):
    """An account that may log in and become root by sudo, and nothing else."""
    host.shell(
        f"useradd --create-home {OPS} && cat > /etc/sudoers.d/ops && chmod 440 /etc/sudoers.d/ops",
        input=f"{OPS} ALL=(ALL:ALL) {'' if password else 'NOPASSWD: '}ALL\n",
    )
    if password:
        host.shell("chpasswd", input=f"{OPS}:{password}\n")


def renamed(host):
    """The unit is called mysqld, the data and the socket are elsewhere."""
    host.shell(
        f"systemctl disable --now {host.server} && mkdir -p /srv/db/run /srv/db/log /etc/my.cnf.d"
        " && cp -a /var/lib/mysql /srv/db/data && chown -R mysql: /srv/db"
        " && rm /etc/mysql/my.cnf && touch /etc/mysql/my.cnf"
    )
    host.shell("cat > /etc/my.cnf", input=MY_CNF % SOCKET)
    host.shell("cat > /etc/my.cnf.d/server.cnf", input=ONE.format(more=MORE[host.server]))
    # The names of old as well: Debian's unit of MariaDB has them as its aliases.
    host.shell(
        f"find /etc/systemd/system -lname '*/{host.server}.service' -delete; unit=$(find"
        f" /usr/lib/systemd/system /lib/systemd/system -name {host.server}.service ! -type l -print"
        " -quit); sed '/^Alias=/d' $unit > /etc/systemd/system/mysqld.service && ln -sf /dev/null"
        f" /etc/systemd/system/{host.server}.service && systemctl daemon-reload && systemctl enable"
        " --now mysqld"
    )
    host.wait()


def doubled(host):
    """Two servers of a template unit, each with an option group of its own."""
    dot, more = SEPARATOR[host.server], MORE[host.server]
    host.shell(
        f"systemctl disable --now {host.server} && mkdir -p /srv/1 /srv/2 /etc/my.cnf.d && chown -R"
        " mysql: /srv && rm /etc/mysql/my.cnf && touch /etc/mysql/my.cnf"
    )
    host.shell("cat > /etc/my.cnf", input=MY_CNF % "/srv/1/mysql.sock")
    host.shell("cat > /etc/my.cnf.d/server.cnf", input=SEVERAL.format(dot=dot, more=more))
    if host.server == "mysql":
        host.shell(
            "cat > '/etc/systemd/system/mysqld@.service' && systemctl daemon-reload", input=TEMPLATE
        )
    for number in "12":
        if host.server == "mysql":
            host.shell(f"mysqld --initialize-insecure --user=mysql --datadir=/srv/{number}/data")
        host.shell(
            "systemctl enable --now"
            f" { {'mysql': 'mysqld', 'mariadb': 'mariadb'}[host.server] }@{number}"
        )
    host.wait()
    # mariadb-install-db makes one, Debian's package does not: as mariadb-secure-installation does.
    host.sql("DROP DATABASE test" if host.server == "mariadb" else "SELECT 1")


class Pair:
    def __init__(self, source, replica, folder):
        self.source, self.replica = source, replica
        self.unit = {"mysql": "mysqld@1", "mariadb": "mariadb@1"}[source.server]
        # A login file on one, variables on the other.
        source.shell("umask 077; cat > ~/.my.cnf", input=f"[client]\nsocket={SOCKET}\n")
        self.file = inventory(
            folder,
            {source: {"ansible_become_password": SUDO_PASSWORD}},
            {replica: {"semisync_login_unix_socket": "/srv/1/mysql.sock"}},
            ansible_user=OPS,
            ansible_become=True,
        )

    def play(self, name, *arguments):
        result = playbook(name, self.file, *arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def neighbour(self):
        """What the second server of the replica's host is, and since when it runs."""
        return self.replica.shell(
            f"systemctl show --property=MainPID --value '{self.unit[:-1]}2';"
            f" {CLIENTS[self.replica.server]} --socket={NEIGHBOUR} --batch --skip-column-names",
            input=(
                "SHOW GLOBAL VARIABLES LIKE 'rpl_semi%'; SHOW GLOBAL VARIABLES LIKE 'log_bin';"
                " SELECT @@server_id"
            ),
        ).stdout


@pytest.fixture(
    scope="module",
    params=[("mysql", ""), pytest.param(("mariadb", "13"), marks=pytest.mark.long)],
    ids=lambda param: param[0],
)
def pair(request, tmp_path_factory):
    for source, replica in hosts(
        ("source", *request.param),
        ("replica", *request.param),
        turn="live-layout-" + request.param[0],
    ):
        administrator(source, SUDO_PASSWORD)
        administrator(replica)
        renamed(source)
        doubled(replica)
        yield Pair(source, replica, tmp_path_factory.mktemp("layout"))


def files(host):
    return host.shell(
        "find /etc/my.cnf /etc/my.cnf.d /etc/mysql -type f -name '*.cnf' -newer"
        " /etc/my.cnf.d/server.cnf"
    ).stdout.split()


@pytest.mark.long
def test_check_names_the_right_file_and_writes_none(pair):
    said = pair.play("site", "--check", "--diff")
    assert (
        "/etc/my.cnf.d/zz-dbre-semisync.cnf" in said
        and files(pair.source) == files(pair.replica) == []
    )


def test_site_finds_its_way_and_a_second_run_changes_nothing(pair):
    before = pair.neighbour()
    pair.play("site")
    assert files(pair.source) == ["/etc/my.cnf.d/zz-dbre-semisync.cnf"]
    suffix = SEPARATOR[pair.replica.server] + "1"
    assert files(pair.replica) == [f"/etc/my.cnf.d/zz-dbre-semisync{suffix}.cnf"]
    assert f"[mysqld{suffix}]\n" in pair.replica.shell("cat /etc/my.cnf.d/zz-dbre-semisync*").stdout
    again = pair.play("site")
    assert "changed=1" not in again and "changed=2" not in again, again
    assert pair.neighbour() == before


@pytest.mark.long
def test_the_drill_stops_and_starts_the_right_server(pair):
    before = pair.neighbour()
    said = pair.play("drill", "-e", "semisync_allow_disruption=true")
    assert f"{pair.unit} is stopped" in said, said
    assert pair.neighbour() == before


@pytest.mark.long
def test_after_a_restart_of_both_hosts_services_all_is_as_before(pair):
    pair.source.shell("systemctl restart mysqld")
    pair.replica.shell(f"systemctl restart '{pair.unit}'")
    pair.source.wait()
    pair.replica.wait()
    again = pair.play("site")
    assert "changed=1" not in again and "changed=2" not in again, again
    pair.play("verify")


@pytest.mark.long
def test_remove_takes_our_lines_and_no_others(pair):
    before = pair.neighbour()
    pair.play("remove")
    for host in (pair.source, pair.replica):
        assert not [path for path in files(host) if "dbre-semisync" in path]
    assert pair.neighbour() == before
