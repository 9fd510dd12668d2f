"""What hosts of kind uml need of this machine: its kind, its tools, room for their memory."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import tempfile
from pathlib import Path

import debian
from common import LabError, cache, locked, need_packages, run, uml_folder

# Command -> the Debian package that has it.
TOOLS = {
    "mke2fs": "e2fsprogs",
    "ip": "iproute2",
    "nc": "netcat-openbsd",
    "ssh": "openssh-client",
    "tar": "tar",
    "taskset": "util-linux",
    "timeout": "coreutils",
    "setpriv": "util-linux",
}
# Debian's first kernel that handles a host's system calls without stopping its processes for each
# (seccomp=, Linux 6.16): twice as fast, and more where processes begin and memory is used.
KERNEL_SUITE = "forky"
KERNEL_PACKAGES = ("user-mode-linux", "libc6")
# Of what these packages have.
KERNEL_PARTS = ("usr/bin/linux.uml", "usr/lib/uml", "usr/lib/x86_64-linux-gnu")
SHARED_MEMORY = Path("/dev/shm")
PROCESSOR = Path("/proc/cpuinfo")
# What is preloaded where a host's kernel needs it, and everywhere.
XSTATE = Path(__file__).with_name("uml_xstate.c")
IDLE = Path(__file__).with_name("uml_idle.c")


def need_machine() -> None:
    """Refuse in one line where User-mode Linux cannot run; install the tools that are missing."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} on {platform.machine()}"
        raise LabError(f"hosts of kind uml need Linux on x86-64; this is {here}")
    if os.geteuid() != 0:
        raise LabError("hosts of kind uml need root, for their network namespace: run this as root")
    if "/usr/sbin" not in os.environ["PATH"].split(":"):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program, package in TOOLS.items():
        need_packages(program, package)
    # In a namespace that ends with the command.
    tried = ("unshare", "--net", "ip", "link", "add", "type", "veth")
    if run(*tried, check=False).returncode:
        raise LabError("hosts of kind uml need virtual Ethernet pairs: load the kernel module veth")


def kernel() -> Path:
    """The folder of the kernel, its modules and its C library; made when the cache has none."""
    recipe = debian.fingerprint(KERNEL_SUITE, KERNEL_PACKAGES, KERNEL_PARTS)
    target = cache("kernels") / f"{KERNEL_SUITE}-{recipe}"
    with locked(f"kernel-{KERNEL_SUITE}"):
        if not target.exists():
            tarball = debian.rootfs(
                KERNEL_SUITE, KERNEL_PACKAGES, name="uml-kernel", variant="extract"
            )
            part = Path(tempfile.mkdtemp(prefix=target.name, suffix=".part", dir=target.parent))
            parts = [f"./{name}" for name in KERNEL_PARTS]
            run("tar", "-xpf", str(tarball), "-C", str(part), *parts)
            part.chmod(0o755)
            part.rename(target)
            # The folder has all that is used of it.
            tarball.unlink()
    return target


def modules() -> Path:
    """The modules of the kernel: a folder that its version names."""
    (found,) = (kernel() / "usr/lib/uml/modules").iterdir()
    return found


def memory_folder(megabytes: int) -> Path:
    """Where the hosts' memory is kept: in RAM if there is room and code may run from it, else on
    disk.
    """
    try:
        shared = os.statvfs(SHARED_MEMORY)
    except OSError:
        return uml_folder()
    room = shared.f_bavail * shared.f_frsize > megabytes << 20
    return SHARED_MEMORY if room and not shared.f_flag & os.ST_NOEXEC else uml_folder()


def needs_xstate(cpuinfo: str) -> bool:
    """Whether the processor has more registers than the hosts' kernel knows; see uml_xstate.c."""
    return bool(re.search(r"^flags\s*:.*\bamx_tile\b", cpuinfo, re.MULTILINE))


def library(source: Path) -> Path:
    """A library of one C file, made when the cache has none."""
    made = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    target = cache("tools") / f"{source.stem.replace('_', '-')}-{made}.so"
    with locked(target.name):
        if not target.exists():
            need_packages("gcc", "gcc")
            part = target.with_suffix(".part")
            options = ("-O2", "-shared", "-fPIC", "-nostdlib", "-o", str(part))
            run("gcc", *options, str(source))
            part.rename(target)
    return target


def environment() -> dict[str, str]:
    """What the hosts' kernel has to have in its environment on this machine."""
    sources = [IDLE]
    if needs_xstate(PROCESSOR.read_text(encoding="utf-8")):
        sources.append(XSTATE)
    preloaded = ":".join(str(library(source)) for source in sources)
    return {"SEMISYNC_UML_KERNEL": str(kernel()), "LD_PRELOAD": preloaded}
