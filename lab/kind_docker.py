"""Test hosts as Docker containers with systemd as PID 1."""

from __future__ import annotations

import os
import time
from argparse import Namespace

import debian
import docker_image
import servers
from common import Clock, LabError, lab_name, locked, say
from container import docker, need_docker
from container import flags as container_flags
from container import start as start_container

import inventory

NETWORK = "-".join(filter(None, ("semisync-lab", lab_name())))
PREFIX = NETWORK + "-"
# Marks our containers, and says what they were made from.
LABEL = "-".join(filter(None, ("dbre-semisync.lab", lab_name())))
UP_SECONDS = 120
POLL_SECONDS = 0.4
RESTARTS = 3


def image(opts: Namespace) -> str:
    """Build the image if needed and return its tag."""
    if getattr(opts, "client", False):
        raise LabError("a client host is there with --kind uml only")
    server = servers.chosen(opts)
    need_docker()
    return docker_image.ensure(server)


def flags(opts: Namespace) -> dict:
    """What a container of this server needs, for molecule.yml."""
    server = servers.chosen(opts)
    return {"image": docker_image.tag(server), **container_flags(server)}


def up(opts: Namespace) -> None:
    """Make the hosts, or keep those that are there, and wait until their servers answer."""
    with locked(NETWORK):
        _up(opts, Clock())


def _up(opts: Namespace, clock: Clock) -> None:
    """What up() does, while no other process makes or removes hosts."""
    server = servers.chosen(opts)
    need_docker()
    tag = docker_image.ensure(server)
    hosts = ["source", *(f"replica{number}" for number in range(1, opts.replicas + 1))]
    its = container_flags(server)
    setup = f"{server.name} {debian.fingerprint(docker_image.recipe(server), its)}"
    there = _there()
    wanted = {PREFIX + host: setup for host in hosts}
    proxies = ["proxy"] if getattr(opts, "proxy", False) else []
    if proxies:
        proxy_tag, proxy_its = docker_image.ensure(debian.PROXY), container_flags(debian.PROXY)
        recipe = debian.fingerprint(docker_image.recipe(debian.PROXY), proxy_its)
        proxy_setup = f"{debian.PROXY.name} {recipe}"
        wanted[PREFIX + "proxy"] = proxy_setup
    kept = {name: made for name, (made, dummy) in there.items()} == wanted
    if kept:
        _start_stopped(there)
    else:
        if there:
            was, replicas = _describe(there), f"{opts.replicas} replica(s)"
            same = was == f"{server.name} with {replicas}"
            asked = "the same of a newer image" if same else f"{server.title} with {replicas}"
            say(f"replacing the lab, which was {was}: asked for is {asked}")
        _remove(there)
        _create(hosts, tag, its, setup)
        if proxies:
            _create(proxies, proxy_tag, proxy_its, proxy_setup)
    _wait(hosts, server, clock)
    written = inventory.write(
        "docker", {host: _connection(host) for host in hosts + proxies}, keep_password=kept
    )
    say(
        f"{len(hosts)} hosts with {server.title} up in {clock}; inventory:"
        f" {os.path.relpath(written)}"
    )


def down(_opts: Namespace) -> None:
    """Remove containers, network and inventory; nothing to remove is no error."""
    need_docker()
    with locked(NETWORK):
        there = _there()
        _remove(there)
        inventory.remove("docker")
    say(f"{len(there)} containers removed" if there else "no containers to remove")


def cut(opts: Namespace) -> None:
    """Kill a host's container: to the server that is a power cut."""
    name = _name(opts.host)
    if docker("inspect", "--format", "{{.State.Running}}", name).stdout.strip() != "true":
        say(f"{name} is not running already")
        return
    docker("kill", name)
    say(f"{name} cut")


def start(opts: Namespace) -> None:
    """Start a host that was cut and wait until its server answers."""
    clock = Clock()
    name = _name(opts.host)
    engine, _dummy, release = _there()[name][0].partition(" ")[0].partition(":")
    docker("start", name)
    _wait([name.removeprefix(PREFIX)], servers.named(engine, release), clock)


def shell(opts: Namespace) -> None:
    """Replace this process with a shell on the host."""
    name = _name(opts.host)
    os.execvp("docker", ["docker", "exec", "--interactive", "--tty", name, "bash", "-l"])


