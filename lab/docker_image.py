"""Images of the test hosts, with systemd and a database server as its Debian package installs it.

The base is the public Debian image if it can be pulled; where not, a root filesystem made from
Debian's packages. A label holds the recipe's hash: an image of the same recipe is never built
twice.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import debian
import tarball_host
from common import Clock, cache, locked, logged, say, tail
from container import docker
from tarball import TarballServer

LABEL = "dbre-semisync.recipe"
PULL_SECONDS = 60
# systemd reads this to know that it is in a container.
CHANGES = ("ENV container=docker", 'CMD ["/lib/systemd/systemd"]')


def tag(server: debian.Server) -> str:
    """The image's name."""
    return f"dbre-semisync/{server.name}"


def recipe(server: debian.Server) -> str:
    """The hash of everything that decides what is in the image."""
    if isinstance(server, TarballServer):
        return debian.fingerprint(recipe(tarball_host.BASE), tarball_host.recipe(server))
    return debian.fingerprint(
        server.suite, debian.packages(server), debian.finish(), CHANGES, debian.LEFT_OUT
    )


def ensure(server: debian.Server) -> str:
    """Build the image unless there is one of this recipe; return its tag."""
    name, wanted = tag(server), recipe(server)
    with locked(name):
        old = _label(name)
        if old == wanted:
            return name
        clock = Clock()
        say(f"building the image {name}" + (": its recipe changed" if old is not None else ""))
        before = _identity(name)
        if isinstance(server, TarballServer):
            _from_tarball(server, name, wanted)
        elif not _from_public_image(server, name, wanted):
            _from_packages(server, name, wanted)
        if before:
            # In use by a container it stays, as an image without a name.
            docker("rmi", before, check=False)
        say(f"image {name} built in {clock}")
    return name


def _label(name: str) -> str | None:
    """The recipe of the image that has this name, None when there is none."""
    label = f'{{{{index .Config.Labels "{LABEL}"}}}}'
    asked = docker("image", "inspect", "--format", label, name, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def _identity(name: str) -> str | None:
    """The id of an image, None when there is none."""
    asked = docker("image", "inspect", "--format", "{{.Id}}", name, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def _changes(wanted: str) -> list[str]:
    """The image's settings, for docker import and docker commit."""
    return [
        word for change in (*CHANGES, f"LABEL {LABEL}={wanted}") for word in ("--change", change)
    ]


def _from_tarball(server: TarballServer, name: str, wanted: str) -> None:
    """Unpack a server on top of the image that all servers from tarballs begin with."""
    base = ensure(tarball_host.BASE)
    maker = f"semisync-build-{server.engine}-{server.release}"
    try:
        # A build that was killed leaves its container.
        docker("rm", "--force", maker, check=False)
        docker("run", "--detach", "--name", maker, base, "sleep", "infinity")
        say(f"unpacking {server.path.name}")
        version = tarball_host.install(server, ("docker", "exec", "--interactive", maker))
        say(f"it is MySQL {'.'.join(map(str, version))}")
        docker("commit", *_changes(wanted), maker, name)
    finally:
        docker("rm", "--force", maker, check=False)


def _from_packages(server: debian.Server, name: str, wanted: str) -> None:
    """Import a root filesystem made by mmdebstrap; the tag appears only when the import is
    complete.
    """
    docker("import", *_changes(wanted), str(debian.root(server)), name)


def _from_public_image(server: debian.Server, name: str, wanted: str) -> bool:
    """Install the packages on top of the public Debian image, if that can be had; true when it
    worked.
    """
    base = f"debian:{server.suite}-slim"
    if not _pulled(base):
        return False
    log: Path = cache("logs") / f"docker-{server.engine}-{server.release}.log"
    maker = f"semisync-build-{server.engine}-{server.release}"
    try:
        # A build that was killed leaves its container.
        docker("rm", "--force", maker, check=False)
        say(f"installing packages on {base}")
        if not logged(["docker", "run", "--name", maker, base, "sh", "-ec", _install(server)], log):
            say(f"that failed; the end of {log}:\n{tail(log, 5)}")
            return False
        docker("commit", *_changes(wanted), maker, name)
    finally:
        docker("rm", "--force", maker, check=False)
    return True


def _pulled(base: str) -> bool:
    """Whether the base image is here now."""
    try:
        done = docker("pull", "--quiet", base, check=False, timeout=PULL_SECONDS)
        if done.returncode == 0:
            return True
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    except subprocess.TimeoutExpired:
        why = f"no answer within {PULL_SECONDS} s"
    if _identity(base):
        say(f"{base} cannot be pulled; using the one that docker has")
        return True
    say(f"{base} cannot be pulled ({why[:90]}); using Debian's packages instead")
    return False


def _install(server: debian.Server) -> str:
    """Shell lines that make a host out of the public image."""
    lines = [
        "export DEBIAN_FRONTEND=noninteractive",
        # No server may start while packages are installed; a real host has no such file.
        "printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d",
    ]
    mirror = os.environ.get("SEMISYNC_DEBIAN_MIRROR")
    if mirror:
        lines += [
            "rm -f /etc/apt/sources.list.d/*",
            f"echo 'deb {mirror} {server.suite} main' > /etc/apt/sources.list",
        ]
    options = " ".join(f"-o {option.replace(' ', '=')}" for option in debian.APT_OPTIONS)
    excluded = " ".join(
        f"-o DPkg::Options::=--path-exclude={pattern}" for pattern in debian.LEFT_OUT
    )
    lines += [
        f"apt-get {options} update",
        (
            f"apt-get {options} {excluded} -o DPkg::Options::=--force-unsafe-io install -y "
            f"--no-install-recommends {' '.join(debian.packages(server))}"
        ),
        "apt-get clean",
        "rm -f /usr/sbin/policy-rc.d",
        debian.finish(),
    ]
    return "\n".join(lines)
