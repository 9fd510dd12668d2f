"""docker, with a quick `docker exec [-i] NAME COMMAND …` for `make test`, which runs thousands.

A real one costs 60 ms of processor time in docker's daemons. Here the first one starts an agent in
the container, by a real `docker exec`; the next ones hand it their command and their open files.
All else goes to the real docker: other commands and options, users other than root, containers of
another machine, and those without an agent (no Python, paused, dead). run_steps.py puts it on PATH.
"""

from __future__ import annotations

import os
import socket
import sys

AGENT = os.path.join(os.path.dirname(__file__), "docker_agent.py")
PYTHON = "/usr/bin/python3"
SOCKET = "run/semisync-exec.sock"
# How long an agent may take to start, and to say that it is there; that of a paused one does not.
STARTS, SPEAKS = 5.0, 2.0
# What docker says of a command whose container was killed.
KILLED = 137
CACHE = os.environ.get("SEMISYNC_CACHE") or os.path.expanduser("~/.cache/dbre-semisync")
# A first process that is not to be seen from here: docker runs on another machine, or outside.
NOT_HERE = "0"


def real(mine: str) -> str:
    """The docker that is on the PATH after this one."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "docker")
        if os.access(path, os.X_OK) and os.path.realpath(path) != mine:
            return path
    sys.exit("docker is not on the PATH")


def started(pid: str) -> str:
    """When a process started, because its number may be given to another one."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            return stream.read().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def connect(pid: str) -> socket.socket | None:
    """A connection to the agent of a container with this first process; None without an answer."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SPEAKS)
    try:
        connection.connect(f"/proc/{pid}/root/{SOCKET}")
        if connection.recv(1) == b"!":
            connection.settimeout(None)
            return connection
    except OSError:
        pass
    connection.close()
    return None


def is_its(pid: str, container: str) -> bool:
    """Whether a process is of a container."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as stream:
            return container in stream.read()
    except OSError:
        return False


def start(docker: str, name: str) -> tuple[str, socket.socket | None]:
    """A container's first process, and a connection to its agent, which is started if needed."""
    import subprocess
    import time

    ask = [docker, "inspect", "--format", "{{.State.Pid}} {{.Id}}", name]
    said = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
    pid, _space, container = said.strip().partition(" ")
    if pid in ("", "0"):
        return "", None
    if not is_its(pid, container):
        return NOT_HERE, None
    connection = connect(pid)
    if connection is None:
        with open(AGENT, encoding="utf-8") as stream:
            command = [docker, "exec", "--detach", name, PYTHON, "-I", "-c", stream.read()]
        subprocess.run(command, capture_output=True, check=False)
    until = time.monotonic() + STARTS
    while connection is None and time.monotonic() < until:
        time.sleep(0.02)
        connection = connect(pid)
    return pid, connection


def agent(docker: str, name: str) -> socket.socket | None:
    """A connection to a container's agent. A file remembers its first process."""
    import fcntl

    folder = os.path.join(CACHE, "exec")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "a+", encoding="utf-8") as kept:
        fcntl.flock(kept, fcntl.LOCK_EX)
        kept.seek(0)
        pid, _space, when = kept.read().partition(" ")
        if pid and started(pid) == when:
            fcntl.flock(kept, fcntl.LOCK_UN)
            return connect(pid)
        pid, connection = start(docker, name)
        kept.truncate(0)
        kept.write(f"{pid} {started(pid)}" if pid else "")
        return connection


def hand_over(connection: socket.socket, words: list[str], interactive: bool) -> int:
    """The exit status of a command that the agent runs with this process's open files."""
    null = os.open(os.devnull, os.O_RDWR)
    files = [0 if interactive else null, 1, 2]
    content = b"\0".join(map(os.fsencode, words))
    passed = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)]
    connection.sendmsg([len(content).to_bytes(4, "big")], rights)
    connection.sendall(content)
    # Only the command has them now, so that a reader sees its end.
    for number in range(3):
        os.dup2(null, number)
    try:
        status = connection.recv(1)
    except OSError:
        status = b""
    return status[0] if status else KILLED


def main(words: list[str], mine: str) -> int:
    """Run a command of docker, one way or the other."""
    docker, rest = real(mine), words[1:]
    interactive = rest[:1] in (["-i"], ["--interactive"])
    rest = rest[1:] if interactive else rest
    here = os.geteuid() == 0 and "DOCKER_HOST" not in os.environ
    if here and words[:1] == ["exec"] and len(rest) > 1 and not rest[0].startswith("-"):
        try:
            connection = agent(docker, rest[0])
        except OSError:
            connection = None
        if connection is not None:
            return hand_over(connection, rest[1:], interactive)
    os.execv(docker, [docker, *words])
