# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark ran on: its hosts, their servers, and the controller."""

from __future__ import annotations

import os
import platform
from typing import Any

import yaml
from ansible.release import __version__ as ansible_version
from ansible_collections.dbre.semisync.plugins.module_utils.server.versions import parse_version
from ansible_collections.dbre.semisync.plugins.module_utils.shapes import Info
from ansible_collections.dbre.semisync.plugins.plugin_utils import results
from ansible_collections.dbre.semisync.plugins.plugin_utils.findings import known_bad

MACHINE = ("kernel", "cpus", "cpu", "memory_mb", "virtualization", "fsync_us")


def controller(collection: str) -> dict[str, str]:
    return {
        "ansible": ansible_version,
        "python": platform.python_version(),
        "collection": collection,
    }


def collection_version() -> str:
    """The version of the collection that this file is part of; of a checkout, the one that it will
    have.
    """
    top = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    )
    manifest = results.read_json(os.path.join(top, "MANIFEST.json"), None)
    if manifest:
        return manifest["collection_info"]["version"]
    with open(os.path.join(top, "galaxy.yml")) as stream:
        return yaml.safe_load(stream)["version"]


def defects(info: Info) -> list[str]:
    """The known defects of a server's version, in words: a suite's own conditions may bring each of
    them about.

    Args:
        info: the source's semisync_info.
    """
    version = parse_version(info["version"])
    return [
        f"{info['engine']} {info['version']} has a known defect, which may be what is measured:"
        f" {defect.what} ({defect.source})"
        for defect in known_bad.of_version(info["engine"], version)
    ]


def describe(
    machines: list[tuple[str, str, Info | None, dict[str, Any]]],
    rtt_ms: dict[str, float | None],
    collection: str,
) -> dict[str, Any]:
    """The environment of a run.

    Args:
        machines: (name, role, semisync_info's result or None, semisync_environment's environment)
            of each host.
        rtt_ms: replica -> round trip in milliseconds, None where nothing answered.
        collection: its version.
    """
    hosts: list[dict[str, Any]] = []
    known_defects: list[str] = []
    for name, role, info, machine in machines:
        entry = {"host": name, "role": role, **{key: machine.get(key) for key in MACHINE}}
        if info:
            entry.update(settings_of(info))
            known_defects += defects(info) if role == "source" else []
        hosts.append(entry)
    return {
        "controller": controller(collection),
        "hosts": hosts,
        "rtt_ms": rtt_ms,
        "defects": known_defects,
    }


def settings_of(info: Info) -> dict[str, Any]:
    """What a server is, and how it is set, as far as a benchmark depends on it."""
    variables, source = info["variables"], info["semisync"]["source"]["variables"]
    return {
        "engine": info["engine"],
        "version": info["version"],
        "sync_binlog": number(variables["sync_binlog"]),
        "innodb_flush_log_at_trx_commit": number(variables["innodb_flush_log_at_trx_commit"]),
        "wait_point": source.get("wait_point"),
        "timeout_ms": number(source.get("timeout")),
    }


def number(value: int | str | None) -> int | None:
    return int(value) if value is not None and str(value).isdigit() else None
