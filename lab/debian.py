"""Debian releases, the servers they carry, and root filesystems made from their packages.

A root filesystem is a tarball in the cache, named after a hash of its recipe: the same recipe is
built once, a changed one is built anew, and a build that was interrupted never counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common import Clock, LabError, cache, locked, logged, need_packages, run, say, tail

# Every host has these, of whatever kind it is: both kinds begin with the same root filesystem.
HOST_PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "python3",
    "python3-pymysql",
    "sudo",
    "iproute2",
    "iputils-ping",
    "procps",
    # For hosts with kernels of their own.
    "kmod",
    "openssh-server",
)
# Units that have no business in a container, or fail there; the last two are for other hosts.
MASKED = (
    "systemd-binfmt.service",
    "proc-sys-fs-binfmt_misc.automount",
    "dev-hugepages.mount",
    "sys-fs-fuse-connections.mount",
    "systemd-remount-fs.service",
    "e2scrub_reap.service",
    "ssh.service",
    "ssh.socket",
)
UNITS = "/etc/systemd/system"
# What would only make an image larger.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
# sid's Release file can be past its date between two mirror runs; the signature is still checked.
APT_OPTIONS = ('Acquire::Check-Valid-Until "false"', "Acquire::Retries 3")


@dataclass(frozen=True)
class Server:
    """A database server as a Debian release packages it."""

    engine: str
    release: str
    suite: str
    systemd: int
    unit: str
    admin: str
    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        """How people and tags call it, such as mariadb:12."""
        return f"{self.engine}:{self.release}"

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return self.name


def _mariadb(release: str, suite: str, systemd: int) -> Server:
    return Server(
        "mariadb",
        release,
        suite,
        systemd,
        "mariadb",
        "mariadb-admin",
        ("mariadb-server", "mariadb-client", "mariadb-backup"),
    )


# The first of each engine is its default.
SERVERS = (
    Server("mysql", "sid", "sid", 262, "mysql", "mysqladmin", ("mysql-server", "mysql-client")),
    _mariadb("12", "bookworm", 252),
    _mariadb("11", "bullseye", 247),
    _mariadb("13", "trixie", 257),
)
# A host in front of the servers, with the router that docs/clients.md configures.
PROXY = Server("haproxy", "12", "bookworm", 252, "haproxy", "", ("haproxy",))


def server(engine: str, release: str | None = None) -> Server:
    """The server for `--server` and `--release`."""
    of_engine = [item for item in SERVERS if item.engine == engine]
    for item in of_engine:
        if release in (None, "", item.release):
            return item
    known = ", ".join(item.release for item in of_engine)
    raise LabError(f"no {engine} for Debian {release} here; there is: {known}")


def forget_identity() -> str:
    """Shell lines, run inside a root, after which two hosts made from it share no identity.

    MySQL makes auto.cnf (its server uuid) and its TLS keys anew at the first start, systemd the
    machine id.
    """
    return "; ".join(
        (
            "rm -f /var/lib/mysql/auto.cnf /var/lib/mysql/*.pem",
            ": > /etc/machine-id",
            # Most releases link this to the file above, some make it a file of its own.
            "[ -L /var/lib/dbus/machine-id ] || rm -f /var/lib/dbus/machine-id",
            "rm -f /etc/ssh/ssh_host_*",
            "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log",
        )
    )


def packages(server: Server) -> tuple[str, ...]:
    """All packages of a host."""
    return HOST_PACKAGES + server.packages


def finish() -> str:
    """Shell lines that end a host's recipe, run inside the root."""
    links = "; ".join(f"ln -sf /dev/null {UNITS}/{unit}" for unit in MASKED)
    return f"{links}; {forget_identity()}"


def root(server: Server) -> Path:
    """A tarball of the root filesystem of a server's hosts, as a container has it."""
    name = f"root-{server.engine}-{server.release}"
    return rootfs(server.suite, packages(server), name=name, customize=[in_root(finish())])


def in_root(shell: str) -> str:
    """A customize hook for rootfs() that runs shell lines inside the root."""
    quoted = shell.replace("'", "'\\''")
    return f"chroot \"$1\" sh -ec '{quoted}'"


