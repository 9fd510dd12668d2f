"""How a run grows with the number of replicas and of clusters, on small MariaDB containers of its
own.

For each shape: bare hosts, the first site.yml, then floor and no-op site.yml in turn. The floor is
floor.yml, the least that Ansible can do with each host. Prints a table and, with --write, puts it
into docs/evidence/speed.md with a plot. Run by `make bench-scale`; 20 clusters are 40 containers
and need about 8 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

import container  # noqa: E402
import debian  # noqa: E402
import docker_image  # noqa: E402
from common import LabError, lab_name, say  # noqa: E402

import scale_plot  # noqa: E402

PREFIX = "-".join(filter(None, ("semisync-bench", lab_name()))) + "-"
NETWORK = PREFIX + "net"
# (clusters, replicas of each)
SHAPES = ((1, 1), (1, 5), (1, 20), (5, 1), (20, 1))
SMALL = (
    "[mariadbd]\ninnodb_buffer_pool_size=16M\ninnodb_log_file_size=16M\nperformance_schema=OFF\n"
    "max_connections=50\nkey_buffer_size=1M\naria_pagecache_buffer_size=1M\n"
)
UP_SECONDS = 300
# Figures of the shapes that were measured.
KEPT = PROJECT / "tests" / "output" / "bench-scale.json"


def names(clusters: int, replicas: int) -> dict[str, list[str]]:
    """The hosts of each cluster, its source first."""
    return {
        f"c{number}": [
            f"c{number}-source",
            *(f"c{number}-replica{which}" for which in range(1, replicas + 1)),
        ]
        for number in range(1, clusters + 1)
    }


def inventory(shape: dict[str, list[str]], folder: Path) -> Path:
    """Write the inventory of a shape."""

    def its(host, cluster):
        return {
            "ansible_connection": "community.docker.docker",
            "ansible_host": PREFIX + host,
            "ansible_python_interpreter": "/usr/bin/python3",
            "semisync_cluster": cluster,
        }

    groups: dict[str, dict[str, Any]] = {"semisync_source": {}, "semisync_replica": {}}
    for cluster, hosts in shape.items():
        for place, host in enumerate(hosts):
            groups["semisync_replica" if place else "semisync_source"][host] = its(host, cluster)
    target = folder / "hosts.json"
    with open(
        target, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
    ) as stream:
        json.dump(
            {
                "all": {
                    "vars": {
                        "semisync_replication_password": secrets.token_urlsafe(24),
                        "semisync_results_dir": str(folder / "results"),
                    },
                    "children": {group: {"hosts": hosts} for group, hosts in groups.items()},
                }
            },
            stream,
        )
    return target


def remove() -> None:
    """Remove every container of the benchmark and its network."""
    there = container.docker("ps", "--all", "--quiet", "--filter", f"name=^{PREFIX}").stdout.split()
    if there:
        container.docker("rm", "--force", "--volumes", *there)
    container.docker("network", "rm", NETWORK, check=False)


def up(shape: dict[str, list[str]], server: debian.Server, folder: Path) -> None:
    """Bare hosts; their servers answer."""
    tag, its = docker_image.ensure(server), container.flags(server)
    option_file = folder / "small.cnf"
    option_file.write_text(SMALL, encoding="utf-8")
    option_file.chmod(0o644)
    container.docker("network", "create", NETWORK)
    hosts = [host for cluster in shape.values() for host in cluster]
    for host in hosts:
        container.start(
            PREFIX + host,
            host,
            NETWORK,
            tag,
            its,
            "--volume",
            f"{option_file}:/etc/mysql/mariadb.conf.d/00-small.cnf:ro",
        )
    end = time.monotonic() + UP_SECONDS
    for host in hosts:
        while container.docker(
            "exec", PREFIX + host, server.admin, "--connect-timeout=2", "ping", check=False
        ).returncode:
            if time.monotonic() > end:
                raise LabError(f"{host} does not answer within {UP_SECONDS} s")
            time.sleep(0.5)


def play(book: Path, file: Path) -> tuple[float, int]:
    """Seconds of a playbook and the number of changes; ends the benchmark when it fails."""
    begin = time.monotonic()
    done = subprocess.run(
        ["ansible-playbook", "-i", str(file), str(book)],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise LabError(f"{book.name} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return time.monotonic() - begin, sum(map(int, re.findall(r"changed=(\d+)", done.stdout)))


def measure(clusters: int, replicas: int, rounds: int, server: debian.Server) -> dict:
    """One shape: the first converge, then floor and no-op in turn."""
    shape = names(clusters, replicas)
    hosts = clusters * (1 + replicas)
    with tempfile.TemporaryDirectory(prefix="semisync-bench-") as name:
        folder = Path(name)
        remove()
        say(f"{clusters} cluster(s) of {1 + replicas} hosts: making {hosts} hosts")
        up(shape, server, folder)
        file = inventory(shape, folder)
        first, _changed = play(PROJECT / "site.yml", file)
        say(f"first converge {first:.1f} s")
        play(PROJECT / "site.yml", file)
        seconds: dict[str, list[float]] = {"floor": [], "no-op": []}
        for _dummy in range(rounds):
            seconds["floor"].append(play(HERE / "floor.yml", file)[0])
            spent, changed = play(PROJECT / "site.yml", file)
            if changed:
                raise LabError(f"site.yml was no no-op: {changed} changes")
            seconds["no-op"].append(spent)
        say(
            f"floor {statistics.median(seconds['floor']):.1f} s, no-op"
            f" {statistics.median(seconds['no-op']):.1f} s"
        )
    return {"clusters": clusters, "replicas": replicas, "hosts": hosts, "first": first, **seconds}


def growth(rows: list[dict], what: str) -> float:
    """Seconds that each further host costs between the smallest and the largest of these shapes."""
    small, large = min(rows, key=lambda row: row["hosts"]), max(rows, key=lambda row: row["hosts"])
    return (statistics.median(large[what]) - statistics.median(small[what])) / (
        large["hosts"] - small["hosts"]
    )


def words(rows: list[dict]) -> list[str]:
    """What the figures say about the target: a no-op grows by at most one floor's growth a host."""
    said = []
    for name, key in (("replica", "clusters"), ("cluster's host", "replicas")):
        some = [row for row in rows if row[key] == 1]
        if len(some) > 1:
            floor, noop = growth(some, "floor"), growth(some, "no-op")
            said.append(
                f"Each further {name} costs the floor {floor:.2f} s and a no-op {noop:.2f} s: "
                f"{'within' if noop <= floor else 'NOT within'} the target of one floor's growth."
            )
    return said


