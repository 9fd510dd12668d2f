"""switchover.yml killed after each of its tasks in turn, under writers, and then run again.

switchover_interrupted.py [--server mysql|mariadb] [--minutes 20] [--resume]
    [--document docs/evidence/interrupted.md]

One pair, whose source's role moves to and fro.
"""

from __future__ import annotations

import pathlib
import re
import sys
import tempfile
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import kill_harness  # noqa: E402
from kill_harness import Section, read_tasks  # noqa: E402
from support.acknowledged import RELEASES, Writers, judge, rows_of, same_data  # noqa: E402
from support.eventually import eventually  # noqa: E402
from support.killed import listening, was_killed  # noqa: E402
from support.live_hosts import Host, hosts, inventory, playbook, words  # noqa: E402

DOCUMENT = PROJECT / "docs" / "evidence" / "interrupted.md"
LOCK = "SELECT IS_USED_LOCK('dbre.semisync.switchover')"
# What verify.yml says where nothing but its row's second was not kept.
LATE = re.compile(r", 1 failed(, \d+ not applicable)?: P1\.2 on ")
# What a run says where the one before it had done everything.
ALL_DONE = "it is the source already"


class Pair:
    """Two hosts, and who is the source."""

    def __init__(self, made: list[Host], folder: pathlib.Path) -> None:
        self.hosts, self.folder = made, folder
        self.source, self.target = made
        self.file = inventory(folder, {self.source: {}}, {self.target: {}}, semisync_timeout=10000)

    def move(self, after: int = 0, tasks: pathlib.Path | None = None) -> Any:
        """Move the role to the target, or begin to."""
        return playbook(
            "switchover",
            self.file,
            *("-e", f"semisync_switchover_to={self.target.name}"),
            **listening(after, tasks),
        )

    def writable(self) -> list[Host]:
        return [host for host in self.hosts if host.value("SELECT @@read_only") in ("0", "OFF")]

    def swap(self) -> None:
        self.source, self.target = self.target, self.source

    def interrupted(self, number: int) -> str:
        """What became of a run that was killed after a task."""
        begin = time.monotonic()
        was_killed(self.move(number))
        eventually(
            lambda: all(host.value(LOCK) == "NULL" for host in self.hosts), "no part runs", 120
        )
        between = self.writable()
        assert len(between) == 1, f"{[host.name for host in between]} take writes after the kill"
        again = self.move()
        done = again.returncode == 0 or ALL_DONE in words(again)
        assert done, words(again)[-3000:]
        assert self.writable() == [self.target], "the role is not where it should be"
        for _time in range(3):
            verified = playbook("verify", self.file)
            # A busy machine may need longer than the row's second.
            if not LATE.search(words(verified)):
                break
        assert verified.returncode == 0, words(verified)[-3000:]
        self.swap()
        where = "moved" if between[0] is self.source else "had not moved"
        return f"converged, {time.monotonic() - begin:.0f} s; the role {where}"


def all_tasks(pair: Pair, section: Section, resume: bool, until: float) -> dict[int, str]:
    """What became of each task. One after another is tried, as long as all is well and there is
    time, and put into its page's table.
    """
    file = pair.folder / "tasks"
    done = pair.move(0, file)
    assert done.returncode == 0, done.stdout + done.stderr
    pair.swap()
    tasks = read_tasks(file)
    before = section.converged() if resume else {}
    keys = [(task["number"], task["name"]) for task in tasks]
    results = {number: before[number, name] for number, name in keys if (number, name) in before}

    def attempt(number: int) -> str:
        try:
            return pair.interrupted(number)
        except AssertionError as error:
            print(error, flush=True)
            return kill_harness.failure(error)

    kill_harness.kill_after_each(
        tasks,
        results,
        attempt,
        until,
        lambda: section.write(tasks, results),
        stop_at_failure=True,
    )
    return results


def main() -> int:
    parser = kill_harness.parser_for(__doc__, RELEASES, "mysql")
    parser.set_defaults(document=DOCUMENT)
    opts = parser.parse_args()
    until = kill_harness.deadline(opts.minutes)
    wanted = [(name, opts.server, RELEASES[opts.server]) for name in ("source", "replica")]
    made = hosts(*wanted, turn=f"switchover-interrupted-{opts.server}")
    both = next(made)
    try:
        with tempfile.TemporaryDirectory() as folder:
            pair = Pair(both, pathlib.Path(folder))
            done = playbook("site", pair.file)
            assert done.returncode == 0, done.stdout + done.stderr
            writers = Writers(both[1], both, 10)
            writers.prepare(both[0])
            same_data(both)
            writers.start()
            section = Section(opts.document, f"switchover, {opts.server}")
            results = all_tasks(pair, section, opts.resume, until)
            known = writers.stop()
            same_data(both)
            verdicts = [judge(known, rows_of(host)) for host in both]
            confirmed = sum(len(rows) for rows in known["confirmed"])
            print(f"{confirmed} rows confirmed; {verdicts}", flush=True)
    finally:
        made.close()
    wrong = kill_harness.any_failed(results)
    return int(wrong or any(any(verdict.values()) for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
