# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import account, problems
from ansible_collections.dbre.semisync.tests.unit import samples


def bare(with_tls, replicas=2):
    members = samples.bare("mysql", replicas)
    for member in members:
        member.info["tls"] = {"on": member.host in with_tls}
    return members


def step(members, mode, host=0):
    return account.step(members[host], members, samples.settings(replication_ssl=mode))


ALL = ("db1", "db2", "db3")


@pytest.mark.parametrize(
    "mode,with_tls,needs,because",
    [
        ("auto", ALL, True, ""),
        ("required", ALL, True, ""),
        # A new source without TLS could let no replica in: the account replicates.
        ("auto", ("db1", "db3"), False, "the server of db2 has no TLS"),
        ("auto", ("db1",), False, "the server of db2, db3 has no TLS"),
        # A source without TLS needs no words: its channels have none.
        ("auto", ("db2", "db3"), False, ""),
        ("auto", (), False, ""),
        ("required", ("db1",), True, ""),
        ("disabled", ALL, False, "semisync_replication_ssl is disabled"),
        ("disabled", (), False, ""),
    ],
)
def test_a_new_account_is_let_in_by_tls_only_if_every_member_can_be_a_source_with_tls(
    mode, with_tls, needs, because
):
    assert step(bare(with_tls), mode) == {
        "create": True,
        "needs_ssl": needs,
        "open_because": because,
    }


def test_a_replica_that_follows_without_tls_keeps_new_accounts_open():
    """A source that gives its role away would follow as that one did, with the new account."""
    members = bare(ALL)
    samples.connect(members[1], members[0])
    assert step(members, "auto")["open_because"] == "db2 replicates without TLS"
    assert step(members, "auto")["needs_ssl"] is False
    members[1].channel["tls"] = True
    assert step(members, "auto") == {"create": True, "needs_ssl": True, "open_because": ""}


@pytest.mark.parametrize("mode", ["auto", "required", "disabled"])
@pytest.mark.parametrize("needs_ssl", [False, True])
def test_an_account_that_exists_is_left_as_it_is(mode, needs_ssl):
    members = bare(ALL)
    members[0].info["accounts"] = [repl(needs_ssl)]
    left = {"create": False, "needs_ssl": False, "open_because": ""}
    assert step(members, mode) == left
    assert step(members, mode, host=1) == left


def repl(needs_ssl, host="%"):
    return {"user": "repl", "host": host, "privileges": [], "needs_ssl": needs_ssl}


REFUSED = (
    "db1: 'repl'@'%' may log in with TLS only, and {}: db2 could not log in. Let it in without"
    " first, on the source: ALTER USER 'repl'@'%' REQUIRE NONE"
)


@pytest.mark.parametrize(
    "mode,on,accounts,why",
    [
        ("disabled", True, [repl(True)], "semisync_replication_ssl is disabled"),
        ("disabled", True, [repl(False)], None),
        ("disabled", True, [repl(True, host="10.%")], None),
        ("disabled", True, [], None),
        ("auto", True, [repl(True)], None),
        # A source that lost its certificate since.
        ("auto", False, [repl(True)], "its server has no TLS"),
        ("required", True, [repl(True)], None),
    ],
)
def test_a_channel_that_the_account_would_not_let_in_is_refused_before_anything_is_touched(
    mode, on, accounts, why
):
    members = bare(ALL if on else ("db2",), replicas=1)
    members[0].info["accounts"] = accounts
    said = problems.cluster_problems(members, samples.settings(replication_ssl=mode))
    assert said == ([REFUSED.format(why)] if why else [])


def test_a_channel_that_runs_is_not_judged_by_its_account_under_auto():
    members = samples.pair("mysql")
    members[0].info["accounts"] = [repl(True)]
    members[0].info["tls"] = {"on": False}
    assert account.login_problems(samples.settings(), members[0], members[1], False) == []


REPL = {
    "user": "repl",
    "host": "%",
    "privileges": ["REPLICATION SLAVE ON *.*"],
    "needs_ssl": False,
}


@pytest.mark.parametrize(
    "accounts,bind,tries",
    [([REPL], "*", True), ([], "*", False), ([REPL], "127.0.0.1", False)],
)
def test_a_login_is_tried_before_anything_changes_if_there_is_anything_to_try(
    accounts, bind, tries
):
    members = bare(ALL)
    members[0].info["accounts"] = accounts
    for options in (members[0].info["variables"], members[0].info["option_files"]["options"]):
        options["bind_address"] = bind
    found = samples.plans(members)
    assert [found[host]["tries_login"] for host in ALL] == [False, tries, tries]


def test_a_channel_that_is_there_is_not_tried():
    assert not samples.plans(samples.pair("mysql"))["db2"]["tries_login"]
