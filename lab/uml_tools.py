"""What hosts of kind uml need of this machine: its kind, its tools, room for their memory."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from pathlib import Path

from common import LabError, cache, locked, need_packages, run, uml_folder

# Command -> the Debian package that has it.
TOOLS = {
    "linux.uml": "user-mode-linux",
    "mke2fs": "e2fsprogs",
    "ip": "iproute2",
    "nc": "netcat-openbsd",
    "ssh": "openssh-client",
    "tar": "tar",
    "taskset": "util-linux",
    "timeout": "coreutils",
    "setpriv": "util-linux",
}
MODULES = Path("/usr/lib/uml/modules")
SHARED_MEMORY = Path("/dev/shm")
PROCESSOR = Path("/proc/cpuinfo")
XSTATE = Path(__file__).with_name("uml_xstate.c")


def need_machine() -> None:
    """Refuse in one line where User-mode Linux cannot run; install the tools that are missing."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} on {platform.machine()}"
        raise LabError(f"hosts of kind uml need Linux on x86-64; this is {here}")
    if os.geteuid() != 0:
        raise LabError("hosts of kind uml need root, for their network namespace: run this as root")
    if not os.path.exists("/dev/net/tun"):
        raise LabError("hosts of kind uml need /dev/net/tun: load the kernel module tun")
    if "/usr/sbin" not in os.environ["PATH"].split(":"):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
    for program, package in TOOLS.items():
        need_packages(program, package)


def kernel_version() -> str:
    """The version of the installed User-mode Linux kernel, which its modules must match."""
    version = run("linux.uml", "--version").stdout.strip()
    if not (MODULES / version).is_dir():
        raise LabError(f"no modules for the User-mode Linux kernel {version} in {MODULES}")
    return version


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


def environment() -> dict[str, str]:
    """What the hosts' kernel has to have in its environment on this machine."""
    if not needs_xstate(PROCESSOR.read_text(encoding="utf-8")):
        return {}
    made = hashlib.sha256(XSTATE.read_bytes()).hexdigest()[:12]
    library = cache("tools") / f"uml-xstate-{made}.so"
    with locked(library.name):
        if not library.exists():
            need_packages("gcc", "gcc")
            part = library.with_suffix(".part")
            options = ("-O2", "-shared", "-fPIC", "-nostdlib", "-o", str(part))
            run("gcc", *options, str(XSTATE))
            part.rename(library)
    return {"LD_PRELOAD": str(library)}
