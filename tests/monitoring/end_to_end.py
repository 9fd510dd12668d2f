"""The alert rules and the dashboard on a lab pair, with Debian's exporter on its hosts and Debian's
Prometheus here.

A replica's server is stopped while the source is written to: the alerts fire. It is started: they
clear. Then its SQL thread alone. Run by `make monitoring`; takes about eight minutes, five of them
the window of one alert.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from common import Clock, LabError  # noqa: E402
from container import docker  # noqa: E402

from monitoring import packages  # noqa: E402

MONITORING = PROJECT / "monitoring"
EXPORTER = "prometheus-mysqld-exporter"
PORT = 9104
PATIENCE = 420
CNF = "[client]\nuser=prometheus\nsocket=/run/mysqld/mysqld.sock\n"
# The account has no password: the server asks the kernel who is at the other end of the socket.
ACCOUNT = """CREATE USER IF NOT EXISTS 'prometheus'@'localhost' IDENTIFIED {how};
GRANT PROCESS, {monitor} ON *.* TO 'prometheus'@'localhost';
"""
SOCKET_LOGIN = {
    "mysql": ("WITH auth_socket", "REPLICATION CLIENT"),
    "mariadb": ("VIA unix_socket", "REPLICATION CLIENT, REPLICA MONITOR, BINLOG MONITOR"),
}
clock = Clock()


def tell(words: str) -> None:
    """A line of the story."""
    print(f"{clock.seconds():6.1f} s  {words}", flush=True)


def inside(container: str, script: str, text: str | None = None, check: bool = True) -> str:
    """The output of a shell script in a container; `text` is its standard input."""
    return docker(
        "exec", "--interactive", container, "sh", "-ec", script, input_text=text or "", check=check
    ).stdout


def sql(container: str, statement: str) -> str:
    """The output of a statement, sent through standard input."""
    return inside(
        container,
        "client=$(command -v mariadb || command -v mysql); $client --batch --skip-column-names",
        statement,
    )


def hosts(inventory: Path) -> dict[str, dict[str, str]]:
    """The containers by group: {'semisync_source': {'source': container}, …}."""
    groups = yaml.safe_load((inventory / "hosts.yml").read_text(encoding="utf-8"))["all"][
        "children"
    ]
    return {
        group: {name: its["ansible_host"] for name, its in groups[group]["hosts"].items()}
        for group in ("semisync_source", "semisync_replica")
    }


def install(container: str) -> None:
    """Debian's exporter as Debian installs it, logging in through the socket."""
    files = [packages.package(EXPORTER)]
    if inside(container, "command -v adduser || true") == "":
        files.insert(0, packages.package("adduser"))
    for file in files:
        docker("cp", "--quiet", str(file), f"{container}:/root/{file.name}")
    inside(
        container,
        "mkdir -p /etc/prometheus; cat > /etc/prometheus/mysqld.cnf; "
        "echo 'ARGS=\"--config.my-cnf=/etc/prometheus/mysqld.cnf\"' > /etc/default/" + EXPORTER,
        CNF,
    )
    names = " ".join(f"/root/{file.name}" for file in files)
    inside(
        container,
        f"dpkg --install --force-confold {names}; rm {names}; systemctl restart {EXPORTER}",
    )


def uninstall(container: str) -> None:
    """Take the exporter off again."""
    inside(container, f"dpkg --purge {EXPORTER}; rm -f /etc/prometheus/mysqld.cnf", check=False)


def address(container: str) -> str:
    """Where the exporter of a container answers."""
    form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return docker("inspect", "--format", form, container).stdout.strip() + f":{PORT}"


