"""The shortest histories that a mistaken judge gets wrong, on real hosts: the certificate of
failover.yml against what clients were told.

replays.py --server mysql|mariadb [--only NAME …] [--minutes 30] [--again] [--histories FILE]

The histories are those of tests/model/replays.json. It adds to docs/evidence/judge-replays.json,
and makes the tables of judge-replays.md from it. What was replayed is left out, unless --again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab"), str(PROJECT / ".config/collections")]

from common import locked  # noqa: E402

from proving.cycle import commit  # noqa: E402
from proving.evidence import PATH  # noqa: E402
from replaying import document  # noqa: E402
from replaying.cluster import Cluster  # noqa: E402
from replaying.steps import Player, UnknownStepError  # noqa: E402
from support.acknowledged import RELEASES  # noqa: E402
from support.live_hosts import hosts  # noqa: E402

HISTORIES = PROJECT / "tests" / "model" / "replays.json"
OUTPUT = PROJECT / "tests" / "output"
# Seconds until the new source has applied all, and for which a client's last answer is waited for.
APPLIED, LAST = 3.0, 0.5


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=("mysql", "mariadb"), required=True)
    parser.add_argument("--only", action="append", help="the name of a history")
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin no further one after so long"
    )
    parser.add_argument("--again", action="store_true", help="also what was replayed before")
    parser.add_argument("--histories", type=pathlib.Path, default=HISTORIES)
    parser.add_argument("--records", type=pathlib.Path, help="a file of its own for the results")
    return parser.parse_args()


def histories(opts: argparse.Namespace) -> list[dict[str, Any]]:
    """All that there are, of both engines."""
    every = json.loads(opts.histories.read_text(encoding="utf-8"))
    return every["replays"] if isinstance(every, dict) else every


def wanted(opts: argparse.Namespace, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The histories that are to be replayed."""
    its = [one for one in histories(opts) if one["server"] == opts.server]
    if opts.only:
        return [one for one in its if one["name"] in opts.only]
    done = {one["name"]: one["steps"] for one in known if not one["why"]}
    return [one for one in its if opts.again or done.get(one["name"]) != one["steps"]]


def replay(cluster: Cluster, story: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """One history: what became of it."""
    log = (folder / f"{story['name']}.log").open("w", encoding="utf-8")

    def say(words: str) -> None:
        print(words, file=log, flush=True)

    begin = time.monotonic()
    made: dict[str, Any] = {
        "name": story["name"], "server": story["server"], "version": cluster.version,
        "commit": commit(), "at": document.stamp(), "steps": story["steps"],
        "mistake": story["mistake"], "mistaken_verdict": story["mistaken_verdict"],
        "model": story["verdict"], "why": "",
    }  # fmt: skip
    with contextlib.ExitStack() as ends:
        ends.callback(log.close)
        try:
            cluster.reset(story.get("settings", {}), story.get("replicas", 2))
            player = Player(cluster, story, say)
            ends.callback(player.end)
            player.play()
            say(player.done.stdout + player.done.stderr)
            made |= judged(cluster, player)
        except (AssertionError, OSError, UnknownStepError) as error:
            made["why"] = PATH.sub("PATH", " ".join(str(error).split()))[-300:] or "it failed"
    made["seconds"] = round(time.monotonic() - begin, 1)
    return made


def judged(cluster: Cluster, player: Player) -> dict[str, Any]:
    """The record, by the certificate and by the rows of the new source."""
    controller = (player.story.get("failover") or {}).get("controller", "a")
    files = sorted(cluster.results(controller).glob("default/2*/certificate.json"))
    kept = json.loads(files[-1].read_text(encoding="utf-8")) if files else None
    there: set[int] = set()
    if kept and kept["outcome"] == document.DONE:
        time.sleep(APPLIED)
        host = next(one for one in cluster.hosts if one.name == kept["to"])
        there = set(map(int, host.value("SELECT number FROM app.written").split()))
    for row in player.rows:
        row.thread.join(LAST)
    return document.record_of(player, kept, there)


def main() -> int:
    opts = arguments()
    path = opts.records or document.RECORDS
    with locked("judge-replays"):
        document.keep(document.renumbered(document.read(path), histories(opts)), path)
    left = wanted(opts, document.read(path))
    until = time.monotonic() + 60 * opts.minutes
    folder = OUTPUT / f"replays-{opts.server}"
    folder.mkdir(parents=True, exist_ok=True)
    turn = f"replays-{opts.server}"
    names = ("source", "replica1", "replica2")
    made = []
    its = tuple((name, opts.server, RELEASES[opts.server]) for name in names)
    with contextlib.closing(hosts(*its, turn=turn)) as running:
        for running_hosts in running if left else ():
            cluster = Cluster(running_hosts, folder)
            cluster.prepare()
            for story in left:
                if time.monotonic() > until:
                    break
                made.append(replay(cluster, story, folder))
                with locked("judge-replays"):
                    document.add(made[-1], path)
                print(json.dumps(made[-1]), flush=True)
    if not opts.records:
        with locked("judge-replays"):
            document.write(document.read())
    return int(any(one["why"] or one["lies"] for one in made))


if __name__ == "__main__":
    sys.exit(main())
