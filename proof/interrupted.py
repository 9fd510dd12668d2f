"""site.yml killed after each of its tasks in turn, on fresh servers each time, and then run again.

    interrupted.py [--server mysql|mariadb] [--minutes 9] [--resume] [--document
    docs/evidence/interrupted.md] [--task N …] [--draw 3] [--tarball path]

A task that no host ran leaves everything as the task before it did, and is not tried by itself. The
whole takes hours: with --minutes it stops in time, and with --resume it goes on where the last run
of this checkout stopped.
"""

from __future__ import annotations

import json
import pathlib
import random
import sys
import tempfile
import time
import typing

PROJECT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import kill_harness  # noqa: E402
from kill_harness import Section, Task  # noqa: E402
from support.killed import listening, was_killed  # noqa: E402
from support.live_hosts import PASSWORD, hosts, inventory, playbook  # noqa: E402

RELEASES = {"mysql": "", "mariadb": "12"}
STATE = PROJECT / "tests" / "output" / "interrupted"
# A bare pair takes at least so many tasks, whatever its server.
FEWEST_TASKS = 95
# A user's own: an option in a file of theirs, and an account.
OWN = "[mysqld]\nmax_connections = 77\nevent_scheduler = OFF\n"
# Hosts of a tarball have one option file.
ONE_FILE = "/etc/my.cnf"
OWN_FILE = "/etc/mysql/conf.d/own.cnf"
OUR_FILE = "/etc/mysql/*.conf.d/zz-dbre-semisync.cnf"


class Kind(typing.NamedTuple):
    """What is on the hosts of a pair."""

    server: str
    tarball: str | None = None

    def hosts(self):
        """A pair's hosts, as a generator."""
        release = None if self.tarball else RELEASES[self.server]
        wanted = [(name, self.server, release, self.tarball) for name in ("source", "replica")]
        turn = self.server + ("-tarball" if self.tarball else "")
        return hosts(*wanted, turn="interrupted-" + turn)

    @property
    def files(self) -> tuple[str, str]:
        """Where the user's options are, and ours."""
        return (ONE_FILE, ONE_FILE) if self.tarball else (OWN_FILE, OUR_FILE)


def prepare(host, kind: Kind) -> None:
    """What a user has on a server before the collection comes."""
    host.shell(f"cat >> {kind.files[0]} && systemctl restart {host.server}", input=OWN)
    host.wait()
    # Not in the binary log: on a replica to be it would be a transaction that its source does not
    # have.
    host.sql(
        "SET sql_log_bin = 0; CREATE USER app@localhost IDENTIFIED BY 'Geheim-77'; GRANT SELECT ON"
        " *.* TO app@localhost; FLUSH PRIVILEGES"
    )


def site(file: pathlib.Path, after: int = 0, tasks: pathlib.Path | None = None):
    """Run site.yml, to its end or until it is killed after a task."""
    return playbook("site", file, **listening(after, tasks))


def outcome(host, kind: Kind) -> list:
    """What must be the same whether a run was interrupted or not: options, plugins, accounts, the
    user's own.
    """
    own, text = [host.shell(f"cat {file}").stdout for file in kind.files]
    asked = host.value(
        "SELECT GROUP_CONCAT(PLUGIN_NAME ORDER BY 1) FROM information_schema.PLUGINS"
        " WHERE PLUGIN_NAME LIKE 'rpl_semi%';"
        "SELECT User, Host FROM mysql.user ORDER BY 1, 2; SELECT @@max_connections, @@server_id;"
        "SHOW GRANTS FOR app@localhost"
    )
    return [text, own, asked]


def converge(
    kind: Kind, folder: pathlib.Path, after: int = 0
) -> tuple[list[Task], list[list], float]:
    """A fresh pair, a run killed after a task (0: none), and a second one: tasks of the first,
    outcome, seconds.
    """
    made = kind.hosts()
    source, replica = next(made)
    try:
        for host in (source, replica):
            prepare(host, kind)
        file, tasks = inventory(folder, {source: {}}, {replica: {}}), folder / "tasks"
        begin = time.monotonic()
        if after:
            was_killed(site(file, after, tasks))
            for host in (source, replica):
                assert host.sql("SELECT 1", check=False).returncode == 0, (
                    f"{host.name} was left stopped"
                )
                assert PASSWORD not in host.shell("grep -rs '%' /tmp /var/tmp", check=False).stdout
        done = site(file, tasks=None if after else tasks)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        verified = playbook("verify", file)
        assert verified.returncode == 0, verified.stdout[-3000:]
        outcomes = [outcome(host, kind) for host in (source, replica)]
        return kill_harness.read_tasks(tasks), outcomes, time.monotonic() - begin
    finally:
        made.close()