def table(rows: list[dict]) -> str:
    """The figures as Markdown."""

    def cell(values):
        return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"

    lines = [
        (
            "| clusters | replicas of each | hosts | floor, s | no-op `site.yml`, s | no-op / floor"
            " | first `site.yml`, s |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['clusters']} | {row['replicas']} | {row['hosts']} | {cell(row['floor'])} |"
        f" {cell(row['no-op'])} |"
        f" {statistics.median(row['no-op']) / statistics.median(row['floor']):.2f} |"
        f" {row['first']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def write(text: str) -> None:
    """Put the table between its marks in docs/evidence/speed.md."""
    page = PROJECT / "docs" / "evidence" / "speed.md"
    old = page.read_text(encoding="utf-8")
    begin, end = "<!-- figures -->", "<!-- end of figures -->"
    figures = f"\n\n{text}\n\n![seconds against hosts](../images/speed.svg)\n\n"
    page.write_text(
        old[: old.index(begin) + len(begin)] + figures + old[old.index(end) :], encoding="utf-8"
    )


def keep(rows: list[dict], shapes: list[tuple[int, int]]) -> list[dict]:
    """What was measured, with the other shapes' figures of earlier runs of a part; in the order of
    the shapes.
    """
    known = (
        json.loads(KEPT.read_text(encoding="utf-8"))
        if KEPT.exists() and shapes != list(SHAPES)
        else []
    )
    found = {(row["clusters"], row["replicas"]): row for row in known + rows}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(list(found.values())), encoding="utf-8")
    return sorted(found.values(), key=lambda row: SHAPES.index((row["clusters"], row["replicas"])))


def shape_of(text: str) -> tuple[int, int]:
    """1x20 as (1, 20)."""
    found = tuple(int(part) for part in text.split("x"))
    if found not in SHAPES:
        raise argparse.ArgumentTypeError(
            f"{text}: possible are " + ", ".join(f"{a}x{b}" for a, b in SHAPES)
        )
    return found


def main() -> int:
    """Measure every shape; what is measured is kept although a later shape fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--shapes",
        type=shape_of,
        nargs="+",
        default=list(SHAPES),
        metavar="CLUSTERSxREPLICAS",
        help="measure these; the others' figures are those of earlier runs",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/evidence/speed.md and docs/images/speed.svg",
    )
    opts = parser.parse_args()
    server, rows, status = debian.server("mariadb"), [], 0
    try:
        for clusters, replicas in opts.shapes:
            with container.room(clusters * (1 + replicas)):
                rows.append(measure(clusters, replicas, opts.rounds, server))
    except LabError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        status = 1
    finally:
        remove()
    rows = keep(rows, opts.shapes)
    text = "\n\n".join([table(rows), *words(rows)])
    print(text)
    if opts.write and rows:
        write(text)
        image = PROJECT / "docs" / "images" / "speed.svg"
        image.parent.mkdir(exist_ok=True)
        image.write_text(scale_plot.svg(rows), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
