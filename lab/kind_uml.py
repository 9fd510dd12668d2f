"""Test hosts with a kernel of their own: User-mode Linux in a network namespace of the lab."""

from __future__ import annotations

import json
import os
import shutil
from argparse import Namespace
from pathlib import Path

import debian
import servers
import uml_host
import uml_image
import uml_net
from common import Clock, LabError, lab_name, locked, say, uml_folder
from uml_tools import need_machine

import inventory

UP_SECONDS = 300
LOCK = "-".join(filter(None, ("uml-lab", lab_name())))


def image(opts: Namespace) -> Path:
    """Build the images if needed and return the server's."""
    need_machine()
    if getattr(opts, "client", False):
        uml_image.ensure(uml_image.CLIENT)
    return uml_image.ensure(servers.chosen(opts))


def up(opts: Namespace) -> None:
    """Make the hosts, or keep those that are there, and wait until their servers answer."""
    clock = Clock()
    if getattr(opts, "proxy", False):
        raise LabError("a host with HAProxy is there with --kind docker only")
    need_machine()
    with locked(LOCK):
        server = servers.chosen(opts)
        hosts = ["source", *(f"replica{number}" for number in range(1, opts.replicas + 1))]
        images = dict.fromkeys(hosts, str(uml_image.ensure(server)))
        if opts.client:
            images["client"] = str(uml_image.ensure(uml_image.CLIENT))
        lab = {"server": [server.engine, server.release], "images": images}
        there = _lab()
        kept = there == lab
        if not kept:
            if there:
                say("the lab has other hosts than asked for: replacing it")
            _remove()
            _create(lab, server)
        elif not uml_net.exists():
            # This machine was started anew: a power cut for all of them.
            uml_net.create(list(images))
        asleep = [host for host in images if not uml_host.running(host)]
        for host in asleep:
            uml_host.boot(host, Path(images[host]), len(images))
        _wait(list(images), server, clock)
        # Only now does the lab count as one to keep: an `up` that was killed is begun anew.
        _state().write_text(json.dumps(lab), encoding="utf-8")
        connections = {host: uml_host.connection(host) for host in images}
        written = inventory.write("uml", connections, keep_password=kept)
    say(
        f"{len(connections)} hosts with {server.title} up in {clock}; inventory:"
        f" {os.path.relpath(written)}"
    )


def down(_opts: Namespace) -> None:
    """Remove hosts, network and inventory; nothing to remove is no error."""
    with locked(LOCK):
        there = uml_net.exists() or any(uml_folder().iterdir())
        # A machine that cannot have such hosts has none to remove.
        if there:
            need_machine()
            _remove()
        else:
            uml_folder().rmdir()
        inventory.remove("uml")
    say("hosts, their disks and their network removed" if there else "no lab to remove")


def cut(opts: Namespace) -> None:
    """Kill a host's kernel and everything in it at once: a power cut."""
    need_machine()
    with locked(LOCK):
        host = _host(opts.host)
        if not uml_host.running(host):
            say(f"{host} is not running already")
            return
        uml_net.kill(f"umid={host}")
    say(f"{host} cut")


def start(opts: Namespace) -> None:
    """Start a host that was cut, from its own disk, and wait until its server answers."""
    clock = Clock()
    need_machine()
    with locked(LOCK):
        host = _host(opts.host)
        lab = _lab() or {}
        if not uml_net.exists():
            uml_net.create(list(lab["images"]))
        if not uml_host.running(host):
            uml_host.boot(host, Path(lab["images"][host]))
        _wait([host], servers.named(*lab["server"]), clock)


def shell(opts: Namespace) -> None:
    """Replace this process with a shell on the host."""
    need_machine()
    command = uml_host.ssh(_host(opts.host))
    os.execvp(command[0], command)


def _state() -> Path:
    """The file that says which hosts the lab has."""
    return uml_folder() / "lab.json"


def _lab() -> dict | None:
    """The lab that is up, or None; one that was never complete does not count."""
    try:
        return json.loads(_state().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _host(name: str) -> str:
    """The host of this name in the lab that is up."""
    known = list((_lab() or {"images": []})["images"])
    if name not in known:
        raise LabError(f"no host {name}; there is: {', '.join(known) or 'none; run lab up first'}")
    return name


def _create(lab: dict, server: debian.Server) -> None:
    """Make the network, and an empty disk on top of the image for each host."""
    # Nothing runs, so no disk lies on an image of an older recipe.
    for each in (server, uml_image.CLIENT):
        uml_image.drop_older(each)
    uml_net.create(list(lab["images"]))
    say(f"starting {', '.join(lab['images'])}")


def _remove() -> None:
    """Remove everything a lab consists of, whatever is left of it."""
    _state().unlink(missing_ok=True)
    uml_net.remove()
    shutil.rmtree(uml_folder())


def _wait(hosts: list[str], server: debian.Server, clock: Clock) -> None:
    """Wait for the hosts, with a line for each."""
    units = dict.fromkeys(hosts, (server.unit, f"{server.admin} ping"))
    if "client" in units:
        units["client"] = (uml_image.CLIENT.unit, uml_image.CLIENT.admin)

    def tell(host: str) -> None:
        say(f"{host}: {'SSH' if host == 'client' else server.unit} answers after {clock}")

    uml_host.wait(hosts, units, UP_SECONDS, tell)
