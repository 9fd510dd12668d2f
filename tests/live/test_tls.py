"""Replication over TLS, with the certificates that servers make for themselves, under writers."""

import pytest

from support.eventually import eventually
from support.live_hosts import PASSWORD, hosts, inventory, playbook, words
from support.pair import Pair, done, tls, under_load, wanted

COPY = "/var/lib/mysql/dbre-semisync-source-ca.pem"
# Each reads the binary log by TLS: (sessions, of them by TLS).
READERS = (
    "SELECT COUNT(*), SUM(CONNECTION_TYPE = 'SSL/TLS') FROM performance_schema.threads"
    " WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'"
)


def made(kind, release, folder):
    for source, replica in hosts(
        ("source", kind, release), ("replica", kind, release), turn="live-tls-" + kind
    ):
        pair = Pair(source, replica, inventory(folder, {source: {}}, {replica: {}}))
        done(pair.play("site"))
        source.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY)"
        )
        yield pair


@pytest.fixture(scope="module")
def mysql(tmp_path_factory):
    yield from made("mysql", "", tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory):
    yield from made("mariadb", "13", tmp_path_factory.mktemp("tls"))


def authority_of(source):
    """The certificate that MySQL made for its authority; it ends the file with a zero byte."""
    return source.shell("tr -d '\\000' < /var/lib/mysql/ca.pem").stdout


def unchanged(result):
    assert "changed=1" not in done(result).stdout and "changed=2" not in result.stdout, (
        result.stdout
    )


# A login of the account without TLS, and with; the password comes by the environment.
PLAIN = {
    "mysql": "mysql --ssl-mode={} --get-server-public-key",
    "mariadb": "mariadb {}",
}
MODES = {
    "mysql": {False: "DISABLED", True: "REQUIRED"},
    "mariadb": {False: "--skip-ssl", True: "--ssl --skip-ssl-verify-server-cert"},
}


def told(source, asking, with_tls):
    """What the account is told that logs in to one host from another."""
    client = PLAIN[source.server].format(MODES[source.server][with_tls])
    login = f"{client} -h {source.name} -u repl -e 'SELECT 1' 2>&1"
    return asking.shell(
        f"read -r MYSQL_PWD; export MYSQL_PWD; {login}",
        input=PASSWORD + "\n",
        check=False,
    ).stdout


def needs_tls(host):
    return host.value("SELECT ssl_type FROM mysql.user WHERE User = 'repl'") == "ANY"


def the_new_account_needs_tls(pair):
    source, replica = pair.source, pair.replica
    assert needs_tls(source) and needs_tls(replica)
    for there, asking in ((source, replica), (replica, source)):
        assert "Access denied" in told(there, asking, False)
        assert told(there, asking, True).split() == ["1", "1"]
    assert (tls(pair) or ())[:2] == ("Yes", "")
    unchanged(pair.play("site"))
    # A source that gives its role away follows with TLS, and back again.
    for target in (replica, source):
        done(pair.play("switchover", semisync_switchover_to=target.name), PASSWORD)
        unchanged(pair.play("site"))
    assert (tls(pair) or ())[:2] == ("Yes", "")
    said = words(done(pair.play("verify")))
    # MariaDB from 11.4 on knows its source by the password.
    assert ("replication_unverified" in said) is (source.server == "mysql")


def open_by_hand(pair):
    """The way to channels without TLS: refused until the account may."""
    refused = wanted(pair, "disabled")
    assert refused.returncode != 0 and "Nothing was changed" in words(refused)
    assert "ALTER USER 'repl'@'%' REQUIRE NONE" in words(refused)
    pair.source.sql("ALTER USER 'repl'@'%' REQUIRE NONE")
    eventually(lambda: not needs_tls(pair.replica))


@pytest.mark.long
def test_mysql_a_new_account_needs_tls_and_roles_change_with_it(mysql):
    the_new_account_needs_tls(mysql)


@pytest.mark.long
def test_mysql_the_way_to_no_tls_begins_with_the_account(mysql):
    open_by_hand(mysql)


@pytest.mark.long
def test_mysql_goes_to_the_authority_of_its_source_and_back_under_writers(mysql):
    assert tls(mysql) == ("Yes", "", "No")
    with under_load(mysql):
        done(wanted(mysql, "required", "generated"), PASSWORD)
        assert tls(mysql) == ("Yes", COPY, "No")
        assert mysql.source.value(READERS).split() == ["1", "1"]
        unchanged(wanted(mysql, "required", "generated"))
        done(wanted(mysql, "disabled"))
        assert (tls(mysql) or [None])[0] == "No"
        assert mysql.source.value(READERS).split() == ["1", "0"]
        unchanged(wanted(mysql, "disabled"))
        done(wanted(mysql, "required", "generated"))
    assert tls(mysql) == ("Yes", COPY, "No")
    copied = mysql.replica.shell("cat " + COPY).stdout
    assert copied == authority_of(mysql.source) and "PRIVATE" not in copied


