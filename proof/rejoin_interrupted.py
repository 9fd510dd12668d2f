"""rejoin.yml killed behind each of its tasks, and run again with the same words.

    rejoin_interrupted.py [--server mysql|mariadb] [--release 12] [--way attach …] [--minutes 60]
    [--resume] [--document docs/evidence/rejoin.md]

A source dies, a replica takes over, and the former source is brought back by a run that is ended by
SIGKILL behind its first task; the next one behind the first at which none was ended yet, and so on,
until one comes to its end. What that run found done already it did not do again: so another source
dies, until a run from the very beginning meets no task that is new. Each time the cluster has to be
what it was: one source, tables that are equal, verify.yml healthy.
"""

from __future__ import annotations

import datetime
import pathlib
import signal
import sys
import tempfile
import time
from typing import NamedTuple

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import kill_harness  # noqa: E402
from kill_harness import Section, last_of, on_hosts, read_tasks  # noqa: E402
from support.acknowledged import RELEASES  # noqa: E402
from support.killed import ended_anew  # noqa: E402
from support.live_hosts import hosts, playbook  # noqa: E402
from support.rejoining import ACCEPTED, WAITING, Cluster, answers, taken_over  # noqa: E402

WAYS = {"mysql": ("seed", "replay", "attach"), "mariadb": ("truncate", "attach", "seed")}
STATE = PROJECT / "tests" / "output" / "rejoin-interrupted"
# What a round needs that is the second with the same phantoms.
AS_BEFORE = (
    "DELETE FROM app.keyed WHERE id IN (901, 902); REPLACE INTO app.keyed VALUES (3, 'c');"
    " UPDATE app.bare SET words = 'b' WHERE id = 2"
)


class NotAsItWasError(Exception):
    """A killed run left something that it must not, or the next did not make it good."""


class Round(NamedTuple):
    """From a source's death until it is back: how many runs were ended, and how long they took."""

    killed: int
    seconds: float


def words_for(cluster: Cluster, old, way: str) -> tuple[str, ...]:
    """The arguments that consent to a way."""
    if way == "replay":
        _said, kept = cluster.rejoin(old, "-e", f"semisync_rejoin_way={way}", *ACCEPTED, good=False)
        return taken_over(kept)
    consent = () if way == "attach" else ("-e", f"semisync_rejoin_way={way}")
    return consent if way == "seed" else (*consent, *ACCEPTED)


def between(old, new, behind: str) -> None:
    """What holds at any time: only the new source takes writes.

    Raises:
        NotAsItWasError: another server does, or it does not.
    """
    if answers(old, "SELECT @@GLOBAL.read_only") not in (None, "1"):
        raise NotAsItWasError(f"behind {behind}, {old.name} takes writes")
    if answers(new, "SELECT @@GLOBAL.read_only") != "0":
        raise NotAsItWasError(f"behind {behind}, {new.name} takes none")


def round_of(cluster: Cluster, way: str, met: pathlib.Path) -> Round:
    """Let a source die, and come back by runs that are each ended at another task.

    Raises:
        NotAsItWasError: something does not hold.
    """
    cluster.source.sql(AS_BEFORE)
    old, new = cluster.crash(() if way == "attach" else WAITING)
    arguments = ("-e", f"semisync_rejoin={old.name}", *words_for(cluster, old, way))
    killed, begin = 0, time.monotonic()
    while True:
        done = playbook("rejoin", cluster.file, *arguments, **ended_anew(met))
        if done.returncode != -signal.SIGKILL:
            break
        killed += 1
        name = last_of(met)["name"]
        print(f"{way}: ended behind {name}", flush=True)
        between(old, new, name)
    if done.returncode:
        behind = f" behind {last_of(met)['name']}" if killed else ""
        print(done.stdout[-6000:] + done.stderr[-3000:], flush=True)
        raise NotAsItWasError(f"the run after one that was ended{behind} failed")
    seconds = time.monotonic() - begin
    if cluster.source is not new:
        raise NotAsItWasError(f"{new.name} is not the source any more")
    cluster.same_everywhere()
    cluster.healthy()
    return Round(killed, seconds)


def all_tasks(cluster: Cluster, way: str, met: pathlib.Path, until: float) -> list[Round]:
    """Rounds, until one meets no task that is new, or the time is over."""
    rounds: list[Round] = []
    while time.monotonic() < until and not (rounds and rounds[-1].killed == 0):
        rounds.append(round_of(cluster, way, met))
        print(f"{way}: back after {rounds[-1].killed} runs that were ended", flush=True)
    return rounds


def write(section: Section, met: pathlib.Path, rounds: list[Round]) -> None:
    """Put what was seen of one way into its page, in place of what was there."""
    tasks = read_tasks(met)
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    whole = rounds[-1].killed == 0
    lines = [
        f"Run on {moment}: {len(tasks)} runs ended by SIGKILL, each after another task, in"
        f" {len(rounds) - whole} rounds from a source's death until it was back"
        + ("; one more round met no task that was new." if whole else "; not all were met in time.")
    ]
    lines += ["", "| n | ended after | changed |", "|---|---|---|"]
    for number, task in enumerate(tasks, 1):
        name = task["name"].replace("|", "/")
        lines.append(f"| {number} | {name} | {on_hosts(task['changed'])} |")
    section.replace("\n".join(lines) + "\n")


def main() -> int:
    parser = kill_harness.parser_for(__doc__, WAYS, "mysql")
    parser.add_argument("--release", help="the Debian whose server it is")
    parser.add_argument("--way", action="append", help="only this one")
    opts = parser.parse_args()
    until = kill_harness.deadline(opts.minutes)
    release = opts.release or RELEASES[opts.server]
    wanted = ((name, opts.server, release) for name in ("source", "replica1", "replica2"))
    STATE.mkdir(parents=True, exist_ok=True)
    good = True
    for made in hosts(*wanted, turn=f"rejoin-interrupted-{opts.server}"):
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(made, pathlib.Path(folder))
            cluster.run("site")
            cluster.fill()
            cluster.run("verify")
            if opts.server == "mysql":
                # No way of copying takes a table without transactions with it.
                cluster.source.sql("ALTER TABLE app.lasting ENGINE=InnoDB")
            for way in opts.way or WAYS[opts.server]:
                title = f"{opts.server}{opts.release or ''} {way}"
                met = STATE / f"{title.replace(' ', '-')}.jsonl"
                if not opts.resume:
                    met.unlink(missing_ok=True)
                try:
                    rounds = all_tasks(cluster, way, met, until)
                except (NotAsItWasError, AssertionError) as error:
                    print(f"{title}: {error}", flush=True)
                    return 1
                good = good and bool(rounds) and rounds[-1].killed == 0
                if opts.document and rounds:
                    write(Section(opts.document, title), met, rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
