"""Which kind of hosts can delay their network on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

# A qdisc in a network namespace of its own, which ends with the command.
TRY = ("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")


def kind() -> str:
    """docker where containers can do `tc netem`, since they share this kernel, else uml."""
    if platform.system() != "Linux":
        return "docker"
    return "docker" if _has_netem() else "uml"


def _has_netem() -> bool:
    """Whether this kernel has netem: tried if that is possible, else by what the kernel was
    built with.
    """
    if os.geteuid() == 0 and shutil.which("tc") and shutil.which("unshare"):
        return subprocess.run(TRY, check=False, capture_output=True).returncode == 0
    if Path("/sys/module/sch_netem").exists():
        return True
    try:
        config = Path(f"/boot/config-{platform.release()}").read_text(encoding="utf-8")
    except OSError:
        return False
    return "CONFIG_NET_SCH_NETEM=" in config
