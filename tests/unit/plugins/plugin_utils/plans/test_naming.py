# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From old plugin names to new ones and back: what is planned, and what is refused."""

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import option_files
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rules_source
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import naming, problems
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans.apply import set_up_plan
from ansible_collections.dbre.semisync.tests.unit import samples

OLD = samples.settings(plugin_names="old")
NEW = samples.settings(plugin_names="new")
AUTO = samples.settings(plugin_names="auto")


def cluster(wanted, version="8.4.3", replicas=2):
    """A semi-synchronous cluster that the collection has set up with these names."""
    members = samples.bare("mysql", replicas, version)
    samples.carry_out(members, wanted)
    assert samples.changed(samples.plans(members, AUTO)) == []
    return members


@pytest.mark.parametrize("before,after,word", [(OLD, NEW, "new"), (NEW, OLD, "old")])
def test_the_plugins_of_every_replica_are_exchanged_without_a_restart(before, after, word):
    found = samples.plans(cluster(before), after)
    for planned in (found["db2"], found["db3"]):
        assert (planned["renames"], planned["restart_reasons"]) == (word, [])
        assert planned["server_changes"] and planned["cluster_changes"]
        # The exchange keeps the values, and does what INSTALL PLUGIN would.
        assert (planned["set_global"], planned["install"]) == ({}, [])


def test_a_source_keeps_its_plugins_until_it_is_a_replica():
    members = cluster(OLD)
    assert (samples.plans(members, NEW)["db1"]["changes"], naming.kept(members[0], NEW)) == (
        False,
        "old",
    )
    assert [naming.kept(one, NEW) for one in members[1:]] == ["", ""]
    assert naming.kept(members[0], AUTO) == naming.kept(members[0], OLD) == ""


def test_the_option_file_follows_with_the_values_that_it_had():
    members = cluster(OLD)
    had = option_files.parse_ours(members[1].info["option_files"]["ours"])
    gets = option_files.parse_ours(samples.plans(members, NEW)["db2"]["option_file"]["content"])
    words = {"master": "source", "slave": "replica"}

    def new(name):
        for old, word in words.items():
            name = name.replace(f"sync_{old}_", f"sync_{word}_").replace(f"no_{old}", f"no_{word}")
            name = name.replace(f"for_{old}_", f"for_{word}_")
        return name

    assert {new(name): value for name, value in had.items()} == gets


@pytest.mark.parametrize("stop_after", range(6))
def test_a_run_that_stops_anywhere_is_finished_by_the_next(stop_after):
    members = cluster(OLD)
    samples.carry_out(members, NEW, stop_after=stop_after)
    samples.carry_out(members, NEW)
    for wanted in (NEW, AUTO):
        assert samples.changed(samples.plans(members, wanted)) == []
    kinds = [one.info["names"]["generation"] for one in members]
    assert kinds == ["master_slave", "source_replica", "source_replica"]


def test_without_semisync_as_for_a_baseline_nothing_is_exchanged():
    members = samples.bare("mysql", 1, "8.4.3")
    samples.carry_out(members, OLD, stage="replication")
    for one in members:
        samples.exchange_plugins(one.info, "old")
        for side in ("source", "replica"):
            samples.load(one.info, side)
    found = samples.plans(members, NEW, stage="replication")
    assert [planned["renames"] for planned in found.values()] == ["", ""]


@pytest.mark.parametrize("made", [OLD, NEW])
def test_names_stay_unless_others_are_asked_for(made):
    assert [one["renames"] for one in samples.plans(cluster(made), AUTO).values()] == [""] * 3
    assert [one["renames"] for one in samples.plans(cluster(made), made).values()] == [""] * 3


def test_a_bare_server_is_given_the_names_that_are_asked_for():
    members = samples.bare("mysql", 1, "8.4.3")
    planned = set_up_plan(members[0], members, OLD, False)
    assert (planned["plugin"], planned["renames"]) == ("rpl_semi_sync_master", "")
    assert "rpl_semi_sync_master_enabled" in option_files.parse_ours(
        planned["option_file"]["content"]
    )


@pytest.mark.parametrize(
    "engine,version,wanted,words",
    [
        (
            "mysql",
            "8.0.25",
            NEW,
            "MySQL 8.0.25 has no plugins with the new names. 8.0.26 and later",
        ),
        ("mysql", "5.7.44", NEW, "MySQL 5.7.44 has no plugins with the new names"),
        (
            "mysql",
            "9.5.0",
            OLD,
            "MySQL 9.5.0 has no plugins with the old names. Versions before 9.5",
        ),
        ("mariadb", "10.11.19", NEW, "semi-sync is built into 10.11.19"),
        ("mysql", "8.0.25", OLD, ""),
        ("mysql", "8.0.26", NEW, ""),
        ("mysql", "9.4.0", OLD, ""),
        ("mysql", "9.7.4", NEW, ""),
        ("mysql", "5.7.44", AUTO, ""),
        ("mariadb", "10.11.19", AUTO, ""),
    ],
)
def test_a_member_that_cannot_have_the_names_is_refused_with_the_reason(
    engine, version, wanted, words
):
    members = samples.bare(engine, replicas=1, version=version)
    members = [members[0].but(settings=wanted), members[1].but(settings=wanted)]
    found = naming.names_problems(members, wanted)
    assert [one.split(":")[0] for one in found] == (["db1", "db2"] if words else [])
    assert all(words in one for one in found)


def test_a_replica_of_before_8_0_26_is_refused_also_if_only_another_member_is_to_change():
    first, second = samples.bare("mysql", 1, "8.0.30")
    second.info["version"] = "8.0.25"
    (found,) = naming.names_problems([first.but(settings=NEW), second.but(settings=AUTO)], NEW)
    assert found.startswith("db2: ")