def _name(host: str) -> str:
    """The container of a host, named source or semisync-lab-source."""
    need_docker()
    name = PREFIX + host.removeprefix(PREFIX)
    there = _there()
    if name not in there:
        known = (
            ", ".join(item.removeprefix(PREFIX) for item in sorted(there))
            or "none; run lab up first"
        )
        raise LabError(f"no host {host}; there is: {known}")
    return name


def _there() -> dict[str, tuple[str, str]]:
    """Our containers: name to what it was made from and its state."""
    listed = docker(
        "ps",
        "--all",
        "--filter",
        f"label={LABEL}",
        "--format",
        f'{{{{.Names}}}}\t{{{{.Label "{LABEL}"}}}}\t{{{{.State}}}}',
    )
    rows = (line.split("\t") for line in listed.stdout.splitlines())
    return {name: (made, state) for name, made, state in rows}


def _describe(there: dict) -> str:
    """What the lab is now, in words."""
    servers = sorted({made.partition(" ")[0] for made, dummy in there.values()})
    replicas = sum("replica" in name for name in there)
    return f"{' and '.join(servers)} with {replicas} replica(s)"


def _create(hosts: list[str], tag: str, its: dict, setup: str) -> None:
    """Make the network and a container for each host."""
    if docker("network", "inspect", NETWORK, check=False).returncode:
        docker("network", "create", "--label", f"{LABEL}=network", NETWORK)
    for host in hosts:
        say(f"starting {PREFIX}{host}")
        start_container(PREFIX + host, host, NETWORK, tag, its, "--label", f"{LABEL}={setup}")


def _remove(there: dict) -> None:
    """Remove our containers and the network."""
    if there:
        docker("rm", "--force", "--volumes", *there)
    if docker("network", "inspect", NETWORK, check=False).returncode == 0:
        docker("network", "rm", NETWORK)


def _start_stopped(there: dict) -> None:
    """Start those of the hosts that do not run."""
    for name, (_dummy, state) in sorted(there.items()):
        say(f"keeping {name}" if state == "running" else f"starting {name} again, it was {state}")
        if state != "running":
            docker("start", name)


def _connection(host: str) -> dict[str, str]:
    """How Ansible reaches a host."""
    return {
        "ansible_connection": "community.docker.docker",
        "ansible_host": PREFIX + host,
        "ansible_python_interpreter": "/usr/bin/python3",
    }


def _wait(hosts: list[str], server: debian.Server, clock: Clock) -> None:
    """Wait until the server of each host answers; a unit that failed ends the waiting at once."""
    waiting, until = list(hosts), time.monotonic() + UP_SECONDS
    while waiting:
        for host in list(waiting):
            state = _state(host, server)
            if state == "answers":
                say(f"{PREFIX}{host}: {server.unit} answers after {clock}")
                waiting.remove(host)
            elif state in ("failed", "gone") or time.monotonic() > until:
                _give_up(host, server, state, clock)
        if waiting:
            time.sleep(POLL_SECONDS)


def _state(host: str, server: debian.Server) -> str:
    """The state of a server: answers, gone (its container stopped), or what systemd says of its
    unit.
    """
    # Some units are restarted for ever: a server that ended a few times already will not come up.
    ask = (
        f"state=$(systemctl is-active {server.unit}); "
        f"tries=$(systemctl show --property=NRestarts --value {server.unit}); "
        f'if [ "$state" = active ] && {server.admin} --connect-timeout=2 ping >/dev/null 2>&1; '
        f'then state=answers; elif [ "${{tries:-0}}" -ge {RESTARTS} ]; then state=failed; fi; '
        'echo "$state"'
    )
    said = docker("exec", PREFIX + host, "sh", "-c", ask, check=False).stdout.strip()
    if said:
        return said
    running = docker(
        "inspect", "--format", "{{.State.Running}}", PREFIX + host, check=False
    ).stdout.strip()
    return "starting" if running == "true" else "gone"


def _give_up(host: str, server: debian.Server, state: str, clock: Clock) -> None:
    """Show what the host says of its trouble and stop."""
    name = PREFIX + host
    if state == "gone":
        words = docker("logs", "--tail", "20", name, check=False)
    else:
        # The journal has systemd's view; MySQL gives its own reason in a file.
        words = docker(
            "exec",
            name,
            "sh",
            "-c",
            f"journalctl --no-pager --lines=30 --unit={server.unit}; "
            "log=/var/log/mysql/error.log; [ ! -e $log ] || tail -n 15 $log",
            check=False,
        )
    say(f"what {name} says:\n{(words.stdout + words.stderr).strip()}")
    raise LabError(f"{name} did not come up within {clock}: {server.unit} is {state}")
