"""Disk images of the hosts of kind uml: Debian's packages, the kernel's modules, and the files in
uml/.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import debian
import tarball_host
import uml_net
from common import Clock, cache, locked, run, say
from tarball import TarballServer
from uml_tools import modules

FILES = Path(__file__).resolve().parent / "uml"
CLIENT = debian.Server(
    "client",
    "12",
    "bookworm",
    252,
    "ssh",
    "true",
    ("sysbench", "mariadb-client", "python3-cryptography"),
)
# A sparse file: it takes what is in it.
SIZE = "6G"
FORMAT = ("-t", "ext4", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=1,root_owner=0:0")
# What a build runs ends when the build is killed.
WITH_US = ("setpriv", "--pdeathsig", "KILL")
ENABLED = ("lab-link.service", "lab-ready.service")
# Units that fail under this kernel, would reach for the internet, or only cost time at boot.
MASKED = (
    "proc-sys-fs-binfmt_misc.automount",
    "systemd-binfmt.service",
    "kmod-static-nodes.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "man-db.timer",
    "logrotate.timer",
    "getty@.service",
    "getty-static.service",
    "serial-getty@.service",
    "console-getty.service",
    "sshd-keygen.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "modprobe@configfs.service",
    "modprobe@fuse.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-pstore.service",
    "dev-hugepages.mount",
    "ldconfig.service",
)


def files(server: debian.Server) -> list[tuple[Path, Path]]:
    """The files of ours that a host gets: name in the root, and the file here."""
    trees = [FILES / "guest", FILES / server.engine]
    return [
        (file.relative_to(tree), file)
        for tree in trees
        for file in sorted(tree.rglob("*"))
        if file.is_file()
    ]


def path(server: debian.Server) -> Path:
    """Where the image of a server is, or will be: the name has the hash of all that decides its
    content.
    """
    content = [(str(name), file.read_text(encoding="utf-8")) for name, file in files(server)]
    recipe = debian.fingerprint(
        server.suite,
        debian.packages(server),
        debian.finish(),
        MASKED,
        content,
        uml_net.names_file(),
        debian.LEFT_OUT,
        ENABLED,
        SIZE,
        FORMAT,
        modules().name,
        *([tarball_host.recipe(server)] if isinstance(server, TarballServer) else []),
    )
    return cache("images") / f"uml-{server.engine}-{server.release}-{recipe}.ext4"


def ensure(server: debian.Server) -> Path:
    """Build the image unless there is one of this recipe; return its path."""
    target = path(server)
    with locked(f"uml-image-{server.engine}-{server.release}"):
        if not target.exists():
            clock = Clock()
            say(f"building the disk image of {server.title}")
            _build(server, target)
            say(f"disk image of {server.title} built in {clock}")
    return target


def _build(server: debian.Server, target: Path) -> None:
    """Make the image under a temporary name, then rename it."""
    family = f"uml-{server.engine}-{server.release}-"
    tarball = debian.root(server)
    for left in cache("images").glob(f"{family}*.part"):
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=family, suffix=".part", dir=cache("images")))
    try:
        root = part / "root"
        root.mkdir()
        run(
            *WITH_US,
            "tar",
            "-xpf",
            str(tarball),
            "-C",
            str(root),
            "--numeric-owner",
            "--xattrs",
            "--xattrs-include=*",
        )
        _complete(root, server)
        if isinstance(server, TarballServer):
            say(f"unpacking {server.path.name}")
            version = tarball_host.install(server, (*WITH_US, "chroot", str(root)))
            say(f"it is MySQL {'.'.join(map(str, version))}")
        say("writing the file system")
        run(*WITH_US, "mke2fs", "-q", "-F", *FORMAT, "-d", str(root), str(part / "image"), SIZE)
        (part / "image").rename(target)
    finally:
        shutil.rmtree(part)


def drop_older(server: debian.Server) -> None:
    """Remove images of the same server made by older recipes; to call when no host has one as its
    disk.
    """
    current = path(server)
    for other in current.parent.glob(f"uml-{server.engine}-{server.release}-*.ext4"):
        if other != current:
            other.unlink()


def _complete(root: Path, server: debian.Server) -> None:
    """Add to an unpacked root what the packages do not have."""
    its = modules()
    shutil.copytree(its, root / "lib/modules" / its.name, symlinks=True)
    for name, file in files(server):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(file.read_bytes())
        (root / name).chmod(0o755 if "sbin" in name.parts else 0o644)
    (root / "etc/hosts").write_text(uml_net.names_file(), encoding="utf-8")
    units = root / debian.UNITS.lstrip("/")
    for unit in debian.MASKED:
        (units / unit).unlink()
    for unit in MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    wants = units / "multi-user.target.wants"
    for unit in ENABLED:
        (wants / unit).symlink_to(f"../{unit}")
    # systemd rebuilds caches at boot when /usr is newer than these two.
    for folder in ("etc", "var"):
        (root / folder / ".updated").touch()
