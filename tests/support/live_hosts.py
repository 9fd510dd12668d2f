"""Hosts of the live tests: containers with systemd and a bare server, made for a test module and
removed after it.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from common import locked

PROJECT = pathlib.Path(__file__).resolve().parents[2]

PASSWORD = 'it\'s "qu\\oted" 100% `pä$$s;# x'
# .ci/run removes what has it, where a run was ended before it could.
LABEL = "dbre-semisync.scenario=live"
CLIENTS = {"mysql": "mysql", "mariadb": "mariadb"}
# MySQL's event scheduler takes a whole core while a source stops that has a replica, for some eight
# seconds more: see docs/evidence/stalls.md. The scenarios on hosts of kind uml have it.
NO_SCHEDULER = {"mysql": "event_scheduler = OFF\n", "mariadb": ""}


def run(*command: object, check: bool = True, **keywords: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; with `check`, its failure is an AssertionError with what it said."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **keywords
    )
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}\n{result.stderr}")
    return result


def lab(*arguments: str) -> str:
    """What a command of the lab prints."""
    return run(sys.executable, PROJECT / "lab", *arguments).stdout


@functools.cache
def needs(*choice: str) -> dict[str, Any]:
    """What a container of this choice of server needs on this machine; its image is there then."""
    lab("image", *choice)
    return json.loads(lab("flags", *choice))


class Host:
    """One container with a server of the given kind, or with the MySQL of a tarball."""

    def __init__(
        self, turn: str, name: str, server: str, release: str | None, tarball: str | None = None
    ) -> None:
        self.network, self.server, self.release = "semisync-" + turn, server, release
        self.name = f"{self.network}-{name}"
        # On hosts of a tarball the client is not on the PATH.
        self.client = "/usr/local/mysql/bin/mysql" if tarball else CLIENTS[server]
        self.choice = ["--server", server]
        for option, value in (("--release", release), ("--tarball", tarball)):
            self.choice += [option, value] if value else []

    def start(self) -> Host:
        """Start the container; what was there of its name is removed."""
        flags = needs(*self.choice)
        run("docker", "rm", "--force", "--volumes", self.name, check=False)
        command = [
            "docker",
            "run",
            "--detach",
            "--name",
            self.name,
            "--hostname",
            self.name,
            "--network",
            self.network,
            "--label",
            LABEL,
            "--cgroupns",
            flags["cgroupns_mode"],
            # A file system of its own: on an overlay the server cannot rename what the image
            # brought.
            "--volume",
            "/var/lib/mysql",
        ]
        for option, values in (
            ("--volume", flags["volumes"]),
            ("--cap-add", flags["capabilities"]),
            ("--security-opt", flags["security_opts"]),
            ("--tmpfs", flags["tmpfs"]),
        ):
            for value in values:
                command += [option, value]
        run(*command, flags["image"], flags["command"])
        return self

    def wait(self, seconds: float = 180) -> Host:
        """Wait until the server answers. The host itself asks again and again: a `docker exec` for
        each time would cost more than the server.
        """
        deadline = time.monotonic() + seconds
        ask = f"until {self.client} --batch --execute='SELECT 1'; do sleep 0.2; done"
        while self.shell(f"timeout {seconds} sh -c {shlex.quote(ask)}", check=False).returncode:
            assert time.monotonic() < deadline, self.shell(
                "journalctl --no-pager --lines=50", check=False
            ).stdout
            time.sleep(0.2)
        return self

    def stop(self) -> None:
        """Remove the container."""
        run("docker", "rm", "--force", "--volumes", self.name, check=False)

    def shell(self, command: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
        """Run a shell command on the host; see run()."""
        return run("docker", "exec", "-i", self.name, "sh", "-c", command, **keywords)

    def sql(
        self, statement: str, check: bool = True, form: str = "--skip-column-names"
    ) -> subprocess.CompletedProcess[str]:
        """Run statements by the server's own client, as root."""
        return run(
            "docker",
            "exec",
            "-i",
            self.name,
            self.client,
            "--batch",
            form,
            input=statement,
            check=check,
        )

    def value(self, statement: str) -> str:
        """The output of a statement, without its header."""
        return self.sql(statement).stdout.strip()

    def stop_quickly(self) -> None:
        """Have a MySQL source with a replica stop at once from its next restart on; see above."""
        if NO_SCHEDULER[self.server]:
            self.shell(
                "cat > /etc/mysql/conf.d/scheduler.cnf",
                input="[mysqld]\n" + NO_SCHEDULER[self.server],
            )

    def seconds_alone(self) -> int:
        """Seconds for which this source had no replica after it started."""
        uptime = self.value("SHOW GLOBAL STATUS LIKE 'Uptime'").split()[1]
        connected = self.value(
            "SELECT TIME FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
        )
        return int(uptime) - int(connected)

    def fingerprint(self) -> str:
        """What a run that refused must have left alone: option files, server process, plugins,
        data, accounts.
        """
        return self.shell(
            "find /etc/mysql /etc/my.cnf* -type f -exec sha256sum {} + 2>/dev/null | sort; "
            f"pidof mysqld mariadbd; {self.client} --batch --skip-column-names",
            input=(
                "SELECT GROUP_CONCAT(PLUGIN_NAME ORDER BY 1) FROM information_schema.PLUGINS;"
                "SHOW DATABASES; SELECT User, Host FROM mysql.user ORDER BY 1, 2;"
            ),
        ).stdout


