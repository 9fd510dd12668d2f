"""What the runs said and left on the controller, and what they must not have left anywhere."""

import json

import pytest

from support.scenario import EPHEMERAL, RESULTS, checkpoints, verified_alone

POINTS = [
    "P0",
    "P1.1",
    "P1.2",
    "P2.1",
    "P3.1",
    "P3.2",
    "P3.3",
    "P3.4",
    "P3.5",
    "P4.1",
    "P4.2",
    "P4.3",
    "P4.4",
    "P5.1",
    "P5.2",
]
# Rows that prove replication, and waiting for them: check mode cannot have them.
UNANNOUNCED = "dbre.semisync.semisync_canary"


def changes(run):
    """(host, task) of what a run of site.yml changed or, in check mode, announced."""
    path = EPHEMERAL / "changes" / f"{run}.json"
    if not path.exists() and verified_alone():
        pytest.skip(f"{run} is a run that `molecule test` makes before it verifies")
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {(host, task) for host, action, task in rows if action != UNANNOUNCED}


def test_check_mode_announces_what_then_happens():
    announced, happened = changes("check"), changes("run-1")
    assert happened
    assert announced == happened


def test_a_second_run_changes_nothing():
    assert changes("run-2") == set()


def test_every_checkpoint_passed_in_the_first_run(words):
    rows = checkpoints(
        min(path.name for path in RESULTS.iterdir() if path.is_dir() and not path.is_symlink())
    )
    assert sorted({row["id"] for row in rows}) == POINTS
    assert [row for row in rows if row["outcome"] == "failed"] == []
    without = {row["id"]: row["reason"] for row in rows if row["outcome"] == "not_applicable"}
    assert all(without.values())
    assert sorted(set(without) - {"P2.1"}) == ([] if words["plugins"] else ["P3.1", "P4.1"])


def test_every_checkpoint_says_what_was_seen_and_when():
    for row in checkpoints():
        assert set(row) == {
            "id",
            "host",
            "title",
            "expected",
            "observed",
            "outcome",
            "reason",
            "at",
        }
        assert row["outcome"] == "not_applicable" or (
            row["expected"] and row["observed"] and row["at"]
        )


def written_as(password):
    """The password as it is, and as JSON, Python, SQL and a shell would write it."""
    # The last piece has no character that anything escapes.
    return {
        password,
        json.dumps(password)[1:-1],
        json.dumps(password, ensure_ascii=False)[1:-1],
        repr(password)[1:-1],
        password.replace("\\", "\\\\").replace("'", "\\'"),
        password.replace("'", "''"),
        password[-5:],
    }


PLACES = {
    "the_journal": "journalctl --no-pager --output=cat",
    "the_logs": "cat /var/log/mysql/* /var/log/*.log /var/log/syslog",
    "the_option_files": "find /etc/mysql /etc/my.cnf /etc/my.cnf.d -type f -exec cat {} +",
    "the_process_list": "ps -ww -e -o args",
    "what_Ansible_leaves": (
        "find ~root/.ansible ~root/.ansible_async /tmp /var/tmp -type f -exec cat {} +"
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_password_is_not_in(place, server, variables):
    text = server.host.run(PLACES[place]).stdout
    assert [
        form for form in written_as(variables["semisync_replication_password"]) if form in text
    ] == []


def test_the_password_is_not_among_the_statements_that_run(server, words, variables):
    text = server.host.run("%s --execute='SHOW FULL PROCESSLIST'", words["client"]).stdout
    assert [
        form for form in written_as(variables["semisync_replication_password"]) if form in text
    ] == []


def test_the_password_is_not_in_the_results(variables):
    text = "".join(
        path.read_text(encoding="utf-8") for path in RESULTS.rglob("*") if path.is_file()
    )
    assert text
    assert [
        form for form in written_as(variables["semisync_replication_password"]) if form in text
    ] == []
