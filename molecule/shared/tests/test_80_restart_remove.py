"""The servers restart one after another, and semi-sync goes and comes back: playbooks that no other
test of the scenario runs do on a pair what they say.
"""

from support.scenario import playbook

RESTART = ("-e", "semisync_allow_disruption=true", "-e", "semisync_restart_accept=unprotected")


def process(server):
    """The number of the server's process."""
    return server.host.check_output("pidof %s", server.words["daemon"])


def enabled(server):
    """What semi-sync's switches are set to, of both sides; None for a side without any."""
    return {server.semisync("enabled", side) for side in ("source", "replica")}


def test_a_prediction_and_a_plan_restart_nothing(source, replica):
    before = [process(server) for server in (source, replica)]
    assert playbook("advise", "-e", "semisync_advise_seconds=2") == 0
    assert playbook("restart", "--check", *RESTART) == 0
    assert [process(server) for server in (source, replica)] == before


def test_both_servers_restart_and_the_role_returns(source, replica):
    before = [process(server) for server in (source, replica)]
    assert playbook("restart", *RESTART, "-e", "semisync_restart_back=true") == 0
    after = [process(server) for server in (source, replica)]
    assert before[0] != after[0] and before[1] != after[1]
    assert (source.status("clients"), source.status("status")) == ("1", "ON")


def test_semi_sync_goes_and_comes_back(source, replica):
    assert playbook("remove") == 0
    assert not (enabled(source) | enabled(replica)) & {"ON", "1"}
    assert replica.runs()
    assert playbook("site") == 0
    assert (source.status("clients"), source.status("status")) == ("1", "ON")