def fingerprint(*parts: object) -> str:
    """A short hash of a recipe."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:12]


def rootfs(
    suite: str,
    packages: list[str] | tuple[str, ...],
    *,
    name: str,
    customize: list[str] | tuple[str, ...] = (),
    salt: str = "",
    variant: str = "minbase",
) -> Path:
    """A tarball of a Debian root filesystem with these packages, made when the cache has none.

    `customize` are mmdebstrap customize hooks: shell lines run on this machine with the root as
    "$1" (see in_root), or mmdebstrap's own copy-in and upload. `salt` stands for whatever else the
    result depends on, such as the content of files that a hook copies in. `variant` is one of
    mmdebstrap's.
    """
    recipe = fingerprint(suite, packages, list(customize), salt, LEFT_OUT, APT_OPTIONS, variant)
    target = cache("rootfs") / f"{name}-{recipe}.tar"
    with locked(f"rootfs-{name}"):
        if not target.exists():
            _build(variant, suite, packages, customize, target)
            for old in target.parent.glob(f"{name}-*.tar"):
                if old != target and len(old.name) == len(target.name):
                    old.unlink()
    return target


def unpacked(tarball: Path) -> Path:
    """The folder of a root file system that programs of this machine can be run in."""
    folder = cache("roots") / tarball.stem
    with locked(f"unpacked-{tarball.stem}"):
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            run("tar", "-xpf", str(tarball), "-C", str(part), "--exclude=./dev/*")
            part.rename(folder)
    return folder


def _build(
    variant: str, suite: str, packages: Sequence[str], customize: Sequence[str], target: Path
) -> None:
    """Run mmdebstrap into a temporary name, then rename."""
    need_packages("mmdebstrap", "mmdebstrap", "debian-archive-keyring")
    for left in target.parent.glob(f"{target.name}.*.part"):
        left.unlink()
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    log = cache("logs") / f"{target.name}.log"
    clock = Clock()
    say(f"making a root filesystem of Debian {suite} from its packages (a minute or so)")
    try:
        for mirror in _mirrors():
            options = [f"--variant={variant}", f"--include={','.join(packages)}"]
            if logged(_command(suite, options, customize, part, mirror), log):
                part.rename(target)
                say(f"root filesystem made in {clock}")
                return
        raise LabError(f"mmdebstrap failed; the end of {log}:\n{tail(log)}")
    finally:
        part.unlink(missing_ok=True)


def _command(
    suite: str, options: Sequence[str], customize: Sequence[str], part: Path, mirror: str | None
) -> list[str]:
    """The mmdebstrap call."""
    command = ["mmdebstrap", "--format=tar", *options]
    command += [f"--aptopt={option}" for option in APT_OPTIONS]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    # A half-written root is thrown away, so nothing needs to reach the disk package by package.
    command += ["--dpkgopt=force-unsafe-io"]
    # These two come from the machine that builds.
    hooks = [*customize, 'rm -f "$1/etc/resolv.conf" "$1/etc/hostname"']
    hooks += ['rm -f "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap" "$1/etc/apt/apt.conf.d/99mmdebstrap"']
    command += [f"--customize-hook={hook}" for hook in hooks]
    return [*command, suite, str(part), *([mirror] if mirror else [])]


def _mirrors():
    """Where packages may come from, in the order to try: None is mmdebstrap's own default."""
    named = os.environ.get("SEMISYNC_DEBIAN_MIRROR")
    if named:
        yield named
        return
    yield None
    mirror = mirror_of_apt()
    if mirror:
        say("that did not work; trying the mirror that this machine's apt uses")
        yield mirror


def mirror_of_apt() -> str | None:
    """The Debian mirror in this machine's apt configuration, if there is one."""
    try:
        listed = run(
            "apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", check=False
        )
    except FileNotFoundError:
        return None
    for line in listed.stdout.splitlines():
        origin, _space, rest = line.partition(" ")
        codename, _space, uri = rest.partition(" ")
        if origin == "Debian" and "-" not in codename and "security" not in uri:
            return uri
    return None
