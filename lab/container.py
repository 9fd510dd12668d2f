"""What a container needs so that systemd runs in it as PID 1, and the docker commands for it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import LabError, run
from debian import Server

CGROUP = Path("/sys/fs/cgroup")
# systemd's own request for an orderly shutdown; it takes docker's usual SIGTERM for something else.
STOP_SIGNAL = "SIGRTMIN+3"
# The first systemd that refuses to run on cgroup v1.
NEEDS_CGROUP2 = 256
# A container's systemd, journald, logind and D-Bus watch files with six; root has 128 of them on
# most machines.
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
WATCHES_A_HOST = 8


@contextlib.contextmanager
def room(hosts: int, limit: Path = WATCHES) -> Iterator[None]:
    """Let so many hosts watch files, above what is allowed now; as before afterwards. Without, the
    last do not start.
    """
    before = int(limit.read_text(encoding="utf-8"))
    wanted = 128 + WATCHES_A_HOST * hosts
    if before >= wanted:
        yield
        return
    try:
        limit.write_text(str(wanted), encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{hosts} hosts need fs.inotify.max_user_instances = {wanted}, this machine has"
            f" {before} and it cannot be changed from here ({error.strerror}): sysctl -w it as root"
        ) from error
    try:
        yield
    finally:
        limit.write_text(str(before), encoding="utf-8")


def cgroup_mode(root: Path = CGROUP) -> str:
    """How this machine mounts its control groups: v2, hybrid (v1 with a cgroup2 tree beside it) or
    v1.
    """
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "hybrid" if (root / "unified" / "cgroup.procs").exists() else "v1"


def cgroup_volume(mode: str, systemd: int, root: Path = CGROUP) -> str:
    """The mount that gives a container's systemd a control group tree that it can write."""
    if mode == "hybrid" and systemd >= NEEDS_CGROUP2:
        return f"{root}/unified:/sys/fs/cgroup:rw"
    if mode == "v1" and systemd >= NEEDS_CGROUP2:
        raise LabError(
            f"systemd {systemd} in the container needs cgroup v2, and this machine has cgroup v1 "
            "only: boot it with systemd.unified_cgroup_hierarchy=1, or use mariadb --release 12"
        )
    return f"{root}:/sys/fs/cgroup:rw"


def flags(server: Server) -> dict:
    """What a container of this server's image needs, in the words of molecule's docker driver."""
    return {
        "volumes": [cgroup_volume(cgroup_mode(), server.systemd)],
        # SYS_ADMIN for systemd's mounts, NET_ADMIN for tc; less than privileged, which some hosts
        # refuse.
        "capabilities": ["SYS_ADMIN", "NET_ADMIN"],
        "security_opts": ["seccomp=unconfined", "apparmor=unconfined"],
        "cgroupns_mode": "host",
        "tmpfs": ["/run", "/tmp"],
        "command": "/lib/systemd/systemd",
    }


def run_options(its: dict) -> list[str]:
    """The same as options of `docker run`."""
    options = [f"--cgroupns={its['cgroupns_mode']}", f"--stop-signal={STOP_SIGNAL}"]
    for option, key in (
        ("--volume", "volumes"),
        ("--cap-add", "capabilities"),
        ("--security-opt", "security_opts"),
        ("--tmpfs", "tmpfs"),
    ):
        options += [f"{option}={value}" for value in its[key]]
    return options


def docker(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run docker; see common.run."""
    return run("docker", *arguments, **options)


def start(name: str, host: str, network: str, tag: str, its: dict, *options: str) -> None:
    """Start a container as a host of that name in a network, with what flags() says it needs."""
    docker(
        "run",
        "--detach",
        "--name",
        name,
        "--hostname",
        host,
        "--network",
        network,
        "--network-alias",
        host,
        *options,
        *run_options(its),
        tag,
        its["command"],
    )


def need_docker() -> None:
    """Docker must be there, running, and ours to use."""
    if not shutil.which("docker"):
        raise LabError("docker is missing: install it (on Debian: apt-get install docker.io)")
    asked = docker("version", "--format", "{{.Server.Os}}", check=False)
    if asked.returncode == 0:
        return
    words = asked.stderr.strip()
    if "permission denied" in words.lower():
        raise LabError("this user may not use docker: add it to the group docker, or run as root")
    raise LabError(
        f"docker does not answer: start it (systemctl start docker). It said: {words[-200:]}"
    )
