"""Times a no-op site.yml and a verify.yml against the floor, in turn, on the hosts of an inventory.

The floor is a play with minimal facts and one community.mysql.mysql_info call. Run by `make bench`.
"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
TARGET_RATIO, TARGET_CALLS = 2.5, 6
PLAYBOOKS = {
    "floor": HERE / "floor.yml",
    "no-op site.yml": PROJECT / "site.yml",
    "verify.yml": PROJECT / "playbooks" / "verify.yml",
}


def run(inventory, name, *arguments):
    """Seconds and output of one playbook; ends the benchmark when it fails."""
    begin = time.monotonic()
    result = subprocess.run(
        ["ansible-playbook", "-i", inventory, str(PLAYBOOKS[name]), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env=dict(os.environ, ANSIBLE_NOCOLOR="1"),
    )
    if result.returncode != 0:
        sys.exit(f"{name} failed:\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return time.monotonic() - begin, result.stdout


def remote_commands(output):
    """How often a connection ran something on each host, from the -vvv output: with pipelining one
    a module call.
    """
    return collections.Counter(re.findall(r"^<([^>]+)> (?:SSH: )?EXEC ", output, re.MULTILINE))


def changes(output):
    return [int(number) for number in re.findall(r"changed=(\d+)", output)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inventory", default="inventory/lab")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    run(options.inventory, "no-op site.yml")
    seconds = collections.defaultdict(list)
    for _number in range(options.runs):
        for name in PLAYBOOKS:
            spent, output = run(options.inventory, name)
            seconds[name].append(spent)
            if name == "no-op site.yml" and any(changes(output)):
                sys.exit("site.yml was no no-op:\n" + output[-3000:])
    floor = statistics.median(seconds["floor"])
    print(
        f"{''!s:<16} {'median s'!s:>8} {'min s'!s:>8} {'max s'!s:>8} {'x floor'!s:>8} "
        f" {'remote calls a host'}"
    )
    for name in PLAYBOOKS:
        calls = remote_commands(run(options.inventory, name, "-vvv")[1])
        median = statistics.median(seconds[name])
        print(
            f"{name:<16} {median:8.2f} {min(seconds[name]):8.2f} {max(seconds[name]):8.2f}"
            f" {median / floor:8.2f}  "
            + ", ".join(f"{host} {number}" for host, number in sorted(calls.items()))
        )
        if name == "no-op site.yml":
            ratio, most = median / floor, max(calls.values())
    print(
        f"no-op site.yml: {ratio:.2f} times the floor (target at most {TARGET_RATIO:.1f}), {most}"
        f" module calls a host (target at most {TARGET_CALLS})"
    )


if __name__ == "__main__":
    main()