def attempt(kind: Kind, number: int, wanted: list[list] | None) -> str:
    """One task's row: converged, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _tasks, found, seconds = converge(kind, pathlib.Path(folder), number)
        except AssertionError as error:
            print(error, file=sys.stderr, flush=True)
            return kill_harness.failure(error)
    if wanted is not None and found != wanted:
        return f"{kill_harness.FAILED}: the outcome differs from an uninterrupted run's"
    return f"{kill_harness.CONVERGED}, {seconds:.0f} s"


def order(numbers: list[int], changed: list[int]) -> list[int]:
    """Tasks that changed a host first, for when the time does not suffice."""
    return sorted(numbers, key=lambda number: (number not in changed, number))


def begin(server: str, resume: bool) -> dict:
    """What a run without an interruption looks like, and the results so far: of the last run, or
    none yet.
    """
    path = STATE / f"{server}.json"
    if resume and path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        found["results"] = {int(number): said for number, said in found["results"].items()}
        print(
            f"{server}: going on, {len(found['results'])} of {len(found['tasks'])} tasks are done",
            flush=True,
        )
        return found
    with tempfile.TemporaryDirectory() as folder:
        tasks, wanted, seconds = converge(Kind(server), pathlib.Path(folder))
    print(f"{server}: {len(tasks)} tasks, {seconds:.0f} s without an interruption", flush=True)
    return {"tasks": tasks, "wanted": wanted, "results": {}}


def keep(server: str, found: dict) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    (STATE / f"{server}.json").write_text(json.dumps(found), encoding="utf-8")


def all_tasks(opts, until: float) -> int:
    """Kill after every task that a host ran, in the time there is; 1 where one did not converge."""
    found = begin(opts.server, opts.resume)
    tasks, results = found["tasks"], found["results"]

    def attempt_one(number: int) -> str:
        return attempt(Kind(opts.server), number, found["wanted"])

    def keep_it() -> None:
        keep(opts.server, found)
        if opts.document:
            Section(opts.document, opts.server).write(tasks, results)

    numbers = kill_harness.numbers(tasks)
    changed = [task["number"] for task in tasks if task["changed"]]
    in_order = order(numbers, changed)
    kill_harness.kill_after_each(tasks, results, attempt_one, until, keep_it, in_order)
    print(f"{len(results)} of {len(numbers)} done", flush=True)
    return int(kill_harness.any_failed(results))


def some_tasks(opts, kind: Kind) -> int:
    """Kill after the tasks that were asked for, or drawn; 1 where one did not converge."""
    what, last, wanted = kind.server, FEWEST_TASKS, None
    if kind.tarball:
        # Only this shows what a run without an interruption leaves on this server.
        with tempfile.TemporaryDirectory() as folder:
            tasks, wanted, seconds = converge(kind, pathlib.Path(folder))
        what, last = pathlib.Path(kind.tarball).name, max(t["number"] for t in tasks if t["ran"])
        print(f"{what}: {last} tasks, {seconds:.0f} s without an interruption", flush=True)
    drawn = opts.task or sorted(random.SystemRandom().sample(range(1, last), opts.draw))
    print(f"{what}: killed after the tasks {', '.join(map(str, drawn))}", flush=True)
    results = {}
    for number in drawn:
        results[number] = attempt(kind, number, wanted)
        name = f" ({tasks[number - 1]['name']})" if kind.tarball else ""
        print(f"after task {number}{name}: {results[number]}", flush=True)
    return int(kill_harness.any_failed(results))


def main() -> int:
    parser = kill_harness.parser_for(__doc__, RELEASES, "mysql")
    parser.add_argument("--tarball", help="MySQL from a tarball, with --draw or --task")
    parser.add_argument(
        "--task", type=int, action="append", help="only after this one, without the whole table"
    )
    parser.add_argument("--draw", type=int, help="only after so many, drawn at random")
    opts = parser.parse_args()
    until = kill_harness.deadline(opts.minutes)
    if opts.draw or opts.task:
        return some_tasks(opts, Kind(opts.server, opts.tarball))
    if opts.tarball:
        parser.error("--tarball goes with --draw or --task")
    return all_tasks(opts, until)


if __name__ == "__main__":
    sys.exit(main())
