# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import seed
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.problems import cluster_problems
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ("mysql", "mariadb")
ALL_TOOLS = {
    "dump": "/usr/bin/mysqldump",
    "client": "/usr/bin/mysql",
    "backup": "/usr/bin/mariadb-backup",
    "stream": "/usr/bin/mbstream",
    "clone": "/usr/lib/mysql/plugin/mysql_clone.so",
}


def with_history(engine):
    """A bare pair whose source holds the schema shop."""
    members = samples.bare(engine)
    for member in members:
        member.info["tools"] = dict(
            ALL_TOOLS, clone=None if engine == "mariadb" else ALL_TOOLS["clone"]
        )
        member.info["seed"] = None
    members[0].info["variables"]["gtid_mode"] = "ON"
    members[0].info["schemas"] = ["shop"]
    return members


def step(members, **changes):
    return seed.step(members[1], members, samples.settings(**changes))


@pytest.mark.parametrize("engine,method", [("mysql", "clone"), ("mariadb", "backup")])
def test_a_source_with_history_is_copied_by_files(engine, method):
    members = with_history(engine)
    assert step(members)["method"] == method
    assert bool(step(members)["tls"]) == (method == "clone")
    assert seed.problem(members[1], members, samples.settings()) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_copied_where_nothing_is_missing(engine):
    members = samples.bare(engine)
    assert step(members) is None
    assert step(with_history(engine), seed_method="none") is None
    assert seed.step(members[0], members, samples.settings()) is None


@pytest.mark.parametrize(
    "engine,missing,words",
    [
        ("mysql", "clone", "no mysql_clone.so"),
        ("mariadb", "backup", "no mariadb-backup"),
        ("mariadb", "stream", "no mbstream"),
    ],
)
def test_a_dump_is_the_way_where_the_faster_one_cannot_be(engine, missing, words):
    members = with_history(engine)
    members[1].info["tools"][missing] = None
    assert step(members)["method"] == "dump"
    assert words in step(members)["because"]
    assert "semisync_seed_method is" in seed.problem(
        members[1],
        members,
        samples.settings(seed_method="backup" if engine == "mariadb" else "clone"),
    )


def test_clone_needs_one_version():
    members = with_history("mysql")
    members[1].info["names"]["copy_series"] = "8.4"
    assert step(members)["method"] == "dump"


def test_no_way_at_all_is_a_problem():
    members = with_history("mariadb")
    members[0].info["tools"] = dict.fromkeys(ALL_TOOLS)
    assert "no mysqldump" in seed.problem(members[1], members, samples.settings())


@pytest.mark.parametrize("engine", ENGINES)
def test_data_of_a_replicas_own_are_never_overwritten_without_consent(engine):
    members = with_history(engine)
    members[1].info["schemas"] = ["mine"]
    assert "mine. It is not overwritten" in seed.problem(members[1], members, samples.settings())
    assert seed.problem(members[1], members, samples.settings(seed_overwrite=True)) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_consent_seeds_a_replica_that_holds_other_data(engine):
    members = samples.bare(engine)
    members[1].info["schemas"] = ["mine"]
    members[1].info["tools"] = members[0].info["tools"] = ALL_TOOLS
    assert step(members) is None
    assert "semisync_seed_overwrite" in step(members, seed_overwrite=True)["why"]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_is_to_be_replaced_is_seeded_also_where_it_seems_to_lack_nothing(engine):
    members = samples.bare(engine)
    members[1].info["tools"] = members[0].info["tools"] = ALL_TOOLS
    members[1].replaced = True
    assert "is to be replaced" in step(members)["why"]
    assert step(members, seed_method="none") is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("state,again", [("loading", True), ("copying", False), ("done", False)])
def test_a_half_seeded_replica_is_seeded_again_and_holds_no_data_of_its_own(engine, state, again):
    members = with_history(engine)
    members[1].info.update(schemas=["shop"], seed={"state": state})
    problem = seed.problem(members[1], members, samples.settings())
    assert (problem == "") is again
    if again:
        assert "interrupted" in step(members)["why"]


def test_a_source_by_file_and_position_gives_no_copy():
    members = with_history("mysql")
    one = samples.replicating("mysql", 2)
    one[0].info["variables"]["gtid_mode"] = "OFF"
    one[0].info["schemas"], one[2].info["channel"] = ["shop"], None
    one[2].info["schemas"], one[2].info["gtid"]["gtid_executed"] = [], ""
    assert "file and position" in seed.problem(one[2], one, samples.settings())
    assert not seed.by_position(members[0], members)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_schema_is_no_data(engine):
    """As test, which a new MySQL 5.5 or 5.6 has."""
    members = samples.bare(engine)
    for member in members:
        member.info.update(schemas=["test"], empty_schemas=["test"], tools=ALL_TOOLS)
    assert step(members) is None
    assert cluster_problems(members, samples.settings()) == []
    # Nor is it in the way of the source's data.
    members[0].info["variables"]["gtid_mode"] = "ON"
    members[0].info["schemas"] = ["shop", "test"]
    assert "(schemas shop)" in step(members)["why"]
    assert seed.problem(members[1], members, samples.settings()) == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_accounts_are_no_data(engine):
    members = samples.bare(engine)
    for member in members:
        member.info["accounts"] = [
            {"user": "repl", "host": "%", "privileges": [], "needs_ssl": False}
        ]
    assert step(members) is None
    assert cluster_problems(members, samples.settings()) == []


def test_an_empty_schema_that_a_replica_lacks_is_brought_to_it():
    # The first table in it would stop the replica.
    members = with_history("mysql")
    members[0].info.update(schemas=["test"], empty_schemas=["test"])
    assert "the empty schemas test from before" in step(members)["why"]
    members[1].info.update(schemas=["test"], empty_schemas=["test"])
    assert step(members) is None


def test_a_schema_of_which_nobody_knows_that_it_is_empty_is_data():
    members = with_history("mysql")
    for member in members:
        member.info.update(schemas=["test"], empty_schemas=[])
    assert "test. It is not overwritten" in seed.problem(members[1], members, samples.settings())
