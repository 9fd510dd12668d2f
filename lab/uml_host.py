"""One host of kind uml: its process, its SSH connection, its console."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uml_net
from common import LabError, run, tail, uml_folder
from uml_tools import environment as kernel_environment
from uml_tools import memory_folder

# In megabytes; a host takes what it uses of it.
MEMORY = 1500
CLIENT_MEMORY = 512
READY = "lab-host-ready"
ASK_SECONDS = 60
ENDED_LOOKS = 5
# It says a host's time and is told by how much to set it. How long the connection takes does not
# matter that way.
SET_CLOCK = (
    "import sys, time; print(time.time(), flush=True); "
    "time.clock_settime(time.CLOCK_REALTIME, time.time() + float(sys.stdin.readline()))"
)


def folder(host: str) -> Path:
    """Where a host's disk and console log are."""
    return uml_folder("hosts", host)


def console(host: str) -> Path:
    """The log of a host's console since its last start."""
    return folder(host) / "console.log"


def key() -> Path:
    """The SSH key of this lab, made when there is none."""
    private = uml_folder() / "key"
    if not private.exists():
        part = private.with_name("key.part")
        part.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(part))
        part.with_name("key.part.pub").rename(private.with_name("key.pub"))
        part.rename(private)
    return private


def ssh_options(patient: bool = False) -> list[str]:
    """How to reach any host through the namespace. A host that was cut must not hang its callers
    for long, unless they are `patient`, as Ansible is by itself.
    """
    into = f"{shutil.which('ip')} netns exec {uml_net.NAMESPACE} {shutil.which('nc')} %h %p"
    options = {
        "ProxyCommand": into,
        "StrictHostKeyChecking": "no",
        "UserKnownHostsFile": "/dev/null",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "LogLevel": "ERROR",
    }
    if not patient:
        options |= {"ServerAliveInterval": "5", "ServerAliveCountMax": "3"}
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def connection(host: str) -> dict[str, str | bool]:
    """How Ansible reaches a host."""
    return {
        "ansible_host": uml_net.address(host),
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(key()),
        "ansible_ssh_common_args": shlex.join(ssh_options()),
        # The hosts of every lab have the same addresses, by which Ansible names the connections
        # that it keeps.
        "ansible_control_path_dir": str(uml_folder("connections")),
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_pipelining": True,
    }


def ssh(host: str, *command: str) -> list[str]:
    """The command line that runs a command on a host, or opens a shell."""
    return [
        "ssh",
        "-i",
        str(key()),
        *ssh_options(),
        "-o",
        "ConnectTimeout=10",
        f"root@{uml_net.address(host)}",
        *command,
    ]


def running(host: str) -> bool:
    """Whether a host's kernel runs."""
    return bool(uml_net.processes(f"umid={host}"))


def ended(host: str) -> bool:
    """Whether a host's kernel has ended; looked for several times.

    For a moment a process has no command line while it executes another program, as five in a row
    do until the kernel runs.
    """
    for _look in range(ENDED_LOOKS):
        if running(host):
            return False
        time.sleep(0.3)
    return True


