# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a former source, on servers of other versions: MariaDB of Debian 13, and the MySQL
of each tarball that TARBALLS names. It is the same by the files of a server that does not run, and
by the connection of one that was started.
"""

from __future__ import annotations

import os
import pathlib

import pytest

from support.dying import UNITS
from support.live_hosts import hosts
from support.rejoining import ACCEPTED, ALONE, Cluster, answers

pytestmark = pytest.mark.own_target

SERVERS: list[tuple[str, str | None, str | None]] = [("mariadb", "13", None)]
SERVERS += [("mysql", None, path) for path in os.environ.get("TARBALLS", "").split()]


def named(server):
    _kind, release, tarball = server
    return pathlib.Path(tarball).name if tarball else f"mariadb-{release}"


@pytest.fixture(scope="module", params=SERVERS, ids=named, name="cluster")
def fixture_cluster(request, tmp_path_factory):
    wanted = ((name, *request.param) for name in ("source", "replica1", "replica2"))
    for made in hosts(*wanted, turn="live-verdict"):
        cluster = Cluster(made, tmp_path_factory.mktemp("cluster"))
        cluster.run("site")
        cluster.fill()
        cluster.run("verify")
        yield cluster


def test_one_without_phantoms_is_clean_and_comes_back(cluster):
    old, _new = cluster.crash()
    said, kept = cluster.rejoin(old, "--check", *ACCEPTED)
    assert (kept["verdict"], kept["read_by"]) == ("clean", "files"), said
    said, kept = cluster.rejoin(old, *ACCEPTED)
    assert (kept["outcome"], kept["way"]) == ("done", "attach"), said
    cluster.same_everywhere()
    # The next failover asks for a look at the new source.
    cluster.healthy()


def test_the_verdict_is_one_by_the_files_and_by_the_connection(cluster):
    old, _new = cluster.crash(alone=ALONE)
    said, files = cluster.rejoin(old, "--check", *ACCEPTED, good=False)
    assert (files["verdict"], files["read_by"]) == ("phantoms", "files"), said
    assert files["phantoms"]["count"] == len(ALONE)
    assert "CREATE TABLE app.phantom" in said
    assert answers(old, "SELECT 1") is None, "it was started"
    old.shell(f"systemctl start {UNITS[old.server]}.service")
    old.wait()
    said, asked = cluster.rejoin(old, "--check", *ACCEPTED, good=False)
    assert (asked["verdict"], asked["read_by"]) == ("phantoms", "connection"), said
    for name in ("gtids", "count", "tables"):
        assert asked["phantoms"][name] == files["phantoms"][name], name
