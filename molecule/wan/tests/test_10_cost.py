"""What a delay costs: P8.2, one insert on a semi-sync source and on an asynchronous one, P8.5."""

import json
import os
import subprocess

import pytest

from support.eventually import eventually
from support.wan import DELAY, INVENTORY, OTHERS, PINGS, PROJECT, REPLICA, SECONDS, usual

# Within the server's own client library, so that starting a client is not measured. Before each
# insert all rest for as long as the delay is: a process that slept waits longer for a busy
# processor, and so the times without the delay have this as those with it.
INSERTS = f"""
import json, time
import pymysql
connection = pymysql.connect(unix_socket="/run/mysqld/mysqld.sock", user="root", autocommit=True)
cursor = connection.cursor()
times = []
for number in range(41):
    time.sleep({DELAY / 1000})
    begin = time.perf_counter()
    cursor.execute("INSERT INTO important.stuff (details) VALUES ('written by a test')")
    times.append((time.perf_counter() - begin) * 1000)
cursor.execute("SHOW GLOBAL STATUS LIKE 'rpl_semi_sync_%_tx'")
print(json.dumps({{"times": times[1:], "status": dict(cursor.fetchall())}}))
"""
SIDES = {"mysql": "source", "mariadb": "master"}
CLIENTS = {"mysql": "mysql", "mariadb": "mariadb"}


@pytest.fixture(scope="module")
def insert(source, engine):
    """Insert some rows: the usual time of one in milliseconds, and how far each counter rose."""
    counters = [f"Rpl_semi_sync_{SIDES[engine]}_{name}_tx" for name in ("yes", "no")]
    last: list[int] = []

    def run():
        said = json.loads(source.run(f"python3 - <<'END'\n{INSERTS}\nEND"))
        now = [int(said["status"][name]) for name in counters]
        grown = [b - a for a, b in zip(last or now, now, strict=False)]
        last[:] = now
        return usual(said["times"]), grown

    run()
    return run


@pytest.fixture(scope="module")
def switch(source, engine):
    """Switch semi-sync on or off on the source, and wait until it is."""
    client, prefix = CLIENTS[engine], f"rpl_semi_sync_{SIDES[engine]}"

    def run(state):
        source.run(f"{client} -e 'SET GLOBAL {prefix}_enabled = {state}'")
        eventually(
            lambda: state in source.run(f"{client} -Ne \"SHOW STATUS LIKE '{prefix}_status'\""),
            f"semi-sync is {state}",
        )

    return run


def test_a_delay_costs_one_round_trip_an_insert(netem, source, insert, switch, figure):
    near = {address: min(source.ping(address)) for address in (REPLICA, *OTHERS)}
    semisync, counted = insert()
    assert counted == [41, 0]
    switch("OFF")
    local, counted = insert()
    assert counted == [0, 41] or counted == [0, 0]
    switch("ON")

    put_on = netem(peers=[REPLICA], delay_ms=DELAY)
    far = {address: min(source.ping(address)) for address in (REPLICA, *OTHERS)}
    figure(f"round trips in ms without and with {DELAY:g} ms to {REPLICA}: {near} {far}")
    # P8.2
    assert any("netem" in line and "delay 90ms" in line for line in put_on["shown"])
    assert put_on["shown"][0] in [line.strip() for line in source.run("tc qdisc show").splitlines()]
    assert far[REPLICA] - near[REPLICA] == pytest.approx(DELAY, rel=0.03)
    for trip in (put_on["rtt_before"], put_on["rtt_after"]):
        # A busy machine may lose one.
        assert trip[REPLICA]["received"] >= PINGS - 1
    assert put_on["rtt_after"][REPLICA]["min"] - put_on["rtt_before"][REPLICA][
        "min"
    ] == pytest.approx(DELAY, rel=0.03)
    for address in OTHERS:
        assert far[address] - near[address] < 2

    # Each time on a busy machine is longer by what the machine is busy with: a moment's noise
    # passes, a fault stays.
    for _attempt in range(3):
        delayed, counted = insert()
        assert counted == [41, 0]
        switch("OFF")
        unmoved, _dummy = insert()
        switch("ON")
        figure(
            f"one insert in ms, semi-sync: {semisync:.1f}, with the delay {delayed:.1f}; "
            f"asynchronous: {local:.1f}, with the delay {unmoved:.1f}"
        )
        # One round trip and the local time, and for asynchronous replication nothing near the
        # delay.
        locally = (semisync - near[REPLICA], local, unmoved)
        lowest, highest = 0.95 * (far[REPLICA] + min(locally)), 1.05 * (far[REPLICA] + max(locally))
        if lowest < delayed < highest and abs(unmoved - local) < DELAY / 10:
            break
        eventually(lambda: insert()[1] == [41, 0], "rows are acknowledged again")
    assert lowest < delayed < highest
    assert abs(unmoved - local) < DELAY / 10

    # P8.5
    taken_off = netem(state="absent")
    assert taken_off["rtt_after"][REPLICA]["min"] < 2 and taken_off["dropped"] == 0
    assert not source.has_netem()
    eventually(lambda: insert()[1] == [41, 0], "rows are acknowledged again")


def test_the_pair_is_healthy_afterwards():
    done = subprocess.run(
        [
            "ansible-playbook",
            "-i",
            str(INVENTORY),
            "-i",
            os.environ["MOLECULE_INVENTORY_FILE"],
            str(PROJECT / "playbooks" / "verify.yml"),
        ],
        text=True,
        capture_output=True,
        check=False,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout
