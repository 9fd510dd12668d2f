"""A pair that replicates by file and position, with one /etc/my.cnf: semi-sync comes, all else
stays.
"""

import json
import re

import pytest

from support.live_hosts import NO_SCHEDULER, hosts, inventory, playbook, words
from support.statements import CHANGE

MY_CNF = """# our servers, do not touch
[client]
socket = /run/mysqld/mysqld.sock

[mysqld]
server_id = {number}
user = mysql
{pid_file}bind-address = 0.0.0.0
log_bin = ours-bin
port = 3306
\t# tabs, trailing spaces  \t
max_connections=77
{more}"""


# server_id of source and replica.
NUMBERS = (10, 20)
# The servers' own: a replica that has lost its source lets so many seconds pass.
RETRY = 60


def my_cnf(host, number):
    """One option file without an include directory."""
    more = "gtid_mode = OFF\nenforce_gtid_consistency = OFF\n" if host.server == "mysql" else ""
    more += NO_SCHEDULER[host.server]
    pid_file = "pid-file = /run/mysqld/mysqld.pid\n" if host.server == "mariadb" else ""
    return MY_CNF.format(number=number, more=more, pid_file=pid_file)


def one_file(host, number):
    """That as /etc/my.cnf; an empty file stays where the unit looks for one."""
    host.shell(
        "rm /etc/mysql/my.cnf && touch /etc/mysql/my.cnf && cat > /etc/my.cnf && systemctl restart "
        + host.server,
        input=my_cnf(host, number),
    )
    host.wait()


@pytest.fixture(
    scope="module", params=[("mysql", ""), ("mariadb", "12")], ids=lambda param: param[0]
)
def pair(request):
    for source, replica in hosts(
        ("source", *request.param), ("replica", *request.param), turn="live-existing"
    ):
        for host, number in zip((source, replica), NUMBERS, strict=True):
            one_file(host, number)
        source.sql(
            "CREATE USER old@'%' IDENTIFIED BY 'old'; GRANT REPLICATION SLAVE ON *.* TO old@'%';"
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY)"
        )
        replica.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY)")
        change, position, _dummy = CHANGE[source.server]
        change = change.replace("CONNECT_RETRY=1", f"CONNECT_RETRY={RETRY}")
        file, offset = source.value(position).split()[:2]
        replica.sql(change % (source.name, file, offset))
        source.sql("INSERT INTO shop.orders VALUES (1)")
        yield source, replica


def channel(replica):
    """How the replica reads its source: host, account, and whether by GTID."""
    status = replica.sql(CHANGE[replica.server][2], form="--vertical").stdout
    wanted = ("_Host:", "_User:", "Auto_Position:", "Using_Gtid:", "Connect_Retry:")
    return [line.strip() for line in status.splitlines() if any(word in line for word in wanted)]


def variables(host):
    return host.value(
        "SELECT @@server_id, @@log_bin, @@max_connections, @@port, @@log_bin_basename"
    )


def test_semisync_is_added_and_nothing_else_changes(pair, tmp_path):
    source, replica = pair
    before = [channel(replica), variables(source), variables(replica)]
    file = inventory(tmp_path, {source: {}}, {replica: {}}, semisync_replication_password="")
    result = playbook("site", file)
    assert result.returncode == 0, result.stdout
    assert [channel(replica), variables(source), variables(replica)] == before
    assert f"Connect_Retry: {RETRY}" in before[0]
    # The source restarted, and its replica was told to connect: by itself it waits for RETRY.
    assert source.seconds_alone() < RETRY / 2
    rows = json.loads((tmp_path / "results/default/latest/checkpoints.json").read_text())
    assert {row["outcome"] for row in rows} <= {"passed", "not_applicable"}
    assert {"P0", "P1.2", "P3.4", "P4.4", "P5.1", "P5.2"} <= {
        row["id"] for row in rows if row["outcome"] == "passed"
    }
    assert source.value("SELECT COUNT(*) FROM mysql.user WHERE User = 'repl'") == "0"
    for host, number in zip(pair, NUMBERS, strict=True):
        kept, block = host.shell("cat /etc/my.cnf").stdout.split("# BEGIN dbre.semisync\n")
        assert kept == my_cnf(host, number)
        assert block.endswith("# END dbre.semisync\n")
        assert "server_id" not in block and "gtid" not in block
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout


# MariaDB has semi-sync built in, and no rows for it.
@pytest.mark.only("mysql")
def test_a_row_of_mysql_plugin_whose_library_is_gone_is_refused_with_the_way_out(pair, tmp_path):
    """What an upgrade from the old plugins leaves behind: the server starts, without the plugin."""
    source, replica = pair
    source.sql(
        "SET SESSION sql_log_bin = 0; INSERT INTO mysql.plugin VALUES ('rpl_semi_sync_master',"
        " 'semisync_master.so')"
    )
    source.shell("systemctl restart mysql")
    source.wait()
    file = inventory(
        tmp_path,
        {source: {}},
        {replica: {}},
        semisync_replication_password="",
        semisync_timeout=2500,
    )
    before = [host.fingerprint() for host in pair]
    refused = playbook("site", file)
    assert refused.returncode != 0 and "changed=1" not in refused.stdout, refused.stdout
    assert [host.fingerprint() for host in pair] == before
    said = words(refused)
    assert "Nothing was changed." in said and source.name in said
    statements = re.search(
        r"SET SESSION sql_log_bin = 0; DELETE FROM mysql\.plugin WHERE name IN"
        r" \('rpl_semi_sync_master'\)",
        said,
    )
    assert statements, said
    executed = [host.value("SELECT @@gtid_executed") for host in pair]
    source.sql(statements.group(0))
    assert [host.value("SELECT @@gtid_executed") for host in pair] == executed
    done = playbook("site", file)
    assert done.returncode == 0, done.stdout
    assert (
        source.value("SELECT @@rpl_semi_sync_source_timeout, @@rpl_semi_sync_source_enabled")
        == "2500\t1"
    )
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout
