"""Whether failover.yml loses a confirmed row, and whether its certificate tells the truth: power
cuts under 50 writers and 25 readers, again and again, controls that must lose, and playbooks with a
mistake.

prove.py --server mysql|mariadb [--tarball PATH [--old-names]] [--case name …] [--cycles 10]
    [--minutes 12] [--seed N] [--records FILE] [--clear] [--usual]
prove.py --server mysql|mariadb --short

It adds to docs/evidence/failover.json, and makes the tables of failover.md and readers.md and the
README's picture from it; to another file with --records, on hosts of its own, and nothing is made
from that. What readers saw is also taken from docs/evidence/readers.json.
With --usual, or a --case of its kind, the hosts have the settings that people have: usual.py.
--short makes a few cycles for `make test`, on hosts of its own, and asserts what they show.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]

import servers  # noqa: E402
import tarball  # noqa: E402

import kill_harness  # noqa: E402

OUTPUT = PROJECT / "tests" / "output"
SERVERS = ("mysql", "mariadb")
# How the names of the cases begin that have hosts of their own.
USUAL = "usual-"


def of_server(opts: argparse.Namespace, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the server that a command line is about; see proof/proving/evidence.py."""
    its = (opts.server, opts.digest, opts.old_names)
    return [
        one
        for one in records
        if (one["server"], one.get("tarball", ""), one.get("names") == "old") == its
    ]


def wanted(opts: argparse.Namespace, every: list[str], records: list[dict[str, Any]]) -> list[str]:
    """The cases of which there are not enough yet, in turn."""
    seen = [one["case"] for one in of_server(opts, records) if one["judged"]]
    left = {case: opts.cycles - seen.count(case) for case in opts.case or every}
    most = max(left.values(), default=0)
    return [case for turn in range(most) for case in left if turn < left[case]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=SERVERS, required=True)
    parser.add_argument("--tarball", type=pathlib.Path, help="a MySQL that is not Debian's")
    parser.add_argument(
        "--old-names", action="store_true", help="semi-sync's plugins have their old names"
    )
    parser.set_defaults(release=None)
    parser.add_argument("--case", action="append", help="a fault or a mutant; all without it")
    parser.add_argument(
        "--cycles",
        type=int,
        default=10,
        help="as many as there shall be of each case, with those of before (default: 10); 0 for the"
        " tables only",
    )
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin no further cycle after so long"
    )
    parser.add_argument("--seed", type=int, help="of the first cycle; drawn without it")
    parser.add_argument("--records", type=pathlib.Path, help="a file of its own for the cycles")
    parser.add_argument("--short", action="store_true", help="a few cycles that must pass")
    parser.add_argument("--clear", action="store_true", help="remove the hosts, and nothing else")
    parser.add_argument(
        "--usual", action="store_true", help="only the cases with the settings that people have"
    )
    opts = parser.parse_args()
    opts.usual = opts.usual or any(case.startswith(USUAL) for case in opts.case or ())
    # Tells tarballs apart; empty for Debian's server.
    opts.digest = tarball.content(servers.chosen(opts).release)
    return opts


def drawn(case: str, records: list[dict[str, Any]]) -> int:
    """A seed for a server's next cycle; its last digit counts them: each tenth goes the long
    way.
    """
    made = sum(one["judged"] for one in records if one["case"] == case)
    return random.randrange(10**8) * 10 + made % 10


def make(
    opts: argparse.Namespace, cases: list[str], until: float, path: pathlib.Path
) -> list[dict[str, Any]]:
    """The cycles of these cases, as long as there is time; each is kept at once."""
    from common import locked

    from proving import cycle, evidence

    made: list[dict[str, Any]] = []
    if not cases:
        return made
    with locked(os.environ["SEMISYNC_LAB"]), ready(opts) as hosts:
        for case in cases:
            if time.monotonic() > until:
                break
            seed = drawn(case, of_server(opts, evidence.read(path)))
            if opts.seed is not None:
                seed = opts.seed + len(made)
            log = hosts.folder / f"{case}-{seed}.log"
            made.append(cycle.Cycle(hosts, case, seed, log).go())
            evidence.add(made[-1:], path)
            print(json.dumps(made[-1]), flush=True)
    return made


@contextlib.contextmanager
def ready(opts: argparse.Namespace) -> Iterator[Any]:
    """The hosts, off again in the end."""
    from proving import machines

    folder = OUTPUT / folder_of(opts)
    folder.mkdir(parents=True, exist_ok=True)
    hosts = machines.Machines(opts.server, folder, opts.tarball, opts.usual, opts.old_names)
    try:
        begin = time.monotonic()
        hosts.prepare(machines.Writers(hosts, folder))
        print(f"hosts ready after {time.monotonic() - begin:.0f} s", flush=True)
        yield hosts
    finally:
        with contextlib.suppress(Exception):
            hosts.cut(*hosts.hosts)


def shortly(opts: argparse.Namespace) -> int:
    """The short form; its hosts are gone in the end, however it ends."""
    from common import locked

    from proving import cycle, machines, short

    with locked(os.environ["SEMISYNC_LAB"]):
        try:
            with ready(opts) as hosts:

                def one(case: str) -> dict[str, Any]:
                    # An odd one does not go the long way.
                    seed = random.randrange(10**8) * 10 + 1
                    made = cycle.Cycle(hosts, case, seed, hosts.folder / f"{case}-{seed}.log").go()
                    print(json.dumps(made), flush=True)
                    return made

                found = short.run(opts.server, one)
        finally:
            machines.clear()
    print("\n".join(found) or "all as it has to be")
    return int(bool(found))


def folder_of(opts: argparse.Namespace) -> str:
    """A name for what belongs to these cycles alone."""
    made = "old" if opts.old_names else "usual" if opts.usual else "prove"
    kind = "short" if opts.short else f"try{made[:1]}" if opts.records else made
    return f"{kind}-{opts.digest[:6] or opts.server}"


def main() -> int:
    opts = arguments()
    # A lab for each server, so that both can be there; see proof/proving/machines.py.
    name = folder_of(opts)
    os.environ["SEMISYNC_LAB"] = name.replace("-", "")
    os.environ["SEMISYNC_INVENTORY"] = str(OUTPUT / f"{name}-lab")
    from proving import cycle, evidence, faults, machines, mutants, picture, readers, table

    until = kill_harness.deadline(opts.minutes)
    if opts.clear:
        machines.clear()
        return 0
    if opts.short:
        return shortly(opts)
    every = [
        *faults.FAULTS,
        *(name for name, mutant in mutants.MUTANTS.items() if opts.server in mutant.servers),
    ]
    every = [case for case in every if case.startswith(USUAL) is opts.usual]
    unknown = set(opts.case or []) - set(every)
    if unknown:
        sys.exit(f"no case {', '.join(sorted(unknown))} on {opts.server}; there is: {every}")
    path = opts.records or evidence.RECORDS
    made = make(opts, wanted(opts, every, evidence.read(path)), until, path)
    if opts.records:
        return int(any(map(cycle.wrong, made)))
    with evidence.alone(evidence.DOCUMENT):
        records = evidence.read()
        text = table.document(records)
        picture.write(records)
        table.write(evidence.DOCUMENT, text)
        table.write(readers.DOCUMENT, readers.document(readers.every()))
    print(text)
    return int(any(map(cycle.wrong, made)))


if __name__ == "__main__":
    sys.exit(main())
