"""The two hosts of the running scenario, over SSH, and the module netem as a user calls it."""

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[3]
INVENTORY = Path(os.environ["SEMISYNC_INVENTORY"], "hosts.yml")
# The lab's own: where Ansible comes from, and an address of the replica that is never among the peers.
CONTROLLER, REPLICA, REPLICA6 = "10.99.0.1", "10.99.0.11", "fd99::11"
OTHERS = (CONTROLLER, REPLICA6)
DELAY = 90.0
PINGS = 4
# A call takes some seconds on these hosts; a run of a whole playbook, minutes.
SECONDS = 300
# The figures that a run measured, for its end.
FIGURES = pytest.StashKey()


class Host:
    """A host of the lab."""

    def __init__(self, name, variables, sockets):
        self.name, self.address = name, variables["ansible_host"]
        # One connection for all, because a new one takes these hosts a second.
        self.command = ["ssh", "-i", variables["ansible_ssh_private_key_file"],
                        *shlex.split(variables["ansible_ssh_common_args"]),
                        "-o", "ControlMaster=auto", "-o", f"ControlPath={sockets}/{name}", "-o", "ControlPersist=60",
                        f"{variables['ansible_user']}@{self.address}"]

    def run(self, script, check=True):
        """What a shell script prints."""
        done = subprocess.run([*self.command, script], text=True, capture_output=True, check=False, timeout=SECONDS,
                              stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{self.name}: {script}: {done.stderr}"
        return done.stdout

    def start(self, script):
        """Start a shell script; its process."""
        return subprocess.Popen([*self.command, script], text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def close(self):
        """End the connection."""
        subprocess.run([self.command[0], "-O", "exit", *self.command[1:]], check=False, capture_output=True)

    def plug(self, *bridge):
        """Plug the host's link into the lab's bridge ("master", "bridge0") or pull it out ("nomaster")."""
        namespace = re.search(r"netns exec (\S+)", " ".join(self.command))[1]
        subprocess.run(["ip", "-netns", namespace, "link", "set", f"tap-{self.name}", *bridge], check=True)

    def ping(self, address, count=20):
        """The times of all answers, in milliseconds."""
        return answers(self.run(f"ping -n -c {count} -i 0.05 -W 2 {address}", check=False))

    def qdiscs(self):
        """What tc says about qdiscs, classes and filters, and ip about devices: all that netem could change."""
        return self.run("tc -json qdisc show; for way in '' egress ingress; do tc filter show dev vec0 $way; done; "
                        "tc class show dev vec0; ip -brief link; ip -brief address")

    def timers(self):
        """The rollback timers that systemd has, and rollbacks that run."""
        return self.run("systemctl list-units --plain --no-legend 'semisync-netem-*'").splitlines()

    def has_netem(self):
        """Whether any netem qdisc is there."""
        return "netem" in self.run("tc qdisc show")


def answers(text):
    """The round trips in ping's output."""
    return [float(value) for value in re.findall(r"time=([\d.]+) ms", text)]


def usual(values):
    """The lower quartile: a busy machine makes some times longer and none shorter."""
    return sorted(values)[len(values) // 4]


class Netem:
    """The module, called on the source."""

    def __call__(self, check=False, **parameters):
        """Its result."""
        done = self.run(check, **parameters)
        assert done.returncode == 0, done.stdout
        return self.result(done)

    def refused(self, **parameters):
        """Its message, where it must fail."""
        done = self.run(False, **parameters)
        assert done.returncode != 0, done.stdout
        return self.result(done)["msg"]

    @staticmethod
    def run(check, **parameters):
        command = ["ansible", "-i", str(INVENTORY), "source", "-m", "dbre.semisync.netem", "-a",
                   json.dumps({"ping_count": PINGS, **parameters}), *(["--check"] if check else [])]
        environment = {**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json", "ANSIBLE_NOCOLOR": "1"}
        return subprocess.run(command, env=environment, text=True, capture_output=True, check=False, timeout=SECONDS,
                              stdin=subprocess.DEVNULL)

    @staticmethod
    def result(done):
        found = re.search(r"^source \| \S+ => (\{.*)", done.stdout, re.M | re.S)
        assert found, done.stdout + done.stderr
        return json.loads(found[1])


def eventually(condition, what, seconds=60.0):
    """Wait for a condition; the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begin


@pytest.fixture(scope="session")
def hosts():
    groups = yaml.safe_load(INVENTORY.read_text(encoding="utf-8"))["all"]["children"]
    variables = {name: its for group in groups.values() for name, its in group["hosts"].items()}
    with tempfile.TemporaryDirectory(prefix="wan-") as sockets:
        found = {name: Host(name, its, sockets) for name, its in variables.items()}
        yield found
        for host in found.values():
            host.close()


@pytest.fixture(scope="session")
def source(hosts):
    return hosts["source"]


@pytest.fixture(scope="session")
def engine():
    """The server's variables of the scenario."""
    path = Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent / "group_vars" / "all"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["lab_server"]


@pytest.fixture
def netem(source):
    """The module, on a source that nothing of it is left on, before and after."""
    before = source.qdiscs()
    assert "semisync" not in before and source.timers() == []
    module = Netem()
    yield module
    if source.has_netem() or source.timers():
        module(state="absent", ping_count=0)
    assert source.qdiscs() == before and source.timers() == []


@pytest.fixture
def play(tmp_path):
    """The command for a play of these tasks on the source."""
    def command(*tasks):
        book = tmp_path / "play.json"
        book.write_text(json.dumps([{"hosts": "source", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
        return ["ansible-playbook", "-i", str(INVENTORY), str(book)]
    return command


@pytest.fixture
def figure(request):
    """Keep a figure to be shown at the end."""
    return request.session.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter, config):
    """Show what was measured."""
    for text in getattr(config, "wan_figures", []):
        terminalreporter.write_line(f"measured: {text}")


def pytest_sessionfinish(session):
    session.config.wan_figures = session.stash.get(FIGURES, [])
