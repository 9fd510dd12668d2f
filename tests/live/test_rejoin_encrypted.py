# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that encrypt their binary logs: only the server itself can read the log of one that died.
So salvage and the verdict by the files say that they cannot, and the server is asked once it runs.
"""

from __future__ import annotations

import pytest

from support.acknowledged import RELEASES
from support.dying import UNITS, certificate
from support.live_hosts import hosts, playbook, words
from support.rejoining import ACCEPTED, ALONE, Cluster, answers

pytestmark = pytest.mark.long

# Each server's own way to a key: Debian's MySQL has the component, its MariaDB the plugin. MySQL's
# unit starts its program as root first, which would make the file, so that the server cannot write.
ENCRYPT = {
    "mysql": """
printf '{"components": "file://component_keyring_file"}' >/usr/sbin/mysqld.my
printf '{"path": "/var/lib/mysql-keyring/keys", "read_only": false}' \
    >/usr/lib/mysql/plugin/component_keyring_file.cnf
install -o mysql -g mysql -m 600 /dev/null /var/lib/mysql-keyring/keys
printf '[mysqld]\\nbinlog_encryption = ON\\n' >/etc/mysql/conf.d/encrypted.cnf
""",
    "mariadb": """
printf '1;%064d\\n' 7 >/etc/mysql/keys.txt && chmod 644 /etc/mysql/keys.txt
printf '[mysqld]\\nplugin_load_add = file_key_management\\nencrypt_binlog = ON
file_key_management_filename = /etc/mysql/keys.txt\\n' >/etc/mysql/conf.d/encrypted.cnf
""",
}
ENCRYPTS = {"mysql": "binlog_encryption", "mariadb": "encrypt_binlog"}
SEED = ("-e", "semisync_rejoin_way=seed")


@pytest.fixture(scope="module", params=["mysql", "mariadb"], name="cluster")
def fixture_cluster(request, tmp_path_factory):
    server = request.param
    wanted = ((name, server, RELEASES[server]) for name in ("source", "replica1", "replica2"))
    for made in hosts(*wanted, turn="live-rejoin-encrypted"):
        for host in made:
            host.shell(ENCRYPT[server])
            host.shell(f"systemctl restart {UNITS[server]}.service")
            host.wait()
            assert host.value(f"SELECT @@GLOBAL.{ENCRYPTS[server]}") == "1"
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        cluster.run("site")
        cluster.fill()
        if server == "mysql":
            # No way of copying takes a table without transactions with it.
            cluster.source.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
        cluster.run("verify")
        yield cluster


def untouched(host):
    """What must be as it was on a host whose server does not run: options, log, key."""
    return host.shell(
        "find /etc/mysql /var/lib/mysql*/ -type f -exec stat --format='%n %s %U %a %y' {} + | sort"
    ).stdout


def started(host):
    """As the refusal says: the failover's option file lets no client in."""
    host.shell(f"systemctl start {UNITS[host.server]}.service")
    host.wait()
    assert host.value("SELECT @@GLOBAL.read_only") == "1"


def nothing_tells(cluster, old):
    """The verdict on one whose server does not run, in check mode and without."""
    before = untouched(old)
    for arguments in (("--check",), ()):
        said, kept = cluster.rejoin(old, *arguments, *ACCEPTED, good=False)
        assert (kept["verdict"], kept["read_by"]) == ("cannot tell", None), said
        assert "encrypted" in kept["why"][0] and "keeps it read-only" in kept["why"][0]
        assert f"systemctl start {UNITS[old.server]}" in said
        assert [way["name"] for way in kept["ways"] if not way["closed"]] == ["seed"]
    print(kept["why"])
    assert answers(old, "SELECT 1") is None, "it was started"
    assert untouched(old) == before


def test_salvage_from_it_is_refused_by_name_and_nothing_is_changed(cluster):
    # The last look has to know that the source may confirm something alone.
    cluster.source.sql(f"SET GLOBAL {cluster.timeout} = 500")
    print(words(playbook("verify", cluster.file))[-600:])
    old = cluster.die(alone=ALONE)
    others = [host for host in cluster.hosts if host is not old]
    before = [host.fingerprint() for host in others]
    salvage = ("-e", "semisync_failover_salvage=true")
    for arguments in ((*salvage, "--check"), salvage):
        said = cluster.run("failover", *arguments, good=False)
        assert "salvage_encrypted" in said
    assert [host.fingerprint() for host in others] == before
    assert {host.value("SELECT @@GLOBAL.read_only") for host in others} == {"1"}
    accepted = ("-e", '{"semisync_failover_accept": ["salvage_encrypted"]}')
    cluster.take_over(*salvage, *accepted)
    kept = certificate(cluster.folder)
    print(kept["verdict"], kept["salvage"], kept["window"])
    assert kept["verdict"] != "proven" and kept["salvage"] is None


def test_the_verdict_is_had_from_its_server_which_is_started_read_only(cluster):
    (old,) = [host for host in cluster.hosts if answers(host, "SELECT 1") is None]
    nothing_tells(cluster, old)
    started(old)
    said, kept = cluster.rejoin(old, "--check", *ACCEPTED, good=False)
    assert kept["read_by"] == "connection"
    if cluster.mariadb:
        # Nothing says that the last number of a server stands for all before it.
        assert kept["verdict"] == "cannot tell", said
        assert "gtid_strict_mode is not ON" in said
    else:
        assert kept["verdict"] == "phantoms", said
        assert "Their content cannot be shown" in said
        assert "encrypted" in kept["phantoms"]["not_shown"]
    said, kept = cluster.rejoin(old, *SEED)
    assert (kept["outcome"], kept["way"]) == ("done", "seed"), said
    cluster.same_everywhere()
    cluster.healthy()


def test_one_without_phantoms_is_clean_by_its_server_and_follows(cluster):
    if cluster.mariadb:
        for host in cluster.hosts:
            strict = "[mysqld]\ngtid_strict_mode = ON\n"
            host.shell("cat >/etc/mysql/conf.d/strict.cnf", input=strict)
            host.sql("SET GLOBAL gtid_strict_mode = ON")
        cluster.run("verify")
    old, _new = cluster.crash()
    nothing_tells(cluster, old)
    started(old)
    said, kept = cluster.rejoin(old, *ACCEPTED)
    assert (kept["outcome"], kept["way"], kept["verdict"]) == ("done", "attach", "clean"), said
    cluster.same_everywhere()
    cluster.healthy()


def test_what_it_has_alone_is_named_by_its_server(cluster):
    old, _new = cluster.crash(alone=ALONE[1:])
    started(old)
    said, kept = cluster.rejoin(old, *ACCEPTED, good=False)
    assert (kept["verdict"], kept["read_by"]) == ("phantoms", "connection"), said
    assert kept["phantoms"]["gtids"] and "encrypted" in kept["phantoms"]["not_shown"]
    said, kept = cluster.rejoin(old, *SEED)
    assert kept["outcome"] == "done", said
    cluster.same_everywhere()
    cluster.healthy()