def hosts(*wanted: tuple[Any, ...], turn: str = "live") -> Generator[list[Host]]:
    """A fixture's body: start the hosts, wait until all answer, remove them afterwards.

    The hosts' names are the same in every run, so that two runs of the same turn on a machine wait
    for each other.
    """
    with locked(turn):
        yield from _hosts(wanted, turn)


def _hosts(wanted: Iterable[tuple[Any, ...]], turn: str) -> Generator[list[Host]]:
    network = "semisync-" + turn
    run("docker", "network", "create", "--label", LABEL, network, check=False)
    made = [Host(turn, *one) for one in wanted]
    try:
        for host in made:
            needs(*host.choice)
        with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
            list(pool.map(lambda host: host.start(), made))
        for host in made:
            host.wait()
        yield made
    finally:
        for host in made:
            host.stop()
        run("docker", "network", "rm", network, check=False)


def inventory(
    path: pathlib.Path,
    sources: Mapping[Any, dict[str, Any]],
    replicas: Mapping[Any, dict[str, Any]],
    **variables: Any,
) -> pathlib.Path:
    """An inventory file: host -> its variables in both groups, and variables for all, but those
    that are None. A host is a Host, or whatever else has a name.
    """
    common: dict[str, Any] = {
        "ansible_connection": "community.docker.docker",
        "ansible_python_interpreter": "/usr/bin/python3",
        "semisync_replication_password": PASSWORD,
        "semisync_timeout": 1500,
        "semisync_results_dir": str(path / "results"),
    }
    common.update(variables)
    common = {name: value for name, value in common.items() if value is not None}
    file = path / "hosts.json"
    file.write_text(
        json.dumps(
            {
                "all": {
                    "vars": common,
                    "children": {
                        "semisync_source": {
                            "hosts": {host.name: extra for host, extra in sources.items()}
                        },
                        "semisync_replica": {
                            "hosts": {host.name: extra for host, extra in replicas.items()}
                        },
                    },
                }
            }
        )
    )
    return file


def playbook(
    name: str,
    file: pathlib.Path,
    *arguments: str,
    before: Sequence[str] = (),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run one of the collection's playbooks by its full name; `before` are the words of a command
    that runs it.
    """
    command = playbook_words(name, file, *arguments, before=before)
    where = {"cwd": file.parent, "env": playbook_environment(**environment)}
    return run(*command, check=False, **where)


def playbook_words(
    name: str, file: pathlib.Path, *arguments: str, before: Sequence[str] = ()
) -> list[str]:
    """The command line of that."""
    return [*before, "ansible-playbook", "-i", str(file), "dbre.semisync." + name, *arguments]


def playbook_environment(**environment: str) -> dict[str, str]:
    """Where it runs."""
    return dict(
        os.environ,
        ANSIBLE_CALLBACK_RESULT_FORMAT="yaml",
        ANSIBLE_PIPELINING="true",
        COLUMNS="1000",
        **environment,
    )


def first_cause(result: subprocess.CompletedProcess[str]) -> str:
    """Why a run failed: what the first host said that was not refused because of another."""
    parts = re.split(r"(?m)^(?=fatal: \[|PLAY RECAP)", result.stdout)
    hosts = [text for text in parts if text.startswith("fatal")]
    own = [text for text in hosts if "refused_with:" not in text] or hosts
    return own[0] if own else result.stdout + result.stderr


def words(result: subprocess.CompletedProcess[str]) -> str:
    """What a run said, line breaks and YAML's quoting smoothed out."""
    return " ".join((result.stdout + result.stderr).replace("''", "'").split())