def test_a_replica_that_others_follow_is_refused():
    members = [one.but(settings=NEW) for one in cluster(OLD)]
    members[1].info["semisync"]["source"]["status"]["clients"] = "1"
    (found,) = naming.names_problems(members, NEW)
    assert found.startswith("db2: 1 semi-sync replicas follow it")


@pytest.mark.parametrize(
    "line",
    [
        {"plugin_load_add": "semisync_master.so"},
        {"plugin_load": "rpl_semi_sync_master=semisync_master.so;other.so"},
        {"rpl_semi_sync_slave_enabled": "1"},
    ],
)
def test_a_line_of_another_file_that_would_load_the_old_ones_again_is_named(line):
    one = cluster(OLD, replicas=1)[0]
    one.info["option_files"]["elsewhere"] = line
    (found,) = naming.names_problems([one.but(settings=NEW)], NEW)
    assert f"sets {next(iter(line))} =" in found and "Remove that" in found
    assert naming.names_problems([one.but(settings=AUTO)], AUTO) == []


def test_a_persisted_value_of_the_old_names_is_named():
    one = cluster(OLD, replicas=1)[0]
    one.info["persisted"] = {"rpl_semi_sync_master_timeout": "700"}
    (found,) = naming.names_problems([one.but(settings=NEW)], NEW)
    assert "Run RESET PERSIST rpl_semi_sync_master_timeout" in found


def test_an_option_on_the_command_line_is_named():
    one = cluster(OLD, replicas=1)[0]
    one.info["option_files"]["command_line"] = {"plugin_load_add": "semisync_master.so"}
    (found,) = naming.names_problems([one.but(settings=NEW)], NEW)
    assert "started with plugin_load_add" in found


def test_a_source_with_other_names_is_reported_until_it_is_a_replica():
    source = cluster(OLD)[0]
    (found,) = rules_source.names_findings(source, NEW)
    assert found["id"] == "differs_from_inventory"
    assert found["evidence"] == "its plugins have the old names, semisync_plugin_names is new"
    assert rules_source.names_findings(source, OLD) == []


def beside_old_names(version, elsewhere):
    """A source with the old names, and a bare replica of a version with an option file of its own;
    why a run that asks for no names is refused.
    """
    members = [one.but(settings=AUTO) for one in cluster(OLD, replicas=1)]
    members[1].info = samples.bare("mysql", 1, version)[1].info
    members[1].info["option_files"]["elsewhere"] = elsewhere
    assert problems.may_rename(members, AUTO)
    return naming.names_problems(members, AUTO)


def test_a_new_replica_that_has_no_plugins_with_its_source_s_names_keeps_its_own_lines():
    assert beside_old_names("9.7.4", {"rpl_semi_sync_replica_enabled": "1"}) == []
    members = [one.but(settings=AUTO) for one in cluster(NEW, replicas=1)]
    members[1].info = samples.bare("mysql", 1, "8.0.25")[1].info
    members[1].info["option_files"]["elsewhere"] = {"rpl_semi_sync_slave_enabled": "1"}
    assert naming.names_problems(members, AUTO) == []
    assert naming.renamed(members[1], AUTO, members[0]) is members[1]


@pytest.mark.parametrize(
    "line", [{"rpl_semi_sync_replica_enabled": "1"}, {"plugin_load_add": "semisync_replica.so"}]
)
def test_a_line_that_is_in_the_way_of_the_source_s_names_is_explained_by_the_source(line):
    (found,) = beside_old_names("8.4.3", line)
    ((name, value),) = line.items()
    assert found == (
        f"db2: an option file that is not the collection's sets {name} = {value}, which belongs to"
        " the plugins with the new names; its source db1 has the old ones. Remove that"
    )


TOOLS = {
    "dump": "/usr/bin/mysqldump",
    "client": "/usr/bin/mysql",
    "backup": None,
    "stream": None,
    "clone": "/usr/lib/mysql/plugin/mysql_clone.so",
}


def joined(made):
    """A cluster with these names and a schema, and a bare server in a replica's place."""
    members = cluster(made)
    members[2].info = samples.bare("mysql", 2, "8.4.3")[2].info
    for one in members:
        one.info.update(tools=dict(TOOLS), seed=None)
    members[0].info["schemas"] = ["shop"]
    return members


@pytest.mark.parametrize(
    "made,plugin,word",
    [(OLD, "rpl_semi_sync_slave", "old"), (NEW, "rpl_semi_sync_replica", "new")],
)
def test_a_new_replica_gets_the_names_of_its_source_which_a_clone_needs(made, plugin, word):
    planned = samples.plans(joined(made), AUTO)["db3"]
    assert (planned["plugin"], planned["plugin_names"]) == (plugin, word)
    assert planned["seed"]["method"] == "clone"


@pytest.mark.parametrize(
    "method,words",
    [("auto", ""), ("dump", ""), ("clone", "the old names on the source, and the new names on")],
)
def test_a_replica_with_other_names_than_its_source_is_not_cloned(method, words):
    members = joined(OLD)
    wanted = samples.settings(plugin_names="new", seed_method=method)
    found = problems.cluster_problems(members, wanted)
    assert bool(found) is bool(words) and words in "".join(found)
    if not words:
        assert samples.plans(members, wanted)["db3"]["seed"]["method"] == "dump"


def test_a_replica_that_has_other_names_already_keeps_them_and_is_not_cloned():
    members = joined(OLD)
    samples.install_plugin(members[2].info, "replica")
    planned = samples.plans(members, AUTO)["db3"]
    assert planned["seed"]["method"] == "dump" and planned["renames"] == ""
