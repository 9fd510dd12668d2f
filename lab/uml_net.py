"""The network of the User-mode Linux hosts: a namespace, found and removed as a whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
from pathlib import Path

from common import LabError, run, uml_folder

# One lab a cache folder: the folder's name makes the namespace's.
NAMESPACE = "semisync-" + hashlib.sha256(os.fsencode(uml_folder().resolve())).hexdigest()[:8]
NAMESPACES = Path("/run/netns")
# The program every host is started by; see uml_run.py.
RUNNER = uml_folder() / "linux-uml"
MAX_REPLICAS = 9
BRIDGE_ADDRESS = "10.99.0.1"
KILL_SECONDS = 20


def number(host: str) -> int:
    """The last part of a host's addresses: 10 for source, 10 + n for replica n, 100 for client."""
    return {"source": 10, "client": 100}.get(host) or 10 + int(host.removeprefix("replica"))


def address(host: str) -> str:
    """The IPv4 address of a host."""
    return f"10.99.0.{number(host)}"


def address6(host: str) -> str:
    """The IPv6 address of a host."""
    return f"fd99::{number(host)}"


def port(host: str) -> str:
    """The name of the bridge's end of a host's link."""
    return f"port-{host}"


def socket(host: str) -> str:
    """The name of the end of its link that a host reads and writes.

    With a raw socket: a tap signals a packet before poll() can see it (Linux, tun_net_xmit), so one
    in 150 lay there until the next one came, and that was TCP's loss probe after 200 ms.
    """
    return f"host-{host}"


def mac(host: str) -> str:
    """The link address of a host: locally administered, the same at each boot."""
    return f"02:00:00:63:00:{number(host):02x}"


def names_file() -> str:
    """The /etc/hosts of every host; the names ending in -6 are the IPv6 addresses."""
    hosts = ["source", *(f"replica{n}" for n in range(1, MAX_REPLICAS + 1)), "client"]
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    lines += [f"{address(host)} {host}" for host in hosts]
    lines += [f"{address6(host)} {host}-6" for host in hosts]
    return "\n".join(lines) + "\n"


def create(hosts: list[str]) -> None:
    """Make the namespace with one bridge and a link for each host.

    Raises:
        LabError: a command failed, such as that for a link where the kernel has none.
    """
    run("ip", "netns", "add", NAMESPACE)
    commands = [
        "link set lo up",
        "link add bridge0 type bridge",
        f"address add {BRIDGE_ADDRESS}/24 dev bridge0",
        "link set bridge0 up",
    ]
    for host in hosts:
        commands += [
            f"link add {port(host)} type veth peer name {socket(host)}",
            # This machine is not to answer there what is meant for its bridge.
            f"link set {socket(host)} arp off addrgenmode none up",
            f"link set {port(host)} addrgenmode none master bridge0 up",
        ]
    for command in commands:
        run("ip", "-netns", NAMESPACE, *command.split())


def exists() -> bool:
    """Whether the namespace is there."""
    return (NAMESPACES / NAMESPACE).exists()


def processes(*words: str) -> list[int]:
    """The ids of all processes of the lab whose command line has every one of the words."""
    namespace = (NAMESPACES / NAMESPACE).stat().st_ino if exists() else None
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            inside = os.stat(f"/proc/{entry}/ns/net").st_ino == namespace
            command = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        # A host that has just been started is not in the namespace yet.
        ours = inside or os.fsencode(RUNNER) in command
        if ours and all(word.encode() in command for word in words):
            found.append(int(entry))
    return found


def kill(*words: str) -> None:
    """Kill those processes at once and wait until they, and what they started, hold nothing any
    more.
    """
    deadline = time.monotonic() + KILL_SECONDS
    killed: set[int] = set()
    groups: set[int] = set()
    while pids := set(processes(*words)) | _left(killed, groups):
        if time.monotonic() > deadline:
            raise LabError(f"processes {sorted(pids)} do not end although they were killed")
        for pid in pids - killed:
            killed.add(pid)
            with contextlib.suppress(ProcessLookupError):
                # A host leads a group of its own; whatever else is here may share its caller's.
                if os.getpgid(pid) == pid:
                    groups.add(pid)
                    os.killpg(pid, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _left(pids: set[int], groups: set[int]) -> set[int]:
    """Which of these processes, or of these groups, have not ended.

    A killed process gives up its command line first and its files last, so its disk is busy long
    after its words are gone; a zombie holds nothing.
    """
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")) if pids or groups else ():
        try:
            stat = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it ended meanwhile
            continue
        state, _parent, group = stat.rpartition(")")[2].split()[:3]
        if (int(entry) in pids or int(group) in groups) and state not in "ZX":
            found.add(int(entry))
    return found


def remove() -> None:
    """End everything that runs in the namespace and remove it; what is not there is no error."""
    kill()
    if exists():
        run("ip", "netns", "delete", NAMESPACE)
    # ip mounts this folder on itself for the first namespace and leaves that behind after the last.
    if NAMESPACES.is_dir() and not os.listdir(NAMESPACES):
        if is_mounted(NAMESPACES):
            run("umount", str(NAMESPACES), check=False)
        # Someone else may just have begun to use it.
        with contextlib.suppress(OSError):
            NAMESPACES.rmdir()


def is_mounted(folder: Path) -> bool:
    """Whether a folder is a mount point; os.path.ismount does not see a bind mount of the same
    disk.
    """
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return any(line.split()[4] == str(folder) for line in lines)
