"""The two hosts of the running scenario, over SSH, and the module netem as a user calls it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
INVENTORY = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "lab", "hosts.yml")
# The lab's own: where Ansible comes from, and an address of the replica that is never among the
# peers.
CONTROLLER, REPLICA, REPLICA6 = "10.99.0.1", "10.99.0.11", "fd99::11"
OTHERS = (CONTROLLER, REPLICA6)
DELAY = 90.0
PINGS = 4
# A call takes some seconds on these hosts; a run of a whole playbook, minutes.
SECONDS = 300


class Host:
    """A host of the lab."""

    def __init__(self, name: str, variables: dict[str, Any], sockets: str) -> None:
        self.name, self.address = name, variables["ansible_host"]
        # One connection for all, because a new one takes these hosts a second.
        self.command = [
            "ssh",
            "-i",
            variables["ansible_ssh_private_key_file"],
            *shlex.split(variables["ansible_ssh_common_args"]),
            "-o",
            "ControlMaster=auto",
            "-o",
            f"ControlPath={sockets}/{name}",
            "-o",
            "ControlPersist=60",
            f"{variables['ansible_user']}@{self.address}",
        ]

    def run(self, script: str, check: bool = True) -> str:
        """What a shell script prints."""
        done = subprocess.run(
            [*self.command, script],
            text=True,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, f"{self.name}: {script}: {done.stderr}"
        return done.stdout

    def start(self, script: str) -> subprocess.Popen[str]:
        """Start a shell script; its process."""
        return subprocess.Popen(
            [*self.command, script], text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )

    def close(self) -> None:
        """End the connection."""
        subprocess.run(
            [self.command[0], "-O", "exit", *self.command[1:]], check=False, capture_output=True
        )

    def plug(self, *bridge: str) -> None:
        """Plug the host's link into the lab's bridge ("master", "bridge0") or pull it out
        ("nomaster").
        """
        namespace = re.search(r"netns exec (\S+)", " ".join(self.command))
        assert namespace, self.command
        subprocess.run(
            ["ip", "-netns", namespace[1], "link", "set", f"port-{self.name}", *bridge], check=True
        )

    def ping(self, address: str, count: int = 20) -> list[float]:
        """The times of all answers, in milliseconds."""
        return answers(self.run(f"ping -n -c {count} -i 0.05 -W 2 {address}", check=False))

    def qdiscs(self) -> str:
        """What tc says about qdiscs, classes and filters, and ip about devices: all that netem
        could change.
        """
        return self.run(
            "tc -json qdisc show; for way in '' egress ingress; do tc filter show dev vec0 $way;"
            " done; tc class show dev vec0; ip -brief link; ip -brief address"
        )

    def timers(self) -> list[str]:
        """The rollback timers that systemd has, and rollbacks that run."""
        return self.run("systemctl list-units --plain --no-legend 'semisync-netem-*'").splitlines()

    def rollbacks_due(self) -> list[float]:
        """In how many seconds each armed timer takes back what it is for."""
        text = self.run("date +%s; systemctl list-timers --output=json 'semisync-*'")
        now, _end, listed = text.partition("\n")
        return [timer["next"] / 1e6 - float(now) for timer in json.loads(listed)]

    def has_netem(self) -> bool:
        """Whether any netem qdisc is there."""
        return "netem" in self.run("tc qdisc show")


def answers(text: str) -> list[float]:
    """The round trips in ping's output."""
    return [float(value) for value in re.findall(r"time=([\d.]+) ms", text)]


def usual(values: list[float]) -> float:
    """The lower quartile: a busy machine makes some times longer and none shorter."""
    return sorted(values)[len(values) // 4]


class Netem:
    """The module, called on the source."""

    def __call__(self, check: bool = False, **parameters: Any) -> dict[str, Any]:
        """Its result."""
        done = self.run(check, **parameters)
        assert done.returncode == 0, done.stdout
        return self.result(done)

    def refused(self, **parameters: Any) -> str:
        """Its message, where it must fail."""
        done = self.run(False, **parameters)
        assert done.returncode != 0, done.stdout
        return self.result(done)["msg"]

    @staticmethod
    def run(check: bool, **parameters: Any) -> subprocess.CompletedProcess[str]:
        """One call."""
        command = [
            "ansible",
            "-i",
            str(INVENTORY),
            "source",
            "-m",
            "dbre.semisync.netem",
            "-a",
            json.dumps({"ping_count": PINGS, **parameters}),
            *(["--check"] if check else []),
        ]
        environment = {
            **os.environ,
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "ANSIBLE_NOCOLOR": "1",
        }
        return subprocess.run(
            command,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )

    @staticmethod
    def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
        """What a call returned."""
        found = re.search(r"^source \| \S+ => (\{.*)", done.stdout, re.MULTILINE | re.DOTALL)
        assert found, done.stdout + done.stderr
        return json.loads(found[1])
