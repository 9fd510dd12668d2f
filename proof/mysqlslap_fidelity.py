"""Whether a mysqlslap cell of semisync_load measures what mysqlslap measures: both in turn, A B A
B, on the lab's source.

Prints the medians and their ratio, which should be within 1 +/- 0.03. Run by `make fidelity`, after
`make demo` or with a pair that site.yml has set up on Docker.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import uuid
from collections.abc import Callable

TOLERANCE = 0.03
CLIENTS, QUERIES = 10, 2000


def run(*command):
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, ANSIBLE_CALLBACK_RESULT_FORMAT="json", ANSIBLE_NOCOLOR="1"),
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def module(inventory):
    """Seconds of one run by the module."""
    said = run(
        "ansible",
        "-i",
        inventory,
        "semisync_source",
        "-m",
        "dbre.semisync.semisync_load",
        "-a",
        json.dumps(
            {
                "clients": CLIENTS,
                "queries": QUERIES,
                "load_type": "write",
                "iterations": 1,
                "warmup": 0,
                "replication": "semisync",
            }
        ),
    )
    found = re.search(r"=> (\{.*)", said, re.DOTALL)
    assert found, said
    result = json.loads(found[1])
    if not result["valid"]:
        sys.exit(f"a run does not count: {result['runs'][0]['reason']}")
    return result["runs"][0]["seconds"]


def bare(inventory: str) -> float:
    """Seconds of one run of the command alone."""
    said = run(
        "ansible",
        "-i",
        inventory,
        "semisync_source",
        "-m",
        "ansible.builtin.command",
        "-a",
        f"mysqlslap --csv --iterations=1 --create-schema=fidelity_{uuid.uuid4().hex[:8]}"
        f" --concurrency={CLIENTS} --number-of-queries={QUERIES} --auto-generate-sql"
        " --auto-generate-sql-load-type=write",
    )
    found = re.search(r"^[^,\n]*,\w+,([\d.]+),", said, re.MULTILINE)
    assert found, said
    return float(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", default="inventory/lab")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    seconds: dict[Callable[[str], float], list[float]] = {module: [], bare: []}
    for number in range(options.rounds + 1):
        for kind, kept in seconds.items():
            spent = kind(options.inventory)
            if number:  # the first round warms up
                kept.append(spent)
    medians = {kind.__name__: statistics.median(kept) for kind, kept in seconds.items()}
    ratio = medians["module"] / medians["bare"]
    for kind, kept in seconds.items():
        print(
            f"{kind.__name__:<7} median {medians[kind.__name__]:.3f} s of"
            f" {', '.join(f'{second:.3f}' for second in kept)}"
        )
    print(
        f"ratio {ratio:.3f} (target 1 +/- {TOLERANCE:.2f}):"
        f" {'good' if abs(ratio - 1) <= TOLERANCE else 'MISSED'}"
    )
    return 0 if abs(ratio - 1) <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