@pytest.mark.long
def test_mysql_a_name_that_generated_certificates_lack_is_refused_by_the_replica(mysql):
    refused = wanted(mysql, "required", "generated", name=True)
    assert refused.returncode != 0 and "the old one was restored" in words(refused)
    eventually(lambda: tls(mysql) == ("Yes", COPY, "No"))


@pytest.mark.long
def test_mysql_another_authority_is_not_believed_until_site_brings_it(mysql):
    mysql.source.shell("cd /var/lib/mysql && rm *.pem && systemctl restart mysql")
    mysql.source.wait()
    error = "SELECT LAST_ERROR_MESSAGE FROM performance_schema.replication_connection_status"
    # Both authorities have the same name, so the signature is what is wrong.
    eventually(lambda: "SSL connection error" in mysql.replica.value(error))
    assert tls(mysql) is None
    done(wanted(mysql, "required", "generated"))
    assert tls(mysql) == ("Yes", COPY, "No")
    assert mysql.replica.shell("cat " + COPY).stdout == authority_of(mysql.source)
    unchanged(wanted(mysql, "required", "generated"))


@pytest.mark.long
def test_mysql_an_account_that_requires_tls_keeps_the_channel_on_it(mysql):
    mysql.source.sql("SET SESSION sql_log_bin = 0; ALTER USER repl@'%' REQUIRE SSL")
    refused = wanted(mysql, "disabled")
    assert refused.returncode != 0 and "may log in with TLS only" in words(refused)
    assert tls(mysql) == ("Yes", COPY, "No")
    mysql.source.sql("SET SESSION sql_log_bin = 0; ALTER USER repl@'%' REQUIRE NONE")
    done(mysql.play("verify"))


@pytest.mark.long
def test_mariadb_a_new_account_needs_tls_and_roles_change_with_it(mariadb):
    the_new_account_needs_tls(mariadb)
    done(mariadb.play("rotate", semisync_replication_password="a new one"))
    done(mariadb.play("rotate", semisync_replication_password=PASSWORD))
    assert needs_tls(mariadb.source) and needs_tls(mariadb.replica)


@pytest.mark.long
def test_mariadb_the_way_to_no_tls_begins_with_the_account(mariadb):
    open_by_hand(mariadb)


@pytest.mark.long
def test_mariadb_verifies_its_source_by_the_password(mariadb):
    assert tls(mariadb) == ("Yes", "", "Yes")
    unchanged(wanted(mariadb, "required"))
    said = wanted(mariadb, "required", "generated")
    assert said.returncode != 0 and "this server proves itself by the account's password" in words(
        said
    )
    with under_load(mariadb):
        done(wanted(mariadb, "disabled"))
        assert tls(mariadb) == ("No", "", "No")
        done(wanted(mariadb, "required"))
    assert tls(mariadb) == ("Yes", "", "Yes")
    unchanged(wanted(mariadb, "required"))


@pytest.mark.long
def test_mariadb_another_password_proves_the_source_as_well(mariadb):
    done(mariadb.play("rotate", semisync_replication_password="a new one"))
    assert tls(mariadb) == ("Yes", "", "Yes")
    done(mariadb.play("rotate", semisync_replication_password=PASSWORD))


@pytest.mark.long
def test_mariadb_does_not_believe_a_source_that_lets_everybody_in(mariadb):
    """Without a password there is nothing to prove the certificate with: the replica does not
    connect.
    """
    mariadb.source.sql(
        "SET SESSION sql_log_bin = 0; CREATE USER open@'%'; GRANT REPLICATION SLAVE ON *.* TO"
        " open@'%'"
    )
    mariadb.replica.sql(
        "STOP SLAVE; CHANGE MASTER TO MASTER_USER = 'open', MASTER_PASSWORD = ''; START SLAVE"
    )
    error = "SHOW SLAVE STATUS"
    eventually(
        lambda: "certificate" in mariadb.replica.sql(error, form="--vertical").stdout.lower()
    )
    assert tls(mariadb) is None
    assert playbook("verify", mariadb.file).returncode != 0
