"""From a power cut to a plan on the screen: a lab pair with Debian's exporter, Debian's Prometheus
and Alertmanager here, and the real ansible-rulebook with the rulebook of extensions/eda.

Run by `make eda`. The source's host is cut, and the seconds are counted until the alert fires and
until the plan with its verdict is on the rulebook's screen. Nothing may have been promoted. Then
the source is started again, and the next round begins. The rows go to docs/evidence/eda.md.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from common import LabError  # noqa: E402
from container import docker  # noqa: E402

from monitoring import end_to_end as lab  # noqa: E402
from monitoring import packages  # noqa: E402

EDA = PROJECT / "extensions" / "eda"
CLUSTER = "shop"
# Seconds: what a plan may take on a machine that is not busy, and when it is given up.
PROMISED, PATIENCE = 30, 300
SCRAPE = 3
SHOWN = "Nothing was changed."
# Debian's reads templates from /usr/share, where this package is not installed.
WITH_ITS_FILES = """mount -t overlay none -o "lowerdir=$1/usr/share:/usr/share" /usr/share
shift; exec "$@"
"""


def alertmanager(folder: Path, hook: int, token: str) -> tuple[subprocess.Popen, str]:
    """An Alertmanager on loopback as docs/eda.md sets it up, and its address."""
    address = f"127.0.0.1:{lab.free_port()}"
    secret = folder / "token"
    secret.write_text(token, encoding="utf-8")
    secret.chmod(0o600)
    config = folder / "alertmanager.yml"
    sender = {
        "url": f"http://127.0.0.1:{hook}/alertmanager",
        "send_resolved": False,
        "http_config": {
            "authorization": {"type": "Bearer", "credentials_file": str(secret)},
        },
    }
    route = {
        "receiver": "plans",
        "matchers": ['alertname = "SemisyncSourceDown"'],
        "group_by": ["alertname", "semisync_cluster"],
        "group_wait": "0s",
        # The next round has the same alert again; by default it would be told five minutes later.
        "group_interval": "5s",
    }
    config.write_text(
        yaml.safe_dump(
            {
                "route": {"receiver": "people", "routes": [route]},
                "receivers": [{"name": "people"}, {"name": "plans", "webhook_configs": [sender]}],
            }
        ),
        encoding="utf-8",
    )
    program = packages.program("prometheus-alertmanager", "prometheus-alertmanager")
    with (folder / "alertmanager.log").open("w", encoding="utf-8") as log:
        child = subprocess.Popen(
            [
                *("unshare", "--mount", "--map-root-user", "sh", "-ec", WITH_ITS_FILES, "sh"),
                program.parents[2],
                program,
                f"--config.file={config}",
                f"--storage.path={folder}/alerts",
                f"--web.listen-address={address}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    return child, address


class Rulebook:
    """ansible-rulebook with the rulebook that promotes nothing; its screen is a file."""

    def __init__(self, folder: Path, hook: int, token: str) -> None:
        self.screen = folder / "screen.txt"
        venv = subprocess.run(
            [sys.executable, PROJECT / "tests/tools/venv.py", "tests/monitoring/rulebook.txt"],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            cwd=PROJECT,
        ).stdout.strip()
        # What the rulebook is told, by the environment: a token is on no command line.
        told = {
            "SEMISYNC_EDA_PORT": str(hook),
            "SEMISYNC_EDA_TOKEN": token,
            "SEMISYNC_EDA_FOLDER": str(folder),
        }
        with self.screen.open("w", encoding="utf-8") as screen:
            self.child = subprocess.Popen(
                [
                    f"{venv}/bin/ansible-rulebook",
                    "--rulebook=rulebooks/failover_plan.yml",
                    "--inventory=inventory.yml",
                    f"--env-vars={','.join(told)}",
                ],
                cwd=EDA,
                env={**os.environ, **told},
                stdout=screen,
                stderr=subprocess.STDOUT,
            )

    def shows(self) -> str:
        """What is on its screen."""
        return self.screen.read_text(encoding="utf-8")

    def close(self) -> None:
        """End it."""
        self.child.terminate()
        self.child.wait(timeout=60)


def listens(port: int) -> bool:
    """Whether something on this machine listens there."""
    return (
        subprocess.run(
            ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], check=False, capture_output=True
        ).returncode
        == 0
    )


def set_up(folder: Path, lab_hosts: Path) -> None:
    """An inventory in which the lab is the cluster shop, and that cluster with a heartbeat."""
    inventory = folder / "inventory"
    inventory.mkdir()
    (inventory / "hosts.yml").write_text(lab_hosts.read_text(encoding="utf-8"), encoding="utf-8")
    members = {"semisync_source": None, "semisync_replica": None}
    shop = {
        "children": members,
        "vars": {"semisync_cluster": CLUSTER, "semisync_heartbeat_seconds": 1},
    }
    (inventory / "shop.yml").write_text(
        yaml.safe_dump({"all": {"children": {CLUSTER: shop}}}), encoding="utf-8"
    )
    for name in ("site", "verify"):
        done = subprocess.run(
            ["ansible-playbook", "--inventory=inventory", f"dbre.semisync.{name}"],
            cwd=folder,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode:
            raise LabError(f"{name}.yml failed:\n{done.stdout[-3000:]}")
        lab.tell(f"{name}.yml is done")


def takes_writes(container: str) -> bool:
    """Whether a server is open."""
    return lab.sql(container, "SELECT @@GLOBAL.read_only").strip() in ("0", "OFF")


def until(what: str, condition, since: float) -> float:
    """Wait for a condition; the seconds since `since` at which it held."""
    while time.monotonic() - since < PATIENCE:
        if condition():
            lab.tell(what)
            return time.monotonic() - since
        time.sleep(0.1)
    raise LabError(f"did not come within {PATIENCE} s: {what}; the rulebook's screen is above")


def one_round(
    prometheus: lab.Prometheus, rulebook: Rulebook, source: str, replicas: list[str]
) -> str:
    """A power cut, and the row of the table."""
    load = os.getloadavg()[0]
    docker("kill", source)
    cut = time.monotonic()
    lab.tell("the source's host is cut")
    fired = until(
        "the alert fires",
        lambda: ("SourceDown", "source") in prometheus.firing(),
        cut,
    )
    shown = until("the plan is on the screen", lambda: SHOWN in rulebook.shows(), cut)
    screen = rulebook.shows()
    verdict = screen.partition("VERDICT ")[2].partition("\n")[0].strip('", ')
    if not verdict:
        raise LabError(f"the plan has no verdict:\n{screen[-3000:]}")
    if any(map(takes_writes, replicas)):
        raise LabError("a replica was promoted")
    lab.tell(f"VERDICT {verdict}")
    if shown > PROMISED:
        lab.tell(f"which is later than {PROMISED} s")
    return f"| {load:.1f} | {fired:.1f} | {shown:.1f} | {verdict.partition(' from ')[0]} |"


def rounds(count: int, folder: Path, source: str, others: dict[str, str]) -> None:
    """The rounds, and their rows."""
    hook, token = lab.free_port(), secrets.token_urlsafe(24)
    everybody = {"source": source, **others}
    sender, address = alertmanager(folder, hook, token)
    prometheus = lab.Prometheus(
        folder,
        {host: lab.address(item) for host, item in everybody.items()},
        scrape=SCRAPE,
        labels={"semisync_cluster": CLUSTER},
        alertmanager=address,
    )
    rows = []
    try:
        for _round in range(count):
            # One that is started anew has asked for no plan within five minutes.
            rulebook = Rulebook(folder, hook, token)
            try:
                begin = time.monotonic()
                until("the rulebook listens", lambda: listens(hook), begin)
                until(
                    "every server is measured, and no alert fires",
                    lambda: (
                        len(prometheus.value("mysql_up == 1")) == len(everybody)
                        and len(prometheus.value("semisync:source:clients > 0")) == 1
                        and not prometheus.firing()
                    ),
                    begin,
                )
                rows.append(one_round(prometheus, rulebook, source, list(others.values())))
            except LabError:
                print(rulebook.shows()[-4000:])
                raise
            finally:
                rulebook.close()
                docker("start", source)
            begin = time.monotonic()
            until("the source is back", lambda: not prometheus.firing(), begin)
    finally:
        prometheus.close()
        sender.terminate()
    print("\n".join(rows))


def main() -> int:
    """Install, cut, take everything off again."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inventory", type=Path, default=PROJECT / "inventory" / "lab")
    parser.add_argument("--count", type=int, default=3)
    opts = parser.parse_args()
    groups = lab.hosts(opts.inventory)
    (source,) = groups["semisync_source"].values()
    others = groups["semisync_replica"]
    engine = "mariadb" if "MariaDB" in lab.sql(source, "SELECT VERSION()") else "mysql"
    how, monitor = lab.SOCKET_LOGIN[engine]
    with tempfile.TemporaryDirectory(prefix="semisync-eda-") as name:
        try:
            set_up(Path(name), opts.inventory / "hosts.yml")
            lab.sql(source, lab.ACCOUNT.format(how=how, monitor=monitor))
            for container in (source, *others.values()):
                lab.install(container)
            rounds(opts.count, Path(name), source, others)
        except LabError as error:
            print(f"eda: error: {error}", file=sys.stderr)
            return 1
        finally:
            for container in (source, *others.values()):
                lab.uninstall(container)
            lab.sql(source, "DROP USER IF EXISTS 'prometheus'@'localhost';")
    return 0


if __name__ == "__main__":
    sys.exit(main())
