"""The finding next_version on a real server: an option that a newer version refuses."""

from __future__ import annotations

import json

from support.live_hosts import hosts, inventory, playbook

FILE = "/etc/mysql/mariadb.conf.d/zz-old.cnf"


def test_an_option_that_a_newer_version_refuses_is_a_note(tmp_path):
    wanted = (("source", "mariadb", "12"), ("replica", "mariadb", "12"))
    for made in hosts(*wanted, turn="live-next-version"):
        file = inventory(tmp_path, {made[0]: {}}, {made[1]: {}})
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        made[1].shell(f"printf '[mariadbd]\\ninnodb_defragment_n_pages = 7\\n' > {FILE}")
        done = playbook("verify", file)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads((tmp_path / "results/default/latest/findings.json").read_text())
        rows = found if isinstance(found, list) else found["findings"]
        (one,) = [row for row in rows if row["id"] == "next_version"]
        assert one["host"] == made[1].name and one["severity"] == "info"
        assert one["evidence"] == "MariaDB 11.4 refuses innodb_defragment_n_pages"
