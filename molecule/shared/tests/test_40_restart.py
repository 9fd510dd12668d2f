"""What was set up lasts: after a restart of either side, and of both, the pair is semi-synchronous
by itself.
"""

from support.eventually import eventually


def is_semisync(source, replica):
    return (source.status("clients"), source.status("status"), replica.status("status")) == (
        "1",
        "ON",
        "ON",
    )


def prove(source, replica):
    """The pair comes back, and a row is acknowledged."""
    eventually(replica.runs, "the channel runs")
    eventually(lambda: is_semisync(source, replica), "semi-sync is on on both sides")
    before = int(source.status("yes_tx"))
    source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test')")
    assert int(source.status("yes_tx")) == before + 1


def test_the_channel_comes_back_after_a_restart_of_the_replica(source, replica):
    replica.restart()
    prove(source, replica)


def test_the_channel_comes_back_after_a_restart_of_the_source(source, replica):
    source.restart()
    prove(source, replica)


def test_semisync_survives_a_restart_of_both(source, replica):
    replica.restart()
    source.restart()
    prove(source, replica)
