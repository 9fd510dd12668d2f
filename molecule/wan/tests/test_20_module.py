"""The module on real hosts: change in place, check mode, an administrator's qdiscs, the other way,
errors.
"""

import json
import re
import subprocess

import pytest

from support.wan import CONTROLLER, DELAY, OTHERS, REPLICA, REPLICA6, SECONDS, answers

HTB = (
    "tc qdisc add dev vec0 root handle 1: htb default 10; "
    "tc class add dev vec0 parent 1: classid 1:10 htb rate 900mbit; "
    "tc qdisc add dev vec0 parent 1:10 handle 10: pfifo limit 500"
)
CLSACT = (
    "tc qdisc add dev vec0 clsact; tc filter add dev vec0 ingress pref 1 protocol ip flower"
    " ip_proto tcp dst_port 9999 action drop; tc filter add dev vec0 egress pref 5 protocol ip u32"
    " match ip dst 192.0.2.0/24 action drop"
)


def distance(source, address=REPLICA):
    """The shortest round trip in ms, of as many as a busy machine needs for one without a pause."""
    return min(source.ping(address, 40))


def about(delay):
    return pytest.approx(delay, rel=0.03, abs=2)


def foretold(result):
    """A result without the seed that the kernel draws for its delay (Linux 6.6)."""
    return dict(result, shown=[re.sub(r" seed \d+$", "", line) for line in result["shown"]])


def test_check_mode_changes_nothing_and_tells_what_would_happen(netem, source):
    before = source.qdiscs()
    told = netem(check=True, peers=[REPLICA], delay_ms=DELAY)
    assert source.qdiscs() == before and source.timers() == []
    done = netem(peers=[REPLICA], delay_ms=DELAY)
    same = ("changed", "commands", "command", "shown", "targets", "way", "limit")
    assert told["changed"]
    assert {key: foretold(told)[key] for key in same} == {key: foretold(done)[key] for key in same}
    assert told["qdiscs_before"] == done["qdiscs_before"]
    assert [(each["dev"], each["kind"]) for each in told["qdiscs_after"]] == [
        (each["dev"], each["kind"]) for each in done["qdiscs_after"]
    ]

    there, timers = source.qdiscs(), source.timers()
    told = netem(check=True, state="absent")
    assert told["changed"] and told["qdiscs_after"] == told["qdiscs_before"][:-2]
    assert source.qdiscs() == there and source.timers() == timers and len(timers) == 1
    # A repeated call changes nothing, but its time begins anew.
    again = netem(peers=[REPLICA], delay_ms=DELAY)
    assert not again["changed"] and again["commands"] == []
    assert source.qdiscs() == there and len(source.timers()) == 1 and source.timers() != timers

    done = netem(state="absent")
    assert (done["commands"], done["qdiscs_after"]) == (told["commands"], told["qdiscs_after"])
    assert source.qdiscs() == before and source.timers() == []
    again = netem(state="absent")
    assert not again["changed"] and again["rollback_at"] is None


def test_a_change_is_made_in_place_and_for_exactly_these_peers(netem, source, figure):
    netem(peers=[REPLICA], delay_ms=DELAY)
    pings = source.start(f"ping -n -i 0.02 -W 2 {REPLICA}")
    changed = netem(peers=[REPLICA, REPLICA6], delay_ms=40, rate="100mbit")
    assert [words.split()[2] for words in changed["commands"]] == ["change", "add"]
    source.run("sleep 1; pkill -INT -x ping")
    text = pings.communicate()[0]
    times, numbers = (
        answers(text),
        sorted(int(number) for number in re.findall(r"icmp_seq=(\d+) ttl", text)),
    )
    figure(
        f"{len(numbers)} of {numbers[-1]} pings answered during a change from 90 to 40 ms, "
        f"the first after {times[0]}, the last after {times[-1]}, the least after {min(times)} ms"
    )
    assert min(times[:20]) > 87 and min(times[-20:]) < 42 and min(times) > 39
    assert numbers == list(range(1, numbers[-1] + 1))
    assert distance(source, REPLICA6) == about(40)
    netem(peers=[REPLICA6], delay_ms=20, jitter_ms=5, loss=20)
    line = source.run("tc qdisc show dev semisync-nm0")
    assert "delay 20ms  5ms loss 20%" in line and "rate" not in line
    times = answers(source.run(f"ping -n -c 100 -i 0.01 -W 2 {REPLICA6}", check=False))
    figure(
        f"20 ms, 5 ms jitter, 20 % loss: {min(times)} to {max(times)} ms, {100 - len(times)} of 100"
        " lost"
    )
    assert 14 < min(times) < 19 and max(times) > 21 and 60 <= len(times) <= 95
    assert min(source.ping(REPLICA)) < 2


def test_an_administrators_qdiscs_stay_as_they_are(netem, source):
    source.run(f"{HTB}; {CLSACT}")
    try:
        before, root = source.qdiscs(), source.run("tc -json qdisc show dev vec0")
        netem(peers=[REPLICA], delay_ms=DELAY)
        assert distance(source) == about(DELAY)
        assert all(min(source.ping(address)) < 2 for address in OTHERS)
        assert source.run("tc -json qdisc show dev vec0") == root
        netem(state="absent")
        # Byte for byte, filters and classes too.
        assert source.qdiscs() == before
    finally:
        source.run("tc qdisc del dev vec0 root; tc qdisc del dev vec0 clsact")


