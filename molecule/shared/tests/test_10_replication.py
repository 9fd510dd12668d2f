"""P0 and P1: replication was set up where there was none, and a row arrives."""

import re
import time


def test_the_source_writes_a_binary_log(source):
    assert source.variable("log_bin") == "ON"


def test_every_server_has_an_id_of_its_own(source, replica):
    ids = [source.variable("server_id"), replica.variable("server_id")]
    assert len(set(ids)) == 2 and "0" not in ids and "1" not in ids


def test_the_channel_runs_and_follows_by_gtid(replica, words):
    its = replica.channel()
    assert replica.runs(), its
    if words["plugins"]:
        assert its["Auto_Position"] == "1"
        assert replica.variable("gtid_mode") == "ON"
    else:
        assert its["Using_Gtid"] == "Slave_Pos"


def test_a_replica_can_become_a_source(replica, words):
    assert replica.variable("log_bin") == "ON"
    assert replica.variable(words["log_updates"]) == "ON"
    assert (
        replica.value("SELECT COUNT(*) FROM mysql.user WHERE User = 'repl' AND Host = '%'") == "1"
    )


def test_every_server_listens_for_the_others(server):
    assert server.variable("bind_address") == "*"
    assert server.start_options()["bind_address"] == "*"


def test_the_account_may_replicate_and_nothing_else(source):
    grants = [row[0] for row in source.sql("SHOW GRANTS FOR 'repl'@'%'")]
    assert len(grants) == 1
    assert re.match(r"GRANT REPLICATION SLAVE ON \*\.\* TO ", grants[0]), grants


def test_a_row_is_on_the_replica_within_a_second(source, replica):
    source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")
    newest = source.value("SELECT MAX(id) FROM important.stuff")
    until = time.monotonic() + 1
    while replica.value(f"SELECT COUNT(*) FROM important.stuff WHERE id = {newest}") != "1":
        assert time.monotonic() < until


def test_what_is_committed_is_on_the_disk(server):
    assert server.variable("sync_binlog") == "1"
    assert server.variable("innodb_flush_log_at_trx_commit") == "1"
