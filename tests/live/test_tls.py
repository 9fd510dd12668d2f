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
    assert refused.returncode != 0 and "the old one is back" in words(refused)
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
    assert refused.returncode != 0 and "the old one is back" in words(refused)
    eventually(lambda: tls(mysql) == ("Yes", COPY, "No"))
    mysql.source.sql("SET SESSION sql_log_bin = 0; ALTER USER repl@'%' REQUIRE NONE")
    done(mysql.play("verify"))


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
