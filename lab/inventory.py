"""The inventory files of the lab: inventory/lab/hosts.yml (docker) and inventory/lab-uml/hosts.yml.

SEMISYNC_INVENTORY names another folder, for hosts that are not to be in the way of those.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from pathlib import Path

from common import PROJECT

FOLDERS = {"docker": "lab", "uml": "lab-uml"}
PASSWORD = "semisync_replication_password"
HEADER = "# Written by `make lab-up`, removed by `make lab-down`. Not for version control.\n"


def path(kind: str) -> Path:
    """The inventory file of a kind of hosts."""
    return Path(
        os.environ.get("SEMISYNC_INVENTORY") or PROJECT / "inventory" / FOLDERS[kind], "hosts.yml"
    )


def beside(kind: str) -> Path:
    """The folder of variables that Ansible prefers to those of this inventory file."""
    return path(kind).parent / "host_vars"


def password(kind: str) -> str | None:
    """The replication password in the inventory that is there, so that a kept lab keeps it."""
    try:
        text = path(kind).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found = re.search(rf'^ *{PASSWORD}: (".*")$', text, re.MULTILINE)
    return json.loads(found[1]) if found else None


def group_of(host: str) -> str:
    """The inventory group of a host, by its name."""
    if host == "source":
        return "semisync_source"
    return "semisync_replica" if host.startswith("replica") else f"semisync_{host}"


def write(
    kind: str, hosts: dict[str, dict], *, keep_password: bool = False, variables: dict | None = None
) -> Path:
    """Write the inventory of these hosts (name: connection variables) and return its path.

    Hosts are put into groups by name: source, replica1, …; another name N gets a group semisync_N.
    With `keep_password` the replication password of the file that is there stays.
    """
    kept = password(kind) if keep_password else None
    every = {**(variables or {}), PASSWORD: kept or secrets.token_urlsafe(24)}
    groups: dict[str, dict] = {"semisync_source": {}, "semisync_replica": {}}
    for host, its in hosts.items():
        groups.setdefault(group_of(host), {})[host] = its
    target = path(kind)
    target.parent.mkdir(parents=True, exist_ok=True)
    _replace(target, HEADER + _yaml(every, groups))
    return target


def remove(kind: str) -> None:
    """Remove the inventory, and its folder when nothing else is in it."""
    target = path(kind)
    target.unlink(missing_ok=True)
    # Of a demonstration that was killed.
    shutil.rmtree(beside(kind), ignore_errors=True)
    if target.parent.is_dir() and not any(target.parent.iterdir()):
        target.parent.rmdir()


def _yaml(variables: dict, groups: dict[str, dict]) -> str:
    """YAML text; every value is written as JSON, which is YAML too and needs no quoting rules."""
    lines = ["all:", "  vars:"]
    lines += [f"    {key}: {json.dumps(value)}" for key, value in variables.items()]
    lines += ["  children:"]
    for group, hosts in groups.items():
        lines += [f"    {group}:", "      hosts:" if hosts else "      hosts: {}"]
        for host, its in hosts.items():
            lines += [f"        {host}:"]
            lines += [f"          {key}: {json.dumps(value)}" for key, value in its.items()]
    return "\n".join(lines) + "\n"


def _replace(target: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as handle:
        handle.write(text)
    part.replace(target)
