"""candidate.yml with a source that is gone: the replica that has received most is named, although
it has not applied it.
"""

import pytest

from support import live_hosts

THREADS = {"mysql": "REPLICA", "mariadb": "SLAVE"}


@pytest.fixture(
    scope="module",
    name="cluster",
    params=[
        pytest.param(("mysql", None), marks=pytest.mark.long, id="mysql"),
        pytest.param(("mariadb", "12"), id="mariadb"),
    ],
)
def fixture_cluster(request, tmp_path_factory):
    names = ("source", "replica1", "replica2")
    for made in live_hosts.hosts(
        *((name, *request.param) for name in names), turn="candidate-" + request.param[0]
    ):
        source, *replicas = made
        file = live_hosts.inventory(
            tmp_path_factory.mktemp("candidate"), {source: {}}, {key: {} for key in replicas}
        )
        done = live_hosts.playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        yield source, replicas, file


def write(source, rows):
    source.sql("INSERT INTO important.stuff (details) VALUES ('written by a test');" * rows)


def test_the_replica_that_received_most_is_named(cluster):
    source, (first, second), file = cluster
    word = THREADS[source.server]
    done = live_hosts.playbook("candidate", file)
    assert done.returncode == 0, done.stdout
    for host in (first, second):
        even = f"{host.name}: has everything that any replica has received; all applied"
        assert even in live_hosts.words(done)

    first.sql(f"STOP {word} IO_THREAD")
    second.sql(f"STOP {word} SQL_THREAD")
    write(source, 7)
    live_hosts.run("docker", "kill", source.name)
    done = live_hosts.playbook("candidate", file)
    said = live_hosts.words(done)
    assert done.returncode == 0, said
    assert (
        f"{second.name}: has everything that any replica has received; 7 transaction(s) to apply;"
        " its SQL thread is stopped" in said
    )
    assert f"{first.name}: lacks 7 transaction(s)" in said
    # Docker's connection plugin passes that on as if a module had said nothing.
    assert f"fatal: [{source.name}]: UNREACHABLE!" in said, said
    # One whose applier stands still, or whose server started just before the look, may have lost
    # its relay log: then it is not sure, and said.
    every = f"Every commit that a replica of this inventory acknowledged is on {second.name}"
    assert every in said or "A commit that only " in said, said

    second.shell(f"systemctl stop {second.server}")
    done = live_hosts.playbook("candidate", file)
    said = live_hosts.words(done)
    assert f"{first.name}: has everything that any replica has received; all applied" in said
    assert f"A commit may have been acknowledged only by {second.name}" in said

    first.shell(f"systemctl stop {first.server}")
    done = live_hosts.playbook("candidate", file)
    assert done.returncode == 2 and "no replica can be compared" in live_hosts.words(done)
