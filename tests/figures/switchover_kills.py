"""What becomes of a switchover whose part, or server, is killed at each of its points: real
servers, writers, and the same command run again.

switchover_kills.py [--server mysql|mariadb] [--hosts 2] [--only text] [--document PATH]
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import signal
import sys
import tempfile
import time
from typing import Any

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]


from support.acknowledged import (  # noqa: E402
    RELEASES,
    Writers,
    judge,
    record_of,
    rows_of,
    same_data,
)
from support.live_hosts import Host, hosts, inventory, playbook, run  # noqa: E402

KILLER = PROJECT / "tests" / "support" / "clients" / "kill_at.py"
STATE = PROJECT / "tests" / "output" / "switchover-kills.json"
MARK = "<!-- interrupted -->\n"
FLAGS: dict[str, dict[str, tuple[str, ...]]] = {
    "mysql": {
        "source": ("begun", "frozen", "attached", "granted"),
        "target": ("armed", "ready", "asks", "open"),
    },
    "mariadb": {"source": ("begun", "read_only", "attached"), "target": ("source_side", "open")},
}


def cases(server: str) -> list[tuple[str, str, str]]:
    """(part, point, what is killed)."""
    return [
        (part, point, what)
        for part, points in FLAGS[server].items()
        for point in points
        for what in ("module", "server")
    ]


def arm(host: Host, point: str, what: str) -> None:
    """Let a process on the host kill at a point."""
    run("docker", "cp", KILLER, f"{host.name}:/root/kill_at.py")
    path = host.value("SELECT @@socket")
    run(
        "docker", "exec", "--detach", host.name, "sh", "-c",
        f"python3 /root/kill_at.py {path} {point} {what} >/root/killed 2>&1",
    )  # fmt: skip


def takes_writes(host: Host) -> bool:
    done = host.sql("SELECT @@GLOBAL.read_only", check=False)
    return done.returncode == 0 and done.stdout.strip().lower() in ("0", "off")


def move(file: pathlib.Path, target: Host) -> Any:
    return playbook("switchover", file, "-e", f"semisync_switchover_to={target.name}")


def why(done: Any) -> str:
    """The last refusal or failure in a run's output, short."""
    found = re.findall(r"(?:msg: |\"msg\": \")(.+)", done.stdout)
    words = [one for one in found if "says why" not in one]
    return (words or [""])[-1][:300]


def one_case(
    everybody: list[Host], file: pathlib.Path, folder: pathlib.Path, source: Host, case: Any
) -> tuple[dict[str, Any], Host]:
    """(what happened, who is the source afterwards)."""
    part, point, what = case
    target = next(host for host in everybody if host is not source)
    victim = source if part == "source" else target
    arm(victim, point, what)
    begin = time.monotonic()
    first = move(file, target)
    killed = victim.shell("cat /root/killed", check=False).stdout.strip()
    for host in everybody:
        host.wait()
    time.sleep(2)
    between = [host.name.rpartition("-")[2] for host in everybody if takes_writes(host)]
    # A run that came to its end is not to be repeated: the target is the source.
    again = move(file, target) if first.returncode else first
    after = [host for host in everybody if takes_writes(host)]
    assert len(after) == 1, f"{case}: {[host.name for host in after]} take writes\n{again.stdout}"
    verified = playbook("verify", file)
    return {
        "part": part,
        "point": point,
        "what": what,
        "killed": killed,
        "first": first.returncode,
        "first_words": why(first) if first.returncode else "done",
        "between": between,
        "again": again.returncode,
        "again_words": why(again) if again.returncode else record_of(folder)["outcome"],
        "moved": after[0] is target,
        "verify": verified.returncode,
        "verify_words": why(verified) if verified.returncode else "",
        "seconds": round(time.monotonic() - begin),
    }, after[0]


def measure(server: str, number: int, only: str, folder: pathlib.Path) -> dict[str, Any]:
    wanted = [
        (name, server, RELEASES[server])
        for name in ["source", *(f"replica{turn}" for turn in range(1, number))]
    ]
    made = hosts(*wanted, turn="switchoverkills")
    everybody = next(made)
    try:
        source = everybody[0]
        file = inventory(
            folder, {source: {}}, {host: {} for host in everybody[1:]}, semisync_timeout=10000
        )
        done = playbook("site", file)
        assert done.returncode == 0, done.stdout + done.stderr
        # Where neither server is killed with them.
        writers = Writers(everybody[-1], everybody, 10)
        writers.prepare(source)
        same_data(everybody)
        writers.start()
        rows = []
        for case in cases(server):
            if only in "-".join(case):
                row, source = one_case(everybody, file, folder, source, case)
                print(json.dumps(row), flush=True)
                rows.append(row)
        known = writers.stop()
        same_data(everybody)
        verdicts = {host.name: judge(known, rows_of(host)) for host in everybody}
        return {
            "server": server,
            "version": source.value("SELECT @@version"),
            "hosts": number,
            "rows": rows,
            "confirmed": sum(len(one) for one in known["confirmed"]),
            "unknown": sum(len(one) for one in known["unknown"]),
            "verdicts": verdicts,
        }
    finally:
        made.close()


def line_of(row: dict[str, Any]) -> str:
    cells = (
        f"{row['part']}'s {row['what']}",
        row["point"],
        "failed" if row["first"] else "done",
        ", ".join(row["between"]) or "nobody",
        "failed" if row["again"] else row["again_words"],
        "yes" if row["moved"] else "no",
        "not healthy" if row["verify"] else "healthy",
    )
    return f"| {' | '.join(cells)} |"


def document(results: list[dict[str, Any]]) -> str:
    lines = []
    for one in results:
        wrong = {
            word: sum(len(verdict[word]) for verdict in one["verdicts"].values())
            for word in ("lost", "unexpected", "twice")
        }
        lines += [
            f"{one['version']}, {one['hosts']} hosts; rows confirmed: {one['confirmed']}, lost:"
            f" {wrong['lost']}, unexpected: {wrong['unexpected']}, twice: {wrong['twice']},"
            f" unknown: {one['unknown']}.",
            "",
            "| killed | at | the run | took writes then | run again | role moved | verify |",
            "|---" * 7 + "|",
        ]
        lines += [line_of(row) for row in one["rows"]]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results = {}
    if STATE.exists():
        stored = json.loads(STATE.read_text(encoding="utf-8"))
        results = {(one["version"], one["hosts"]): one for one in stored}
    for server in opts.server or ["mysql", "mariadb"]:
        with tempfile.TemporaryDirectory() as folder:
            made = measure(server, opts.hosts, opts.only, pathlib.Path(folder))
        results[(made["version"], made["hosts"])] = made
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text(json.dumps(list(results.values())), encoding="utf-8")
    text = document([results[name] for name in sorted(results)])
    print(text)
    if opts.document:
        before, _mark, after = opts.document.read_text(encoding="utf-8").partition(MARK)
        rest = after.partition("\n## ")
        opts.document.write_text(
            before + MARK + text + (f"\n## {rest[2]}" if rest[1] else ""), encoding="utf-8"
        )
    good = all(
        not row["again"] and not row["verify"] for one in results.values() for row in one["rows"]
    )
    lost = any(
        any(verdict.values()) for one in results.values() for verdict in one["verdicts"].values()
    )
    return 0 if good and not lost else 1


if __name__ == "__main__":
    sys.exit(main())
