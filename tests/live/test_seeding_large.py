"""A replica is added to a source that holds data and takes writes: no row is lost, whatever happens
on the way.
"""

import datetime
import json
import os
import pathlib

import pytest

from support.live_hosts import Host, hosts, inventory, playbook, run, words
from support.seeding import Site, Writers, compare, fill, progress, size, stated, written_down

pytestmark = pytest.mark.own_target

MEGABYTES = int(os.environ.get("SEMISYNC_SEED_MB", "1000"))
TURN = "seed"
WAYS = {"mysql": ("clone", "dump"), "mariadb": ("backup", "dump")}
RELEASES = {"mysql": "", "mariadb": "12"}
DOCUMENT = os.environ.get("SEMISYNC_SEED_DOCUMENT")
COLUMNS = (
    "server",
    "method",
    "what happened",
    "data",
    "seeding",
    "confirmed meanwhile",
    "tables compared",
    "day",
)
INTERRUPTED = ("the controller is killed", "the replica's power is cut")


@pytest.fixture(scope="session")
def figures():
    """Rows of the page's table, by their first three columns; those of other runs stay."""
    made: list[tuple] = []
    yield made
    if DOCUMENT and made:
        path = pathlib.Path(DOCUMENT)
        before, mark, dummy = path.read_text(encoding="utf-8").partition("<!-- figures -->\n")
        rows = {tuple(row[:3]): row for row in table(dummy)}
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        rows.update({tuple(row[:3]): [*map(str, row), today] for row in made})
        lines = [COLUMNS, ["---"] * len(COLUMNS), *rows.values()]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        path.write_text(before + mark + text + "\n", encoding="utf-8")
    print(json.dumps(made))


def table(text):
    """The rows of a table in Markdown."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()[2:]
        if line.startswith("|")
    ]


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def source(request):
    for made in hosts(("source", request.param, RELEASES[request.param]), turn=TURN):
        assert fill(made[0], MEGABYTES) >= MEGABYTES * 1000 * 1000
        yield made[0]


@pytest.fixture
def replica(source):
    host = Host(TURN, "replica", source.server, source.release)
    try:
        yield host.start().wait()
    finally:
        host.stop()


def way(source, number):
    return WAYS[source.server][number]


def given(folder, source, replica, number, **variables):
    """The first way is the one that the collection chooses by itself."""
    if number:
        variables["semisync_seed_method"] = way(source, number)
    return inventory(
        folder,
        {source: {}},
        {replica: {}},
        semisync_timeout=1000,
        semisync_seed_progress=2,
        **variables,
    )


def row(source, replica, number, what, writers, tables):
    facts = written_down(replica)
    assert facts["state"] == "done" and facts["method"] == way(source, number)
    return [
        source.value("SELECT @@version").split("-")[0] + " " + source.server,
        way(source, number),
        what,
        f"{int(size(replica) / 1000000)} MB",
        f"{facts['seconds']:.0f} s",
        f"{len(writers.confirmed)} transactions",
        tables,
    ]


@pytest.mark.parametrize("number", [0, 1], ids=["chosen", "dump"])
def test_data_of_its_own_are_refused_and_with_consent_replaced_while_the_source_takes_writes(
    source, replica, number, tmp_path, figures
):
    replica.sql(
        "CREATE DATABASE mine; CREATE TABLE mine.own (id INT PRIMARY KEY); INSERT INTO mine.own"
        " VALUES (1)"
    )
    before = replica.fingerprint()
    file = given(tmp_path, source, replica, number)
    refused = playbook("site", file)
    assert refused.returncode != 0 and "It is not overwritten" in words(refused)
    assert "semisync_seed_overwrite=true" in words(refused) and replica.fingerprint() == before

    with Writers(source) as writers:
        text = Site(file, tmp_path / "site.log", "-e", "semisync_seed_overwrite=true").end()
    assert stated(text, replica)[0] == way(source, number)
    if MEGABYTES >= 500:
        assert len(progress(text, replica)) > 2, "no progress was shown:\n" + text[-3000:]
    tables = compare(source, replica, writers.confirmed)
    assert "mine" not in replica.value("SHOW DATABASES").split()
    assert playbook("verify", file).returncode == 0
    again = playbook("site", file)
    assert again.returncode == 0 and "changed=1" not in again.stdout, again.stdout
    figures.append(row(source, replica, number, "a replica with data of its own", writers, tables))


@pytest.mark.parametrize("what", INTERRUPTED)
@pytest.mark.parametrize("number", [0, 1], ids=["chosen", "dump"])
def test_a_seeding_that_was_interrupted_is_done_by_the_next_run(
    source, replica, number, what, tmp_path, figures
):
    file = given(tmp_path, source, replica, number)
    with Writers(source) as writers:
        Site(file, tmp_path / "killed.log").kill_while_it_copies(replica)
        if what == INTERRUPTED[1]:
            run("docker", "kill", replica.name)
            run("docker", "start", replica.name)
            replica.wait()
        Site(file, tmp_path / "again.log").end()
    tables = compare(source, replica, writers.confirmed)
    verified = playbook("verify", file)
    assert verified.returncode == 0, verified.stdout
    for host in (source, replica):
        assert (
            "clone" not in host.value("SELECT PLUGIN_NAME FROM information_schema.PLUGINS").split()
        )
        assert "dbre_semisync_seed" not in host.value("SELECT User FROM mysql.user")
    figures.append(row(source, replica, number, what, writers, tables))