def without_module(source, name):
    """Hide a kernel module from modprobe; a script that brings it back."""
    path = source.run(f"modinfo -n {name}").strip()
    source.run(f"modprobe -r {name}; mv {path} {path}.hidden; depmod")
    return f"mv {path}.hidden {path}; depmod"


def test_without_ifb_it_goes_under_the_kernels_own_root(netem, source, figure):
    back = without_module(source, "ifb")
    try:
        before = source.qdiscs()
        told = netem(check=True, peers=[REPLICA], delay_ms=DELAY)
        done = netem(peers=[REPLICA], delay_ms=DELAY)
        assert told["way"] == done["way"] == "root"
        assert foretold(told)["shown"] == foretold(done)["shown"]
        others = [min(source.ping(address)) for address in OTHERS]
        figure(f"without ifb: {min(source.ping(REPLICA))} ms to the peer, {others} ms to others")
        assert distance(source) == about(DELAY) and max(others) < 2
        netem(state="absent")
        assert source.qdiscs() == before
        source.run(HTB)
        before = source.qdiscs()
        assert "htb 1: of vec0 was set by an administrator" in netem.refused(
            peers=[REPLICA], delay_ms=DELAY
        )
        assert source.qdiscs() == before
    finally:
        source.run(f"tc qdisc del dev vec0 root; {back}", check=False)


def test_without_netem_it_says_which_module_is_missing(netem, source):
    back = without_module(source, "sch_netem")
    try:
        before = source.qdiscs()
        assert "has no netem (module sch_netem)" in netem.refused(peers=[REPLICA], delay_ms=DELAY)
        # Where nobody can say beforehand: tc fails, and what was made until then goes.
        source.run("mv /lib/modules/$(uname -r)/modules.dep /root/")
        assert "Specified qdisc kind is unknown" in netem.refused(peers=[REPLICA], delay_ms=DELAY)
        assert source.qdiscs() == before and source.timers() == []
    finally:
        source.run(f"mv /root/modules.dep /lib/modules/$(uname -r)/; {back}", check=False)


def test_dropped_packets_are_reported(netem, source, figure):
    netem(peers=[REPLICA], delay_ms=DELAY, limit=3, ping_count=2)
    source.ping(REPLICA, 3)
    source.run(f"ping -n -q -c 50 -i 0.005 -W 2 {REPLICA}", check=False)
    done = netem.run(False, state="absent")
    dropped = netem.result(done)["dropped"]
    figure(f"{dropped} packets dropped by a queue of 3")
    assert dropped > 10
    assert f"netem dropped {dropped} packets because its queue of 3 was full" in re.sub(
        r"\s+", " ", done.stderr + done.stdout
    )


def test_a_delay_that_is_not_felt_is_taken_off(netem, source):
    source.run(
        "tc qdisc add dev vec0 clsact; "
        f"tc filter add dev vec0 egress pref 1 protocol ip flower dst_ip {REPLICA} action pass"
    )
    try:
        before = source.qdiscs()
        message = netem.refused(peers=[REPLICA], delay_ms=DELAY)
        assert (
            "another filter of this host handles them first" in message
            and "was removed again" in message
        )
        assert source.qdiscs() == before and source.timers() == []
    finally:
        source.run("tc qdisc del dev vec0 clsact")


REFUSED = [
    ({"peers": [CONTROLLER]}, "own SSH connection comes from"),
    ({"peers": [REPLICA, CONTROLLER]}, "own SSH connection comes from"),
    ({"peers": ["192.0.2.1"]}, "no route to the peer 192.0.2.1"),
    ({"peers": ["10.99.0.10"]}, "is not another host"),
    ({"peers": [REPLICA], "interface": "eth7"}, "there is no interface eth7 on this host"),
    ({"peers": [REPLICA], "delay_ms": -1}, "must be from 0 to 10000 milliseconds"),
    ({"peers": [REPLICA], "delay_ms": 60000}, "must be from 0 to 10000 milliseconds"),
]
NOBODY = {
    "become": True,
    "become_method": "su",
    "become_user": "nobody",
    "become_flags": "-s /bin/sh",
}


def refused(parameters, message, **keywords):
    """A task that passes when the module fails with this message."""
    return {
        "dbre.semisync.netem": {"delay_ms": 90, **parameters},
        "register": "said",
        **keywords,
        "failed_when": f"said is not failed or {json.dumps(message)} not in said.msg",
    }


def test_refused(source, play):
    before, program = source.qdiscs(), source.run("command -v tc").strip()
    tasks = [
        *(refused(*each) for each in REFUSED),
        refused({"peers": [REPLICA]}, "requires CAP_NET_ADMIN, which this process lacks", **NOBODY),
        {"ansible.builtin.command": f"mv {program} {program}.hidden"},
        refused(
            {"peers": [REPLICA]},
            "the program tc is missing on this host; install the package iproute2",
        ),
    ]
    try:
        done = subprocess.run(
            play(*tasks),
            text=True,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    finally:
        source.run(f"[ ! -e {program}.hidden ] || mv {program}.hidden {program}")
    assert done.returncode == 0, done.stdout
    assert source.qdiscs() == before and source.timers() == []