def free_port() -> int:
    """An unused port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """A Prometheus on loopback that scrapes every few seconds and evaluates our rules.

    Args:
        folder: where its files are.
        targets: name -> address of each exporter.
        scrape: seconds between two scrapes.
        labels: of every target.
        alertmanager: where alerts are sent, if anywhere.
    """

    def __init__(
        self,
        folder: Path,
        targets: dict[str, str],
        scrape: int = 10,
        labels: dict[str, str] | None = None,
        alertmanager: str = "",
    ) -> None:
        self.known: set[tuple[str, str]] = set()
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = (folder / "prometheus.log").open("w", encoding="utf-8")
        config = folder / "prometheus.yml"
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": f"{scrape}s", "evaluation_interval": "1s"},
                    "rule_files": [str(MONITORING / "semisync.rules.yml")],
                    "scrape_configs": [
                        {
                            "job_name": "mysql",
                            "static_configs": [
                                {"targets": [where], "labels": {**(labels or {}), "instance": name}}
                                for name, where in targets.items()
                            ],
                        }
                    ],
                    "alerting": {
                        "alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]
                        * bool(alertmanager)
                    },
                }
            ),
            encoding="utf-8",
        )
        self.child = subprocess.Popen(
            [
                packages.program("prometheus", "prometheus"),
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/tsdb",
                f"--web.listen-address={self.url.removeprefix('http://')}",
            ],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def ask(self, path: str, **query: str):
        """The data of an answer of its API; None while it does not answer."""
        try:
            with urllib.request.urlopen(  # noqa: S310 - of this machine
                f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10
            ) as got:
                return json.load(got)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                # It is starting.
                return None
            raise LabError(f"Prometheus refuses {query}: {error.read().decode()}") from None
        except OSError:
            return None

    def value(self, expression: str) -> list:
        """The samples of an expression now."""
        return (self.ask("query", query=expression) or {"result": []})["result"]

    def firing(self) -> set[tuple[str, str]]:
        """(alert, instance) of what fires now, and where a scrape failed: what is not measured
        cannot be quiet.
        """
        answer = self.ask("alerts")
        if answer is None:
            return {("no answer", "Prometheus")}
        now = {
            (item["labels"]["alertname"].removeprefix("Semisync"), item["labels"]["instance"])
            for item in answer["alerts"]
            if item["state"] == "firing"
        } | {("not scraped", item["metric"]["instance"]) for item in self.value("up == 0")}
        for word, changed in (("fires", now - self.known), ("clears", self.known - now)):
            for name, instance in sorted(changed):
                tell(f"    {word}: {name} on {instance}")
        self.known = now
        return now

    def close(self) -> None:
        """End it."""
        self.child.terminate()
        self.child.wait(timeout=30)
        self.log.close()


def until(what: str, condition, patience: float = PATIENCE) -> None:
    """Wait until a condition holds and say when it did; its last answer is in the error when it
    never does.
    """
    end, last = time.monotonic() + patience, None
    while time.monotonic() < end:
        last = condition()
        if last is True:
            tell(what)
            return
        time.sleep(0.5)
    raise LabError(f"did not come within {patience:.0f} s: {what}; last seen: {last}")


def fires(prometheus: Prometheus, *wanted: tuple[str, str]):
    """A condition: these alerts fire."""
    return lambda: not set(wanted) - prometheus.firing() or sorted(prometheus.firing())


def quiet(prometheus: Prometheus, *names: str):
    """A condition: none of these alerts fires, or none at all."""

    def seen():
        left = {
            item
            for item in prometheus.firing()
            if not names or item[0] in (*names, "no answer", "not scraped")
        }
        return not left or sorted(left)

    return seen


@contextlib.contextmanager
def writer(container: str):
    """Rows written on the source all along, one a second."""
    script = (
        "client=$(command -v mariadb || command -v mysql); touch /run/monitoring-writer; "
        "while [ -e /run/monitoring-writer ]; do $client -e "
        '"INSERT INTO monitoring_test.rows VALUES (NULL)" || true; sleep 1; done'
    )
    sql(
        container,
        "CREATE DATABASE monitoring_test; CREATE TABLE monitoring_test.rows (id INT AUTO_INCREMENT"
        " PRIMARY KEY);",
    )
    child = subprocess.Popen(
        ["docker", "exec", container, "sh", "-c", script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        inside(container, "rm -f /run/monitoring-writer", check=False)
        child.wait(timeout=60)
        sql(container, "DROP DATABASE monitoring_test;")


def panels() -> list[tuple[str, str]]:
    """(title, expression) of every panel of the dashboard, its variables filled in."""
    board = json.loads((MONITORING / "grafana" / "semisync.json").read_text(encoding="utf-8"))
    filled = [
        (
            panel["title"],
            target["expr"]
            .replace("$__rate_interval", "1m")
            .replace("$job", ".*")
            .replace("$instance", ".*"),
        )
        for panel in board["panels"]
        for target in panel["targets"]
    ]
    return filled + [
        ("annotations", item["expr"].replace("$job", ".*").replace("$instance", ".*"))
        for item in board["annotations"]["list"]
    ]


def empty(prometheus: Prometheus) -> list[str]:
    """The panels without data; there may be no alert to annotate, but the query must be valid."""
    return sorted(
        {title for title, expression in panels() if not prometheus.value(expression)}
        - {"annotations"}
    )


def story(prometheus: Prometheus, count: int, source: str, name: str, replica: str) -> None:
    """The replica stops and comes back; then its SQL thread alone."""
    until(
        f"{count} exporters are scraped, the source counts its replica, nothing fires",
        lambda: (
            len(prometheus.value("semisync:source:clients > 0")) == 1
            and len(prometheus.value("mysql_up == 1")) == count
            and quiet(prometheus)() is True
        ),
        300,
    )
    unit = inside(
        replica, "systemctl is-active --quiet mysql && echo mysql || echo mariadb"
    ).strip()
    version = sql(replica, "SELECT VERSION()")
    new = "MariaDB" not in version
    with writer(source):
        inside(replica, f"systemctl stop {unit}")
        tell(f"the server of {name} is stopped; the source is written to once a second")
        until(
            "FIRES: Degraded, TooFewClients, UnprotectedTransactions on source; NotMeasured on "
            + name,
            fires(
                prometheus,
                ("Degraded", "source"),
                ("TooFewClients", "source"),
                ("UnprotectedTransactions", "source"),
                ("NotMeasured", name),
            ),
        )
        inside(replica, f"systemctl start {unit}")
        tell(f"the server of {name} is started")
        until(
            "CLEARS: Degraded, TooFewClients, NotMeasured",
            quiet(prometheus, "Degraded", "TooFewClients", "NotMeasured"),
        )
        sql(replica, "STOP REPLICA SQL_THREAD;" if new else "STOP SLAVE SQL_THREAD;")
        tell(f"the SQL thread of {name} is stopped; it goes on acknowledging")
        until(
            "FIRES: ReplicaNotApplying on " + name, fires(prometheus, ("ReplicaNotApplying", name))
        )
        if ("Degraded", "source") in prometheus.firing():
            raise LabError("the source is degraded, so the replica did not acknowledge")
        sql(replica, "START REPLICA SQL_THREAD;" if new else "START SLAVE SQL_THREAD;")
        until("CLEARS: ReplicaNotApplying", quiet(prometheus, "ReplicaNotApplying"))
        until("CLEARS: all, also UnprotectedTransactions", quiet(prometheus))
        # Asked while there is load: a panel without data here would be empty on every wall.
        until(
            f"every one of the dashboard's {len(panels())} queries is answered with data",
            lambda: not empty(prometheus) or empty(prometheus),
            120,
        )


def main() -> int:
    """Install, tell the story, take everything off again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", type=Path, default=PROJECT / "inventory" / "lab")
    groups = hosts(parser.parse_args().inventory)
    (source,) = groups["semisync_source"].values()
    name, replica = next(iter(groups["semisync_replica"].items()))
    everybody = {host: container for group in groups.values() for host, container in group.items()}
    engine = "mariadb" if "MariaDB" in sql(source, "SELECT VERSION()") else "mysql"
    how, monitor = SOCKET_LOGIN[engine]
    prometheus = None
    with tempfile.TemporaryDirectory(prefix="semisync-monitoring-") as folder:
        try:
            sql(source, ACCOUNT.format(how=how, monitor=monitor))
            for container in everybody.values():
                install(container)
            tell(f"Debian's {packages.package(EXPORTER).stem} runs on {', '.join(everybody)}")
            prometheus = Prometheus(
                Path(folder), {host: address(item) for host, item in everybody.items()}
            )
            story(prometheus, len(everybody), source, name, replica)
        except LabError as error:
            print(f"monitoring: error: {error}", file=sys.stderr)
            return 1
        finally:
            if prometheus:
                prometheus.close()
            for container in everybody.values():
                uninstall(container)
            sql(source, "DROP USER IF EXISTS 'prometheus'@'localhost';")
    tell("the exporters and their account are gone again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
