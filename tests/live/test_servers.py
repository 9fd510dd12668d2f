"""Every server that can be had: bare hosts become a verified pair, a second run changes nothing."""

import json

import pytest

from support.live_hosts import hosts, inventory, playbook

pytestmark = pytest.mark.own_target

SERVERS = [("mysql", ""), ("mariadb", "11"), ("mariadb", "12"), ("mariadb", "13")]


@pytest.mark.parametrize("server", SERVERS, ids="".join)
def test_bare_hosts_become_a_verified_pair(server, tmp_path):
    for source, replica in hosts(("source", *server), ("replica", *server)):
        file = inventory(tmp_path, {source: {}}, {replica: {}})
        first = playbook(
            "site", file, "-e", "semisync_baseline=true", "-e", "semisync_allow_disruption=true"
        )
        assert first.returncode == 0, first.stdout + first.stderr
        rows = json.loads((tmp_path / "results/default/latest/checkpoints.json").read_text())
        missed = {row["id"] for row in rows if row["outcome"] != "passed"}
        assert missed == (set() if server[0] == "mysql" else {"P3.1", "P4.1"})
        second = playbook("site", file)
        assert second.returncode == 0 and "changed=1" not in second.stdout, second.stdout
        assert playbook("verify", file).returncode == 0