def boot(host: str, image: Path, together: int = 1, disks: Sequence[Path] = ()) -> None:
    """Start a host's kernel on its disk; `together` is how many hosts will want memory, `disks` are
    files that are /dev/ubdb and so on.
    """
    # A master connection of before the cut would swallow the first command after it.
    uml_net.kill(uml_net.address(host))
    _install_runner()
    # Left by a killed kernel, it can look like one that still runs.
    shutil.rmtree(uml_folder("umid") / host, ignore_errors=True)
    memory = CLIENT_MEMORY if host == "client" else MEMORY
    public = key().with_name("key.pub").read_text(encoding="utf-8").split()[1]
    # Relative paths: the kernel's command line knows no quotes, and the name of a socket is short.
    words = [
        f"umid={host}",
        # Without it where this machine forbids it.
        "seccomp=auto",
        "uml_dir=../../umid/",
        f"ubd0=disk.cow,{os.path.relpath(image, folder(host))}",
        *(f"ubd{n}={os.path.relpath(disk, folder(host))}" for n, disk in enumerate(disks, 1)),
        "root=/dev/ubda",
        "rw",
        f"mem={memory}M",
        # vec=0: without a signal for each packet that was sent.
        f"vec0:transport=raw,ifname={uml_net.socket(host)},mac={uml_net.mac(host)},gro=1,vec=0",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "quiet",
        "TERM=dumb",
        f"systemd.hostname={host}",
        f"lab.address={uml_net.address(host)}/24",
        f"lab.address6={uml_net.address6(host)}/64",
        f"lab.key={public}",
    ]
    temporary = str(memory_folder(MEMORY * together))
    environment = dict(os.environ, TMPDIR=temporary, **kernel_environment())
    with console(host).open("wb") as log:
        # A session of its own: neither Ctrl-C nor a hangup of the caller may reach the host.
        subprocess.Popen(
            [
                "taskset",
                "--cpu-list",
                str(_cpu(host)),
                "ip",
                "netns",
                "exec",
                uml_net.NAMESPACE,
                str(uml_net.RUNNER),
                *words,
            ],
            env=environment,
            cwd=folder(host),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _cpu(host: str) -> int:
    """The CPU a host is bound to: each system call goes to another process, which is thrice as fast
    there.
    """
    cpus = sorted(os.sched_getaffinity(0))
    # The client works against the source, so it sits with the first replica.
    return cpus[(1 if host == "client" else uml_net.number(host)) % len(cpus)]


def _install_runner() -> None:
    """Copy uml_run.py: a host needs it at each reboot, whatever becomes of the checkout."""
    part = uml_folder() / "linux-uml.part"
    code = Path(__file__).with_name("uml_run.py").read_text(encoding="utf-8")
    part.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    part.chmod(0o755)
    part.replace(uml_net.RUNNER)


def started(host: str) -> bool:
    """Whether a host has said on its console that everything on it has started."""
    return READY in console(host).read_text(encoding="utf-8", errors="replace")


def ask(host: str, command: str) -> str | None:
    """What a command on a host prints; None when it fails, or the host does not answer."""
    try:
        asked = run(*ssh(host, command), check=False, timeout=ASK_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return None if asked.returncode else asked.stdout


def answers(host: str, ping: str) -> bool:
    """Whether the server on a host answers, asked over SSH; on the way the host's clock is set by
    this machine's.
    """
    asking = ssh(host, f"{ping} >&2 && exec python3 -c '{SET_CLOCK}'")
    with subprocess.Popen(
        ["timeout", "--foreground", str(ASK_SECONDS), *asking],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        said = child.stdout.readline() if child.stdout else ""
        child.communicate(f"{time.time() - float(said)}\n" if said else None)
    return child.returncode == 0


def failed(host: str, unit: str) -> bool:
    """Whether systemd has given a unit up."""
    return (ask(host, f"systemctl is-failed {unit}") or "").strip() == "failed"


def wait(
    hosts: list[str], units: dict[str, tuple[str, str]], seconds: float, tell: Callable[[str], None]
) -> None:
    """Wait until each host has started and its server answers; call tell(host) for each as it does.

    `units` has the systemd unit of each host's server and the command to ask it with.
    """
    waiting, until = list(hosts), time.monotonic() + seconds
    while waiting:
        for host in list(waiting):
            unit, ping = units[host]
            if started(host) and answers(host, ping):
                waiting.remove(host)
                tell(host)
            elif started(host) and failed(host, unit):
                give_up(host, f"{unit} failed", unit)
            elif ended(host):
                give_up(host, "its kernel ended", unit)
            elif time.monotonic() > until:
                give_up(host, f"no answer within {seconds} s", unit)
        if waiting:
            time.sleep(0.2)


def give_up(host: str, why: str, unit: str) -> None:
    """Show what a host has to say about its trouble, and stop."""
    words = f"the end of {host}'s console:\n{tail(console(host), 40)}"
    if started(host):
        words += (
            "\nthe journal of"
            f" {unit}:\n{ask(host, f'journalctl --no-pager --lines=30 --unit={unit}')}"
        )
    raise LabError(f"{host} did not come up: {why}; {words}")
