"""Whether failover.yml loses a confirmed row, and whether its certificate tells the truth: power
cuts under 50 writers, again and again, controls that must lose, and playbooks with a mistake.

prove.py --server mysql|mariadb [--case name …] [--cycles 10] [--minutes 12] [--seed N] [--resume]
    [--document docs/evidence/failover.md] [--clear]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import sys
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]
OUTPUT = PROJECT / "tests" / "output"
SERVERS = ("mysql", "mariadb")


def state(server: str) -> pathlib.Path:
    """Every cycle of a server that was seen by this checkout."""
    return OUTPUT / f"prove-{server}.json"


def kept(server: str) -> list[dict[str, Any]]:
    with contextlib.suppress(FileNotFoundError):
        return json.loads(state(server).read_text(encoding="utf-8"))
    return []


def keep(server: str, records: list[dict[str, Any]]) -> None:
    """Whole or not at all: a run may be ended at any time."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    part = state(server).with_suffix(".part")
    part.write_text(json.dumps(records, indent=1), encoding="utf-8")
    part.replace(state(server))


def wanted(opts: argparse.Namespace, every: list[str], records: list[dict[str, Any]]) -> list[str]:
    """The cases that are still to be made, in turn."""
    left = {
        case: opts.cycles - sum(one["judged"] and one["case"] == case for one in records)
        for case in opts.case or every
    }
    most = max(left.values(), default=0)
    return [case for turn in range(most) for case in left if turn < left[case]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=SERVERS, required=True)
    parser.add_argument("--case", action="append", help="a fault or a mutant; all without it")
    parser.add_argument(
        "--cycles", type=int, default=10, help="of each case (default: 10); 0 for the tables"
    )
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin no further cycle after so long"
    )
    parser.add_argument("--seed", type=int, help="of the first cycle; drawn without it")
    parser.add_argument("--resume", action="store_true", help="add to what was seen before")
    parser.add_argument("--document", type=pathlib.Path)
    parser.add_argument("--clear", action="store_true", help="remove the hosts, and nothing else")
    return parser.parse_args()


def make(
    opts: argparse.Namespace, cases: list[str], records: list[dict[str, Any]], until: float
) -> list[dict[str, Any]]:
    """The cycles of these cases, as long as there is time; each is kept at once."""
    from support.proving import cycle, machines

    made: list[dict[str, Any]] = []
    if not cases:
        return made
    folder = OUTPUT / f"prove-{opts.server}"
    folder.mkdir(parents=True, exist_ok=True)
    hosts = machines.Machines(opts.server, folder)
    try:
        begin = time.monotonic()
        hosts.prepare(machines.Writers(hosts, folder))
        print(f"hosts ready after {time.monotonic() - begin:.0f} s", flush=True)
        for case in cases:
            if time.monotonic() > until:
                break
            seed = opts.seed + len(made) if opts.seed is not None else random.randrange(10**9)
            log = folder / f"{case}-{seed}.log"
            made.append(cycle.Cycle(hosts, case, seed, log).go())
            keep(opts.server, [*records, *made])
            print(json.dumps(made[-1]), flush=True)
    finally:
        with contextlib.suppress(Exception):
            hosts.cut(*hosts.hosts)
    return made


def main() -> int:
    opts = arguments()
    # A lab for each server, so that both can be there; see support/proving/machines.py.
    os.environ["SEMISYNC_LAB"] = f"prove{opts.server}"
    os.environ["SEMISYNC_INVENTORY"] = str(OUTPUT / f"prove-{opts.server}-lab")
    from support.proving import cycle, faults, machines, mutants, table

    # To be ended is to be interrupted: the clients and hosts are ended too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if opts.clear:
        machines.clear()
        return 0
    until = time.monotonic() + 60 * opts.minutes
    every = [
        *faults.FAULTS,
        *(name for name, mutant in mutants.MUTANTS.items() if opts.server in mutant.servers),
    ]
    unknown = set(opts.case or []) - set(every)
    if unknown:
        sys.exit(f"no case {', '.join(sorted(unknown))} on {opts.server}; there is: {every}")
    records = kept(opts.server) if opts.resume else []
    made = make(opts, wanted(opts, every, records), records, until)
    text = table.document([record for server in SERVERS for record in kept(server)])
    print(text)
    if opts.document:
        table.write(opts.document, text)
    wrong = [
        one
        for one in made
        if one["judged"]
        and one["case"] in faults.FAULTS
        and (
            cycle.lies(one)
            or (not faults.FAULTS[one["case"]].may_lose and any(one.get(w) for w in cycle.WRONG))
        )
    ]
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
