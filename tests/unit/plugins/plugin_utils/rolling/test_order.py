# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which servers are restarted, from every state that an interrupted run can leave, and
what is refused before the first.
"""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import (
    replicas_of,
    source_of,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._rolling import (
    mark,
    order,
    restart_premises,
    restart_steps,
)
from ansible_collections.dbre.semisync.tests.unit import samples

ENGINES = ["mysql", "mariadb"]
NOBODY_S = mark.Wish("", False, [], True, {})


def cluster(engine="mysql", replicas=2):
    """A cluster that the collection set up."""
    members = samples.bare(engine, replicas)
    for _round in range(2):
        samples.carry_out(members, samples.SETTINGS)
    for number, member in enumerate(members):
        member.info.update(
            pid=100 + number, unit=engine, uptime={"seconds": 5000, "since_reset": None}
        )
    return members


def begun(members, wish=NOBODY_S, hosts=None):
    hosts = [one.host for one in members] if hosts is None else hosts
    source = source_of(members).host
    target = order.chosen_target(members, wish.target) if source in hosts else ""
    return mark.made("2026-01-31T12:00:00Z", source, target, wish, members, hosts)


def restart(member):
    member.info.update(pid=member.info["pid"] + 1000, uptime={"seconds": 3, "since_reset": None})


def hand_over(members, to):
    """The role moves, as a switchover leaves the cluster."""
    for member in members:
        member.side = "source" if member.host == to else "replica"


def refused(members, known=None, wish=NOBODY_S):
    known = known or begun(members, wish)
    return restart_premises.restart_refusals(members, known, order.ordered(members, known), wish)


def test_replicas_are_first_and_the_source_is_last():
    members = cluster()
    assert order.ordered(members, begun(members)) == ("db1", ["db2", "db3"], "db2", True, "")


def test_the_replica_that_is_named_takes_over_and_the_role_returns_if_that_is_asked():
    members, wish = cluster(), NOBODY_S._replace(target="db3", back=True)
    assert order.ordered(members, begun(members, wish))[2:] == ("db3", True, "db1")


@pytest.mark.parametrize(
    "hosts,wanted",
    [
        ([], ("db1", [], "", False, "")),
        (["db3"], ("db1", ["db3"], "", False, "")),
        (["db1"], ("db1", [], "db2", True, "db1")),
        (["db1", "db2"], ("db1", ["db2"], "db2", True, "db1")),
    ],
)
def test_only_what_has_to_be_is_restarted_and_the_role_moves_for_its_source_only(hosts, wanted):
    members = cluster()
    known = begun(members, NOBODY_S._replace(back=True), hosts)
    assert order.ordered(members, known) == wanted


def ended_after(number, replicas, wish):
    """A cluster on which a run was ended after so many steps, and that run's mark."""
    members = cluster(replicas=replicas)
    known = begun(members, wish)
    whole = order.ordered(members, known)
    by_host = {one.host: one for one in members}
    steps = [*whole.replicas, "move", whole.source, "return"]
    for step in steps[:number]:
        if step == "move":
            hand_over(members, whole.target)
        elif step != "return":
            restart(by_host[step])
        elif wish.back:
            hand_over(members, whole.back)
    return members, known


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_from_wherever_a_run_was_ended_the_next_does_what_is_left(replicas, back):
    wish = NOBODY_S._replace(back=back)
    names = [f"db{number + 2}" for number in range(replicas)]
    home = "db1" if back else ""
    wanted = [("db1", names[number:], "db2", True, home) for number in range(replicas + 1)]
    # After the move the former source is a replica like another.
    wanted += [("db2", ["db1"], "", False, home), ("db2", [], "", False, home)]
    wanted += [("db1" if back else "db2", [], "", False, "")]
    assert [
        order.ordered(*ended_after(number, replicas, wish)) for number in range(replicas + 4)
    ] == wanted


def test_the_host_that_was_left_in_the_middle_is_first_whether_it_was_restarted_or_not():
    for restarted, down in itertools.product([False, True], repeat=2):
        members = cluster(replicas=3)
        known = {**begun(members), "working": "db3"}
        if restarted:
            restart(members[2])
        if down:
            members[2].info, members[2].unread = None, "stopped"
        assert order.ordered(members, known).replicas == ["db3", "db2", "db4"]
        assert restart_premises.reading_refusals(members, known) == []
        assert refused(members, known) == []


def test_a_server_that_does_not_run_for_another_reason_is_refused():
    members = cluster()
    members[2].info, members[2].unread, members[2].error = None, "stopped", "the server is stopped"
    known = {**begun(cluster()), "working": "db2"}
    assert restart_premises.reading_refusals(members, known) == ["db3: the server is stopped"]
    members = cluster()
    members[1].info, members[1].unread, members[1].error = None, "unreachable", "no route"
    assert restart_premises.reading_refusals(members, known) == ["db2: no route"]


def interrupted(operation, to="db2"):
    """Refusals of a run after one that was killed with a row of the journal that has no end."""
    members = cluster()
    numbers = [members[place].info["variables"]["server_uuid"] for place in (0, 1)]
    row = {
        "number": 3,
        "operation": operation,
        "run": "feed",
        "state": "begun",
        "from_host": "db1",
        "to_host": "db2",
        "from_id": numbers[0],
        "to_id": numbers[1],
        "happened": "2026-11-22T10:00:00Z",
        "position": "",
    }
    for one in members:
        one.info["journal"] = row
    known = {**begun(members), "moving": to}
    return " ".join(restart_premises.reading_refusals(members, known))


