"""How long clients wait while a running pair goes to semi-sync: online against restart, 50 writers, real servers.

    stalls.py [--server mysql|mariadb …] [--clients 50] [--document docs/stalls.md]
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import tempfile
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "live"))

from live_hosts import Host, hosts, inventory, playbook, run  # noqa: E402

WRITERS = pathlib.Path(__file__).with_name("writers.py")
RELEASES = {"mysql": "", "mariadb": "12"}
QUIET_SECONDS = 15


class Writers:
    """The clients on a host, from start to stop."""

    def __init__(self, host: Host, clients: int):
        self.host, self.clients = host, clients

    def start(self) -> None:
        socket = self.host.value("SELECT @@socket")
        run("docker", "cp", WRITERS, f"{self.host.name}:/root/writers.py")
        run("docker", "exec", "--detach", self.host.name, "python3", "/root/writers.py", socket, self.clients,
            "/root/stop", "/root/stalls.json")

    def stop(self, seconds: float = 90) -> dict:
        """Every row's wait, once the last client has ended."""
        self.host.shell("touch /root/stop")
        until = time.monotonic() + seconds
        while self.host.shell("test -e /root/stalls.json", check=False).returncode != 0:
            assert time.monotonic() < until, "the writers have not ended"
            time.sleep(0.2)
        return json.loads(self.host.shell("cat /root/stalls.json; rm /root/stop /root/stalls.json").stdout)


def longest(rows: list, since: float = 0, until: float = 1e12) -> float:
    """The longest wait in milliseconds of a row whose client wished to write in this span of time."""
    return max((1000 * seconds for begin, seconds in rows if since <= begin < until), default=0.0)


def percentile(rows: list, share: float) -> float:
    ordered = sorted(seconds for dummy, seconds in rows)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(server: str, way: str, clients: int, folder: pathlib.Path) -> dict:
    """One pair, asynchronous and under load, taken to semi-sync one way."""
    made = hosts(("source", server, RELEASES[server]), ("replica", server, RELEASES[server]),
                 turn="stalls")
    source, replica = next(made)
    try:
        file = inventory(folder, {source: {}}, {replica: {}}, semisync_apply=way, semisync_timeout=10000)
        first = playbook("apply", file, "-e", "semisync_stage=replication")
        assert first.returncode == 0, first.stdout + first.stderr
        writers = Writers(source, clients)
        writers.start()
        time.sleep(QUIET_SECONDS)
        begin = time.time()
        done = playbook("site", file)
        end = time.time()
        found = writers.stop()
        assert done.returncode == 0, done.stdout + done.stderr
        written = source.value("SELECT COUNT(*) FROM stalls.rows_of")
        until = time.monotonic() + 60
        while replica.value("SELECT COUNT(*) FROM stalls.rows_of") != written:
            assert time.monotonic() < until, "the replica lacks rows"
            time.sleep(0.5)
        return {"server": server, "version": source.value("SELECT @@version"), "way": way, "clients": clients,
                "rows": len(found["rows"]), "refused": found["refused"], "seconds": end - begin,
                "quiet_ms": longest(found["rows"], until=begin), "longest_ms": longest(found["rows"], since=begin - 1),
                "p99_ms": percentile([row for row in found["rows"] if row[0] >= begin], 0.99)}
    finally:
        made.close()


def document(results: list) -> str:
    lines = ["| server | way | longest wait of a client | 99 % of rows within | longest wait before, nothing happening "
             "| attempts refused | rows |", "|---|---|---|---|---|---|---|"]
    for one in results:
        lines.append("| {version} | `{way}` | {longest_ms:.0f} ms | {p99_ms:.0f} ms | {quiet_ms:.0f} ms | {refused} | "
                     "{rows} |".format(**one))
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", choices=sorted(RELEASES))
    parser.add_argument("--way", action="append", choices=["online", "restart"])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--document", type=pathlib.Path)
    opts = parser.parse_args()
    results = []
    for server in opts.server or ["mysql", "mariadb"]:
        for way in opts.way or ["online", "restart"]:
            with tempfile.TemporaryDirectory() as folder:
                results.append(measure(server, way, opts.clients, pathlib.Path(folder)))
            print(json.dumps(results[-1]), flush=True)
    text = document(results)
    print(text)
    if opts.document:
        before, mark, dummy = opts.document.read_text(encoding="utf-8").partition("<!-- figures -->\n")
        moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        opts.document.write_text(f"{before}{mark}Measured on {moment} with {os.cpu_count()} cores, both servers on one "
                                 f"machine, {opts.clients} writers.\n\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
