# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of a benchmark: its hosts, their servers, and the controller."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import yaml
from ansible.release import __version__ as ansible_version
from ansible_collections.dbre.semisync.plugins.module_utils._server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_shapes import (
    ControllerSoftware,
    Environment,
    HostOfRun,
    Machine,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import known_bad

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Info


class MachineOfRun(NamedTuple):
    """A host of a run.

    Attributes:
        name: inventory name.
        role: source, replica or client.
        info: its server's semisync_info; None of a client, which has no server.
        machine: semisync_environment's environment of it.
    """

    name: str
    role: str
    info: Info | None
    machine: Machine


def controller(collection: str) -> ControllerSoftware:
    return {
        "ansible": ansible_version,
        "python": platform.python_version(),
        "collection": collection,
    }


def collection_version() -> str:
    """The version of the collection that this file belongs to; in a checkout, its next version."""
    top = os.path.abspath(__file__)
    for _folder in ("_bench", "plugin_utils", "plugins", "the collection"):
        top = os.path.dirname(top)
    manifest = results.read_json(os.path.join(top, "MANIFEST.json"), None)
    if manifest:
        return manifest["collection_info"]["version"]
    with open(os.path.join(top, "galaxy.yml")) as stream:
        return yaml.safe_load(stream)["version"]


def defects(info: Info) -> list[str]:
    """The known defects of a server's version, as messages: a suite's own conditions may trigger
    them.

    Args:
        info: the source's semisync_info.
    """
    version = parse_version(info["version"])
    return [
        f"{info['engine']} {info['version']} has a known defect that may distort the results:"
        f" {defect.what} ({defect.source})"
        for defect in known_bad.of_version(info["engine"], version)
    ]


def environment_of_run(
    machines: Iterable[MachineOfRun],
    rtt_ms: dict[str, float | None],
    collection: str,
) -> Environment:
    """The environment of a run.

    Args:
        machines: its hosts.
        rtt_ms: replica -> round trip in milliseconds, None if nothing answered.
        collection: its version.
    """
    hosts: list[HostOfRun] = []
    known_defects: list[str] = []
    for host in machines:
        entry = machine_of(host)
        if host.info:
            add_settings(entry, host.info)
            known_defects += defects(host.info) if host.role == "source" else []
        hosts.append(entry)
    return {
        "controller": controller(collection),
        "hosts": hosts,
        "rtt_ms": rtt_ms,
        "defects": known_defects,
    }


def machine_of(host: MachineOfRun) -> HostOfRun:
    """A host's machine as it is stored."""
    machine = host.machine
    return {
        "host": host.name,
        "role": host.role,
        "kernel": machine.get("kernel"),
        "cpus": machine.get("cpus"),
        "cpu": machine.get("cpu"),
        "memory_mb": machine.get("memory_mb"),
        "virtualization": machine.get("virtualization"),
        "fsync_us": machine.get("fsync_us"),
    }


def add_settings(entry: HostOfRun, info: Info) -> None:
    """Add a server's version and settings, as far as a benchmark depends on them."""
    variables, source = info["variables"], info["semisync"]["source"]["variables"]
    entry["engine"] = info["engine"]
    entry["version"] = info["version"]
    entry["sync_binlog"] = number(variables["sync_binlog"])
    entry["innodb_flush_log_at_trx_commit"] = number(variables["innodb_flush_log_at_trx_commit"])
    entry["wait_point"] = source.get("wait_point")
    entry["timeout_ms"] = number(source.get("timeout"))


def number(value: int | str | None) -> int | None:
    return int(value) if value is not None and str(value).isdigit() else None