@pytest.mark.parametrize("back", [False, True])
def test_a_server_that_is_gone_keeps_the_run_from_being_done(back):
    members = cluster()
    known = begun(members, NOBODY_S._replace(back=back))
    for one in members:
        restart(one)
    hand_over(members, "db2")
    (gone, *left) = members
    assert order.ordered(left, known) == ("db2", [], "", False, "")
    assert refused(left, known) == []
    (said,) = restart_steps.left_undone(left, known)
    assert said.startswith("db1: it no longer belongs to the cluster") and gone.host == "db1"


def test_only_the_switchover_of_this_run_may_be_without_an_end():
    assert interrupted("switchover") == ""
    assert "neither done nor undone" in interrupted("failover")
    assert "neither done nor undone" in interrupted("switchover", to="db9")


@pytest.mark.parametrize(
    "pid,seconds,was",
    [(100, 5000, False), (100, 9000, False), (101, 9000, True), (100, 12, True), (None, 12, True)],
)
def test_a_restart_is_seen_by_the_process_and_by_the_time_that_it_runs(pid, seconds, was):
    (member, *_others) = cluster()
    known = mark.before(member.facts, "mysql")
    member.info.update(pid=pid, uptime={"seconds": seconds, "since_reset": None})
    assert mark.was_restarted(known, member.facts) is was


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cluster_that_is_whole_is_not_refused(engine):
    assert refused(cluster(engine)) == []


def no_unit(members):
    members[2].info["unit"] = None


def not_acknowledged(members):
    members[0].info["semisync"]["source"]["status"]["status"] = "OFF"


def stopped(members):
    members[1].channel["io_running"] = "No"


def asynchronous(members):
    members[1].info["semisync"]["replica"]["status"]["status"] = "OFF"


def by_position(members):
    members[2].channel["gtid"] = False


def not_enabled_at_start(members):
    enabled = members[1].info["names"]["replica"]["variables"]["enabled"]
    members[1].info["option_files"]["options"][enabled] = "0"


def not_loaded_at_start(members):
    del members[1].info["plugins_registered"]["rpl_semi_sync_replica"]


def writable_at_start(members):
    members[2].info["option_files"]["options"].pop("read_only")


def test_a_replica_that_starts_with_super_read_only_takes_no_writes():
    members = cluster()
    writable_at_start(members)
    members[2].info["option_files"]["options"]["super_read_only"] = "ON"
    assert refused(members) == []


@pytest.mark.parametrize(
    "spoil,words",
    [
        (no_unit, "db3: its server belongs to no systemd unit"),
        (not_acknowledged, "db1: its semi-sync status is OFF"),
        (stopped, "db2: its channel does not run (IO thread No"),
        (asynchronous, "db2: it does not acknowledge"),
        (by_position, "db3: it follows by file and position"),
        (
            not_enabled_at_start,
            "db2: rpl_semi_sync_replica_enabled is ON, and would be 0 after a restart (option"
            " file)",
        ),
        (not_loaded_at_start, "db2: The plugin would not be loaded at the next start"),
        (writable_at_start, "db3: read_only is ON, and would be OFF after a restart"),
    ],
)
def test_what_a_cluster_may_not_be_like(spoil, words):
    members = cluster()
    spoil(members)
    (said,) = refused(members)
    assert said.startswith(words)


@pytest.mark.parametrize(
    "wish,words",
    [
        (
            {"consent": False},
            "db1: this run disconnects the clients of each server once, and keeps writers out for"
            " about a second while the source's role moves; to consent, pass -e"
            " semisync_allow_disruption=true",
        ),
        ({"target": "db1"}, "semisync_restart_to is db1, which is not a replica"),
        ({"target": "db9"}, "semisync_restart_to is db9, which is not a replica"),
        ({"accepted": ["all"]}, "semisync_restart_accept has 'all', which is not a case"),
    ],
)
def test_what_may_not_be_asked_for(wish, words):
    (said,) = refused(cluster(), wish=NOBODY_S._replace(**wish))
    assert words in said


def test_a_unit_that_is_named_will_do():
    members = cluster()
    no_unit(members)
    assert refused(members, wish=NOBODY_S._replace(units={"db3": "mysql@1"})) == []


@pytest.mark.parametrize(
    "replicas,count,said",
    [
        (
            1,
            "1",
            "db1: a commit waits for 1 acknowledgement, and while a replica is restarted, no other"
            " can acknowledge",
        ),
        (
            2,
            "2",
            "db1: a commit waits for 2 acknowledgements, and while a replica is restarted, only 1"
            " of the others can acknowledge",
        ),
        (2, "1", ""),
        (3, "2", ""),
    ],
)
def test_too_few_replicas_are_accepted_by_name_only(replicas, count, said):
    members = cluster(replicas=replicas)
    source = members[0].info["semisync"]["source"]["variables"]
    source["wait_for_replica_count"] = count
    found = " ".join(refused(members))
    assert said in found and bool(said) is bool(found)
    accepted = NOBODY_S._replace(accepted=[restart_premises.UNPROTECTED])
    assert refused(members, wish=accepted) == []


def test_the_plan_says_each_step():
    members = cluster(replicas=1)
    known = begun(members, NOBODY_S._replace(back=True))
    lines = order.lines("shop", members, order.ordered(members, known), known, True)
    assert lines == [
        "Restart of the servers of cluster shop, one after another; this continues the run that"
        " began at 2026-01-31T12:00:00Z",
        "  1. db2: restart, while no replica acknowledges",
        "  2. the source's role moves from db1 to db2",
        "  3. db1: restart as a replica, while no replica acknowledges",
        "  4. the source's role returns to db1",
        "  After each, the run waits until it has caught up and acknowledges again",
    ]
    assert [one.host for one in replicas_of(members)] == ["db2"]


def test_a_file_that_is_cut_short_is_no_mark():
    known = begun(cluster())
    assert mark.understood({**known}) == known
    assert mark.understood(None) is None
    assert mark.understood({"began": ""}) is None
